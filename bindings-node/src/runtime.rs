//! The threads that the core works on, beside those of Node.js: a blocked event loop holds up
//! neither the extension of leases nor the giving back.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::failure::Failure;

/// One thread does what one event loop can ask for, and calls that come together stay together:
/// a second one would take up the first of them while the rest is still being handed over.
const THREADS: usize = 1;

/// For the whole process: all its event loops share it, and it outlives each of them, so that what
/// a terminated one had asked for is given back.
pub(crate) fn handle() -> Result<Handle, Failure> {
    static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
    let start = || {
        Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("leaseq")
            .enable_all()
            .build()
            .map_err(|error| format!("no thread for the client: {error}"))
    };
    match RUNTIME.get_or_init(start) {
        Ok(runtime) => Ok(runtime.handle().clone()),
        Err(message) => Err(Failure::internal(message)),
    }
}
