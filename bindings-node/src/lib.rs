//! leaseq for Node.js, the native half: `lib/` is the face that people use.
//!
//! A call crosses from JavaScript with the number of its slot and is put in line (`submission_queue.rs`).
//! The line goes to the driver (`driver.rs`), a task on a runtime of its own, at the end of each turn of the event
//! loop, and earlier when it is long: the server then works while JavaScript does. Calls of one kind that
//! follow one another in a line are one call of the core (`call_batch.rs`), which gets all in their order.
//! What the calls answer goes into an outbox (`wire.rs`) that JavaScript empties at one go. So many calls
//! made together cost two switches of threads, not two each, and the core sees them together.

/// Most of what a call needs is taken by one thread and given back by another, which the allocator of the
/// C library pays for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod bridge;
mod call_batch;
mod client;
mod driver;
mod failure;
mod input;
mod lease;
mod queue;
mod runtime;
mod settle;
mod submission_queue;
mod wire;
