//! What the end of a task means for its job. No effects here: [`settler`](super::settler) has them.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use leaseq::options::MAX_DELAY;

use super::finish::Finish;
use super::reason::Reason;
use crate::{JobError, Policy, Retry};

/// The reasons of releases, which the queue counts.
const INTERRUPTED: &str = "shutdown";
const SNOOZED: &str = "snooze";
/// One for all that this worker cannot run: workers of different versions may see different reasons, and each new
/// reason would begin the day anew.
pub(super) const UNHANDLED: &str = "unhandled";

/// A job that no worker can run is dead after this time.
const UNHANDLED_FOR: Duration = Duration::from_secs(86_400);
/// The longest delay of a job that this worker cannot run.
pub(super) const UNHANDLED_DELAY: Duration = Duration::from_secs(300);
/// The least delay of a job whose handler may still run when its process ends.
const AFTER_EXIT: Duration = Duration::from_secs(5);

/// What has become of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settled {
    /// It is completed.
    Completed,
    /// It has failed, and is tried again after this delay.
    Retried {
        /// How long it waits.
        delay: Duration,
        /// Why it has failed.
        error: String,
    },
    /// It is dead.
    Dead {
        /// Why.
        error: String,
    },
    /// It was given back without using an attempt.
    Released {
        /// How long it waits.
        delay: Duration,
    },
    /// It is cancelled.
    Cancelled,
    /// Another worker has it, or it has ended otherwise. What the handler has done was not reported.
    Lost,
    /// The queue has got the report of a failure or a release, but its answer was lost, and now says that the lease has
    /// ended: by that report, as is likely, or because it had expired before.
    Uncertain,
}

impl Settled {
    /// As a word: `completed`, `retried`, `dead`, `released`, `cancelled`, `lost` or `uncertain`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Settled::Completed => "completed",
            Settled::Retried { .. } => "retried",
            Settled::Dead { .. } => "dead",
            Settled::Released { .. } => "released",
            Settled::Cancelled => "cancelled",
            Settled::Lost => "lost",
            Settled::Uncertain => "uncertain",
        }
    }
}

/// What the queue is to do with a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Settlement {
    Complete {
        result: Option<Bytes>,
    },
    Fail {
        error: String,
        delay: Duration,
    },
    Bury {
        error: String,
    },
    /// An empty reason is none.
    Release {
        delay: Duration,
        reason: &'static str,
    },
    /// This worker cannot run it.
    Refuse {
        error: String,
        delay: Duration,
    },
    /// Another worker may have it.
    Abandon,
}

/// What is known about a job when its task ends.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) attempt: u32,
    pub(super) max_attempts: u32,
    pub(super) retry: &'a Retry,
    /// Why the task was to stop.
    pub(super) reason: Option<Reason>,
    pub(super) timeout: Duration,
    /// How often in a row it was released because no worker could run it, and when first.
    pub(super) unhandled: Option<(u32, SystemTime)>,
    /// When it was leased, on the server's clock, as that of the first release is.
    pub(super) leased_at: SystemTime,
}

/// What is done with the job of a task that has ended.
pub(super) fn decide(finish: Finish, facts: &Facts<'_>) -> Settlement {
    match (finish, facts.reason) {
        // A completion is accepted until somebody else has ended the job.
        (Finish::Done { result }, _) => Settlement::Complete { result },
        (_, Some(Reason::Lost)) => Settlement::Abandon,
        // The queue ends a cancelled job with its lease.
        (Finish::Cancelled | Finish::Snooze(_), Some(Reason::User)) => {
            Settlement::Release { delay: Duration::ZERO, reason: "" }
        }
        (Finish::Cancelled, Some(Reason::Timeout)) => fail(&timed_out(facts), facts),
        (Finish::Failed(error), Some(Reason::Timeout)) if error.wants() == Policy::Retry => {
            let timeout = timed_out(facts);
            fail(&error.caused_by("Timeout", timeout.message()), facts)
        }
        // The handler may have failed because it was to stop.
        (Finish::Failed(error), Some(Reason::Shutdown)) if error.wants() == Policy::Retry => {
            interrupted(Duration::ZERO)
        }
        (Finish::Cancelled, Some(Reason::Shutdown)) => interrupted(Duration::ZERO),
        // A face takes something else for a cancellation. Released, the job would run again at once, without end.
        (Finish::Cancelled, None) => {
            fail(&JobError::new("Cancelled", "the handler was not cancelled by the worker"), facts)
        }
        (Finish::Failed(error), _) => fail(&error, facts),
        (Finish::Snooze(delay), _) => {
            Settlement::Release { delay: delay.min(MAX_DELAY), reason: SNOOZED }
        }
        (Finish::InvalidArgs(message), _) => unhandled(format!("invalid_args: {message}"), facts),
    }
}

fn timed_out(facts: &Facts<'_>) -> JobError {
    JobError::new("Timeout", format!("the handler ran for more than {:?}", facts.timeout))
}

fn interrupted(delay: Duration) -> Settlement {
    Settlement::Release { delay, reason: INTERRUPTED }
}

