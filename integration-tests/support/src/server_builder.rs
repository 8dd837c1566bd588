//! The settings of a private `redis-server`, and its start.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::eventually_blocking;
use crate::port::{self, Port};

/// How long a server may take until it answers on a busy machine.
pub(crate) const START: Duration = Duration::from_secs(60);
/// How often to try to start, each time on another port.
pub(crate) const TRIES: usize = 5;

/// How to start a [`RedisServer`](crate::RedisServer).
#[derive(Clone, Debug, Default)]
pub struct RedisServerBuilder {
    args: Vec<String>,
    config: Option<String>,
    pub(crate) password: Option<String>,
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

    /// Asks clients for this password; [`RedisServer::url`](crate::RedisServer::url) and `cli` use it.
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

    /// Starts a server and waits until it answers. Returns its directory, its port and its process.
    pub(crate) fn launch(&self) -> (TempDir, Port, Child) {
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
                return (dir, port, child);
            }
            log = read_log(dir.path());
        }
        panic!("redis-server did not start, {TRIES} times; its last log:\n{log}");
    }

    /// Starts the process, which does not answer yet.
    pub(crate) fn spawn(&self, dir: &Path, port: u16) -> Child {
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
    pub(crate) fn wait_ready(&self, child: &mut Child, port: u16) -> bool {
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

    /// A new connection, with the password if there is one.
    pub(crate) fn connect(&self, port: u16) -> redis::RedisResult<redis::Connection> {
        let mut settings = redis::RedisConnectionInfo::default();
        if let Some(password) = &self.password {
            settings = settings.set_password(password);
        }
        let addr = redis::ConnectionAddr::Tcp("127.0.0.1".into(), port);
        let info = redis::IntoConnectionInfo::into_connection_info(addr)?;
        redis::Client::open(info.set_redis_settings(settings))?.get_connection()
    }
}

pub(crate) fn read_log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("redis.log")).unwrap_or_default()
}
