//! The jobs that wait for the thread.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::job::Job;
use crate::lock::lock;

#[derive(Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Arc<Job>>,
    /// How many of them were given up. Only their places are left.
    given_up: usize,
    check: bool,
    end: bool,
}

pub(super) enum Message {
    Job(Arc<Job>),
    /// A call waits for an item, or the write-ahead log has changed.
    Check,
    /// No message arrived in time.
    Timeout,
    /// All handles are gone.
    End,
}

/// Places of jobs that were given up are removed when there are more than this, and more than other jobs.
const MAX_GIVEN_UP: usize = 32;

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn send(&self, job: Arc<Job>) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    /// Lets the thread check whether other processes have written.
    pub(super) fn check(&self) {
        self.lock().check = true;
        self.changed.notify_one();
    }

    pub(super) fn end(&self) {
        self.lock().end = true;
        self.changed.notify_one();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().end
    }

    /// The caller of a job has given up.
    pub(super) fn given_up(&self) {
        let mut state = self.lock();
        state.given_up += 1;
        if state.given_up > MAX_GIVEN_UP && state.given_up > state.jobs.len() / 2 {
            state.jobs.retain(|job| !job.is_claimed());
            state.given_up = 0;
        }
    }

    /// Waits for a message, no longer than `timeout`. Jobs come first.
    pub(super) fn next(&self, timeout: Option<Duration>) -> Message {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Message::Job(job);
            }
            state.given_up = 0;
            if state.end {
                return Message::End;
            }
            if std::mem::take(&mut state.check) {
                return Message::Check;
            }
            state = match until {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Message::Timeout;
                    }
                    let waited = self.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// The next job, if it writes.
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
    fn a_job_that_was_given_up_is_not_kept() {
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
            assert_eq!(Arc::strong_count(&held), 1, "its input is dropped at once");
            inbox.given_up();
        }
        assert!(inbox.lock().jobs.len() <= MAX_GIVEN_UP + 1, "and so are the places");
        // Other jobs stay.
        let (reply, _) = oneshot::channel::<crate::Result<()>>();
        let job = Job::new(false, Instant::now(), reply, |_| Ok(()));
        inbox.send(job);
        inbox.check();
        inbox.end();
        let mut wanted = 0;
        while let Message::Job(job) = inbox.next(Some(Duration::ZERO)) {
            wanted += usize::from(!job.is_claimed());
        }
        assert_eq!(wanted, 1);
        assert!(matches!(inbox.next(None), Message::End));
    }
}
