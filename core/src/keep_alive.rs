//! Background extension of leases.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep_until;

use crate::ErrorKind;
use crate::backoff::Backoff;
use crate::dispatch::Dispatch;
use crate::engine::{Extend, Token};
use crate::lease::{Lease, Shared, local_deadline};
use crate::options::KeepAlive;

/// Bounds of the longest pause between two attempts, which is a twentieth of the lease.
const MIN_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Extends the lease until it is settled, dropped or lost, or the limit is reached.
pub(crate) fn start(dispatch: &Arc<Dispatch>, lease: &Lease, keep_alive: &KeepAlive) {
    let task = Task {
        dispatch: dispatch.clone(),
        shared: lease.shared.clone(),
        token: lease.token(),
        duration: Duration::from_millis(lease.item.duration_ms),
        end: keep_alive.limit.and_then(|limit| Instant::now().checked_add(limit)),
    };
    dispatch.context.spawn(task.run());
}

struct Task {
    dispatch: Arc<Dispatch>,
    shared: Arc<Shared>,
    token: Token,
    duration: Duration,
    end: Option<Instant>,
}

impl Task {
    async fn run(self) {
        let context = self.dispatch.context.clone();
        let mut backoff = Backoff::up_to((self.duration / 20).clamp(MIN_PAUSE, MAX_PAUSE));
        let mut retry = None;
        loop {
            let deadline = self.shared.local_deadline();
            let now = Instant::now();
            // Extends after a third of the duration, so that two thirds are left for further attempts.
            let due = deadline.checked_sub(self.duration * 2 / 3).unwrap_or(now);
            let next = retry.take().map_or(due, |pause| now + pause);
            tokio::select! {
                () = self.shared.left() => return,
                () = context.closed.cancelled() => return,
                () = sleep_until(next.min(deadline).into()) => {}
            }
            let now = Instant::now();
            let duration = match self.end {
                Some(end) => self.duration.min(end.saturating_duration_since(now)),
                None => self.duration,
            };
            if duration < Duration::from_millis(1) || local_deadline(now, duration) <= deadline {
                // The limit is reached: the lease ends with its current deadline.
                tokio::select! {
                    () = self.shared.left() => {}
                    () = context.closed.cancelled() => {}
                    () = sleep_until(deadline.into()) => self.shared.lose(),
                }
                return;
            }
            let duration_ms = duration.as_millis() as u64;
            let extend = vec![Extend { token: self.token, duration_ms }];
            let extend = self.dispatch.extend.call(extend, context.until());
            tokio::select! {
                () = self.shared.left() => return,
                answers = extend => match answers.map(|answers| answers.first().copied().flatten()) {
                    Ok(Some(deadline_ms)) => {
                        backoff.reset();
                        self.shared.extended(deadline_ms, local_deadline(now, duration));
                    }
                    Ok(None) => return self.shared.lose(),
                    // `Invalid`: a right that was revoked may be granted again before the deadline.
                    Err(error) if !error.kind().is_retryable() && error.kind() != ErrorKind::Invalid => {
                        return self.shared.lose();
                    }
                    Err(_) => {
                        if Instant::now() >= deadline { return self.shared.lose() }
                        // The engine has retried for the time of a call, or has failed at once.
                        retry = Some(backoff.pause());
                    }
                },
                // The holder must not believe that it still has the item.
                () = sleep_until(deadline.into()) => return self.shared.lose(),
            }
        }
    }
}
