//! Reading items from rows.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row};

use super::database::Database;
use crate::Result;
use crate::item::{ItemInfo, State};
use crate::lease::from_ms;

/// Columns of an item, in the order that [`Stored::read`] expects.
pub(super) const COLUMNS: &str = "number, state, priority, place, at, max_attempts, failures, \
     expiries, deliveries, added_at, error, id, data";

/// An item as it stands in its row.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) state: State,
    pub(super) priority: u8,
    pub(super) place: i64,
    pub(super) at: i64,
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
        0 => State::Ready,
        1 => State::Delayed,
        2 => State::Leased,
        _ => State::Dead,
    })
}

impl Stored {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
        Ok(Stored {
            number: row.get(0)?,
            state: read_state(row, 1)?,
            priority: row.get(2)?,
            place: row.get(3)?,
            at: row.get(4)?,
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
            added_at: from_ms(self.added_at as u64),
            at: (self.state != State::Ready).then(|| from_ms(self.at as u64)),
            last_error: self.error,
            id: self.id,
        })
    }
}
