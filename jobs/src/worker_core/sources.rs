//! The queues of a worker, and what it knows of each: whether it is worth asking, what is under way, and whether a call
//! waits on it.
//!
//! A queue that has given less than it was asked for is empty until something is heard of it: a call waits on it, which
//! leases for free slots, and while there are none only listens. So a queue costs a request when it may have something, and
//! not because slots become free.
//!
//! Together the calls that wait want no more jobs than there are free slots, except that each wants at least one: with
//! fewer free slots than queues, or when slots are taken meanwhile, the worker may obtain more leases than it has slots
//! for, which it gives back at once.

use std::time::{Duration, Instant};

use leaseq::{Backoff, Wanted};

use super::patience::Patience;

/// The longest pause after a failed request.
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// When nothing was asked of a queue, and no call has waited on it, for this time, its schedules are looked after: requests
/// that lease do that by themselves.
const UNATTENDED: Duration = Duration::from_secs(1);
/// How often it looks whether such a queue has new schedules. With more than 20 such queues it is less often, but with 1,000 of
/// them still within a minute, in which by default no tick is missed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOKS_AT: u32 = 20;
/// The least time between two looks.
const LEAST_LOOK: Duration = Duration::from_millis(20);

enum Known {
    /// Nothing: ask.
    Nothing,
    /// It was empty when so many tasks had ended.
    Empty { ended: u64 },
    /// A request has failed: ask after this time.
    Failed { until: Instant },
}

/// A request under way, for so many jobs.
struct Asked {
    count: usize,
    since: Instant,
}

struct Source {
    known: Known,
    asked: Option<Asked>,
    patience: Patience,
    /// For how many jobs the next request is to ask.
    owed: usize,
    /// For how many jobs a call waits.
    wait: Option<Wanted>,
    looks: bool,
    look_at: Instant,
    backoff: Backoff,
    failing: bool,
}

impl Source {
    /// A queue that takes longer to answer is not counted on: its share of the slots goes to others. If it does lease
    /// something, the worker may have to give that back.
    fn is_slow(&self, now: Instant) -> bool {
        self.slow_at().is_some_and(|at| self.failing || now >= at)
    }

    fn slow_at(&self) -> Option<Instant> {
        self.asked.as_ref().map(|asked| asked.since + self.patience.time())
    }

    /// When its schedules are to be looked after; `None`: requests that lease do it.
    fn next_look(&self) -> Option<Instant> {
        let asks = self.asked.is_some() || self.wait.is_some() || self.looks;
        let failed = matches!(self.known, Known::Failed { .. });
        (!asks && !failed).then_some(self.look_at)
    }
}

