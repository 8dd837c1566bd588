//! Current failures, and what deep cleans have found.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use leaseq::{Damage, DeepReport};

/// Where something can fail.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The first connection.
    Server,
    /// Reading the list of queues.
    Names,
    Light(String),
    Deep(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Server => f.write_str("server"),
            Place::Names => f.write_str("names of queues"),
            Place::Light(queue) => write!(f, "queue {queue}"),
            Place::Deep(queue) => write!(f, "deep clean of queue {queue}"),
        }
    }
}

/// The state of one queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueState {
    /// Why its light and deep cleans fail.
    light: Option<String>,
    deep: Option<String>,
    pub(crate) found: BTreeMap<Damage, u64>,
    pub(crate) mended: BTreeMap<Damage, u64>,
}

impl QueueState {
    /// Why its cleans fail, if they do.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.light.as_deref().or(self.deep.as_deref())
    }
}

/// What to log about a failure or a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    None,
    Here,
    /// The server affects all places, so its outage is logged once.
    Server,
}

/// The current failures of the cleaner. Nothing is kept about a queue that is gone.
#[derive(Debug, Default)]
pub(crate) struct State {
    server: Option<String>,
    names: Option<String>,
    queues: BTreeMap<String, QueueState>,
    /// The places where the server does not respond.
    unavailable: BTreeSet<Place>,
}

impl State {
    /// Sets the queues that exist now.
    pub(crate) fn set_queues(&mut self, names: &BTreeSet<String>) {
        self.queues.retain(|name, _| names.contains(name));
        for name in names {
            if !self.queues.contains_key(name) {
                self.queues.insert(name.clone(), QueueState::default());
            }
        }
        self.unavailable.retain(|place| match place {
            Place::Light(queue) | Place::Deep(queue) => names.contains(queue),
            Place::Server | Place::Names => true,
        });
    }

    pub(crate) fn queues(&self) -> &BTreeMap<String, QueueState> {
        &self.queues
    }

    /// `None`: the queue is gone.
    fn failure(&mut self, place: &Place) -> Option<&mut Option<String>> {
        match place {
            Place::Server => Some(&mut self.server),
            Place::Names => Some(&mut self.names),
            Place::Light(queue) => self.queues.get_mut(queue).map(|queue| &mut queue.light),
            Place::Deep(queue) => self.queues.get_mut(queue).map(|queue| &mut queue.deep),
        }
    }

    /// Notes a failure. `unavailable`: the server does not respond.
    pub(crate) fn fails(&mut self, place: &Place, why: &str, unavailable: bool) -> News {
        let Some(failure) = self.failure(place) else { return News::None };
        let is_known = failure.replace(why.to_owned()).is_some_and(|before| before == why);
        if unavailable {
            let first = self.unavailable.is_empty();
            self.unavailable.insert(place.clone());
            return if first { News::Server } else { News::None };
        }
        self.unavailable.remove(place);
        if is_known { News::None } else { News::Here }
    }

    /// Records a success.
    pub(crate) fn succeeds(&mut self, place: &Place) -> News {
        let failed = self.failure(place).is_some_and(|failure| failure.take().is_some());
        match self.unavailable.remove(place) {
            true if self.unavailable.is_empty() => News::Server,
            true => News::None,
            false if failed => News::Here,
            false => News::None,
        }
    }

    /// Records that the server responded; other failures there may persist.
    pub(crate) fn answers(&mut self, place: &Place) -> News {
        if self.unavailable.contains(place) { self.succeeds(place) } else { News::None }
    }

    pub(crate) fn deeply_cleaned(&mut self, queue: &str, report: &DeepReport) {
        let Some(queue) = self.queues.get_mut(queue) else { return };
        for (total, counts) in
            [(&mut queue.found, &report.found), (&mut queue.mended, &report.mended)]
        {
            for (damage, count) in counts {
                *total.entry(*damage).or_default() += count;
            }
        }
    }

    /// Why nothing is cleaned. The failure of one queue does not count if others are cleaned.
    pub(crate) fn stopped_by(&self) -> Option<String> {
        let server = self.server.as_ref().map(|why| format!("{}: {why}", Place::Server));
        let names = || self.names.as_ref().map(|why| format!("{}: {why}", Place::Names));
        let all = || {
            let mut failures = self.queues.iter().map(|(name, queue)| (name, &queue.light));
            let (name, first) = failures.next()?;
            let why = first.as_ref()?;
            failures
                .all(|(_, failure)| failure.is_some())
                .then(|| format!("{}: {why}", Place::Light(name.clone())))
        };
        server.or_else(names).or_else(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_server_that_is_away_is_news_once_for_all_places() {
        let mut state = State::default();
        state.set_queues(&names(&["a", "b"]));
        let (a, b) = (Place::Light("a".into()), Place::Deep("b".into()));
        assert_eq!(state.fails(&a, "no answer", true), News::Server);
        assert_eq!(state.fails(&b, "refused", true), News::None);
        assert_eq!(state.fails(&a, "refused", true), News::None);
        assert_eq!(state.succeeds(&a), News::None);
        assert_eq!(state.fails(&a, "no answer", true), News::None);
        assert_eq!(state.succeeds(&b), News::None);
        assert_eq!(state.succeeds(&a), News::Server);
        assert_eq!(state.succeeds(&a), News::None);
    }

    #[test]
    fn a_queue_fails_by_itself() {
        let mut state = State::default();
        state.set_queues(&names(&["a", "b"]));
        let (a, b) = (Place::Light("a".into()), Place::Light("b".into()));
        assert_eq!(state.fails(&a, "damaged", false), News::Here);
        assert_eq!(state.fails(&a, "damaged", false), News::None);
        assert_eq!(state.queues()["a"].failure(), Some("damaged"));
        assert_eq!(state.stopped_by(), None);
        assert_eq!(state.fails(&b, "worse", false), News::Here);
        assert_eq!(state.stopped_by().as_deref(), Some("queue a: damaged"));
        assert_eq!(state.succeeds(&b), News::Here);
        assert_eq!(state.stopped_by(), None);
        // A queue that is gone takes its failures with it.
        assert_eq!(state.fails(&a, "no answer", true), News::Server);
        state.set_queues(&names(&["b"]));
        assert_eq!(state.fails(&a, "damaged", false), News::None);
        assert!(state.unavailable.is_empty() && state.queues.len() == 1);
    }
}
