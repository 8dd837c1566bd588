//! Changes of many items.

use askama::Template;
use axum::response::Response;
use leaseq::State;
use leaseq_report::{Action, escaped};

use super::chrome::Chrome;
use super::rows::{ItemRow, time_heading};
use crate::context::Context;
use crate::failure::Failure;
use crate::filter::Filter;
use crate::format::{Moment, number};
use crate::links;
use crate::tasks::{Phase, Task, Tools};

/// The highest rate, in items a second.
const MAX_RATE: u32 = 100_000;

#[derive(Template)]
#[template(path = "tasks.html")]
struct TasksPage {
    chrome: Chrome,
    tasks: Vec<TaskRow>,
}

#[derive(Template)]
#[template(path = "task.html")]
struct TaskPage {
    chrome: Chrome,
    task: TaskRow,
    samples: Vec<ItemRow>,
    heading: &'static str,
    may: bool,
    queue_link: String,
}

struct TaskRow {
    link: String,
    queue: String,
    action: &'static str,
    state: &'static str,
    /// What else the items must have.
    wanted: Vec<(&'static str, String)>,
    phase: &'static str,
    error: String,
    examined: String,
    total: String,
    matched: String,
    changed: String,
    none: bool,
    percent: u64,
    rate: Option<u32>,
    who: String,
    since: Moment,
    working: bool,
}

impl TaskRow {
    fn new(cx: &Context, task: &Task) -> TaskRow {
        let progress = task.progress();
        let (done, of) = match progress.phase {
            Phase::Examining => (progress.examined, task.total),
            _ => (progress.changed, progress.matched),
        };
        let filter = &task.filter;
        let parts = [
            ("id begins with", &filter.id),
            ("data contains", &filter.data),
            ("error contains", &filter.error),
            ("error is like", &filter.kind),
        ];
        let wanted = parts.into_iter().filter(|(_, value)| !value.is_empty());
        TaskRow {
            link: cx.app.link_to(&format!("/tasks/{}", task.id)),
            queue: task.queue.name().into(),
            action: task.action.as_str(),
            state: filter.state.as_str(),
            wanted: wanted.map(|(name, value)| (name, escaped(value).into_owned())).collect(),
            phase: match &progress.phase {
                Phase::Examining => "examining",
                Phase::Previewed => "previewed",
                Phase::Running => "running",
                Phase::Done => "done",
                Phase::Stopped => "stopped",
                Phase::Failed(_) => "failed",
            },
            error: match &progress.phase {
                Phase::Failed(why) => escaped(why).into_owned(),
                _ => String::new(),
            },
            examined: number(progress.examined),
            total: number(task.total),
            matched: number(progress.matched),
            changed: number(progress.changed),
            none: progress.matched == 0,
            percent: (done * 100).checked_div(of).unwrap_or(100).min(100),
            rate: task.rate,
            who: task.who.name.clone(),
            since: Moment::new(task.began),
            working: task.is_working(),
        }
    }
}

pub(crate) async fn list(cx: Context) -> Result<Response, Failure> {
    let tasks: Vec<_> = cx.app.tasks.all().iter().map(|task| TaskRow::new(&cx, task)).collect();
    let mut chrome = Chrome::of(&cx, "tasks", "Bulk changes");
    chrome.refresh = tasks.iter().any(|task| task.working).then_some(2);
    cx.html(&TasksPage { chrome, tasks })
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let task = cx.app.tasks.find(cx.param("id"))?;
    let row = TaskRow::new(&cx, &task);
    let mut chrome = Chrome::of(&cx, "tasks", format!("{} · {}", row.action, row.queue));
    chrome.refresh = row.working.then_some(1);
    let samples = task.progress().samples;
    let page = TaskPage {
        may: if task.action == Action::Remove { chrome.administers() } else { chrome.operates() },
        chrome,
        heading: time_heading(task.filter.state),
        samples: samples.iter().map(|info| ItemRow::new(&cx.app, &row.queue, info)).collect(),
        queue_link: cx.app.link_to(&links::queue(&row.queue)),
        task: row,
    };
    cx.html(&page)
}

pub(crate) async fn requeue(cx: Context) -> Result<Response, Failure> {
    begin(cx, Action::Requeue).await
}

pub(crate) async fn cancel(cx: Context) -> Result<Response, Failure> {
    begin(cx, Action::Cancel).await
}

pub(crate) async fn bury(cx: Context) -> Result<Response, Failure> {
    begin(cx, Action::Bury).await
}

pub(crate) async fn remove(cx: Context) -> Result<Response, Failure> {
    begin(cx, Action::Remove).await
}

/// Begins to look at the items. It changes none.
async fn begin(cx: Context, action: Action) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let filter = Filter::read(&cx.form, State::Dead)?;
    if !action.suits(filter.state) {
        let (action, state) = (action.as_str(), filter.state.as_str());
        return Err(Failure::invalid(format_args!("cannot {action} {state} items")));
    }
    let rate = cx.form.parse::<u32>("rate")?;
    if rate.is_some_and(|rate| !(1..=MAX_RATE).contains(&rate)) {
        return Err(Failure::invalid(format_args!("a rate is 1 to {MAX_RATE} items a second")));
    }
    let counts = queue.counts().await?;
    let total = counts.of(filter.state);
    let tools = Tools {
        redaction: cx.app.redaction.clone(),
        caches: cx.app.caches.clone(),
        audit: cx.app.options.audit.clone(),
    };
    let task = Task::begin((&cx.app.tasks, tools), queue, (action, filter, rate), total, &cx.who)?;
    Ok(cx.to(&format!("/tasks/{}", task.id)))
}

/// Starts the change, unless it is one that only administrators may start.
pub(crate) async fn start(cx: Context) -> Result<Response, Failure> {
    let task = cx.app.tasks.find(cx.param("id"))?;
    if task.action == Action::Remove {
        return Err(Failure::refused("this removes items, which needs the right to administer"));
    }
    task.start(&cx.who)?;
    Ok(cx.to(&format!("/tasks/{}", task.id)))
}

pub(crate) async fn start_removing(cx: Context) -> Result<Response, Failure> {
    let task = cx.app.tasks.find(cx.param("id"))?;
    if task.action != Action::Remove {
        return Err(Failure::invalid("this removes nothing"));
    }
    task.start(&cx.who)?;
    Ok(cx.to(&format!("/tasks/{}", task.id)))
}

pub(crate) async fn stop(cx: Context) -> Result<Response, Failure> {
    let task = cx.app.tasks.find(cx.param("id"))?;
    task.stop();
    Ok(cx.to(&format!("/tasks/{}", task.id)))
}
