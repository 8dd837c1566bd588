//! Background extension of leases.
//!
//! Most leases are settled before they need it. So one task for each client waits until a lease is to be extended for the
//! first time, and only then the lease gets a task of its own.

mod waiting;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep_until;

use self::waiting::Extension;
pub(crate) use self::waiting::KeepAlives;
use crate::ErrorKind;
use crate::backoff::Backoff;
use crate::dispatch::Dispatch;
use crate::engine::{Extend, Token};
use crate::lease::{Lease, Shared, local_deadline};
use crate::options::KeepAlive;

/// Bounds of the longest pause between two attempts, which is a twentieth of the lease.
const MIN_PAUSE: Duration = Duration::from_millis(2);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// Extends leases until they are settled, dropped or lost, or the limit is reached.
pub(crate) fn start(dispatch: &Arc<Dispatch>, leases: &[Lease], keep_alive: &KeepAlive) {
    if leases.is_empty() {
        return;
    }
    let extension = |lease: &Lease| -> Box<dyn Extension> {
        Box::new(Task {
            dispatch: dispatch.clone(),
            shared: lease.shared.clone(),
            token: lease.token(),
            duration: Duration::from_millis(lease.item.duration_ms),
            end: keep_alive.limit.and_then(|limit| Instant::now().checked_add(limit)),
        })
    };
    let context = &dispatch.context;
    context.keep_alives.wait(leases.iter().map(extension).collect(), |new| {
        let closed = context.closed.clone();
        context.spawn(async move {
            tokio::select! {
                () = waiting::run(new) => {}
                () = closed.cancelled() => {}
            }
        });
    });
}

struct Task {
    dispatch: Arc<Dispatch>,
    shared: Arc<Shared>,
    token: Token,
    duration: Duration,
    end: Option<Instant>,
}

impl Extension for Task {
    /// After a third of the duration, so that two thirds are left for further attempts.
    fn due(&self) -> Instant {
        let deadline = self.shared.local_deadline();
        deadline.checked_sub(self.duration * 2 / 3).unwrap_or_else(Instant::now)
    }

    fn is_needed(&self) -> bool {
        self.shared.is_active()
    }

    fn start(self: Box<Self>) {
        self.dispatch.context.clone().spawn(self.run());
    }
}

impl Task {
    async fn run(self: Box<Self>) {
        let context = self.dispatch.context.clone();
        let mut backoff = Backoff::up_to((self.duration / 20).clamp(MIN_PAUSE, MAX_PAUSE));
        let mut retry = None;
        loop {
            let deadline = self.shared.local_deadline();
            let now = Instant::now();
            let next = retry.take().map_or_else(|| self.due(), |pause| now + pause);
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

#[cfg(all(test, feature = "sqlite"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::waiting::MIN_SEARCHED;
    use super::*;
    use crate::{Client, Item, LeaseOptions};

    #[tokio::test]
    async fn settled_leases_do_not_pile_up() {
        let client = Client::connect("memory:").await.unwrap();
        let queue = client.queue("q").unwrap();
        let hour = LeaseOptions::new(Duration::from_secs(3600)).keep_alive(KeepAlive::new());
        let mut handles = Vec::new();
        for _ in 0..5 {
            queue.add_items((0..1_000).map(|_| Item::new("")).collect::<Vec<_>>()).await.unwrap();
            let leases = queue.lease_many(1_000, hour.clone()).await.unwrap();
            handles.extend(leases.iter().map(|lease| Arc::downgrade(&lease.shared)));
            queue.complete_many(&leases).await.unwrap();
        }
        let left = || handles.iter().filter(|handle| handle.strong_count() > 0).count();
        let few = async {
            while left() > 2 * MIN_SEARCHED {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), few).await.unwrap();
    }
}
