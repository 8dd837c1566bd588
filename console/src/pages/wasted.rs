//! Work that was done again: leases that ended without completion, and workers that come close to the end of theirs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use askama::Template;
use axum::response::Response;
use leaseq::{HistoryKind, Totals, WorkerInfo};
use leaseq_report::escaped;

use super::chrome::Chrome;
use super::queue_head::QueueHead;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{micros, number};

const HOUR: Duration = Duration::from_secs(3_600);

#[derive(Template)]
#[template(path = "wasted.html")]
struct WastedPage {
    chrome: Chrome,
    head: QueueHead,
    times: Vec<Time>,
    versions: Vec<Version>,
}

/// What has happened in a time.
struct Time {
    name: &'static str,
    leased: String,
    failed: String,
    expired: String,
    /// Of the leases, how many ended without completion, in percent.
    wasted: String,
    /// In thousandths.
    expired_share: u64,
    failed_share: u64,
}

impl Time {
    fn new(name: &'static str, from: &Totals, to: &Totals) -> Time {
        let since = |of: fn(&Totals) -> u64| of(to).saturating_sub(of(from));
        let (leased, failed, expired) = (
            since(|totals| totals.leased),
            since(|totals| totals.failed),
            since(|totals| totals.expired),
        );
        let share = |part: u64| (part * 1_000).checked_div(leased).unwrap_or(0).min(1_000);
        let both = share(failed + expired);
        Time {
            name,
            leased: number(leased),
            failed: number(failed),
            expired: number(expired),
            wasted: format!("{}.{} %", both / 10, both % 10),
            expired_share: share(expired),
            failed_share: share(failed),
        }
    }
}

/// The workers of a name and version.
struct Version {
    name: String,
    version: String,
    language: String,
    workers: u64,
    runs: String,
    run: String,
    /// How many of the ended items had used more than 80 % of their leases, and how many more than all.
    close: String,
    late: String,
    bad: bool,
}

fn versions(queue: &str, workers: &[WorkerInfo]) -> Vec<Version> {
    let serves = |worker: &&WorkerInfo| worker.beat.queues.iter().any(|name| name == queue);
    let mut groups = std::collections::BTreeMap::<_, Vec<&WorkerInfo>>::new();
    for worker in workers.iter().filter(serves) {
        let beat = &worker.beat;
        let key = (beat.worker.name(), beat.version.as_str(), beat.language.as_str());
        groups.entry(key).or_default().push(worker);
    }
    let version = |((name, version, language), workers): ((&str, &str, &str), Vec<&WorkerInfo>)| {
        let (mut run, mut used) = (leaseq::Histogram::new(), leaseq::Histogram::new());
        for worker in &workers {
            run.merge(&worker.beat.run);
            used.merge(&worker.beat.lease_use);
        }
        let above =
            |least: u64| used.values().filter(|(part, _)| *part >= least).map(|(_, n)| n).sum();
        let late: u64 = above(1_000);
        let quantile = |part| run.quantile(part).map(micros).unwrap_or_default();
        Version {
            name: escaped(name).into_owned(),
            version: escaped(version).into_owned(),
            language: escaped(language).into_owned(),
            workers: workers.len() as u64,
            runs: number(run.count()),
            run: if run.count() > 0 {
                format!("{} / {}", quantile(0.5), quantile(0.99))
            } else {
                String::new()
            },
            close: number(above(800)),
            late: number(late),
            bad: late > 0,
        }
    };
    groups.into_iter().map(version).collect()
}

pub(crate) async fn page(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let name = queue.name();
    let counts = cx.app.counts(name).await?;
    let minutes = cx.app.history(name, HistoryKind::Minutes, UNIX_EPOCH).await?;
    let hours = cx.app.history(name, HistoryKind::Hours, UNIX_EPOCH).await?;
    let hour_ago = SystemTime::now().checked_sub(HOUR).unwrap_or(UNIX_EPOCH);
    let mut times = Vec::new();
    for (title, rows) in [
        ("Last hour", minutes.from(hour_ago)),
        ("Last day", minutes.from(UNIX_EPOCH)),
        ("Last 31 days", hours.from(UNIX_EPOCH)),
    ] {
        times.extend(rows.first().map(|row| Time::new(title, &row.totals, &counts.totals)));
    }
    times.push(Time::new("All time", &Totals::default(), &counts.totals));
    let workers = cx.app.workers().await.ok();
    let page = WastedPage {
        chrome: Chrome::of(&cx, "overview", format!("Wasted work · {name}")),
        head: QueueHead::of(&cx.app, &queue, &counts, "wasted").await?,
        times,
        versions: workers.map(|page| versions(name, &page.workers)).unwrap_or_default(),
    };
    cx.html(&page)
}
