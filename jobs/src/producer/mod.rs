//! Adding jobs.

mod enqueue;
mod job_group;
mod job_ref;
mod new_job;

pub use self::enqueue::{EnqueueMiddleware, EnqueueNext, Producer};
pub use self::job_group::{JobGroup, JobGroupRef};
pub use self::job_ref::{JobRef, ResultError};
pub use self::new_job::NewJob;
