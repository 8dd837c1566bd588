//! Whether an answer is what a scenario expects.
//!
//! A pattern is a value that must be equal, with two exceptions: of an object only the named fields must
//! match, and an object with only one of these names is a rule.
//!
//! | rule | matches |
//! |---|---|
//! | `{"any": true}` | anything but null |
//! | `{"not": PATTERN}` | everything that does not match the pattern |
//! | `{"between": [LOW, HIGH]}` | a number from LOW to HIGH |
//! | `{"length": N}` | a list of N entries, or a text of N characters |
//! | `{"unordered": [PATTERN, …]}` | a list of these entries in any order |
//! | `{"has": TEXT}` | a text that contains this |
//! | `{"in_ms": N}` | a time N ms from now; within 1,000 ms if the clock runs |
//! | `{"in_ms": [LOW, HIGH]}` | a time from LOW to HIGH ms from now, as above |
//! | `{"kept": NAME}`, `{"above": NAME}` | the value that a step has kept under this name; a larger number |
//! | `{"hex": …}`, `{"repeat": …, "times": …}` | these bytes |

use serde_json::{Map, Value};

use super::value::of_pattern;

pub(super) struct Expect<'a> {
    pub(super) now_ms: u64,
    /// The tolerance of times.
    pub(super) within_ms: u64,
    pub(super) kept: &'a Map<String, Value>,
}

