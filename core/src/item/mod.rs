//! Items: what is added to a queue, and what it looks like there.

mod counts;
mod cursor;
mod due;
mod history;
mod info;
mod item_ref;
mod key;
mod limits;
mod outcome;
mod revision;
mod state;

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::Serialize;

pub use self::counts::{Counts, Totals};
pub use self::cursor::Cursor;
pub(crate) use self::due::Due;
pub(crate) use self::history::History;
pub use self::history::{Ending, EndingKind, Releases};
pub(crate) use self::info::NOT_LEASED;
pub(crate) use self::info::read_json;
pub use self::info::{ItemInfo, Page};
pub use self::item_ref::ItemRef;
pub use self::key::KeyInfo;
use self::limits::{check_expiry, check_fields};
pub(crate) use self::limits::{check_id, check_key};
pub use self::outcome::Outcome;
pub use self::revision::Revision;
pub use self::state::State;
use crate::error::show_id;
use crate::options::{MAX_RETAIN, MAX_UNIQUE, check_duration, check_retain};
use crate::{Error, Result, random};

/// An item to add: an id, data and options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub(crate) id: Bytes,
    pub(crate) data: Bytes,
    pub(crate) priority: u8,
    pub(crate) delay: Duration,
    pub(crate) due_at: Option<SystemTime>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) retain: Duration,
    pub(crate) unique: Option<Bytes>,
    pub(crate) unique_for: Duration,
    pub(crate) replace: bool,
    pub(crate) key: Option<Bytes>,
    pub(crate) expires_in: Option<Duration>,
}

impl Item {
    /// An item with a copy of this data and a random UUID of version 7 as its id: the time in ms by this
    /// machine's clock, then 74 random bits. Ids of the same time are neighbours in an index, and an id
    /// shows when it was made.
    pub fn new(data: impl AsRef<[u8]>) -> Self {
        Item::plain(random_ids(1), Bytes::copy_from_slice(data.as_ref()))
    }

    /// Items with these data, each with a random UUID as its id. Cheaper than as many calls of
    /// [`Item::new`], and the data is not copied.
    pub fn new_many(data: impl IntoIterator<Item = Bytes>) -> Vec<Self> {
        let data: Vec<Bytes> = data.into_iter().collect();
        let mut ids = random_ids(data.len());
        data.into_iter().map(|data| Item::plain(ids.split_to(UUID), data)).collect()
    }

    fn plain(id: Bytes, data: Bytes) -> Self {
        Item {
            id,
            data,
            priority: 0,
            delay: Duration::ZERO,
            due_at: None,
            max_attempts: None,
            retain: Duration::ZERO,
            unique: None,
            unique_for: Duration::ZERO,
            replace: false,
            key: None,
            expires_in: None,
        }
    }

