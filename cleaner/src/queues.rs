//! The loop: which queues there are, and when each of them is cleaned.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leaseq::{Client, DeepClean, Error, ErrorKind, Role, WorkQueue};
use rand::Rng;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::once::verdict;
use crate::overview::Overview;

/// However many queues there are, each is looked at this often: in case that news get lost.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Rests differ by up to this much, so that queues found together are not looked at together.
const SPREAD: std::ops::Range<f64> = 0.6..1.0;
/// How often to look for new queues.
const DISCOVER: Duration = Duration::from_secs(1);
/// After a failure; the library has tried for long itself.
const PAUSE: Duration = Duration::from_secs(1);
/// Between two light cleans of a queue.
const TOGETHER: Duration = Duration::from_millis(10);
/// After a failed deep clean.
const LONG_PAUSE: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Cleaner {
    client: Client,
    settings: Arc<Settings>,
    overview: Arc<Overview>,
    count: Arc<AtomicUsize>,
    stop: CancellationToken,
}

/// Cleans until it is told to stop, and then finishes the step in hand.
pub(crate) async fn clean(
    client: Client,
    settings: &Settings,
    overview: Arc<Overview>,
    stop: CancellationToken,
) {
    let settings = Arc::new(settings.clone());
    let count = Arc::default();
    let cleaner = Cleaner { client: client.clone(), settings, overview, count, stop: stop.clone() };
    let mut tasks = JoinSet::new();
    tasks.spawn(cleaner.run());
    while tasks.join_next().await.is_some() {}
    client.close().await;
}

