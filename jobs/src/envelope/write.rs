//! Writing an envelope.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use leaseq::options::MAX_LEASE;
use leaseq::{Error, Result};
use serde::Serialize;
use serde_json::value::RawValue;

use super::check::check;
use super::limits::{MAX_NAME, VERSION};
use super::retry_fields::RetryFields;
use crate::retry::{RetryRules, check_attempts};

#[derive(Serialize)]
struct Fields<'a> {
    v: u64,
    job: &'a str,
    args: &'a RawValue,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    meta: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<RetryFields>,
}

/// A value as JSON, if every language reads it alike: arguments or a result.
///
/// # Errors
/// `Invalid` for NaN, infinite numbers, integers beyond 2^53, and more than 64 levels.
pub fn to_json<T: Serialize + ?Sized>(value: &T) -> Result<Bytes> {
    check(value).map_err(Error::invalid)?;
    Ok(serde_json::to_vec(value).map_err(Error::invalid)?.into())
}

/// The arguments of a job as JSON, if every language reads them alike.
pub(crate) fn write_args<T: Serialize + ?Sized>(job: &str, args: &T) -> Result<Box<RawValue>> {
    let invalid = |what: &dyn std::fmt::Display| Error::invalid(format_args!("job {job}: {what}"));
    check(args).map_err(|error| invalid(&error))?;
    let json = serde_json::value::to_raw_value(args).map_err(|error| invalid(&error))?;
    if !json.get().starts_with('{') {
        return Err(invalid(&"the arguments are not a JSON object"));
    }
    Ok(json)
}

/// The data of an item.
pub(crate) fn write(
    job: &str,
    args: &RawValue,
    meta: &BTreeMap<String, String>,
    timeout: Option<Duration>,
    retry: Option<&RetryRules>,
) -> Result<Bytes> {
    if job.is_empty() || job.len() > MAX_NAME {
        return Err(Error::invalid(format_args!(
            "the name of a job has {} bytes, not between 1 and {MAX_NAME}",
            job.len()
        )));
    }
    let range = Duration::from_millis(1)..=MAX_LEASE;
    if timeout.is_some_and(|timeout| !range.contains(&timeout)) {
        return Err(Error::invalid(format_args!(
            "job {job}: the timeout is not between 1 ms and 30 days"
        )));
    }
    if let Some(attempts) = retry.and_then(|rules| rules.attempts) {
        check_attempts(attempts)?;
    }
    let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let retry = retry.map(Into::into);
    let fields = Fields { v: VERSION, job, args, meta, timeout: timeout.map(ms), retry };
    match serde_json::to_vec(&fields) {
        Ok(data) => Ok(data.into()),
        Err(error) => Err(Error::invalid(format_args!("job {job}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Envelope;
    use super::*;
    use crate::Retry;

    #[derive(Serialize)]
    struct Unit;

    #[test]
    fn what_is_written_is_read() {
        let args = write_args("a", &serde_json::json!({ "x": [1, null] })).unwrap();
        let meta = BTreeMap::from([("k".to_owned(), "\"v\"".to_owned())]);
        let retry = Retry::new(3).never(["Bad"]).base(Duration::from_millis(5));
        let rules = retry.clone().into();
        let data = write("a", &args, &meta, Some(Duration::from_secs(2)), Some(&rules)).unwrap();
        let read = Envelope::read(&data).unwrap();
        assert_eq!((read.job.as_str(), &read.meta), ("a", &meta));
        assert_eq!(read.args, r#"{"x":[1,null]}"#);
        assert_eq!(read.timeout, Some(Duration::from_secs(2)));
        // All of them, whatever those of the handler are.
        let handler = Retry::new(7).on(["Other"]).never(["Other"]);
        assert_eq!(read.retry.unwrap().over(&handler), retry);
        // Or only those that are set.
        let rules = RetryRules { cap: Some(Duration::from_millis(9)), ..RetryRules::default() };
        let data = write("a", &args, &BTreeMap::new(), None, Some(&rules)).unwrap();
        assert_eq!(data, r#"{"v":1,"job":"a","args":{"x":[1,null]},"retry":{"cap":9}}"#);
        let plain = write("a", &args, &BTreeMap::new(), None, None).unwrap();
        assert_eq!(plain, r#"{"v":1,"job":"a","args":{"x":[1,null]}}"#);
    }

    #[test]
    fn arguments_are_named_and_names_have_a_limit() {
        for wrong in [write_args("a", &[1, 2]), write_args("a", &Unit), write_args("a", "text")] {
            assert!(wrong.unwrap_err().to_string().contains("not a JSON object"));
        }
        let error = write_args("mail.send", &serde_json::json!({ "n": u64::MAX })).unwrap_err();
        assert!(error.to_string().starts_with("job mail.send: integer 18446744073709551615"));
        let args = write_args("a", &serde_json::json!({})).unwrap();
        for name in ["", &"x".repeat(129)] {
            assert!(write(name, &args, &BTreeMap::new(), None, None).is_err());
        }
    }
}
