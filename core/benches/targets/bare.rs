//! The least that scripts can cost which do what ours do: the same commands on the same data, with
//! nothing decided, counted or remembered for a retry. Numbers are made by the caller.

use redis::{Cmd, Connection, Value, cmd};

use crate::Scale;
use crate::setup::{BATCH, DATA, Setup};

const KEYS: [&str; 4] = ["bare:ids", "bare:items", "bare:ready", "bare:leased"];

const ADD: &str = "
    local n = tonumber(ARGV[1])
    redis.call('HMGET', KEYS[1], unpack(ARGV, 2, 1 + n))
    redis.call('HSET', KEYS[1], unpack(ARGV, 2 + n, 1 + 3 * n))
    redis.call('HSET', KEYS[2], unpack(ARGV, 2 + 3 * n, 1 + 5 * n))
    redis.call('LPUSH', KEYS[3], unpack(ARGV, 2 + 5 * n))
    return string.rep('1', n)";

const LEASE: &str = "
    local popped = redis.call('LMPOP', 1, KEYS[3], 'RIGHT', 'COUNT', ARGV[1])[2]
    local found = redis.call('HMGET', KEYS[2], unpack(popped))
    local leases = {}
    for i = 1, #popped do leases[2 * i - 1], leases[2 * i] = ARGV[2], popped[i] end
    redis.call('ZADD', KEYS[4], unpack(leases))
    return { popped, found }";

const COMPLETE: &str = "
    local n = tonumber(ARGV[1])
    redis.call('ZREM', KEYS[4], unpack(ARGV, 2, 1 + n))
    redis.call('HDEL', KEYS[2], unpack(ARGV, 2, 1 + n))
    redis.call('HDEL', KEYS[1], unpack(ARGV, 2 + n))
    return string.rep('1', n)";

/// Microseconds of server time for all cycles.
pub(crate) fn measure(setup: &Setup, scale: Scale) -> f64 {
    let mut connection = setup.server.connection();
    let [add, lease, complete] = [ADD, LEASE, COMPLETE].map(|text| load(&mut connection, text));
    let total = scale.batches * BATCH;
    let numbers: Vec<String> = (0..total).map(|i| (7_000_000_000_000 + i).to_string()).collect();
    // As ours are stored: a UUID in 17 bytes, and a record that begins with it.
    let id = |_: &String| [b"u", &uuid::Uuid::new_v4().into_bytes()[..]].concat();
    let ids: Vec<Vec<u8>> = numbers.iter().map(id).collect();
    setup.reset_stats();
    for (numbers, ids) in numbers.chunks(BATCH).zip(ids.chunks(BATCH)) {
        let mut call = run(&add);
        call.arg(BATCH).arg(ids);
        for (id, number) in ids.iter().zip(numbers) {
            call.arg(id).arg(number);
        }
        for (id, number) in ids.iter().zip(numbers) {
            call.arg(number).arg([&id[..], &[b'x'; DATA]].concat());
        }
        let _: Value = call.arg(numbers).query(&mut connection).unwrap();
    }
    for _ in 0..scale.batches {
        let mut call = run(&lease);
        let _: Value = call.arg(BATCH).arg(1_795_000_000_000u64).query(&mut connection).unwrap();
    }
    for (numbers, ids) in numbers.chunks(BATCH).zip(ids.chunks(BATCH)) {
        let mut call = run(&complete);
        let _: Value = call.arg(BATCH).arg(numbers).arg(ids).query(&mut connection).unwrap();
    }
    let spent = setup.usec(&["evalsha"]);
    let left: usize = cmd("EXISTS").arg(&KEYS).query(&mut connection).unwrap();
    assert_eq!(left, 0, "everything was completed");
    spent
}

fn load(connection: &mut Connection, text: &str) -> String {
    cmd("SCRIPT").arg("LOAD").arg(text).query(connection).unwrap()
}

fn run(digest: &str) -> Cmd {
    let mut call = cmd("EVALSHA");
    call.arg(digest).arg(KEYS.len()).arg(&KEYS);
    call
}
