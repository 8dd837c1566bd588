//! How a client connects.

use std::ffi::c_char;

use leaseq::ConnectOptions;

use crate::error::{leaseq_error, leaseq_status};
use crate::guard;
use crate::options::{make, set};
use crate::pointer::{duration, text};

/// How a client connects; the URL wins over these options.
#[derive(Default)]
pub struct leaseq_connect_options(pub(crate) ConnectOptions);

/// The default options for connecting.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` if `options` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_new(
    options: *mut *mut leaseq_connect_options,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe { make(options, error) }
}

/// First part of every key in Redis, `[A-Za-z0-9._-]{1,64}`. Default: `leaseq`.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or text that is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_namespace(
    options: Option<&mut leaseq_connect_options>,
    name_space: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            text(name_space, "name_space")?.clone_into(&mut options.0.namespace);
            Ok(())
        })
    }
}

/// How long an operation is retried before it fails with `LEASEQ_UNAVAILABLE`: 50 ms to 10 minutes.
/// Default: 10,000 ms.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_timeout_ms(
    options: Option<&mut leaseq_connect_options>,
    timeout_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.timeout = duration(timeout_ms, "a timeout")?;
            Ok(())
        })
    }
}

/// How long opening one connection may take: 10 ms to 10 minutes. Default: 2,000 ms.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or a negative time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_connect_timeout_ms(
    options: Option<&mut leaseq_connect_options>,
    timeout_ms: i64,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.connect_timeout = duration(timeout_ms, "a connect timeout")?;
            Ok(())
        })
    }
}

/// Largest data of an item that this client adds, in bytes, at most 256 MiB. Default: 8 MiB.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_max_data(
    options: Option<&mut leaseq_connect_options>,
    max_data: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.max_data = max_data;
            Ok(())
        })
    }
}

/// PEM file with the certificate authorities trusted for TLS. Default: the system's.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or text that is not UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_ca_file(
    options: Option<&mut leaseq_connect_options>,
    path: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.ca_file = Some(text(path, "path")?.into());
            Ok(())
        })
    }
}

/// How many replicas of the server must have a change before its call returns: 0 to 10. If too few have it in
/// time, the call fails with `LEASEQ_UNAVAILABLE`, and its outcome is unknown. Default: 0.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_replicas(
    options: Option<&mut leaseq_connect_options>,
    replicas: usize,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.replicas = replicas.try_into().unwrap_or(u32::MAX);
            Ok(())
        })
    }
}

/// Whose disks must have a change before its call returns: `local` is that of the server, `1` to `10` those of
/// the server and of so many replicas. Needs Redis 7.2 or Valkey. Default: the server decides.
/// @return `LEASEQ_OK`, or `LEASEQ_INVALID` for NULL or other text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_set_fsync(
    options: Option<&mut leaseq_connect_options>,
    disks: *const c_char,
    error: *mut *mut leaseq_error,
) -> leaseq_status {
    // SAFETY: the conventions of the header.
    unsafe {
        set(options, error, |options| {
            options.0.fsync = Some(text(disks, "disks")?.parse()?);
            Ok(())
        })
    }
}

/// Frees options and makes the pointer NULL. NULL and a pointer to NULL are allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn leaseq_connect_options_free(options: *mut *mut leaseq_connect_options) {
    // SAFETY: made by leaseq_connect_options_new.
    unsafe { guard::free(options) }
}
