//! The commands, one file for each group.

pub(crate) mod add;
pub(crate) mod bench;
pub(crate) mod bulk;
pub(crate) mod checks;
pub(crate) mod drop;
mod entry;
mod findings;
pub(crate) mod items;
mod job;
pub(crate) mod pause;
mod preview;
pub(crate) mod schedules;
pub(crate) mod settings;
pub(crate) mod show;
pub(crate) mod stats;
pub(crate) mod status;
mod steps;
pub(crate) mod tail;
pub(crate) mod top;
pub(crate) mod transfer;
pub(crate) mod web;
pub(crate) mod work;
mod work_queue;
pub(crate) mod workers;