fn fail(error: &JobError, facts: &Facts<'_>) -> Settlement {
    let text = error.text();
    let is_last = facts.attempt >= facts.max_attempts;
    match error.wants() {
        Policy::Discard => Settlement::Complete { result: None },
        Policy::Bury => Settlement::Bury { error: text },
        Policy::Snooze(delay) => {
            Settlement::Release { delay: delay.min(MAX_DELAY), reason: SNOOZED }
        }
        _ if is_last => Settlement::Bury { error: text },
        Policy::RetryAfter(delay) => Settlement::Fail { error: text, delay: delay.min(MAX_DELAY) },
        Policy::Retry if facts.retry.covers(error) => {
            let delay = facts.retry.delay(facts.attempt).min(MAX_DELAY);
            Settlement::Fail { error: text, delay }
        }
        Policy::Retry => Settlement::Bury { error: text },
    }
}

/// For a job whose handler still runs when the process ends.
pub(super) fn decide_at_exit(is_overdue: bool, facts: &Facts<'_>) -> Settlement {
    if facts.reason == Some(Reason::Lost) {
        return Settlement::Abandon;
    }
    if !is_overdue {
        return interrupted(AFTER_EXIT);
    }
    // It would hang the next worker, too, if that cost no attempt.
    match fail(&timed_out(facts), facts) {
        Settlement::Fail { error, delay } => {
            Settlement::Fail { error, delay: delay.max(AFTER_EXIT) }
        }
        other => other,
    }
}

/// For a job that this worker cannot run. A newer one may, so it is released, and dead a day after the first time.
pub(super) fn unhandled(error: String, facts: &Facts<'_>) -> Settlement {
    let since = |(_, first_at)| facts.leased_at.duration_since(first_at).ok();
    if facts.unhandled.and_then(since).is_some_and(|time| time >= UNHANDLED_FOR) {
        return Settlement::Bury { error };
    }
    let times = facts.unhandled.map_or(0, |(count, _)| count);
    let longest = Duration::from_secs(1 << times.min(9)).min(UNHANDLED_DELAY);
    // Between a half and the whole of it: not all at once, and not at once.
    let spread = Retry::default().base(longest / 2).cap(longest / 2).delay(1);
    Settlement::Refuse { error, delay: longest / 2 + spread }
}

/// The error of a job whose end the queue has refused.
const REFUSED: &str = "EndRefused";
/// How long such a job waits until it is tried again.
const AFTER_REFUSAL: Duration = Duration::from_secs(60);

