//! Leasing from a line in which items have keys: ready items and the held ones of open keys, in the order of their
//! places. A ready item of a full key is held, where it is.

use std::iter::Peekable;
use std::vec::IntoIter;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};

use super::count_delta::CountDelta;
use super::database::Database;
use super::expired::Expired;
use super::key_line::{Looked, Place};
use super::mend::set_right;
use super::row::{COLUMNS, Data, Stored};
use super::taking::Taking;
use super::{events, expiry, keys};
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
            let opens = self.line.opens(db, queue, key)?;
            if opens.is_some() || self.line.is_full(db, queue, key)? {
                if let Some(at) = opens {
                    keys::open_at(db, queue, key, at)?;
                }
                db.run(HOLD, |s| s.execute([row.number]))?;
                delta.count(State::Ready, row.priority, -1);
                delta.count(State::Held, row.priority, 1);
                self.line.looked += 1;
                rows.next();
                return Ok(Taken::None);
            }
            if self.line.has_earlier(db, queue, key, place(row))? {
                // It was its limit that was raised, for example. Nobody overtakes the held ones.
                keys::open_again(db, queue, key)?;
                self.line.any_open = true;
                return Ok(Taken::None);
            }
        }
        match rows.next() {
            Some(row) => self.take_one(db, queue, group, row, delta),
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
        let item = match full || self.line.opens(db, queue, key)?.is_some() {
            true => None,
            false => {
                db.run(&first, |s| s.query_row(params![queue, &key[..]], Stored::read).optional())?
            }
        };
        let Some(item) = item else {
            self.line.looked += 1;
            self.close(db, queue, key)?;
            return Ok(Taken::None);
        };
        if item.broken.any() {
            self.mended += 1;
            set_right(db, &item, delta)?;
            return Ok(Taken::None);
        }
        if place(&item) != at {
            self.line.looked += 1;
            keys::open_again(db, queue, key)?;
            return Ok(Taken::None);
        }
        if expiry::has_expired(db, &item)? {
            let Stored { number, state, priority, .. } = item;
            self.die(db, queue, vec![Expired { number, state, priority }], delta)?;
            self.line.forget_firsts();
            return Ok(Taken::None);
        }
        let taken = self.take_one(db, queue, group, item, delta)?;
        if matches!(taken, Taken::One) && keys::first_held(db, queue, key)?.is_none() {
            keys::close(db, queue, key)?;
        }
        Ok(taken)
    }

    /// No held item of the key may be leased now. If that is because of its rate, it opens in time.
    fn close(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<()> {
        match self.line.opens(db, queue, key)? {
            Some(at) if keys::first_held(db, queue, key)?.is_some() => {
                keys::open_at(db, queue, key, at)
            }
            _ => keys::close(db, queue, key),
        }
    }

    /// Leases this item.
    fn take_one(
        &mut self,
        db: &Database,
        queue: i64,
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
            self.line.took(db, queue, key)?;
            let closes =
                self.line.is_full(db, queue, key)? || self.line.opens(db, queue, key)?.is_some();
            if closes && self.line.any_open {
                // It may be open. Calls that wait would look for a place that nobody has.
                self.close(db, queue, key)?;
            }
        }
        events::note_lease(db, queue, &item)?;
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::location::Location;
    use super::super::opening::Opening;
    use super::super::{add, audit_keys, expired, lease, open, settings, settle};
    use super::*;
    use crate::clean::DeepReport;
    use crate::clock::Clock;
    use crate::engine::{Complete, LeasedItem};
    use crate::item::Item;
    use crate::name::QueueName;
    use crate::settings::{Configure, Setting};

    struct File {
        db: Database,
        name: QueueName,
    }

    impl File {
        fn new() -> File {
            let location = Location { path: None, full: true };
            let opening = Opening::new(location, Clock::machine(), Duration::from_secs(1));
            let mut db = open::open(&opening).unwrap();
            db.begin_write(Instant::now() + Duration::from_secs(10)).unwrap();
            File { db, name: QueueName::new("jobs").unwrap() }
        }

        fn add(&mut self, items: impl IntoIterator<Item = Item>) {
            let items: Vec<_> = items.into_iter().collect();
            assert!(add::add(&mut self.db, &self.name, &items).unwrap().iter().all(|added| *added));
        }

        fn lease(&mut self, count: usize) -> Vec<LeasedItem> {
            let wanted = [LeaseRequest { count, duration_ms: 3_600_000 }];
            lease::lease(&mut self.db, &self.name, &wanted).unwrap().items
        }

        fn complete(&mut self, leased: &LeasedItem) {
            let complete = Complete {
                token: leased.token,
                id: leased.id.clone(),
                strict: false,
                added_with: leased.added_with.clone(),
                retain_ms: None,
                result: None,
                add: Default::default(),
                data_len: 0,
            };
            assert_eq!(settle::complete(&mut self.db, &self.name, &[complete]).unwrap(), [true]);
        }

        fn limit(&mut self, limit: u64) {
            let changes = vec![(Setting::KeyLimit, limit)];
            let change = Configure { changes, revision: None };
            settings::configure(&mut self.db, &self.name, &change).unwrap().unwrap();
        }

        /// Whether a waiting call sees without the writer lock that there is nothing.
        fn is_idle(&mut self) -> bool {
            lease::peek(&mut self.db, &self.name).unwrap().is_some()
        }
    }

    fn keyed(id: &str) -> Item {
        Item::new("x").with_id(id).key("k")
    }

    #[test]
    fn a_key_is_closed_with_its_last_place_or_its_last_held_item() {
        let mut file = File::new();
        file.add(["a", "b", "c", "d"].map(keyed));
        let a = file.lease(1);
        assert!(file.lease(1).is_empty(), "the others are held");
        file.complete(&a[0]);
        assert!(!file.is_idle());
        assert_eq!(file.lease(1).len(), 1);
        assert!(file.is_idle(), "its only place is taken");
        file.limit(5);
        assert_eq!(file.lease(2).len(), 2);
        assert!(file.is_idle(), "nobody waits in its line");
        // An item that comes before the held ones takes the last place.
        let mut file = File::new();
        file.add(["a", "b"].map(keyed));
        let a = file.lease(2);
        file.complete(&a[0]);
        file.add([keyed("first").priority(9)]);
        assert_eq!(file.lease(1)[0].id, "first");
        assert!(file.is_idle(), "its only place is taken");
    }

    #[test]
    fn a_place_that_has_become_wrong_while_a_limit_is_raised_is_no_damage() {
        let mut file = File::new();
        file.limit(2);
        file.add(["a", "b", "c"].map(keyed));
        let leases = file.lease(3);
        file.complete(&leases[0]);
        file.limit(1);
        // The line is not read to its end: the key stays open behind the one that is held now.
        file.add([keyed("d").priority(2), Item::new("x").priority(1)]);
        assert_eq!(file.lease(1)[0].priority, 1);
        file.limit(9);
        let mut report = DeepReport::default();
        let File { db, name } = &mut file;
        audit_keys::open_keys(db, name, Vec::new(), false, &mut report).unwrap();
        audit_keys::held_keys(db, name, Vec::new(), false, &mut report).unwrap();
        assert!(report.is_sound(), "{:?}", report.details);
        let ids: Vec<_> = file.lease(9).into_iter().map(|item| item.id).collect();
        assert_eq!(ids, ["d", "c"]);
    }

    #[test]
    fn held_items_that_have_expired_die_together() {
        let mut file = File::new();
        file.add([keyed("first")]);
        let first = file.lease(1);
        let soon = Duration::from_secs(60);
        file.add((0..600).map(|n| keyed(&n.to_string()).expires_in(soon)));
        assert!(file.lease(1).is_empty());
        file.add([keyed("last")]);
        file.complete(&first[0]);
        file.db.now += 120_000;
        let died = |file: &File| {
            // How often the statement has run that makes items dead.
            let dies = expired::DIE;
            file.db.run(dies, |s| Ok(s.get_status(rusqlite::StatementStatus::Run))).unwrap()
        };
        let before = died(&file);
        // The sweep of a lease takes 100.
        assert_eq!(file.lease(1)[0].id, "last");
        assert!(died(&file) - before <= 4, "{before}, {}", died(&file));
    }
}
