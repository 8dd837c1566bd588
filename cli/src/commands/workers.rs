//! `workers` and `worker`: who works, on what, and commands for them.

use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use leaseq::{RunningItem, WorkerAction, WorkerInfo, WorkersOptions};
use serde_json::{Map, Value, json};

use crate::failure::{Ended, Failure, NO};
use crate::global::Shared;
use crate::item_json::ms;
use crate::output::Cell;
use crate::text::{exact_time, put_bytes, whole_ms};

/// A worker that has been silent for longer has missed a beat.
const LATE: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
pub(crate) struct WorkersArgs {
    /// Only the workers of this queue [default: all]
    queue: Option<String>,
    /// A line for each item that a worker works on, the longest-running first
    #[arg(long)]
    running: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// List the workers
    List(WorkersArgs),
    /// Workers of this name lease nothing more, also those that are started later; what they run goes on
    Quiet { name: String },
    /// Workers of this name lease again
    Resume { name: String },
    /// Workers of this name finish what they run, and end
    Stop {
        name: String,
        /// Only this instance of the name
        #[arg(long)]
        instance: Option<String>,
    },
}

pub(crate) async fn worker(shared: &Shared, command: WorkerCommand) -> Ended {
    match command {
        WorkerCommand::List(args) => workers(shared, args).await,
        WorkerCommand::Quiet { name } => quiet(shared, &name, true).await,
        WorkerCommand::Resume { name } => quiet(shared, &name, false).await,
        WorkerCommand::Stop { name, instance } => stop(shared, &name, instance.as_deref()).await,
    }
}

/// All workers of these options.
pub(crate) async fn all(
    shared: &Shared,
    options: WorkersOptions,
) -> Result<Vec<WorkerInfo>, Failure> {
    let client = shared.client().await?;
    let (mut workers, mut skipped) = (Vec::new(), 0);
    let mut next = None;
    loop {
        let options = match next.take() {
            Some(after) => options.clone().after(after),
            None => options.clone(),
        };
        let page = client.workers(options).await?;
        workers.extend(page.workers);
        skipped += page.skipped;
        next = page.next;
        if next.is_none() {
            break;
        }
    }
    if skipped > 0 {
        shared
            .output
            .note(&format!("leaseq: {skipped} entries are left out: no worker wrote them"));
    }
    Ok(workers)
}

pub(crate) async fn workers(shared: &Shared, args: WorkersArgs) -> Ended {
    let mut options = WorkersOptions::new();
    if let Some(queue) = &args.queue {
        options = options.queue(queue);
    }
    let workers = all(shared, options).await?;
    if workers.is_empty() && !shared.output.json {
        shared.output.note("no worker has been seen in the last 30s");
        return Ok(NO);
    }
    let now = SystemTime::now();
    if shared.output.json {
        let all: Vec<_> = workers.iter().map(value).collect();
        shared.output.document(&json!(all))?;
    } else if args.running {
        let mut items: Vec<_> = workers
            .iter()
            .flat_map(|worker| worker.beat.running.iter().map(move |item| (worker, item)))
            .filter(|(_, item)| args.queue.as_ref().is_none_or(|queue| *queue == item.queue))
            .collect();
        items.sort_by_key(|(_, item)| std::cmp::Reverse(item.elapsed));
        let rows: Vec<_> = items.iter().map(|(worker, item)| running(worker, item)).collect();
        shared.output.rows(&["WORKER", "QUEUE", "ID", "FOR", "DEADLINE"], &rows)?;
    } else {
        let rows: Vec<_> = workers.iter().map(|worker| row(worker, now)).collect();
        shared.output.rows(&HEADINGS, &rows)?;
    }
    Ok(if workers.is_empty() { NO } else { 0 })
}

pub(crate) const HEADINGS: [&str; 11] = [
    "NAME", "INSTANCE", "HOST", "PROCESS", "QUEUES", "RUNNING", "SLOTS", "LONGEST", "MEMORY",
    "SEEN", "",
];

