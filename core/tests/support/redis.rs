//! Test code for Redis.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use leaseq::ConnectOptions;
use leaseq_test_support::RedisServer;
use redis::{Commands, Connection, Value, cmd};

use super::Bench;
use super::bench::Backend;

/// Seconds and microseconds, as the command TIME returns them.
const CLOCK: &str = "test-clock";

pub(crate) struct Redis {
    server: RedisServer,
    connection: Mutex<Connection>,
    patch: fn(&str) -> String,
}

pub(crate) fn bench() -> Bench {
    Bench::new(Redis::start())
}

/// Lets a script read the clock of the bench.
pub(crate) fn patch_clock(script: &str) -> String {
    let patched =
        script.replace("redis.call('TIME')", &format!("redis.call('LRANGE', '{CLOCK}', 0, 1)"));
    // Scripts without a queue do not read the clock.
    let about_a_queue = script.contains("local ARGV = ARGV");
    assert!(script != patched || !about_a_queue, "every script reads the time");
    patched
}

/// Also makes a script fail after the number of calls set by [`fail_after`].
fn patch_clock_and_calls(script: &str) -> String {
    let scripts = leaseq::testing::scripts();
    let name = scripts.iter().find(|(_, text)| *text == script).map(|(name, _)| *name);
    let name = name.expect("it is one of the scripts");
    let (shebang, body) = patch_clock(script).split_once('\n').map(own).expect("has two lines");
    format!(
        "{shebang}
local server, calls = redis, 0
local last = tonumber(server.call('GET', 'test-fail:{name}') or 0)
local redis = {{ error_reply = server.error_reply, acl_check_cmd = server.acl_check_cmd, sha1hex = server.sha1hex }}
function redis.call(...)
  local reply = server.call(...)
  calls = calls + 1
  if calls == last then
    server.call('DEL', 'test-fail:{name}')
    error('made to fail')
  end
  return reply
end
{body}"
    )
}

/// Also records the highest number of server calls in a run of each script.
fn patch_clock_and_count(script: &str) -> String {
    let scripts = leaseq::testing::scripts();
    let name = scripts.iter().find(|(_, text)| *text == script).map(|(name, _)| *name);
    let name = name.expect("it is one of the scripts");
    let (shebang, body) = patch_clock(script).split_once('\n').map(own).expect("has two lines");
    let shebang = shebang.replace("no-writes,", "");
    format!(
        "{shebang}
local server, calls = redis, 0
local redis = {{ error_reply = server.error_reply, acl_check_cmd = server.acl_check_cmd, sha1hex = server.sha1hex }}
function redis.call(...)
  calls = calls + 1
  return server.call(...)
end
local function run()
{body}
end
local reply = run()
local most = tonumber(server.call('HGET', 'test-calls', '{name}') or 0)
server.call('HSET', 'test-calls', '{name}', math.max(most, calls))
return reply"
    )
}

/// The highest number of server calls in a run of the script; `None` if it did not run.
pub(crate) fn most_calls(connection: &mut Connection, script: &str) -> Option<u64> {
    connection.hget("test-calls", script).expect("the server answers")
}

fn own((one, two): (&str, &str)) -> (String, String) {
    (one.to_owned(), two.to_owned())
}

/// Makes the next run of the script fail after its `calls`th call.
pub(crate) fn fail_after(connection: &mut Connection, script: &str, calls: u32) {
    connection.set::<_, _, ()>(format!("test-fail:{script}"), calls).expect("the server answers");
}

/// Clears [`fail_after`]. True if the script has failed since; false if it made fewer calls.
pub(crate) fn has_failed(connection: &mut Connection, script: &str) -> bool {
    let unused: u32 = connection.del(format!("test-fail:{script}")).expect("the server answers");
    unused == 0
}

/// Simulates waiting clients and a sleeping cleaner, for as long as the clock may run.
pub(crate) fn expect_waiters(connection: &mut Connection, queue: &str) {
    let mut pipe = ::redis::pipe();
    pipe.hset(format!("leaseq:{{{queue}}}:meta"), "waiting", 9_000_000_000_000u64);
    pipe.hset(format!("leaseq:{{{queue}}}:meta"), "watched", 9_000_000_000_000u64);
    pipe.del(format!("leaseq:{{{queue}}}:wake")).del(format!("leaseq:{{{queue}}}:due"));
    pipe.query::<()>(connection).expect("the server answers");
}

impl Redis {
    pub(crate) fn start() -> Self {
        let server = RedisServer::start();
        let connection = Mutex::new(server.connection());
        Redis { server, connection, patch: patch_clock }
    }

    /// A server on which scripts can be made to fail, with [`fail_after`].
    pub(crate) fn start_failing() -> Self {
        Redis { patch: patch_clock_and_calls, ..Redis::start() }
    }

    /// A server that counts what the scripts call: [`most_calls`].
    pub(crate) fn start_counting() -> Self {
        Redis { patch: patch_clock_and_count, ..Redis::start() }
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().expect("no test goes on after a panic")
    }

    pub(crate) fn server(&self) -> &RedisServer {
        &self.server
    }
}

impl Backend for Redis {
    fn url(&self) -> String {
        self.server.url()
    }

    fn with_clock(&self, mut options: ConnectOptions) -> ConnectOptions {
        options.patch_scripts = Some(self.patch);
        options
    }

    fn set_clock(&self, ms: u64) {
        let (secs, micros) = (ms / 1000, ms % 1000 * 1000);
        let mut set = ::redis::pipe();
        set.atomic().del(CLOCK).rpush(CLOCK, (secs, micros));
        set.query::<()>(&mut *self.connection()).expect("the server answers");
    }

    fn dump(&self) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
        dump(&mut self.connection())
    }
}

/// The keys with their contents; the order within hashes does not matter.
pub(crate) fn dump(connection: &mut Connection) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let keys: Vec<Vec<u8>> = connection.keys("*").expect("the server answers");
    let mut dump = BTreeMap::new();
    for key in keys.into_iter().filter(|key| !key.starts_with(b"test-")) {
        let kind: String = cmd("TYPE").arg(&key).query(connection).expect("the server answers");
        let mut read = match kind.as_str() {
            "hash" => cmd("HGETALL"),
            "set" => cmd("SMEMBERS"),
            "list" => cmd("LRANGE"),
            "zset" => cmd("ZRANGE"),
            _ => cmd("GET"),
        };
        read.arg(&key);
        match kind.as_str() {
            "list" => read.arg(0).arg(-1),
            "zset" => read.arg(0).arg(-1).arg("WITHSCORES"),
            _ => &mut read,
        };
        let value: Value = read.query(connection).expect("the server answers");
        let mut parts = parts(value);
        if kind == "hash" {
            let mut pairs: Vec<Vec<Vec<u8>>> = parts.chunks(2).map(<[_]>::to_vec).collect();
            pairs.sort();
            parts = pairs.concat();
        } else if kind == "set" {
            parts.sort();
        }
        dump.insert(key, parts);
    }
    dump
}

fn parts(value: Value) -> Vec<Vec<u8>> {
    match value {
        Value::Array(values) | Value::Set(values) => values.into_iter().flat_map(parts).collect(),
        Value::Map(pairs) => {
            pairs.into_iter().flat_map(|(k, v)| [parts(k), parts(v)].concat()).collect()
        }
        Value::BulkString(bytes) => vec![bytes],
        other => vec![format!("{other:?}").into_bytes()],
    }
}
