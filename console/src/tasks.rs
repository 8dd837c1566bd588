//! Changes of many items: first a preview that looks at all of them, then, if somebody wants it, the change of what the
//! preview has seen, and of nothing newer. Both run here in steps, whether or not anybody looks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use leaseq::{Cursor, ItemInfo, WorkQueue};
use leaseq_report::{Action, Mark};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::access::Identity;
use crate::audit::Audit;
use crate::cache::Caches;
use crate::failure::Failure;
use crate::filter::Filter;
use crate::redact::Redaction;
use crate::token::new_token;

/// How many items are read, and changed, in a step.
const STEP: usize = 500;
/// Tasks that are known; ended ones are forgotten for new ones.
const MAX_TASKS: usize = 100;
/// Items that a preview shows.
const SAMPLES: usize = 5;
/// How often a step that the server did not answer is repeated, and after which pause.
const MAX_RETRIES: u32 = 10;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Phase {
    Examining,
    /// Waits for somebody to start it.
    Previewed,
    Running,
    Done,
    Stopped,
    Failed(String),
}

/// How far a task is.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    pub(crate) phase: Phase,
    pub(crate) examined: u64,
    pub(crate) matched: u64,
    pub(crate) changed: u64,
    pub(crate) samples: Vec<ItemInfo>,
    mark: Mark,
}

pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) queue: WorkQueue,
    pub(crate) action: Action,
    pub(crate) filter: Filter,
    /// Items in a second.
    pub(crate) rate: Option<u32>,
    pub(crate) who: Identity,
    pub(crate) began: SystemTime,
    /// Items of the state when it began.
    pub(crate) total: u64,
    tools: Tools,
    progress: Mutex<Progress>,
    stop: CancellationToken,
}

/// What a task needs of the console.
#[derive(Clone)]
pub(crate) struct Tools {
    pub(crate) redaction: Arc<Redaction>,
    pub(crate) caches: Arc<Caches>,
    pub(crate) audit: Option<Audit>,
}

/// The tasks of this process: they end with it.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Vec<Arc<Task>>>);

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Task>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The latest first.
    pub(crate) fn all(&self) -> Vec<Arc<Task>> {
        self.lock().iter().rev().cloned().collect()
    }

    pub(crate) fn find(&self, id: &str) -> Result<Arc<Task>, Failure> {
        let found = self.lock().iter().find(|task| task.id == id).cloned();
        found.ok_or_else(|| {
            Failure::missing("there is no such task: it is forgotten, or the console was restarted")
        })
    }

    fn add(&self, task: Arc<Task>) -> Result<(), Failure> {
        let mut tasks = self.lock();
        if tasks.len() >= MAX_TASKS {
            let ended = tasks.iter().position(|task| !task.is_working());
            let ended = ended.ok_or_else(|| Failure::conflict("too many tasks are running"))?;
            tasks.remove(ended);
        }
        tasks.push(task);
        Ok(())
    }

    pub(crate) fn stop_all(&self) {
        self.lock().iter().for_each(|task| task.stop.cancel());
    }
}

impl Task {
    /// Begins with the preview.
    pub(crate) fn begin(
        (tasks, tools): (&Tasks, Tools),
        queue: WorkQueue,
        (action, filter, rate): (Action, Filter, Option<u32>),
        total: u64,
        who: &Identity,
    ) -> Result<Arc<Task>, Failure> {
        let progress = Progress {
            phase: Phase::Examining,
            examined: 0,
            matched: 0,
            changed: 0,
            samples: Vec::new(),
            mark: Mark::default(),
        };
        let task = Arc::new(Task {
            id: new_token().chars().filter(char::is_ascii_alphanumeric).take(16).collect(),
            queue,
            action,
            filter,
            rate,
            who: who.clone(),
            began: SystemTime::now(),
            total,
            tools,
            progress: Mutex::new(progress),
            stop: CancellationToken::new(),
        });
        tasks.add(task.clone())?;
        tokio::spawn(task.clone().finish(Phase::Previewed));
        Ok(task)
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn progress(&self) -> Progress {
        self.lock().clone()
    }

    pub(crate) fn is_working(&self) -> bool {
        matches!(self.lock().phase, Phase::Examining | Phase::Running)
    }

    /// Begins to change what the preview has seen.
    pub(crate) fn start(self: &Arc<Self>, who: &Identity) -> Result<(), Failure> {
        {
            let mut progress = self.lock();
            if progress.phase != Phase::Previewed {
                return Err(Failure::conflict("it has been started, or stopped, before"));
            }
            progress.phase = Phase::Running;
        }
        self.audit(who, "begins");
        tokio::spawn(self.clone().finish(Phase::Done));
        Ok(())
    }

    /// It ends after the current step; what is changed stays so.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
        let mut progress = self.lock();
        if progress.phase == Phase::Previewed {
            progress.phase = Phase::Stopped;
        }
    }