/// What is done about a job instead of what the queue refuses as invalid, so that it does not run again when its lease
/// expires without anybody knowing why. `None`: that was refused, too.
pub(super) fn instead(refused: &Settlement, why: &str) -> Option<Settlement> {
    let error = format!("{REFUSED}: {why}");
    match refused {
        // The handler has succeeded, and would end in the same way the next time.
        Settlement::Complete { .. } => Some(Settlement::Bury { error }),
        Settlement::Fail { error, .. } if error.starts_with(REFUSED) => None,
        Settlement::Abandon => None,
        _ => Some(Settlement::Fail { error, delay: AFTER_REFUSAL }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_secs(8);

    fn with<T>(change: impl FnOnce(&mut Facts<'_>), then: impl FnOnce(&Facts<'_>) -> T) -> T {
        let retry = Retry::new(3).base(BASE).never(["Fatal"]);
        let mut facts = Facts {
            attempt: 1,
            max_attempts: 3,
            retry: &retry,
            reason: None,
            timeout: Duration::from_secs(30),
            unhandled: None,
            leased_at: SystemTime::UNIX_EPOCH + 2 * UNHANDLED_FOR,
        };
        change(&mut facts);
        then(&facts)
    }

    fn decided(finish: Finish, change: impl FnOnce(&mut Facts<'_>)) -> Settlement {
        with(change, |facts| decide(finish, facts))
    }

    fn failed() -> Finish {
        Finish::Failed(JobError::new("Broken", "pipe"))
    }

    fn wants(policy: Policy) -> Finish {
        Finish::Failed(JobError::new("Broken", "pipe").policy(policy))
    }

    /// The error text and the delay of a retry.
    fn retried(settlement: Settlement) -> (String, Duration) {
        match settlement {
            Settlement::Fail { error, delay } => (error, delay),
            other => panic!("not retried: {other:?}"),
        }
    }

    #[test]
    fn a_failure_is_retried_until_the_attempts_are_used_up() {
        let (error, delay) = retried(decided(failed(), |_| {}));
        assert_eq!(error, "Broken: pipe");
        assert!(delay <= BASE);
        retried(decided(failed(), |facts| facts.attempt = 2));
        let last = decided(failed(), |facts| facts.attempt = 3);
        assert_eq!(last, Settlement::Bury { error: "Broken: pipe".into() });
        let fatal = Finish::Failed(JobError::new("Fatal", ""));
        assert_eq!(decided(fatal, |_| {}), Settlement::Bury { error: "Fatal".into() });
    }

    #[test]
    fn a_handler_may_decide_itself() {
        let day = Duration::from_secs(86_400);
        assert_eq!(retried(decided(wants(Policy::RetryAfter(day)), |_| {})).1, day);
        let last = decided(wants(Policy::RetryAfter(day)), |facts| facts.attempt = 3);
        assert_eq!(last, Settlement::Bury { error: "Broken: pipe".into() });
        let buried = Settlement::Bury { error: "Broken: pipe".into() };
        assert_eq!(decided(wants(Policy::Bury), |_| {}), buried);
        let discarded = Settlement::Complete { result: None };
        assert_eq!(decided(wants(Policy::Discard), |facts| facts.attempt = 9), discarded);
        let snoozed = Settlement::Release { delay: MAX_DELAY, reason: SNOOZED };
        assert_eq!(decided(Finish::Snooze(Duration::MAX), |facts| facts.attempt = 9), snoozed);
    }

    #[test]
    fn the_reason_of_a_cancellation_decides_what_the_end_means() {
        let ends =
            |finish: fn() -> Finish, reason| decided(finish(), |facts| facts.reason = Some(reason));
        let cancelled: fn() -> Finish = || Finish::Cancelled;
        let interrupted = Settlement::Release { delay: Duration::ZERO, reason: INTERRUPTED };
        for finish in [cancelled, failed] {
            assert_eq!(ends(finish, Reason::Lost), Settlement::Abandon);
            assert_eq!(ends(finish, Reason::Shutdown), interrupted);
            let (error, delay) = retried(ends(finish, Reason::Timeout));
            assert!(error.starts_with("Timeout: the handler ran for more than 30s"), "{error}");
            assert!(delay <= BASE);
        }
        let given_back = Settlement::Release { delay: Duration::ZERO, reason: "" };
        assert_eq!(ends(cancelled, Reason::User), given_back);
        let (error, _) = retried(decided(cancelled(), |_| {}));
        assert_eq!(error, "Cancelled: the handler was not cancelled by the worker");
        retried(ends(failed, Reason::User));
        let done: fn() -> Finish = || Finish::Done { result: None };
        for reason in [Reason::User, Reason::Timeout, Reason::Shutdown, Reason::Lost] {
            assert_eq!(ends(done, reason), Settlement::Complete { result: None });
        }
        let buried = decided(wants(Policy::Bury), |facts| facts.reason = Some(Reason::Shutdown));
        assert_eq!(buried, Settlement::Bury { error: "Broken: pipe".into() });
    }

    #[test]
    fn only_a_handler_that_hangs_costs_its_job_an_attempt_at_the_exit() {
        let at_exit = |is_overdue, attempt| {
            with(|facts| facts.attempt = attempt, |facts| decide_at_exit(is_overdue, facts))
        };
        let interrupted = Settlement::Release { delay: AFTER_EXIT, reason: INTERRUPTED };
        assert_eq!(at_exit(false, 3), interrupted);
        assert!(retried(at_exit(true, 1)).1 >= AFTER_EXIT);
        assert!(matches!(at_exit(true, 3), Settlement::Bury { .. }));
    }

    #[test]
    fn what_the_queue_refuses_is_reported_otherwise() {
        let why = "a result of 17 bytes: the limit is 16";
        let done = Settlement::Complete { result: Some("x".into()) };
        let error = format!("EndRefused: {why}");
        let buried = instead(&done, why).unwrap();
        assert_eq!(buried, Settlement::Bury { error: error.clone() });
        let failed = Settlement::Fail { error, delay: AFTER_REFUSAL };
        let released = Settlement::Release { delay: MAX_DELAY, reason: SNOOZED };
        for refused in [buried, released] {
            assert_eq!(instead(&refused, why), Some(failed.clone()));
        }
        assert_eq!(instead(&failed, why), None);
    }

    #[test]
    fn what_nobody_can_run_waits_longer_each_time_and_is_dead_after_a_day() {
        let bounced = |count, ago: Duration| {
            with(
                |facts| facts.unhandled = Some((count, facts.leased_at - ago)),
                |facts| unhandled("no_handler: x".into(), facts),
            )
        };
        for (count, longest) in [(0, 1), (1, 2), (5, 32), (9, 300), (1_000, 300)] {
            let longest = Duration::from_secs(longest);
            let Settlement::Refuse { delay, .. } = bounced(count, longest) else {
                panic!("it is not refused")
            };
            assert!(delay >= longest / 2 && delay <= longest, "{delay:?} after {count}");
        }
        let almost = UNHANDLED_FOR - Duration::from_millis(1);
        assert!(matches!(bounced(300, almost), Settlement::Refuse { .. }));
        let dead = Settlement::Bury { error: "no_handler: x".into() };
        assert_eq!(bounced(300, UNHANDLED_FOR), dead);
        let invalid = Finish::InvalidArgs("missing field `to`".into());
        let Settlement::Refuse { delay, error } = decided(invalid, |_| {}) else {
            panic!("it is not refused")
        };
        assert_eq!(error, "invalid_args: missing field `to`");
        assert!(delay <= Duration::from_secs(1));
    }
}
