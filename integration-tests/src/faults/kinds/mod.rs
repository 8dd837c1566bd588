//! The faults, by what breaks.

pub(super) mod cleaners;
pub(super) mod clocks;
pub(super) mod commands;
pub(super) mod connections;
pub(super) mod disks;
pub(super) mod failover;
pub(super) mod processes;
pub(super) mod servers;
pub(super) mod slots;
pub(super) mod workers;
