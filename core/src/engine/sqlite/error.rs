//! Turning SQLite's errors into those of this library.

use rusqlite::{Error as SqliteError, ErrorCode};

use crate::{Error, ErrorKind};

/// `committing`: the error came from COMMIT, so its outcome may be unknown.
pub(super) fn explain(place: &str, error: &SqliteError, committing: bool) -> Error {
    let message = format!("{place}: {error}");
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::OperationInterrupted,
        ) => Error::unavailable(message, false),
        Some(ErrorCode::DiskFull) => {
            Error::unavailable(format!("{place}: the disk is full"), false)
        }
        Some(ErrorCode::OutOfMemory | ErrorCode::CannotOpen) => Error::unavailable(message, false),
        Some(ErrorCode::SystemIoFailure) => Error::unavailable(message, committing),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            Error::invalid(format!("{place}: the file or its folder cannot be written"))
        }
        Some(ErrorCode::NotADatabase) => {
            Error::invalid(format!("{place}: the file is not a database"))
        }
        Some(ErrorCode::TooBig) => Error::invalid(message),
        _ => Error::new(ErrorKind::Internal, message),
    }
}

/// The same for opening: a file that cannot be opened now cannot be opened later either.
pub(super) fn explain_opening(place: &str, error: &SqliteError) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => Error::invalid(format_args!(
            "{place}: the file or its folder cannot be opened or written"
        )),
        _ => explain(place, error, false),
    }
}
