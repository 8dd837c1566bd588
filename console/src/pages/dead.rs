//! Dead items by their errors.

use std::collections::HashMap;
use std::time::SystemTime;

use askama::Template;
use axum::response::Response;
use leaseq::{Cursor, ItemInfo, State};
use leaseq_report::{error_kind, escaped, text};

use super::chrome::Chrome;
use super::queue::examined_before;
use super::queue_head::QueueHead;
use crate::budget::Budget;
use crate::context::Context;
use crate::failure::Failure;
use crate::filter::Filter;
use crate::format::{Moment, number};
use crate::links;

/// The most groups of a page; the items of others are counted together.
const MAX_GROUPS: usize = 100;
/// Items of a step.
const STEP: usize = 1_000;

#[derive(Template)]
#[template(path = "dead.html")]
struct DeadPage {
    chrome: Chrome,
    head: QueueHead,
    groups: Vec<Group>,
    others: u64,
    /// Which of the dead items these are, counted from the latest one.
    from: String,
    to: String,
    total: String,
    first: Option<String>,
    next: Option<String>,
}

struct Group {
    kind: String,
    /// As it is shown.
    error: String,
    count: u64,
    first: SystemTime,
    at: Moment,
    since: Moment,
    example: String,
    example_link: String,
    /// Of all that were examined, in percent.
    share: u64,
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let name = queue.name();
    let counts = cx.app.counts(name).await?;
    let filter = Filter::read(&cx.query, State::Dead)?;
    let filter = Filter { state: State::Dead, ..filter };
    let before = examined_before(&cx)?;
    let mut cursor = cx.query.parse::<Cursor>("cursor")?;
    let mut groups: HashMap<String, Group> = HashMap::new();
    let mut options = filter.options(&cx.app.redaction)?;
    (options.reverse, options.limit) = (true, STEP);
    let (mut budget, mut others) = (Budget::new(), 0);
    loop {
        let page = queue.list_with(State::Dead, cursor.as_ref(), &options).await?;
        for info in &page.items {
            let error = cx.app.redaction.error(&info.last_error, &info.data);
            let kind = error_kind(&error);
            if groups.len() >= MAX_GROUPS && !groups.contains_key(&kind) {
                others += 1;
                continue;
            }
            let group = groups.entry(kind.clone()).or_insert_with(|| group(&cx, name, info, kind));
            group.count += 1;
            group.first = group.first.min(info.at.unwrap_or(info.added_at));
        }
        cursor = page.cursor;
        if !budget.spend(page.examined) || cursor.is_none() {
            break;
        }
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by(|a, b| (b.count, &a.kind).cmp(&(a.count, &b.kind)));
    let all = groups.iter().map(|group| group.count).sum::<u64>() + others;
    for group in &mut groups {
        group.share = (group.count * 100).checked_div(all).unwrap_or(0);
        group.since = Moment::new(group.first);
    }
    let head = QueueHead::of(&cx.app, &queue, &counts, "dead").await?;
    let to = before + budget.examined;
    let next = cursor.map(|cursor| {
        let cursor = links::value(&cursor.to_string());
        format!("{}/dead?cursor={cursor}&examined={to}", head.path)
    });
    let page = DeadPage {
        chrome: Chrome::of(&cx, "overview", format!("Dead · {name}")),
        first: (before > 0).then(|| format!("{}/dead", head.path)),
        head,
        groups,
        others,
        from: number(to.min(before + 1)),
        to: number(to),
        total: number(counts.dead),
        next,
    };
    cx.html(&page)
}

fn group(cx: &Context, queue: &str, info: &ItemInfo, kind: String) -> Group {
    let at = info.at.unwrap_or(info.added_at);
    Group {
        error: escaped(&kind).into_owned(),
        kind,
        count: 0,
        first: at,
        at: Moment::new(at),
        since: Moment::new(at),
        example: text::id(&info.id),
        example_link: cx.app.link_to(&links::item(queue, &info.id)),
        share: 0,
    }
}
