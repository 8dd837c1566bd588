//! All queues.

use std::time::SystemTime;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use leaseq::{Counts, HistoryKind};
use leaseq_report::{escaped, text};

use super::chrome::Chrome;
use super::sparkline::Sparkline;
use crate::app::App;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::number;
use crate::links;

/// Queues of a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    chrome: Chrome,
    queues: Vec<QueueRow>,
    find: String,
    /// How many queues there are, and how many of them match.
    known: String,
    found: String,
    previous: Option<String>,
    next: Option<String>,
    problems: usize,
    failing: usize,
}

struct QueueRow {
    name: String,
    link: String,
    counted: Option<Counted>,
    error: String,
    completed: Option<Sparkline>,
}

struct Counted {
    ready: String,
    delayed: String,
    held: String,
    leased: String,
    dead: String,
    has_dead: bool,
    oldest: String,
    paused: bool,
    rate_limited: bool,
}

impl From<&Counts> for Counted {
    fn from(counts: &Counts) -> Counted {
        Counted {
            ready: number(counts.ready),
            delayed: number(counts.delayed),
            held: number(counts.held),
            leased: number(counts.leased),
            dead: number(counts.dead),
            has_dead: counts.dead > 0,
            oldest: counts.oldest_ready.map(text::rough).unwrap_or_default(),
            paused: counts.paused,
            rate_limited: counts.rate_limited,
        }
    }
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let names = cx.app.names().await?;
    let find = cx.query.get("find").unwrap_or_default();
    let found: Vec<&String> = names.iter().filter(|name| name.contains(find)).collect();
    let from = cx.query.parse::<usize>("from")?.unwrap_or(0).min(found.len());
    let shown: Vec<String> = found.iter().skip(from).take(PAGE).map(ToString::to_string).collect();

    let counts = cx.app.for_all(&shown, |app, name| async move { app.counts(&name).await }).await;
    if let Some(Err(failure)) = counts.values().find(|counts| matches!(counts, Err(f) if f.retry)) {
        return Err(failure.clone());
    }
    let minutes =
        |app: App, name: String| async move { app.history(&name, HistoryKind::Minutes).await };
    let histories = cx.app.for_all(&shown, minutes).await;
    let now = SystemTime::now();
    let row = |name: &String| {
        let counted = counts.get(name);
        let history = histories.get(name).and_then(|history| history.as_ref().ok());
        QueueRow {
            name: name.clone(),
            link: cx.app.link_to(&links::queue(name)),
            counted: counted.and_then(|counts| counts.as_ref().ok()).map(|c| Counted::from(&**c)),
            error: match counted {
                Some(Err(failure)) => escaped(&failure.message).into_owned(),
                _ => String::new(),
            },
            completed: history
                .and_then(|rows| Sparkline::new(rows, now, |totals| totals.completed)),
        }
    };
    let queues: Vec<_> = shown.iter().map(row).collect();
    let at = |from: usize| cx.app.link_to(&format!("/?find={}&from={from}", links::value(find)));
    let doctor = cx.app.doctor().await.ok();
    let page = OverviewPage {
        chrome: Chrome::of(&cx, "overview", "Queues"),
        failing: queues.iter().filter(|queue| queue.counted.is_none()).count(),
        queues,
        find: escaped(find).into_owned(),
        known: number(names.len() as u64),
        found: number(found.len() as u64),
        previous: (from > 0).then(|| at(from.saturating_sub(PAGE))),
        next: (from + PAGE < found.len()).then(|| at(from + PAGE)),
        problems: doctor.as_ref().map_or(0, |d| d.advice.iter().filter(|a| a.problem).count()),
    };
    cx.html(&page)
}

/// From the base path to the page, which ends with a slash.
pub(crate) async fn redirect(State(app): State<App>) -> Response {
    Redirect::permanent(&app.link_to("/")).into_response()
}
