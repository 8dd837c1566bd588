//! The registry of workers, and commands for them.

use std::time::Duration;

use askama::Template;
use axum::response::Response;
use leaseq::{RunningItem, WorkerAction, WorkerId, WorkerInfo, WorkersOptions};
use leaseq_report::{escaped, text};
use serde::Serialize;

use super::chrome::Chrome;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, Shown, bound, micros, number, size};
use crate::json::shared;
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
    now: Now,
    source: String,
    find: String,
    first: bool,
    next: Option<String>,
    blank: WorkerRow,
    blank_item: RunningRow,
}

/// What the page shows, also as JSON for its script.
#[derive(Serialize)]
struct Now {
    any: bool,
    workers: Vec<WorkerRow>,
    skipped: u64,
}

#[derive(Default, Serialize)]
struct WorkerRow {
    key: String,
    /// As it is, for forms, and as it is shown.
    name: String,
    shown: String,
    label: String,
    runs: String,
    instance: String,
    host: String,
    process: u32,
    language: String,
    version: String,
    queues: String,
    slots: String,
    /// Empty: it says nothing of it.
    memory: String,
    run: String,
    running: Vec<RunningRow>,
    busy: bool,
    more: usize,
    throttled: bool,
    draining: bool,
    quiet: bool,
    seen: Option<Moment>,
    late: bool,
    told: bool,
    commands: String,
}

#[derive(Default, Serialize)]
struct RunningRow {
    key: String,
    /// Those of its worker.
    name: String,
    instance: String,
    queue: String,
    id: String,
    link: String,
    began: Option<Moment>,
    ends: Option<Moment>,
}

impl RunningRow {
    fn new(cx: &Context, worker: &WorkerInfo, item: &RunningItem) -> RunningRow {
        let id = text::id(&item.id);
        // Each beat says it anew, some ms earlier or later.
        let began = worker.seen.checked_sub(item.elapsed);
        RunningRow {
            key: format!("{} {id}", item.queue),
            name: worker.beat.worker.name().into(),
            instance: worker.beat.worker.instance().into(),
            queue: item.queue.clone(),
            id,
            link: cx.app.link_to(&links::item(&item.queue, &item.id)),
            began: began.map(|began| Moment::new(began).to_second()),
            ends: Some(Moment::new(item.deadline)),
        }
    }

    fn running_time(&self) -> String {
        bound(self.began.as_ref(), "began", Shown::For)
    }

    fn ends_time(&self) -> String {
        bound(self.ends.as_ref(), "ends", Shown::Distance)
    }
}

impl WorkerRow {
    fn new(cx: &Context, worker: &WorkerInfo) -> WorkerRow {
        let beat = &worker.beat;
        let running = beat.running.iter().take(MAX_RUNNING);
        let command = |action: &WorkerAction| match action {
            WorkerAction::Stop => "told to stop".into(),
            WorkerAction::Cancel { queue, id } => {
                format!("told to cancel {} of {queue}", text::id(id))
            }
            _ => "told a command of a newer version".into(),
        };
        let commands: Vec<String> =
            worker.commands.iter().map(|told| command(&told.action)).collect();
        let quantiles = beat.run.quantile(0.5).zip(beat.run.quantile(0.99));
        let shown = escaped(beat.worker.name()).into_owned();
        WorkerRow {
            // Neither has a control character.
            key: format!("{}\n{}", beat.worker.name(), beat.worker.instance()),
            name: beat.worker.name().into(),
            label: format!("Worker {shown}"),
            runs: format!("What {shown} runs"),
            shown,
            instance: beat.worker.instance().into(),
            host: escaped(&beat.host).into_owned(),
            process: beat.process,
            language: escaped(&beat.language).into_owned(),
            version: escaped(&beat.version).into_owned(),
            queues: beat.queues.join(", "),
            slots: format!("{} of {} in use", beat.running.len(), beat.slots),
            memory: beat.memory.map(size).unwrap_or_default(),
            run: quantiles.map_or_else(String::new, |(p50, p99)| {
                format!("{} / {}, of {}", micros(p50), micros(p99), number(beat.run.count()))
            }),
            running: running.map(|item| RunningRow::new(cx, worker, item)).collect(),
            busy: !beat.running.is_empty(),
            more: beat.running.len().saturating_sub(MAX_RUNNING),
            throttled: beat.throttled,
            draining: beat.draining,
            quiet: worker.quiet,
            seen: Some(Moment::new(worker.seen)),
            late: worker.seen.elapsed().is_ok_and(|ago| ago > LATE),
            told: !commands.is_empty(),
            commands: commands.join(" · "),
        }
    }

    fn seen_time(&self) -> String {
        bound(self.seen.as_ref(), "seen", Shown::Distance)
    }
}

/// Workers of a page, and where the next one begins.
async fn read(cx: &Context) -> Result<(Now, Option<WorkerId>), Failure> {
    let mut options = WorkersOptions::new().limit(PAGE);
    if let Some((name, instance)) = cx.query.get("name").zip(cx.query.get("instance")) {
        options = options.after(WorkerId::new(name).with_instance(instance));
    }
    if let Some(find) = cx.query.get("find") {
        options = options.name(find);
    }
    let page = cx.app.client().await?.workers(options).await?;
    let workers: Vec<_> = page.workers.iter().map(|worker| WorkerRow::new(cx, worker)).collect();
    Ok((Now { any: !workers.is_empty(), workers, skipped: page.skipped }, page.next))
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let (now, next) = read(&cx).await?;
    let part = |name| links::value(cx.query.get(name).unwrap_or_default());
    let at = |path: &str, name: &str, instance: &str| {
        let find = part("find");
        cx.app.link_to(&format!("{path}?find={find}&name={name}&instance={instance}"))
    };
    let page = WorkersPage {
        chrome: Chrome::of(&cx, "workers", "Workers"),
        now,
        source: at("/workers/now", &part("name"), &part("instance")),
        find: cx.query.get("find").unwrap_or_default().into(),
        first: cx.query.get("name").is_none(),
        next: next
            .map(|next| at("/workers", &links::value(next.name()), &links::value(next.instance()))),
        blank: WorkerRow::default(),
        blank_item: RunningRow::default(),
    };
    cx.html(&page)
}

pub(crate) async fn now(cx: Context) -> Result<Response, Failure> {
    let parts = ["name", "instance", "find"].map(|name| cx.query.get(name).unwrap_or_default());
    shared(&cx, format!("workers {parts:?}"), async { Ok(read(&cx).await?.0) }).await
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
    cx.audit("quiet worker", "", serde_json::json!({ "worker": name }));
    Ok(cx.to("/workers?done=quiet-worker"))
}

pub(crate) async fn resume(cx: Context) -> Result<Response, Failure> {
    let name = name(&cx)?;
    cx.app.client().await?.resume_worker(name).await?;
    cx.audit("resume worker", "", serde_json::json!({ "worker": name }));
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
    let what =
        serde_json::json!({ "worker": worker.name(), "instance": worker.instance(), "id": id });
    cx.audit(&format!("{verb} worker"), queue, what);
    let done = if id.is_some() { "cancel-item" } else { "stop-worker" };
    Ok(cx.to(&format!("/workers?done={done}")))
}
