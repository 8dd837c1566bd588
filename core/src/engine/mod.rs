//! Engines store the queues. Nothing above this module knows which engine it runs on.

mod connect;
mod events;
pub(crate) mod generation;
pub(crate) mod groups;
mod history;
mod interface;
mod pace;
#[cfg(feature = "redis")]
pub(crate) mod redis;
mod schedules;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod values;
mod workers;

pub(crate) use self::connect::connect;
pub(crate) use self::events::{EventEntry, FoundEvents, StoredEvent, WhichEvents};
pub(crate) use self::generation::Generation;
pub(crate) use self::groups::{ChangeGroup, GroupChange, StoredGroup};
pub(crate) use self::history::{read_row, write_numbers};
pub(crate) use self::interface::Engine;
pub(crate) use self::pace::pause;
pub(crate) use self::schedules::{Schedules, StoredSchedule, Swap, Swapped, WhichSchedules};
pub(crate) use self::values::{
    AddedWith, Attach, Attached, Awaited, Bury, Cancellations, Complete, CompleteAndLeaseReply,
    Ended, EndingPlace, EndingReport, Endings, Extend, Fail, Found, KeyLimit, LeaseRequest,
    LeaseStatus, Leased, LeasedItem, ListStep, Listed, Outcomes, Progress, Purged, Release,
    RequestId, Revise, Subject, Target, Token, Turn,
};
pub(crate) use self::workers::{
    BeatAnswer, StoredBeat, StoredCommand, StoredName, StoredWorker, StoredWorkers, WhichWorkers,
    WorkerEntry,
};
