//! Jobs in child processes: the worker holds leases and connections, and a child runs the handlers. A child is any
//! program that speaks the protocol of `docs/child-protocol.md` over a socket.
//!
//! | module | what it does |
//! |---|---|
//! | `options` | what a worker is told about its children |
//! | `message` | what is said, as JSON |
//! | `connection` | the socket between a worker and a child |
//! | `process` | a process of the system: its group, its standard error, its end |
//! | `standard_error` | what children write to their standard error |
//! | `obituary` | why a process has ended, for the error of its job |
//! | `child` | a child that speaks the protocol: from its start to its end |
//! | `job` | one job in a child |
//! | `system` | what Linux tells about processes |
//! | `pool` | starts children, and waits after failures |

mod child;
mod connection;
mod job;
mod message;
mod obituary;
mod options;
mod pool;
mod process;
mod standard_error;
mod system;

pub(crate) use self::child::Child;
pub use self::options::Children;
pub(crate) use self::pool::Pool;
pub(crate) use self::standard_error::passed_on;
