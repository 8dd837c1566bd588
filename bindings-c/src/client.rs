//! Clients.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use leaseq::ConnectOptions;
use leaseq::blocking::{self, run};

use crate::connect_options::leaseq_connect_options;
use crate::error::{leaseq_error, leaseq_status};
use crate::guard::{self, look};
use crate::pointer::{Out, give, given, text};
use crate::queue::leaseq_queue;
use crate::status::status;
use crate::waits::Waits;
use crate::{fork, queue};

/// Owns the connections to one server, or an embedded queue, and serves any number of queues.
pub struct leaseq_client {
    client: Arc<blocking::Client>,
    waits: Arc<Waits>,
}

impl leaseq_client {
    pub(crate) fn client(&self) -> &blocking::Client {
        &self.client
    }
}

/// Texts of a result.
pub struct leaseq_names(pub(crate) Vec<CString>);

impl leaseq_names {
    /// The only text of a result.
    pub(crate) fn one(text: String) -> leaseq_names {
        leaseq_names(vec![CString::new(text).unwrap_or_default()])
    }
}

/// Connects to `redis://`, `rediss://` (TLS), `redis+unix:///path`, `redis+sentinel://…`,
/// `redis+cluster://…`, or opens `sqlite:path/to/file.db` or `memory:`. The URL carries user,
/// password, database number and options: `redis://user:password@host:6379/0?timeout_ms=10000`.
/// NULL stands for the environment variable `LEASEQ_URL`, or else `REDIS_URL`.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a URL, an option or credentials that are wrong;
/// `LEASEQ_INCOMPATIBLE` for a server or file of another version, or a server that may evict items;
/// `LEASEQ_UNAVAILABLE` if there is no server.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect(
    url: *const c_char,
    client: *mut *mut leaseq_client,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { leaseq_connect_with(url, None, client, error) }
}

/// leaseq_connect() with options; NULL for the defaults.
/// @return as leaseq_connect().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_with(
    url: *const c_char,
    options: Option<&leaseq_connect_options>,
    client: *mut *mut leaseq_client,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(client, std::ptr::null_mut(), "client")?;
            let url = if url.is_null() { None } else { Some(text(url, "url")?) };
            let options = options.map_or_else(ConnectOptions::default, |given| given.0.clone());
            fork::watch();
            let client = run(blocking::Client::connect(url, options))?;
            place.set(give(leaseq_client { client, waits: Arc::default() }));
            Ok(())
        })
    }
}

/// The queue of this name, `[A-Za-z0-9._-]{1,128}`. A queue exists as soon as it has items. The
/// queue's handle may outlive the client's handle, and keeps the connections open.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for a bad name; `LEASEQ_CLOSED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_client_queue(
    client: Option<&leaseq_client>,
    name: *const c_char,
    queue: *mut *mut leaseq_queue,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(queue, std::ptr::null_mut(), "queue")?;
            let client = given(client, "client")?;
            let queue = client.client.queue(text(name, "name")?)?;
            place.set(give(queue::new(queue, client.waits.clone())));
            Ok(())
        })
    }
}

/// Names of all queues to which items were added, or which were paused or configured, and which were not
/// dropped
/// since; sorted.
/// @return `LEASEQ_OK`, or an error of every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_client_queues(
    client: Option<&leaseq_client>,
    names: *mut *mut leaseq_names,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(names, std::ptr::null_mut(), "names")?;
            let client = given(client, "client")?;
            let names = run(async { client.client.in_this_process().await?.queues().await })?;
            let names = names.into_iter().map(|name| CString::new(name).unwrap_or_default());
            place.set(give(leaseq_names(names.collect())));
            Ok(())
        })
    }
}