    async fn finish(self: Arc<Self>, then: Phase) {
        let ended = self.work(then == Phase::Done).await;
        let began = then == Phase::Done;
        self.lock().phase = match ended {
            Ok(()) if self.stop.is_cancelled() => Phase::Stopped,
            Ok(()) => then,
            Err(failure) => Phase::Failed(failure.message),
        };
        self.tools.caches.counts.forget(&self.queue.name().to_owned());
        self.tools.caches.drawn.clear();
        if began {
            self.audit(&self.who, "ends");
        }
    }

    /// Goes through all items, and changes them if that is wanted.
    async fn work(&self, change: bool) -> Result<(), Failure> {
        let mut options = self.filter.options(&self.tools.redaction)?;
        options.limit = self.rate.map_or(STEP, |rate| STEP.min(rate as usize));
        let mut cursor: Option<Cursor> = None;
        let mut failures = 0;
        while !self.stop.is_cancelled() {
            let begin = tokio::time::Instant::now();
            let step = async {
                let page =
                    self.queue.list_with(self.filter.state, cursor.as_ref(), &options).await?;
                let count = match change {
                    true => self.change(&page.items).await?,
                    false => self.examine(page.items, page.examined),
                };
                Ok::<_, leaseq::Error>((count, page.cursor))
            };
            let (count, next) = match step.await {
                Ok(step) => step,
                // Repeating it is harmless: what is changed is not in this state, or newer than the preview.
                Err(error) if error.kind().is_retryable() && failures < MAX_RETRIES => {
                    failures += 1;
                    self.pause(RETRY_PAUSE).await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            failures = 0;
            cursor = next;
            if cursor.is_none() {
                break;
            }
            if let Some(rate) = self.rate.filter(|_| change) {
                let least = Duration::from_secs_f64(count as f64 / f64::from(rate));
                self.pause(least.saturating_sub(begin.elapsed())).await;
            }
            // The server has others to serve.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn pause(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.stop.cancelled()).await;
    }

    fn examine(&self, items: Vec<ItemInfo>, examined: u64) -> usize {
        let mut progress = self.lock();
        progress.examined += examined;
        for info in items.into_iter().filter(|info| self.filter.sees(&self.tools.redaction, info)) {
            progress.mark.include(&info);
            progress.matched += 1;
            if progress.samples.len() < SAMPLES {
                progress.samples.push(info);
            }
        }
        0
    }

    async fn change(&self, items: &[ItemInfo]) -> leaseq::Result<usize> {
        let mark = self.lock().mark.clone();
        let seen =
            |info: &&ItemInfo| mark.covers(info) && self.filter.sees(&self.tools.redaction, info);
        let covered: Vec<&ItemInfo> = items.iter().filter(seen).collect();
        if covered.is_empty() {
            return Ok(0);
        }
        let count = covered.len();
        let reason = self.who.bury_reason();
        let answers = self.action.apply(&self.queue, covered, &reason).await?;
        let changed = answers.iter().filter(|changed| **changed).count();
        self.lock().changed += changed as u64;
        Ok(count)
    }

    fn audit(&self, who: &Identity, step: &str) {
        let Some(audit) = &self.tools.audit else { return };
        let progress = self.progress();
        let failure = match &progress.phase {
            Phase::Failed(why) => Some(why.clone()),
            Phase::Stopped => Some("stopped".into()),
            _ => None,
        };
        let what = json!({
            "queue": self.queue.name(), "task": self.id, "step": step, "selection": self.filter.query(),
            "before": self.filter.state.as_str(), "matched": progress.matched,
            "changed": progress.changed, "rate": self.rate, "failure": failure,
        });
        audit.write(who, &format!("{} many", self.action.as_str()), what);
    }
}
