//! Jobs as the data of items, for calls that take items.

use std::ffi::{c_char, c_void};

use bytes::Bytes;
use leaseq::options::MAX_MAX_DATA;
use leaseq_jobs::NewJob;

use crate::error::{leaseq_error, leaseq_status};
use crate::failure::{Failure, Result};
use crate::guard::{self, look};
use crate::job_options::leaseq_job_options;
use crate::pointer::{Out, bytes, give, text};
use crate::status::status;

/// A job as the data of an item: one that follows another job or a group, of a schedule, or one of many.
pub struct leaseq_job(Bytes);

/// A job for a handler in any language: its name, 1 to 128 bytes, and its arguments, a JSON object. `job_options` may be
/// NULL. The data of an item with this job is leaseq_job_data(): give it to calls that take a ::leaseq_item. Free the job
/// with leaseq_job_free().
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` as for leaseq_queue_enqueue().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_new(
    name: *const c_char,
    args: *const c_void,
    args_len: usize,
    job_options: Option<&leaseq_job_options>,
    job: *mut *mut leaseq_job,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let job = Out::one(job, std::ptr::null_mut(), "job")?;
            job.set(give(leaseq_job(data(name, args, args_len, job_options)?)));
            Ok(())
        })
    }
}

/// The data of the item of a job.
///
/// # Safety
/// The conventions of the header.
pub(crate) unsafe fn data(
    name: *const c_char,
    args: *const c_void,
    args_len: usize,
    options: Option<&leaseq_job_options>,
) -> Result<Bytes> {
    // SAFETY: the conventions of the header.
    let (args, name) =
        unsafe { (bytes(args, args_len, MAX_MAX_DATA, "args")?, text(name, "name")?) };
    let args: serde_json::Value = serde_json::from_slice(args).map_err(|why| {
        Failure::invalid(format_args!("job {name}: the arguments are no JSON: {why}"))
    })?;
    let job = NewJob::named(name, "", &args);
    Ok(options.into_iter().fold(job, |job, options| options.apply(job)).data()?)
}

/// The data of an item with this job: JSON. NULL for NULL. Lives as long as the job.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_job_data(job: Option<&leaseq_job>) -> *const c_void {
    look(job, std::ptr::null(), |job| job.0.as_ptr().cast())
}

/// Number of bytes of the data.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_job_data_len(job: Option<&leaseq_job>) -> usize {
    look(job, 0, |job| job.0.len())
}

/// Frees a job and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_job_free(job: *mut *mut leaseq_job) {
    // SAFETY: made by leaseq_job_new.
    unsafe { guard::free(job) }
}
