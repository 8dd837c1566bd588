//! The limits of items.

use std::time::{Duration, SystemTime};

use super::due;
use crate::error::show_id;
use crate::options::{MAX_ATTEMPTS, MAX_ID, MAX_KEY, MAX_PRIORITY, check_expires_in, show};
use crate::{Error, Result};

/// Says what is outside its limits. `due`: the delay, and the time at which the item is due.
pub(super) fn check_fields(
    data: usize,
    max_data: usize,
    priority: u8,
    due: (Duration, Option<SystemTime>),
    max_attempts: Option<u32>,
) -> std::result::Result<(), String> {
    if data > max_data {
        return Err(format!("data of {data} bytes is over the limit of {max_data}"));
    }
    if priority > MAX_PRIORITY {
        return Err(format!("priority {priority} is not between 0 and {MAX_PRIORITY}"));
    }
    due::check(due.0, due.1).map_err(|error| error.to_string())?;
    match max_attempts {
        Some(n) if n == 0 || n > MAX_ATTEMPTS => {
            Err(format!("max_attempts {n} is not between 1 and {MAX_ATTEMPTS}"))
        }
        _ => Ok(()),
    }
}

/// `due`: the delay, and the time at which the item is due, which is compared with this machine's clock.
pub(super) fn check_expiry(
    expires_in: Option<Duration>,
    due: (Duration, Option<SystemTime>),
) -> Result<()> {
    let Some(expires_in) = expires_in else { return Ok(()) };
    check_expires_in(expires_in)?;
    let ahead = due.1.and_then(|time| time.duration_since(SystemTime::now()).ok());
    let delay = ahead.unwrap_or(due.0);
    if delay > expires_in {
        return Err(Error::invalid(format_args!(
            "a delay of {} is longer than expires_in of {}",
            show(delay),
            show(expires_in)
        )));
    }
    Ok(())
}

pub(crate) fn check_id(id: &[u8]) -> Result<()> {
    if id.is_empty() || id.len() > MAX_ID {
        return Err(Error::invalid(format_args!(
            "id {} has {} bytes, not between 1 and {MAX_ID}",
            show_id(id),
            id.len()
        )));
    }
    Ok(())
}

pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > MAX_KEY {
        return Err(Error::invalid(format_args!(
            "key {} has {} bytes, not between 1 and {MAX_KEY}",
            show_id(key),
            key.len()
        )));
    }
    Ok(())
}
