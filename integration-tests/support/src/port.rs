//! Free loopback ports, reserved for as long as necessary.
//!
//! `bind(0)` is unsuitable: it returns ports of the range that the kernel also uses for outgoing
//! connections. So a port could be taken while its server restarts, and a client that retries a closed
//! port of that range can even connect to itself.

use std::fs::File;
use std::net::TcpListener;
use std::ops::Range;

use rand::Rng;

/// Plus [`SECOND`] still below the kernel's range for outgoing connections, which begins at 32768 on Linux.
const PORTS: Range<u16> = 10_000..22_000;

/// A server's second port (cluster bus, TLS) is this much above its first, as in Redis.
pub(crate) const SECOND: u16 = 10_000;

/// A port of 127.0.0.1 that no other test uses, in this process or another. Other programs may.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Locked. The lock ends with the process at the latest, so the file may remain.
    _lock: File,
}

impl Port {
    /// Reserves a port on which nobody listens.
    ///
    /// # Panics
    /// If there is none.
    pub fn reserve() -> Self {
        Self::listen().0
    }

    /// Reserves a port and listens on it.
    pub(crate) fn listen() -> (Self, TcpListener) {
        let user = rustix::process::getuid().as_raw();
        let locks = std::env::temp_dir().join(format!("leaseq-ports-{user}"));
        std::fs::create_dir_all(&locks).expect("the temporary directory is writable");
        for _ in 0..1_000 {
            let number = rand::rng().random_range(PORTS);
            let lock = File::create(locks.join(number.to_string())).expect("it is writable");
            if lock.try_lock().is_ok()
                && let Ok(listener) = TcpListener::bind(("127.0.0.1", number))
            {
                return (Self { number, _lock: lock }, listener);
            }
        }
        panic!("no free port on 127.0.0.1 in {PORTS:?}");
    }

    /// The port.
    pub fn number(&self) -> u16 {
        self.number
    }
}
