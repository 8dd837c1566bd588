//! A task queue with a thread pool: known queues with weights, scheduled and retried tasks, and tasks that never
//! overlap.

mod tasks;

use std::time::Duration;

use leaseq::{Client, Result, ScheduleRule, State};
use leaseq_jobs::Worker;

pub use tasks::{Charge, Checksum, Report};

/// The queues that this program knows, with their weights: while all have tasks, of ten that start six are critical.
pub const QUEUES: [(&str, u32); 3] = [("critical", 6), ("default", 3), ("low", 1)];

/// A worker with all handlers, and so many threads.
///
/// # Errors
/// None: the rule of the schedule is valid.
pub fn worker(client: &Client, threads: usize) -> Result<Worker> {
    let worker = QUEUES
        .into_iter()
        .fold(Worker::new(client), |worker, (queue, weight)| worker.queue(queue, weight));
    let hourly = ScheduleRule::every(Duration::from_secs(3600))?;
    Ok(worker
        .slots(threads)
        .handle_blocking(tasks::checksum)
        .handle_blocking(tasks::charge)
        .handle_blocking(tasks::report)
        .deployment("rust-queue", 1)
        .schedule("hourly-report", hourly, Report { name: "hourly".into() }))
}

/// A line for each queue: how many tasks are in each state.
///
/// # Errors
/// If the queues cannot be read.
pub async fn stats(client: &Client) -> Result<String> {
    let mut text = format!(
        "{:<10}{:>8}{:>10}{:>9}{:>6}{:>6}{:>11}\n",
        "queue", "ready", "scheduled", "running", "held", "dead", "completed"
    );
    for (name, _) in QUEUES {
        let counts = client.queue(name)?.counts().await?;
        text += &format!(
            "{name:<10}{:>8}{:>10}{:>9}{:>6}{:>6}{:>11}\n",
            counts.ready,
            counts.delayed,
            counts.leased,
            counts.held,
            counts.dead,
            counts.totals.completed
        );
    }
    Ok(text)
}

/// Gives the dead tasks of all queues another run. Returns how many.
///
/// # Errors
/// If a queue cannot be changed.
pub async fn requeue_dead(client: &Client) -> Result<usize> {
    let mut requeued = 0;
    for (name, _) in QUEUES {
        let queue = client.queue(name)?;
        loop {
            let page = queue.list(State::Dead, None, 1000).await?;
            if page.items.is_empty() {
                break;
            }
            let answers = queue.requeue(page.items.iter().map(|item| &item.id)).await?;
            requeued += answers.into_iter().filter(|requeued| *requeued).count();
        }
    }
    Ok(requeued)
}
