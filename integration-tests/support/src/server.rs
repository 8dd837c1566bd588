//! One private `redis-server` process.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::eventually_blocking;
use crate::port::Port;
use crate::server_builder::{RedisServerBuilder, START, TRIES, read_log};

/// A private `redis-server` on a loopback port, in a temporary directory, without snapshots.
/// `LEASEQ_REDIS_SERVER` names the binary; the default is `redis-server`.
///
/// The process ends when the value is dropped. It outlives a test process that is killed.
#[derive(Debug)]
pub struct RedisServer {
    setup: RedisServerBuilder,
    dir: TempDir,
    port: Port,
    child: Child,
}

impl RedisServer {
    /// A server with default settings, ready to answer.
    pub fn start() -> Self {
        Self::builder().start()
    }

    /// Settings for a server that is not started yet.
    pub fn builder() -> RedisServerBuilder {
        RedisServerBuilder::default()
    }

    /// `redis://127.0.0.1:PORT/`, with the password if there is one.
    pub fn url(&self) -> String {
        match &self.setup.password {
            Some(password) => format!("redis://:{password}@127.0.0.1:{}/", self.port()),
            None => format!("redis://127.0.0.1:{}/", self.port()),
        }
    }

    /// The port; it stays the same over a restart.
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The address with the port.
    pub fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port()).into()
    }

    /// The path of the Unix socket, if the builder requested one.
    pub fn unix_socket(&self) -> PathBuf {
        self.dir().join("redis.sock")
    }

    /// The server's directory: its log (`redis.log`), its append-only files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The process id of the running, or last running, server.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process with SIGKILL and waits until it is gone. Does nothing if it is gone already.
    pub fn kill(&mut self) {
        // A stopped process also dies of SIGKILL; std knows whether it was reaped already.
        self.child.kill().expect("SIGKILL is always permitted to a parent");
        self.child.wait().expect("the child can be waited for");
    }

    /// Kills the server if it runs and starts it again with the same port, directory and arguments. So it
    /// reads an append-only file.
    pub fn restart(&mut self) {
        self.kill();
        let port = self.port();
        for _ in 0..TRIES {
            self.child = self.setup.spawn(self.dir(), port);
            if self.setup.wait_ready(&mut self.child, port) {
                return;
            }
        }
        panic!("redis-server did not restart on port {port}:\n{}", self.log());
    }

    /// The same, and rewrites the append-only file if it ended in the middle of a command, as an operator
    /// should. Redis (7.0 at least) leaves the beginning of that transaction in the file, and executes it at
    /// the next start.
    pub fn restart_with_whole_log(&mut self) {
        let before = self.log().len();
        self.restart();
        if self.log()[before..].contains("Truncating the AOF") {
            self.cli(&["BGREWRITEAOF"]);
            let done = ["aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0"];
            let over = || done.iter().all(|part| self.says(&["INFO", "persistence"], part));
            assert!(eventually_blocking(START, over), "no new append-only file:\n{}", self.log());
        }
    }

    /// Stops the process (SIGSTOP): connections stay open, but nothing is answered.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Continues a stopped process (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Runs a command, given as binary-safe arguments, and returns the reply as text: a
    /// missing value is "", an array has a line per element. An error reply panics.
    pub fn cli<A: AsRef<[u8]>>(&self, args: &[A]) -> String {
        text(&self.command(args))
    }

    /// Whether a command is answered, and the answer contains this text.
    pub(crate) fn says(&self, args: &[&str], part: &str) -> bool {
        self.try_command(args).is_ok_and(|reply| text(&reply).contains(part))
    }

    /// Like [`cli`](Self::cli), but returns the raw reply.
    pub fn command<A: AsRef<[u8]>>(&self, args: &[A]) -> redis::Value {
        self.try_command(args).unwrap_or_else(|error| {
            let name = args.first().map(|name| String::from_utf8_lossy(name.as_ref()));
            panic!("{} on port {}: {error}", name.unwrap_or_default(), self.port())
        })
    }

    /// Like [`command`](Self::command), for a server that may be down or refuse.
    pub fn try_command<A: AsRef<[u8]>>(&self, args: &[A]) -> redis::RedisResult<redis::Value> {
        let mut command = redis::Cmd::new();
        for arg in args {
            command.arg(arg.as_ref());
        }
        command.query(&mut self.setup.connect(self.port())?)
    }

    /// Whether a replica gets all earlier writes within a second. Writes this key.
    pub fn is_replicated(&self, key: &str) -> bool {
        let Ok(mut connection) = self.setup.connect(self.port()) else { return false };
        // WAIT applies to the writes of its own connection.
        let mut pipe = redis::pipe();
        pipe.cmd("SET").arg(key).arg(1).ignore();
        pipe.cmd("WAIT").arg(1).arg(1_000);
        let replicas: redis::RedisResult<(u64,)> = pipe.query(&mut connection);
        replicas.is_ok_and(|(replicas,)| replicas > 0)
    }

    /// A new blocking connection.
    pub fn connection(&self) -> redis::Connection {
        self.setup.connect(self.port()).expect("the server accepts connections")
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        read_log(self.dir())
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the server process exists");
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

impl RedisServerBuilder {
    /// Starts the server and waits (60 s at most) until it answers.
    pub fn start(self) -> RedisServer {
        let (dir, port, child) = self.launch();
        RedisServer { setup: self, dir, port, child }
    }
}

fn text(value: &redis::Value) -> String {
    use redis::Value::*;
    match value {
        Nil => String::new(),
        Okay => "OK".into(),
        Int(number) => number.to_string(),
        SimpleString(text) => text.clone(),
        BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Array(values) | Set(values) => values.iter().map(text).collect::<Vec<_>>().join("\n"),
        other => format!("{other:?}"),
    }
}
