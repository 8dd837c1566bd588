//! One private `redis-server` process.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::eventually_blocking;
use crate::port::{self, Port};

/// How long a server may take until it answers on a busy machine.
const START: Duration = Duration::from_secs(60);
/// How often to try to start, each time on another port.
const TRIES: usize = 5;

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

/// How to start a [`RedisServer`].
#[derive(Clone, Debug, Default)]
pub struct RedisServerBuilder {
    args: Vec<String>,
    config: Option<String>,
    password: Option<String>,
    unix_socket: bool,
    tls_files: Option<PathBuf>,
    environment: Vec<(String, PathBuf)>,
    binary: Option<PathBuf>,
}

impl RedisServerBuilder {
    /// Sets an environment variable of the server.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<PathBuf>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Runs this binary instead of the default one.
    pub fn binary(mut self, path: impl Into<PathBuf>) -> Self {
        self.binary = Some(path.into());
        self
    }

    /// Adds a setting: `arg("--appendonly", "yes")`. Later settings win.
    pub fn arg(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.args.extend([name.into(), value.into()]);
        self
    }

    /// Adds a switch without a value: `flag("--sentinel")`.
    pub fn flag(mut self, name: impl Into<String>) -> Self {
        self.args.push(name.into());
        self
    }

    /// Starts from a configuration file with this text, which the server may rewrite.
    pub fn config(mut self, text: impl Into<String>) -> Self {
        self.config = Some(text.into());
        self
    }

    /// Asks clients for this password; [`RedisServer::url`] and `cli` use it.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Listens on a Unix socket as well.
    pub fn unix_socket(mut self, on: bool) -> Self {
        self.unix_socket = on;
        self
    }

    /// Serves TLS on its second port, with the files in this directory.
    pub(crate) fn tls(mut self, files: PathBuf) -> Self {
        self.tls_files = Some(files);
        self
    }

    /// Starts the server and waits (60 s at most) until it answers.
    pub fn start(self) -> RedisServer {
        let mut log = String::new();
        for _ in 0..TRIES {
            let dir = tempfile::Builder::new().prefix("leaseq-redis-").tempdir();
            let dir = dir.expect("a temporary directory can be made");
            if let Some(text) = &self.config {
                std::fs::write(dir.path().join("redis.conf"), text).expect("it is writable");
            }
            let port = Port::reserve();
            let mut child = self.spawn(dir.path(), port.number());
            if self.wait_ready(&mut child, port.number()) {
                return RedisServer { setup: self, dir, port, child };
            }
            log = read_log(dir.path());
        }
        panic!("redis-server did not start, {TRIES} times; its last log:\n{log}");
    }

    fn spawn(&self, dir: &Path, port: u16) -> Child {
        let named = std::env::var_os("LEASEQ_REDIS_SERVER");
        let named = self.binary.as_deref().map(Path::as_os_str).or(named.as_deref());
        let binary = named.unwrap_or(OsStr::new("redis-server"));
        let mut command = Command::new(binary);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.config.is_some() {
            command.arg(dir.join("redis.conf"));
        }
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.arg("--dir").arg(dir).arg("--logfile").arg(dir.join("redis.log"));
        if let Some(password) = &self.password {
            command.args(["--requirepass", password]);
        }
        if self.unix_socket {
            command.arg("--unixsocket").arg(dir.join("redis.sock"));
        }
        if let Some(files) = &self.tls_files {
            command.args(["--tls-port", &(port + port::SECOND).to_string()]);
            command.args(["--tls-auth-clients", "no"]);
            command.arg("--tls-ca-cert-file").arg(files.join("ca.crt"));
            command.arg("--tls-cert-file").arg(files.join("redis.crt"));
            command.arg("--tls-key-file").arg(files.join("redis.key"));
        }
        command.args(&self.args).current_dir(dir);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap_or_else(|error| {
            panic!("cannot run {}: {error}; `make setup` installs it", binary.display())
        })
    }

    /// True once `child` itself answers; false, and the child is gone, if it never does.
    fn wait_ready(&self, child: &mut Child, port: u16) -> bool {
        let mut ours = false;
        let answered = eventually_blocking(START, || {
            if child.try_wait().expect("the child can be waited for").is_some() {
                return true;
            }
            ours = self.answering_pid(port) == Some(child.id());
            ours
        });
        if !ours {
            // It exited (the port may be taken) or hangs.
            drop(child.kill());
            drop(child.wait());
        }
        answered && ours
    }

    /// The process id of the server on the port, which may be another server's after a race for the port.
    fn answering_pid(&self, port: u16) -> Option<u32> {
        let mut connection = self.connect(port).ok()?;
        let info: String = redis::cmd("INFO").arg("server").query(&mut connection).ok()?;
        let pid = info.lines().find_map(|line| line.strip_prefix("process_id:"))?;
        redis::cmd("PING").query::<String>(&mut connection).ok()?; // refused while loading
        pid.trim().parse().ok()
    }

    fn connect(&self, port: u16) -> redis::RedisResult<redis::Connection> {
        let mut settings = redis::RedisConnectionInfo::default();
        if let Some(password) = &self.password {
            settings = settings.set_password(password);
        }
        let addr = redis::ConnectionAddr::Tcp("127.0.0.1".into(), port);
        let info = redis::IntoConnectionInfo::into_connection_info(addr)?;
        redis::Client::open(info.set_redis_settings(settings))?.get_connection()
    }
}

fn read_log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("redis.log")).unwrap_or_default()
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
