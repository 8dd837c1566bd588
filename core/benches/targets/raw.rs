//! What a program without scripts sends to move the same data: HSET, LPUSH / LMPOP, HMGET, ZADD / ZREM,
//! HDEL, for each item and pipelined by 100, or one for a whole batch.

use std::ops::Range;

use redis::{Cmd, Connection, Pipeline, ToRedisArgs, Value, cmd};

use crate::server_time::{Side, Step};
use crate::setup::{BATCH, DATA, RAW, Setup};

/// One command for each item.
pub(crate) struct Pipelined(Raw);

/// One command for each batch.
pub(crate) struct Batched(Raw);

struct Raw {
    connection: Connection,
    ids: Vec<String>,
    keys: [String; 3],
}

/// Of every lease; in milliseconds, as long as ours.
pub(crate) const DEADLINE: u64 = 1_795_000_000_000;

impl Raw {
    fn new(setup: &Setup, name: &str, batches: usize) -> Self {
        Raw {
            connection: setup.server.connection(),
            ids: (0..batches * BATCH).map(|_| uuid::Uuid::new_v4().to_string()).collect(),
            keys: keys(name),
        }
    }
}

impl Pipelined {
    pub(crate) fn new(setup: &Setup, batches: usize) -> Self {
        Pipelined(Raw::new(setup, "raw", batches))
    }
}

impl Batched {
    pub(crate) fn new(setup: &Setup, batches: usize) -> Self {
        Batched(Raw::new(setup, "floor", batches))
    }
}

impl Side for Pipelined {
    const COMMANDS: &[&str] = &RAW;

    async fn run(&mut self, step: Step, batches: Range<usize>) {
        let Raw { connection, ids, keys: [items, ready, leased] } = &mut self.0;
        for ids in ids[batches.start * BATCH..batches.end * BATCH].chunks(BATCH) {
            let mut pipeline = Pipeline::new();
            for id in ids {
                match step {
                    Step::Add => pipeline.hset(&*items, id, &[b'x'; DATA]).lpush(&*ready, id),
                    Step::Lease => pipeline
                        .add_command(pop(ready, 1))
                        .add_command(many("HMGET", items, [id]))
                        .zadd(&*leased, id, DEADLINE),
                    Step::Complete => pipeline.zrem(&*leased, id).hdel(&*items, id),
                };
            }
            let _: Vec<Value> = pipeline.query(connection).unwrap();
        }
    }

    async fn is_done(&mut self) -> bool {
        are_gone(&mut self.0.connection, &self.0.keys)
    }
}

impl Side for Batched {
    const COMMANDS: &[&str] = &RAW;

    async fn run(&mut self, step: Step, batches: Range<usize>) {
        let Raw { connection, ids, keys: [items, ready, leased] } = &mut self.0;
        for ids in ids[batches.start * BATCH..batches.end * BATCH].chunks(BATCH) {
            match step {
                Step::Add => send(connection, add(items, ready, ids)),
                Step::Lease => {
                    send(connection, [pop(ready, BATCH)]);
                    send(connection, lease(items, leased, ids));
                }
                Step::Complete => send(connection, complete(items, leased, ids)),
            }
        }
    }

    async fn is_done(&mut self) -> bool {
        are_gone(&mut self.0.connection, &self.0.keys)
    }
}

pub(crate) fn are_gone(connection: &mut Connection, keys: &[impl ToRedisArgs]) -> bool {
    cmd("EXISTS").arg(keys).query::<usize>(connection).unwrap() == 0
}

/// The table of items, the list and the sorted set.
pub(crate) fn keys(name: &str) -> [String; 3] {
    ["items", "ready", "leased"].map(|key| format!("{name}:{key}"))
}

pub(crate) fn send<const N: usize>(connection: &mut Connection, commands: [Cmd; N]) {
    for command in commands {
        let _: Value = command.query(connection).unwrap();
    }
}

pub(crate) fn add(items: &str, ready: &str, ids: &[String]) -> [Cmd; 2] {
    let mut store = cmd("HSET");
    store.arg(items);
    for id in ids {
        store.arg(id).arg(&[b'x'; DATA]);
    }
    [store, many("LPUSH", ready, ids)]
}

/// Leases what was popped.
pub(crate) fn lease(items: &str, leased: &str, ids: &[String]) -> [Cmd; 2] {
    let mut lease = cmd("ZADD");
    lease.arg(leased);
    for id in ids {
        lease.arg(DEADLINE).arg(id);
    }
    [many("HMGET", items, ids), lease]
}

pub(crate) fn complete(items: &str, leased: &str, ids: &[String]) -> [Cmd; 2] {
    [many("ZREM", leased, ids), many("HDEL", items, ids)]
}

pub(crate) fn pop(ready: &str, count: usize) -> Cmd {
    let mut command = cmd("LMPOP");
    command.arg(1).arg(ready).arg("RIGHT").arg("COUNT").arg(count);
    command
}

fn many(name: &str, key: &str, ids: impl IntoIterator<Item = impl AsRef<str>>) -> Cmd {
    let mut command = cmd(name);
    command.arg(key);
    for id in ids {
        command.arg(id.as_ref());
    }
    command
}
