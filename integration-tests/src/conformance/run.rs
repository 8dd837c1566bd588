//! One scenario, with one team of testees, on one engine.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio::task::block_in_place;

use super::clock::Clock;
use super::engines::Engine;
use super::expect::Expect;
use super::processes::Processes;
use super::scenario::{ClockMode, Scenario, Step, applies};
use super::testee::{Answer, Pending, Testee};
use super::value;
use crate::error::Error;

/// The tolerance of times on a running clock.
const WITHIN_MS: u64 = 1_000;

/// The pause between two repetitions of a step.
const AGAIN: Duration = Duration::from_millis(5);

/// Testees that play together: each client of a scenario runs in one of them.
pub(super) struct Team {
    /// `rust`, or `mixed`.
    pub(super) name: String,
    pub(super) testees: Vec<Testee>,
}

pub(super) struct Run<'a> {
    scenario: &'a Scenario,
    engine: &'a Engine,
    clock: &'a Clock,
    team: &'a mut Team,
    /// The number of the run; each run assigns clients to testees differently.
    number: usize,
    place: String,
    /// The clients so far, each with its testee.
    clients: BTreeMap<String, usize>,
    /// Clients in processes of their own.
    processes: Processes,
    queues: BTreeSet<String>,
    begun: BTreeMap<String, Pending>,
    kept: Map<String, Value>,
    by_hand: bool,
}

/// Whether the team can play the scenario on the engine.
pub(super) fn is_meant(scenario: &Scenario, team: &Team, engine: &Engine) -> bool {
    let suits = |testee: &Testee| {
        scenario.needs.iter().all(|need| testee.abilities.contains(need))
            && testee.only.iter().all(|only| scenario.needs.contains(only))
    };
    applies(scenario.only.as_ref(), engine.name(), engine.family())
        && team.testees.iter().all(suits)
}

/// The failed step and its answer; `None` if the scenario passes.
pub(super) async fn play(
    scenario: &Scenario,
    engine: &Engine,
    clock: &Clock,
    team: &mut Team,
    number: usize,
) -> Result<(), Error> {
    clock.begin(scenario.clock == ClockMode::Runs)?;
    engine.catch_up(clock.now_ms())?;
    let mut run = Run {
        scenario,
        engine,
        clock,
        place: format!("run{number}"),
        team,
        number,
        clients: BTreeMap::new(),
        processes: Processes::default(),
        queues: BTreeSet::new(),
        begun: BTreeMap::new(),
        kept: Map::new(),
        by_hand: false,
    };
    let result = run.steps().await;
    let restored = run.restore();
    let ended = run.end(result.is_ok()).await;
    result.and(restored).and(ended)
}

