//! What is leased now, and how much of their leases items use.

use std::time::{SystemTime, UNIX_EPOCH};

use askama::Template;
use axum::response::Response;
use leaseq::{Cursor, Histogram, HistoryKind, ItemInfo, ListOptions, State, WorkersPage};
use leaseq_report::{escaped, text};
use serde::Serialize;

use super::chrome::Chrome;
use super::queue_head::QueueHead;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, Shown, bound, number};
use crate::json::shared;
use crate::links;

/// Leases of a page.
const PAGE: usize = 100;

#[derive(Template)]
#[template(path = "leases.html")]
struct LeasesPage {
    chrome: Chrome,
    head: QueueHead,
    now: Now,
    source: String,
    blank: LeaseRow,
    blank_bar: Bar,
}

/// What the page shows, also as JSON for its script.
#[derive(Serialize)]
struct Now {
    any: bool,
    leases: Vec<LeaseRow>,
    total: String,
    next: Option<String>,
    measured: bool,
    #[serde(flatten)]
    usage: Usage,
}

#[derive(Default, Serialize)]
struct LeaseRow {
    key: String,
    id: String,
    link: String,
    ends: Option<Moment>,
    attempt: u32,
    weight: &'static str,
    /// Whether a worker says that it runs it, which one, and since when.
    held: bool,
    worker: String,
    began: Option<Moment>,
}

/// How much of their leases items had used when they ended.
#[derive(Default, Serialize)]
struct Usage {
    look: &'static str,
    verdict: String,
    details: String,
    bars: Vec<Bar>,
}

#[derive(Default, Serialize)]
struct Bar {
    key: String,
    count: String,
    /// Of the highest one, in percent.
    height: u64,
    look: &'static str,
}

impl LeaseRow {
    fn new(cx: &Context, queue: &str, info: &ItemInfo, workers: Option<&WorkersPage>) -> LeaseRow {
        let all = workers.iter().flat_map(|page| &page.workers);
        let holder = all
            .flat_map(|worker| worker.beat.running.iter().map(move |item| (worker, item)))
            .find(|(_, item)| item.queue == queue && item.id == info.id);
        let attempt = info.failures + info.expiries + 1;
        LeaseRow {
            key: text::id(&info.id),
            id: text::id(&info.id),
            link: cx.app.link_to(&links::item(queue, &info.id)),
            ends: Some(Moment::new(info.at.unwrap_or(info.added_at))),
            attempt,
            weight: if attempt == 1 { "muted" } else { "" },
            held: holder.is_some(),
            worker: holder.map_or_else(String::new, |(worker, _)| {
                escaped(worker.beat.worker.name()).into_owned()
            }),
            // Each beat says it anew, some ms earlier or later.
            began: holder.and_then(|(worker, item)| {
                Some(Moment::new(worker.seen.checked_sub(item.elapsed)?).to_second())
            }),
        }
    }

    fn left_time(&self) -> String {
        bound(self.ends.as_ref(), "ends", Shown::Left)
    }

    fn running_time(&self) -> String {
        bound(self.began.as_ref(), "began", Shown::For)
    }

    fn from(&self) -> u64 {
        self.began.as_ref().map_or(0, Moment::ms)
    }

    fn until(&self) -> u64 {
        self.ends.as_ref().map_or(0, Moment::ms)
    }

    /// How much of the lease is used, in percent.
    fn used(&self) -> u64 {
        let now = Moment::new(SystemTime::now()).ms();
        let whole = self.until().saturating_sub(self.from()).max(1);
        (now.saturating_sub(self.from()) * 100 / whole).min(100)
    }
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
            key: match at {
                10 => "over 100 %".into(),
                at => format!("{} to {} %", at * 10, at * 10 + 10),
            },
            count: number(*count),
            height: (count * 100).div_ceil(most),
            look: if at == 10 { "used late" } else { "used" },
        };
        let percent = |count: u64| match count * 1_000 / all {
            0 if count > 0 => "less than 0.1 %".into(),
            part => format!("{}.{} %", part / 10, part % 10),
        };
        let (late, close) = (percent(counts[10]), percent(counts[8] + counts[9]));
        let items = number(all);
        let (look, verdict, details) = match counts[10] {
            0 => (
                "",
                "The lease was long enough".into(),
                format!("for all {items} items; {close} have used 80 % of it or more."),
            ),
            _ => (
                "s-dead",
                format!("The lease is too short for {late}"),
                format!("of {items} items, and {close} more have used 80 % of it."),
            ),
        };
        let bars = counts.iter().enumerate().map(bar).collect();
        Some(Usage { look, verdict, details, bars })
    }
}

impl Now {
    async fn read(cx: &Context) -> Result<(QueueHead, Now), Failure> {
        let queue = cx.queue().await?;
        let name = queue.name();
        let counts = cx.app.counts(name).await?;
        let cursor = cx.query.parse::<Cursor>("cursor")?;
        let options = ListOptions::new().without_data().limit(PAGE);
        let page = queue.list_with(State::Leased, cursor.as_ref(), &options).await?;
        let workers = cx.app.workers().await.ok();
        let row = |info| LeaseRow::new(cx, name, info, workers.as_deref());
        let leases: Vec<_> = page.items.iter().map(row).collect();
        let history = cx.app.history(name, HistoryKind::Minutes, UNIX_EPOCH).await.ok();
        let mut used = Histogram::new();
        for row in history.iter().flat_map(|past| past.from(UNIX_EPOCH)) {
            used.merge(&row.measured.lease_use);
        }
        let usage = Usage::new(&used);
        let head = QueueHead::of(&cx.app, &queue, &counts, "leases").await?;
        let next = page.cursor.map(|cursor| {
            format!("{}/leases?cursor={}", head.path, links::value(&cursor.to_string()))
        });
        let now = Now {
            any: !leases.is_empty(),
            leases,
            total: number(counts.leased),
            next,
            measured: usage.is_some(),
            usage: usage.unwrap_or_default(),
        };
        Ok((head, now))
    }
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let (head, now) = Now::read(&cx).await?;
    let mut chrome = Chrome::of(&cx, "overview", format!("Leases · {}", head.name));
    // It is about what happens now.
    chrome.refresh = Some(5);
    let cursor = links::value(cx.query.get("cursor").unwrap_or_default());
    let page = LeasesPage {
        chrome,
        source: format!("{}/leases/now?cursor={cursor}", head.path),
        head,
        now,
        blank: LeaseRow::default(),
        blank_bar: Bar::default(),
    };
    cx.html(&page)
}

pub(crate) async fn now(cx: Context) -> Result<Response, Failure> {
    let cursor = cx.query.get("cursor").unwrap_or_default();
    let key = format!("leases {} {cursor}", cx.param("queue"));
    shared(&cx, key, async { Ok(Now::read(&cx).await?.1) }).await
}
