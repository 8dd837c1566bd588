//! The schedules of a queue.

use std::time::{Duration, SystemTime};

use askama::Template;
use axum::response::Response;
use leaseq::{GetOptions, PauseOptions, ScheduleInfo, State, WorkQueue};
use leaseq_report::{duration, escaped, item_options, text};
use serde_json::json;

use super::chrome::Chrome;
use super::queue_head::{QueueHead, pause as shown_pause};
use crate::context::Context;
use crate::failure::Failure;
use crate::format::Moment;
use crate::links;

/// Runs that are shown of a schedule.
const RUNS: usize = 3;

#[derive(Template)]
#[template(path = "schedules.html")]
struct SchedulesPage {
    chrome: Chrome,
    head: QueueHead,
    schedules: Vec<ScheduleRow>,
}

struct ScheduleRow {
    name: String,
    shown: String,
    rule: String,
    owner: String,
    paused: bool,
    /// Since when, by whom and why.
    pause: String,
    next: Option<Moment>,
    /// The next runs as the rule's zone has them.
    runs: Vec<Moment>,
    last: Option<(String, String, &'static str)>,
    overlap: bool,
    options: String,
}

impl ScheduleRow {
    fn new(cx: &Context, queue: &str, info: &ScheduleInfo, last: Option<State>) -> ScheduleRow {
        let after = info.next.unwrap_or_else(SystemTime::now);
        let later = if info.paused {
            Vec::new()
        } else {
            info.rule.times_after(after, RUNS).unwrap_or_default()
        };
        ScheduleRow {
            name: info.name.clone(),
            shown: escaped(&info.name).into_owned(),
            rule: escaped(&rule(info)).into_owned(),
            owner: escaped(&info.owner).into_owned(),
            paused: info.paused,
            pause: shown_pause(info.paused_at, None, &info.paused_by, &info.pause_reason),
            next: info.next.map(Moment::new),
            runs: later.into_iter().map(Moment::new).collect(),
            last: info.last_id.as_ref().map(|id| {
                let link = cx.app.link_to(&links::item(queue, id));
                (text::id(id), link, last.map_or("gone", State::as_str))
            }),
            overlap: info.overlap,
            options: item_options(info),
        }
    }
}

/// `every 5m` instead of `every 300000`.
fn rule(info: &ScheduleInfo) -> String {
    let text = info.rule.to_string();
    let interval = text.strip_prefix("every ").and_then(|ms| ms.parse().ok());
    interval.map_or_else(
        || text.clone(),
        |ms| format!("every {}", duration::show(Duration::from_millis(ms))),
    )
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let name = queue.name();
    let counts = cx.app.counts(name).await?;
    let without_data = GetOptions::new().without_data();
    let infos = queue.schedules_with(without_data.clone()).await?;
    let ids: Vec<_> = infos.iter().filter_map(|info| info.last_id.clone()).collect();
    let found = queue.get_many_with(&ids, without_data).await?;
    let mut states = found.into_iter().map(|info| info.map(|info| info.state));
    let row = |info: &ScheduleInfo| {
        let last = info.last_id.as_ref().and_then(|_| states.next().flatten());
        ScheduleRow::new(&cx, name, info, last)
    };
    let page = SchedulesPage {
        chrome: Chrome::of(&cx, "overview", format!("Schedules · {name}")),
        head: QueueHead::of(&cx.app, &queue, &counts, "schedules").await?,
        schedules: infos.iter().map(row).collect(),
    };
    cx.html(&page)
}

fn back(cx: &Context, queue: &WorkQueue, name: &str, action: &str) -> Response {
    cx.audit(action, queue.name(), json!({ "schedule": name }));
    cx.to(&format!("{}/schedules?done={action}", links::queue(queue.name())))
}

fn known(done: bool, name: &str) -> Result<(), Failure> {
    let missing = || Failure::missing(format_args!("there is no schedule {name:?}"));
    done.then_some(()).ok_or_else(missing)
}

pub(crate) async fn run(cx: Context) -> Result<Response, Failure> {
    let (queue, name) = (cx.queue().await?, cx.form.get("name").unwrap_or_default());
    known(queue.run_now(name).await?, name)?;
    Ok(back(&cx, &queue, name, "run"))
}

pub(crate) async fn pause(cx: Context) -> Result<Response, Failure> {
    let (queue, name) = (cx.queue().await?, cx.form.get("name").unwrap_or_default());
    let options = PauseOptions::new().by(cx.who.pauses_as());
    known(queue.pause_schedule_with(name, options).await?, name)?;
    Ok(back(&cx, &queue, name, "pause-schedule"))
}

pub(crate) async fn resume(cx: Context) -> Result<Response, Failure> {
    let (queue, name) = (cx.queue().await?, cx.form.get("name").unwrap_or_default());
    known(queue.resume_schedule(name).await?, name)?;
    Ok(back(&cx, &queue, name, "resume-schedule"))
}
