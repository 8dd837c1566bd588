//! What is put into a queue, and what it looks like there.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};

use crate::error::show_id;
use crate::options::{MAX_ATTEMPTS, MAX_ID, MAX_PRIORITY, check_delay};
use crate::{Error, Result, random, serialize};

/// An item to add: an id, data and options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub(crate) id: Bytes,
    pub(crate) data: Bytes,
    pub(crate) priority: u8,
    pub(crate) delay: Duration,
    pub(crate) max_attempts: Option<u32>,
}

impl Item {
    /// An item with a copy of this data and a random UUID as its id. The UUID is one of version 7: the
    /// time in ms by this machine's clock, then 74 random bits. So ids of the same time stand together
    /// in an index, and whoever sees one knows when it was made.
    pub fn new(data: impl AsRef<[u8]>) -> Self {
        Item::plain(random_ids(1), Bytes::copy_from_slice(data.as_ref()))
    }

    /// Items with these data, each with a random UUID as its id: what as many calls of [`Item::new`]
    /// make, but cheaper, and the data is not copied.
    pub fn new_many(data: impl IntoIterator<Item = Bytes>) -> Vec<Self> {
        let data: Vec<Bytes> = data.into_iter().collect();
        let mut ids = random_ids(data.len());
        data.into_iter().map(|data| Item::plain(ids.split_to(UUID), data)).collect()
    }

    fn plain(id: Bytes, data: Bytes) -> Self {
        Item { id, data, priority: 0, delay: Duration::ZERO, max_attempts: None }
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

    /// After this many failed or expired attempts, 1 to 65,535, the item is dead. Default: no limit.
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.max_attempts = Some(max_attempts);
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
        let wrong =
            |message: fmt::Arguments<'_>| Err(Error::invalid(format_args!("{self}: {message}")));
        if self.data.len() > max_data {
            return wrong(format_args!(
                "data of {} bytes is over the limit of {max_data}",
                self.data.len()
            ));
        }
        if self.priority > MAX_PRIORITY {
            return wrong(format_args!(
                "priority {} is not between 0 and {MAX_PRIORITY}",
                self.priority
            ));
        }
        if let Err(error) = check_delay(self.delay) {
            return wrong(format_args!("{error}"));
        }
        match self.max_attempts {
            Some(n) if n == 0 || n > MAX_ATTEMPTS => {
                wrong(format_args!("max_attempts {n} is not between 1 and {MAX_ATTEMPTS}"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn delay_ms(&self) -> u64 {
        check_delay(self.delay).unwrap_or(0)
    }
}

/// As errors name it: `item "order-17"`.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {}", show_id(&self.id))
    }
}

/// Length of a UUID as text.
const UUID: usize = uuid::fmt::Hyphenated::LENGTH;

/// So many ids, one after the other. Without a counter in memory, as most makers of version 7 have: a
/// forked child would go on with it.
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

/// The state an item is in; exactly one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// Can be leased.
    Ready,
    /// Will be ready when its delay ends.
    Delayed,
    /// Leased, or expired and not yet reclaimed.
    Leased,
    /// Out of attempts; waits for `requeue` or `remove`.
    Dead,
}

impl State {
    /// Every state.
    pub const ALL: [State; 4] = [State::Ready, State::Delayed, State::Leased, State::Dead];

    /// The state's name: `ready`, `delayed`, `leased` or `dead`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Ready => "ready",
            State::Delayed => "delayed",
            State::Leased => "leased",
            State::Dead => "dead",
        }
    }
}

impl FromStr for State {
    type Err = Error;

    /// The state of this name. `Invalid` if there is none.
    fn from_str(name: &str) -> Result<Self> {
        State::ALL.into_iter().find(|state| state.as_str() == name).ok_or_else(|| {
            let names = State::ALL.map(State::as_str).join(", ");
            Error::invalid(format_args!("state {} is not one of {names}", show_id(name.as_bytes())))
        })
    }
}