impl Cleaner {
    async fn run(self) {
        let mut running: BTreeMap<String, CancellationToken> = BTreeMap::new();
        let mut tasks = JoinSet::new();
        let (names, known) = tokio::sync::watch::channel(BTreeSet::new());
        tasks.spawn(self.clone().deep(known));
        while !self.stop.is_cancelled() {
            match self.discover().await {
                Ok(found) => {
                    self.well("queues");
                    running.retain(|name, stop| {
                        let stays = found.contains(name);
                        if !stays {
                            stop.cancel();
                        }
                        stays
                    });
                    self.count.store(found.len(), Ordering::Relaxed);
                    for name in &found {
                        if !running.contains_key(name) {
                            let stop = self.stop.child_token();
                            running.insert(name.clone(), stop.clone());
                            tasks.spawn(self.clone().light(name.clone(), stop));
                        }
                    }
                    self.overview.set_queues(found.clone());
                    names.send_if_modified(|before| {
                        let new = *before != found;
                        *before = found;
                        new
                    });
                }
                Err(error) => self.trouble("queues", &error),
            }
            while tasks.try_join_next().is_some() {}
            self.rest(self.settings.light_interval.max(DISCOVER)).await;
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn discover(&self) -> Result<BTreeSet<String>, Error> {
        // Asked even if they are named: it tells whether the server can be reached.
        let found = self.client.queues().await?;
        Ok(self.settings.queues.clone().unwrap_or(found).into_iter().collect())
    }

    /// Light cleans of one queue, when they are due.
    async fn light(self, name: String, stop: CancellationToken) {
        let place = format!("queue {name}");
        let Ok(queue) = self.client.queue(&name) else { return };
        while !stop.is_cancelled() {
            match self.may_clean(&queue).await {
                Ok(true) => break,
                Ok(false) => self.rest(LONG_PAUSE / 6).await,
                Err(error) => {
                    self.trouble(&place, &error);
                    self.rest(PAUSE).await;
                }
            }
        }
        while !stop.is_cancelled() {
            let queues = self.count.load(Ordering::Relaxed).max(1) as u32;
            let interval = self.settings.light_interval;
            let rest = (interval * queues).min(LONGEST_REST.max(interval));
            let rest =
                if queues > 1 { rest.mul_f64(rand::rng().random_range(SPREAD)) } else { rest };
            let outcome = tokio::select! {
                due = queue.wait_until_due(rest) => match due {
                    Ok(true) => self.light_clean(&queue).await,
                    Ok(false) => Ok(()),
                    Err(error) => Err(error),
                },
                () = stop.cancelled() => return,
            };
            match outcome {
                // What is due again at once, again and again, is done together.
                Ok(()) => {
                    self.well(&place);
                    self.rest(TOGETHER).await;
                }
                Err(error) => {
                    self.trouble(&place, &error);
                    self.rest(PAUSE).await;
                }
            }
        }
    }

    async fn light_clean(&self, queue: &WorkQueue) -> Result<(), Error> {
        let begun = Instant::now();
        let report = queue.light_clean().await?;
        let (promoted, expired, died) = (report.promoted, report.expired, report.died);
        if promoted + expired > 0 {
            self.overview.metrics.light_seconds.observe(begun.elapsed().as_secs_f64());
            tracing::info!(queue = queue.name(), promoted, expired, died, "light clean");
        }
        Ok(())
    }

    /// A missing right is named before it can stop a script half-way.
    async fn may_clean(&self, queue: &WorkQueue) -> Result<bool, Error> {
        let lacks = queue.missing_rights(Role::Cleaner).await?;
        if lacks.is_empty() {
            return Ok(true);
        }
        let what = format!("the user lacks rights to clean: grant {}", lacks.join(" "));
        if self.overview.trouble(&format!("queue {}", queue.name()), &what, true) {
            tracing::error!(queue = queue.name(), "{what}");
        }
        Ok(false)
    }

    /// Deep cleans of all queues, one at a time.
    async fn deep(self, mut known: tokio::sync::watch::Receiver<BTreeSet<String>>) {
        let mut due: HashMap<String, Instant> = HashMap::new();
        loop {
            let names = known.borrow_and_update().clone();
            due.retain(|name, _| names.contains(name));
            for name in names {
                let at = *due.entry(name.clone()).or_insert_with(Instant::now);
                if at > Instant::now() {
                    continue;
                }
                let wait = tokio::select! {
                    wait = self.deep_clean(&name) => wait,
                    () = self.stop.cancelled() => return,
                };
                due.insert(name, Instant::now() + wait);
            }
            let next = due.values().min().map(|at| at.saturating_duration_since(Instant::now()));
            tokio::select! {
                () = tokio::time::sleep(next.unwrap_or(LONG_PAUSE)) => {}
                changed = known.changed() => if changed.is_err() { return },
                () = self.stop.cancelled() => return,
            }
        }
    }

    /// Cleans deeply if nobody else does. Returns when to try again.
    async fn deep_clean(&self, name: &str) -> Duration {
        let interval = self.settings.deep_interval;
        let place = format!("deep clean of queue {name}");
        let begun = Instant::now();
        let cleaned = match self.client.queue(name) {
            Ok(queue) => match self.may_clean(&queue).await {
                Ok(true) => queue.deep_clean_if_due(interval).await,
                Ok(false) => return LONG_PAUSE,
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        match cleaned {
            Ok(DeepClean::NotYet(wait)) => wait.min(interval),
            Ok(DeepClean::Done(report)) => {
                self.well(&place);
                let seconds = begun.elapsed().as_secs_f64();
                self.overview.metrics.deep_seconds.observe(seconds);
                self.overview.metrics.deeply_cleaned(name, &report);
                if !report.is_sound() {
                    let (items, found) = (report.items, verdict(&report));
                    let details = report.details.join("; ");
                    tracing::warn!(queue = name, items, found, details, "deep clean");
                }
                interval
            }
            Err(error) => {
                self.trouble(&place, &error);
                LONG_PAUSE.min(interval)
            }
        }
    }

    fn trouble(&self, place: &str, error: &Error) {
        if error.kind() == ErrorKind::Closed {
            return;
        }
        // All queues share a server: it is told once that it cannot be reached.
        let place = if error.kind().is_retryable() { "server" } else { place };
        let known = place == "server" && self.overview.in_trouble(place);
        // Damage is one queue's own.
        let stops = error.kind() != ErrorKind::Internal;
        if self.overview.trouble(place, &error.to_string(), stops) && !known {
            tracing::error!(%error, "{place}");
        }
    }

    fn well(&self, place: &str) {
        for place in [place, "server"] {
            if self.overview.well(place) {
                tracing::info!("{place}: all is well again");
            }
        }
    }

    async fn rest(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stop.cancelled() => {}
        }
    }
}
