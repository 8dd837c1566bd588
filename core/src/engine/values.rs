//! The arguments and replies of an engine's operations.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::generation::Generation;
use crate::Result;
use crate::item::{
    Cursor, Due, FollowUp, History, Item, ItemInfo, Outcome, State, Trigger, size_of_added,
};
use crate::options::{MAX_ATTACHED, MAX_SHARED_BYTES};

/// Names one execution of an operation, so that a retry gets the reply of the first execution.
/// A lane has one operation in flight at a time; its numbers go up.
#[derive(Debug, Clone)]
pub(crate) struct RequestId {
    pub(crate) lane: Arc<str>,
    pub(crate) number: u64,
    /// When to stop retrying.
    pub(crate) until: Instant,
    /// Belongs to the lane. The engine sets it when a copy of the request may still arrive, even after a
    /// reply: the lane must then be kept.
    pub(crate) late_copy: Arc<AtomicBool>,
}

/// Proves that a lease is the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Token {
    pub(crate) generation: Generation,
    /// How often the item had been leased before in this generation.
    pub(crate) delivery: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct LeaseRequest {
    pub(crate) count: usize,
    pub(crate) duration_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct LeasedItem {
    pub(crate) token: Token,
    pub(crate) id: Bytes,
    pub(crate) data: Bytes,
    pub(crate) added_with: Option<Arc<AddedWith>>,
    /// The item that has added it by its end, if it wants to know.
    pub(crate) trigger: Option<Trigger>,
    pub(crate) priority: u8,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) failures: u32,
    pub(crate) expiries: u32,
    pub(crate) last_error: String,
    pub(crate) history: History,
    /// When it became ready, unless a lease has expired since; as `deadline_ms`.
    pub(crate) ready_at_ms: u64,
    pub(crate) duration_ms: u64,
    /// Milliseconds since 1970 on the engine's clock.
    pub(crate) deadline_ms: u64,
}

/// What an item was added with that matters at its end. An engine may let its client keep it, so that it need not
/// read the item again; `None` stands for the defaults.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct AddedWith {
    /// How long the item is retained after its completion; 0: not.
    pub(crate) retain_ms: u64,
    pub(crate) unique: Option<Bytes>,
    /// Every engine lets its client keep it.
    pub(crate) key: Option<Bytes>,
    /// The name under which the engine has its follow-ups.
    pub(crate) follow_ups: Option<Bytes>,
}

