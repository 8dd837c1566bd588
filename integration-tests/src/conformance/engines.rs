//! The engines of the scenarios, each started once, with the clock of the tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use leaseq_test_support::{
    Cluster, RedisServer, RedisServerBuilder, Sentinel, TlsServer, eventually_blocking,
};
use serde_json::Value;

use super::clock::Clock;
use crate::error::Error;

/// The environment variable with the path of the newest Valkey, if that is tested too.
pub(crate) const VALKEY: &str = "LEASEQ_VALKEY_SERVER";

/// How long a server may take to notice the new time.
const CATCH_UP: Duration = Duration::from_secs(5);

pub(super) enum Engine {
    /// `redis` or `valkey`.
    Server(&'static str, RedisServer),
    Tls(Box<TlsServer>),
    Cluster(Cluster),
    Sentinel(Sentinel),
    /// A new file in this folder for each scenario.
    File(PathBuf),
    Memory,
}

/// Names of all engines, in the order of the table.
pub(super) const NAMES: [&str; 7] =
    ["memory", "sqlite", "redis", "valkey", "tls", "cluster", "sentinel"];

impl Engine {
    /// `None` for `valkey` if it is not installed.
    pub(super) fn start(name: &str, folder: &Path, clock: &Clock) -> Result<Option<Self>, Error> {
        let builder = || -> RedisServerBuilder {
            clock
                .environment()
                .into_iter()
                .fold(RedisServer::builder(), |builder, (name, value)| {
                    builder.env(name, value).arg("--appendonly", "no")
                })
        };
        Ok(Some(match name {
            "memory" => Engine::Memory,
            "sqlite" => Engine::File(folder.to_owned()),
            "redis" => Engine::Server("redis", builder().start()),
            "valkey" => match std::env::var_os(VALKEY) {
                Some(binary) => Engine::Server("valkey", builder().binary(binary).start()),
                None => return Ok(None),
            },
            "tls" => Engine::Tls(Box::new(TlsServer::start_with(builder()))),
            "cluster" => Engine::Cluster(Cluster::start_with(builder())),
            "sentinel" => Engine::Sentinel(Sentinel::start_with(1, builder())),
            _ => return Err(format!("unknown engine {name}: known are {NAMES:?}").into()),
        }))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Engine::Server(name, _) => name,
            Engine::Tls(_) => "tls",
            Engine::Cluster(_) => "cluster",
            Engine::Sentinel(_) => "sentinel",
            Engine::File(_) => "sqlite",
            Engine::Memory => "memory",
        }
    }

    /// `server` or `embedded`.
    pub(super) fn family(&self) -> &'static str {
        match self {
            Engine::File(_) | Engine::Memory => "embedded",
            _ => "server",
        }
    }

    /// A URL with empty queues; `place` belongs to this scenario and run alone.
    pub(super) fn url(&self, place: &str) -> String {
        match self {
            Engine::Server(_, server) => format!("{}?namespace={place}", server.url()),
            Engine::Tls(server) => {
                let ca_file = server.ca_file();
                format!("{}?namespace={place}&ca_file={}", server.url(), ca_file.display())
            }
            Engine::Cluster(cluster) => format!("{}?namespace={place}", cluster.url()),
            Engine::Sentinel(sentinel) => format!("{}?namespace={place}", sentinel.url()),
            Engine::File(folder) => {
                format!("sqlite:{}?synchronous=normal", self.file(folder, place).display())
            }
            Engine::Memory => "memory:?timeout_ms=10000".into(),
        }
    }

    /// Returns when the server has noticed this time. Valkey reads the wall clock only once a millisecond,
    /// and counts on its own in between.
    pub(super) fn catch_up(&self, now_ms: u64) -> Result<(), Error> {
        const KNOWS: &str = "local time = redis.call('TIME')
            if time[1] * 1000 + time[2] / 1000 >= tonumber(ARGV[1]) then return 1 end
            return redis.error_reply('not yet')";
        let Engine::Server("valkey", server) = self else { return Ok(()) };
        let now = now_ms.to_string();
        let knows = || server.try_command(&["EVAL", KNOWS, "0", &now]).is_ok();
        if eventually_blocking(CATCH_UP, knows) {
            Ok(())
        } else {
            Err("its clock stays behind".into())
        }
    }

    fn file(&self, folder: &Path, place: &str) -> PathBuf {
        folder.join(format!("{place}.db"))
    }

    /// Sends a command to the server that has the key, as an operator might by hand.
    pub(super) fn command(&self, words: &[&str]) -> Result<Value, Error> {
        let servers: Vec<&RedisServer> = match self {
            Engine::Server(_, server) => vec![server],
            Engine::Cluster(nodes) => nodes.ports().iter().map(|port| nodes.node(*port)).collect(),
            Engine::Sentinel(set) => set.master().iter().map(|port| set.node(*port)).collect(),
            _ => return Err(format!("no commands by hand on {}", self.name()).into()),
        };
        let mut last = Err("no server".into());
        for server in servers {
            let answer = server.try_command(words);
            last = answer.map(text_in).map_err(|error| error.to_string().into());
            if last.is_ok() {
                break;
            }
        }
        last
    }

    /// Runs statements on the file, as an operator might by hand.
    pub(super) fn sql(&self, place: &str, statements: &str) -> Result<(), Error> {
        let Engine::File(folder) = self else {
            return Err(format!("no statements by hand on {}", self.name()).into());
        };
        let file = rusqlite::Connection::open(self.file(folder, place))?;
        Ok(file.execute_batch(statements)?)
    }
}

/// `null` for a reply that is not text.
fn text_in(answer: redis::Value) -> Value {
    redis::from_redis_value::<String>(answer).map_or(Value::Null, Value::String)
}
