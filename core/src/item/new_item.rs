//! Items to add, and their follow-ups.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::Serialize;

use super::due::Due;
use super::group::{Group, GroupPlace};
use crate::error::show_id;
use crate::name::QueueName;
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
    pub(crate) successor: bool,
    pub(crate) key: Option<Bytes>,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) follow_ups: Vec<FollowUp>,
    /// May be invalid.
    pub(crate) queue: Option<QueueName>,
    pub(crate) group: Option<GroupPlace>,
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
            successor: false,
            key: None,
            expires_in: None,
            follow_ups: Vec::new(),
            queue: None,
            group: None,
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
    /// ready, held, delayed, leased or retained has it, the item is not added. Default: none.
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

    /// Together with [`replace`](Item::replace): if the item that is in the way is leased, this one waits and takes its place when
    /// the lease ends, in whatever way, or is given back. Until then it is no item: [`get`](crate::WorkQueue::get) and
    /// [`outcome`](crate::WorkQueue::outcome) find the leased one, but no other item gets its id or its unique key. Delay,
    /// `unique_for` and `expires_in` begin when it takes the place. A later one takes the place of one that waits; who removes
    /// or cancels the leased item drops it, too. So the latest change is never lost. Default: the item is not added.
    pub fn successor(mut self) -> Self {
        self.successor = true;
        self
    }

    /// The item is dead after this time, 1 ms to 366 days from the add, if it is not leased then and no attempt has
    /// counted. A delay must not be longer. Of a time at which it is due, this machine's clock tells whether it is
    /// later; if the server's differs, the item may be dead before it is due. Default: it does not expire.
    pub fn expires_in(mut self, time: Duration) -> Self {
        self.expires_in = Some(time);
        self
    }

    /// The queue to which this item is added if it is a follow-up, or one that a completion or failure adds. That may be one that
    /// does not exist yet. Default: the queue of the item that ends.
    pub fn queue(mut self, name: impl AsRef<str>) -> Self {
        self.queue = Some(QueueName::unchecked(name.as_ref()));
        self
    }

    /// Adds another item, to the same queue or [another one](Item::queue), when this one ends so, exactly once. An item has at most 16 follow-ups with
    /// at most 64 KiB in total, those that they have themselves included, and up to 16 lead from one to the next.
    /// Those that the same end fires have different ids.
    pub fn follow_up(mut self, follow_up: FollowUp) -> Self {
        self.follow_ups.push(follow_up);
        self
    }

    /// Makes the item a member of a group, which may be in another queue: its end fills this place, 0 to 99,999. So does an
    /// add that returns false, unless the item that is in the way has the same place. A member must not
    /// [replace](Item::replace) others, and follow-ups and items of schedules cannot be members. Default: it is in no group.
    pub fn in_group(mut self, group: &Group, place: u32) -> Self {
        self.group = Some(GroupPlace { group: group.clone(), place });
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

    /// As engines store it: 1 if it replaces others, 2 if it may also be the successor of a leased one.
    pub(crate) fn replaces(&self) -> u8 {
        u8::from(self.replace) + u8::from(self.replace && self.successor)
    }

    pub(crate) fn set_replaces(&mut self, replaces: u8) {
        (self.replace, self.successor) = (replaces > 0, replaces == 2);
    }

    pub(crate) fn due(&self) -> Due {
        Due::new(self.delay, self.due_at)
    }
}

/// The end of an item that fires a follow-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// The item was completed, also after it had died.
    Completed,
    /// The item is dead: for each run that ends so.
    Dead,
    /// The run has ended in any way: the item was completed, is dead, was cancelled, removed or purged. Not if it was
    /// replaced, or its queue dropped.
    Ended,
}

impl On {
    /// As engines store it: a bit.
    pub(crate) fn bit(self) -> u8 {
        match self {
            On::Completed => 1,
            On::Dead => 2,
            On::Ended => 4,
        }
    }

    /// From the bit; `None` for another number.
    pub(crate) fn from_bit(bit: u8) -> Option<On> {
        [On::Completed, On::Dead, On::Ended].into_iter().find(|on| on.bit() == bit)
    }
}

/// An item that is added when the item that has it ends so. See [`Item::follow_up`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUp {
    pub(crate) on: On,
    pub(crate) item: Item,
    pub(crate) with_trigger: bool,
}

impl FollowUp {
    /// Adds this item, with all its options, at that end. Delays begin then. If an item with its id or its unique key
    /// exists then, it is not added, as by any other add.
    pub fn new(on: On, item: Item) -> Self {
        FollowUp { on, item, with_trigger: false }
    }

    /// Which end fires it.
    pub fn on(&self) -> On {
        self.on
    }

    /// What it adds.
    pub fn item(&self) -> &Item {
        &self.item
    }

    /// The name of the queue to which it adds that; `None`: the queue of the item that ends.
    pub fn queue(&self) -> Option<&str> {
        self.item.queue.as_ref().map(QueueName::as_str)
    }

    /// Gives the added item the id, and the result of up to 64 KiB, of the item whose end has fired it: see
    /// [`Lease::trigger`](crate::Lease::trigger). Default: not.
    pub fn with_trigger(mut self) -> Self {
        self.with_trigger = true;
        self
    }
}

/// The item whose end has added this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    pub(crate) id: Bytes,
    pub(crate) result: Option<Bytes>,
}

impl Trigger {
    /// The id.
    pub fn id(&self) -> &[u8] {
        &self.id
    }

    /// The result of its completion. `None` if it has not been completed, there was none, or it has more than 64 KiB;
    /// read that with [`get`](crate::WorkQueue::get), if the item is retained.
    pub fn result(&self) -> Option<&Bytes> {
        self.result.as_ref()
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
