//! Whether the server and the queues are as they should be.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use askama::Template;
use axum::response::Response;
use leaseq::{Diagnosis, ListOptions, State, WorkQueue};
use leaseq_report::{escaped, summary};
use serde::Serialize;

use super::chrome::Chrome;
use crate::app::App;
use crate::checks::Check;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, Shown, bound, number};
use crate::json::shared;
use crate::links;

/// Queues of a page.
const PAGE: usize = 50;
/// A cleaner, or whoever leases, is this late at most while all is well.
const MAX_LAG: Duration = Duration::from_secs(5);
/// What is less than this late is on time.
const MIN_LAG: Duration = Duration::from_secs(1);

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage {
    chrome: Chrome,
    now: Now,
    source: String,
    settings: Vec<(String, String)>,
    previous: Option<String>,
    next: Option<String>,
    blank: QueueHealth,
    blank_advice: Advice,
}

/// What the page shows, also as JSON for its script.
#[derive(Serialize)]
struct Now {
    engine: String,
    durability: &'static str,
    meaning: &'static str,
    fine: bool,
    advised: bool,
    advice: Vec<Advice>,
    any: bool,
    queues: Vec<QueueHealth>,
}

#[derive(Default, Serialize)]
struct Advice {
    key: String,
    change: String,
    kind: &'static str,
    badge: &'static str,
}

#[derive(Default, Serialize)]
struct QueueHealth {
    key: String,
    link: String,
    check: String,
    mend: String,
    error: String,
    /// Since when the first item is overdue.
    due: Option<Moment>,
    late: bool,
    behind: bool,
    on_time: bool,
    state: &'static str,
    badge: &'static str,
    found: String,
    checked: Option<Moment>,
    #[serde(skip)]
    running: bool,
}

/// Since when the first item of a state is overdue, if it is.
async fn overdue(queue: &WorkQueue, state: State) -> Result<Option<SystemTime>, Failure> {
    let options = ListOptions::new().without_data().limit(1);
    let page = queue.list_with(state, None, &options).await?;
    let at = page.items.first().and_then(|info| info.at);
    Ok(at.filter(|at| *at < SystemTime::now()))
}

async fn due(app: App, name: String) -> Result<Option<SystemTime>, Failure> {
    let ask = async {
        let queue = app.client().await?.queue(&name)?;
        let overdue =
            [overdue(&queue, State::Leased).await?, overdue(&queue, State::Delayed).await?];
        Ok(overdue.into_iter().flatten().min())
    };
    app.caches.dues.get(&name, ask).await
}

impl QueueHealth {
    fn new(cx: &Context, name: &str, due: Result<Option<SystemTime>, &Failure>) -> QueueHealth {
        let check = cx.app.checks.get(name);
        let found = check.as_ref().and_then(|check| check.found.as_ref());
        let running = check.as_ref().is_some_and(|check| check.found.is_none());
        let (state, badge) = match found {
            _ if running => ("running", "badge"),
            Some(Ok((_, _, true))) => ("sound", "badge good"),
            Some(_) => ("damaged", "badge bad"),
            None => ("not yet", "muted"),
        };
        let link = cx.app.link_to(&links::queue(name));
        let since = due.ok().flatten();
        let lag = since.and_then(|since| SystemTime::now().duration_since(since).ok());
        let lag = lag.filter(|lag| *lag >= MIN_LAG);
        let late = lag.is_some_and(|lag| lag > MAX_LAG);
        QueueHealth {
            key: name.into(),
            check: format!("{link}/check"),
            mend: format!("{link}/mend"),
            link,
            error: due
                .err()
                .map(|failure| escaped(&failure.message).into_owned())
                .unwrap_or_default(),
            due: since.filter(|_| lag.is_some()).map(Moment::new),
            late,
            behind: lag.is_some() && !late,
            on_time: lag.is_none() && due.is_ok(),
            state,
            badge,
            found: match found {
                Some(Ok((items, found, _))) => {
                    format!("{} items, {}", number(*items), escaped(found))
                }
                Some(Err(why)) => escaped(why).into_owned(),
                None => String::new(),
            },
            checked: check.map(|check| Moment::new(check.at)),
            running,
        }
    }

    fn due_time(&self) -> String {
        bound(self.due.as_ref(), "due", Shown::For)
    }

    fn checked_time(&self) -> String {
        bound(self.checked.as_ref(), "checked", Shown::Distance)
    }
}

