//! Data for people.

use serde_json::value::RawValue;

use crate::escape::escaped_bytes;

/// JSON with a line for each value, other text with its lines; what is not safe to show is escaped. `whole`: no part of
/// the data is missing, so it may be JSON.
pub fn readable(bytes: &[u8], whole: bool) -> String {
    // Not through a value, which would change large numbers and lose repeated names.
    let pretty = match is_json(bytes) && whole {
        true => indented(bytes),
        false => bytes.to_vec(),
    };
    let lines: Vec<_> = pretty.split(|byte| *byte == b'\n').map(escaped_bytes).collect();
    lines.join("\n")
}

/// Whether these bytes are one JSON value.
pub fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok()
}

/// Valid JSON, with other white space.
fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escape) = (0, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', 2 * depth.min(40)));
    };
    let mut bytes = json.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if in_text {
            out.push(byte);
            (in_text, escape) = (escape || byte != b'"', !escape && byte == b'\\');
            continue;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                out.push(byte);
                in_text = true;
            }
            b'{' | b'[' => {
                out.push(byte);
                while bytes.next_if(u8::is_ascii_whitespace).is_some() {}
                if let Some(close) = bytes.next_if(|next| matches!(next, b'}' | b']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth -= 1;
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend(b": "),
            _ => out.push(byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::readable as readable_part;

    fn readable(bytes: &[u8]) -> String {
        readable_part(bytes, true)
    }

    #[test]
    fn json_is_indented_and_nothing_else_is_changed() {
        let json = br#"{"a":[1,{}, [ ] ,"x{,\"\\"],"big":123456789012345678901234567890,"a":null}"#;
        let expected = "{\n  \"a\": [\n    1,\n    {},\n    [],\n    \"x{,\\\"\\\\\"\n  ],\n  \
                        \"big\": 123456789012345678901234567890,\n  \"a\": null\n}";
        assert_eq!(readable(json), expected);
        assert_eq!(readable(b"{1"), "{1");
        assert_eq!(readable(b"a\nb\x1b\xff"), "a\nb\\u001b\\xff");
    }
}
