//! Reading an envelope.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use leaseq::options::MAX_LEASE;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::limits::{MAX_NAME, VERSION};
use super::retry_fields::RetryFields;
use crate::RetryRules;

/// A job as it was read.
#[derive(Debug, PartialEq)]
pub(crate) struct Envelope {
    pub(crate) job: String,
    /// A JSON object, which is a part of the item's data.
    pub(crate) args: Bytes,
    pub(crate) meta: BTreeMap<String, String>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<RetryRules>,
}

/// Why an item cannot be read as a job. A newer producer may have added it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("no_envelope: {0}")]
    NoEnvelope(String),
    #[error("newer_version: the envelope has version {0}, this worker reads up to {VERSION}")]
    Newer(u64),
}

#[derive(Deserialize)]
struct Fields<'a> {
    v: u64,
    #[serde(borrow)]
    job: Cow<'a, str>,
    #[serde(borrow)]
    args: &'a RawValue,
    #[serde(default)]
    meta: BTreeMap<String, String>,
    timeout: Option<u64>,
    retry: Option<RetryFields>,
}

#[derive(Deserialize)]
struct Version {
    v: u64,
}

impl Envelope {
    /// Reads the data of an item.
    pub(crate) fn read(data: &Bytes) -> Result<Envelope, Unreadable> {
        let fields = serde_json::from_slice::<Fields<'_>>(data).map_err(|error| {
            // A newer version may have other fields.
            match serde_json::from_slice(data) {
                Ok(Version { v }) if v > VERSION => Unreadable::Newer(v),
                _ => Unreadable::NoEnvelope(error.to_string()),
            }
        })?;
        if fields.v > VERSION {
            return Err(Unreadable::Newer(fields.v));
        }
        if fields.v == 0 || fields.job.is_empty() || fields.job.len() > MAX_NAME {
            let message = format!("version 0, or a name of no or more than {MAX_NAME} bytes");
            return Err(Unreadable::NoEnvelope(message));
        }
        if !fields.args.get().starts_with('{') {
            return Err(Unreadable::NoEnvelope("args is not an object".into()));
        }
        Ok(Envelope {
            job: fields.job.into_owned(),
            args: data.slice_ref(fields.args.get().as_bytes()),
            meta: fields.meta,
            timeout: fields
                .timeout
                .map(|ms| Duration::from_millis(ms).clamp(Duration::from_millis(1), MAX_LEASE)),
            retry: fields.retry.map(Into::into),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Retry;

    fn read(data: &str) -> Result<Envelope, Unreadable> {
        Envelope::read(&Bytes::copy_from_slice(data.as_bytes()))
    }

    #[test]
    fn a_job_of_any_language_is_read() {
        let data = r#"{"retry":{"max":5,"on":["OSError"]},"job":"mail.send\u0021","future":[1],"v":1,
            "args": {"to": "ada", "n": 1e2}, "timeout":30000,"meta":{"traceparent":"00-1"}}"#;
        let envelope = read(data).unwrap();
        assert_eq!(envelope.job, "mail.send!");
        assert_eq!(envelope.args, r#"{"to": "ada", "n": 1e2}"#);
        assert_eq!(envelope.meta["traceparent"], "00-1");
        assert_eq!(envelope.timeout, Some(Duration::from_secs(30)));
        let handler = Retry::new(9).never(["Fatal"]).base(Duration::from_secs(7));
        let expected = Retry { attempts: 5, ..handler.clone() }.on(["OSError"]);
        assert_eq!(envelope.retry.map(|rules| rules.over(&handler)), Some(expected));
    }

    #[test]
    fn what_is_missing_has_no_value() {
        let envelope = read(r#"{"v":1,"job":"a","args":{}}"#).unwrap();
        assert_eq!((envelope.timeout, envelope.retry), (None, None));
        assert!(envelope.meta.is_empty());
    }

    #[test]
    fn what_is_no_job_is_told_from_a_newer_job() {
        assert_eq!(read(r#"{"v":2,"work":"a"}"#), Err(Unreadable::Newer(2)));
        for data in [
            "",
            "hello",
            "\u{0}",
            "[]",
            "{}",
            r#"{"v":"1"}"#,
            r#"{"v":1,"job":"a"}"#,
            r#"{"v":0,"job":"a","args":{}}"#,
            r#"{"v":1,"job":"","args":{}}"#,
            r#"{"v":1,"job":"a","args":[1]}"#,
            r#"{"v":1,"job":1,"args":{}}"#,
            r#"{"v":1,"job":"a","args":{},"meta":{"a":1}}"#,
        ] {
            assert!(matches!(read(data), Err(Unreadable::NoEnvelope(_))), "{data}");
        }
    }
}
