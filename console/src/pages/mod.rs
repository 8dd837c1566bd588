//! The pages, one file for each.

pub(crate) mod chrome;
pub(crate) mod dead;
pub(crate) mod error;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod item;
pub(crate) mod leases;
pub(crate) mod login;
pub(crate) mod numbers;
pub(crate) mod overview;
pub(crate) mod queue;
pub(crate) mod queue_head;
mod rows;
pub(crate) mod schedules;
mod selection;
pub(crate) mod settings;
mod sparkline;
pub(crate) mod tasks;
mod timeline;
pub(crate) mod wasted;
pub(crate) mod workers;
