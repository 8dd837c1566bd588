//! Dead items by their errors.

use std::collections::HashMap;
use std::time::SystemTime;

use askama::Template;
use axum::response::Response;
use leaseq::{Cursor, ItemInfo, State};
use leaseq_report::{error_kind, escaped, text};

use super::chrome::Chrome;
use super::queue_head::QueueHead;
use crate::context::Context;
use crate::failure::Failure;
use crate::filter::{BUDGET, Filter};
use crate::format::{Moment, number};
use crate::links;

/// The most groups of a page; the items of others are counted together.
const MAX_GROUPS: usize = 100;
/// Items of a step.
const STEP: usize = 500;

#[derive(Template)]
#[template(path = "dead.html")]
struct DeadPage {
    chrome: Chrome,
    head: QueueHead,
    groups: Vec<Group>,
    others: u64,
    examined: String,
    total: String,
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
    let mut cursor = cx.query.parse::<Cursor>("cursor")?;
    let mut groups: HashMap<String, Group> = HashMap::new();
    let (mut examined, mut others) = (0, 0);
    loop {
        let mut options = filter.options(&cx.app.redaction)?;
        (options.reverse, options.limit) = (true, STEP);
        let page = queue.list_with(State::Dead, cursor.as_ref(), &options).await?;
        examined += page.examined;
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
        if cursor.is_none() || examined >= BUDGET {
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
    let head = QueueHead::new(&cx.app, name, &counts, "dead");
    let next = cursor
        .map(|cursor| format!("{}/dead?cursor={}", head.path, links::value(&cursor.to_string())));
    let page = DeadPage {
        chrome: Chrome::of(&cx, "overview", format!("Dead · {name}")),
        head,
        groups,
        others,
        examined: number(examined),
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
