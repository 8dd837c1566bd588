//! The leases that the testee holds, by their names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use leaseq::Lease;
use leaseq_conformance::conformance::wire;
use serde_json::Value;

use super::lock;

#[derive(Default)]
pub(crate) struct Leases(Mutex<HashMap<String, Arc<Lease>>>);

impl Leases {
    pub(crate) fn get(&self, name: &str) -> Arc<Lease> {
        lock(&self.0).get(name).unwrap_or_else(|| panic!("no lease {name}")).clone()
    }

    pub(crate) fn keep(&self, name: String, lease: Lease) -> Value {
        let value = wire::lease(&lease);
        lock(&self.0).insert(name, Arc::new(lease));
        value
    }

    pub(crate) fn keep_all(&self, name: &str, leases: Vec<Lease>) -> Value {
        let leases = leases.into_iter().enumerate();
        leases.map(|(i, lease)| self.keep(format!("{name}/{i}"), lease)).collect()
    }

    pub(crate) fn drop(&self, name: &str) -> bool {
        lock(&self.0).remove(name).is_some()
    }
}
