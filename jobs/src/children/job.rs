//! One job in a child.

use std::pin::Pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustix::process::{Pid, getpgid, getpgrp};
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};
use tracing::warn;

use super::child::Child;
use super::connection::{READING, Trouble};
use super::message::{About, FromChild, ToChild};
use super::options::Children;
use super::system;
use crate::{Finish, JobError, Reason, Task};

/// How long a handler may go on when another worker may have its job.
const AFTER_LOSS: Duration = Duration::from_secs(3);
/// How often the memory is looked at.
const MEMORY_EVERY: Duration = Duration::from_millis(100);
/// What a child has said before its end is there at once, unless another process keeps the connection open.
const AFTER_END: Duration = Duration::from_millis(200);

/// How a job in a child has ended.
pub(crate) struct Ran {
    pub(crate) finish: Finish,
    /// Whether the child lives.
    pub(crate) is_alive: bool,
    /// Whether a handler has seen the job: if not, the child was perhaps about to end anyway.
    pub(crate) was_started: bool,
}

/// Why the wait for an answer ends.
enum End {
    Answered(Finish),
    /// The worker wants it to end.
    Killed,
    OverLimit(u64),
    NotStarted,
    /// It breaks the rules.
    Confused(String),
    /// The process that it has forked for the job has ended well, and has not answered.
    Silent,
    /// Its connection is closed, or it has ended.
    Gone,
}

/// What is known about a job in a child.
struct Job<'a> {
    number: u64,
    task: &'a Task,
    options: &'a Children,
    is_started: bool,
    kill_at: Option<Instant>,
}

impl Child {
    /// Runs a task. When this returns, the child is ready for the next one or dead, and what the job has forked is dead:
    /// only then may its end be reported.
    pub(crate) async fn run(&mut self, task: &Task, options: &Children) -> Ran {
        self.jobs += 1;
        self.process.begin_job();
        let number = self.jobs;
        let mut job = Job { number, task, options, is_started: false, kill_at: None };
        let frame = match ToChild::run(number, task) {
            Ok(frame) => frame,
            Err(error) => {
                let finish = Finish::InvalidArgs(error.to_string());
                return Ran { finish, is_alive: true, was_started: true };
            }
        };
        let end = tokio::select! {
            end = job.follow(self, frame) => end,
            () = task.killed() => End::Killed,
        };
        match end {
            End::Answered(finish) => {
                let is_alive = self.goes_on(task, options).await;
                return Ran { finish, is_alive, was_started: true };
            }
            End::Silent => {
                self.fork = None;
                let finish = Finish::Failed(self.process.ended_silently());
                let is_alive = self.is_not_used_up(options).await;
                return Ran { finish, is_alive, was_started: true };
            }
            End::Gone => self.stop().await,
            _ => self.kill().await,
        }
        // An answer counts, whatever happens to the child afterwards.
        let answer = match end {
            End::Confused(_) => None,
            _ => self.last_words(&mut job).await,
        };
        let finish = match (answer, end) {
            (Some(finish), _) => finish,
            (None, End::OverLimit(bytes)) => Finish::Failed(out_of_memory(bytes, options)),
            (None, End::NotStarted) => Finish::Failed(JobError::new(
                "ChildHung",
                format!("the child did not start the job within {READING:?}"),
            )),
            (None, End::Confused(reason)) => Finish::Failed(JobError::new("ChildConfused", reason)),
            (None, End::Gone) => Finish::Failed(self.process.obituary().await.error()),
            (None, End::Killed | End::Answered(_) | End::Silent) => Finish::Cancelled,
        };
        Ran { finish, is_alive: false, was_started: job.is_started }
    }

    /// Whether it is ready for another job after an answer. If not, it is dead.
    async fn goes_on(&mut self, task: &Task, options: &Children) -> bool {
        let ready = tokio::select! {
            ready = self.ready() => ready,
            () = task.killed() => {
                self.kill().await;
                return false;
            }
        };
        if let Err(trouble) = ready {
            let reason = self.end_after(trouble).await;
            warn!(program = options.program(), reason, "a child has ended after its answer");
            return false;
        }
        self.is_not_used_up(options).await
    }

    /// Whether it may run another job. If not, it is dead.
    async fn is_not_used_up(&mut self, options: &Children) -> bool {
        let is_used_up = self.is_used_up(options);
        if is_used_up {
            self.stop().await;
        }
        !is_used_up
    }

