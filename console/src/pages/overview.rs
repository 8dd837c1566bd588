//! All queues.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use leaseq_report::escaped;

use super::chrome::Chrome;
use super::history::{self, HistoryView};
use super::selection::{PAGE, Selection};
use super::sparkline::Sparkline;
use crate::app::App;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::number;
use crate::links;
use crate::numbers::Numbers;

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
    /// Where scripts get the counts.
    numbers: String,
    /// `None`: there is no queue.
    history: Option<HistoryView>,
}

struct QueueRow {
    name: String,
    link: String,
    counted: Option<Numbers>,
    error: String,
    completed: Option<Sparkline>,
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let selection = Selection::read(&cx).await?;
    let span = history::span(&cx)?;
    let read = selection.read_queues(&cx.app, span).await?;
    let row = |name: &String| QueueRow {
        name: name.clone(),
        link: cx.app.link_to(&links::queue(name)),
        counted: read.counts(name).map(Numbers::from),
        error: read.error(name),
        completed: read.sparkline(name),
    };
    let queues: Vec<_> = selection.shown.iter().map(row).collect();
    let at = |from: usize| cx.app.link_to(&format!("/?{}", selection.query(from)));
    let source = |what: &str| {
        let query = selection.query(selection.from);
        cx.app.link_to(&format!("/{what}?{query}&span={}", span.as_str()))
    };
    let history = || {
        let here = format!("{}&", at(selection.from));
        let pending = history::pending(&selection, &read);
        HistoryView::new(&read.series(span), source("history"), &here, pending)
    };
    let doctor = cx.app.doctor().await.ok();
    let mut chrome = Chrome::of(&cx, "overview", "Queues");
    // The charts are not those of all queues yet.
    chrome.refresh = (read.pending > 0).then_some(2);
    let page = OverviewPage {
        chrome,
        failing: queues.iter().filter(|queue| queue.counted.is_none()).count(),
        history: (!queues.is_empty()).then(history),
        queues,
        find: escaped(&selection.find).into_owned(),
        known: number(selection.known as u64),
        found: number(selection.found as u64),
        previous: (selection.from > 0).then(|| at(selection.from.saturating_sub(PAGE))),
        next: (selection.from + PAGE < selection.found).then(|| at(selection.from + PAGE)),
        problems: doctor.as_ref().map_or(0, |d| d.advice.iter().filter(|a| a.problem).count()),
        numbers: source("numbers"),
    };
    cx.html(&page)
}

/// From the base path to the page, which ends with a slash.
pub(crate) async fn redirect(State(app): State<App>) -> Response {
    Redirect::permanent(&app.link_to("/")).into_response()
}
