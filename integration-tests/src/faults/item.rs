//! The items that producers add.

use serde_json::{Value, json};

use super::history::{Id, Options};
use super::rng::{SeededRng, digest};
use crate::conformance::value::hex;

/// An item to add.
pub(super) struct NewItem {
    pub(super) id: Id,
    /// A digest of its data.
    pub(super) data: u64,
    pub(super) options: Options,
    pub(super) request: Value,
}

impl NewItem {
    /// The same with the id of another item, which it replaces.
    pub(super) fn replacing(mut self, id: Id) -> Self {
        self.request["id"] = hex(id.as_bytes()).into();
        self.request["replace"] = true.into();
        (self.id, self.options.replace) = (id, true);
        self
    }

    /// The same with this unique key.
    pub(super) fn with_key(mut self, key: String) -> Self {
        self.request["unique"] = hex(key.as_bytes()).into();
        self.options.key = Some(key);
        self
    }
}

/// The id of the item with this number, unless it has that of an earlier one.
pub(super) fn id_of(number: u64) -> Id {
    format!("item-{number}")
}

/// Whether no other item ever has the id of the item with this number.
pub(super) fn is_single(number: u64) -> bool {
    number.is_multiple_of(4)
}

pub(super) fn has_single_id(id: &str) -> bool {
    id.strip_prefix("item-").and_then(|number| number.parse().ok()).is_some_and(is_single)
}

/// A new item; sometimes with an id that was used before. `extended`: it may have options that make a queue extended.
/// `keyed`: it may have a key.
pub(super) fn new_item(number: u64, extended: bool, keyed: bool, rng: &mut SeededRng) -> NewItem {
    let mut same = number;
    if number > 20 && !is_single(number) && rng.chance(13) {
        same -= rng.number(1..20);
        same -= u64::from(is_single(same));
    }
    let id = id_of(same);
    let size = *rng.pick(&[0, 0, 0, 50, 1_500, 20_000]);
    let data = format!("{number}:{}", "x".repeat(size)).into_bytes();
    let mut item = json!({ "id": hex(id.as_bytes()), "data": hex(&data) });
    let mut options = Options::default();
    if rng.chance(20) {
        options.priority = rng.number(0..4);
        item["priority"] = options.priority.into();
    }
    if rng.chance(10) {
        options.delayed = true;
        item["delay_ms"] = rng.number(1..80).into();
    }
    if rng.chance(5) {
        item["max_attempts"] = rng.number(1..4).into();
        options.limited = true;
    }
    if extended {
        more_options(number, &mut item, &mut options, rng);
    }
    if keyed && rng.chance(40) {
        let key = *rng.pick(&["hot", "hot", "hot\0", "warm"]);
        item["key"] = hex(key.as_bytes()).into();
        options.limit_key = Some(key.to_owned());
    }
    NewItem { id, data: digest(&data), options, request: item }
}

/// Options that make a queue extended. Most items have none.
fn more_options(number: u64, item: &mut Value, options: &mut Options, rng: &mut SeededRng) {
    if rng.chance(10) {
        options.retain_ms = *rng.pick(&[20, 300, 1_000, 3_600_000]);
        item["retain_ms"] = options.retain_ms.into();
    }
    if rng.chance(15) {
        // Few keys at any time, so that items meet; new ones later, so that no key concerns the whole run.
        let group = number / 150 - u64::from(number > 150 && rng.chance(20));
        let key = format!("key-{group}.{}", rng.number(0..8));
        item["unique"] = hex(key.as_bytes()).into();
        options.key = Some(key);
        if rng.chance(20) {
            options.unique_for_ms = *rng.pick(&[50, 400, 1_500]);
            item["unique_for_ms"] = options.unique_for_ms.into();
        }
    }
    if rng.chance(if options.key.is_some() { 40 } else { 4 }) {
        options.replace = true;
        item["replace"] = true.into();
    }
    if rng.chance(5) {
        let ms = rng.number(80..600); // no delay is longer
        options.expires_in_ms = Some(ms);
        item["expires_in_ms"] = ms.into();
    }
}
