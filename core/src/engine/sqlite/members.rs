//! Members of groups: what becomes of a place, and members that an add refuses.

use rusqlite::{OptionalExtension, params};

use super::database::Database;
use super::follow_ups::{
    self, COMPLETES, ENDS, Kinds, PLACE_ADDED, PLACE_ENDS, PLACE_OPENS, PLACE_REFUSED,
};
use crate::Result;
use crate::engine::groups::{COMPLETED, ENDED, IN_FIELD, OPEN, REFUSED, read_state};
use crate::group::PlaceState;
use crate::item::{GroupPlace, Item};

/// What a note says of the place of a member.
#[derive(Debug, Clone, Copy)]
pub(super) enum Report {
    Open,
    Ended,
    Completed,
    /// The member was not added.
    Refused,
    /// It was added, perhaps after it had been refused.
    Added,
}

impl Report {
    /// What a note with these kinds says.
    pub(super) fn of(kinds: Kinds) -> Option<Report> {
        if kinds & PLACE_OPENS != 0 {
            Some(Report::Open)
        } else if kinds & PLACE_REFUSED != 0 {
            Some(Report::Refused)
        } else if kinds & PLACE_ADDED != 0 {
            Some(Report::Added)
        } else if kinds & COMPLETES != 0 {
            Some(Report::Completed)
        } else {
            (kinds & (ENDS | PLACE_ENDS) != 0).then_some(Report::Ended)
        }
    }

    /// The letter of the place that had this one. A refusal says nothing of a place that is filled, and a member that is added
    /// opens only one that was refused.
    pub(super) fn after(self, before: u8) -> u8 {
        match self {
            Report::Open => OPEN,
            Report::Ended => ENDED,
            Report::Completed => COMPLETED,
            Report::Refused if read_state(Some(&before)) == PlaceState::Open => REFUSED,
            Report::Added if before == REFUSED => OPEN,
            Report::Refused | Report::Added => before,
        }
    }
}

/// This member was not added, because another item has its id or its unique key. If that has its place, the add is a repeat of
/// the one that has added it; otherwise its place has ended.
pub(super) fn refuse(db: &Database, queue: i64, item: &Item, place: &GroupPlace) -> Result<()> {
    const REPEATED: &str = "SELECT extra.number FROM extra
        JOIN follow_up ON follow_up.follow_up = extra.follow_ups
        WHERE extra.number IN (SELECT number FROM item WHERE queue = ?1 AND id = ?2
            UNION ALL SELECT number FROM unique_key WHERE queue = ?1 AND key = ?3)
        AND follow_up.place = ?4 AND follow_up.group_queue = ?5 AND follow_up.group_number = ?6";
    let GroupPlace { group, place: at } = place;
    let (name, number) = (group.queue.as_str(), group.generation.count as i64);
    let (id, key) = (item.id.as_ref(), item.unique.as_deref());
    let repeated = db.run(REPEATED, |s| {
        s.query_row(params![queue, id, key, at, name, number], |row| row.get(0)).optional()
    })?;
    match repeated {
        Some(number) => note_added(db, queue, number, place),
        None => follow_ups::refuse(db, queue, id, place),
    }
}

/// This member was added: its place is open again, if it had been refused before.
pub(super) fn note_added(db: &Database, queue: i64, number: i64, place: &GroupPlace) -> Result<()> {
    const LETTER: &str =
        "SELECT substr(states, ?3, 1) FROM group_field WHERE number = ?1 AND field = ?2";
    let group = place.group.generation.count as i64;
    let (field, at) = (place.place / IN_FIELD, place.place % IN_FIELD + 1);
    let letter: Option<Vec<u8>> =
        db.run(LETTER, |s| s.query_row(params![group, field, at], |row| row.get(0)).optional())?;
    // The note of a refusal may wait.
    if letter.is_some_and(|letter| letter == [REFUSED]) || follow_ups::any_deferred(db, queue)? {
        follow_ups::note_added(db, queue, number)?;
    }
    Ok(())
}
