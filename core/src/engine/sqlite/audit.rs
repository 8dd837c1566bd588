//! The audit: many steps, so that others come in between.

use std::time::{Duration, Instant};

use super::clean;
use super::database::Database;
use super::worker::Worker;
use crate::Result;
use crate::clean::{Damage, DeepReport};
use crate::engine::pause;
use crate::name::QueueName;

pub(super) async fn audit(
    worker: &Worker,
    timeout: Duration,
    queue: &QueueName,
    mend: bool,
    pace: u32,
) -> Result<DeepReport> {
    let until = || Instant::now() + timeout;
    let mut report = DeepReport::default();
    let mut from = Some(i64::MIN);
    while let Some(after) = from {
        let begun = Instant::now();
        let (name, so_far) = (queue.clone(), report.clone());
        let step = worker.run(mend, until(), move |db| {
            let mut report = so_far.clone();
            let next = clean::audit_items(db, &name, after, mend, &mut report)?;
            Ok((next, report))
        });
        (from, report) = step.await?;
        pause(begun, pace).await;
    }
    let name = queue.clone();
    let wrong = worker.run(false, until(), move |db| clean::wrong_counts(db, &name)).await?;
    if let Some(by) = wrong {
        report.note(Damage::BadCount, 1, mend, format_args!("off by {by:?}"));
        if mend {
            let name = queue.clone();
            worker.run(true, until(), move |db| clean::correct_counts(db, &name, &by)).await?;
        }
    }
    let so_far = report;
    let find = move |mend: bool| {
        let so_far = so_far.clone();
        move |db: &mut Database| {
            let mut report = so_far.clone();
            clean::dangling_data(db, mend, &mut report)?;
            Ok(report)
        }
    };
    // The search takes a while: with the lock only if there is something to mend.
    let mut so_far = worker.run(false, until(), find(false)).await?;
    if mend && so_far.found.contains_key(&Damage::DanglingDetails) {
        so_far = worker.run(true, until(), find(true)).await?;
    }
    worker
        .run(false, until(), move |db| {
            let mut report = so_far.clone();
            clean::file_damage(db, &mut report)?;
            Ok(report)
        })
        .await
}
