//! Why an attempt has no reply.

use redis::RedisError;

use super::retry_decision::{RetryDecision, retry_decision, shown};

#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) decision: RetryDecision,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(decision: RetryDecision, message: impl Into<String>) -> Self {
        Failure { decision, message: message.into() }
    }

    /// The failure that this error of the server or the network means.
    pub(super) fn of(error: &RedisError) -> Self {
        Failure::new(retry_decision(error), shown(error))
    }
}