/// Runs an operation on the registry of workers. Arguments and answer are JSON, UTF-8. The answer is the only text of
/// `answer`.
///
/// | operation | arguments | answer |
/// |---|---|---|
/// | `beat` | a worker: `name` and `instance` (1 to 128 bytes each), and any of `host`, `process`, `language`, `version`, `queues`, `slots`, `running`, `memory_bytes`, `throttled`, `draining`, `waiting_us`, `run_us`, `lease_use`, `acknowledged` (numbers of commands); at most 256 KiB | `quiet` and `commands`, each with `number` and `action`: `stop`, or `cancel` with `queue` and `item_id` |
/// | `leave` | `name`, `instance` | `null` |
/// | `workers` | any of `after`, `name`, `queue`, `limit` (1 to 200; default: 100) | `workers`, each as its last beat said and with `seen`, `quiet` and `commands`; `next`, the `after` of the next page, or `null`; `skipped` |
/// | `command_worker` | `worker`: name and instance; `command`: `action`, and `queue` and `item_id` to cancel | `false`: no such worker has beaten within 30 s |
/// | `quiet_worker`, `resume_worker` | `name` | `null` |
///
/// Each of `running` has `queue`, `item_id` (or `item_id_hex`, if it is no text), `elapsed_ms` and `deadline` (RFC 3339). A
/// histogram is a list of pairs: a value, and how often it was counted. A worker beats every 10 s, and is listed for 30 s.
/// @return `LEASEQ_OK`; `LEASEQ_INVALID` for an operation or arguments that are none, or above a limit; or an error of
/// every operation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_client_call_registry(
    client: Option<&leaseq_client>,
    operation: *const c_char,
    arguments: *const c_char,
    answer: *mut *mut leaseq_names,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let place = Out::one(answer, std::ptr::null_mut(), "answer")?;
            let client = given(client, "client")?;
            let (operation, arguments) =
                (text(operation, "operation")?, text(arguments, "arguments")?);
            let answer = run(async {
                client.client.in_this_process().await?.call_registry(operation, arguments).await
            })?;
            place.set(give(leaseq_names::one(answer)));
            Ok(())
        })
    }
}

/// Number of names; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_names_len(names: Option<&leaseq_names>) -> usize {
    look(names, 0, |names| names.0.len())
}

/// The name at this index, from 0; NULL beyond the last. Lives as long as `names`.
#[unsafe(no_mangle)]
pub extern "C" fn leaseq_names_get(names: Option<&leaseq_names>, index: usize) -> *const c_char {
    let nothing = std::ptr::null();
    look(names, nothing, |names| names.0.get(index).map_or(nothing, |name| name.as_ptr()))
}

/// Frees names and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_names_free(names: *mut *mut leaseq_names) {
    // SAFETY: made by leaseq_client_queues.
    unsafe { guard::free(names) }
}

/// Ends all waits for leases of this client, in every thread, as if their time were over; leases
/// they obtain meanwhile are released. Later calls do not wait either, until
/// leaseq_client_allow_waits(), so no thread that is about to wait is missed. Use it for shutting
/// down. It takes locks: a signal handler must instead set a flag, or write to a pipe, for a thread
/// that calls it.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_client_cancel_waits(
    client: Option<&leaseq_client>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            given(client, "client")?.waits.cancel();
            Ok(())
        })
    }
}

/// Allows calls to wait again after leaseq_client_cancel_waits().
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_client_allow_waits(
    client: Option<&leaseq_client>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            given(client, "client")?.waits.allow();
            Ok(())
        })
    }
}

/// Ends waiting calls with `LEASEQ_CLOSED`, finishes requests in flight, releases leases that
/// reached no caller, and closes the connections. Leases that the caller holds stay valid until
/// their deadline. A second call does nothing. The handle must still be freed.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_client_close(
    client: Option<&leaseq_client>,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        status(error, || {
            let client = given(client, "client")?;
            run(async {
                client.client.close().await;
                Ok(())
            })?;
            Ok(())
        })
    }
}

/// Frees a client and makes the pointer NULL. NULL and a pointer to NULL are allowed. Unlike
/// leaseq_client_close(), it does not wait. Queues of the client stay usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_client_free(client: *mut *mut leaseq_client) {
    // SAFETY: made by leaseq_connect.
    unsafe { guard::free(client) }
}
