//! The worker processes. A process that has ended is replaced by another one.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::control::QUEUE;
use super::history::{MS, Micros, Run, Worker, now};
use super::memory::MemoryGroup;
use super::{log, processes};
use crate::conformance::testee::{Language, Testee};
use crate::error::Error;
use crate::faults::rng::SeededRng;

/// Handlers of a worker at the same time.
pub(super) const SLOTS: usize = 3;
/// A form of children, with what a testee must be able to do for it.
type Form = (&'static str, fn() -> Value);
const FORMS: [Form; 5] = [
    ("children", || json!({})),
    ("fork_children", || json!({ "fork": true })),
    ("threads", || json!({ "threads": true })),
    ("children", || json!({ "max_jobs": 3 })),
    ("children", || json!({ "max_jobs": 1 })),
];
/// What a child may use; `load.rs` has jobs that want more.
const MEMORY_LIMIT_MIB: u64 = 160;
/// Worker processes at the same time.
const PROCESSES: usize = 3;
const LEASE_MS: u64 = 1_500;
/// How long a process that was stopped may take to learn that its leases are lost.
const STARTING: Micros = 500 * MS;
/// What an orderly end may take longer than the grace period: 3 s for cancelled handlers, 1.7 s for the rest, and what a
/// busy machine adds.
const ENDING: Duration = Duration::from_secs(8);

pub(super) struct Fleet {
    /// Names the run in the environment of its processes.
    run: String,
    /// Whether handlers run in children.
    children: bool,
    /// What all processes are in.
    memory: Option<MemoryGroup>,
    languages: Vec<Language>,
    url: String,
    logs: PathBuf,
    rng: SeededRng,
    /// Of the processes that run.
    running: Vec<Running>,
    /// Every process so far.
    workers: Vec<Worker>,
    /// When the server did not answer.
    pub(super) windows: Vec<(Micros, Micros)>,
}

struct Running {
    testee: Testee,
    worker: usize,
    grace: Duration,
    prefetch: usize,
}

impl Fleet {
    pub(super) async fn start(
        languages: Vec<Language>,
        url: String,
        logs: PathBuf,
        rng: SeededRng,
        children: bool,
        memory: Option<MemoryGroup>,
    ) -> Result<Fleet, Error> {
        let run = format!("{:032x}", rand::random::<u128>());
        let (running, workers, windows) = (Vec::new(), Vec::new(), Vec::new());
        let mut fleet =
            Fleet { run, children, memory, languages, url, logs, rng, running, workers, windows };
        fleet.fill_up().await?;
        Ok(fleet)
    }

    fn log(&self, worker: usize) -> PathBuf {
        self.logs.join(format!("{worker}.log"))
    }

    /// Starts as many processes as there are to be.
    pub(super) async fn fill_up(&mut self) -> Result<(), Error> {
        while self.running.len() < PROCESSES {
            self.add().await?;
        }
        Ok(())
    }

    /// Starts one more process.
    pub(super) async fn add(&mut self) -> Result<(), Error> {
        let worker = self.workers.len();
        let language = &self.languages[worker % self.languages.len()];
        let run = format!("{}:{worker}", self.run).into();
        let mut environment = vec![(processes::RUN, run), (processes::NO_STARTS, self.no_starts())];
        environment.extend(self.memory.as_ref().and_then(MemoryGroup::environment));
        let testee = Testee::start(language, &environment).await?;
        if let (Some(memory), Some(pid)) = (&self.memory, testee.pid()) {
            memory.join(pid)?;
        }
        let grace = *self.rng.pick(&[0, 100, 1_000]);
        let prefetch = *self.rng.pick(&[0, 3]);
        let retry = json!({ "max": 5, "base_ms": 20, "cap_ms": 200 });
        let mut start = json!({
            "op": "start_worker", "client": "w", "queue": QUEUE, "process": true,
            "slots": SLOTS, "prefetch": prefetch, "lease_ms": LEASE_MS, "kill_after_ms": 100, "grace_ms": grace,
            "log": self.log(worker),
            "jobs": {
                "work": { "timeout_ms": 300, "retry": retry },
                "other": { "timeout_ms": 100, "retry": retry, "thread": true },
                "third": { "timeout_ms": 60_000, "retry": retry },
            },
        });
        if self.children {
            // By turns, and another one each time it is the turn of the language.
            let can = |form: &&Form| testee.abilities.iter().any(|can| can == form.0);
            let forms: Vec<_> = FORMS.iter().filter(can).collect();
            let turn = worker + worker / self.languages.len();
            let (_, form) = forms.get(turn % forms.len().max(1)).ok_or("it has no children")?;
            start["children"] = form();
            start["children"]["memory_limit_mib"] = MEMORY_LIMIT_MIB.into();
        }
        let connect = json!({ "op": "connect", "client": "w", "url": self.url });
        // The server may have just come back.
        for request in [connect, start] {
            let answer = testee.ask(request).await?.answer().await?;
            answer.map_err(|failure| format!("worker {worker}: {}", failure.message))?;
        }
        self.workers.push(Worker::default());
        let grace = Duration::from_millis(grace);
        self.running.push(Running { testee, worker, grace, prefetch });
        Ok(())
    }

    fn any(&mut self) -> usize {
        self.rng.number(0..self.running.len() as u64) as usize
    }

    /// Exists while children are not to start.
    pub(super) fn no_starts(&self) -> PathBuf {
        self.logs.join("no-starts")
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    pub(super) fn is_worker(&self, pid: Pid) -> bool {
        self.running.iter().any(|process| process.testee.pid() == Some(pid))
    }

    /// Kills one.
    pub(super) async fn kill(&mut self) -> Result<(), Error> {
        let any = self.any();
        let mut killed = self.running.swap_remove(any);
        signal(&killed.testee, Signal::KILL)?;
        killed.testee.exit_status().await?;
        self.note_end(killed.worker, true);
        Ok(())
    }

    pub(super) fn memory(&self) -> Result<&MemoryGroup, Error> {
        Ok(self.memory.as_ref().ok_or("the workers share no memory")?)
    }

    /// Waits until the kernel has killed all.
    pub(super) async fn until_killed(&mut self) -> Result<(), Error> {
        let mut ends = JoinSet::new();
        for mut process in self.running.drain(..) {
            // Each is noticed when it happens: others may get the jobs soon after.
            ends.spawn(async move { (process.testee.exit_status().await, process.worker, now()) });
        }
        while let Some(ended) = ends.join_next().await {
            let (status, worker, at) = ended?;
            if let Some(status) = status? {
                return Err(
                    format!("worker {worker} was not killed, but ended with {status}").into()
                );
            }
            self.note_end_at(worker, true, at);
        }
        Ok(())
    }

    /// Stops one for this time.
    pub(super) async fn stop(&mut self, time: Duration) -> Result<(), Error> {
        let any = self.any();
        let stopped = &self.running[any];
        let from = now();
        signal(&stopped.testee, Signal::STOP)?;
        tokio::time::sleep(time).await;
        signal(&stopped.testee, Signal::CONT)?;
        // It may start what it had leased before it learns that the lease is lost.
        self.workers[stopped.worker].stops.push((from, now() + STARTING));
        Ok(())
    }

    /// Sends so many signals, 1 to 3, with these pauses; the process must end in order.
    pub(super) async fn signal(&mut self, pauses: &[Duration]) -> Result<(), Error> {
        let any = self.any();
        let signalled = self.running.swap_remove(any);
        self.end_one(signalled, pauses).await
    }

    async fn end_one(&mut self, mut process: Running, pauses: &[Duration]) -> Result<(), Error> {
        let Running { testee, worker, grace, .. } = &mut process;
        let began = Instant::now();
        // Two signals of one kind may become one.
        for (pause, name) in pauses.iter().zip([Signal::TERM, Signal::INT, Signal::TERM]) {
            tokio::time::sleep(*pause).await;
            // It may have ended before the next one.
            _ = signal(testee, name);
        }
        let status = testee.exit_status().await?;
        let (took, at_once) = (began.elapsed(), pauses.len() == 3);
        self.note_end(*worker, at_once);
        if status != Some(0) && !(at_once && status == Some(1)) {
            return Err(format!("worker {worker} ended with {status:?}").into());
        }
        let most = *grace + ENDING + pauses.iter().sum::<Duration>();
        if took > most {
            return Err(format!("worker {worker} took {took:?} to end, more than {most:?}").into());
        }
        Ok(())
    }

    /// Ends all in order. Returns what was wrong.
    pub(super) async fn end(&mut self) -> Result<Vec<String>, Error> {
        let mut faults = Vec::new();
        while let Some(process) = self.running.pop() {
            if let Err(error) = self.end_one(process, &[Duration::ZERO]).await {
                faults.push(error.to_string());
            }
        }
        faults.extend(processes::left_behind(&self.run, &self.workers).await);
        Ok(faults)
    }

    fn note_end(&mut self, worker: usize, abrupt: bool) {
        self.note_end_at(worker, abrupt, now());
    }

    fn note_end_at(&mut self, worker: usize, abrupt: bool, at: Micros) {
        self.workers[worker].ended = Some(at);
        self.workers[worker].abrupt = abrupt;
    }

    /// How many handlers can run at the same time.
    pub(super) fn slots(&self) -> usize {
        self.running.len() * SLOTS
    }

    /// How many jobs the workers lease before they have slots for them.
    pub(super) fn prefetched(&self) -> usize {
        self.running.iter().map(|process| process.prefetch).sum()
    }

    /// All runs of handlers so far.
    pub(super) fn all_runs(&self) -> Result<Vec<Run>, Error> {
        let mut runs = Vec::new();
        for worker in 0..self.workers.len() {
            runs.extend(log::read(&self.log(worker), worker)?);
        }
        Ok(runs)
    }

    pub(super) fn runs(self) -> Result<(Vec<Run>, Vec<Worker>), Error> {
        Ok((self.all_runs()?, self.workers))
    }

    /// The server did not answer from then to now, and what it may have disturbed afterwards.
    pub(super) fn note_outage(&mut self, from: Micros) {
        self.windows.push((from, now() + LEASE_MS * MS));
    }
}

fn signal(testee: &Testee, signal: Signal) -> Result<(), Error> {
    Ok(kill_process(testee.pid().ok_or("a worker has ended by itself")?, signal)?)
}