impl Expect<'_> {
    /// Describes what is wrong with the answer; `None` if it is right.
    pub(super) fn fault(&self, pattern: &Value, answer: &Value) -> Option<String> {
        let says = |wrong: &str| Some(format!("{wrong}: expected {pattern}, got {answer}"));
        let is = |right: bool| if right { None } else { says("wrong") };
        match pattern {
            Value::Object(fields) => match self.rule(fields, answer) {
                Ok(Some(right)) => is(right),
                Ok(None) => fields.iter().find_map(|(name, pattern)| {
                    let Some(field) = answer.get(name) else {
                        return says(&format!("no field {name}"));
                    };
                    self.fault(pattern, field).map(|fault| format!("{name}: {fault}"))
                }),
                Err(error) => Some(error),
            },
            Value::Array(patterns) => match answer {
                Value::Array(answers) if answers.len() == patterns.len() => {
                    patterns.iter().zip(answers).enumerate().find_map(|(i, (pattern, answer))| {
                        self.fault(pattern, answer).map(|fault| format!("entry {i}: {fault}"))
                    })
                }
                _ => says("another list"),
            },
            _ => is(pattern == answer),
        }
    }

    /// Whether the answer follows the rule; `None` if this is no rule.
    fn rule(&self, fields: &Map<String, Value>, answer: &Value) -> Result<Option<bool>, String> {
        let whole = Value::Object(fields.clone());
        let mut names = fields.iter();
        let (Some((name, value)), other) = (names.next(), names.next()) else { return Ok(None) };
        if other.is_some() {
            let bytes = fields.contains_key("repeat") && fields.contains_key("times");
            return match of_pattern(&whole) {
                Ok(expected) if bytes => Ok(Some(&expected == answer)),
                _ => Ok(None),
            };
        }
        let number = answer.as_f64();
        Ok(Some(match (name.as_str(), value) {
            ("any", Value::Bool(true)) => !answer.is_null(),
            ("not", pattern) => self.fault(pattern, answer).is_some(),
            ("between", Value::Array(ends)) => match (ends.as_slice(), number) {
                ([low, high], Some(number)) => {
                    low.as_f64().is_some_and(|low| low <= number)
                        && high.as_f64().is_some_and(|high| number <= high)
                }
                _ => false,
            },
            ("length", length) => {
                let found = match answer {
                    Value::String(text) => Some(text.chars().count()),
                    answer => answer.as_array().map(Vec::len),
                };
                found == length.as_u64().map(|n| n as usize)
            }
            ("unordered", Value::Array(patterns)) => match answer.as_array() {
                Some(answers) => self.same_in_any_order(patterns, answers),
                None => false,
            },
            ("has", Value::String(part)) => answer.as_str().is_some_and(|text| text.contains(part)),
            ("in_ms", ms) => {
                let (low, high) = match ms.as_array().map(Vec::as_slice) {
                    Some([low, high]) => (low.as_i64(), high.as_i64()),
                    _ => (ms.as_i64(), ms.as_i64()),
                };
                let from_now = answer.as_i64().map(|at| at - self.now_ms as i64);
                let within = self.within_ms as i64;
                match (from_now, low, high) {
                    (Some(at), Some(low), Some(high)) => at >= low - within && at <= high + within,
                    _ => false,
                }
            }
            ("kept" | "above", Value::String(kept)) => {
                let kept = self.kept.get(kept).ok_or_else(|| format!("nothing kept as {kept}"))?;
                if name == "kept" { kept == answer } else { number > kept.as_f64() }
            }
            ("hex", _) => of_pattern(&whole).is_ok_and(|expected| &expected == answer),
            _ => return Ok(None),
        }))
    }

    fn same_in_any_order(&self, patterns: &[Value], answers: &[Value]) -> bool {
        let mut left: Vec<&Value> = answers.iter().collect();
        patterns.iter().all(|pattern| {
            let place = left.iter().position(|answer| self.fault(pattern, answer).is_none());
            place.map(|place| left.remove(place)).is_some()
        }) && left.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(pattern: &Value, answer: &Value) -> bool {
        let kept = Map::from_iter([("n".to_owned(), json!(5))]);
        Expect { now_ms: 1_000, within_ms: 2, kept: &kept }.fault(pattern, answer).is_none()
    }

    #[test]
    fn what_matches() {
        for (pattern, answer) in [
            (json!(true), json!(true)),
            (json!(null), json!(null)),
            (json!({"id": "a"}), json!({"id": "a", "data": "b"})),
            (json!([1, {"any": true}]), json!([1, 2])),
            (json!({"not": null}), json!(1)),
            (json!({"between": [1, 3]}), json!(3)),
            (json!({"length": 2}), json!([1, 1])),
            (json!({"length": 2}), json!("aé")),
            (json!({"unordered": [1, 2, 2]}), json!([2, 1, 2])),
            (json!({"has": "b"}), json!("abc")),
            (json!({"in_ms": 10}), json!(1_012)),
            (json!({"in_ms": [10, 20]}), json!(1_022)),
            (json!({"kept": "n"}), json!(5)),
            (json!({"above": "n"}), json!(6)),
            (json!({"hex": "ff"}), json!({"hex": "ff"})),
            (json!({"repeat": "a", "times": 3}), json!("aaa")),
        ] {
            assert!(matches(&pattern, &answer), "{pattern} {answer}");
        }
    }

    #[test]
    fn what_does_not() {
        for (pattern, answer) in [
            (json!(true), json!(false)),
            (json!(null), json!(0)),
            (json!({"id": "a"}), json!({"id": "b"})),
            (json!({"id": "a"}), json!({})),
            (json!({"id": "a"}), json!(null)),
            (json!([1]), json!([1, 2])),
            (json!({"any": true}), json!(null)),
            (json!({"not": 1}), json!(1)),
            (json!({"between": [1, 3]}), json!(4)),
            (json!({"between": [1, 3]}), json!("2")),
            (json!({"length": 2}), json!([1])),
            (json!({"length": 2}), json!("a")),
            (json!({"unordered": [1, 2, 2]}), json!([2, 1, 1])),
            (json!({"unordered": [1]}), json!([1, 1])),
            (json!({"has": "d"}), json!("abc")),
            (json!({"has": "b"}), json!(null)),
            (json!({"in_ms": 10}), json!(1_013)),
            (json!({"in_ms": [10, 20]}), json!(1_007)),
            (json!({"in_ms": [10, 20]}), json!(null)),
            (json!({"kept": "n"}), json!(6)),
            (json!({"kept": "unknown"}), json!(5)),
            (json!({"above": "n"}), json!(5)),
            (json!({"repeat": "a", "times": 3}), json!("aa")),
        ] {
            assert!(!matches(&pattern, &answer), "{pattern} {answer}");
        }
    }
}
