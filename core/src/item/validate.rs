//! What items to add and their follow-ups must keep to.

use std::collections::HashSet;

use bytes::Bytes;

use super::limits::{check_expiry, check_fields, check_id, check_key};
use super::new_item::{FollowUp, Item, On};
use crate::error::show_id;
use crate::options::{
    MAX_ADDED, MAX_BATCH_BYTES, MAX_FOLLOW_UP_DEPTH, MAX_FOLLOW_UPS, MAX_FOLLOW_UPS_SIZE,
    MAX_RETAIN, MAX_UNIQUE, check_duration, check_retain,
};
use crate::{Error, Result};

impl Item {
    pub(crate) fn validate(&self, max_data: usize) -> Result<()> {
        self.check_alone(max_data)?;
        check_follow_ups(self, max_data)
            .map_err(|error| Error::invalid(format_args!("{self}: {error}")))
    }

    /// Checks all but the follow-ups.
    fn check_alone(&self, max_data: usize) -> Result<()> {
        check_id(&self.id)?;
        let due = (self.delay, self.due_at);
        check_fields(self.data.len(), max_data, self.priority, due, self.max_attempts)
            .and_then(|()| self.check_ends().map_err(|error| error.to_string()))
            .and_then(|()| {
                self.key.as_deref().map_or(Ok(()), check_key).map_err(|error| error.to_string())
            })
            .and_then(|()| check_expiry(self.expires_in, due).map_err(|error| error.to_string()))
            .map_err(|message| Error::invalid(format_args!("{self}: {message}")))
    }

    /// Checks what outlives the item.
    fn check_ends(&self) -> Result<()> {
        check_retain(self.retain)?;
        check_duration("unique_for", self.unique_for, std::time::Duration::ZERO, MAX_RETAIN)?;
        let Some(key) = &self.unique else {
            return match self.unique_for.is_zero() {
                true => Ok(()),
                false => Err(Error::invalid("unique_for without a unique key")),
            };
        };
        if key.is_empty() || key.len() > MAX_UNIQUE {
            return Err(Error::invalid(format_args!(
                "unique key {} has {} bytes, not between 1 and {MAX_UNIQUE}",
                show_id(key),
                key.len()
            )));
        }
        Ok(())
    }

    /// How many bytes an add sends, about.
    pub(crate) fn size(&self) -> usize {
        let follow_ups = self.follow_ups.iter().map(|follow_up| size_of_added(&follow_up.item));
        self.id.len() + self.data.len() + follow_ups.sum::<usize>()
    }
}

/// Checks the follow-ups of an item.
fn check_follow_ups(item: &Item, max_data: usize) -> Result<()> {
    if item.follow_ups.is_empty() {
        return Ok(());
    }
    let size = check_nested(item, max_data, 1)?;
    if size > MAX_FOLLOW_UPS_SIZE {
        return Err(Error::invalid(format_args!(
            "follow-ups of {size} bytes are over the limit of {MAX_FOLLOW_UPS_SIZE}"
        )));
    }
    Ok(())
}

/// Checks the follow-ups of an item and theirs; returns about how many bytes they have. `depth`: how many items lead to these.
fn check_nested(item: &Item, max_data: usize, depth: usize) -> Result<usize> {
    let follow_ups = &item.follow_ups;
    if follow_ups.len() > MAX_FOLLOW_UPS {
        return Err(Error::invalid(format_args!(
            "{} follow-ups are over the limit of {MAX_FOLLOW_UPS}",
            follow_ups.len()
        )));
    }
    if !follow_ups.is_empty() && depth > MAX_FOLLOW_UP_DEPTH {
        return Err(Error::invalid(format_args!(
            "follow-ups of follow-ups go deeper than {MAX_FOLLOW_UP_DEPTH}"
        )));
    }
    // Of those that one end fires, only one can have an id.
    for end in [On::Completed, On::Dead] {
        let mut seen = HashSet::new();
        let fired = follow_ups.iter().filter(|follow_up| [end, On::Ended].contains(&follow_up.on));
        if let Some(twice) = { fired }.find(|follow_up| !seen.insert(&follow_up.item.id)) {
            return Err(Error::invalid(format_args!(
                "two follow-ups with the id of {}",
                twice.item
            )));
        }
    }
    let mut size = item.id.len();
    for FollowUp { item, .. } in follow_ups {
        item.check_alone(max_data)?;
        size += size_of_item(item) + check_nested(item, max_data, depth + 1)?;
    }
    Ok(size)
}

/// How many bytes an item takes in another one, at most.
fn size_of_item(item: &Item) -> usize {
    let keys = [&item.unique, &item.key].into_iter().flatten().map(Bytes::len).sum::<usize>();
    64 + 2 * item.id.len() + keys + item.data.len()
}

/// Checks the items that a call adds if it ends its item.
pub(crate) fn check_added(items: &[Item], max_data: usize) -> Result<()> {
    if items.len() > MAX_ADDED {
        return Err(Error::invalid(format_args!(
            "{} items to add are over the limit of {MAX_ADDED}",
            items.len()
        )));
    }
    let (mut size, mut seen) = (0, HashSet::new());
    for item in items {
        item.validate(max_data)?;
        if !seen.insert(&item.id) {
            return Err(Error::invalid(format_args!("two items to add with the id of {item}")));
        }
        size += size_of_added(item);
    }
    if size > MAX_BATCH_BYTES {
        return Err(Error::invalid(format_args!(
            "items to add of {size} bytes are over the limit of {MAX_BATCH_BYTES}"
        )));
    }
    Ok(())
}

/// How many bytes an item takes that a call adds, with its follow-ups, at most.
pub(crate) fn size_of_added(item: &Item) -> usize {
    let nested = item.follow_ups.iter().map(|follow_up| size_of_added(&follow_up.item));
    size_of_item(item) + nested.sum::<usize>()
}
