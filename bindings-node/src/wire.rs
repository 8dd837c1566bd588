//! The answers to many calls as one list of numbers and one buffer. `lib/wire.ts` decodes them.
//!
//! Each answer has the number of the call's slot, its kind, and its contents:
//!
//! | kind | numbers | bytes |
//! |---|---|---|
//! | 0 nothing, 1 false, 2 true | | |
//! | 3 a number | the number | |
//! | 4 many | how many, then that many; NaN for none | |
//! | 5 JSON | its length | the text |
//! | 6 an error | its length | the text, an object |
//! | 7 leases | how many; for each: holder, index, length of the id, of the data (-1: not here) | ids and data in turn |
//! | 8 items | length of the JSON, how many; for each: lengths of the id (-1: no item, null in the JSON), the data, the result, the unique key, the progress and the key (-1: none) | the JSON, then these in turn |
//! | 9 cancelled | | |
//! | 11 outcomes | how many; for each: 0 not ended, 1 completed, 2 dead, 3 cancelled, 4 removed, 5 gone, 6 an error of the call; length of the result or the error (-1: none) | results and errors, the last as for 6 |
//! | 12 JSON with data | length of the JSON, a list; for each of its objects the length of the data | the JSON, then the data |
//! | 13 JSON whose names stay as they are | its length | the text |
//! | 10 completed and leased | how many were completed, 0 or 1 for each; then as 7 | as 7 |

use bytes::Bytes;
use leaseq::{FollowUp, ItemInfo};
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::held::Held;
use crate::history::{endings, releases};
use crate::time::ms;

/// Data up to this size, in bytes, goes over with the lease; larger data only when it is read.
const MAX_INLINE_DATA: usize = 16 << 10;

/// The answer to a call.
pub(crate) enum Outcome {
    Done,
    Bool(bool),
    Number(f64),
    Many(Vec<f64>),
    Json(Value),
    Leases {
        leases: Vec<Held>,
        kept_alive: bool,
    },
    Both {
        completed: Vec<bool>,
        leases: Vec<Held>,
        kept_alive: bool,
    },
    Items {
        items: Vec<Option<ItemInfo>>,
        cursor: Option<String>,
        examined: u64,
    },
    Ends(Vec<leaseq::Result<Option<leaseq::Outcome>>>),
    WithData {
        about: Vec<Value>,
        data: Vec<Bytes>,
    },
    /// JSON whose names stay as they are.
    Text(Vec<u8>),
    Cancelled,
}

pub(crate) type Answer = Result<Outcome, Failure>;

impl Outcome {
    /// A report of the core. JavaScript renames its fields to camel case.
    pub(crate) fn json(report: &impl Serialize) -> Answer {
        serde_json::to_value(report).map(Outcome::Json).map_err(Failure::internal)
    }
}

#[derive(Default)]
pub(crate) struct ReplyBuffer {
    pub(crate) numbers: Vec<f64>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) holders: Vec<Vec<Held>>,
    /// The holder of leases that are not kept alive.
    shared: Option<usize>,
}

impl ReplyBuffer {
    pub(crate) fn put(&mut self, call: u32, answer: Answer) {
        self.numbers.push(call.into());
        match answer {
            Ok(Outcome::Done) => self.numbers.push(0.0),
            Ok(Outcome::Bool(answer)) => self.numbers.push(1.0 + f64::from(answer)),
            Ok(Outcome::Number(number)) => self.numbers.extend([3.0, number]),
            Ok(Outcome::Many(many)) => {
                self.numbers.extend([4.0, many.len() as f64]);
                self.numbers.extend(many);
            }
            Ok(Outcome::Json(value)) => self.text(5.0, &value),
            Ok(Outcome::Leases { leases, kept_alive }) => {
                self.numbers.push(7.0);
                self.leases(leases, kept_alive);
            }
            Ok(Outcome::Both { completed, leases, kept_alive }) => {
                self.numbers.extend([10.0, completed.len() as f64]);
                self.numbers.extend(completed.into_iter().map(f64::from));
                self.leases(leases, kept_alive);
            }
            Ok(Outcome::Items { items, cursor, examined }) => {
                self.items(&items, cursor, examined);
            }
            Ok(Outcome::Ends(ends)) => {
                self.numbers.extend([11.0, ends.len() as f64]);
                ends.into_iter().for_each(|end| self.end(end));
            }
            Ok(Outcome::WithData { about, data }) => {
                self.text(12.0, &Value::Array(about));
                for data in data {
                    self.numbers.push(data.len() as f64);
                    self.bytes.extend_from_slice(&data);
                }
            }
            Ok(Outcome::Text(text)) => {
                self.numbers.extend([13.0, text.len() as f64]);
                self.bytes.extend_from_slice(&text);
            }
            Ok(Outcome::Cancelled) => self.numbers.push(9.0),
            Err(failure) => self.text(6.0, &error(failure)),
        }
    }

