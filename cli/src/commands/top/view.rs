//! What `top` shows: looked at again and again.

use std::collections::VecDeque;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use leaseq::{Client, Counts, ListOptions, State, Totals, WorkerInfo, WorkersOptions};
use leaseq_report::Snapshot;

/// The most queues; more would cost the server too much.
const MAX_QUEUES: usize = 500;
/// The most queues whose leases are looked at.
const MAX_LEASED: usize = 20;
/// Leases of a queue, and of all.
const MAX_LEASES: usize = 50;
/// The looks from which rates are computed.
const LOOKS: usize = 6;
/// How long a look waits for the server.
const PATIENCE: Duration = Duration::from_secs(5);

/// A lease that runs.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) queue: String,
    pub(super) id: Bytes,
    pub(super) deadline: SystemTime,
    pub(super) attempt: u32,
}

/// What was seen, and how often it changes.
#[derive(Debug, Default)]
pub(super) struct Watch {
    named: Vec<String>,
    looks: VecDeque<(Instant, Snapshot)>,
    pub(super) workers: Vec<WorkerInfo>,
    pub(super) leases: Vec<Running>,
    /// Queues that are not shown.
    pub(super) left_out: usize,
    /// Why the last look has failed.
    pub(super) error: Option<String>,
    pub(super) seen: Option<SystemTime>,
}

/// What happens in a second.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rates {
    pub(super) added: f64,
    pub(super) completed: f64,
    pub(super) failed: f64,
}

impl Watch {
    pub(super) fn new(named: Vec<String>) -> Watch {
        Watch { named, ..Watch::default() }
    }

    /// Looks at everything once. What fails is shown, and what was seen before stays.
    pub(super) async fn look(&mut self, client: &Client, selected: Option<&str>) {
        let looked = tokio::time::timeout(PATIENCE, self.try_look(client, selected)).await;
        self.error = match looked {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(format!("no answer for {PATIENCE:?}")),
        };
    }

    async fn try_look(&mut self, client: &Client, selected: Option<&str>) -> Result<(), String> {
        let mut names = match self.named.is_empty() {
            true => client.queues().await.map_err(|error| error.to_string())?,
            false => self.named.clone(),
        };
        self.left_out = names.len().saturating_sub(MAX_QUEUES);
        names.truncate(MAX_QUEUES);
        let snapshot = Snapshot::take(client, names).await;
        if let Some(error) = snapshot.error {
            return Err(error);
        }
        let with_leases = snapshot.counts.iter().filter(|(name, counts)| {
            counts.leased > 0 && selected.is_none_or(|selected| selected == name.as_str())
        });
        let names: Vec<String> =
            with_leases.take(MAX_LEASED).map(|(name, _)| name.clone()).collect();
        let leases = leases(client, &names).await.map_err(|error| error.to_string())?;
        // Who may look at queues need not be allowed to list workers.
        let options = WorkersOptions::new().limit(200);
        self.workers = client.workers(options).await.map(|page| page.workers).unwrap_or_default();
        self.leases = leases;
        self.looks.push_back((Instant::now(), snapshot));
        if self.looks.len() > LOOKS {
            self.looks.pop_front();
        }
        self.seen = Some(SystemTime::now());
        Ok(())
    }

    /// The queues, each with its counts and rates.
    pub(super) fn queues(&self) -> Vec<(&str, &Counts, Rates)> {
        let Some((now, snapshot)) = self.looks.back() else { return Vec::new() };
        let with_rates = snapshot.counts.iter().map(|(name, counts)| {
            let first = self.looks.iter().find_map(|(at, look)| Some((at, look.counts.get(name)?)));
            let rates = first.map_or_else(Rates::default, |(at, before)| {
                rates(&before.totals, &counts.totals, now.duration_since(*at))
            });
            (name.as_str(), counts, rates)
        });
        with_rates.collect()
    }

    /// Queues that could not be counted, and why.
    pub(super) fn uncounted(&self) -> impl Iterator<Item = (&String, &String)> {
        self.looks.back().into_iter().flat_map(|(_, snapshot)| &snapshot.uncounted)
    }
}

async fn leases(client: &Client, names: &[String]) -> leaseq::Result<Vec<Running>> {
    let mut leases = Vec::new();
    for name in names {
        let options = ListOptions::new().without_data().limit(MAX_LEASES);
        let page = client.queue(name)?.list_with(State::Leased, None, &options).await?;
        leases.extend(page.items.into_iter().map(|info| Running {
            queue: name.clone(),
            deadline: info.at.unwrap_or(info.added_at),
            attempt: info.failures + info.expiries + 1,
            id: info.id,
        }));
    }
    leases.sort_by_key(|lease| lease.deadline);
    leases.truncate(MAX_LEASES);
    Ok(leases)
}

fn rates(before: &Totals, after: &Totals, time: Duration) -> Rates {
    let seconds = time.as_secs_f64();
    let rate = |before: u64, after: u64| match seconds > 0.0 {
        true => after.saturating_sub(before) as f64 / seconds,
        false => 0.0,
    };
    Rates {
        added: rate(before.added, after.added),
        completed: rate(before.completed, after.completed),
        failed: rate(before.failed + before.expired, after.failed + after.expired),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_a_second_and_never_below_zero() {
        let (mut before, mut after) = (Totals::default(), Totals::default());
        (before.added, after.added) = (10, 40);
        // The queue was dropped and made again.
        (before.completed, after.completed) = (10, 4);
        let rates = rates(&before, &after, Duration::from_secs(10));
        assert_eq!(rates, Rates { added: 3.0, completed: 0.0, failed: 0.0 });
        assert_eq!(super::rates(&before, &after, Duration::ZERO), Rates::default());
    }
}
