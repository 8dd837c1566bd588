//! Runs the program against an engine.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};

use leaseq::{Client, WorkQueue};
use leaseq_test_support::RedisServer;
use serde_json::Value;
use tempfile::TempDir;

/// An engine, and a folder for files.
pub(crate) struct Bench {
    pub(crate) url: String,
    pub(crate) server: Option<RedisServer>,
    pub(crate) folder: TempDir,
    /// Kept while its servers are needed.
    _cluster: Option<leaseq_test_support::Cluster>,
}

/// What a run has left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The error with --json.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let error: Value =
            serde_json::from_str(&self.err).unwrap_or_else(|error| panic!("{error}: {self:?}"));
        error["error"].clone()
    }

    #[track_caller]
    pub(crate) fn ok(self) -> Run {
        assert_eq!(self.status, 0, "{self:?}");
        self
    }
}

impl Bench {
    pub(crate) fn redis() -> Bench {
        let server = RedisServer::start();
        let url = format!("{}?timeout_ms=3000", server.url());
        Bench { url, server: Some(server), _cluster: None, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn sqlite() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("queue.db").display());
        Bench { url, server: None, _cluster: None, folder }
    }

    /// A server and a file; with `LEASEQ_STRESS` every kind of engine.
    pub(crate) fn all() -> Vec<Bench> {
        match std::env::var_os("LEASEQ_STRESS") {
            Some(_) => Bench::every(),
            None => vec![Bench::redis(), Bench::sqlite()],
        }
    }

    /// Every kind of engine: also a cluster, and Valkey if it is here.
    pub(crate) fn every() -> Vec<Bench> {
        let mut all = vec![Bench::redis(), Bench::sqlite()];
        let cluster = leaseq_test_support::Cluster::start();
        let folder = tempfile::tempdir().unwrap();
        all.push(Bench { url: cluster.url(), _cluster: Some(cluster), server: None, folder });
        if let Some(valkey) = std::env::var_os("LEASEQ_VALKEY_SERVER") {
            let server = RedisServer::builder().binary(valkey).start();
            let folder = tempfile::tempdir().unwrap();
            all.push(Bench { url: server.url(), server: Some(server), _cluster: None, folder });
        }
        all
    }

    pub(crate) async fn queue(&self, name: &str) -> WorkQueue {
        Client::connect(&self.url).await.unwrap().queue(name).unwrap()
    }

    pub(crate) fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leaseq"));
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.folder.path())
            .env("LEASEQ_URL", &self.url)
            .env("TZ", "UTC")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run<A: AsRef<OsStr>>(&self, args: &[A]) -> Run {
        finish(&mut self.command(args), b"")
    }

    pub(crate) fn run_with<A: AsRef<OsStr>>(&self, args: &[A], input: &[u8]) -> Run {
        finish(self.command(args).stdin(Stdio::piped()), input)
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).json()
    }
}

pub(crate) fn finish(command: &mut Command, input: &[u8]) -> Run {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if let Some(mut stdin) = child.stdin.take() {
        // It may end without reading it.
        let _ = stdin.write_all(input);
    }
    let output = child.wait_with_output().unwrap();
    Run {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
