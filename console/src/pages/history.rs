//! Charts of the history, and the same as a table.

use std::time::SystemTime;

use axum::response::Response;
use leaseq::{Counts, Histogram};
use serde::Serialize;

use super::selection::{Queues, Selection};
use crate::app::App;
use crate::context::Context;
use crate::failure::Failure;
use crate::format::{Moment, micros, number};
use crate::json::json;
use crate::links;
use crate::series::{Part, Series, Span};

/// The charts of a page.
pub(crate) struct HistoryView {
    /// Where scripts get it.
    pub(crate) source: String,
    pub(crate) spans: Vec<SpanLink>,
    pub(crate) title: &'static str,
    pub(crate) charts: Vec<Chart>,
    pub(crate) rows: Vec<Row>,
    /// Nothing was recorded in this time.
    pub(crate) nothing: bool,
    /// Whether any row says for how long items waited.
    pub(crate) waits: bool,
    /// Of what this is until all is read. Empty: of all.
    pub(crate) pending: String,
}

pub(crate) struct SpanLink {
    pub(crate) title: &'static str,
    pub(crate) link: String,
    pub(crate) current: bool,
}

/// A chart, which a script draws.
#[derive(Serialize)]
pub(crate) struct Chart {
    pub(crate) name: &'static str,
    #[serde(skip)]
    pub(crate) title: &'static str,
    /// What it says, in a sentence.
    pub(crate) summary: String,
}

/// A row of the table.
pub(crate) struct Row {
    pub(crate) at: Moment,
    pub(crate) rates: Vec<String>,
    pub(crate) levels: Vec<String>,
    pub(crate) run: Vec<String>,
    pub(crate) waiting: Vec<String>,
}

/// What scripts get.
#[derive(Serialize)]
struct Drawn {
    begin: u64,
    width: u64,
    charts: Vec<Chart>,
    lines: Vec<Line>,
    /// See `HistoryView`.
    nothing: bool,
    /// The small charts of the overview.
    sparklines: Vec<(String, String, String)>,
    /// See `HistoryView`.
    pending: String,
}

#[derive(Serialize)]
struct Line {
    chart: &'static str,
    name: &'static str,
    values: Vec<Option<f64>>,
}

pub(crate) fn span(cx: &Context) -> Result<Span, Failure> {
    let Some(name) = cx.query.get("span") else { return Ok(Span::Hour) };
    let found = Span::ALL.into_iter().find(|span| span.as_str() == name);
    found.ok_or_else(|| Failure::invalid("a span is hour, day or month"))
}

impl HistoryView {
    /// `here`: the address of the page, to which `span=…` can be appended.
    pub(crate) fn new(series: &Series, source: String, here: &str, pending: String) -> HistoryView {
        let link = |span: Span| SpanLink {
            title: span.title(),
            link: format!("{here}span={}", span.as_str()),
            current: span == series.span,
        };
        let known = |(_, part): &(usize, &Part)| part.rates.is_some() || part.levels.is_some();
        let parts = series.parts.iter().enumerate().rev().filter(known);
        HistoryView {
            source,
            spans: Span::ALL.into_iter().map(link).collect(),
            title: series.span.title(),
            charts: charts(series),
            rows: parts.map(|(at, part)| Row::new(series.time(at), part)).collect(),
            nothing: is_nothing(series, &pending),
            waits: series.parts.iter().any(|part| part.waiting.count() > 0),
            pending,
        }
    }
}

/// `pending`: see `HistoryView`.
fn is_nothing(series: &Series, pending: &str) -> bool {
    series.is_empty() && pending.is_empty()
}

impl Row {
    fn new(at: SystemTime, part: &Part) -> Row {
        let quantiles = |times: &Histogram| {
            [0.5, 0.95].map(|q| times.quantile(q).map(micros).unwrap_or_default()).to_vec()
        };
        let rates = part.rates.map(|rates| rates.map(rate).to_vec());
        let levels = part.levels.map(|levels| levels.map(number).to_vec());
        Row {
            at: Moment::new(at),
            rates: rates.unwrap_or_else(|| vec![String::new(); 4]),
            levels: levels.unwrap_or_else(|| vec![String::new(); 2]),
            run: quantiles(&part.run),
            waiting: quantiles(&part.waiting),
        }
    }
}

/// With a decimal if it is small.
fn rate(rate: f64) -> String {
    match rate {
        small if (0.05..9.95).contains(&small) => format!("{small:.1}"),
        rate => number(rate.round() as u64),
    }
}