    fn text(&mut self, kind: f64, value: &Value) {
        let text = value.to_string();
        self.numbers.extend([kind, text.len() as f64]);
        self.bytes.extend(text.as_bytes());
    }

    fn end(&mut self, end: leaseq::Result<Option<leaseq::Outcome>>) {
        use leaseq::Outcome::{Cancelled, Completed, Dead, Removed};
        let end = match end {
            Ok(end) => end,
            Err(failure) => return self.text(6.0, &error(failure.into())),
        };
        let (kind, bytes) = match &end {
            None => (0.0, None),
            Some(Completed { retained: false, .. }) => (7.0, None),
            Some(Completed { result, .. }) => (1.0, result.as_deref()),
            Some(Dead { error }) => (2.0, Some(error.as_bytes())),
            Some(Cancelled) => (3.0, None),
            Some(Removed) => (4.0, None),
            Some(_) => (5.0, None),
        };
        self.numbers.extend([kind, bytes.map_or(-1.0, |bytes| bytes.len() as f64)]);
        self.bytes.extend_from_slice(bytes.unwrap_or_default());
    }

    fn leases(&mut self, leases: Vec<Held>, kept_alive: bool) {
        self.numbers.push(leases.len() as f64);
        for lease in leases {
            self.lease(lease, kept_alive);
        }
    }

    fn lease(&mut self, lease: Held, kept_alive: bool) {
        let (id, data) = (lease.lease.id(), lease.lease.data());
        self.bytes.extend_from_slice(id);
        let is_inline = data.len() <= MAX_INLINE_DATA;
        if is_inline {
            self.bytes.extend_from_slice(data);
        }
        let sizes = [id.len() as f64, if is_inline { data.len() as f64 } else { -1.0 }];
        let holder = match self.shared {
            Some(shared) if !kept_alive => shared,
            _ => {
                self.holders.push(Vec::new());
                self.holders.len() - 1
            }
        };
        if !kept_alive {
            self.shared = Some(holder);
        }
        if let Some(held) = self.holders.get_mut(holder) {
            self.numbers.extend([holder as f64, held.len() as f64]);
            held.push(lease);
        }
        self.numbers.extend(sizes);
    }

    fn items(&mut self, items: &[Option<ItemInfo>], cursor: Option<String>, examined: u64) {
        let about: Vec<Option<Value>> = items.iter().map(|item| item.as_ref().map(about)).collect();
        self.text(8.0, &json!({ "items": about, "cursor": cursor, "examined": examined }));
        self.numbers.push(items.len() as f64);
        for item in items {
            let parts = item.as_ref().map_or([None; 6], |item| {
                let ItemInfo { id, data, result, unique, progress, key, .. } = item;
                let others = [result, unique, progress, key].map(Option::as_ref);
                let [result, unique, progress, key] = others;
                [Some(id), Some(data), result, unique, progress, key]
            });
            for part in parts {
                self.numbers.push(part.map_or(-1.0, |part| part.len() as f64));
                self.bytes.extend_from_slice(part.map_or(&[], |part| part));
            }
        }
    }
}

/// All fields except the bytes.
fn about(item: &ItemInfo) -> Value {
    json!({
        "state": item.state.as_str(),
        "priority": item.priority,
        "maxAttempts": item.max_attempts,
        "failures": item.failures,
        "expiries": item.expiries,
        "lastError": item.last_error,
        "endings": endings(&item.endings),
        "releases": releases(item.releases.as_ref()),
        "generation": item.generation,
        "addedAtMs": ms(item.added_at),
        "atMs": item.at.map(ms),
        "endedAtMs": item.ended_at.map(ms),
        "expiresAtMs": item.expires_at.map(ms),
        "cancelRequested": item.cancel_requested,
        "followUps": follow_ups(&item.follow_ups),
        "retainMs": (!item.retain.is_zero()).then_some(item.retain.as_millis() as f64),
    })
}

/// The names have underscores.
fn follow_ups(follow_ups: &[FollowUp]) -> Value {
    serde_json::from_str(&FollowUp::all_to_json(follow_ups)).unwrap_or_default()
}

fn error(Failure { kind, message, outcome_unknown }: Failure) -> Value {
    json!({ "code": kind.code(), "message": message, "unknown": outcome_unknown })
}
