//! One life of an id, as the engines name it.

use std::fmt::{self, Display, Formatter, Write};

const SALT: usize = 5;
/// The base of counts in text.
const BASE: u64 = 36;
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// One life of an id, as the engine names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Generation {
    /// Higher with every add.
    pub(crate) count: u64,
    /// Distinguishes generations with the same count from two servers that both acted as master. [`NO_SALT`]
    /// on an engine that cannot have two.
    pub(crate) salt: [u8; SALT],
}

pub(crate) const NO_SALT: [u8; SALT] = *b"00000";

/// The length of the longest text: that of the largest count, and the salt.
pub(crate) const LONGEST: usize = 13 + SALT;

impl Generation {
    /// Writes the count in base 36, then the salt, to the end of `text`; returns where it begins.
    pub(crate) fn write(&self, text: &mut [u8; LONGEST]) -> usize {
        let (mut count, mut from) = (self.count, LONGEST - SALT);
        text[from..].copy_from_slice(&self.salt);
        while count > 0 || from == LONGEST - SALT {
            from -= 1;
            text[from] = DIGITS[(count % BASE) as usize];
            count /= BASE;
        }
        from
    }

    /// `None` if it is not the text of a generation.
    pub(crate) fn read(text: &[u8]) -> Option<Generation> {
        let (count, salt) = text.split_last_chunk()?;
        if text.len() > LONGEST || !count.iter().all(|digit| DIGITS.contains(digit)) {
            return None;
        }
        let count = u64::from_str_radix(std::str::from_utf8(count).ok()?, BASE as u32).ok()?;
        Some(Generation { count, salt: *salt })
    }
}

impl Display for Generation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = [0; LONGEST];
        let from = self.write(&mut text);
        text[from..].escape_ascii().try_for_each(|byte| f.write_char(byte.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generations_come_back_from_their_text() {
        for count in [0, 1, 7_261_234_567_890, u64::MAX] {
            for salt in [*b"a-_Z9", NO_SALT] {
                let generation = Generation { count, salt };
                assert_eq!(Generation::read(generation.to_string().as_bytes()), Some(generation));
            }
        }
        for other in
            ["", "0", "999", "12345", "not a number", "+1salt0", "é12345", "00000000000000salt0"]
        {
            assert_eq!(Generation::read(other.as_bytes()), None, "{other}");
        }
    }
}
