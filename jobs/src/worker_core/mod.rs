//! The worker without handlers, on which the faces in all languages build. A face calls [`WorkerCore::next`], runs the
//! handler of the [`Task`] and reports with [`WorkerCore::finish`]; the core never calls a face.
//!
//! | module | what it does |
//! |---|---|
//! | `core`, `task`, `finish`, `finishing` | what faces call |
//! | `state` | the slots and their jobs, and the phase of the worker, behind one lock |
//! | `phases` | the worker drains, stops, or is aborted, also when a part of it panics |
//! | `capacity` | how many jobs may start, and how many more it may have |
//! | `slots` | when a task leaves its slot |
//! | `running` | a job that waits for a slot or runs in one: who settles it, why it is to stop, when something is to be done about it |
//! | `fetcher`, `requests`, `sources`, `ask_order`, `patience` | lease for free slots and in advance, and complete in the same requests |
//! | `discovery` | finds queues by patterns |
//! | `admission` | from a lease to a job that starts |
//! | `settlement`, `settler` | decide what the end of a task means; make the queue do it |
//! | `refusals` | how often jobs that the worker cannot run come back |
//! | `schedules` | stores the schedules of the deployment |
//! | `throttle` | leases nothing while memory is short |
//! | `measurements`, `history` | what it has measured, and reporting that to its queues |
//! | `beats` | the entry in the registry of workers, and the commands from there |
//! | `timers` | timeouts, and watching for cancellations |
//! | `shutdown` | ends the worker in order |

mod admission;
mod ask_order;
mod beats;
mod capacity;
mod core;
mod discovery;
mod exit;
mod fetcher;
mod finish;
mod finishing;
mod history;
mod log;
mod measurements;
mod options;
mod patience;
mod phases;
mod reason;
mod refusals;
mod requests;
mod running;
mod schedules;
mod settlement;
mod settler;
mod shutdown;
mod slots;
mod sources;
mod state;
mod task;
mod throttle;
mod timers;

pub(crate) use self::core::Stopper;
pub use self::core::{JobStart, Load, WorkerCore};
pub use self::exit::{Exit, ExitReason};
pub use self::finish::Finish;
pub use self::options::{Deployment, Order, QueueOptions, WorkerOptions};
pub use self::reason::Reason;
pub use self::settlement::Settled;
pub use self::task::Task;
pub use self::throttle::{Marks, Throttle};
