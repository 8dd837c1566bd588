//! A testee: a process in one language that reads requests and writes answers, one a line.
//! `testees/README.md` describes the protocol.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::Pid;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex as Turn, oneshot};
use tokio::time::timeout;

use crate::error::Error;

/// How long an answer may take on a busy machine; no scenario waits longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How to start the testees of one language.
#[derive(Debug, Clone)]
pub(crate) struct Language {
    pub(crate) name: String,
    command: Vec<String>,
}

impl Language {
    /// From `NAME=COMMAND ARGUMENT…`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let (name, command) = text.split_once('=').unwrap_or_default();
        let command: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        if name.is_empty() || command.is_empty() {
            return Err(format!("{text:?} is not LANGUAGE=COMMAND").into());
        }
        Ok(Language { name: name.to_owned(), command })
    }

    /// The testee that is built beside this program.
    pub(crate) fn rust() -> Result<Self, Error> {
        let command = beside("testee-rust")?;
        let command = command.to_str().ok_or("a path that is no text")?.to_owned();
        Ok(Language { name: "rust".into(), command: vec![command] })
    }
}

/// The path of a program that is built with this one.
pub(crate) fn beside(name: &str) -> Result<PathBuf, Error> {
    let mut program = std::env::current_exe()?;
    if program.parent().is_some_and(|folder| folder.ends_with("deps")) {
        program.pop(); // a test program stands a folder deeper
    }
    program.set_file_name(name);
    Ok(program)
}

/// An answer as received.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    n: u64,
    gives: Option<Value>,
    fails: Option<Failure>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The operation may have been executed.
    #[serde(default)]
    pub(crate) unknown: bool,
}

pub(crate) type Answer = Result<Value, Failure>;

/// Senders for pending answers; `None` once the testee has ended.
type Waiting = Arc<Mutex<Option<HashMap<u64, oneshot::Sender<Answer>>>>>;

pub(crate) struct Testee {
    pub(crate) language: String,
    spec: (Language, Vec<(&'static str, PathBuf)>),
    /// What it supports besides every operation.
    pub(crate) abilities: Vec<String>,
    /// It plays only scenarios that need this.
    pub(crate) only: Option<String>,
    child: Child,
    input: Turn<ChildStdin>,
    waiting: Waiting,
    next: AtomicU64,
}

/// An answer that is still to come.
pub(crate) struct Pending(oneshot::Receiver<Answer>);

impl Pending {
    pub(crate) async fn answer(self) -> Result<Answer, Error> {
        match timeout(PATIENCE, self.until_ended()).await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err("the testee has ended".into()),
            Err(_) => Err(format!("no answer in {PATIENCE:?}").into()),
        }
    }

    /// Waits without limit; `None` if the testee has ended.
    pub(crate) async fn until_ended(self) -> Option<Answer> {
        self.0.await.ok()
    }
}

impl Testee {
    pub(crate) async fn start(
        language: &Language,
        environment: &[(&'static str, PathBuf)],
    ) -> Result<Self, Error> {
        let mut child = Command::new(&language.command[0])
            .args(&language.command[1..])
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", language.command[0]))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a testee has no stdin or stdout".into());
        };
        let waiting: Waiting = Arc::new(Mutex::new(Some(HashMap::new())));
        tokio::spawn(read(output, waiting.clone(), language.name.clone()));
        let spec = (language.clone(), environment.to_vec());
        let language = language.name.clone();
        let (abilities, only) = (Vec::new(), None);
        let (input, next) = (Turn::new(input), AtomicU64::new(0));
        let mut testee = Testee { language, spec, abilities, only, child, input, waiting, next };
        let hello = testee.ask(serde_json::json!({ "op": "hello" })).await?.answer().await?;
        let hello = hello.map_err(|failure| failure.message)?;
        testee.abilities = serde_json::from_value(hello["can"].clone())?;
        testee.only = serde_json::from_value(hello["only"].clone())?;
        Ok(testee)
    }

    /// Another process like this one.
    pub(crate) async fn again(&self) -> Result<Self, Error> {
        let (language, environment) = &self.spec;
        Testee::start(language, environment).await
    }

    /// Sends a request, an object.
    pub(crate) async fn ask(&self, mut request: Value) -> Result<Pending, Error> {
        let pending = self.expect(&mut request);
        let line = format!("{request}\n");
        let sent = self.input.lock().await.write_all(line.as_bytes()).await;
        sent.map_err(|error| format!("the testee in {} is gone: {error}", self.language))?;
        Ok(pending)
    }

    /// Gives a request the number of its answer, without sending it.
    pub(crate) fn expect(&self, request: &mut Value) -> Pending {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        request["n"] = n.into();
        let (answer, pending) = oneshot::channel();
        if let Some(waiting) = lock(&self.waiting).as_mut() {
            waiting.insert(n, answer);
        }
        Pending(pending)
    }

    /// The process id; valid as long as this value exists.
    pub(crate) fn pid(&self) -> Option<Pid> {
        self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()))
    }

    /// Waits for the end of the process, which may be caused by a signal: then it has no status.
    pub(crate) async fn exit_status(&mut self) -> Result<Option<i32>, Error> {
        let ended = timeout(PATIENCE, self.child.wait()).await;
        Ok(ended.map_err(|_| format!("the process has not ended in {PATIENCE:?}"))??.code())
    }

    /// Ends the process; its exit status must be 0.
    pub(crate) async fn end(mut self) -> Result<(), Error> {
        drop(self.input);
        match timeout(PATIENCE, self.child.wait()).await {
            Ok(status) if status.as_ref().is_ok_and(std::process::ExitStatus::success) => Ok(()),
            ended => {
                Err(format!("the testee in {} did not end well: {ended:?}", self.language).into())
            }
        }
    }
}

fn lock(
    waiting: &Waiting,
) -> std::sync::MutexGuard<'_, Option<HashMap<u64, oneshot::Sender<Answer>>>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn read(output: tokio::process::ChildStdout, waiting: Waiting, language: String) {
    let mut output = BufReader::new(output);
    let mut text = String::new();
    // The last line of a killed process may be incomplete.
    while output.read_line(&mut text).await.is_ok() && text.ends_with('\n') {
        let (n, answer) = match serde_json::from_str::<Line>(&text) {
            Ok(Line { n, fails: Some(failure), .. }) => (n, Err(failure)),
            Ok(Line { n, gives, .. }) => (n, Ok(gives.unwrap_or_default())),
            Err(error) => {
                eprintln!("the testee in {language} says {text:.200}: {error}");
                break;
            }
        };
        if let Some(caller) = lock(&waiting).as_mut().and_then(|waiting| waiting.remove(&n)) {
            let _ = caller.send(answer);
        }
        text.clear();
    }
    // Ends all pending and later waits.
    *lock(&waiting) = None;
}
