//! Several cancellations in one transaction.

use super::count_delta::CountDelta;
use super::database::Database;
use super::readable::readable;
use super::row::CANCELLED;
use super::{endings, events, expiry, extra, follow_ups, large, named, settings, successors};
use crate::Result;
use crate::engine::{Ended, Target};
use crate::event::EventKind;
use crate::item::State;
use crate::options::MAX_BATCH_BYTES;

pub(super) struct Cancelling {
    delta: CountDelta,
    /// How many bytes of large data may still be moved.
    room: i64,
    copied_any: bool,
    any_marked: bool,
}

impl Cancelling {
    pub(super) fn new() -> Cancelling {
        let room = MAX_BATCH_BYTES as i64;
        Cancelling { delta: CountDelta::default(), room, copied_any: false, any_marked: false }
    }

    /// `None`: it is too large for this transaction.
    pub(super) fn cancel(
        &mut self,
        db: &Database,
        queue: i64,
        target: &Target,
    ) -> Result<Option<bool>> {
        let allows = |state| state != State::Dead && !State::is_retained(state);
        let found = named::find(db, queue, target, &mut self.delta, allows)?;
        let Some(item) = expiry::unexpired(db, found)? else { return Ok(Some(false)) };
        let extra = match item.more {
            true => extra::read(db, item.number, None)?.unwrap_or_default(),
            false => extra::Extra::default(),
        };
        if item.state == State::Leased {
            if item.more {
                successors::drop(db, queue, item.number)?;
            }
            if !extra.marked {
                mark(db, item.number)?;
                self.any_marked = true;
            }
            return Ok(Some(true));
        }
        let retain = settings::retention(db, queue, extra.own_retain())?;
        if extra.follow_ups.is_some() && retain == 0 {
            follow_ups::cancel(db, queue, item.number)?;
        }
        let mut ended = item.number;
        if retain > 0 {
            let size = match large::length(db, item.number)? {
                // Data that cannot be read cannot be copied.
                Some(None) => return Ok(Some(false)),
                large => large.flatten().unwrap_or(0),
            };
            if size > self.room && self.copied_any {
                // The caller asks again for those that come after it, too, if they do not fit.
                return Ok(None);
            }
            self.room -= size;
            self.copied_any = true;
            let number = named::renumber(db, queue, item.number)?;
            ended = number;
            if extra.follow_ups.is_some() {
                follow_ups::cancel(db, queue, number)?;
            }
            extra::retain(db, number, CANCELLED, retain, None)?;
            self.delta.count(item.state, item.priority, -1);
            self.delta.count(State::Cancelled, item.priority, 1);
        } else {
            extra::delete_item(db, queue, item.number, &mut self.delta)?;
        }
        self.delta.cancelled += 1;
        events::note(db, queue, EventKind::Cancelled, ended, 0, Some(&target.id))?;
        let how = Ended::Cancelled { retained: extra.retain > 0 };
        endings::report(db, queue, &target.id, how)?;
        Ok(Some(true))
    }

    /// Returns what is to be counted.
    pub(super) fn end(self, db: &Database, queue: i64) -> Result<CountDelta> {
        if self.any_marked {
            // As on Redis, it follows the clock.
            const NOTE: &str = "UPDATE queue SET cancels = max(cancels + 1, ?2) WHERE queue = ?1";
            db.run(NOTE, |s| s.execute([queue, db.now as i64]))?;
        }
        Ok(self.delta)
    }
}

/// Marks a leased item.
fn mark(db: &Database, number: i64) -> Result<()> {
    const MARK: &str = concat!(
        "INSERT INTO extra (queue, number, retain, marked)
        VALUES ((SELECT queue FROM item WHERE number = ?1), ?1, 0, 1)
        ON CONFLICT (number) DO UPDATE SET marked = 1, ended_at = NULL, result = NULL,
        expires_at = CASE typeof(expires_at) WHEN 'integer' THEN expires_at END, ",
        readable!()
    );
    db.run(MARK, |s| s.execute([number]))?;
    db.run("UPDATE item SET more = 1 WHERE number = ?1", |s| s.execute([number]))?;
    Ok(())
}
