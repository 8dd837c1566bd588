//! Numbers, which name generations on the server: the count in base 36, then the salt. See
//! `scripts/parts/number.lua`.

use std::fmt::{self, Display, Formatter};
use std::hash::{DefaultHasher, Hash, Hasher};

use redis::{RedisWrite, ToRedisArgs, Value};

use super::reply;
use crate::Result;
use crate::engine::{Generation, RequestId};

const SALT: usize = 5;
/// The base of counts.
const BASE: u64 = 36;
const DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/// The salt of the numbers that one add gives. A retry has the same salt; another add has it with a chance of
/// one in a billion, because the names of lanes are unique.
pub(super) fn salt(request_id: &RequestId) -> [u8; SALT] {
    let mut hasher = DefaultHasher::new();
    (&request_id.lane, request_id.number).hash(&mut hasher);
    from_bits(hasher.finish())
}

/// A salt for numbers that are not given under a lane.
pub(super) fn random_salt() -> [u8; SALT] {
    from_bits(rand::random())
}

fn from_bits(bits: u64) -> [u8; SALT] {
    std::array::from_fn(|i| DIGITS[(bits >> (6 * i)) as usize % DIGITS.len()])
}

/// The length of the longest number: that of the largest count, and the salt.
const LONGEST: usize = 13 + SALT;

/// Writes the number to the end of `text`; returns where it begins.
fn write(generation: &Generation, text: &mut [u8; LONGEST]) -> usize {
    let (mut count, mut from) = (generation.count, LONGEST - SALT);
    text[from..].copy_from_slice(&generation.salt);
    while count > 0 || from == LONGEST - SALT {
        from -= 1;
        text[from] = DIGITS[(count % BASE) as usize];
        count /= BASE;
    }
    from
}

impl ToRedisArgs for Generation {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        let mut text = [0; LONGEST];
        let from = write(self, &mut text);
        out.write_arg(&text[from..]);
    }
}

/// For people.
impl Display for Generation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = [0; LONGEST];
        let from = write(self, &mut text);
        write!(f, "{}", text[from..].escape_ascii())
    }
}

/// `None` if it is not a number.
pub(super) fn read(number: &[u8]) -> Option<Generation> {
    let (count, salt) = number.split_last_chunk()?;
    if !count.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'z')) {
        return None;
    }
    let count = u64::from_str_radix(std::str::from_utf8(count).ok()?, BASE as u32).ok()?;
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
        for count in [0, 1, 7_261_234_567_890, u64::MAX] {
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
        let request_id = |lane: &str, number| RequestId {
            lane: lane.into(),
            number,
            until: Instant::now(),
            late_copy: Default::default(),
        };
        assert_eq!(salt(&request_id("a", 1)), salt(&request_id("a", 1)));
        assert_ne!(salt(&request_id("a", 1)), salt(&request_id("a", 2)));
        assert_ne!(salt(&request_id("a", 1)), salt(&request_id("b", 1)));
    }
}
