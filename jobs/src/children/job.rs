//! One job in a child.

use std::pin::Pin;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgid, getpgrp, kill_process_group};
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};

use super::child::{CLOSED, Child, LISTENING};
use super::memory;
use super::message::{About, FromChild, ToChild};
use super::options::Children;
use crate::{Finish, JobError, Reason, Task};

/// How long a handler may go on when another worker may have its job.
const AFTER_LOSS: Duration = Duration::from_secs(3);
/// How often the memory is looked at.
const MEMORY_EVERY: Duration = Duration::from_millis(100);
/// What a child has said before its end is there at once, unless another process keeps the connection open.
const AFTER_END: Duration = Duration::from_millis(200);
/// How long a child may take to notice that the process that it has forked is dead.
const DYING: Duration = Duration::from_millis(500);

/// Why the wait for an answer ends.
enum End {
    Answered(Finish),
    /// The worker wants it to end.
    Killed,
    OverLimit(u64),
    NotStarted,
    /// It breaks the rules.
    Confused(String),
    /// Its connection is closed, or it has ended.
    Gone,
}

/// What is known about a job in a child.
struct Job<'a> {
    number: u64,
    task: &'a Task,
    options: &'a Children,
    /// Of a child that forks: the process that runs the handler.
    fork: Option<Pid>,
    is_started: bool,
    kill_at: Option<Instant>,
}

/// How a job in a child has ended.
pub(crate) struct Ran {
    pub(crate) finish: Finish,
    /// Whether the child lives.
    pub(crate) is_alive: bool,
    /// The child has ended without a word about the job: perhaps it was about to end anyway.
    pub(crate) never_started: bool,
}

impl Child {
    /// Runs a task.
    pub(crate) async fn run(&mut self, task: &Task, options: &Children) -> Ran {
        self.jobs += 1;
        let number = self.jobs;
        let mut job = Job { number, task, options, fork: None, is_started: false, kill_at: None };
        let end = match ToChild::run(number, task) {
            Ok(frame) => tokio::select! {
                biased;
                end = job.follow(self, frame) => end,
                () = task.killed() => End::Killed,
            },
            Err(error) => End::Answered(Finish::InvalidArgs(error.to_string())),
        };
        let ran = |finish, is_alive| Ran { finish, is_alive, never_started: false };
        let finish = match end {
            End::Answered(finish) => return ran(finish, true),
            End::Gone => {
                let (finish, answered) = self.after_its_end(&mut job).await;
                let never_started = !answered && !job.is_started;
                return Ran { finish, is_alive: false, never_started };
            }
            End::Killed => Finish::Cancelled,
            End::OverLimit(bytes) => Finish::Failed(out_of_memory(bytes, options)),
            End::NotStarted => Finish::Failed(JobError::new(
                "ChildHung",
                format!("the child did not start the job within {LISTENING:?}"),
            )),
            End::Confused(reason) => Finish::Failed(JobError::new("ChildConfused", reason)),
        };
        // First the process, then the report: another worker may start the job at once.
        self.end(job.fork).await;
        ran(finish, false)
    }

    /// It has ended by itself, perhaps after its answer. Returns whether that was heard.
    async fn after_its_end(&mut self, job: &mut Job<'_>) -> (Finish, bool) {
        let answer = async {
            while let Ok(message) = self.connection.read().await {
                match message {
                    FromChild::Job(number, About::Ended(finish)) if number == job.number => {
                        return Some(finish);
                    }
                    FromChild::Job(..) => job.is_started = true,
                    _ => {}
                }
            }
            None
        };
        let answer = timeout(AFTER_END, answer).await.ok().flatten();
        self.settle_down().await;
        self.end(job.fork).await;
        match answer {
            Some(finish) => (finish, true),
            None => (Finish::Failed(self.process.obituary().await.error()), false),
        }
    }

    /// Kills the child, and the process that it has forked for a job.
    async fn end(&self, fork: Option<Pid>) {
        if let Some(fork) = fork {
            _ = kill_process_group(fork, Signal::KILL);
            // The child ends when that process has: until then it may still run.
            _ = timeout(DYING, self.process.exited()).await;
        }
        self.process.end().await;
    }
}

