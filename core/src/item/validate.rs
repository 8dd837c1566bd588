//! What items to add and their follow-ups must keep to.

use std::collections::HashSet;

use bytes::Bytes;

use super::limits::{check_expiry, check_fields, check_id, check_key};
use super::new_item::{FollowUp, Item, On};
use crate::error::show_id;
use crate::name::QueueName;
use crate::options::{
    MAX_ADDED, MAX_BATCH_BYTES, MAX_FOLLOW_UP_DEPTH, MAX_FOLLOW_UPS, MAX_FOLLOW_UPS_SIZE,
    MAX_PLACES, MAX_RETAIN, MAX_UNIQUE, check_duration, check_retain,
};
use crate::{Error, Result};

impl Item {
    /// Whether it may be added to this queue.
    pub(crate) fn validate(&self, queue: &QueueName, max_data: usize) -> Result<()> {
        match self.queue_if_added(queue)? {
            other if other != queue => Err(Error::invalid(format_args!(
                "{self} is for queue {other}, and was given to queue {queue}"
            ))),
            _ => {
                self.check_place()?;
                self.check_all(queue, max_data)
            }
        }
    }

    /// Checks the place of a member.
    fn check_place(&self) -> Result<()> {
        let Some(place) = &self.group else { return Ok(()) };
        let message = if place.place >= MAX_PLACES {
            format!("place {} of a group is over the limit of {}", place.place, MAX_PLACES - 1)
        } else if self.replace {
            "a member of a group cannot replace others".to_owned()
        } else {
            return Ok(());
        };
        Err(Error::invalid(format_args!("{self}: {message}")))
    }

    /// An item that is added later, by another one's end or a schedule, has no place.
    pub(crate) fn check_no_place(&self) -> Result<()> {
        match self.group {
            None => Ok(()),
            Some(_) => Err(Error::invalid(format_args!(
                "{self}: only what is added at once can be a member of a group"
            ))),
        }
    }

    /// Where it is added if an item of this queue ends.
    fn queue_if_added<'a>(&'a self, queue: &'a QueueName) -> Result<&'a QueueName> {
        let Some(own) = &self.queue else { return Ok(queue) };
        QueueName::new(own.as_str())
            .map_err(|error| Error::invalid(format_args!("{self}: {error}")))?;
        Ok(own)
    }

    /// `queue`: to which it is added.
    fn check_all(&self, queue: &QueueName, max_data: usize) -> Result<()> {
        self.check_alone(max_data)?;
        check_follow_ups(self, queue, max_data)
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
        if self.successor && !self.replace {
            return Err(Error::invalid("successor without replace"));
        }
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
fn check_follow_ups(item: &Item, queue: &QueueName, max_data: usize) -> Result<()> {
    if item.follow_ups.is_empty() {
        return Ok(());
    }
    let size = check_nested(item, queue, max_data, 1)?;
    if size > MAX_FOLLOW_UPS_SIZE {
        return Err(Error::invalid(format_args!(
            "follow-ups of {size} bytes are over the limit of {MAX_FOLLOW_UPS_SIZE}"
        )));
    }
    Ok(())
}

/// Checks a follow-up that is attached to the item with this id.
pub(crate) fn check_attached(
    follow_up: &FollowUp,
    queue: &QueueName,
    id: &Bytes,
    max_data: usize,
) -> Result<()> {
    let mut item = Item::new([]);
    item.id = id.clone();
    item.follow_ups.push(follow_up.clone());
    check_follow_ups(&item, queue, max_data)
}

/// Checks the follow-ups of an item and theirs; returns about how many bytes they have. `depth`: how many items lead to these.
fn check_nested(item: &Item, queue: &QueueName, max_data: usize, depth: usize) -> Result<usize> {
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
    let targets: Vec<&QueueName> =
        follow_ups.iter().map(|one| one.item.queue_if_added(queue)).collect::<Result<_>>()?;
    // Of those that one end fires for a queue, only one can have an id.
    for end in [On::Completed, On::Dead] {
        let mut seen = HashSet::new();
        let fired = follow_ups.iter().zip(&targets);
        let mut fired = fired.filter(|(follow_up, _)| [end, On::Ended].contains(&follow_up.on));
        if let Some((twice, _)) = fired.find(|(one, target)| !seen.insert((*target, &one.item.id)))
        {
            return Err(Error::invalid(format_args!(
                "two follow-ups with the id of {}",
                twice.item
            )));
        }
    }
    let mut size = item.id.len();
    for (FollowUp { item, .. }, target) in follow_ups.iter().zip(targets) {
        item.check_no_place()?;
        item.check_alone(max_data)?;
        size += size_of_item(item) + check_nested(item, target, max_data, depth + 1)?;
    }
    Ok(size)
}

/// How many bytes an item takes in another one, at most.
fn size_of_item(item: &Item) -> usize {
    let keys = [&item.unique, &item.key].into_iter().flatten().map(Bytes::len).sum::<usize>();
    let queue = item.queue.as_ref().map_or(0, |queue| queue.as_str().len());
    64 + 2 * item.id.len() + keys + queue + item.data.len()
}

/// Checks the items that a call adds if it ends its item, which is of this queue.
pub(crate) fn check_added(items: &[Item], queue: &QueueName, max_data: usize) -> Result<()> {
    if items.len() > MAX_ADDED {
        return Err(Error::invalid(format_args!(
            "{} items to add are over the limit of {MAX_ADDED}",
            items.len()
        )));
    }
    let (mut size, mut seen) = (0, HashSet::new());
    for item in items {
        let target = item.queue_if_added(queue)?;
        item.check_no_place()?;
        item.check_all(target, max_data)?;
        if !seen.insert((target, &item.id)) {
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
