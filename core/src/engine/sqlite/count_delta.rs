//! What an operation changes of a queue's counts and totals, written to the queue's row once.

use rusqlite::{Connection, params_from_iter};

use crate::item::State;

#[derive(Debug, Default)]
pub(super) struct CountDelta {
    pub(super) ready: [i64; 10],
    pub(super) delayed: i64,
    pub(super) leased: i64,
    pub(super) dead: i64,
    pub(super) kept_completed: i64,
    pub(super) kept_cancelled: i64,
    pub(super) held: i64,
    pub(super) added: i64,
    pub(super) leases: i64,
    pub(super) completed: i64,
    pub(super) expired: i64,
    pub(super) failed: i64,
    pub(super) died: i64,
    pub(super) removed: i64,
    pub(super) replaced: i64,
    pub(super) expired_unleased: i64,
    pub(super) cancelled: i64,
}

const ADD: &str = "UPDATE queue SET
    ready0 = ready0 + ?1, ready1 = ready1 + ?2, ready2 = ready2 + ?3, ready3 = ready3 + ?4,
    ready4 = ready4 + ?5, ready5 = ready5 + ?6, ready6 = ready6 + ?7, ready7 = ready7 + ?8,
    ready8 = ready8 + ?9, ready9 = ready9 + ?10, delayed = delayed + ?11, leased = leased + ?12,
    dead = dead + ?13, added = added + ?14, leases = leases + ?15, completed = completed + ?16,
    expired = expired + ?17, failed = failed + ?18, died = died + ?19, removed = removed + ?20,
    replaced = replaced + ?21, kept_completed = kept_completed + ?22,
    kept_cancelled = kept_cancelled + ?23, expired_unleased = expired_unleased + ?24,
    cancelled = cancelled + ?25, held = held + ?26 WHERE queue = ?27";

impl CountDelta {
    /// Counts one item more (1) or less (-1) in a state.
    pub(super) fn count(&mut self, state: State, priority: u8, change: i64) {
        match state {
            State::Ready => self.ready[usize::from(priority.min(9))] += change,
            State::Delayed => self.delayed += change,
            State::Leased => self.leased += change,
            State::Dead => self.dead += change,
            State::Completed => self.kept_completed += change,
            State::Cancelled => self.kept_cancelled += change,
            State::Held => self.held += change,
        }
    }

    pub(super) fn write(&self, connection: &Connection, queue: i64) -> rusqlite::Result<()> {
        let rest = [
            self.delayed,
            self.leased,
            self.dead,
            self.added,
            self.leases,
            self.completed,
            self.expired,
            self.failed,
            self.died,
            self.removed,
            self.replaced,
            self.kept_completed,
            self.kept_cancelled,
            self.expired_unleased,
            self.cancelled,
            self.held,
            queue,
        ];
        if self.ready.iter().chain(&rest[..16]).all(|change| *change == 0) {
            return Ok(());
        }
        connection
            .prepare_cached(ADD)?
            .execute(params_from_iter(self.ready.iter().chain(&rest)))
            .map(|_| ())
    }
}
