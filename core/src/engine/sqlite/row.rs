//! Reading items from rows, whatever is in them.

use std::ops::RangeInclusive;

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use crate::error::show_id;
use crate::item::{ItemInfo, State};
use crate::lease::from_ms;
use crate::options::{MAX_ATTEMPTS, MAX_ID, MAX_PRIORITY};
use crate::{Error, Result};

/// Numbers begin with 2026, in ms since 1970, and follow the clock, so many to a millisecond.
pub(super) const EPOCH: u64 = 1_767_225_600_000;
pub(super) const PER_MS: i64 = 256;

/// Columns of an item, in the order that [`Stored::read`] expects.
pub(super) const COLUMNS: &str = "number, state, sort_key, position, priority, max_attempts, failures, \
     expiries, deliveries, added_at, error, id, data, front, since";
/// The same without the data, but for what is none.
pub(super) const WITHOUT_DATA: &str = "number, state, sort_key, position, priority, max_attempts, failures, \
     expiries, deliveries, added_at, error, id, \
     CASE WHEN typeof(data) NOT IN ('blob', 'null') THEN 0 END, front, since";
/// The column behind them, in a statement that asks for more.
pub(super) const MORE: usize = 15;

/// An item as it stands in its row.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) state: State,
    /// When it expires, is due or died; of a ready item the negative of its priority.
    pub(super) sort_key: i64,
    pub(super) position: i64,
    pub(super) priority: u8,
    pub(super) max_attempts: u32,
    pub(super) failures: u32,
    pub(super) expiries: u32,
    pub(super) deliveries: u64,
    pub(super) added_at: i64,
    pub(super) since: i64,
    pub(super) front: bool,
    pub(super) error: String,
    pub(super) id: Bytes,
    pub(super) broken: Broken,
    data: Option<Bytes>,
}

/// What of a row is not as this library writes it. The file was changed by something else.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    /// It is in no state: it is read as ready.
    pub(super) state: bool,
    /// Where it stands among those of its state.
    pub(super) order: bool,
    /// Those that cannot be read count as if there were none.
    pub(super) details: bool,
    /// `deliveries` is among them, so no lease can be the current one.
    pub(super) deliveries: bool,
    /// The id or the data: the item cannot be given to anybody.
    pub(super) record: bool,
}

impl Broken {
    pub(super) fn any(self) -> bool {
        self != Broken::default()
    }
}

/// Data of an item that was looked for.
pub(super) enum Data {
    Found(Bytes),
    TooLarge,
    Gone,
}

pub(super) const READY: i64 = 0;
pub(super) const LEASED: i64 = 1;
pub(super) const DELAYED: i64 = 2;
pub(super) const DEAD: i64 = 3;

/// `None`: no state.
pub(super) fn read_state(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<State>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(READY) => Some(State::Ready),
        ValueRef::Integer(LEASED) => Some(State::Leased),
        ValueRef::Integer(DELAYED) => Some(State::Delayed),
        ValueRef::Integer(DEAD) => Some(State::Dead),
        _ => None,
    })
}

/// 0 if it cannot be read.
pub(super) fn read_priority(row: &Row<'_>, column: usize) -> rusqlite::Result<u8> {
    Ok(integer(row, column, 0..=i64::from(MAX_PRIORITY))?.unwrap_or(0) as u8)
}

/// `None`: it is none, or out of range.
fn integer(
    row: &Row<'_>,
    column: usize,
    range: RangeInclusive<i64>,
) -> rusqlite::Result<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(value) if range.contains(&value) => Some(value),
        _ => None,
    })
}

pub(super) fn state_number(state: State) -> i64 {
    match state {
        State::Ready => READY,
        State::Leased => LEASED,
        State::Delayed => DELAYED,
        State::Dead => DEAD,
    }
}

/// Where an item stands among those of its state: by priority if it is ready, else by time.
pub(super) fn sort_key(state: State, priority: u8, at: i64) -> i64 {
    if state == State::Ready { -i64::from(priority) } else { at }
}