/// An item as it stands in the queue, looked at without leasing it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ItemInfo {
    /// The id.
    pub id: Bytes,
    /// The data.
    pub data: Bytes,
    /// The state.
    pub state: State,
    /// 0 to 9.
    pub priority: u8,
    /// The limit of attempts, if there is one.
    pub max_attempts: Option<u32>,
    /// Deliveries so far that ended with `fail`, since the add or the last `requeue`.
    pub failures: u32,
    /// Deliveries so far that ended with an expired lease, since the add or the last `requeue`.
    pub expiries: u32,
    /// The text of the last `fail`; empty if there was none.
    pub last_error: String,
    /// When it was added, on the server's clock.
    pub added_at: SystemTime,
    /// The lease's deadline, the time it is due, or the time of death; `None` for ready items.
    pub at: Option<SystemTime>,
}

impl ItemInfo {
    /// The data read as JSON.
    ///
    /// # Errors
    /// `Invalid` if it is not JSON, or not of this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        read_json(&self.id, &self.data)
    }
}

pub(crate) fn read_json<T: DeserializeOwned>(id: &[u8], data: &[u8]) -> Result<T> {
    serde_json::from_slice(data).map_err(|e| {
        Error::invalid(format_args!("item {}: data cannot be read as json: {e}", show_id(id)))
    })
}

/// How many items are in each state, and more that operators watch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Ready items.
    pub ready: u64,
    /// Ready items by priority, 0 to 9.
    pub ready_by_priority: [u64; 10],
    /// Items whose delay has not ended, or that nobody has promoted yet.
    pub delayed: u64,
    /// Leased items, expired ones that nobody has reclaimed yet included.
    pub leased: u64,
    /// Dead items.
    pub dead: u64,
    /// How long the oldest ready item has been ready; `None` if none is. A reclaimed or released
    /// item keeps its age; one that failed, or was delayed or requeued, counts from then.
    #[serde(rename = "oldest_ready_ms", serialize_with = "serialize::ms")]
    pub oldest_ready: Option<Duration>,
    /// Whether leasing is paused.
    pub paused: bool,
    /// What has happened since the queue was new.
    pub totals: Totals,
}

/// What has happened in a queue since it was new.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Totals {
    /// Items added.
    pub added: u64,
    /// Leases given.
    pub leased: u64,
    /// Items completed.
    pub completed: u64,
    /// Leases that expired and were reclaimed.
    pub expired: u64,
    /// Calls of `fail` that counted.
    pub failed: u64,
    /// Items that ran out of attempts.
    pub died: u64,
    /// Items removed or purged.
    pub removed: u64,
}

/// A page of [`WorkQueue::list`](crate::WorkQueue::list).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// The items, in the order of leasing (ready) or of time (the others).
    pub items: Vec<ItemInfo>,
    /// Where to go on; `None` at the end.
    pub cursor: Option<Cursor>,
}

/// Where a listing goes on. Opaque; good for the queue and state it came from. As text it can be
/// kept, or handed to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub(crate) String, pub(crate) String);

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.0, self.1)
    }
}

impl FromStr for Cursor {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let short = |part: &str| (1..=32).contains(&part.len());
        let number = |part: &str| part.parse::<f64>().is_ok_and(f64::is_finite);
        // A number, or an item as its engine names it.
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        match text.split_once(':') {
            Some((first, second))
                if short(first) && number(first) && short(second) && second.chars().all(name) =>
            {
                Ok(Cursor(first.into(), second.into()))
            }
            _ => Err(Error::invalid(format_args!(
                "{} is not a cursor of a page",
                show_id(text.as_bytes())
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

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

    #[test]
    fn a_state_is_read_from_its_name() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse::<State>().unwrap(), state);
        }
        for name in ["", "Ready", " dead", "lost"] {
            let error = name.parse::<State>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
            assert!(error.to_string().contains("ready, delayed, leased, dead"), "{error}");
        }
    }

    #[test]
    fn a_cursor_can_be_kept_as_text() {
        for second in ["-42", "8j2t94r9kEKd5K", "8j2t94r9k-_d5K"] {
            let cursor = Cursor("1763679123456".into(), second.into());
            assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
        }
    }

    #[test]
    fn text_that_is_no_cursor_is_refused() {
        let [long, longer] = [format!("{}:1", "1".repeat(33)), format!("1:{}", "a".repeat(33))];
        for text in ["", ":", "1", "1:", ":1", "1:2:3", "inf:1", "a:1", "1:'; DROP", &long, &longer]
        {
            assert_eq!(text.parse::<Cursor>().unwrap_err().kind(), ErrorKind::Invalid, "{text}");
        }
    }
}