impl Run<'_> {
    /// Undoes what the steps have changed of the server.
    fn restore(&self) -> Result<(), Error> {
        for command in &self.scenario.finally {
            let words: Vec<&str> = command.iter().map(String::as_str).collect();
            block_in_place(|| self.engine.command(&words))?;
        }
        Ok(())
    }

    async fn steps(&mut self) -> Result<(), Error> {
        let scenario = self.scenario;
        for (i, step) in scenario.steps.iter().enumerate() {
            if !applies(step.only.as_ref(), self.engine.name(), self.engine.family()) {
                continue;
            }
            let (name, _) = step.operation()?;
            let done = self.until_right(step).await;
            done.map_err(|error| format!("step {} ({name}): {error}", i + 1))?;
        }
        if let Some(name) = self.begun.keys().next() {
            return Err(format!("{name} was begun and never ended").into());
        }
        Ok(())
    }

    /// Repeats the step, if possible, until the answer is right.
    async fn until_right(&mut self, step: &Step) -> Result<(), Error> {
        let end = Instant::now() + Duration::from_millis(step.within_ms);
        loop {
            let done = self.step(step).await;
            if done.is_ok() || Instant::now() >= end {
                return done;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn step(&mut self, step: &Step) -> Result<(), Error> {
        let (name, written) = step.operation()?;
        let arguments = &value::fill(written, &self.kept)?;
        match name {
            "advance_ms" => {
                self.clock.advance(arguments.as_u64().ok_or("advance_ms is a whole number")?)?;
                self.engine.catch_up(self.clock.now_ms())
            }
            "redis" => {
                self.by_hand = true;
                let words = arguments.as_array().ok_or("redis is a list of words")?;
                let words: Vec<String> = words
                    .iter()
                    .map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned))
                    .map(|word| word.replace("NAMESPACE", &self.place))
                    .collect();
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                self.keep(step, &self.engine.command(&words)?)
            }
            "sql" => {
                self.by_hand = true;
                self.engine.sql(&self.place, arguments.as_str().ok_or("sql is text")?)
            }
            "end" => {
                let begun = arguments.as_str().and_then(|name| self.begun.remove(name));
                let answer = begun.ok_or("nothing was begun by this name")?.answer().await?;
                self.check(step, answer)
            }
            "cancel" => {
                let request = json!({ "op": "cancel", "call": arguments });
                let answer = self.ask(&step.by, request).await?.answer().await?;
                self.check(step, answer)
            }
            "spawn" => {
                let testee = self.next_testee();
                self.processes.spawn(&step.by, &self.team.testees[testee]).await
            }
            "signal" => self.processes.signal(&step.by, arguments),
            "exit_status" => {
                let status = self.processes.exit_status(&step.by).await?;
                self.check(step, Ok(status))
            }
            "connect" => {
                let answer = self.connect(&step.by, arguments).await?;
                self.check(step, answer)
            }
            operation => {
                let pending = self.operate(step, operation, arguments).await?;
                match &step.begin {
                    Some(name) => {
                        self.begun.insert(name.clone(), pending);
                        Ok(())
                    }
                    None => {
                        let answer = pending.answer().await?;
                        self.check(step, answer)
                    }
                }
            }
        }
    }

    /// On `memory:` all clients are one, because another client would have queues of its own.
    fn client(&self, by: &str) -> String {
        if matches!(self.engine, Engine::Memory) { "one".into() } else { by.to_owned() }
    }

    async fn connect(&mut self, by: &str, arguments: &Value) -> Result<Answer, Error> {
        let mut url = match arguments.get("url").and_then(Value::as_str) {
            Some(url) => url.to_owned(),
            None => self.engine.url(&self.place),
        };
        if let Some(options) = arguments.get("options").and_then(Value::as_str) {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(&options.replace("NAMESPACE", &self.place));
        }
        let connect = json!({ "op": "connect", "url": url });
        if self.processes.has(by) {
            return self.ask(by, connect).await?.answer().await;
        }
        let name = self.client(by);
        let testee = self.next_testee();
        let known = self.clients.contains_key(&name);
        self.clients.entry(name.clone()).or_insert(testee);
        let answer = self.ask(by, connect).await?.answer().await?;
        if answer.is_err() && !known {
            self.clients.remove(&name);
        }
        Ok(answer)
    }

    /// In a mixed team, different testees in rotation.
    fn next_testee(&self) -> usize {
        (self.number + self.clients.len()) % self.team.testees.len()
    }

    async fn ask(&mut self, by: &str, mut request: Value) -> Result<Pending, Error> {
        if self.processes.has(by) {
            request["client"] = by.into();
            return self.processes.ask(by, request).await;
        }
        let name = self.client(by);
        let testee = self.clients.get(&name).copied().ok_or("the client has not connected")?;
        request["client"] = name.into();
        self.team.testees[testee].ask(request).await
    }

    async fn operate(
        &mut self,
        step: &Step,
        operation: &str,
        arguments: &Value,
    ) -> Result<Pending, Error> {
        let connected =
            self.processes.connected(&step.by) || self.clients.contains_key(&self.client(&step.by));
        if !connected {
            let connected = self.connect(&step.by, &Value::Null).await?;
            connected.map_err(|failure| format!("connect: {}", failure.message))?;
        }
        self.queues.insert(step.queue.clone());
        let mut request = value::to_wire(arguments)?;
        if !request.is_object() {
            request = json!({});
        }
        request["op"] = operation.into();
        request["queue"] = step.queue.clone().into();
        if let Some(name) = &step.named {
            request["as"] = name.clone().into();
        }
        if let Some(name) = &step.begin {
            request["call"] = name.clone().into();
        }
        self.ask(&step.by, request).await
    }

    /// Compares the answer with the expectation of the step, and stores the kept parts.
    fn check(&mut self, step: &Step, answer: Answer) -> Result<(), Error> {
        let answer = match (answer, &step.fails) {
            (Err(failure), Some(kind)) if failure.kind == *kind => {
                let message = &failure.message;
                let wrong =
                    |part: &str, does: &str| Err(format!("{message:?} {does} {part}").into());
                if let Some(part) = step.says.iter().find(|part| !message.contains(*part)) {
                    return wrong(part, "does not say");
                }
                if let Some(part) = step.hides.iter().find(|part| message.contains(*part)) {
                    return wrong(part, "says");
                }
                return Ok(());
            }
            (Err(failure), _) => {
                return Err(format!("failed: {}: {}", failure.kind, failure.message).into());
            }
            (Ok(answer), Some(kind)) => {
                return Err(format!("did not fail with {kind}, but gave {answer}").into());
            }
            (Ok(answer), None) => value::from_wire(&answer)?,
        };
        if let Some(pattern) = &step.gives {
            let runs = self.scenario.clock == ClockMode::Runs;
            let expect = Expect {
                now_ms: self.clock.now_ms(),
                within_ms: if runs { WITHIN_MS } else { 0 },
                kept: &self.kept,
            };
            if let Some(fault) = expect.fault(pattern, &answer) {
                return Err(fault.into());
            }
        }
        self.keep(step, &answer)
    }

    fn keep(&mut self, step: &Step, answer: &Value) -> Result<(), Error> {
        for (name, pointer) in &step.keep {
            let found = pointer.as_str().and_then(|pointer| answer.pointer(pointer));
            let found = found.ok_or_else(|| format!("nothing to keep at {pointer}: {answer}"))?;
            self.kept.insert(name.clone(), found.clone());
        }
        Ok(())
    }

    /// After every scenario `check` must find nothing. Then closes the clients.
    async fn end(&mut self, well: bool) -> Result<(), Error> {
        let mut result = Ok(());
        if well && !self.by_hand {
            for queue in std::mem::take(&mut self.queues) {
                let Some(by) = self.clients.keys().next_back().cloned() else { break };
                let check = json!({ "op": "check", "queue": queue });
                match self.ask(&by, check).await?.answer().await? {
                    Ok(report) if report["sound"] != json!(true) => {
                        result = Err(format!("check of {queue} found {report}").into());
                    }
                    // A scenario may have closed its clients, or used an invalid queue name.
                    Ok(_) | Err(_) => {}
                }
            }
        }
        for name in std::mem::take(&mut self.clients).into_iter() {
            let close = json!({ "op": "close", "client": name.0 });
            let answer = self.team.testees[name.1].ask(close).await?.answer().await?;
            if let Err(failure) = answer {
                result = result.and(Err(format!("close: {}", failure.message).into()));
            }
        }
        result
    }
}
