//! Starts the binary and queries it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{Client, Item, Lease, LeaseOptions, State, WorkQueue};
use leaseq_test_support::{RedisServer, eventually, eventually_blocking};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Limit for anything that should happen soon, on a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// The binary without the variables that configure it.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leaseq-cleaner"));
    for name in ["LEASEQ_URL", "REDIS_URL", "NOTIFY_SOCKET"] {
        command.env_remove(name);
    }
    command.args(args);
    command
}

/// The result of a run to its end: status, standard output, standard error.
pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    ended(command(args))
}

pub(crate) fn ended(mut command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// A cleaner that runs until it is dropped.
pub(crate) struct Cleaner {
    pub(crate) child: Child,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Cleaner {
    /// Starts on this URL, with its own HTTP port and more arguments.
    pub(crate) fn start(url: &str, more: &[&str]) -> Cleaner {
        let mut all = vec!["--url", url, "--listen", "127.0.0.1:0", "--log-format", "json"];
        all.extend(more);
        Cleaner::spawn(command(&all))
    }

    pub(crate) fn spawn(mut command: Command) -> Cleaner {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let from = child.stderr.take().unwrap();
        let cleaner = Cleaner::of(child);
        let to = cleaner.lines.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                to.lock().unwrap().push(line);
            }
        });
        cleaner.wait_for_log("cleaner started");
        cleaner
    }

    /// As `start`, but its log is not read.
    pub(crate) fn of(child: Child) -> Cleaner {
        Cleaner { child, lines: Arc::default() }
    }

    pub(crate) fn logs(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Number of log lines with this text.
    pub(crate) fn logged(&self, text: &str) -> usize {
        self.logs().iter().filter(|line| line.contains(text)).count()
    }

    /// The first log line with this text.
    pub(crate) fn wait_for_log(&self, text: &str) -> String {
        let mut found = None;
        let _ = eventually_blocking(SOON, || {
            found = self.logs().into_iter().find(|line| line.contains(text));
            found.is_some()
        });
        found.unwrap_or_else(|| panic!("no {text:?} in the log: {:#?}", self.logs()))
    }

    /// Its HTTP address since the last reload.
    pub(crate) fn address(&self) -> SocketAddr {
        let logs = self.logs();
        let line = logs.iter().rfind(|line| line.contains("\"listen\":")).unwrap();
        let line: Value = serde_json::from_str(line).unwrap();
        line["listen"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        get(self.address(), path).unwrap()
    }

    pub(crate) fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path).1).unwrap()
    }

    pub(crate) fn is_ready(&self) -> bool {
        get(self.address(), "/readyz").is_some_and(|(status, _)| status == 200)
    }

    pub(crate) fn wait_ready(&self) {
        assert!(eventually_blocking(SOON, || self.is_ready()), "{:#?}", self.logs());
    }

    /// Waits until it is ready and cleans all of these queues.
    pub(crate) fn wait_for_queues(&self, names: &[&str]) {
        let found = || {
            let json: Option<Value> = get(self.address(), "/queues.json")
                .and_then(|(_, text)| serde_json::from_str(&text).ok());
            json.is_some_and(|json| names.iter().all(|name| json["queues"][*name].is_object()))
        };
        assert!(eventually_blocking(SOON, found), "{names:?}: {:#?}", self.logs());
        self.wait_ready();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops it as systemd would.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait_end()
    }

    pub(crate) fn wait_end(&mut self) -> ExitStatus {
        let mut status = None;
        let ended = eventually_blocking(SOON, || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(ended, "it goes on: {:#?}", self.logs());
        status.unwrap()
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Status and body, if there is a response.
pub(crate) fn get(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, secs(5)).ok()?;
    stream.set_read_timeout(Some(secs(10))).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
}

/// A place for queues on one of the engines.
pub(crate) enum Place {
    Redis(RedisServer),
    File(tempfile::TempDir),
}

impl Place {
    pub(crate) fn both() -> [Place; 2] {
        [Place::Redis(RedisServer::start()), Place::File(tempfile::tempdir().unwrap())]
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Place::Redis(server) => server.url(),
            Place::File(folder) => file_url(folder.path()),
        }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.url()).await.unwrap()
    }
}

pub(crate) fn file_url(folder: &Path) -> String {
    format!("sqlite:{}/queue.db", folder.display())
}

pub(crate) fn item(id: &str) -> Item {
    Item::new(id.as_bytes()).with_id(id)
}

pub(crate) async fn lease(queue: &WorkQueue, duration: Duration) -> Lease {
    let options = LeaseOptions::new(duration).wait(Duration::ZERO);
    queue.lease(options).await.unwrap().expect("an item is ready")
}

/// Leases an item and forgets it; returns whether a cleaner makes it ready again.
pub(crate) async fn is_reclaimed(queue: &WorkQueue) -> bool {
    let held = lease(queue, ms(50)).await;
    eventually(SOON, async || {
        queue.get(held.id()).await.unwrap().is_some_and(|info| info.state == State::Ready)
    })
    .await
}
