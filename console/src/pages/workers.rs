//! The registry of workers, and commands for them.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use leaseq::{WorkerAction, WorkerId, WorkerInfo, WorkersOptions};
use leaseq_report::{escaped, text};
use serde_json::json;

use super::chrome::Chrome;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, micros, number, size};
use crate::links;

/// Workers of a page.
const PAGE: usize = 50;
/// A worker that has not beaten for so long may be gone: it beats every 10 s.
const LATE: Duration = Duration::from_secs(15);
/// Running items that are shown of a worker.
const MAX_RUNNING: usize = 20;

#[derive(Template)]
#[template(path = "workers.html")]
struct WorkersPage {
    chrome: Chrome,
    workers: Vec<WorkerRow>,
    skipped: u64,
    find: String,
    first: bool,
    next: Option<String>,
}

struct WorkerRow {
    /// As it is, for forms, and as it is shown.
    name: String,
    shown: String,
    instance: String,
    host: String,
    process: u32,
    language: String,
    version: String,
    queues: String,
    slots: u32,
    busy: usize,
    more: usize,
    running: Vec<RunningRow>,
    memory: Option<String>,
    throttled: bool,
    draining: bool,
    quiet: bool,
    late: bool,
    seen: Moment,
    runs: String,
    run: Option<String>,
    commands: Vec<String>,
}

struct RunningRow {
    queue: String,
    id: String,
    link: String,
    since: String,
    ends: Moment,
}

impl WorkerRow {
    fn new(cx: &Context, worker: &WorkerInfo) -> WorkerRow {
        let beat = &worker.beat;
        let running = beat.running.iter().take(MAX_RUNNING).map(|item| RunningRow {
            queue: item.queue.clone(),
            id: text::id(&item.id),
            link: cx.app.link_to(&links::item(&item.queue, &item.id)),
            since: text::rough(item.elapsed),
            ends: Moment::new(item.deadline),
        });
        let command = |action: &WorkerAction| match action {
            WorkerAction::Stop => "stop".into(),
            WorkerAction::Cancel { queue, id } => format!("cancel {} of {queue}", text::id(id)),
            _ => "a command of a newer version".into(),
        };
        let quantile = |part| beat.run.quantile(part).map(micros);
        WorkerRow {
            name: beat.worker.name().into(),
            shown: escaped(beat.worker.name()).into_owned(),
            instance: beat.worker.instance().into(),
            host: escaped(&beat.host).into_owned(),
            process: beat.process,
            language: escaped(&beat.language).into_owned(),
            version: escaped(&beat.version).into_owned(),
            queues: beat.queues.join(", "),
            slots: beat.slots,
            busy: beat.running.len(),
            more: beat.running.len().saturating_sub(MAX_RUNNING),
            running: running.collect(),
            memory: beat.memory.map(size),
            throttled: beat.throttled,
            draining: beat.draining,
            quiet: worker.quiet,
            late: worker.seen.elapsed().is_ok_and(|ago| ago > LATE),
            seen: Moment::new(worker.seen),
            runs: number(beat.run.count()),
            run: quantile(0.5).zip(quantile(0.99)).map(|(p50, p99)| format!("{p50} / {p99}")),
            commands: worker.commands.iter().map(|command_| command(&command_.action)).collect(),
        }
    }
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let mut options = WorkersOptions::new().limit(PAGE);
    let after = cx.query.get("name").zip(cx.query.get("instance"));
    if let Some((name, instance)) = after {
        options = options.after(WorkerId::new(name).with_instance(instance));
    }
    let find = cx.query.get("find").unwrap_or_default();
    if !find.is_empty() {
        options = options.name(find);
    }
    let page = cx.app.client().await?.workers(options).await?;
    let next = page.next.as_ref().map(|next| {
        let (name, instance) = (links::value(next.name()), links::value(next.instance()));
        let find = links::value(find);
        cx.app.link_to(&format!("/workers?find={find}&name={name}&instance={instance}"))
    });
    let page = WorkersPage {
        chrome: Chrome::of(&cx, "workers", "Workers"),
        workers: page.workers.iter().map(|worker| WorkerRow::new(&cx, worker)).collect(),
        skipped: page.skipped,
        find: find.into(),
        first: after.is_none(),
        next,
    };
    cx.html(&page)
}

fn name(cx: &Context) -> Result<&str, Failure> {
    cx.form.get("name").ok_or_else(|| Failure::invalid("which worker?"))
}

fn worker(cx: &Context) -> Result<WorkerId, Failure> {
    let instance = cx.form.get("instance").ok_or_else(|| Failure::invalid("which worker?"))?;
    Ok(WorkerId::new(name(cx)?).with_instance(instance))
}

pub(crate) async fn quiet(cx: Context) -> Result<Response, Failure> {
    let name = name(&cx)?;
    cx.app.client().await?.quiet_worker(name).await?;
    cx.audit("quiet worker", "", json!({ "worker": name }));
    Ok(cx.to("/workers?done=quiet-worker"))
}

pub(crate) async fn resume(cx: Context) -> Result<Response, Failure> {
    let name = name(&cx)?;
    cx.app.client().await?.resume_worker(name).await?;
    cx.audit("resume worker", "", json!({ "worker": name }));
    Ok(cx.to("/workers?done=resume-worker"))
}

pub(crate) async fn stop(cx: Context) -> Result<Response, Failure> {
    command(cx, WorkerAction::Stop, "stop").await
}

pub(crate) async fn cancel(cx: Context) -> Result<Response, Failure> {
    let queue = cx.form.get("queue").unwrap_or_default().to_owned();
    let id = cx.form.id("id")?.into();
    command(cx, WorkerAction::Cancel { queue, id }, "cancel").await
}

async fn command(cx: Context, action: WorkerAction, verb: &str) -> Result<Response, Failure> {
    let worker = worker(&cx)?;
    if !cx.app.client().await?.command_worker(&worker, &action).await? {
        return Err(Failure::missing(
            "there is no such worker any more: it has not beaten for 30 s",
        ));
    }
    let (queue, id) = match &action {
        WorkerAction::Cancel { queue, id } => (queue.as_str(), Some(text::id(id))),
        _ => ("", None),
    };
    let what = json!({ "worker": worker.name(), "instance": worker.instance(), "id": id });
    cx.audit(&format!("{verb} worker"), queue, what);
    let done = if id.is_some() { "cancel-item" } else { "stop-worker" };
    Ok(cx.to(&format!("/workers?done={done}")))
}