    /// What a dead child has said last: its answer, if there is one.
    async fn last_words(&mut self, job: &mut Job<'_>) -> Option<Finish> {
        let words = async {
            while let Ok(message) = self.connection.read().await {
                let FromChild::Job(number, about) = message else { continue };
                job.is_started = true;
                match about {
                    About::Ended(finish) if number == job.number => return Some(finish),
                    // It has ended with the child, or because of that; what it has started may live.
                    About::Started(Some(pid)) => self.fork = forked(pid).unwrap_or_default(),
                    _ => {}
                }
            }
            None
        };
        let answer = timeout(AFTER_END, words).await.ok().flatten();
        if self.fork.is_some() {
            self.kill().await;
        }
        answer
    }
}

impl<'a> Job<'a> {
    /// Starts the job, and follows it to its end.
    async fn follow(&mut self, child: &mut Child, run: Bytes) -> End {
        match child.connection.write(run).await {
            Ok(()) => {}
            Err(Trouble::Closed) => return End::Gone,
            Err(Trouble::Confused(_)) => return End::NotStarted,
        }
        let start_by = Instant::now() + READING;
        let mut memory = interval(MEMORY_EVERY);
        memory.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_told, mut is_lost) = (false, false);
        let mut progress = Progress::default();
        loop {
            let Child { process, connection, fork, .. } = child;
            // In no order: a child that never stops speaking is not the only one that is heard.
            tokio::select! {
                message = connection.read() => match message {
                    Ok(FromChild::Job(number, about)) if number == self.number => {
                        match self.hear(about, fork, &mut progress) {
                            Ok(None) => {}
                            Ok(Some(finish)) => return End::Answered(finish),
                            Err(reason) => return End::Confused(reason),
                        }
                    }
                    Ok(FromChild::Ready) if fork.is_some() => return End::Silent,
                    Ok(_) => return End::Confused("the child speaks of another job".to_owned()),
                    Err(Trouble::Closed) => return End::Gone,
                    Err(Trouble::Confused(reason)) => return End::Confused(reason),
                },
                _ = process.exited() => return End::Gone,
                reason = self.task.cancelled(), if !is_told => {
                    is_told = true;
                    // After timeouts and at its end, the worker kills.
                    if reason == Reason::User {
                        self.kill_within(self.task.kill_after());
                    }
                    if let Ok(frame) = ToChild::cancel(self.number, reason)
                        && connection.write(frame).await.is_err()
                    {
                        return End::Gone;
                    }
                }
                () = self.task.lost(), if !is_lost => {
                    is_lost = true;
                    self.kill_within(AFTER_LOSS);
                }
                () = progress.stored(self.task) => {}
                () = at(self.kill_at) => return End::Killed,
                () = sleep_until(start_by.into()), if !self.is_started => return End::NotStarted,
                _ = memory.tick(), if self.options.memory_limit.is_some() => {
                    let bytes = fork.or_else(|| process.pid()).and_then(system::resident);
                    let bytes = bytes.unwrap_or_default();
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
        fork: &mut Option<Pid>,
        progress: &mut Progress<'_>,
    ) -> Result<Option<Finish>, String> {
        match about {
            About::Started(_) if self.is_started => {
                return Err("the child has started the job twice".to_owned());
            }
            About::Started(pid) => {
                self.is_started = true;
                *fork = pid.map(forked).transpose()?.flatten();
            }
            About::Progress(text) => progress.next = Some(text),
            // Too late, or for too long: the handler goes on with the time that it has.
            About::MoreTime(time) => _ = self.task.more_time(time),
            About::Ended(finish) => return Ok(Some(finish)),
        }
        Ok(None)
    }

    fn kill_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.kill_at = Some(self.kill_at.map_or(at, |before| before.min(at)));
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

/// The process group that a child has made for a job; `None`: it has ended.
fn forked(pid: i32) -> Result<Option<Pid>, String> {
    // Of 0 and less, and of this process's own group, a mistake would be fatal.
    let Some(pid) = Some(pid).filter(|pid| *pid > 1).and_then(Pid::from_raw) else {
        return Err(format!("the child names process {pid}"));
    };
    match getpgid(Some(pid)) {
        Ok(group) if group == pid && group != getpgrp() => Ok(Some(pid)),
        Ok(_) => Err(format!("the child names process {pid:?}, which is no group")),
        Err(_) => Ok(None),
    }
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
