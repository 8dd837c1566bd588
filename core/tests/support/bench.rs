//! An engine for tests, with a clock that the test sets.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leaseq::{Client, ConnectOptions, WorkQueue};

/// What the tests need to know about an engine.
pub(crate) trait Backend: Send + Sync {
    fn url(&self) -> String;
    /// Makes the clients that use these options read the clock that `set_clock` sets.
    fn with_clock(&self, options: ConnectOptions) -> ConnectOptions;
    fn set_clock(&self, ms: u64);
    /// All stored data except the clock, in a form that can be compared.
    fn dump(&self) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>>;
}

/// A private, empty engine, whose clock stands still until it is advanced.
pub(crate) struct Bench {
    backend: Box<dyn Backend>,
    now: AtomicU64,
}

impl Bench {
    /// The clock begins in 2027.
    pub(crate) fn new(backend: impl Backend + 'static) -> Self {
        let bench = Bench { backend: Box::new(backend), now: 1_800_000_000_000.into() };
        bench.advance(Duration::ZERO);
        bench
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// A new client, on the clock of the bench.
    pub(crate) async fn client(&self) -> Client {
        self.client_with(ConnectOptions::default()).await
    }

    pub(crate) async fn client_with(&self, options: ConnectOptions) -> Client {
        let options = self.backend.with_clock(options);
        Client::connect_with(&self.backend.url(), options).await.expect("the engine is there")
    }

    /// The queue `jobs` of a new client, on the clock of the bench.
    pub(crate) async fn queue(&self) -> WorkQueue {
        self.client().await.queue("jobs").expect("the name is valid")
    }

    /// The queue `jobs` of a new client on the engine's own clock.
    pub(crate) async fn queue_in_real_time(&self) -> WorkQueue {
        let client = Client::connect(&self.backend.url()).await.expect("the engine is there");
        client.queue("jobs").expect("the name is valid")
    }

    pub(crate) fn advance(&self, by: Duration) {
        let by = by.as_millis() as u64;
        self.backend.set_clock(self.now.fetch_add(by, Ordering::Relaxed) + by);
    }

    /// Milliseconds since 1970 on the clock of the bench.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }
}
