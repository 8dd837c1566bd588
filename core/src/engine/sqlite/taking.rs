//! Filling the reply of a lease.

use std::sync::Arc;

use bytes::Bytes;
use rusqlite::params;

use super::count_delta::CountDelta;
use super::database::Database;
use super::expired::{self, Expired, Walk};
use super::key_line::{KeyLine, Looked};
use super::mend::set_right;
use super::row::{COLUMNS, Data, Stored};
use super::{events, expiry, extra};
use crate::engine::{AddedWith, LeaseRequest, LeasedItem, Token};
use crate::item::State;
use crate::{Error, Result};

/// Limit of the rows that one lease repairs, or finds expired. The next lease continues behind them.
const MEND_STEP: usize = 2_000;
/// How many items are read at least after some were held.
const AHEAD: usize = 64;
/// How many expired items are looked for together.
const EXPIRE_STEP: usize = 500;
/// Limit of the ready items that are read together behind held ones.
const MOST_AHEAD: usize = 500;

const TAKE: &str = "UPDATE item SET state = 1, sort_key = ?3, position = 0 WHERE number IN
    (SELECT number FROM item WHERE queue = ?1 AND state = 0 ORDER BY sort_key, position LIMIT ?2)";

/// Fills one reply.
pub(super) struct Taking {
    /// How many bytes of data still fit.
    pub(super) room: i64,
    /// How many rows were repaired, or are of items that have expired.
    pub(super) mended: usize,
    /// Some of the ready items may have expired.
    pub(super) may_expire: bool,
    pub(super) walk: Walk,
    /// The next request may find more.
    pub(super) cut_short: bool,
    pub(super) line: KeyLine,
    /// How many ready items to read at least, because others were held.
    pub(super) ahead: usize,
    pub(super) items: Vec<LeasedItem>,
}

