//! The requested faults and the counters, shared by a proxy and its connections.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;

/// What happens to a connection after one of its replies was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The connection is reset at once. Replies of earlier commands still arrive.
    Close,
    /// The connection stays open and carries nothing in either direction until the client closes it, as with
    /// a cut cable.
    KeepOpen,
}

pub(super) type Predicate = Box<dyn Fn(&[Vec<u8>]) -> bool + Send>;

/// The faults and counters of one proxy.
#[derive(Default)]
pub(super) struct Faults {
    /// The proxy cannot parse the bytes as commands and replies.
    pub(super) opaque: bool,
    state: Mutex<State>,
    /// Faults that running connections must notice by themselves.
    pub(super) reach: watch::Sender<Reach>,
    /// Replies discarded so far.
    pub(super) dropped: watch::Sender<u64>,
}

#[derive(Default)]
pub(super) struct State {
    drops: VecDeque<Drops>,
    pub(super) split: bool,
    pub(super) delay: Duration,
    pub(super) opened: u64,
    pub(super) open: u64,
    pub(super) commands: u64,
    pub(super) by_name: HashMap<String, u64>,
}

/// The next `left` matching commands lose their replies.
struct Drops {
    matches: Predicate,
    left: usize,
    then: Then,
}

/// Which connections, by number in order of acceptance, a fault affects.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reach {
    /// Connections below this number are in a black hole.
    pub(super) hole_below: u64,
    /// Connections from this number on are in a black hole too.
    pub(super) hole_from: Option<u64>,
    /// Connections below this number must be reset.
    pub(super) reset_below: u64,
    /// Connections below this number discard everything from the server.
    pub(super) mute_below: u64,
}

impl Reach {
    pub(super) fn holds(&self, id: u64) -> bool {
        id < self.hole_below || self.hole_from.is_some_and(|from| id >= from)
    }
}

impl Faults {
    pub(super) fn new(opaque: bool) -> Self {
        Faults { opaque, ..Faults::default() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn add_drops(&self, matches: Predicate, left: usize, then: Then) {
        self.state().drops.push_back(Drops { matches, left, then });
    }

    pub(super) fn clear_drops(&self) {
        self.state().drops.clear();
    }

    /// Counts a command. Returns whether to discard its reply, and what happens then.
    pub(super) fn on_command(&self, args: &[Vec<u8>]) -> Option<Then> {
        let mut state = self.state();
        state.commands += 1;
        *state.by_name.entry(name_of(args)).or_default() += 1;
        let drops = state.drops.iter_mut().find(|drops| drops.left > 0 && (drops.matches)(args))?;
        drops.left -= 1;
        Some(drops.then)
    }

    /// Waits while connection `id` is in a black hole.
    pub(super) async fn pass(&self, id: u64) {
        let mut reach = self.reach.subscribe();
        reach.wait_for(|reach| !reach.holds(id)).await.expect("the proxy's state exists");
    }

    /// Whether connection `id` discards everything from the server.
    pub(super) fn mutes(&self, id: u64) -> bool {
        id < self.reach.borrow().mute_below
    }

    /// Waits until connection `id` must be reset.
    pub(super) async fn reset(&self, id: u64) {
        let mut reach = self.reach.subscribe();
        reach.wait_for(|reach| id < reach.reset_below).await.expect("the proxy's state exists");
    }
}

/// Counts an open connection while this value exists.
pub(super) struct Open {
    pub(super) id: u64,
    pub(super) faults: Arc<Faults>,
}

impl Open {
    pub(super) fn new(faults: &Arc<Faults>) -> Self {
        let mut state = faults.state();
        state.open += 1;
        state.opened += 1;
        Self { id: state.opened - 1, faults: faults.clone() }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.faults.state().open -= 1;
    }
}

/// A command's name in capitals.
pub(super) fn name_of(args: &[Vec<u8>]) -> String {
    args.first().map(|name| String::from_utf8_lossy(name).to_ascii_uppercase()).unwrap_or_default()
}