impl Stored {
    /// Fails for no row: what is wrong with it stands in `broken`.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        const ANY: RangeInclusive<i64> = i64::MIN..=i64::MAX;
        const COUNT: RangeInclusive<i64> = 0..=u32::MAX as i64;
        let mut broken = Broken::default();
        let state = read_state(row, 1)?;
        let (sort_key, position) = (integer(row, 2, ANY)?, integer(row, 3, ANY)?);
        broken.state = state.is_none();
        broken.order = sort_key.is_none() || position.is_none();
        let mut detail = |column, range| {
            let value = integer(row, column, range)?;
            broken.details |= value.is_none();
            Ok::<_, rusqlite::Error>(value)
        };
        let state = state.unwrap_or(State::Ready);
        // Of a ready item its position in line tells as well.
        let by_sort_key =
            sort_key.filter(|sort_key| state == State::Ready && (-9..=0).contains(sort_key));
        let priority = detail(4, 0..=i64::from(MAX_PRIORITY))?;
        let priority =
            priority.unwrap_or_else(|| by_sort_key.map_or(0, |sort_key| -sort_key)) as u8;
        // One that is not in the line of its priority would be counted in the wrong one.
        broken.order |= match state {
            State::Ready => sort_key.is_some_and(|sort_key| sort_key != -i64::from(priority)),
            _ => position != Some(0),
        };
        let max_attempts = detail(5, 0..=i64::from(MAX_ATTEMPTS))?.unwrap_or(0) as u32;
        let failures = detail(6, COUNT)?.unwrap_or(0) as u32;
        let expiries = detail(7, COUNT)?.unwrap_or(0) as u32;
        let deliveries = detail(8, 0..=i64::MAX)?;
        let added_at = detail(9, ANY)?.unwrap_or(0);
        let front = detail(13, 0..=1)?.unwrap_or(0) == 1;
        let since = detail(14, ANY)?.unwrap_or(0);
        broken.deliveries = deliveries.is_none();
        let error = match row.get_ref(10)? {
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            _ => {
                broken.details = true;
                String::new()
            }
        };
        let id = match row.get_ref(11)? {
            ValueRef::Blob(id) if (1..=MAX_ID).contains(&id.len()) => Bytes::copy_from_slice(id),
            _ => {
                broken.record = true;
                Bytes::new()
            }
        };
        let data = match row.get_ref(12)? {
            ValueRef::Blob(data) => Some(Bytes::copy_from_slice(data)),
            ValueRef::Null => None,
            _ => {
                broken.record = true;
                None
            }
        };
        Ok(Stored {
            number: row.get(0)?,
            state,
            sort_key: sort_key.unwrap_or(0),
            position: position.unwrap_or(0),
            priority,
            max_attempts,
            failures,
            expiries,
            deliveries: deliveries.unwrap_or(0) as u64,
            added_at,
            since,
            front,
            error,
            id,
            broken,
            data,
        })
    }

    pub(super) fn max_attempts(&self) -> Option<u32> {
        (self.max_attempts > 0).then_some(self.max_attempts)
    }

    /// True when one more failed or expired attempt is the last.
    pub(super) fn ends_with_next(&self) -> bool {
        let attempts = u64::from(self.failures) + u64::from(self.expiries) + 1;
        self.max_attempts > 0 && attempts >= u64::from(self.max_attempts)
    }

    /// The data, from wherever it stands, unless it is larger than this.
    pub(super) fn take_data(&mut self, db: &Database, most: i64) -> Result<Data> {
        const LARGE: &str = "SELECT CASE WHEN length(data) <= ?2 THEN data END, data IS NULL
            FROM large WHERE number = ?1";
        if let Some(data) = self.data.take() {
            return Ok(if data.len() as i64 > most { Data::TooLarge } else { Data::Found(data) });
        }
        let found = db.run(LARGE, |statement| {
            statement
                .query_row(params![self.number, most], |row| {
                    Ok(match (row.get_ref(0)?, row.get_ref(1)?) {
                        (ValueRef::Blob(data), _) => Data::Found(Bytes::copy_from_slice(data)),
                        (ValueRef::Null, ValueRef::Integer(0)) => Data::TooLarge,
                        _ => Data::Gone,
                    })
                })
                .optional()
        })?;
        Ok(found.unwrap_or(Data::Gone))
    }

    /// For whoever asked for this very item.
    pub(super) fn unreadable(&self, queue: &str) -> Error {
        Error::internal(format_args!(
            "queue {queue}, item {} (number {}): cannot be read; run check",
            show_id(&self.id),
            self.number
        ))
    }

    /// The item with this as its data.
    pub(super) fn info(self, data: Bytes) -> ItemInfo {
        ItemInfo {
            data,
            state: self.state,
            priority: self.priority,
            max_attempts: self.max_attempts(),
            failures: self.failures,
            expiries: self.expiries,
            added_at: from_ms(self.added_at.max(0) as u64),
            at: (self.state != State::Ready).then(|| from_ms(self.sort_key.max(0) as u64)),
            last_error: self.error,
            id: self.id,
        }
    }
}
