//! Follow-ups as the command line writes them: as everywhere, but bytes that are no text are base64 here, not hexadecimal.

use leaseq::FollowUp;
use serde_json::{Map, Value};

use crate::text::{get_bytes, put_bytes};

/// The fields that have bytes.
const BYTES: [&str; 4] = ["id", "data", "unique", "key"];

pub(crate) fn to_json(follow_ups: &[FollowUp]) -> Value {
    let mut all: Value =
        serde_json::from_str(&FollowUp::all_to_json(follow_ups)).unwrap_or_default();
    // What the library has written can be read.
    let _ = each(&mut all, &|item| {
        for name in BYTES {
            if let Some(Value::String(hex)) = item.remove(&format!("{name}_hex")) {
                put_bytes(item, name, &from_hex(&hex));
            }
        }
        Ok(())
    });
    all
}

pub(crate) fn from_json(value: &Value) -> Result<Vec<FollowUp>, String> {
    let mut all = value.clone();
    each(&mut all, &|item| {
        for name in BYTES {
            let coded = format!("{name}_base64");
            if item.contains_key(&coded) {
                let bytes = get_bytes(item, name)?.unwrap_or_default();
                item.remove(&coded);
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                item.insert(format!("{name}_hex"), hex.into());
            }
        }
        Ok(())
    })?;
    FollowUp::all_from_json(&all.to_string()).map_err(|error| error.to_string())
}

/// Changes the item of each, and those of their own follow-ups.
fn each(
    all: &mut Value,
    change: &impl Fn(&mut Map<String, Value>) -> Result<(), String>,
) -> Result<(), String> {
    for follow_up in all.as_array_mut().into_iter().flatten() {
        if let Some(item) = follow_up.get_mut("item").and_then(Value::as_object_mut) {
            change(item)?;
            item.get_mut("follow_ups").map_or(Ok(()), |theirs| each(theirs, change))?;
        }
    }
    Ok(())
}

fn from_hex(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs.filter_map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use leaseq::{Item, On};

    use super::*;

    #[test]
    fn follow_ups_come_back() {
        let last = FollowUp::new(On::Dead, Item::new([0xff, 0]).with_id([0xfe]).key([0xfd]));
        let first = Item::new("data").with_id("id").unique([0xfc]).follow_up(last);
        let all = [FollowUp::new(On::Ended, first).with_trigger()];
        let value = to_json(&all);
        assert_eq!(value[0]["item"]["follow_ups"][0]["item"]["data_base64"], "/wA=", "{value}");
        assert_eq!(from_json(&value).unwrap(), all);
        for wrong in [r#"{}"#, r#"[{"on":"dead","item":{"id":"a","data_base64":"%"}}]"#] {
            assert!(from_json(&serde_json::from_str(wrong).unwrap()).is_err(), "{wrong}");
        }
    }
}
