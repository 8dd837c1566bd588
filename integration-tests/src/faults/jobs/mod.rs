//! Faults of workers: processes run handlers, something breaks meanwhile, and a checker compares what the handlers
//! have logged with what workers promise.

mod checker;
pub(super) mod children;
pub(super) mod context;
pub(super) mod control;
mod fleet;
mod history;
pub(super) mod kinds;
mod load;
mod log;
pub(super) mod memory;
pub(super) mod play;
mod processes;
#[cfg(test)]
mod tests;
