//! Reading items from rows, whatever is in them.

use std::ops::RangeInclusive;

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};

use super::database::Database;
use crate::engine::generation::NO_SALT;
use crate::engine::{Generation, Target};
use crate::error::show_id;
use crate::item::{History, State};
use crate::options::{MAX_ATTEMPTS, MAX_ID, MAX_KEY, MAX_PRIORITY};
use crate::{Error, Result};

/// The columns of an item, in the order in which [`Stored::read`] expects them.
pub(super) const COLUMNS: &str = "number, state, sort_key, position, priority, max_attempts, failures, \
     expiries, deliveries, added_at, error, id, data, front, since, history, more, key";
/// The same without the data, unless it has a wrong type.
pub(super) const WITHOUT_DATA: &str = "number, state, sort_key, position, priority, max_attempts, failures, \
     expiries, deliveries, added_at, error, id, \
     CASE WHEN typeof(data) NOT IN ('blob', 'null') THEN 0 END, front, since, history, more, key";
/// The first column after them, in a statement that selects more.
pub(super) const MORE: usize = 18;

/// An item as its row has it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) state: State,
    /// When it expires, is due or died; for an item in line, its negative priority.
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
    pub(super) history: History,
    /// It has a row in `extra`.
    pub(super) more: bool,
    /// The row in `extra` has a trigger.
    pub(super) triggered: bool,
    pub(super) id: Bytes,
    pub(super) key: Option<Bytes>,
    pub(super) broken: Broken,
    data: Option<Bytes>,
}

/// What in a row is not as this library writes it: another program has changed the file.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    /// It has no state, and is read as ready.
    pub(super) state: bool,
    /// Its place among the items of its state.
    pub(super) order: bool,
    /// Unreadable details are read as those of a new item.
    pub(super) details: bool,
    /// `deliveries` is unreadable, so no lease can be current.
    pub(super) deliveries: bool,
    /// The id or the data is unreadable, so the item cannot be leased.
    pub(super) record: bool,
}

impl Broken {
    pub(super) fn any(self) -> bool {
        self != Broken::default()
    }
}

/// The data of an item, as far as it was found.
pub(super) enum Data {
    Found(Bytes),
    TooLarge,
    Gone,
}

pub(super) const READY: i64 = 0;
pub(super) const LEASED: i64 = 1;
pub(super) const DELAYED: i64 = 2;
pub(super) const DEAD: i64 = 3;
pub(super) const COMPLETED: i64 = 4;
pub(super) const CANCELLED: i64 = 5;
pub(super) const HELD: i64 = 6;

/// `None`: no state.
pub(super) fn read_state(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<State>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(READY) => Some(State::Ready),
        ValueRef::Integer(LEASED) => Some(State::Leased),
        ValueRef::Integer(DELAYED) => Some(State::Delayed),
        ValueRef::Integer(DEAD) => Some(State::Dead),
        ValueRef::Integer(COMPLETED) => Some(State::Completed),
        ValueRef::Integer(CANCELLED) => Some(State::Cancelled),
        ValueRef::Integer(HELD) => Some(State::Held),
        _ => None,
    })
}

/// 0 if it cannot be read.
pub(super) fn read_priority(row: &Row<'_>, column: usize) -> rusqlite::Result<u8> {
    Ok(integer(row, column, 0..=i64::from(MAX_PRIORITY))?.unwrap_or(0) as u8)
}

/// `None`: it is not an integer, or out of range.
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
        State::Completed => COMPLETED,
        State::Cancelled => CANCELLED,
        State::Held => HELD,
    }
}

/// Whether an item in this state is in line: it is ready, or held at the place that it had then.
pub(super) fn in_line(state: State) -> bool {
    matches!(state, State::Ready | State::Held)
}

/// The order of the items of a state: by priority if they are in line, otherwise by time.
pub(super) fn sort_key(state: State, priority: u8, at: i64) -> i64 {
    if in_line(state) { -i64::from(priority) } else { at }
}

fn generation(number: i64) -> Generation {
    Generation { count: number as u64, salt: NO_SALT }
}

/// Whether the item with this number is of the generation that the target names, if that names one.
pub(super) fn is_generation(number: i64, target: &Target) -> bool {
    target.generation.is_none_or(|wanted| wanted == generation(number))
}

/// Reads the columns of a row, and notes which are not as they should be.
struct Columns<'a> {
    row: &'a Row<'a>,
    broken: Broken,
}

