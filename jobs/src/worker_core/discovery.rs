//! Finds the queues whose names match the patterns of a worker, also new ones.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use leaseq::{Backoff, Client, Result, WorkQueue};
use tokio::sync::mpsc;
use wildmatch::WildMatch;

use super::log;
use super::options::{MAX_QUEUES, WorkerOptions};
use super::state::{Phase, Shared};

/// How often it looks for new queues.
const INTERVAL: Duration = Duration::from_secs(10);
/// The longest pause after a failed request.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// A queue to lease from.
pub(super) struct Found {
    pub(super) queue: WorkQueue,
    /// The place of its name or pattern among those of the worker.
    pub(super) place: usize,
    pub(super) weight: u32,
}

/// The queues that the options name.
pub(super) fn named(client: &Client, options: &WorkerOptions) -> Result<Vec<Found>> {
    let queues = options.queues.iter().enumerate().filter(|(_, queue)| !queue.is_pattern());
    let found = |(place, options): (usize, &super::QueueOptions)| {
        Ok(Found { queue: client.queue(&options.name)?, place, weight: options.weight })
    };
    queues.map(found).collect()
}

/// Looks for queues as long as the worker leases. The first answer may have none. `None`: the options have no patterns.
pub(super) fn start(client: &Client, shared: &Arc<Shared>) -> Option<mpsc::Receiver<Vec<Found>>> {
    let queues = &shared.options.queues;
    let patterns: Vec<_> = queues
        .iter()
        .enumerate()
        .filter(|(_, queue)| queue.is_pattern())
        .map(|(place, queue)| (place, queue.weight, WildMatch::new(&queue.name)))
        .collect();
    if patterns.is_empty() {
        return None;
    }
    let known = queues.iter().map(|queue| queue.name.clone()).collect();
    let mut discovery = Discovery { client: client.clone(), patterns, known, is_full: false };
    let (sender, found) = mpsc::channel(1);
    let shared = shared.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = discovery.run(&sender) => {}
            () = shared.until_phase(Phase::Draining) => {}
        }
    });
    Some(found)
}

struct Discovery {
    client: Client,
    patterns: Vec<(usize, u32, WildMatch)>,
    /// The names that need not be looked at again.
    known: HashSet<String>,
    is_full: bool,
}

impl Discovery {
    async fn run(&mut self, found: &mpsc::Sender<Vec<Found>>) {
        let mut backoff = Backoff::up_to(MAX_PAUSE);
        let mut is_first = true;
        loop {
            match self.find().await {
                Ok(queues) => {
                    backoff.reset();
                    let is_news = !queues.is_empty() || std::mem::take(&mut is_first);
                    if is_news && found.send(queues).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(INTERVAL).await;
                }
                Err(error) => {
                    log::not_found(&error);
                    tokio::time::sleep(backoff.pause()).await;
                }
            }
        }
    }

    /// The queues that are new since the last call.
    async fn find(&mut self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        for name in self.client.queues().await? {
            let matching = self.patterns.iter().find(|(.., pattern)| pattern.matches(&name));
            let Some(&(place, weight, _)) = matching else { continue };
            if self.known.contains(&name) {
                continue;
            }
            if self.known.len() >= MAX_QUEUES {
                if !std::mem::replace(&mut self.is_full, true) {
                    log::too_many_queues(&name);
                }
                break;
            }
            found.push(Found { queue: self.client.queue(&name)?, place, weight });
            self.known.insert(name);
        }
        Ok(found)
    }
}
