//! The course of an audit: many steps, so that others come in between. What reads the whole queue or
//! file in one go has a connection of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::audit;
use super::database::Database;
use super::dropped::Sweeper;
use super::reader::Reader;
use super::worker::Worker;
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::engine::pause;
use crate::name::QueueName;

/// Most findings that are told one by one.
const MAX_DETAILS: usize = 100;

pub(super) struct Auditor<'a> {
    pub(super) worker: &'a Worker,
    pub(super) reader: &'a Reader,
    pub(super) sweeper: &'a Sweeper,
    pub(super) timeout: Duration,
    pub(super) queue: &'a QueueName,
    pub(super) mend: bool,
    pub(super) pace: u32,
}

/// One step: what to look at after this number, and where to go on.
type Step = fn(&mut Database, &QueueName, i64, bool, &mut DeepReport) -> Result<Option<i64>>;

impl Auditor<'_> {
    pub(super) async fn audit(&self) -> Result<DeepReport> {
        let mut report = DeepReport::default();
        // What is left of a queue that somebody was dropping is no damage.
        while self.mend && self.sweeper.try_step(self.worker, self.until()).await {}
        self.walk(audit::items, &mut report).await?;
        self.counts(&mut report).await?;
        let large: Step = |db, _, from, mend, report| audit::large_data(db, from, mend, report);
        self.walk(large, &mut report).await?;
        for line in self.reader.file_damage(self.worker).await? {
            report.note(Damage::BadRecord, 1, false, line);
        }
        Ok(report)
    }

    fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    async fn walk(&self, step: Step, report: &mut DeepReport) -> Result<()> {
        let mut from = Some(i64::MIN);
        while let Some(after) = from {
            let begun = Instant::now();
            let (name, mend) = (self.queue.clone(), self.mend);
            let look = move |mend: bool| {
                let name = name.clone();
                move |db: &mut Database| {
                    let mut found = DeepReport::default();
                    let next = step(db, &name, after, mend, &mut found)?;
                    Ok((next, found))
                }
            };
            // With the lock only if there is something to mend.
            let (mut next, mut found) = self.worker.run(false, self.until(), look(false)).await?;
            if mend && !found.is_sound() {
                (next, found) = self.worker.run(true, self.until(), look(true)).await?;
            }
            add(report, found);
            from = next;
            pause(begun, self.pace).await;
        }
        Ok(())
    }

    async fn counts(&self, report: &mut DeepReport) -> Result<()> {
        let name = self.queue.clone();
        let count = move |db: &mut Database| audit::wrong_counts(db, &name);
        let Some(wrong) = self.reader.read(self.worker, count).await? else { return Ok(()) };
        report.note(Damage::BadCount, 1, self.mend, format_args!("off by {:?}", wrong.by));
        if self.mend {
            let (name, wrong) = (self.queue.clone(), Arc::new(wrong));
            let correct = move |db: &mut Database| audit::correct_counts(db, &name, &wrong);
            self.worker.run(true, self.until(), correct).await?;
        }
        Ok(())
    }
}

fn add(report: &mut DeepReport, found: DeepReport) {
    report.items += found.items;
    for (into, from) in [(&mut report.found, found.found), (&mut report.mended, found.mended)] {
        for (damage, times) in from {
            *into.entry(damage).or_default() += times;
        }
    }
    let room = MAX_DETAILS.saturating_sub(report.details.len());
    report.details.extend(found.details.into_iter().take(room));
}
