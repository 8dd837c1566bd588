//! leaseq for C and C++. `include/leaseq.h`, generated from these files, describes the interface.
//! It begins with the conventions that all functions follow.
//!
//! Each function does the same three things: it checks its pointers ([`pointer`]), calls the core,
//! and returns a result or an error ([`status`]).

// Exports are reached by their names alone.
#![allow(unreachable_pub)]
// The names are those of the header.
#![allow(non_camel_case_types)]
// The safety rules stand once, in the conventions at the top of the header.
#![allow(clippy::missing_safety_doc)]

mod add;
mod admin;
mod attach;
mod change;
mod child;
mod child_job;
mod child_link;
mod child_program;
mod children_options;
mod clean;
mod client;
mod complete_and_lease;
mod connect_options;
mod enqueue;
mod error;
mod event;
mod failure;
mod follow_ups;
mod fork;
mod group;
mod groups;
mod guard;
mod history;
mod info;
mod item_options;
mod job;
mod job_options;
mod keys;
mod lease;
mod lease_options;
mod leasing;
mod list_options;
mod options;
mod outcome;
mod pointer;
mod pool;
mod query;
mod queue;
mod queue_events;
mod queue_history;
mod running;
mod schedule_info;
mod schedule_options;
mod schedules;
mod settings;
mod settings_options;
mod settle;
mod signals;
mod status;
mod task;
mod task_end;
mod task_info;
mod version;
mod waiter;
mod waits;
mod worker;
mod worker_options;
mod worker_task;