impl Columns<'_> {
    fn detail(
        &mut self,
        column: usize,
        range: RangeInclusive<i64>,
    ) -> rusqlite::Result<Option<i64>> {
        let value = integer(self.row, column, range)?;
        self.broken.details |= value.is_none();
        Ok(value)
    }

    /// The position in line also tells its priority.
    fn priority(&mut self, state: State, sort_key: Option<i64>) -> rusqlite::Result<u8> {
        let highest = i64::from(MAX_PRIORITY);
        let by_sort_key = sort_key.filter(|key| in_line(state) && (-highest..=0).contains(key));
        let priority = self.detail(4, 0..=highest)?;
        Ok(priority.unwrap_or_else(|| by_sort_key.map_or(0, |key| -key)) as u8)
    }

    fn deliveries(&mut self) -> rusqlite::Result<u64> {
        let deliveries = self.detail(8, 0..=i64::MAX)?;
        self.broken.deliveries = deliveries.is_none();
        Ok(deliveries.unwrap_or(0) as u64)
    }

    fn error(&mut self) -> rusqlite::Result<String> {
        Ok(match self.row.get_ref(10)? {
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            _ => {
                self.broken.details = true;
                String::new()
            }
        })
    }

    fn history(&mut self) -> rusqlite::Result<History> {
        let history = match self.row.get_ref(15)? {
            ValueRef::Text([]) => Some(History::default()),
            ValueRef::Text(packed) => History::read(packed),
            _ => None,
        };
        self.broken.details |= history.is_none();
        Ok(history.unwrap_or_default())
    }

    fn id(&mut self) -> rusqlite::Result<Bytes> {
        Ok(match self.row.get_ref(11)? {
            ValueRef::Blob(id) if (1..=MAX_ID).contains(&id.len()) => Bytes::copy_from_slice(id),
            _ => {
                self.broken.record = true;
                Bytes::new()
            }
        })
    }

    fn key(&mut self) -> rusqlite::Result<Option<Bytes>> {
        Ok(match self.row.get_ref(17)? {
            ValueRef::Null => None,
            ValueRef::Blob(key) if (1..=MAX_KEY).contains(&key.len()) => {
                Some(Bytes::copy_from_slice(key))
            }
            _ => {
                self.broken.details = true;
                None
            }
        })
    }

    fn data(&mut self) -> rusqlite::Result<Option<Bytes>> {
        Ok(match self.row.get_ref(12)? {
            ValueRef::Blob(data) => Some(Bytes::copy_from_slice(data)),
            ValueRef::Null => None,
            _ => {
                self.broken.record = true;
                None
            }
        })
    }
}

impl Stored {
    /// Does not fail because of what a row contains: `broken` says what is wrong with it.
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        const ANY: RangeInclusive<i64> = i64::MIN..=i64::MAX;
        const COUNT: RangeInclusive<i64> = 0..=u32::MAX as i64;
        let mut columns = Columns { row, broken: Broken::default() };
        let state = read_state(row, 1)?;
        let (sort_key, position) = (integer(row, 2, ANY)?, integer(row, 3, ANY)?);
        let key = columns.key()?;
        // An item without a key is never held.
        let state = state.filter(|state| *state != State::Held || key.is_some());
        columns.broken.state = state.is_none();
        let state = state.unwrap_or(State::Ready);
        let priority = columns.priority(state, sort_key)?;
        // An item that is not in the line of its priority would be counted in the wrong one.
        let misplaced = match state {
            State::Ready | State::Held => sort_key != Some(-i64::from(priority)),
            _ => sort_key.is_none() || position != Some(0),
        };
        columns.broken.order = misplaced || position.is_none();
        let more = columns.detail(16, 0..=2)?.unwrap_or(1);
        Ok(Stored {
            number: row.get(0)?,
            state,
            sort_key: sort_key.unwrap_or(0),
            position: position.unwrap_or(0),
            priority,
            max_attempts: columns.detail(5, 0..=i64::from(MAX_ATTEMPTS))?.unwrap_or(0) as u32,
            failures: columns.detail(6, COUNT)?.unwrap_or(0) as u32,
            expiries: columns.detail(7, COUNT)?.unwrap_or(0) as u32,
            deliveries: columns.deliveries()?,
            added_at: columns.detail(9, ANY)?.unwrap_or(0),
            error: columns.error()?,
            history: columns.history()?,
            more: more > 0,
            triggered: more == 2,
            id: columns.id()?,
            data: columns.data()?,
            key,
            front: columns.detail(13, 0..=1)?.unwrap_or(0) == 1,
            since: columns.detail(14, ANY)?.unwrap_or(0),
            broken: columns.broken,
        })
    }

    pub(super) fn generation(&self) -> Generation {
        generation(self.number)
    }

    pub(super) fn max_attempts(&self) -> Option<u32> {
        (self.max_attempts > 0).then_some(self.max_attempts)
    }

    /// Whether it is only kept, and the time for which it is has passed.
    pub(super) fn is_over(&self, now_ms: u64) -> bool {
        self.state.is_retained() && self.sort_key <= now_ms as i64
    }

    /// Whether one more failed or expired attempt is the last. `default`: the limit of an item without one of its own;
    /// 0 if there is none.
    pub(super) fn ends_with_next(&self, default: u64) -> bool {
        let attempts = u64::from(self.failures) + u64::from(self.expiries) + 1;
        let most = if self.max_attempts > 0 { self.max_attempts.into() } else { default };
        most > 0 && attempts >= most
    }

    /// The data, from whichever table has it, unless it is larger than this.
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

    /// The data as [`take_data`](Stored::take_data) returns it; without data, none is read.
    pub(super) fn read_data(&mut self, db: &Database, with_data: bool, most: i64) -> Result<Data> {
        if with_data { self.take_data(db, most) } else { Ok(Data::Found(Bytes::new())) }
    }

    /// The error for a caller that asked for this item.
    pub(super) fn unreadable(&self, queue: &str) -> Error {
        Error::internal(format_args!(
            "queue {queue}, item {} (number {}): cannot be read; run check",
            show_id(&self.id),
            self.number
        ))
    }
}
