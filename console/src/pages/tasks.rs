//! Changes of many items.

use askama::Template;
use axum::response::Response;
use leaseq::State;
use leaseq_report::{Action, escaped};
use serde::Serialize;

use super::chrome::Chrome;
use super::rows::{ItemRow, time_heading};
use crate::context::Context;
use crate::failure::Failure;
use crate::filter::Filter;
use crate::format::{Moment, Shown, bound, number};
use crate::json::json;
use crate::links;
use crate::tasks::{Phase, Task, Tools};

/// The highest rate, in items a second.
const MAX_RATE: u32 = 100_000;

#[derive(Template)]
#[template(path = "tasks.html")]
struct TasksPage {
    chrome: Chrome,
    now: Now,
    source: String,
    blank: TaskRow,
}

/// What the list shows, also as JSON for its script.
#[derive(Serialize)]
struct Now {
    any: bool,
    tasks: Vec<TaskRow>,
}

#[derive(Template)]
#[template(path = "task.html")]
struct TaskPage {
    chrome: Chrome,
    task: TaskRow,
    source: String,
    samples: Vec<ItemRow>,
    heading: &'static str,
    may: bool,
    queue_link: String,
}

/// Also as JSON for scripts.
#[derive(Default, Serialize)]
struct TaskRow {
    key: String,
    link: String,
    queue: String,
    action: &'static str,
    state: &'static str,
    /// What else the items must have.
    #[serde(skip)]
    wanted: Vec<(&'static str, String)>,
    phase: &'static str,
    /// How its badge looks.
    badge: &'static str,
    error: String,
    examined: String,
    total: String,
    matched: String,
    changed: String,
    none: bool,
    percent: u64,
    done: String,
    rate: Option<u32>,
    who: String,
    since: Option<Moment>,
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
        let percent = (done * 100).checked_div(of).unwrap_or(100).min(100);
        let (phase, badge) = match &progress.phase {
            Phase::Examining => ("examining", "badge"),
            Phase::Previewed => ("previewed", "badge warn"),
            Phase::Running => ("running", "badge"),
            Phase::Done => ("done", "badge good"),
            Phase::Stopped => ("stopped", "badge"),
            Phase::Failed(_) => ("failed", "badge bad"),
        };
        TaskRow {
            key: task.id.clone(),
            link: cx.app.link_to(&format!("/tasks/{}", task.id)),
            queue: task.queue.name().into(),
            action: task.action.as_str(),
            state: filter.state.as_str(),
            wanted: wanted.map(|(name, value)| (name, escaped(value).into_owned())).collect(),
            phase,
            badge,
            error: match &progress.phase {
                Phase::Failed(why) => escaped(why).into_owned(),
                _ => String::new(),
            },
            examined: number(progress.examined),
            total: number(task.total),
            matched: number(progress.matched),
            changed: number(progress.changed),
            none: progress.matched == 0,
            percent,
            done: format!("{percent} % done"),
            rate: task.rate,
            who: task.who.name.clone(),
            since: Some(Moment::new(task.began)),
            working: task.is_working(),
        }
    }

    fn began_time(&self) -> String {
        bound(self.since.as_ref(), "since", Shown::Distance)
    }
}

impl Now {
    fn read(cx: &Context) -> Now {
        let tasks: Vec<_> = cx.app.tasks.all().iter().map(|task| TaskRow::new(cx, task)).collect();
        Now { any: !tasks.is_empty(), tasks }
    }
}

pub(crate) async fn list(cx: Context) -> Result<Response, Failure> {
    let now = Now::read(&cx);
    let mut chrome = Chrome::of(&cx, "tasks", "Bulk changes");
    chrome.refresh = now.tasks.iter().any(|task| task.working).then_some(2);
    let source = cx.app.link_to("/tasks/now");
    cx.html(&TasksPage { chrome, now, source, blank: TaskRow::default() })
}

pub(crate) async fn list_now(cx: Context) -> Result<Response, Failure> {
    json(&cx, &Now::read(&cx))
}

pub(crate) async fn now(cx: Context) -> Result<Response, Failure> {
    let task = cx.app.tasks.find(cx.param("id"))?;
    json(&cx, &TaskRow::new(&cx, &task))
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
        source: format!("{}/now", row.link),
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
