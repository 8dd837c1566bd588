//! The calls that share one request.

use std::time::Instant;

use super::call::Call;

/// `Q`: what the request carries.
pub(crate) struct Batch<A, R, Q> {
    pub(crate) calls: Vec<Call<A, R>>,
    /// The number of the last call that is sent.
    pub(crate) last: u64,
    /// The deadline of the request.
    pub(crate) until: Instant,
    pub(crate) request: Q,
}
