//! The worker: decodes options and calls the crate of jobs. JavaScript runs the handlers.

mod about;
mod child;
mod options;
mod producer;
mod tasks;
mod worker;