/// A limit for one key.
#[derive(Debug, Clone)]
pub(crate) struct KeyLimit {
    pub(crate) key: Bytes,
    /// `None`: that of the queue.
    pub(crate) limit: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Leased {
    pub(crate) items: Vec<LeasedItem>,
    /// The time until the next item is due or expires; `None`: there is none.
    pub(crate) look_in: Option<Duration>,
    /// A schedule is due, which the client processes.
    pub(crate) is_to_tick: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Complete {
    pub(crate) token: Token,
    pub(crate) id: Bytes,
    pub(crate) strict: bool,
    /// Of the leased item.
    pub(crate) added_with: Option<Arc<AddedWith>>,
    /// How long the item is retained, instead of what it was added with.
    pub(crate) retain_ms: Option<u64>,
    pub(crate) result: Option<Bytes>,
    /// What is added if the call completes the item.
    pub(crate) add: Arc<[Item]>,
    /// Length of the item's data.
    pub(crate) data_len: usize,
}

impl Complete {
    /// How much of [`MAX_SHARED_BYTES`](crate::options::MAX_SHARED_BYTES) it takes. Retaining an item whose lease
    /// has expired may copy its data within the server, 16 MiB at most in a step.
    pub(crate) fn bytes(&self) -> usize {
        self.sent() + self.data_len / 16
    }

    /// How many bytes are sent with it, and its data.
    pub(crate) fn size(&self) -> usize {
        self.data_len + self.sent()
    }

    /// How many bytes of results and items are sent with it.
    pub(crate) fn sent(&self) -> usize {
        self.result.as_ref().map_or(0, Bytes::len)
            + self.add.iter().map(size_of_added).sum::<usize>()
    }
}

#[derive(Debug)]
pub(crate) struct CompleteAndLeaseReply {
    pub(crate) completed: Vec<bool>,
    /// An error if what was leased cannot be read; the completions are valid all the same.
    pub(crate) leased: Result<Leased>,
}

#[derive(Debug, Clone)]
pub(crate) struct Extend {
    pub(crate) token: Token,
    pub(crate) duration_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Progress {
    pub(crate) token: Token,
    pub(crate) value: Bytes,
}

#[derive(Debug, Clone)]
pub(crate) struct Release {
    pub(crate) token: Token,
    /// For the order of calls: an item that is cancelled frees its id. Empty if no caller waits.
    pub(crate) id: Bytes,
    pub(crate) delay_ms: u64,
    /// Why, perhaps empty. `None` if no worker has asked for it: the item is as if it had not been leased.
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Fail {
    pub(crate) token: Token,
    /// As for [`Release`].
    pub(crate) id: Bytes,
    pub(crate) delay_ms: u64,
    /// The item is dead then, whatever its limit of attempts.
    pub(crate) dead: bool,
    pub(crate) error: String,
    /// What is added if the call ends the item.
    pub(crate) add: Arc<[Item]>,
}

impl Fail {
    /// How many bytes of items are sent with it.
    pub(crate) fn sent(&self) -> usize {
        self.add.iter().map(size_of_added).sum()
    }
}

/// An item that an operator names.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) id: Bytes,
    /// The generation that it must have; `None`: any.
    pub(crate) generation: Option<Generation>,
}

#[derive(Debug, Clone)]
pub(crate) struct Bury {
    pub(crate) target: Target,
    pub(crate) error: Arc<str>,
}

/// A follow-up for an item.
#[derive(Debug, Clone)]
pub(crate) struct Attach {
    pub(crate) target: Target,
    pub(crate) follow_up: FollowUp,
}

impl Attach {
    /// How many bytes it takes of what a request has that calls share: so that it has no more of them than a step may have.
    pub(crate) fn room(&self) -> usize {
        MAX_SHARED_BYTES / MAX_ATTACHED + size_of_added(&self.follow_up.item)
    }
}

/// What has become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attached {
    /// The item has it, or it is added.
    Yes,
    /// There is no such item, or it has ended otherwise.
    No,
    /// The item has as many follow-ups as it may have.
    Full,
}

/// What an engine knows about the cancellation of leased items.
#[derive(Debug)]
pub(crate) struct Cancellations {
    /// Changes with each call that requests the cancellation of a leased item.
    pub(crate) counter: u64,
    /// For each lease, in the same moment.
    pub(crate) leases: Vec<LeaseStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseStatus {
    Current,
    /// Current, and the cancellation of its item was requested.
    Cancelled,
    Lost,
}

/// What a client waits for, by its id.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    Item(Bytes),
    Group(Bytes),
}

impl Subject {
    pub(crate) fn id(&self) -> &Bytes {
        match self {
            Subject::Item(id) | Subject::Group(id) => id,
        }
    }
}

/// Of an item or a group whose outcome is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Awaited {
    pub(crate) subject: Subject,
    /// It is registered even if there is none.
    pub(crate) expect: bool,
}

/// A place in the endings of a queue: those with later places were reported later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EndingPlace(pub(crate) u64, pub(crate) u64);

/// What an engine knows about how items have ended.
#[derive(Debug)]
pub(crate) struct Outcomes {
    /// Later endings have later places.
    pub(crate) place: EndingPlace,
    /// For each of the first ones, as many as fit into a reply; at least one.
    pub(crate) found: Vec<Found>,
    /// What was reported behind the place that the request names, the first ones.
    pub(crate) endings: Endings,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// There is no such item or group.
    Nothing,
    /// It has not ended.
    Open,
    /// A group stays after its end, so its outcome, [`Ended::Group`]'s, says no more than that: whoever waits reads it.
    Ended(Outcome),
}

/// An ending that was reported.
#[derive(Debug, Clone)]
pub(crate) struct EndingReport {
    pub(crate) place: EndingPlace,
    pub(crate) subject: Subject,
    pub(crate) how: Ended,
}

/// How an item or a group has ended, according to a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Completed {
        retained: bool,
    },
    Cancelled {
        retained: bool,
    },
    Dead,
    Removed,
    /// A group, which has ended or was removed.
    Group,
}