impl Now {
    fn new(diagnosis: &Diagnosis, queues: Vec<QueueHealth>) -> Now {
        let advice = diagnosis.advice.iter().map(|advice| Advice {
            key: escaped(&advice.found).into_owned(),
            change: escaped(&advice.change).into_owned(),
            kind: if advice.problem { "problem" } else { "note" },
            badge: if advice.problem { "badge bad" } else { "badge" },
        });
        Now {
            engine: escaped(&diagnosis.engine).into_owned(),
            durability: diagnosis.durability.as_str(),
            meaning: diagnosis.durability.meaning(),
            fine: diagnosis.is_fine(),
            advised: !diagnosis.advice.is_empty(),
            advice: advice.collect(),
            any: !queues.is_empty(),
            queues,
        }
    }
}

/// What the doctor has found, the queues of a page, and which page of how many queues it is.
async fn read(cx: &Context) -> Result<(Arc<Diagnosis>, Vec<QueueHealth>, (usize, usize)), Failure> {
    let names = cx.app.names().await?;
    let from = cx.query.parse::<usize>("from")?.unwrap_or(0).min(names.len());
    let shown: Vec<String> = names.iter().skip(from).take(PAGE).cloned().collect();
    let diagnosis = cx.app.doctor().await?;
    let dues = cx.app.for_all(&shown, due).await;
    let row = |(name, due): (&String, &Result<Option<SystemTime>, Failure>)| {
        QueueHealth::new(cx, name, due.as_ref().copied())
    };
    Ok((diagnosis, dues.iter().map(row).collect(), (from, names.len())))
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let (diagnosis, queues, (from, all)) = read(&cx).await?;
    let at = |from: usize| cx.app.link_to(&format!("/health?from={from}"));
    let mut chrome = Chrome::of(&cx, "health", "Health");
    chrome.refresh = queues.iter().any(|queue| queue.running).then_some(2);
    let text = |text: &String| escaped(text).into_owned();
    let settings = diagnosis.settings.iter().map(|(name, value)| (text(name), text(value)));
    let page = HealthPage {
        chrome,
        settings: settings.collect(),
        now: Now::new(&diagnosis, queues),
        source: cx.app.link_to(&format!("/health/now?from={from}")),
        previous: (from > 0).then(|| at(from.saturating_sub(PAGE))),
        next: (from + PAGE < all).then(|| at(from + PAGE)),
        blank: QueueHealth::default(),
        blank_advice: Advice::default(),
    };
    cx.html(&page)
}

pub(crate) async fn now(cx: Context) -> Result<Response, Failure> {
    let key = format!("health {}", cx.query.get("from").unwrap_or_default());
    let read = async {
        let (diagnosis, queues, _) = read(&cx).await?;
        Ok(Now::new(&diagnosis, queues))
    };
    shared(&cx, key, read).await
}

pub(crate) async fn check(cx: Context) -> Result<Response, Failure> {
    begin(cx, false).await
}

pub(crate) async fn mend(cx: Context) -> Result<Response, Failure> {
    begin(cx, true).await
}

/// Looks at the whole queue, in steps, while nobody waits for it.
async fn begin(cx: Context, mend: bool) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let name = queue.name().to_owned();
    if cx.app.checks.get(&name).is_some_and(|check| check.found.is_none()) {
        return Err(Failure::conflict("this queue is being checked"));
    }
    let action = if mend { "mend" } else { "check" };
    cx.audit(action, &name, serde_json::json!({ "step": "begins" }));
    cx.app.checks.set(&name, Check { at: SystemTime::now(), found: None });
    let app = cx.app.clone();
    let who = cx.who.clone();
    tokio::spawn(async move {
        let found = if mend { queue.deep_clean().await } else { queue.check().await };
        let found = match found {
            Ok(report) => {
                let sound = report.is_sound() || report.found == report.mended;
                Ok((report.items, summary(&report), sound))
            }
            Err(error) => Err(error.to_string()),
        };
        if let Some(audit) = &app.options.audit {
            let what = match &found {
                Ok((items, found, _)) => {
                    serde_json::json!({ "queue": name, "step": "ends", "items": items, "found": found })
                }
                Err(error) => serde_json::json!({ "queue": name, "step": "ends", "error": error }),
            };
            audit.write(&who, action, what);
        }
        app.checks.set(&name, Check { at: SystemTime::now(), found: Some(found) });
    });
    Ok(cx.to(&format!("/health?done={action}")))
}