    /// An item with this value as JSON and a random UUID as its id.
    ///
    /// # Errors
    /// `Invalid` if the value cannot be written as JSON.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let data = serde_json::to_vec(value)
            .map_err(|e| Error::invalid(format_args!("data cannot be written as json: {e}")))?;
        Ok(Item::new(data))
    }

    /// Gives the item this data instead, which is not copied.
    pub fn with_data(mut self, data: impl Into<Bytes>) -> Self {
        self.data = data.into();
        self
    }

    /// Gives the item this id instead: 1 to 512 arbitrary bytes.
    pub fn with_id(mut self, id: impl AsRef<[u8]>) -> Self {
        self.id = Bytes::copy_from_slice(id.as_ref());
        self
    }

    /// Priority 0 to 9; higher ones are leased first. Default: 0.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// Makes the item ready only after this time, at most 366 days. Default: zero.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Makes the item ready at this time by the server's clock, or at once if it has passed: at most 366 days
    /// ahead, and not together with a delay. Default: none.
    pub fn due_at(mut self, time: SystemTime) -> Self {
        self.due_at = Some(time);
        self
    }

    /// After this many failed or expired attempts, 1 to 65,535, the item is dead. Default: no limit.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(max_attempts);
        self
    }

    /// How long the item stays after its completion, in the state `completed` and with its result, at most 366
    /// days. Until then its id is taken. Default: not at all.
    pub fn retain(mut self, retain: Duration) -> Self {
        self.retain = retain;
        self
    }

    /// A key of 1 to 512 arbitrary bytes that only one item of the queue may have: while another one that is
    /// ready, delayed, leased or retained has it, the item is not added. Default: none.
    pub fn unique(mut self, key: impl AsRef<[u8]>) -> Self {
        self.unique = Some(Bytes::copy_from_slice(key.as_ref()));
        self
    }

    /// How long the unique key stays taken from the add on, even if the item ends before, at most 366 days.
    /// Default: no longer than the item needs it.
    pub fn unique_for(mut self, time: Duration) -> Self {
        self.unique_for = time;
        self
    }

    /// A key of 1 to 128 arbitrary bytes, usually the name of what the work needs. No more items of a key are leased at
    /// the same time than its limit allows: one, unless the [queue](crate::SettingsChange::key_limit) or the
    /// [key](crate::WorkQueue::set_key_limits) has another limit. The others wait, and hold up no other key. Default: none.
    pub fn key(mut self, key: impl AsRef<[u8]>) -> Self {
        self.key = Some(Bytes::copy_from_slice(key.as_ref()));
        self
    }

    /// Replaces an item that is in the way, because it has the id or the unique key, unless it is leased. The new
    /// item takes its own place in the order. Default: it is not added.
    pub fn replace(mut self) -> Self {
        self.replace = true;
        self
    }

    /// The item is dead after this time, 1 ms to 366 days from the add, if it is not leased then and no attempt has
    /// counted. A delay must not be longer. Of a time at which it is due, this machine's clock tells whether it is
    /// later; if the server's differs, the item may be dead before it is due. Default: it does not expire.
    pub fn expires_in(mut self, time: Duration) -> Self {
        self.expires_in = Some(time);
        self
    }

    /// The id.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// The data.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    pub(crate) fn validate(&self, max_data: usize) -> Result<()> {
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
        check_duration("unique_for", self.unique_for, Duration::ZERO, MAX_RETAIN)?;
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

    pub(crate) fn due(&self) -> Due {
        Due::new(self.delay, self.due_at)
    }
}

/// As in error messages: `item "order-17"`.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {}", show_id(&self.id))
    }
}

/// Length of a UUID as text.
const UUID: usize = uuid::fmt::Hyphenated::LENGTH;

/// `count` ids, one after the other. Most generators of version 7 keep a counter in memory. This one
/// does not, because a forked child would continue its parent's.
fn random_ids(count: usize) -> Bytes {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let time = time.as_millis() as u64;
    let mut ids = vec![0; count * UUID];
    let mut places = ids.chunks_exact_mut(UUID);
    random::bytes(count, |random| {
        let uuid = uuid::Builder::from_unix_timestamp_millis(time, &random).into_uuid();
        if let Some(place) = places.next() {
            uuid.hyphenated().encode_lower(place);
        }
    });
    ids.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_their_time_and_are_never_alike() {
        let data = |i: usize| Bytes::from(i.to_string());
        let items: Vec<Item> = (0..10_000).map(|i| Item::new(data(i))).collect();
        let many = Item::new_many((0..10_000).map(data));
        assert!(Item::new_many([]).is_empty());
        assert!(items.iter().zip(&many).all(|(one, other)| one.data == other.data));
        let ids: std::collections::BTreeSet<_> =
            items.iter().chain(&many).map(|item| item.id()).collect();
        assert_eq!(ids.len(), 20_000);
        for id in ids {
            let id = uuid::Uuid::try_parse_ascii(id).unwrap();
            assert_eq!((id.get_version_num(), id.get_variant()), (7, uuid::Variant::RFC4122));
            let (secs, nanos) = id.get_timestamp().unwrap().to_unix();
            let made = SystemTime::UNIX_EPOCH + Duration::new(secs, nanos);
            let age = SystemTime::now().duration_since(made).unwrap();
            assert!(age < Duration::from_secs(60), "{id}: {age:?}");
        }
    }
}
