//! Why a connection could not be opened.

use redis::{ErrorKind as RedisErrorKind, RedisError};

use super::retry_decision::shown;
use crate::Error;

/// Why no connection could be opened.
#[derive(Debug)]
pub(super) enum OpenError {
    /// Another attempt may succeed.
    Passing(String),
    /// Somebody has to change something first.
    Lasting(Error),
    /// The same: it cannot wait for the replicas or disks that the client asks for.
    Unconfirmable(Error),
}

/// Whether the server will answer later.
pub(super) fn is_busy(error: &RedisError) -> bool {
    matches!(error.code(), Some("LOADING" | "BUSY" | "MASTERDOWN" | "CLUSTERDOWN"))
        || error.detail().is_some_and(|detail| detail.contains("max number of clients"))
        || error.code().is_none()
}

/// Says what an error of a server that is being connected to means.
pub(super) fn open_error(at: &str, error: &RedisError) -> OpenError {
    let lasting = |what: &str| OpenError::Lasting(Error::invalid(format_args!("{at}: {what}")));
    match (error.kind(), error.code()) {
        (_, Some("NOAUTH")) => lasting("the server asks for a user and a password"),
        (_, Some("DENIED")) => {
            lasting("the server is in protected mode: other machines are refused")
        }
        (RedisErrorKind::Parse, _) => lasting(
            "what answers is no Redis or Valkey server, or takes TLS only; with TLS the url begins \
             with rediss",
        ),
        _ if error.is_connection_dropped() => OpenError::Passing(format!(
            "{at}: the server closed the connection before it answered; with TLS the url begins with \
             rediss"
        )),
        _ => OpenError::Passing(format!("{at}: {}", shown(error))),
    }
}
