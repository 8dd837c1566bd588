//! Leasing from a line in which items have keys: ready items and the held ones of open keys, in the order of their
//! places. A ready item of a full key is held, where it is.

use std::iter::Peekable;
use std::vec::IntoIter;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::expired::{self, Expired};
use super::key_line::{Looked, Place};
use super::mend::set_right;
use super::row::{COLUMNS, Data, Stored};
use super::taking::Taking;
use super::{expiry, keys};
use crate::Result;
use crate::engine::LeaseRequest;
use crate::item::State;

/// Limit of the items that one lease holds, and of the open keys that it finds full or without held items.
const HOLD_STEP: usize = 1_000;

const TAKE: &str = "UPDATE item SET state = 1, sort_key = ?2, position = 0 WHERE number = ?1";
const HOLD: &str = "UPDATE item SET state = 6 WHERE number = ?1";

impl Taking {
    /// Leases up to `left` items. `rows`: the first ready ones, as many as there are if `all`.
    pub(super) fn take_by_keys(
        &mut self,
        db: &Database,
        queue: i64,
        group: &LeaseRequest,
        left: &mut usize,
        (rows, all): (Vec<Stored>, bool),
        delta: &mut CountDelta,
    ) -> Result<Looked> {
        let mut rows = rows.into_iter().peekable();
        while *left > 0 {
            let open = if self.line.any_open { keys::first_open(db, queue)? } else { None };
            self.line.any_open = open.is_some();
            let taken = match (open, rows.peek().map(place)) {
                (Some((key, at)), next) if next.is_none_or(|next| at < next) => {
                    if next.is_none() && !all {
                        return Ok(Looked::On);
                    }
                    self.take_held(db, queue, group, (&key, at), delta)?
                }
                (_, Some(_)) => self.take_ready(db, queue, group, &mut rows, delta)?,
                (_, None) if all => return Ok(Looked::Enough),
                (_, None) => return Ok(Looked::On),
            };
            match taken {
                Taken::One => *left -= 1,
                Taken::None => {}
                Taken::TooLarge => {
                    self.cut_short = true;
                    return Ok(Looked::Enough);
                }
            }
            if self.line.looked >= HOLD_STEP || self.is_tired() {
                self.cut_short = true;
                return Ok(Looked::Enough);
            }
        }
        Ok(Looked::On)
    }

    /// Leases or holds the next ready item.
    fn take_ready(
        &mut self,
        db: &Database,
        queue: i64,
        group: &LeaseRequest,
        rows: &mut Peekable<IntoIter<Stored>>,
        delta: &mut CountDelta,
    ) -> Result<Taken> {
        let Some(row) = rows.peek() else { return Ok(Taken::None) };
        if let Some(key) = &row.key {
            if self.line.is_full(db, queue, key)? {
                db.run(HOLD, |s| s.execute([row.number]))?;
                delta.count(State::Ready, row.priority, -1);
                delta.count(State::Held, row.priority, 1);
                self.line.looked += 1;
                rows.next();
                return Ok(Taken::None);
            }
            if self.line.has_earlier(db, queue, key, place(row))? {
                // It was its limit that was raised, for example. Nobody overtakes the held ones.
                keys::open(db, queue, key)?;
                self.line.any_open = true;
                return Ok(Taken::None);
            }
        }
        match rows.next() {
            Some(row) => self.take_one(db, group, row, delta),
            None => Ok(Taken::None),
        }
    }

    /// Leases the first held item of an open key, if it is at this place.
    fn take_held(
        &mut self,
        db: &Database,
        queue: i64,
        group: &LeaseRequest,
        (key, at): (&Bytes, Place),
        delta: &mut CountDelta,
    ) -> Result<Taken> {
        let first = format!(
            "SELECT {COLUMNS} FROM item WHERE queue = ?1 AND key = ?2 AND state = 6 \
             ORDER BY sort_key, position LIMIT 1"
        );
        let known = self.line.know(db, queue, key)?;
        known.first = None;
        let full = known.leased >= known.limit;
        let item = match full {
            true => None,
            false => {
                db.run(&first, |s| s.query_row(params![queue, &key[..]], Stored::read).optional())?
            }
        };
        let Some(item) = item else {
            self.line.looked += 1;
            keys::close(db, queue, key)?;
            return Ok(Taken::None);
        };
        if item.broken.any() {
            self.mended += 1;
            set_right(db, &item, delta)?;
            return Ok(Taken::None);
        }
        if place(&item) != at {
            self.line.looked += 1;
            keys::open(db, queue, key)?;
            return Ok(Taken::None);
        }
        if expiry::has_expired(db, &item)? {
            let Stored { number, state, priority, .. } = item;
            self.mended += 1;
            expired::die(db, queue, &[Expired { number, state, priority }], delta)?;
            return Ok(Taken::None);
        }
        self.take_one(db, group, item, delta)
    }

    /// Leases this item.
    fn take_one(
        &mut self,
        db: &Database,
        group: &LeaseRequest,
        mut item: Stored,
        delta: &mut CountDelta,
    ) -> Result<Taken> {
        let most = if self.items.is_empty() { i64::MAX } else { self.room };
        let data = match item.take_data(db, most)? {
            Data::Found(data) => data,
            Data::TooLarge => return Ok(Taken::TooLarge),
            Data::Gone => {
                item.broken.record = true;
                self.mended += 1;
                set_right(db, &item, delta)?;
                return Ok(Taken::None);
            }
        };
        let deadline_ms = db.now + group.duration_ms;
        db.run(TAKE, |s| s.execute([item.number, deadline_ms as i64]))?;
        if let Some(key) = &item.key {
            self.line.took(key);
        }
        self.give(db, item, data, group, deadline_ms, delta)?;
        Ok(Taken::One)
    }
}

enum Taken {
    One,
    None,
    TooLarge,
}

fn place(item: &Stored) -> Place {
    (item.sort_key, item.position)
}
