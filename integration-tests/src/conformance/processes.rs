//! Clients in processes of their own, which a scenario may end.

use std::collections::BTreeMap;

use rustix::process::{Signal, kill_process};
use serde_json::Value;

use super::testee::{Pending, Testee};
use crate::error::Error;

#[derive(Default)]
pub(super) struct Processes(BTreeMap<String, Process>);

struct Process {
    testee: Testee,
    /// Whether it has a client.
    connected: bool,
}

impl Processes {
    /// Starts a process like this one, in which the client will be.
    pub(super) async fn spawn(&mut self, client: &str, like: &Testee) -> Result<(), Error> {
        let testee = like.again().await?;
        self.0.insert(client.to_owned(), Process { testee, connected: false });
        Ok(())
    }

    pub(super) fn has(&self, client: &str) -> bool {
        self.0.contains_key(client)
    }

    pub(super) fn connected(&self, client: &str) -> bool {
        self.0.get(client).is_some_and(|process| process.connected)
    }

    pub(super) async fn ask(&mut self, client: &str, request: Value) -> Result<Pending, Error> {
        let process = self.get(client)?;
        process.connected = true;
        process.testee.ask(request).await
    }

    pub(super) fn signal(&mut self, client: &str, name: &Value) -> Result<(), Error> {
        let signal = match name.as_str() {
            Some("TERM") => Signal::TERM,
            Some("INT") => Signal::INT,
            Some("KILL") => Signal::KILL,
            _ => return Err(format!("unknown signal {name}").into()),
        };
        let pid = self.get(client)?.testee.pid().ok_or("the process has ended")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Waits for the end of the process; null if a signal has ended it.
    pub(super) async fn exit_status(&mut self, client: &str) -> Result<Value, Error> {
        Ok(self.get(client)?.testee.exit_status().await?.into())
    }

    fn get(&mut self, client: &str) -> Result<&mut Process, Error> {
        let process = self.0.get_mut(client);
        process.ok_or_else(|| format!("{client} has no process of its own").into())
    }
}
