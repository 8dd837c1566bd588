//! Values of a scenario, as files have them and as testees get them.
//!
//! Ids and data are bytes. Files have them as text, `{"hex": "00ff"}` or `{"repeat": "x", "times": 513}`;
//! on the wire they are hexadecimal. Other text may be repeated too. `{"of": VALUE, "times": 3}` is a list
//! of three such values; `#` in their texts is 0, 1 and 2. `{"json": VALUE}` are the bytes of this value as JSON.

use serde_json::{Map, Value, json};

use crate::error::Error;

/// Names of fields that contain bytes.
const BYTES: [&str; 11] = [
    "id",
    "ids",
    "data",
    "id_prefix",
    "data_contains",
    "result",
    "results",
    "unique",
    "key",
    "keys",
    "progress",
];

/// Names of fields whose contents are passed on as they are.
const OPAQUE: [&str; 6] = ["args", "events", "followed_by", "meta", "steps", "value"];

/// Expands the lists that are written as `of` and `times`.
pub(super) fn expand(value: &Value) -> Value {
    if let Value::Object(fields) = value
        && let (2, Some(of), Some(times)) =
            (fields.len(), fields.get("of"), fields.get("times").and_then(Value::as_u64))
    {
        return (0..times).map(|i| expand(&numbered(of, &i.to_string()))).collect();
    }
    inside(value, &expand)
}

fn numbered(value: &Value, number: &str) -> Value {
    match value {
        Value::String(text) => text.replace('#', number).into(),
        value => inside(value, &|value| numbered(value, number)),
    }
}

/// Replaces each `{"kept": NAME}` by the kept value.
pub(super) fn fill(value: &Value, kept: &Map<String, Value>) -> Result<Value, Error> {
    if let Value::Object(fields) = value
        && let (1, Some(Value::String(name))) = (fields.len(), fields.get("kept"))
    {
        return kept.get(name).cloned().ok_or_else(|| format!("nothing kept as {name}").into());
    }
    try_inside(value, &|value| fill(value, kept))
}

fn inside(value: &Value, change: &dyn Fn(&Value) -> Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(change).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), change(value))).collect()
        }
        value => value.clone(),
    }
}

fn try_inside(
    value: &Value,
    change: &dyn Fn(&Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    match value {
        Value::Array(values) => values.iter().map(change).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| Ok((name.clone(), change(value)?)))
            .collect::<Result<Map<_, _>, Error>>()
            .map(Value::Object),
        value => Ok(value.clone()),
    }
}

/// For the wire: all bytes as hexadecimal digits.
pub(super) fn to_wire(value: &Value) -> Result<Value, Error> {
    map(value, false, &|value| Ok(Value::String(hex(&bytes(value)?))))
}

/// From the wire: bytes as text, or as `{"hex": …}` if they are not text.
pub(super) fn from_wire(value: &Value) -> Result<Value, Error> {
    map(value, false, &|value| {
        let bytes = unhex(value.as_str().ok_or("bytes that are no text")?)?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => Value::String(text),
            Err(error) => json!({ "hex": hex(error.as_bytes()) }),
        })
    })
}

/// Converts the bytes of a pattern to the form of [`from_wire`].
pub(super) fn of_pattern(value: &Value) -> Result<Value, Error> {
    if value.get("hex").is_none() && value.get("repeat").is_none() {
        return Ok(value.clone());
    }
    from_wire(&json!({ "id": hex(&bytes(value)?) })).map(|value| value["id"].clone())
}

fn map(
    value: &Value,
    is_bytes: bool,
    change: &dyn Fn(&Value) -> Result<Value, Error>,
) -> Result<Value, Error> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Array(values) => {
            values.iter().map(|value| map(value, is_bytes, change)).collect::<Result<_, _>>()
        }
        value if is_bytes => change(value),
        Value::Object(fields) if fields.len() == 2 && fields.contains_key("repeat") => {
            Ok(String::from_utf8(bytes(value)?)?.into())
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match name.as_str() {
                opaque if OPAQUE.contains(&opaque) => Ok((name.clone(), value.clone())),
                known => Ok((name.clone(), map(value, BYTES.contains(&known), change)?)),
            })
            .collect::<Result<_, Error>>()
            .map(Value::Object),
        value => Ok(value.clone()),
    }
}

