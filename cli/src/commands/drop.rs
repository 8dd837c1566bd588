//! `drop`: deletes a queue.

use clap::Args;
use leaseq::{Counts, DropOptions, ListOptions, State, WorkQueue, WorkersOptions};
use serde_json::json;

use super::preview::{self, Question};
use crate::failure::{Ended, Failure};
use crate::global::Shared;
use crate::item_json;

#[derive(Debug, Args)]
pub(crate) struct DropArgs {
    pub(crate) queue: String,
    /// Also while items are leased, or workers serve the queue, or it has follow-ups that other queues cannot take now
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// Only show what would be deleted
    #[arg(long)]
    dry_run: bool,
}

/// How many items the preview shows.
const SAMPLES: usize = 3;

pub(crate) async fn drop_queue(shared: &Shared, args: DropArgs) -> Ended {
    let queue = shared.existing(&args.queue).await?;
    let counts = queue.counts().await?;
    let server = shared.server_name()?;
    if args.dry_run && shared.output.json {
        let counts = item_json::counts(&args.queue, &counts);
        shared.output.document(&json!({ "queue": counts, "server": server }))?;
        return Ok(0);
    }
    let mut lines = vec![format!("drop queue {} on {server}: {}", args.queue, by_state(&counts))];
    lines.extend(samples(&queue, &counts).await?);
    lines.push("also its settings, schedules and history".into());
    let question = Question { queue: &args.queue, yes: args.yes, dry_run: args.dry_run };
    if args.dry_run {
        return question.ask(shared, &lines).map(|_| 0);
    }
    if !args.force {
        if counts.leased > 0 {
            let leased = counts.leased;
            return Err(Failure::refused(format_args!(
                "queue {}: {leased} items are leased: their work would be lost",
                args.queue
            ))
            .hint("leaseq pause QUEUE and wait, or drop it with --force"));
        }
        // Who may drop a queue need not be allowed to list workers.
        let options = WorkersOptions::new().queue(&args.queue);
        let workers = super::workers::all(shared, options).await.unwrap_or_default();
        if let Some(worker) = workers.first() {
            return Err(Failure::refused(format_args!(
                "queue {}: worker {} serves it",
                args.queue,
                worker.beat.worker.name()
            ))
            .hint("stop its workers: leaseq worker stop NAME; or drop it with --force"));
        }
    }
    question.ask(shared, &lines)?;
    let mut options = DropOptions::new();
    options.force = args.force;
    let dropped = queue.drop_queue_with(options).await?;
    if !dropped {
        return Err(Failure::no(format_args!("there is no queue {} any more", args.queue)));
    }
    if shared.output.json {
        shared.output.document(&json!({ "dropped": args.queue }))?;
    } else {
        shared.output.line(&format!("dropped queue {}", args.queue))?;
    }
    Ok(0)
}

fn by_state(counts: &Counts) -> String {
    let held = [
        (counts.ready, "ready"),
        (counts.delayed, "delayed"),
        (counts.held, "held"),
        (counts.leased, "leased"),
        (counts.dead, "dead"),
        (counts.completed, "completed"),
        (counts.cancelled, "cancelled"),
    ];
    let parts: Vec<_> = held
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, state)| format!("{count} {state}"))
        .collect();
    match parts.is_empty() {
        true => "no items".into(),
        false => format!("{} items", parts.join(", ")),
    }
}

/// Items that would be lost, those that wait before the others.
async fn samples(queue: &WorkQueue, counts: &Counts) -> Result<Vec<String>, Failure> {
    let states = [
        (counts.ready, State::Ready),
        (counts.delayed, State::Delayed),
        (counts.dead, State::Dead),
        (counts.leased, State::Leased),
    ];
    let mut lines = Vec::new();
    for (_, state) in states.into_iter().filter(|(count, _)| *count > 0) {
        let options = ListOptions::new().without_data().limit(SAMPLES - lines.len());
        let page = queue.list_with(state, None, &options).await?;
        lines.extend(page.items.iter().map(preview::sample));
        if lines.len() >= SAMPLES {
            break;
        }
    }
    lines.truncate(SAMPLES);
    Ok(lines)
}