impl<'a> Job<'a> {
    /// Starts the job, and follows it to its end.
    async fn follow(&mut self, child: &mut Child, run: bytes::Bytes) -> End {
        if let Err(reason) = child.connection.write(run).await {
            return if reason == CLOSED { End::Gone } else { End::NotStarted };
        }
        let start_by = Instant::now() + LISTENING;
        let mut memory = interval(MEMORY_EVERY);
        memory.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_told = false;
        let mut progress = Progress::default();
        loop {
            let Child { process, connection, .. } = child;
            let wake = match self.is_started {
                true => self.kill_at,
                false => Some(start_by),
            };
            tokio::select! {
                biased;
                message = connection.read() => match message {
                    Ok(FromChild::Job(number, about)) if number == self.number => {
                        match self.hear(about, &mut progress) {
                            Ok(None) => {}
                            Ok(Some(finish)) => return End::Answered(finish),
                            Err(reason) => return End::Confused(reason),
                        }
                    }
                    Ok(_) => return End::Confused("the child speaks of another job".to_owned()),
                    Err(reason) if reason == CLOSED => return End::Gone,
                    Err(reason) => return End::Confused(reason),
                },
                _ = process.exited() => return End::Gone,
                reason = self.task.cancelled(), if !is_told => {
                    is_told = true;
                    self.kill_at = self.kill_after(reason);
                    if let Ok(frame) = ToChild::cancel(self.number, reason)
                        && connection.write(frame).await.is_err()
                    {
                        return End::Gone;
                    }
                }
                () = progress.stored(self.task) => {}
                () = at(wake) => return match self.is_started {
                    true => End::Killed,
                    false => End::NotStarted,
                },
                _ = memory.tick(), if self.options.memory_limit.is_some() => {
                    let bytes = self.fork.or_else(|| process.pid()).and_then(memory::resident).unwrap_or(0);
                    if self.options.memory_limit.is_some_and(|limit| bytes > limit) {
                        return End::OverLimit(bytes);
                    }
                }
            }
        }
    }

    /// The end of the job, if it is that.
    fn hear(
        &mut self,
        about: About,
        progress: &mut Progress<'_>,
    ) -> Result<Option<Finish>, String> {
        match about {
            About::Started(fork) => {
                self.is_started = true;
                self.fork = fork.map(forked).transpose()?;
            }
            About::Progress(text) => progress.next = Some(text),
            // Too late, or for too long: the handler goes on with the time that it has.
            About::MoreTime(time) => _ = self.task.more_time(time),
            About::Ended(finish) => return Ok(Some(finish)),
        }
        Ok(None)
    }

    /// The worker itself kills after timeouts and at its end.
    fn kill_after(&self, reason: Reason) -> Option<Instant> {
        match reason {
            Reason::Timeout | Reason::Shutdown => None,
            Reason::User => Some(Instant::now() + self.task.kill_after()),
            Reason::Lost => Some(Instant::now() + AFTER_LOSS),
        }
    }
}

/// Stores progress, the latest as soon as the one before is stored.
#[derive(Default)]
struct Progress<'a> {
    next: Option<String>,
    storing: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
}

impl<'a> Progress<'a> {
    /// Returns when progress was stored. Dropping the future loses nothing.
    async fn stored(&mut self, task: &'a Task) {
        if self.storing.is_none() {
            let Some(progress) = self.next.take() else { return std::future::pending().await };
            // For whoever looks; the handler does not depend on it.
            self.storing = Some(Box::pin(async move { _ = task.progress(progress).await }));
        }
        if let Some(storing) = &mut self.storing {
            storing.await;
        }
        self.storing = None;
    }
}

/// The process group that a child has made for a job.
fn forked(pid: i32) -> Result<Pid, String> {
    // Of 0 and less, and of this process's own group, a mistake would be fatal.
    let pid = Some(pid).filter(|pid| *pid > 1).and_then(Pid::from_raw);
    let of_its_own = |pid: &Pid| match getpgid(Some(*pid)) {
        Ok(group) => group == *pid && group != getpgrp(),
        // It may have ended.
        Err(_) => false,
    };
    pid.filter(of_its_own).ok_or_else(|| "the child names a process that is no group".to_owned())
}

fn out_of_memory(bytes: u64, options: &Children) -> JobError {
    let limit = options.memory_limit.unwrap_or_default();
    JobError::with_classes(
        ["OutOfMemory", "ChildDied"],
        format!("the child used {bytes} bytes of memory, its limit is {limit}"),
    )
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time.into()).await,
        None => std::future::pending().await,
    }
}
