//! The registry of workers: what workers say of themselves, who sees it, and commands for them.
//!
//! It belongs to the namespace, not to a queue, so a worker sends one beat for all queues that it serves.

mod calls;
mod json;
mod types;

use bytes::Bytes;

pub(crate) use self::json::{from_hex, id_fields};
pub use self::types::{
    Beat, BeatReply, RunningItem, WorkerAction, WorkerCommand, WorkerId, WorkerInfo,
    WorkersOptions, WorkersPage,
};
use crate::engine::{StoredBeat, StoredCommand, StoredName, WhichWorkers, WorkerEntry};
use crate::name::QueueName;
use crate::options::{MAX_BEAT, MAX_WORKER_COMMANDS, MAX_WORKERS_PAGE};
use crate::{Client, Error, Result};

const DEFAULT_PAGE: usize = 100;

impl Client {
    /// Says what a worker does, and returns what it shall do. A worker beats every
    /// [`BEAT_INTERVAL`](crate::options::BEAT_INTERVAL) (10 s), and is listed for
    /// [`WORKER_LIFE`](crate::options::WORKER_LIFE) (30 s) after its last beat.
    ///
    /// A command is delivered with each beat until a beat acknowledges it, so the reply to this beat may have
    /// commands that it has got before. It may come once more even after that, if whoever gave it repeats it. The worker
    /// executes each number once.
    ///
    /// # Errors
    /// `Invalid` for a value above its limit, or a beat that takes more than 256 KiB as it is stored (a running item takes
    /// about 90 bytes and its queue and id; an id that is no text twice its length); `Unavailable`,
    /// `Closed`.
    pub async fn beat(&self, beat: &Beat) -> Result<BeatReply> {
        beat.validate()?;
        let body = json::write(beat);
        if body.len() > MAX_BEAT {
            return Err(Error::invalid(format_args!(
                "worker {:?}: its beat takes {} bytes, more than {MAX_BEAT}",
                beat.worker.name,
                body.len()
            )));
        }
        if beat.acknowledged.len() > MAX_WORKER_COMMANDS {
            return Err(Error::invalid(format_args!(
                "worker {:?}: {} acknowledged commands are more than {MAX_WORKER_COMMANDS}",
                beat.worker.name,
                beat.acknowledged.len()
            )));
        }
        self.send_beat(&beat.worker, body, beat.acknowledged.clone()).await
    }

    /// The worker ends: it is listed no longer, and its commands are deleted.
    ///
    /// # Errors
    /// As for [`beat`](Client::beat).
    pub async fn leave(&self, worker: &WorkerId) -> Result<()> {
        worker.validate()?;
        self.send_beat(worker, Bytes::new(), Vec::new()).await.map(|_| ())
    }

    async fn send_beat(
        &self,
        worker: &WorkerId,
        body: Bytes,
        acknowledged: Vec<u64>,
    ) -> Result<BeatReply> {
        let context = self.open_context()?;
        let beat = StoredBeat { worker: stored(worker), body, acknowledged };
        let answer = context.engine.beat(&beat).await?;
        let commands = answer.commands.iter().filter_map(json::read_command).collect();
        Ok(BeatReply { quiet: answer.quiet, commands })
    }

    /// Lists workers, a page in each call.
    ///
    /// # Errors
    /// `Invalid` for a name, queue or limit that is none, or if the user may not list them; `Unavailable`, `Closed`.
    pub async fn workers(&self, options: WorkersOptions) -> Result<WorkersPage> {
        let limit = options.limit.unwrap_or(DEFAULT_PAGE);
        if !(1..=MAX_WORKERS_PAGE).contains(&limit) {
            return Err(Error::invalid(format_args!(
                "a limit of {limit} is not between 1 and {MAX_WORKERS_PAGE}"
            )));
        }
        if let Some(name) = &options.name {
            types::check_name("the name of a worker", name, 1)?;
        }
        if let Some(queue) = &options.queue {
            QueueName::new(queue)?;
        }
        if let Some(after) = &options.after {
            after.validate()?;
        }
        let context = self.open_context()?;
        let after = options.after.as_ref().map(|worker| WorkerEntry::from(&stored(worker)));
        let mut which = WhichWorkers { after, name: options.name, limit };
        let mut page = WorkersPage::default();
        loop {
            let read = context.engine.read_workers(&which).await?;
            let (mut last, mut unreadable) = (None, 0);
            for stored in read.found {
                match json::read(stored) {
                    None => unreadable += 1,
                    Some(worker) => {
                        page.skipped += std::mem::take(&mut unreadable);
                        last = Some(worker.beat.worker.clone());
                        page.workers.push(worker);
                    }
                }
            }
            let Some(end) = read.next else {
                page.skipped += unreadable;
                break;
            };
            page.next = json::worker_id(&end);
            if page.next.is_some() {
                page.skipped += unreadable;
                break;
            }
            // Nobody can go on after an entry that no worker has written: the next page begins before it.
            page.next = last;
            if page.next.is_some() || which.after.as_ref() == Some(&end) {
                break;
            }
            page.skipped += unreadable;
            which.after = Some(end);
        }
        if let Some(queue) = &options.queue {
            page.workers.retain(|worker| worker.beat.queues.contains(queue));
        }
        Ok(page)
    }

    /// Gives a worker a command, which reaches it with the reply to its next beat. It waits for 5 minutes at most. False:
    /// no such worker has beaten within 30 s.
    ///
    /// # Errors
    /// `Invalid` if the worker has 100 commands that it has not acknowledged, or if the user may not command workers;
    /// `Unavailable`, `Closed`.
    pub async fn command_worker(&self, worker: &WorkerId, action: &WorkerAction) -> Result<bool> {
        worker.validate()?;
        action.validate()?;
        let context = self.open_context()?;
        // 48 bits: writers of JSON that have only floating-point numbers write more with an exponent.
        let number = rand::random::<u64>() >> 16;
        let command = StoredCommand { number, text: json::write_action(action) };
        context.engine.command_worker(&stored(worker), &command).await
    }

    /// From their next beats on the workers of this name lease nothing, also those that are started later, until
    /// [`resume_worker`](Client::resume_worker). There need not be any.
    ///
    /// # Errors
    /// `Invalid` for a name that is none, if 10,000 names are quiet, or if the user may not command workers;
    /// `Unavailable`, `Closed`.
    pub async fn quiet_worker(&self, name: &str) -> Result<()> {
        self.set_quiet(name, true).await
    }

    /// The workers of this name lease again from their next beats on.
    ///
    /// # Errors
    /// As for [`quiet_worker`](Client::quiet_worker).
    pub async fn resume_worker(&self, name: &str) -> Result<()> {
        self.set_quiet(name, false).await
    }

    async fn set_quiet(&self, name: &str, quiet: bool) -> Result<()> {
        types::check_name("the name of a worker", name, 1)?;
        self.open_context()?.engine.set_quiet(name, quiet).await
    }
}

fn stored(worker: &WorkerId) -> StoredName {
    StoredName { name: worker.name.clone(), instance: worker.instance.clone() }
}
