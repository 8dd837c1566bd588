//! The items of a queue.

use askama::Template;
use axum::response::Response;
use leaseq::{Counts, Cursor, State};
use leaseq_report::Action;

use super::chrome::Chrome;
use super::history::{self, HistoryView};
use super::queue_head::QueueHead;
use super::rows::{ItemRow, order_name, time_heading};
use crate::context::Context;
use crate::failure::Failure;
use crate::filter::Filter;
use crate::format::number;
use crate::links;

/// Items of a page.
const PAGE: usize = 50;

#[derive(Template)]
#[template(path = "queue.html")]
struct QueuePage {
    chrome: Chrome,
    head: QueueHead,
    filter: Filter,
    state: &'static str,
    heading: &'static str,
    items: Vec<ItemRow>,
    /// The same in the other direction.
    other_way: String,
    other_order: &'static str,
    first: Option<String>,
    next: Option<String>,
    examined: String,
    total: String,
    /// A column for errors and one for keys, if any item has one.
    errors: bool,
    keys: bool,
    actions: Vec<&'static str>,
    history: Option<HistoryView>,
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let counts = cx.app.counts(queue.name()).await?;
    let filter = Filter::read(&cx.query, State::Ready)?;
    // Of ended ones the latest matter.
    let latest_first = matches!(filter.state, State::Dead | State::Completed | State::Cancelled);
    let reverse = cx.query.get("order").map_or(latest_first, |order| order == "reverse");
    let cursor = cx.query.parse::<Cursor>("cursor")?;
    let is_first = cursor.is_none();
    let before = examined_before(&cx)?;
    let page = filter.page(&cx.app.redaction, &queue, cursor, reverse, PAGE).await?;
    let items: Vec<_> =
        page.items.iter().map(|info| ItemRow::new(&cx.app, queue.name(), info)).collect();
    let head = QueueHead::of(&cx.app, &queue, &counts, "items").await?.at(filter.state);
    let order = |reverse: bool| if reverse { "reverse" } else { "forward" };
    let at = |reverse, cursor: &str| {
        format!("{}?{}&order={}{cursor}", head.path, filter.query(), order(reverse))
    };
    let examined = before + page.examined;
    let next = page.cursor.as_ref().map(|cursor| {
        let cursor = links::value(&cursor.to_string());
        at(reverse, &format!("&cursor={cursor}&examined={examined}"))
    });
    // Lists are about items, and a queue whose history cannot be read has items nevertheless.
    let is_plain = cx.query.get("state").is_none() && is_first && filter.is_empty();
    let history = if is_plain { charts(&cx, &counts).await? } else { None };
    let chrome = Chrome::of(&cx, "overview", queue.name());
    let allowed = |action: &Action| match action {
        Action::Remove => chrome.administers(),
        _ => chrome.operates() && action.suits(filter.state),
    };
    let actions = [Action::Requeue, Action::Cancel, Action::Bury, Action::Remove].into_iter();
    let page = QueuePage {
        actions: actions.filter(allowed).map(Action::as_str).collect(),
        chrome,
        state: filter.state.as_str(),
        heading: time_heading(filter.state),
        history,
        errors: items.iter().any(|item| !item.error.is_empty()),
        keys: items.iter().any(|item| item.key.is_some()),
        items,
        other_way: at(!reverse, ""),
        other_order: order_name(filter.state, !reverse),
        first: (!is_first).then(|| at(reverse, "")),
        next,
        examined: number(examined),
        total: number(counts.of(filter.state)),
        filter,
        head,
    };
    cx.html(&page)
}

/// How many entries the pages before this one have examined.
pub(super) fn examined_before(cx: &Context) -> Result<u64, Failure> {
    Ok(cx.query.parse::<u32>("examined")?.unwrap_or(0).into())
}

async fn charts(cx: &Context, counts: &Counts) -> Result<Option<HistoryView>, Failure> {
    let span = history::span(cx)?;
    let name = links::queue_of(cx.param("queue"));
    let Ok(series) = history::of_queue(&cx.app, name, counts, span).await else { return Ok(None) };
    let here = format!("{}?", cx.app.link_to(&links::queue(name)));
    Ok(Some(HistoryView::new(&series, history::source(&cx.app, name, span), &here, String::new())))
}
