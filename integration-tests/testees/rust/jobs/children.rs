//! Workers whose handlers run in children: the program in `testees/children`. Its handlers reach the notes by a socket.

use std::path::Path;
use std::sync::Arc;

use leaseq_jobs::{Children, Worker};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::AbortHandle;

use super::notes::Notes;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testees/children/scripted.py");

/// Serves the notes of a worker until it is dropped.
pub(super) struct NoteServer {
    folder: tempfile::TempDir,
    serving: AbortHandle,
}

impl Drop for NoteServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl NoteServer {
    pub(super) fn start(notes: &Arc<Notes>) -> NoteServer {
        let folder = tempfile::tempdir().expect("a folder");
        let listener = UnixListener::bind(socket(folder.path())).expect("a socket");
        let notes = notes.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let notes = notes.clone();
                // A child may be killed at any time.
                tokio::spawn(async move { _ = answer(stream, &notes).await });
            }
        });
        NoteServer { folder, serving: serving.abort_handle() }
    }

    /// Adds children to a worker.
    pub(super) fn add_children(&self, worker: Worker, request: &Value) -> Worker {
        let asked = &request["children"];
        let mut children = Children::new("python3")
            .arg(PROGRAM)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("LEASEQ_TESTEE_SOCKET", socket(self.folder.path()))
            .env("LEASEQ_TESTEE_JOBS", declared(request).to_string())
            .env("LEASEQ_TESTEE_SLOTS", request["slots"].as_u64().unwrap_or(10).to_string());
        if asked["fork"] == true {
            children = children.arg("--fork");
        }
        if asked["broken"] == true {
            children = children.env("LEASEQ_TESTEE_NO_STARTS", self.folder.path());
        }
        if let Some(jobs) = asked["max_jobs"].as_u64() {
            children = children.max_jobs(jobs);
        }
        if let Some(mebibytes) = asked["memory_limit_mib"].as_u64() {
            children = children.memory_limit(mebibytes << 20);
        }
        if let Some(log) = request["log"].as_str() {
            children = children.env("LEASEQ_TESTEE_LOG", log);
        }
        worker.children(children)
    }
}

fn socket(folder: &Path) -> std::path::PathBuf {
    folder.join("notes")
}

/// The jobs and their options, in the words of the protocol.
fn declared(request: &Value) -> Value {
    let work = json!({ "work": {} });
    let jobs = if request["jobs"].is_null() { &work } else { &request["jobs"] };
    let declare = |options: &Value| {
        let retry = &options["retry"];
        let mut job = json!({ "queue": request["queue"], "timeout_ms": options["timeout_ms"] });
        if !retry.is_null() {
            job["retry"] = json!({
                "max": retry["max"], "base": retry["base_ms"], "cap": retry["cap_ms"],
                "on": retry["on"], "never": retry["never"],
            });
            let rules = job["retry"].as_object_mut();
            rules.into_iter().for_each(|rules| rules.retain(|_, value| !value.is_null()));
        }
        job
    };
    let jobs = jobs.as_object().into_iter().flatten();
    jobs.map(|(name, options)| (name.clone(), declare(options)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Answers the one request of a connection.
async fn answer(mut stream: UnixStream, notes: &Notes) -> std::io::Result<()> {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    reader.read_line(&mut line).await?;
    let request: Value = serde_json::from_str(&line)?;
    let answer = if let Some(text) = request["note"].as_str() {
        notes.note(text.to_owned());
        Value::Null
    } else if let Some(job) = request["run"].as_str() {
        notes.count_run(job).into()
    } else {
        let job = request["told"].as_str().unwrap_or_default();
        tokio::select! {
            told = notes.told(job) => told.into(),
            _ = reader.read_u8() => return Ok(()),
        }
    };
    writer.write_all(format!("{answer}\n").as_bytes()).await
}
