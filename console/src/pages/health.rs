//! Whether the server and the queues are as they should be.

use std::time::{Duration, SystemTime};

use askama::Template;
use axum::response::Response;
use leaseq::{ListOptions, State, WorkQueue};
use leaseq_report::{escaped, summary, text};
use serde_json::json;

use super::chrome::Chrome;
use crate::app::App;
use crate::checks::Check;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, number};
use crate::links;

/// Queues of a page.
const PAGE: usize = 50;
/// A cleaner, or whoever leases, is this late at most while all is well.
const MAX_LAG: Duration = Duration::from_secs(5);

#[derive(Template)]
#[template(path = "health.html")]
struct HealthPage {
    chrome: Chrome,
    engine: String,
    durability: &'static str,
    meaning: &'static str,
    fine: bool,
    advice: Vec<(bool, String, String)>,
    settings: Vec<(String, String)>,
    queues: Vec<QueueHealth>,
    previous: Option<String>,
    next: Option<String>,
}

struct QueueHealth {
    name: String,
    link: String,
    error: String,
    lag: String,
    late: bool,
    check: String,
    sound: bool,
    damaged: bool,
    checked: Option<Moment>,
    running: bool,
}

/// By how much the first item of a state is overdue.
async fn overdue(queue: &WorkQueue, state: State) -> Result<Duration, Failure> {
    let options = ListOptions::new().without_data().limit(1);
    let page = queue.list_with(state, None, &options).await?;
    let at = page.items.first().and_then(|info| info.at);
    Ok(at.and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default())
}

async fn lag(app: App, name: String) -> Result<Duration, Failure> {
    let ask = async {
        let queue = app.client().await?.queue(&name)?;
        Ok(overdue(&queue, State::Leased).await?.max(overdue(&queue, State::Delayed).await?))
    };
    app.caches.lags.get(&name, ask).await
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let names = cx.app.names().await?;
    let from = cx.query.parse::<usize>("from")?.unwrap_or(0).min(names.len());
    let shown: Vec<String> = names.iter().skip(from).take(PAGE).cloned().collect();
    let diagnosis = cx.app.doctor().await?;
    let lags = cx.app.for_all(&shown, lag).await;
    let row = |name: &String| {
        let lag = lags.get(name);
        let check = cx.app.checks.get(name);
        let late = lag.and_then(|lag| lag.as_ref().ok()).copied().unwrap_or_default();
        let found = check.as_ref().and_then(|check| check.found.as_ref());
        QueueHealth {
            name: name.clone(),
            link: cx.app.link_to(&links::queue(name)),
            error: match lag {
                Some(Err(failure)) => escaped(&failure.message).into_owned(),
                _ => String::new(),
            },
            lag: if late.is_zero() { "none".into() } else { text::rough(late) },
            late: late > MAX_LAG,
            sound: matches!(found, Some(Ok((_, _, true)))),
            damaged: matches!(found, Some(Ok((_, _, false)) | Err(_))),
            check: match found {
                Some(Ok((items, found, _))) => {
                    format!("{} items, {}", number(*items), escaped(found))
                }
                Some(Err(why)) => escaped(why).into_owned(),
                None => String::new(),
            },
            running: check.as_ref().is_some_and(|check| check.found.is_none()),
            checked: check.map(|check| Moment::new(check.at)),
        }
    };
    let queues: Vec<_> = shown.iter().map(row).collect();
    let at = |from: usize| cx.app.link_to(&format!("/health?from={from}"));
    let mut chrome = Chrome::of(&cx, "health", "Health");
    chrome.refresh = queues.iter().any(|queue| queue.running).then_some(2);
    let text = |text: &String| escaped(text).into_owned();
    let page = HealthPage {
        chrome,
        engine: text(&diagnosis.engine),
        durability: diagnosis.durability.as_str(),
        meaning: diagnosis.durability.meaning(),
        fine: diagnosis.is_fine(),
        advice: diagnosis
            .advice
            .iter()
            .map(|a| (a.problem, text(&a.found), text(&a.change)))
            .collect(),
        settings: diagnosis
            .settings
            .iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect(),
        queues,
        previous: (from > 0).then(|| at(from.saturating_sub(PAGE))),
        next: (from + PAGE < names.len()).then(|| at(from + PAGE)),
    };
    cx.html(&page)
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
    cx.audit(action, &name, json!({ "step": "begins" }));
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
                    json!({ "queue": name, "step": "ends", "items": items, "found": found })
                }
                Err(error) => json!({ "queue": name, "step": "ends", "error": error }),
            };
            audit.write(&who, action, what);
        }
        app.checks.set(&name, Check { at: SystemTime::now(), found: Some(found) });
    });
    Ok(cx.to(&format!("/health?done={action}")))
}
