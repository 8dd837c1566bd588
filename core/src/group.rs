//! Groups of items: numbered places, one for each member, and what is added when all of them have ended.

use std::time::SystemTime;

use crate::item::{FollowUp, Group, Item};
use crate::name::QueueName;
use crate::options::MAX_PLACES;
use crate::{Error, Result};

/// A group to create. See [`WorkQueue::create_group`](crate::WorkQueue::create_group).
#[derive(Debug, Clone)]
pub struct NewGroup {
    /// Has its id and its follow-ups.
    pub(crate) item: Item,
}

impl NewGroup {
    /// A group with this id, 1 to 512 arbitrary bytes, which is unique among the groups of its queue.
    pub fn new(id: impl AsRef<[u8]>) -> Self {
        NewGroup { item: Item::new([]).with_id(id) }
    }

    /// Adds an item when the group has ended so, exactly once: `completed` if all members were completed, `dead` if all have
    /// ended and one of them was not completed, `ended` in both cases. The limits are those of
    /// [the follow-ups of an item](Item::follow_up). One that wants its trigger gets the id of the group.
    pub fn follow_up(mut self, follow_up: FollowUp) -> Self {
        self.item = self.item.follow_up(follow_up);
        self
    }

    pub(crate) fn validate(&self, queue: &QueueName, max_data: usize) -> Result<()> {
        let in_group = |error| Error::invalid(format_args!("group: {error}"));
        self.item.validate(queue, max_data).map_err(in_group)
    }
}

/// What is known of one place of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceState {
    /// No end of its member has been reported.
    Open,
    /// Its member has ended without being completed, or was not added because another item had its id or its unique key.
    Ended,
    /// Its member was completed.
    Completed,
}

/// A group as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupInfo {
    /// Names it.
    pub group: Group,
    /// How many places it has. `None`: it is not sealed.
    pub places: Option<u32>,
    /// How many of them have ended, the completed ones included.
    pub ended: u32,
    /// How many of them are completed.
    pub completed: u32,
    /// It has ended: its follow-ups were added, or are added soon, and no report changes it any more.
    pub has_ended: bool,
    /// The last change.
    pub changed: SystemTime,
}

/// How a group has ended: see [`WorkQueue::group_outcome`](crate::WorkQueue::group_outcome).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupOutcome {
    /// All its members were completed.
    Completed(GroupInfo),
    /// All its members have ended, and one of them was not completed.
    Ended(GroupInfo),
    /// There is no such group: it was never created, was removed, was not sealed for a day after its last change, or has ended a
    /// day ago.
    Gone,
}

impl GroupOutcome {
    /// The group; `None` if it is gone.
    pub fn info(&self) -> Option<&GroupInfo> {
        match self {
            GroupOutcome::Completed(info) | GroupOutcome::Ended(info) => Some(info),
            GroupOutcome::Gone => None,
        }
    }

    /// `completed`, `ended` or `gone`.
    pub fn as_str(&self) -> &'static str {
        match self {
            GroupOutcome::Completed(_) => "completed",
            GroupOutcome::Ended(_) => "ended",
            GroupOutcome::Gone => "gone",
        }
    }
}

impl GroupInfo {
    /// How it has ended; `None`: it has not.
    pub(crate) fn outcome(self) -> Option<GroupOutcome> {
        let all_completed = self.places == Some(self.completed);
        self.has_ended.then(|| match all_completed {
            true => GroupOutcome::Completed(self),
            false => GroupOutcome::Ended(self),
        })
    }
}

/// Checks how many places a group is to have.
pub(crate) fn check_places(places: u32) -> Result<()> {
    if (1..=MAX_PLACES).contains(&places) {
        return Ok(());
    }
    Err(Error::invalid(format_args!("{places} places are not between 1 and {MAX_PLACES}")))
}
