//! The course of an audit. It has many steps, so that other operations can run between them. Queries that read
//! the whole queue or file use a connection of their own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::database::Database;
use super::dropped::Sweeper;
use super::executor::Executor;
use super::reader::Reader;
use super::{audit, audit_keys, outcomes, settings, succeed};
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::engine::pause;
use crate::name::QueueName;

/// Limit of the findings that are reported one by one.
const MAX_DETAILS: usize = 100;

pub(super) struct Auditor<'a> {
    pub(super) executor: &'a Executor,
    pub(super) reader: &'a Reader,
    pub(super) sweeper: &'a Sweeper,
    pub(super) timeout: Duration,
    pub(super) queue: &'a QueueName,
    pub(super) mend: bool,
    pub(super) pace: u32,
}

/// One step: looks at what follows, and returns where to continue.
type Step<From> =
    fn(&mut Database, &QueueName, From, bool, &mut DeepReport) -> Result<Option<From>>;

impl Auditor<'_> {
    pub(super) async fn audit(&self) -> Result<DeepReport> {
        let mut report = DeepReport::default();
        // What is left of a dropped queue is not damage.
        while self.mend && self.sweeper.try_step(self.executor, self.until()).await {}
        // First what others must not find: items take their lost keys again.
        self.walk(audit::unique_keys, Vec::new(), &mut report).await?;
        self.walk(audit::items, i64::MIN, &mut report).await?;
        self.walk(succeed::audit, i64::MIN, &mut report).await?;
        self.walk(audit_keys::key_limits, Vec::new(), &mut report).await?;
        self.walk(audit_keys::key_meters, Vec::new(), &mut report).await?;
        self.walk(audit_keys::open_keys, Vec::new(), &mut report).await?;
        self.walk(audit_keys::held_keys, Vec::new(), &mut report).await?;
        self.counts(&mut report).await?;
        let settings: Step<()> =
            |db, name, (), mend, report| settings::check(db, name, mend, report).map(|()| None);
        self.walk(settings, (), &mut report).await?;
        let large: Step<i64> =
            |db, _, from, mend, report| audit::belongings(db, "large", from, mend, report);
        let extra: Step<i64> =
            |db, _, from, mend, report| audit::belongings(db, "extra", from, mend, report);
        self.walk(large, i64::MIN, &mut report).await?;
        self.walk(extra, i64::MIN, &mut report).await?;
        let awaited: Step<()> =
            |db, _, (), mend, report| Ok(outcomes::audit(db, mend, report)?.then_some(()));
        self.walk(awaited, (), &mut report).await?;
        while self.mend && self.executor.run(false, self.until(), outcomes::needs_sweep).await? {
            self.executor.run(true, self.until(), outcomes::sweep).await?;
        }
        for line in self.reader.file_damage(self.executor).await? {
            report.note(Damage::BadRecord, 1, false, line);
        }
        Ok(report)
    }

    fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    async fn walk<From>(&self, step: Step<From>, first: From, report: &mut DeepReport) -> Result<()>
    where
        From: Clone + Send + 'static,
    {
        let mut from = Some(first);
        while let Some(after) = from {
            let begun = Instant::now();
            let (name, mend) = (self.queue.clone(), self.mend);
            let look = move |mend: bool| {
                let (name, after) = (name.clone(), after.clone());
                move |db: &mut Database| {
                    let mut found = DeepReport::default();
                    let next = step(db, &name, after.clone(), mend, &mut found)?;
                    Ok((next, found))
                }
            };
            // It takes the writer lock only if there is something to mend.
            let (mut next, mut found) = self.executor.run(false, self.until(), look(false)).await?;
            if mend && !found.is_sound() {
                (next, found) = self.executor.run(true, self.until(), look(true)).await?;
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
        let Some(wrong) = self.reader.read(self.executor, count).await? else { return Ok(()) };
        report.note(Damage::BadCount, 1, self.mend, format_args!("off by {:?}", wrong.by));
        if self.mend {
            let (name, wrong) = (self.queue.clone(), Arc::new(wrong));
            let correct = move |db: &mut Database| audit::correct_counts(db, &name, &wrong);
            self.executor.run(true, self.until(), correct).await?;
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
