//! What is leased now, and how much of their leases items use.

use std::time::SystemTime;

use askama::Template;
use axum::response::Response;
use leaseq::{Cursor, Histogram, HistoryKind, ListOptions, State};
use leaseq_report::{escaped, text};

use super::chrome::Chrome;
use super::queue_head::QueueHead;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, number};
use crate::links;

/// Leases of a page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "leases.html")]
struct LeasesPage {
    chrome: Chrome,
    head: QueueHead,
    leases: Vec<LeaseRow>,
    total: String,
    next: Option<String>,
    usage: Option<Usage>,
}

struct LeaseRow {
    id: String,
    link: String,
    left: String,
    expired: bool,
    ends: Moment,
    attempt: u32,
    worker: String,
    since: String,
    /// How much of the lease is used, in percent.
    used: Option<u64>,
}

/// How much of their leases items had used when they ended.
struct Usage {
    bars: Vec<Bar>,
    count: String,
    /// Of the ends, how many were after the lease, in percent.
    late: String,
    any_late: bool,
    close: String,
}

struct Bar {
    label: String,
    count: String,
    /// Of the highest one, in percent.
    height: u64,
    bad: bool,
}

impl Usage {
    /// `None`: nothing was measured.
    fn new(used: &Histogram) -> Option<Usage> {
        let all = used.count();
        if all == 0 {
            return None;
        }
        let mut counts = [0_u64; 11];
        for (thousandths, count) in used.values() {
            let bucket = usize::try_from(thousandths / 100).unwrap_or(10).min(10);
            counts[bucket] += count;
        }
        let most = counts.iter().copied().max().unwrap_or(1).max(1);
        let bar = |(at, count): (usize, &u64)| Bar {
            label: if at == 10 {
                "over 100 %".into()
            } else {
                format!("{} to {} %", at * 10, at * 10 + 10)
            },
            count: number(*count),
            height: (count * 100).div_ceil(most),
            bad: at == 10,
        };
        let percent = |count: u64| match count * 1_000 / all {
            0 if count > 0 => "less than 0.1 %".into(),
            part => format!("{}.{} %", part / 10, part % 10),
        };
        Some(Usage {
            bars: counts.iter().enumerate().map(bar).collect(),
            count: number(all),
            late: percent(counts[10]),
            any_late: counts[10] > 0,
            close: percent(counts[8] + counts[9]),
        })
    }
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let name = queue.name();
    let counts = cx.app.counts(name).await?;
    let cursor = cx.query.parse::<Cursor>("cursor")?;
    let options = ListOptions::new().without_data().limit(PAGE);
    let page = queue.list_with(State::Leased, cursor.as_ref(), &options).await?;
    let workers = cx.app.workers().await.ok();
    let now = SystemTime::now();
    let row = |info: &leaseq::ItemInfo| {
        let ends = info.at.unwrap_or(info.added_at);
        let left = ends.duration_since(now);
        let all = workers.iter().flat_map(|page| &page.workers);
        let holder = all
            .flat_map(|worker| worker.beat.running.iter().map(move |item| (worker, item)))
            .find(|(_, item)| item.queue == name && item.id == info.id);
        LeaseRow {
            id: text::id(&info.id),
            link: cx.app.link_to(&links::item(name, &info.id)),
            expired: left.is_err(),
            used: holder.zip(left.as_ref().ok()).map(|((_, item), left)| {
                let whole = (item.elapsed + *left).as_millis().max(1);
                u64::try_from(item.elapsed.as_millis() * 100 / whole).unwrap_or(100)
            }),
            left: left.map_or_else(|late| text::rough(late.duration()), text::rough),
            ends: Moment::new(ends),
            attempt: info.failures + info.expiries + 1,
            worker: holder.map_or_else(String::new, |(worker, _)| {
                escaped(worker.beat.worker.name()).into_owned()
            }),
            since: holder.map_or_else(String::new, |(_, item)| text::rough(item.elapsed)),
        }
    };
    let leases = page.items.iter().map(row).collect();
    let history = cx.app.history(name, HistoryKind::Minutes).await.ok();
    let mut used = Histogram::new();
    for row in history.iter().flat_map(|rows| rows.iter()) {
        used.merge(&row.measured.lease_use);
    }
    let head = QueueHead::new(&cx.app, name, &counts, "leases");
    let next = page
        .cursor
        .map(|cursor| format!("{}/leases?cursor={}", head.path, links::value(&cursor.to_string())));
    let mut chrome = Chrome::of(&cx, "overview", format!("Leases · {name}"));
    // It is about what happens now.
    chrome.refresh = Some(5);
    let page = LeasesPage {
        chrome,
        leases,
        total: number(counts.leased),
        next,
        usage: Usage::new(&used),
        head,
    };
    cx.html(&page)
}
