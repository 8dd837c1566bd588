//! The processes: each leases and completes, and whoever asks for an item looks after the schedule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::conformance::clock::Clock;
use crate::conformance::testee::{Answer, Language, Testee};
use crate::error::Error;
use crate::faults::jobs::control::QUEUE;
use crate::faults::rng::SeededRng;

const CLIENT: &str = "c";
/// How far clocks are off.
const OFF_MS: [i64; 2] = [5 * 3_600_000, -7 * 3_600_000];

pub(super) struct Crew {
    languages: Vec<Language>,
    url: String,
    clocks: Vec<Clock>,
    seen: Arc<Seen>,
    members: Vec<Member>,
    started: usize,
    _folders: Vec<tempfile::TempDir>,
}

struct Member {
    testee: Arc<Testee>,
    work: JoinHandle<()>,
}

impl Crew {
    pub(super) fn new(
        languages: Vec<Language>,
        url: String,
        clocks_are_off: bool,
    ) -> Result<Crew, Error> {
        let (mut clocks, mut folders) = (Vec::new(), Vec::new());
        for off in OFF_MS.into_iter().filter(|_| clocks_are_off) {
            let folder = tempfile::tempdir()?;
            let clock = Clock::new(folder.path())?;
            clock.run_ahead(off)?;
            clocks.push(clock);
            folders.push(folder);
        }
        let (seen, members) = (Arc::default(), Vec::new());
        Ok(Crew { languages, url, clocks, seen, members, started: 0, _folders: folders })
    }

    pub(super) fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Starts a process in the next language, and returns when it is connected.
    pub(super) async fn add(&mut self) -> Result<(), Error> {
        let language = &self.languages[self.started % self.languages.len()];
        // One in three has the right clock.
        let clock = self.clocks.get(self.started % (OFF_MS.len() + 1));
        let environment: Vec<(_, PathBuf)> = clock.iter().flat_map(|it| it.environment()).collect();
        let testee = Arc::new(Testee::start(language, &environment).await?);
        let connect = json!({ "op": "connect", "client": CLIENT, "url": self.url });
        let connected = testee.ask(connect).await?.answer().await?;
        connected.map_err(|failure| format!("{}: {}", testee.language, failure.message))?;
        let work = tokio::spawn(work(testee.clone(), self.seen.clone()));
        self.members.push(Member { testee, work });
        self.started += 1;
        Ok(())
    }

    pub(super) async fn kill_one(&mut self, rng: &mut SeededRng) -> Result<(), Error> {
        let which = rng.number(0..self.members.len() as u64);
        let member = self.members.swap_remove(usize::try_from(which)?);
        let pid = member.testee.pid().ok_or("a process has ended by itself")?;
        kill_process(pid, Signal::KILL)?;
        member.work.await?;
        Ok(())
    }

    /// Lets all processes finish what they do, and ends them.
    pub(super) async fn end(&mut self) -> Result<(), Error> {
        self.seen.over.store(true, Ordering::Relaxed);
        for Member { testee, work } in std::mem::take(&mut self.members) {
            work.await?;
            Arc::into_inner(testee).ok_or("a process is still in use")?.end().await?;
        }
        Ok(())
    }
}

/// Until all is over, or the process is killed.
async fn work(testee: Arc<Testee>, seen: Arc<Seen>) {
    let ask = async |mut request: Value| -> Result<Answer, Error> {
        request["client"] = CLIENT.into();
        request["queue"] = QUEUE.into();
        testee.ask(request).await?.answer().await
    };
    while !seen.over.load(Ordering::Relaxed) {
        let lease = json!({ "op": "lease", "duration_ms": 2_000, "wait_ms": 250, "as": "l" });
        match ask(lease).await {
            Ok(Ok(Value::Null)) => {}
            Ok(Ok(lease)) => {
                seen.lease(&lease);
                match ask(json!({ "op": "complete", "lease": "l" })).await {
                    Ok(Ok(done)) => seen.complete(done == true),
                    Ok(Err(failure)) => seen.fails(&failure.kind, &failure.message),
                    Err(_) => return,
                }
            }
            Ok(Err(failure)) => seen.fails(&failure.kind, &failure.message),
            Err(_) => return,
        }
    }
}

/// What the processes have seen.
#[derive(Default)]
pub(super) struct Seen {
    over: AtomicBool,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    /// The generations of each id.
    generations: BTreeMap<String, BTreeSet<String>>,
    leases: usize,
    completes: usize,
    faults: Vec<String>,
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lease(&self, lease: &Value) {
        let text = |name: &str| lease[name].as_str().unwrap_or_default().to_owned();
        let mut all = self.lock();
        all.leases += 1;
        let generation = lease["generation"].to_string();
        all.generations.entry(text("id")).or_default().insert(generation);
    }

    fn complete(&self, done: bool) {
        self.lock().completes += usize::from(done);
    }

    /// The server may be away for a while; nothing else may go wrong.
    fn fails(&self, kind: &str, message: &str) {
        if kind != "UNAVAILABLE" {
            self.lock().faults.push(format!("{kind}: {message}"));
        }
    }

    pub(super) fn leases(&self) -> usize {
        self.lock().leases
    }

    pub(super) fn completes(&self) -> usize {
        self.lock().completes
    }

    pub(super) fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }

    pub(super) fn generations(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.lock().generations.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_generations_of_an_id_are_two() {
        let seen = Seen::default();
        for generation in [7, 8, 8] {
            seen.lease(&json!({ "id": "aa", "generation": generation }));
        }
        assert_eq!(seen.generations()["aa"].len(), 2);
    }
}
