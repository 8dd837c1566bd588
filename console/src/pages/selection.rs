//! The queues of the overview.

use std::ops::Deref;
use std::time::SystemTime;

use leaseq::HistoryKind;
use leaseq_report::escaped;

use super::sparkline::Sparkline;
use crate::app::App;
use crate::context::Context;
use crate::failure::Failure;
use crate::links;
use crate::numbers::Counted;
use crate::past::Past;
use crate::reads::ByQueue;
use crate::series::{Series, Span};

/// Queues of a page.
pub(super) const PAGE: usize = 50;

/// The queues that a page shows.
pub(super) struct Selection {
    /// A part of their names.
    pub(super) find: String,
    pub(super) from: usize,
    /// How many queues there are, and how many have this part in their names.
    pub(super) known: usize,
    pub(super) found: usize,
    /// Those of this page.
    pub(super) shown: Vec<String>,
}

impl Selection {
    pub(super) async fn read(cx: &Context) -> Result<Selection, Failure> {
        let names = cx.app.names().await?;
        let find = cx.query.get("find").unwrap_or_default();
        let found: Vec<&String> = names.iter().filter(|name| name.contains(find)).collect();
        let from = cx.query.parse::<usize>("from")?.unwrap_or(0).min(found.len());
        let shown = found.iter().skip(from).take(PAGE).map(ToString::to_string).collect();
        Ok(Selection { find: find.into(), from, known: names.len(), found: found.len(), shown })
    }

    /// As a part of an address.
    pub(super) fn query(&self, from: usize) -> String {
        format!("find={}&from={from}", links::value(&self.find))
    }

    /// # Errors
    /// If the server does not answer. A queue that is damaged does not hide the others.
    pub(super) async fn counts(&self, app: &App) -> Result<ByQueue<Counted>, Failure> {
        let ask = |app: App, name: String| async move { app.counts(&name).await };
        let counts = app.for_all(&self.shown, ask).await;
        match counts.values().find(|counts| matches!(counts, Err(failure) if failure.retry)) {
            Some(Err(failure)) => Err(failure.clone()),
            _ => Ok(counts),
        }
    }

    /// Their counts, and their histories as far as charts of this span need them.
    pub(super) async fn read_queues(&self, app: &App, span: Span) -> Result<Queues, Failure> {
        let since = Span::Hour.since(SystemTime::now());
        let ask = move |app: App, name: String| async move {
            app.history(&name, HistoryKind::Minutes, since).await
        };
        let (hour, counts) = tokio::join!(app.for_all(&self.shown, ask), self.counts(app));
        let (long, pending) = match span {
            Span::Hour => (None, 0),
            Span::Day | Span::Month => {
                let (long, pending) = app.histories(&self.shown, span.kind()).await;
                (Some(long), pending)
            }
        };
        Ok(Queues { counts: counts?, hour, long, pending })
    }
}

/// What is known of the queues of a page.
pub(super) struct Queues {
    counts: ByQueue<Counted>,
    /// Their last hour, and as much as a longer chart needs.
    hour: ByQueue<Past>,
    long: Option<ByQueue<Past>>,
    /// Of how many this is not read yet.
    pub(super) pending: usize,
}

impl Queues {
    pub(super) fn counts(&self, name: &str) -> Option<&Counted> {
        self.counts.get(name)?.as_ref().ok().map(|counts| &**counts)
    }

    /// Why the counts of a queue cannot be read. Empty: they can.
    pub(super) fn error(&self, name: &str) -> String {
        match self.counts.get(name) {
            Some(Err(failure)) => escaped(&failure.message).into_owned(),
            _ => String::new(),
        }
    }

    /// The history of all of them.
    pub(super) fn series(&self, span: Span) -> Series {
        let now = SystemTime::now();
        let mut series = Series::new(span, now);
        for (name, past) in self.long.as_ref().unwrap_or(&self.hour) {
            if let Ok(past) = past {
                series.add(past.from(span.since(now)), self.counts(name).map(Deref::deref), now);
            }
        }
        series
    }

    pub(super) fn sparkline(&self, name: &str) -> Option<Sparkline> {
        let past = self.hour.get(name)?.as_ref().ok()?;
        let now = SystemTime::now();
        let mut series = Series::new(Span::Hour, now);
        series.add(past.from(Span::Hour.since(now)), self.counts(name).map(Deref::deref), now);
        Sparkline::new(&series)
    }
}
