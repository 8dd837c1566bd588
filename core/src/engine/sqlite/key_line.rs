//! What one lease knows of the keys of the items in line.

use std::collections::HashMap;

use bytes::Bytes;

use super::database::Database;
use super::key_meter::KeyMeters;
use super::{keys, settings};
use crate::Result;
use crate::key_rate::KeyRate;

/// The place of an item in line, as its row has it.
pub(super) type Place = (i64, i64);

/// What one transaction knows of a key.
pub(super) struct Known {
    pub(super) limit: i64,
    pub(super) leased: i64,
    /// The place of the first held item, if that was looked up and has not changed since.
    pub(super) first: Option<Option<Place>>,
}

/// What one lease knows of keys.
#[derive(Default)]
pub(super) struct KeyLine {
    known: HashMap<Bytes, Known>,
    /// The limit of a key without one of its own, and whether some have one.
    limits: Option<(u32, bool)>,
    /// What is used up of the rates of keys, if they have one.
    pub(super) meters: Option<KeyMeters>,
    /// Keys may be open.
    pub(super) any_open: bool,
    /// How many items were held, and keys looked at in vain.
    pub(super) looked: usize,
}

impl KeyLine {
    pub(super) fn new(rate: Option<KeyRate>) -> KeyLine {
        KeyLine { meters: rate.map(KeyMeters::new), ..KeyLine::default() }
    }

    pub(super) fn know(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<&mut Known> {
        if !self.known.contains_key(key) {
            let (default, any_own) = match self.limits {
                Some(limits) => limits,
                None => {
                    let default = settings::of(db, queue)?.key_limit();
                    *self.limits.insert((default, keys::any_own_limit(db, queue)?))
                }
            };
            let own = if any_own { keys::own_limit(db, queue, key)? } else { None };
            let limit = own.unwrap_or(default).into();
            let leased = keys::leased(db, queue, key)?;
            self.known.insert(key.clone(), Known { limit, leased, first: None });
        }
        Ok(self.known.entry(key.clone()).or_insert(Known { limit: 0, leased: 0, first: None }))
    }

    /// Whether as many items of the key are leased as may be.
    pub(super) fn is_full(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<bool> {
        let known = self.know(db, queue, key)?;
        Ok(known.leased >= known.limit)
    }

    /// In which ms the rate of the key allows its next lease; `None`: it allows one now.
    pub(super) fn opens(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<Option<u64>> {
        self.meters.as_mut().map_or(Ok(None), |meters| meters.opens(db, queue, key))
    }

    /// Whether a held item of the key stands before this place.
    pub(super) fn has_earlier(
        &mut self,
        db: &Database,
        queue: i64,
        key: &Bytes,
        place: Place,
    ) -> Result<bool> {
        let known = self.know(db, queue, key)?;
        let first = match known.first {
            Some(first) => first,
            None => *known.first.insert(keys::first_held(db, queue, key)?),
        };
        Ok(first.is_some_and(|first| first < place))
    }

    /// Held items have left the line.
    pub(super) fn forget_firsts(&mut self) {
        for known in self.known.values_mut() {
            known.first = None;
        }
    }

    /// An item of the key was leased.
    pub(super) fn took(&mut self, db: &Database, queue: i64, key: &Bytes) -> Result<()> {
        if let Some(known) = self.known.get_mut(key) {
            known.leased += 1;
        }
        self.meters.as_mut().map_or(Ok(()), |meters| meters.took(db, queue, key))
    }
}

/// How far a look at the line has come.
pub(super) enum Looked {
    /// There may be more behind it.
    On,
    /// There is nothing more to lease, or the reply is full.
    Enough,
}
