//! Numbers, as the server names generations: the count in hexadecimal, then the salt. See
//! `scripts/parts/number.lua`.

use std::fmt::{self, Display, Formatter};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use redis::{RedisWrite, ToRedisArgs, Value};

use super::reply;
use crate::Result;
use crate::engine::{Generation, Stamp};

const SALT: usize = 5;
const SALT_DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/// Of the numbers that one add gives. A retry brings the same, another call with the same is one in a
/// billion: lanes have names that no other client has.
pub(super) fn salt(stamp: &Stamp) -> [u8; SALT] {
    let mut hasher = DefaultHasher::new();
    (&stamp.lane, stamp.number).hash(&mut hasher);
    let bits = hasher.finish();
    std::array::from_fn(|i| SALT_DIGITS[(bits >> (6 * i)) as usize % SALT_DIGITS.len()])
}

impl ToRedisArgs for Generation {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        let mut text = [0; 16 + SALT];
        let mut rest = &mut text[..];
        // There is room for the longest.
        let _ = write!(rest, "{:x}", self.count);
        let _ = rest.write_all(&self.salt);
        let left = rest.len();
        out.write_arg(&text[..text.len() - left]);
    }
}

/// For people.
impl Display for Generation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}{}", self.count, self.salt.escape_ascii())
    }
}

/// `None` for what no add has given.
pub(super) fn read(number: &[u8]) -> Option<Generation> {
    let (count, salt) = number.split_last_chunk()?;
    if !count.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let count = u64::from_str_radix(std::str::from_utf8(count).ok()?, 16).ok()?;
    Some(Generation { count, salt: *salt })
}

pub(super) fn read_all(numbers: Value) -> Result<Vec<Option<Generation>>> {
    let numbers = reply::list(numbers)?.into_iter();
    numbers.map(|number| Ok(read(&reply::bytes(number)?))).collect()
}

/// When an item was added, in ms since 1970: counts follow the clock.
pub(super) fn added_at_ms(generation: Generation) -> u64 {
    generation.count / 256 + 1_767_225_600_000
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn numbers_come_back() {
        for count in [0, 1, 0x69b_1e4b_8cf0, u64::MAX] {
            let generation = Generation { count, salt: *b"a-_Z9" };
            let [text] = &generation.to_redis_args()[..] else { panic!("one argument") };
            assert_eq!(read(text), Some(generation));
        }
        for other in ["", "0", "999", "12345", "not a number", "+1salt0"] {
            assert_eq!(read(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_retry_has_the_same_salt_and_another_call_another() {
        let stamp = |lane: &str, number| Stamp { lane: lane.into(), number, until: Instant::now() };
        assert_eq!(salt(&stamp("a", 1)), salt(&stamp("a", 1)));
        assert_ne!(salt(&stamp("a", 1)), salt(&stamp("a", 2)));
        assert_ne!(salt(&stamp("a", 1)), salt(&stamp("b", 1)));
    }
}
