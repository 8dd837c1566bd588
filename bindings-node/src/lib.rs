//! leaseq for Node.js, the native half; `lib/` is what people use.
//!
//! JavaScript gathers alike calls and hands them over as a batch (`lib/gather.ts`). Each call has the
//! number of its slot. The submission queue (`submission_queue.rs`) sends them to the driver
//! (`driver.rs`), a task on the core's thread, at the end of each turn of the event loop and every 50
//! calls: the server then works while JavaScript does. A batch is one call of the core
//! (`call_batch.rs`). Answers are collected (`outbox.rs`), encoded (`wire.rs`), and taken by
//! JavaScript in bulk. So calls made together cost two switches of threads, not two each.

/// One thread allocates most of what a call needs, and another frees it, which is slow with the
/// allocator of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod bridge;
mod call_batch;
mod change;
mod client;
mod clock;
mod driver;
mod failure;
mod groups;
mod held;
mod history;
mod input;
mod item;
mod jobs;
mod keys;
mod lease;
mod outbox;
mod parts;
mod queue;
mod queue_events;
mod queue_history;
mod schedules;
mod settings;
mod settle;
mod submission_queue;
mod time;
mod wire;
