//! How a job is written.

use std::collections::HashMap;

use leaseq_jobs::NewJob;
use napi::Result;
use napi_derive::napi;
use serde_json::value::RawValue;

use super::options::{self, NativeRetry};
use crate::failure::Failure;
use crate::input::duration;

/// The data of the item of a job. `args`: JSON that `lib/jobs/json.ts` has written, and so checked.
/// Throws an error with its code.
#[napi]
#[allow(dead_code, unreachable_pub, reason = "exported by its name")]
pub fn job_data(
    name: String,
    args: String,
    meta: Option<HashMap<String, String>>,
    timeout_ms: Option<f64>,
    retry: Option<NativeRetry>,
) -> Result<String, &'static str> {
    let args: Box<RawValue> = serde_json::from_str(&args).map_err(Failure::invalid)?;
    // The queue is not part of the data.
    let mut job = NewJob::named(&*name, "", &args);
    for (key, text) in meta.into_iter().flatten() {
        job = job.meta(key, text);
    }
    if let Some(timeout) = timeout_ms {
        job = job.timeout(duration(format_args!("job {name}: a timeout"), timeout)?);
    }
    if let Some(retry) = retry {
        job = job.retry(options::retry(&name, retry)?);
    }
    let data = job.data().map_err(Failure::from)?;
    Ok(String::from_utf8(data.into()).map_err(Failure::internal)?)
}