impl Ended {
    pub(crate) fn letter(self) -> u8 {
        match self {
            Ended::Completed { retained: true } => b'C',
            Ended::Completed { retained: false } => b'c',
            Ended::Cancelled { retained: true } => b'X',
            Ended::Cancelled { retained: false } => b'x',
            Ended::Dead => b'd',
            Ended::Removed => b'r',
            Ended::Group => b'g',
        }
    }

    pub(crate) fn from_letter(letter: u8) -> Option<Ended> {
        let all = [
            Ended::Completed { retained: true },
            Ended::Completed { retained: false },
            Ended::Cancelled { retained: true },
            Ended::Cancelled { retained: false },
            Ended::Dead,
            Ended::Removed,
            Ended::Group,
        ];
        all.into_iter().find(|how| how.letter() == letter)
    }

    /// Whether more can be read of the item: its result, or its error.
    pub(crate) fn leaves_more(self) -> bool {
        matches!(self, Ended::Completed { retained: true } | Ended::Dead)
    }

    /// The id of what has ended is that of a group or of an item.
    pub(crate) fn subject(self, id: Bytes) -> Subject {
        match self {
            Ended::Group => Subject::Group(id),
            _ => Subject::Item(id),
        }
    }

    /// What the report itself says, if nothing more can be read of the item.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Ended::Completed { .. } | Ended::Group => {
                Outcome::Completed { result: None, retained: false }
            }
            Ended::Cancelled { .. } => Outcome::Cancelled,
            Ended::Dead => Outcome::Dead { error: String::new() },
            Ended::Removed => Outcome::Removed,
        }
    }
}

/// What a client learns while it waits for endings.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    /// In the order of their places.
    pub(crate) reports: Vec<EndingReport>,
    /// The place of the last one that was read, also if it was unreadable.
    pub(crate) last: Option<EndingPlace>,
    /// Reports may have been lost with a connection.
    pub(crate) lost: bool,
}

/// What changes of an item; `None`: it stays as it is.
#[derive(Debug, Clone)]
pub(crate) struct Revise {
    pub(crate) target: Target,
    pub(crate) data: Option<Bytes>,
    pub(crate) priority: Option<u8>,
    pub(crate) due: Option<Due>,
    pub(crate) max_attempts: Option<u32>,
}

impl Revise {
    pub(crate) fn data_len(&self) -> usize {
        self.data.as_ref().map_or(0, Bytes::len)
    }
}

/// A step in taking turns at deep cleans. A turn ends by itself after a minute unless it is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn {
    /// Takes the turn if no cleaner has it and the last deep clean was done at least this long ago.
    Take {
        interval: Duration,
    },
    Keep,
    Done,
    /// Gives the turn back unfinished.
    Drop,
}

impl Turn {
    pub(crate) const LASTS: Duration = Duration::from_secs(60);
}

/// A step of a listing.
#[derive(Debug, Clone)]
pub(crate) struct ListStep {
    pub(crate) state: State,
    /// Of the same state and direction.
    pub(crate) cursor: Option<Cursor>,
    pub(crate) reverse: bool,
    /// At most how many entries.
    pub(crate) limit: usize,
    pub(crate) with_data: bool,
    /// Only items whose time is not before the first and before the second, in ms since 1970. No matter for
    /// ready items, which are not in the order of a time.
    pub(crate) since_ms: Option<u64>,
    pub(crate) until_ms: Option<u64>,
}

impl ListStep {
    /// A cursor of this listing.
    pub(crate) fn cursor_at(&self, place: String) -> Cursor {
        Cursor { reverse: self.reverse, state: self.state, place }
    }
}

/// What a step of a listing has found.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    /// Each with a cursor that goes on after it; without an item if that is gone or cannot be read.
    pub(crate) entries: Vec<(Option<ItemInfo>, Cursor)>,
    /// `None` at the end.
    pub(crate) cursor: Option<Cursor>,
}

/// What one step of a purge has done.
pub(crate) struct Purged {
    pub(crate) removed: u64,
    /// Where the next step goes on; `None`: nothing is left.
    pub(crate) next: Option<String>,
}