fn charts(series: &Series) -> Vec<Chart> {
    let [added, completed, failed, expired] = series.sums.map(|sum| number(sum.round() as u64));
    let most = series.rates(1).flatten().fold(0.0, f64::max);
    let rates = format!(
        "{added} added, {completed} completed, {failed} failed and {expired} expired in the {}. \
         At most {} completed a minute.",
        series.span.title(),
        rate(most),
    );
    let levels: Vec<_> = series.parts.iter().filter_map(|part| part.levels).collect();
    let most = levels.iter().map(|[ready, _]| *ready).max().unwrap_or(0);
    let [ready, leased] = levels.last().copied().unwrap_or_default();
    let levels = format!(
        "{} ready and {} leased at last. At most {} ready.",
        number(ready),
        number(leased),
        number(most)
    );
    let (mut run, mut waiting) = (Histogram::new(), Histogram::new());
    for part in &series.parts {
        run.merge(&part.run);
        waiting.merge(&part.waiting);
    }
    let sentence = |what: &str, times: &Histogram| {
        let (half, most) = times.quantile(0.5).zip(times.quantile(0.95))?;
        Some(format!("Half of the items {what} at most {}, 95 % {}.", micros(half), micros(most)))
    };
    let times = [sentence("ran for", &run), sentence("waited for", &waiting)];
    let mut times = times.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if times.is_empty() {
        times = "Nothing was measured: workers of leaseq-jobs do it.".into();
    }
    vec![
        Chart { name: "rates", title: "Items a minute", summary: rates },
        Chart { name: "levels", title: "Items in the queue", summary: levels },
        Chart { name: "times", title: "Time of an item", summary: times },
    ]
}

impl Drawn {
    fn new(series: &Series, sparklines: Vec<(String, String, String)>, pending: String) -> Drawn {
        let mut lines = Vec::new();
        for (kind, name) in ["added", "completed", "failed", "expired"].into_iter().enumerate() {
            let values =
                series.rates(kind).map(|rate| rate.map(|rate| (rate * 100.0).round() / 100.0));
            lines.push(Line { chart: "rates", name, values: values.collect() });
        }
        for (kind, name) in ["ready", "leased"].into_iter().enumerate() {
            let values = series.parts.iter().map(|part| Some(part.levels?[kind] as f64));
            lines.push(Line { chart: "levels", name, values: values.collect() });
        }
        let quantile = |times: &Histogram, q| times.quantile(q).map(|us| us as f64 / 1e3);
        for (name, value) in [
            ("ran, p50", series.parts.iter().map(|part| quantile(&part.run, 0.5)).collect()),
            ("ran, p95", series.parts.iter().map(|part| quantile(&part.run, 0.95)).collect()),
            ("waited, p50", series.parts.iter().map(|part| quantile(&part.waiting, 0.5)).collect()),
            (
                "waited, p95",
                series.parts.iter().map(|part| quantile(&part.waiting, 0.95)).collect(),
            ),
        ] {
            let values: Vec<_> = value;
            if values.iter().any(Option::is_some) {
                lines.push(Line { chart: "times", name, values });
            }
        }
        Drawn {
            begin: series.begin,
            width: series.width,
            charts: charts(series),
            lines,
            nothing: is_nothing(series, &pending),
            sparklines,
            pending,
        }
    }
}

/// The history of a queue.
pub(crate) async fn of_queue(
    app: &App,
    name: &str,
    counts: &Counts,
    span: Span,
) -> Result<Series, Failure> {
    let now = SystemTime::now();
    let mut series = Series::new(span, now);
    let since = span.since(now);
    let past = app.history(name, span.kind(), since).await?;
    series.add(past.from(since), Some(counts), now);
    Ok(series)
}

pub(crate) async fn queue(cx: Context) -> Result<Response, Failure> {
    let queue = cx.queue().await?;
    let counts = cx.app.counts(queue.name()).await?;
    let series = of_queue(&cx.app, queue.name(), &counts, span(&cx)?).await?;
    json(&cx, &Drawn::new(&series, Vec::new(), String::new()))
}

pub(crate) async fn overview(cx: Context) -> Result<Response, Failure> {
    let selection = Selection::read(&cx).await?;
    let span = span(&cx)?;
    let queues = selection.read_queues(&cx.app, span).await?;
    let series = queues.series(span);
    let spark = |name: &String| {
        let spark = queues.sparkline(name)?;
        Some((name.clone(), spark.points(), spark.text()))
    };
    let sparklines = selection.shown.iter().filter_map(spark).collect();
    json(&cx, &Drawn::new(&series, sparklines, pending(&selection, &queues)))
}

/// Of how many queues the charts of the overview are. Empty: of all that are shown.
pub(super) fn pending(selection: &Selection, queues: &Queues) -> String {
    let all = selection.shown.len();
    match queues.pending {
        0 => String::new(),
        pending => format!("{} of {all} queues so far", all - pending),
    }
}

/// Where the charts of a queue come from.
pub(crate) fn source(app: &App, queue: &str, span: Span) -> String {
    app.link_to(&format!("{}/history?span={}", links::queue(queue), span.as_str()))
}
