//! Data of more than 1,024 bytes, which has a table of its own.

use rusqlite::{OptionalExtension, params};

use super::database::Database;
use crate::Result;

/// Larger data is in a table of its own, so that leasing an item does not write its data again.
pub(super) const INLINE: usize = 1_024;

pub(super) fn add(db: &Database, number: i64, data: &[u8]) -> Result<()> {
    db.run("INSERT INTO large VALUES (?1, ?2)", |s| s.execute(params![number, data]))?;
    Ok(())
}

/// The length of an item's large data. `None`: it has none; `Some(None)`: it cannot be read.
pub(super) fn length(db: &Database, number: i64) -> Result<Option<Option<i64>>> {
    const LENGTH: &str =
        "SELECT CASE typeof(data) WHEN 'blob' THEN length(data) END FROM large WHERE number = ?1";
    db.run(LENGTH, |s| s.query_row([number], |row| row.get(0)).optional())
}

pub(super) fn delete(db: &Database, number: i64) -> Result<()> {
    db.run("DELETE FROM large WHERE number = ?1", |s| s.execute([number]))?;
    Ok(())
}
