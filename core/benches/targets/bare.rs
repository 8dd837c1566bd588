//! The least that scripts can cost which do what ours do: the same commands on the same data, with
//! nothing decided, counted or remembered for a retry. Numbers are made by the caller.

use std::ops::Range;

use redis::{Cmd, Connection, Value, cmd};

use crate::raw::{DEADLINE, are_gone};
use crate::server_time::{Side, Step};
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

pub(crate) struct Bare {
    connection: Connection,
    add: String,
    lease: String,
    complete: String,
    numbers: Vec<String>,
    /// As ours are stored: a UUID in 17 bytes, and a record that begins with it.
    ids: Vec<Vec<u8>>,
}

impl Bare {
    pub(crate) fn new(setup: &Setup, batches: usize) -> Self {
        let mut connection = setup.server.connection();
        let [add, lease, complete] = [ADD, LEASE, COMPLETE].map(|text| load(&mut connection, text));
        let places = 0..batches * BATCH;
        let numbers = places.clone().map(|i| (7_000_000_000_000 + i).to_string()).collect();
        let id = |_| [b"u", &uuid::Uuid::new_v4().into_bytes()[..]].concat();
        Bare { connection, add, lease, complete, numbers, ids: places.map(id).collect() }
    }
}

impl Side for Bare {
    const COMMANDS: &[&str] = &["evalsha"];

    async fn run(&mut self, step: Step, batches: Range<usize>) {
        let items = batches.start * BATCH..batches.end * BATCH;
        let (numbers, ids) = (&self.numbers[items.clone()], &self.ids[items]);
        for (numbers, ids) in numbers.chunks(BATCH).zip(ids.chunks(BATCH)) {
            let call = match step {
                Step::Add => {
                    let mut call = run(&self.add);
                    call.arg(BATCH).arg(ids);
                    for (id, number) in ids.iter().zip(numbers) {
                        call.arg(id).arg(number);
                    }
                    for (id, number) in ids.iter().zip(numbers) {
                        call.arg(number).arg([&id[..], &[b'x'; DATA]].concat());
                    }
                    call.arg(numbers).take()
                }
                Step::Lease => run(&self.lease).arg(BATCH).arg(DEADLINE).take(),
                Step::Complete => run(&self.complete).arg(BATCH).arg(numbers).arg(ids).take(),
            };
            let _: Value = call.query(&mut self.connection).unwrap();
        }
    }

    async fn is_done(&mut self) -> bool {
        are_gone(&mut self.connection, &KEYS)
    }
}

fn load(connection: &mut Connection, text: &str) -> String {
    cmd("SCRIPT").arg("LOAD").arg(text).query(connection).unwrap()
}

fn run(digest: &str) -> Cmd {
    let mut call = cmd("EVALSHA");
    call.arg(digest).arg(KEYS.len()).arg(&KEYS);
    call
}
