//! Numbers, which name generations on the server: the count in base 36, then the salt. See
//! `scripts/parts/number.lua`.

use std::hash::{DefaultHasher, Hash, Hasher};

use redis::{RedisWrite, ToRedisArgs, Value};

use super::reply;
use crate::engine::generation::LONGEST;
use crate::engine::{Generation, RequestId};
use crate::{Result, random};

const SALT: usize = 5;
const DIGITS: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/// The salt of the numbers that one add gives. A retry has the same salt; another add has it with a chance of
/// one in a billion, because the names of lanes are unique.
pub(super) fn salt(request_id: &RequestId) -> [u8; SALT] {
    let mut hasher = DefaultHasher::new();
    (&request_id.lane, request_id.number).hash(&mut hasher);
    from_bits(hasher.finish())
}

/// For a script that is not repeated under a lane.
pub(super) fn random_salt() -> [u8; SALT] {
    let mut bits = 0;
    random::bytes(1, |bytes| {
        bits = bytes.iter().fold(0, |bits, byte| bits << 6 | u64::from(*byte))
    });
    from_bits(bits)
}

fn from_bits(bits: u64) -> [u8; SALT] {
    std::array::from_fn(|i| DIGITS[(bits >> (6 * i)) as usize % DIGITS.len()])
}

impl ToRedisArgs for Generation {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        let mut text = [0; LONGEST];
        let from = self.write(&mut text);
        out.write_arg(&text[from..]);
    }
}

/// `None` if it is not a number.
pub(super) fn read(number: &[u8]) -> Option<Generation> {
    Generation::read(number)
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
