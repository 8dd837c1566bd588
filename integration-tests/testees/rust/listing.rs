//! The options of a listing.

use std::time::{Duration, UNIX_EPOCH};

use leaseq::ListOptions;
use leaseq_conformance::conformance::wire;
use serde_json::Value;

pub(crate) fn options(request: &Value) -> ListOptions {
    let time = |name: &str| Some(UNIX_EPOCH + Duration::from_millis(request[name].as_u64()?));
    let bytes = |name: &str| request[name].as_str().map(wire::bytes).unwrap_or_default();
    let mut options = ListOptions::new();
    options.limit = request["limit"].as_u64().unwrap_or(100) as usize;
    options.reverse = request["reverse"] == true;
    (options.since, options.until) = (time("since_ms"), time("until_ms"));
    options.data = request["with_data"] != false;
    options.id_prefix = bytes("id_prefix");
    options.data_contains = bytes("data_contains");
    options.error_contains = request["error_contains"].as_str().unwrap_or_default().into();
    options
}
