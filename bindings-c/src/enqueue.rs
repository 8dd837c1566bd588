//! Adding jobs.

use std::ffi::{c_char, c_void};

use crate::add::leaseq_item;
use crate::error::{leaseq_error, leaseq_status};
use crate::item_options::leaseq_item_options;
use crate::job;
use crate::job_options::leaseq_job_options;
use crate::pointer::{Out, given};
use crate::queue::leaseq_queue;
use crate::status::status;

/// Adds a job for a handler in any language: its name, 1 to 128 bytes, and its arguments, a JSON object.
/// `options` are those of the item, and may be NULL; a job that follows this one is a follow-up of them: see
/// leaseq_job_new(). `*added` is as of leaseq_queue_add_item(), and may be NULL.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a name, arguments or an option outside their limits: arguments
/// that are no JSON object, integers beyond 2^53, and more than 100 levels; an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_queue_enqueue(
    queue: Option<&leaseq_queue>,
    name: *const c_char,
    args: *const c_void,
    args_len: usize,
    options: Option<&leaseq_item_options>,
    added: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { leaseq_queue_enqueue_with(queue, name, args, args_len, options, None, added, error) }
}

/// As leaseq_queue_enqueue(), with a timeout, retries and meta texts of the job; `job_options` may be NULL.
/// @return as leaseq_queue_enqueue().
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "those of leaseq_queue_enqueue, and one")]
pub unsafe extern "C" fn leaseq_queue_enqueue_with(
    queue: Option<&leaseq_queue>,
    name: *const c_char,
    args: *const c_void,
    args_len: usize,
    options: Option<&leaseq_item_options>,
    job_options: Option<&leaseq_job_options>,
    added: *mut bool,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let added = Out::wanted(added, false);
            let queue = given(queue, "queue")?;
            let data = job::data(name, args, args_len, job_options)?;
            let options = options.map_or(std::ptr::null(), std::ptr::from_ref);
            let item = leaseq_item {
                data: data.as_ptr().cast(),
                data_len: data.len(),
                id: std::ptr::null(),
                id_len: 0,
                options,
            };
            let item = item.read()?;
            added.set(queue.run(async |queue| queue.add_item(item).await)?);
            Ok(())
        })
    }
}