#[derive(Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    /// One more queue.
    pub(super) fn add(&mut self) {
        self.0.push(Source {
            known: Known::Nothing,
            asked: None,
            patience: Patience::default(),
            owed: 0,
            wait: None,
            looks: false,
            look_at: Instant::now() + UNATTENDED,
            backoff: Backoff::up_to(MAX_PAUSE),
            failing: false,
        });
    }

    fn indices(&self, holds: impl Fn(&Source) -> bool) -> Vec<usize> {
        (0..self.0.len()).filter(|queue| holds(&self.0[*queue])).collect()
    }

    /// The queues that are worth asking, sorted.
    pub(super) fn worth_asking(&self, now: Instant) -> Vec<usize> {
        self.indices(|source| matches!(source.known, Known::Nothing) && !source.is_slow(now))
    }

    /// For how many jobs requests are under way or wait to be sent.
    pub(super) fn reserved(&self, now: Instant) -> usize {
        let reserved = |source: &Source| {
            let counted = source.asked.as_ref().filter(|_| !source.is_slow(now));
            source.owed + counted.map_or(0, |asked| asked.count)
        };
        self.0.iter().map(reserved).sum()
    }

    /// The next request is to ask for so many more.
    pub(super) fn owe(&mut self, queue: usize, count: usize) {
        self.0[queue].owed += count;
    }

    /// Slow queues are not waited for, or, if there are fewer slots than was thought, none is.
    pub(super) fn disown(&mut self, now: Instant, all: bool) {
        for source in &mut self.0 {
            if all || source.is_slow(now) {
                source.owed = 0;
            }
        }
    }

    /// Whether a request can be sent: one at a time, which takes along what has come up during the last one. Returns for
    /// how many jobs it is to ask.
    pub(super) fn can_ask(&self, queue: usize) -> Option<usize> {
        let source = &self.0[queue];
        source.asked.is_none().then_some(source.owed)
    }

    pub(super) fn ask(&mut self, queue: usize, now: Instant) {
        let source = &mut self.0[queue];
        source.asked = Some(Asked { count: std::mem::take(&mut source.owed), since: now });
    }

    /// Whether each queue has a request under way.
    pub(super) fn all_asked(&self) -> bool {
        self.0.iter().all(|source| source.asked.is_some())
    }

    /// The request was answered, or has failed.
    pub(super) fn ask_ended(&mut self, queue: usize, answered: bool) {
        let source = &mut self.0[queue];
        if let Some(asked) = source.asked.take().filter(|_| answered) {
            source.patience.learn(asked.since.elapsed());
        }
        source.look_at = Instant::now() + UNATTENDED;
    }

    /// The queue has answered. It was empty when so many tasks had ended, or else may have more.
    pub(super) fn answered(&mut self, queue: usize, empty: Option<u64>) {
        let source = &mut self.0[queue];
        source.known = empty.map_or(Known::Nothing, |ended| Known::Empty { ended });
        if empty.is_some() {
            source.owed = 0;
        }
        if std::mem::take(&mut source.failing) {
            source.backoff.reset();
        }
    }

    /// A request has failed. True for the first time since one was answered.
    pub(super) fn failed(&mut self, queue: usize) -> bool {
        let source = &mut self.0[queue];
        source.known = Known::Failed { until: Instant::now() + source.backoff.pause() };
        source.owed = 0;
        !std::mem::replace(&mut source.failing, true)
    }

    /// Queues whose pause is over are worth asking again.
    pub(super) fn end_pauses(&mut self, now: Instant) {
        for source in &mut self.0 {
            if matches!(source.known, Known::Failed { until } if until <= now) {
                source.known = Known::Nothing;
            }
        }
    }

    /// Whether every queue was empty when so many tasks had ended.
    pub(super) fn all_empty(&self, ended: u64) -> bool {
        let empty =
            |source: &Source| matches!(source.known, Known::Empty { ended: at } if at == ended);
        self.0.iter().all(empty)
    }

    /// What was empty before so many tasks had ended is worth asking again: they may have added jobs.
    pub(super) fn forget_before(&mut self, ended: u64) {
        for source in &mut self.0 {
            if matches!(source.known, Known::Empty { ended: at } if at != ended) {
                source.known = Known::Nothing;
            }
        }
    }

    /// What was empty is worth asking again.
    pub(super) fn forget_empty(&mut self, queue: usize) {
        if let Some(source) = self.0.get_mut(queue)
            && matches!(source.known, Known::Empty { .. })
        {
            source.known = Known::Nothing;
        }
    }

    /// The empty queues on which no call waits.
    pub(super) fn unwatched(&self) -> Vec<usize> {
        self.indices(|source| {
            let idle = source.wait.is_none() && source.asked.is_none();
            idle && matches!(source.known, Known::Empty { .. })
        })
    }

    /// A call waits on the queue. If nothing was known of it, it also asks, when so many tasks have ended.
    pub(super) fn waits(&mut self, queue: usize, ended: u64, wanted: Wanted) {
        let source = &mut self.0[queue];
        if !matches!(source.known, Known::Empty { .. }) {
            source.known = Known::Empty { ended };
        }
        source.wait = Some(wanted);
    }

    /// It does no more.
    pub(super) fn wait_ended(&mut self, queue: usize) {
        let source = &mut self.0[queue];
        source.wait = None;
        source.look_at = Instant::now() + UNATTENDED;
    }

    /// Whether a call waits on any queue.
    pub(super) fn any_waits(&self) -> bool {
        self.0.iter().any(|source| source.wait.is_some())
    }

    /// The calls that wait are for so many jobs together.
    pub(super) fn want(&self, free: usize) {
        let waits = || self.0.iter().filter_map(|source| source.wait.as_ref());
        let share = match free {
            0 => 0,
            free => (free / waits().count().max(1)).max(1),
        };
        waits().for_each(|wanted| wanted.set(share));
    }

    /// The queues whose schedules are to be looked after now.
    pub(super) fn begin_looks(&mut self, now: Instant) -> Vec<usize> {
        let due = self.indices(|source| source.next_look().is_some_and(|at| at <= now));
        for queue in &due {
            self.0[*queue].looks = true;
        }
        due
    }

    /// Somebody has looked after them; the next one is due after this time.
    pub(super) fn looked(&mut self, queue: usize, next: Option<Duration>) {
        let unattended = self.0.iter().filter(|source| source.wait.is_none()).count() as u32;
        let every = LOOK_EVERY * unattended.div_ceil(LOOKS_AT).max(1);
        let source = &mut self.0[queue];
        source.looks = false;
        source.look_at = Instant::now() + next.unwrap_or(every).clamp(LEAST_LOOK, every);
    }

    /// When something changes by itself.
    pub(super) fn next_change(&self, now: Instant, looks: bool) -> Option<Instant> {
        let change = |source: &Source| {
            let until = match source.known {
                Known::Failed { until } => Some(until),
                _ => None,
            };
            let late = source.slow_at().filter(|at| *at > now);
            let look = source.next_look().filter(|_| looks);
            [until, late, look].into_iter().flatten().min()
        };
        self.0.iter().filter_map(change).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker_core::patience;

    fn sources(count: usize) -> Sources {
        let mut sources = Sources::default();
        (0..count).for_each(|_| sources.add());
        sources
    }

    #[test]
    fn a_queue_that_does_not_answer_is_not_counted_on() {
        let (mut sources, now) = (sources(2), Instant::now());
        sources.owe(0, 3);
        sources.ask(0, now);
        sources.owe(0, 1);
        assert_eq!((sources.reserved(now), sources.can_ask(0)), (4, None));
        let later = now + patience::LEAST;
        assert_eq!(sources.next_change(now, false), Some(later));
        assert_eq!((sources.reserved(later), sources.worth_asking(later)), (1, vec![1]));
        sources.disown(later, false);
        assert_eq!(sources.reserved(later), 0);
        sources.ask_ended(0, true);
        sources.answered(0, None);
        assert_eq!(sources.worth_asking(later), [0, 1]);
        // After a failure its slots are not reserved at all.
        assert!(sources.failed(0));
        sources.end_pauses(now + MAX_PAUSE);
        sources.owe(0, 3);
        sources.ask(0, now);
        assert_eq!(sources.reserved(now), 0);
        assert!(!sources.failed(0));
    }

    #[test]
    fn calls_that_wait_want_what_is_free() {
        let mut sources = sources(3);
        let wanted: Vec<Wanted> = (0..3).map(|_| Wanted::new(0)).collect();
        for (queue, wanted) in wanted.iter().enumerate() {
            sources.answered(queue, Some(0));
            assert!(sources.unwatched().contains(&queue));
            sources.waits(queue, 0, wanted.clone());
        }
        assert!(sources.unwatched().is_empty() && sources.all_empty(0) && !sources.all_empty(1));
        // A call that waits later does not mean that the queue was asked later.
        sources.waits(0, 1, wanted[0].clone());
        assert!(sources.all_empty(0));
        for (free, each) in [(7, 2), (3, 1), (1, 1), (0, 0)] {
            sources.want(free);
            assert!(wanted.iter().all(|wanted| wanted.get() == each), "{free} free");
        }
    }

    #[test]
    fn schedules_are_looked_after_where_nothing_is_asked() {
        let (mut sources, begin) = (sources(2), Instant::now());
        sources.waits(1, 0, Wanted::new(0));
        assert!(sources.begin_looks(begin).is_empty());
        let due = begin + UNATTENDED * 2;
        assert!(sources.next_change(begin, true).is_some_and(|at| at <= due));
        assert_eq!(sources.begin_looks(due), [0]);
        assert!(sources.begin_looks(due).is_empty() && sources.next_change(due, true).is_none());
        sources.looked(0, Some(Duration::ZERO));
        assert!(sources.next_change(begin, true).is_some_and(|at| at > begin + LEAST_LOOK));
        assert!(sources.next_change(begin, false).is_none());
        sources.looked(0, None);
        assert!(sources.next_change(begin, true).is_some_and(|at| at >= begin + LOOK_EVERY));
    }

    #[test]
    fn a_new_schedule_is_noticed_within_a_second_and_in_one_of_many_queues_within_a_minute() {
        for (count, seconds) in [(1, 1), (20, 1), (21, 2), (1_000, 50)] {
            let (mut sources, begin) = (sources(count), Instant::now());
            sources.looked(0, None);
            let due = begin + Duration::from_secs(seconds);
            let at = sources.0[0].next_look().unwrap();
            assert!(at >= due && at < due + UNATTENDED, "{count} queues: {:?}", at - begin);
        }
    }
}
