//! Just enough RESP (2 and 3) to find the end of a value and read a command.

/// Splits a stream of bytes into whole values. The work is linear in the bytes: a value that arrives in
/// many pieces is not read again from its start.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    bytes: Vec<u8>,
    /// How far the value in `bytes` is parsed.
    at: usize,
    /// Values still missing behind `at`; 0 before a value begins.
    missing: usize,
}

impl Splitter {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole value, beginning with its type byte, if it has arrived.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        if self.at == 0 {
            self.missing = 1;
        }
        while self.missing > 0 {
            let rest = &self.bytes[self.at..];
            let line = rest.iter().position(|byte| *byte == b'\n')? + 1;
            let size = parse_size(&rest[1..line]);
            // Bytes after the header line, and further values.
            let (body, more) = match rest[0] {
                b'$' | b'=' | b'!' => (size.map_or(0, |length| length + 2), 0),
                b'*' | b'~' | b'>' => (0, size.unwrap_or(0)),
                b'%' => (0, 2 * size.unwrap_or(0)),
                // Attributes precede the value that they describe and do not replace it.
                b'|' => (0, 2 * size.unwrap_or(0) + 1),
                // A simple value, or an inline command.
                _ => (0, 0),
            };
            if rest.len() < line + body {
                return None;
            }
            self.missing += more;
            self.missing -= 1;
            self.at += line + body;
        }
        let tail = self.bytes.split_off(self.at);
        self.at = 0;
        Some(std::mem::replace(&mut self.bytes, tail))
    }
}

/// A length or count; none for -1 (a missing value).
fn parse_size(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.trim_end().parse().ok()
}

/// The strings of a flat array: a command's name and arguments, or a message's parts. Other elements appear
/// as text; a line that is no array is split at spaces.
pub(super) fn strings(value: &[u8]) -> Vec<Vec<u8>> {
    if !matches!(value.first(), Some(b'*' | b'>')) {
        let words = value.split(|byte| byte.is_ascii_whitespace());
        return words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect();
    }
    let mut found = Vec::new();
    let mut rest = &value[line_end(value)..];
    while !rest.is_empty() {
        let line = line_end(rest);
        match (rest[0], parse_size(&rest[1..line])) {
            (b'$', Some(length)) => {
                found.push(rest[line..line + length].to_vec());
                rest = &rest[line + length + 2..];
            }
            _ => {
                found.push(rest[1..line].trim_ascii_end().to_vec());
                rest = &rest[line..];
            }
        }
    }
    found
}

fn line_end(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every type, and strings that contain other types' syntax.
    const VALUES: &[&[u8]] = &[
        b"+OK\r\n",
        b"-ERR no\r\n",
        b":12\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$7\r\n*1\r\n+a\r\r\n",
        b"*0\r\n",
        b"*-1\r\n",
        b"*2\r\n*2\r\n:1\r\n$1\r\nx\r\n*1\r\n*0\r\n",
        b"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n",
        b"|1\r\n+ttl\r\n:3\r\n*1\r\n:1\r\n",
        b"*2\r\n|1\r\n+ttl\r\n:3\r\n:1\r\n:2\r\n",
        b"~1\r\n,1.5\r\n",
        b">2\r\n+message\r\n#t\r\n",
        b"=7\r\ntxt:a\nb\r\n",
        b"!5\r\nERR x\r\n",
        b"_\r\n",
        b"(123\r\n",
        b"PING\r\n",
    ];

    #[test]
    fn cuts_values_however_the_bytes_arrive() {
        let stream = VALUES.concat();
        for piece in [1, 2, 3, 7, stream.len()] {
            let mut splitter = Splitter::default();
            let mut found = Vec::new();
            for bytes in stream.chunks(piece) {
                splitter.push(bytes);
                found.extend(std::iter::from_fn(|| splitter.next()));
            }
            assert_eq!(found, VALUES, "in pieces of {piece}");
        }
    }

    #[test]
    fn reads_the_words_of_a_command() {
        assert_eq!(strings(b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n"), [&b"GET"[..], b"a\r\nb"]);
        assert_eq!(strings(b"SET  a 1\r\n"), [&b"SET"[..], b"a", b"1"]);
        assert_eq!(strings(b">2\r\n$9\r\nsubscribe\r\n:1\r\n"), [&b"subscribe"[..], b"1"]);
    }
}
