//! Reading items from rows.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row};

use super::database::Database;
use crate::Result;
use crate::item::{ItemInfo, State};
use crate::lease::from_ms;

/// Numbers begin with 2026, in ms since 1970, and follow the clock, so many to a millisecond.
pub(super) const EPOCH: u64 = 1_767_225_600_000;
pub(super) const PER_MS: i64 = 256;

/// Columns of an item, in the order that [`Stored::read`] expects.
pub(super) const COLUMNS: &str = "number, state, rank, place, priority, max_attempts, failures, \
     expiries, deliveries, added_at, error, id, data";

/// An item as it stands in its row.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) state: State,
    /// When it expires, is due or died; of a ready item the negative of its priority.
    pub(super) rank: i64,
    pub(super) place: i64,
    pub(super) priority: u8,
    pub(super) max_attempts: u32,
    pub(super) failures: u32,
    pub(super) expiries: u32,
    pub(super) deliveries: u64,
    pub(super) added_at: i64,
    pub(super) error: String,
    pub(super) id: Bytes,
    data: Option<Bytes>,
}

pub(super) fn read_state(row: &Row<'_>, column: usize) -> rusqlite::Result<State> {
    Ok(match row.get::<_, i64>(column)? {
        READY => State::Ready,
        LEASED => State::Leased,
        DELAYED => State::Delayed,
        _ => State::Dead,
    })
}

pub(super) const READY: i64 = 0;
pub(super) const LEASED: i64 = 1;
pub(super) const DELAYED: i64 = 2;
pub(super) const DEAD: i64 = 3;

pub(super) fn state_number(state: State) -> i64 {
    match state {
        State::Ready => READY,
        State::Leased => LEASED,
        State::Delayed => DELAYED,
        State::Dead => DEAD,
    }
}

/// Where an item stands among those of its state: by priority if it is ready, else by time.
pub(super) fn rank(state: State, priority: u8, at: i64) -> i64 {
    if state == State::Ready { -i64::from(priority) } else { at }
}

impl Stored {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        Ok(Stored {
            number: row.get(0)?,
            state: read_state(row, 1)?,
            rank: row.get(2)?,
            place: row.get(3)?,
            priority: row.get(4)?,
            max_attempts: row.get(5)?,
            failures: row.get(6)?,
            expiries: row.get(7)?,
            deliveries: row.get::<_, i64>(8)? as u64,
            added_at: row.get(9)?,
            error: row.get(10)?,
            id: Bytes::copy_from_slice(row.get_ref(11)?.as_blob()?),
            data: row.get_ref(12)?.as_blob_or_null()?.map(Bytes::copy_from_slice),
        })
    }

    pub(super) fn max_attempts(&self) -> Option<u32> {
        (self.max_attempts > 0).then_some(self.max_attempts)
    }

    /// True when one more failed or expired attempt is the last.
    pub(super) fn ends_with_next(&self) -> bool {
        self.max_attempts > 0 && self.failures + self.expiries + 1 >= self.max_attempts
    }

    /// The data, from wherever it stands.
    pub(super) fn data(&mut self, db: &Database) -> Result<Bytes> {
        if let Some(data) = self.data.take() {
            return Ok(data);
        }
        let number = self.number;
        let data = db.run("SELECT data FROM large WHERE number = ?1", |statement| {
            statement
                .query_row([number], |row| Ok(Bytes::copy_from_slice(row.get_ref(0)?.as_blob()?)))
                .optional()
        })?;
        data.ok_or_else(|| {
            crate::Error::internal(format_args!(
                "item number {number}: its data is gone; run check"
            ))
        })
    }

    pub(super) fn info(mut self, db: &Database) -> Result<ItemInfo> {
        let data = self.data(db)?;
        Ok(ItemInfo {
            data,
            state: self.state,
            priority: self.priority,
            max_attempts: self.max_attempts(),
            failures: self.failures,
            expiries: self.expiries,
            added_at: from_ms(self.added_at.max(0) as u64),
            at: (self.state != State::Ready).then(|| from_ms(self.rank.max(0) as u64)),
            last_error: self.error,
            id: self.id,
        })
    }
}