pub(crate) fn row(worker: &WorkerInfo, now: SystemTime) -> Vec<Cell> {
    let beat = &worker.beat;
    let longest = beat.running.iter().map(|item| item.elapsed).max();
    let seen = now.duration_since(worker.seen).unwrap_or_default();
    vec![
        Cell::text(beat.worker.name()),
        Cell::text(beat.worker.instance()),
        Cell::text(&beat.host),
        Cell::Number(beat.process.into()),
        Cell::text(beat.queues.join(",")),
        Cell::Number(beat.running.len() as u64),
        Cell::Number(beat.slots.into()),
        Cell::duration(longest),
        beat.memory.map_or(Cell::Empty, Cell::Bytes),
        Cell::Duration(seen),
        state(worker, seen),
    ]
}

fn state(worker: &WorkerInfo, seen: Duration) -> Cell {
    let stops = worker.commands.iter().any(|command| command.action == WorkerAction::Stop);
    match () {
        () if stops || worker.beat.draining => Cell::word("stopping"),
        () if worker.quiet => Cell::Word("quiet".into(), true),
        () if worker.beat.throttled => Cell::Word("throttled".into(), true),
        () if seen > LATE => Cell::Word("silent".into(), true),
        () => Cell::word(""),
    }
}

fn running(worker: &WorkerInfo, item: &RunningItem) -> Vec<Cell> {
    vec![
        Cell::text(worker.beat.worker.name()),
        Cell::text(&item.queue),
        Cell::Id(item.id.to_vec()),
        Cell::Duration(item.elapsed),
        Cell::Time(item.deadline),
    ]
}

fn value(worker: &WorkerInfo) -> Value {
    let beat = &worker.beat;
    let running = beat.running.iter().map(|item| {
        let mut object = Map::new();
        object.insert("queue".into(), json!(item.queue));
        put_bytes(&mut object, "id", &item.id);
        object.insert("elapsed_ms".into(), whole_ms(item.elapsed).into());
        object.insert("deadline".into(), exact_time(item.deadline).into());
        Value::Object(object)
    });
    let p99 = |us: Option<u64>| ms(us.map(Duration::from_micros));
    json!({
        "name": beat.worker.name(),
        "instance": beat.worker.instance(),
        "host": beat.host,
        "process": beat.process,
        "language": beat.language,
        "version": beat.version,
        "queues": beat.queues,
        "slots": beat.slots,
        "running": running.collect::<Vec<_>>(),
        "memory_bytes": beat.memory,
        "throttled": beat.throttled,
        "draining": beat.draining,
        "quiet": worker.quiet,
        "commands": worker.commands.len(),
        "seen_at": exact_time(worker.seen),
        "waited_p99_ms": p99(beat.waiting.quantile(0.99)),
        "ran_p99_ms": p99(beat.run.quantile(0.99)),
    })
}

async fn quiet(shared: &Shared, name: &str, quiet: bool) -> Ended {
    let client = shared.client().await?;
    if quiet {
        client.quiet_worker(name).await?;
    } else {
        client.resume_worker(name).await?;
    }
    // Monitors may list them; who may only command has still commanded.
    let listed = all(shared, WorkersOptions::new().name(name)).await?.len();
    if shared.output.json {
        shared.output.document(&json!({ "name": name, "quiet": quiet, "workers": listed }))?;
    } else if listed == 0 {
        let when = if quiet { "it holds for those that are started later" } else { "nothing more" };
        shared.output.note(&format!("leaseq: no worker {name} runs now: {when}"));
    } else {
        let what = if quiet { "leases nothing more" } else { "leases again" };
        shared
            .output
            .line(&format!("told {listed}: each {what} from its next beat on, within 10s"))?;
    }
    Ok(0)
}

async fn stop(shared: &Shared, name: &str, instance: Option<&str>) -> Ended {
    let client = shared.client().await?;
    let workers = all(shared, WorkersOptions::new().name(name)).await?;
    let mut told = 0;
    for worker in &workers {
        let id = &worker.beat.worker;
        if instance.is_none_or(|instance| instance == id.instance())
            && client.command_worker(id, &WorkerAction::Stop).await?
        {
            told += 1;
        }
    }
    if shared.output.json {
        shared.output.document(&json!({ "name": name, "told": told }))?;
    } else if told > 0 {
        shared.output.line(&format!(
            "told {told}: each hears of it within 10s, and ends when what it runs has ended"
        ))?;
    }
    match told {
        0 => Err(Failure::no(format_args!("no worker {name} has been seen in the last 30s"))
            .hint("leaseq workers lists them")),
        _ => Ok(0),
    }
}
