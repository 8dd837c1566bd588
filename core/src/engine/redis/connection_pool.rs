//! One connection to each server, shared by all requests of a kind.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::confirmation::Confirmation;
use super::confirmer::Confirmer;
use super::connection::{Connection, Endpoint};
use super::open_error::OpenError;
use super::opener::Opener;
use crate::lock::lock;

/// Time-outs in a row after which a connection is discarded.
const MAX_TIMEOUTS: u32 = 2;
/// How long an unused connection is kept when others are opened. It may be to a node that has left the
/// cluster, or had a slot only for a while.
const UNUSED: Duration = Duration::from_secs(60);

pub(super) struct ConnectionPool {
    slots: Mutex<HashMap<Endpoint, Slot>>,
    /// What its requests wait for.
    confirmation: Option<Confirmation>,
}

/// The connection to one server, if there is one; its lock is held while connecting.
type Current = tokio::sync::Mutex<Option<PooledConnection>>;

struct Slot {
    current: Arc<Current>,
    used: Instant,
}

#[derive(Clone)]
pub(super) struct PooledConnection {
    pub(super) connection: Connection,
    /// Sends the requests, if they wait for confirmation.
    pub(super) confirmer: Option<Confirmer>,
    timeouts: Arc<AtomicU32>,
}

impl PooledConnection {
    fn is_over(&self) -> bool {
        self.confirmer.as_ref().is_some_and(Confirmer::is_over)
    }

    pub(super) fn note_reply(&self) {
        self.timeouts.store(0, Ordering::Relaxed);
    }

    /// True: the connection must be discarded.
    pub(super) fn note_timeout(&self) -> bool {
        self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TIMEOUTS
    }
}

impl ConnectionPool {
    pub(super) fn new(confirmation: Option<Confirmation>) -> Self {
        ConnectionPool { slots: Mutex::default(), confirmation }
    }

    /// The connection to a server; opens it if there is none.
    pub(super) async fn get(
        &self,
        opener: &Opener,
        endpoint: &Endpoint,
    ) -> Result<PooledConnection, OpenError> {
        let current = self.slot(endpoint);
        let mut current = current.lock().await;
        if let Some(pooled) = current.as_ref().filter(|pooled| !pooled.is_over()) {
            return Ok(pooled.clone());
        }
        // Boxed: otherwise the future of every request would have the size of the one that opens.
        let connection = Box::pin(opener.open(endpoint)).await?;
        let confirmer = self.confirmation.map(|asked| Confirmer::new(connection.clone(), asked));
        let pooled = PooledConnection { connection, confirmer, timeouts: Arc::default() };
        *current = Some(pooled.clone());
        Ok(pooled)
    }

    /// Removes a connection, if it is still the one in use.
    pub(super) async fn discard(&self, endpoint: &Endpoint, pooled: &PooledConnection) {
        let Some(current) = self.lock().get(endpoint).map(|slot| slot.current.clone()) else {
            return;
        };
        let mut current = current.lock().await;
        let is_same = |current: &PooledConnection| Arc::ptr_eq(&current.timeouts, &pooled.timeouts);
        if current.as_ref().is_some_and(is_same) {
            *current = None;
        }
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn slot(&self, endpoint: &Endpoint) -> Arc<Current> {
        let (now, mut slots) = (Instant::now(), self.lock());
        if let Some(slot) = slots.get_mut(endpoint) {
            slot.used = now;
            return slot.current.clone();
        }
        slots.retain(|_, slot| now.saturating_duration_since(slot.used) < UNUSED);
        let current = Arc::<Current>::default();
        slots.insert(endpoint.clone(), Slot { current: current.clone(), used: now });
        current
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Endpoint, Slot>> {
        lock(&self.slots)
    }
}
