//! Retry rules as they are written, with times in milliseconds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::retry::RetryRules;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RetryFields {
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cap: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    on: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    never: Option<Vec<String>>,
}

impl From<RetryFields> for RetryRules {
    fn from(fields: RetryFields) -> Self {
        RetryRules {
            attempts: fields.max,
            base: fields.base.map(Duration::from_millis),
            cap: fields.cap.map(Duration::from_millis),
            on: fields.on,
            never: fields.never,
        }
    }
}

impl From<&RetryRules> for RetryFields {
    fn from(rules: &RetryRules) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        RetryFields {
            max: rules.attempts,
            base: rules.base.map(ms),
            cap: rules.cap.map(ms),
            on: rules.on.clone(),
            never: rules.never.clone(),
        }
    }
}
