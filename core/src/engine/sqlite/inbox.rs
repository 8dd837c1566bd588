//! What is sent to the thread, and was not begun. It holds as many calls as have a caller who waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::job::Job;

#[derive(Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<Job>>,
    /// How many of them were given up by their callers: nothing but their places.
    over: usize,
    look: bool,
    end: bool,
}

pub(super) enum Message {
    Job(Arc<Job>),
    /// Somebody waits for an item, or something was written to the log.
    Look,
    /// There was nothing for as long as it was waited for.
    Nothing,
    /// Nobody will send anything any more.
    End,
}

/// Places are cleared when there are more than this, and more than of calls.
const MOST_OVER: usize = 32;

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn send(&self, job: Arc<Job>) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    pub(super) fn look(&self) {
        self.lock().look = true;
        self.changed.notify_one();
    }

    pub(super) fn end(&self) {
        self.lock().end = true;
        self.changed.notify_one();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().end
    }

    /// The caller of a job that was sent has taken it back.
    pub(super) fn given_up(&self) {
        let mut state = self.lock();
        state.over += 1;
        if state.over > MOST_OVER && state.over > state.jobs.len() / 2 {
            state.jobs.retain(|job| !job.is_over());
            state.over = 0;
        }
    }

    /// Waits for a message, for this long at most. Calls come before everything else.
    pub(super) fn next(&self, most: Option<Duration>) -> Message {
        let until = most.map(|most| Instant::now() + most);
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Message::Job(job);
            }
            state.over = 0;
            if state.end {
                return Message::End;
            }
            if std::mem::take(&mut state.look) {
                return Message::Look;
            }
            state = match until {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Message::Nothing;
                    }
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// The next call, if it is one that writes: others are not overtaken.
    pub(super) fn next_write(&self) -> Option<Arc<Job>> {
        let mut state = self.lock();
        state.jobs.front().filter(|job| job.writes)?;
        state.jobs.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn what_nobody_waits_for_is_not_kept() {
        let inbox = Inbox::default();
        let held = Arc::new(());
        for _ in 0..1_000 {
            let (reply, _) = oneshot::channel();
            let data = held.clone();
            let job = Job::new(true, Instant::now(), reply, move |_| {
                let _ = &data;
                Ok(())
            });
            inbox.send(job.clone());
            drop(job.claim().unwrap());
            assert_eq!(Arc::strong_count(&held), 1, "what it carried is gone at once");
            inbox.given_up();
        }
        assert!(inbox.lock().jobs.len() <= MOST_OVER + 1, "and so are their places");
        // What is wanted stays, in order.
        let (reply, _) = oneshot::channel::<crate::Result<()>>();
        let job = Job::new(false, Instant::now(), reply, |_| Ok(()));
        inbox.send(job);
        inbox.look();
        inbox.end();
        let mut wanted = 0;
        while let Message::Job(job) = inbox.next(Some(Duration::ZERO)) {
            wanted += usize::from(!job.is_over());
        }
        assert_eq!(wanted, 1);
        assert!(matches!(inbox.next(None), Message::End));
    }
}
