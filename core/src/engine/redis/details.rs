//! Reading the details of an item, which `scripts/parts/details.lua` writes.

use bytes::Bytes;

use crate::item::History;

/// The details that only some items have.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Details {
    pub(super) priority: u8,
    pub(super) max_attempts: Option<u32>,
    pub(super) failures: u32,
    pub(super) expiries: u32,
    pub(super) deliveries: u64,
    pub(super) history: History,
    /// When it became ready; `None`: when it was added.
    pub(super) ready_at_ms: Option<u64>,
    /// When it was added, if its number does not tell.
    pub(super) added_at_ms: Option<u64>,
    pub(super) progress: Option<Bytes>,
    pub(super) error: String,
}

/// Details that cannot be read are damage, and count as none, as in the scripts: they must not keep a whole
/// batch from its callers. A check reports them.
pub(super) fn read_details(packed: &[u8]) -> Details {
    try_read_details(packed).unwrap_or_default()
}

fn try_read_details(packed: &[u8]) -> Option<Details> {
    // The first mark behind the eight numbers begins the error or a section.
    let marks = packed.iter().enumerate().filter(|(_, byte)| matches!(byte, b':' | b';'));
    let end = marks.map(|(at, _)| at).nth(7)?;
    let numbers = std::str::from_utf8(&packed[..end]).ok()?.split(':');
    let numbers: Option<Vec<u64>> = numbers.map(|part| part.parse().ok()).collect();
    let [priority, _size, max_attempts, failures, expiries, deliveries, _front, since] =
        numbers?.try_into().ok()?;
    let (mut history, mut added_at_ms, mut progress) = (History::default(), None, None);
    let mut rest = &packed[end..];
    while let Some(section) = rest.strip_prefix(b";") {
        let (letter, text, behind) = read_section(section)?;
        match letter {
            b'A' => added_at_ms = Some(std::str::from_utf8(text).ok()?.parse().ok()?),
            b'H' => history = History::read(text)?,
            b'P' => progress = Some(Bytes::copy_from_slice(text)),
            _ => {}
        }
        rest = behind;
    }
    let error = rest.strip_prefix(b":")?;
    let max_attempts = u32::try_from(max_attempts).ok()?;
    Some(Details {
        priority: u8::try_from(priority).ok()?,
        max_attempts: (max_attempts > 0).then_some(max_attempts),
        failures: u32::try_from(failures).ok()?,
        expiries: u32::try_from(expiries).ok()?,
        deliveries,
        history,
        ready_at_ms: (since > 0).then_some(since),
        added_at_ms,
        progress,
        error: String::from_utf8_lossy(error).into_owned(),
    })
}

/// A section's letter, its text and what stands behind it.
fn read_section(packed: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let colon = packed.iter().position(|byte| *byte == b':')?;
    let length = std::str::from_utf8(packed.get(1..colon)?).ok()?.parse::<usize>().ok()?;
    let (text, behind) = packed[colon + 1..].split_at_checked(length)?;
    Some((packed[0], text, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_read_with_any_error_text() {
        let details = read_details(b"3:20000:5:1:2:4:0:17:a:b\n");
        assert_eq!((details.priority, details.max_attempts, details.failures), (3, Some(5), 1));
        assert_eq!((details.expiries, details.deliveries, details.error.as_str()), (2, 4, "a:b\n"));
        assert_eq!(details.ready_at_ms, Some(17));
        assert_eq!(read_details(b""), Details::default());
        assert_eq!(read_details(b"3:0:5"), Details::default());
    }

    #[test]
    fn sections_stand_before_the_error() {
        let details = read_details(b"3:0:5:1:1:4:0:17;H34:F1790000000000:2:1790000000002:a:;:b:c");
        assert_eq!((details.priority, details.error.as_str()), (3, "b:c"));
        assert_eq!(details.history.endings.len(), 1);
        assert_eq!(details.history.releases.unwrap().reason, "a:;");
        assert_eq!(read_details(b"3:0:5:1:1:4:0:17;X2:;::no").error, "no");
        let details = read_details(b"3:0:5:1:1:4:0:17;A13:1790000000000;H5::0:0::no");
        assert_eq!((details.added_at_ms, details.error.as_str()), (Some(1_790_000_000_000), "no"));
        let details = read_details(b"3:0:5:1:1:4:0:17;P4:;:\0\xff:no");
        assert_eq!(details.progress.as_deref(), Some(&b";:\0\xff"[..]));
        assert_eq!((details.error.as_str(), details.priority), ("no", 3));
        for broken in [";H3:F1:", ";H99:F1:0:0::", ";", ";H:", ";é", ";H2:F1", ";A1:x:"] {
            let packed = format!("3:0:5:1:1:4:0:17{broken}");
            assert_eq!(read_details(packed.as_bytes()), Details::default(), "{broken}");
        }
    }
}