fn bytes(value: &Value) -> Result<Vec<u8>, Error> {
    if let Some(json) = value.get("json") {
        return Ok(json.to_string().into_bytes());
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (value, text("hex"), text("repeat"), value.get("times").and_then(Value::as_u64)) {
        (Value::String(text), ..) => Ok(text.clone().into_bytes()),
        (_, Some(digits), ..) => unhex(digits),
        (_, _, Some(text), Some(times)) => Ok(text.repeat(times as usize).into_bytes()),
        _ => Err(format!("{value} is no text, hex, json, or repeat and times").into()),
    }
}

/// To hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digits = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(char::from(digits[usize::from(byte >> 4)]));
        text.push(char::from(digits[usize::from(byte & 15)]));
    }
    text
}

/// From hexadecimal digits.
///
/// # Errors
/// If the text is not hexadecimal.
pub fn unhex(digits: &str) -> Result<Vec<u8>, Error> {
    let wrong = || format!("{digits:.100?} is not hexadecimal");
    if !digits.len().is_multiple_of(2) {
        return Err(wrong().into());
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for pair in digits.as_bytes().chunks_exact(2) {
        let (Some(high), Some(low)) = (digit(pair[0]), digit(pair[1])) else {
            return Err(wrong().into());
        };
        bytes.push((high * 16 + low) as u8);
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bytes_travel_as_hexadecimal() {
        let written = json!({"items": [{"id": "a", "data": {"hex": "00ff"}}], "ids": ["b"]});
        let wire = to_wire(&written).unwrap();
        assert_eq!(wire, json!({"items": [{"id": "61", "data": "00ff"}], "ids": ["62"]}));
        assert_eq!(from_wire(&wire).unwrap(), written);
        let long = json!({"repeat": "xy", "times": 2});
        assert_eq!(to_wire(&json!({ "id": long })).unwrap(), json!({"id": "78797879"}));
        assert_eq!(of_pattern(&long).unwrap(), "xyxy");
        assert_eq!(to_wire(&json!({ "error": long })).unwrap(), json!({"error": "xyxy"}));
        assert_eq!(to_wire(&json!({"data": {"json": [1]}})).unwrap(), json!({"data": "5b315d"}));
        let opaque = json!({"args": {"id": "a"}, "steps": [{"progress": "b"}]});
        assert_eq!(to_wire(&opaque).unwrap(), opaque);
        assert!(to_wire(&json!({"id": 7})).is_err());
        assert!(unhex("0").is_err() && unhex("0g").is_err());
    }

    #[test]
    fn lists_are_written_short() {
        let short = json!({"items": {"of": {"id": "a#", "priority": 1}, "times": 2}});
        let long = json!({"items": [{"id": "a0", "priority": 1}, {"id": "a1", "priority": 1}]});
        assert_eq!(expand(&short), long);
        assert_eq!(expand(&json!({"of": true, "times": 0})), json!([]));
        let repeat = json!({"repeat": "#", "times": 2});
        assert_eq!(expand(&repeat), repeat);
    }

    #[test]
    fn what_was_kept_is_filled_in() {
        let kept = Map::from_iter([("c".to_owned(), json!("1:2"))]);
        let written = json!({"cursor": {"kept": "c"}, "ids": [{"kept": "c"}, "x"]});
        let filled = json!({"cursor": "1:2", "ids": ["1:2", "x"]});
        assert_eq!(fill(&written, &kept).unwrap(), filled);
        assert!(fill(&json!({"kept": "unknown"}), &kept).is_err());
    }
}