impl Taking {
    /// False if there were fewer items than the group wants.
    pub(super) fn take(
        &mut self,
        db: &Database,
        queue: i64,
        group: LeaseRequest,
        delta: &mut CountDelta,
    ) -> Result<bool> {
        let first = format!(
            "SELECT {COLUMNS} FROM item WHERE queue = ?1 AND state = 0 ORDER BY sort_key, position LIMIT ?2"
        );
        let mut left = group.count;
        while left > 0 {
            // Reads first: SQLite would copy the rows that an UPDATE returns to another table.
            let wanted = left.max(self.ahead);
            let mut rows = db.rows(&first, params![queue, wanted as i64], Stored::read)?;
            let all = rows.len() < wanted;
            if self.line.any_open || rows.iter().any(|row| row.key.is_some()) {
                let unfit = self.unfit(db, &rows)?;
                if unfit.iter().any(|unfit| *unfit) {
                    let mut each = unfit.into_iter();
                    rows.retain(|_| each.next() == Some(true));
                    if !self.mend(db, queue, rows, delta)? {
                        return Ok(false);
                    }
                    continue;
                }
                match self.take_by_keys(db, queue, &group, &mut left, (rows, all), delta)? {
                    Looked::On => self.ahead = (2 * self.ahead).clamp(AHEAD, MOST_AHEAD),
                    Looked::Enough => return Ok(left == 0),
                }
                continue;
            }
            rows.truncate(left);
            if rows.is_empty() {
                return Ok(false);
            }
            let (found, (fit, broken)) = (rows.len(), self.select(db, rows)?);
            if !broken.is_empty() {
                if !self.mend(db, queue, broken, delta)? {
                    return Ok(false);
                }
                continue;
            }
            let count = fit.len();
            self.lease(db, queue, &group, fit, delta)?;
            left -= count;
            if count < found {
                self.cut_short = true;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Which of these rows are damaged or have expired.
    fn unfit(&self, db: &Database, rows: &[Stored]) -> Result<Vec<bool>> {
        let expired = |item| Ok(self.may_expire && expiry::has_expired(db, item)?);
        rows.iter().map(|item| Ok(item.broken.any() || expired(item)?)).collect()
    }

    /// Repairs damaged rows, and makes the others of these dead, which have expired. No item overtakes one that becomes
    /// readable: the line must be read again. False: this lease has done enough.
    fn mend(
        &mut self,
        db: &Database,
        queue: i64,
        rows: Vec<Stored>,
        delta: &mut CountDelta,
    ) -> Result<bool> {
        let mut expired = Vec::new();
        for item in rows {
            match item.broken.any() {
                true => {
                    self.mended += 1;
                    set_right(db, &item, delta)?;
                }
                false => expired.push(Expired {
                    number: item.number,
                    state: State::Ready,
                    priority: item.priority,
                }),
            }
        }
        if !expired.is_empty() {
            self.die(db, queue, expired, delta)?;
        }
        self.cut_short |= self.is_tired();
        Ok(!self.is_tired())
    }

    /// Makes these items dead, which have expired, and others that wait to be leased.
    pub(super) fn die(
        &mut self,
        db: &Database,
        queue: i64,
        expired: Vec<Expired>,
        delta: &mut CountDelta,
    ) -> Result<()> {
        self.mended += expired.len();
        expired::die(db, queue, &expired, delta)?;
        // Many may follow. One after the other would take a few statements for each.
        self.mended += expired::die_waiting(db, queue, EXPIRE_STEP, &mut self.walk, delta)?;
        Ok(())
    }

    /// Whether this lease has repaired enough.
    pub(super) fn is_tired(&self) -> bool {
        self.mended >= MEND_STEP
    }

    /// The first of these rows, as many as fit, with their data; and those that are damaged or have expired.
    #[allow(clippy::type_complexity)]
    fn select(
        &self,
        db: &Database,
        rows: Vec<Stored>,
    ) -> Result<(Vec<(Stored, Bytes)>, Vec<Stored>)> {
        let (mut fit, mut broken) = (Vec::with_capacity(rows.len()), Vec::new());
        let (mut room, mut full) = (self.room, false);
        for mut item in rows {
            if item.broken.any() || (self.may_expire && expiry::has_expired(db, &item)?) {
                broken.push(item);
                continue;
            }
            if full {
                continue;
            }
            // The first item is leased, however large it is.
            let most = if fit.is_empty() && self.items.is_empty() { i64::MAX } else { room };
            match item.take_data(db, most)? {
                Data::Found(data) => {
                    room -= data.len() as i64;
                    fit.push((item, data));
                }
                Data::TooLarge => full = true,
                Data::Gone => {
                    item.broken.record = true;
                    broken.push(item);
                }
            }
        }
        Ok((fit, broken))
    }

    /// Leases these items, which are the first in line.
    fn lease(
        &mut self,
        db: &Database,
        queue: i64,
        group: &LeaseRequest,
        fit: Vec<(Stored, Bytes)>,
        delta: &mut CountDelta,
    ) -> Result<()> {
        let deadline_ms = db.now + group.duration_ms;
        let count = fit.len();
        if count == 0 {
            return Ok(());
        }
        let taken =
            db.run(TAKE, |s| s.execute(params![queue, count as i64, deadline_ms as i64]))?;
        if taken != count {
            return Err(Error::internal(format_args!(
                "queue {queue}: {taken} items were taken instead of {count}: run check"
            )));
        }
        for (row, data) in fit {
            events::note_lease(db, queue, &row)?;
            self.give(db, row, data, group, deadline_ms, delta)?;
        }
        Ok(())
    }

    /// Adds an item to the reply.
    pub(super) fn give(
        &mut self,
        db: &Database,
        row: Stored,
        data: Bytes,
        group: &LeaseRequest,
        deadline_ms: u64,
        delta: &mut CountDelta,
    ) -> Result<()> {
        let trigger = match row.triggered {
            true => extra::read(db, row.number, None)?.and_then(|extra| extra.trigger),
            false => None,
        };
        self.room -= data.len() as i64;
        delta.count(row.state, row.priority, -1);
        delta.count(State::Leased, row.priority, 1);
        self.items.push(LeasedItem {
            token: Token { generation: row.generation(), delivery: row.deliveries },
            data,
            priority: row.priority,
            max_attempts: row.max_attempts(),
            added_with: row
                .key
                .map(|key| Arc::new(AddedWith { key: Some(key), ..AddedWith::default() })),
            failures: row.failures,
            expiries: row.expiries,
            last_error: row.error,
            history: row.history,
            id: row.id,
            trigger,
            ready_at_ms: if row.since == 0 { row.added_at } else { row.since }.max(0) as u64,
            duration_ms: group.duration_ms,
            deadline_ms,
        });
        Ok(())
    }
}
