//! Items that go through a queue in batches, through the client.

use std::ops::Range;
use std::time::Duration;

use leaseq::{CompleteOptions, FollowUp, Item, Lease, On, SettingsChange, WorkQueue};

use crate::server_time::{Side, Step};
use crate::setup::{DATA, at_once};

const HOUR: Duration = Duration::from_secs(3600);

/// What the items use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Plain,
    /// They are retained, each with a result as large as its data.
    Retained,
    /// They have unique keys of 36 bytes.
    Unique,
    /// Each has a key of its own, of 36 bytes, so none is held.
    Keyed,
    /// Each adds one follow-up when it is completed, which stays.
    Followed,
    /// Their queue keeps its changes.
    Noted,
}

impl Kind {
    pub(crate) const ALL: [Kind; 6] =
        [Kind::Plain, Kind::Retained, Kind::Unique, Kind::Keyed, Kind::Followed, Kind::Noted];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Plain => "plain",
            Kind::Retained => "retained with a result",
            Kind::Unique => "with a unique key",
            Kind::Keyed => "with a key",
            Kind::Followed => "with a follow-up",
            Kind::Noted => "whose changes are kept",
        }
    }

    fn item(self) -> Item {
        let item = Item::new([b'x'; DATA]);
        match self {
            Kind::Plain | Kind::Noted => item,
            Kind::Retained => item.retain(HOUR),
            Kind::Unique => item.unique(uuid::Uuid::new_v4().to_string()),
            Kind::Keyed => item.key(uuid::Uuid::new_v4().to_string()),
            Kind::Followed => item.follow_up(FollowUp::new(On::Completed, Item::new([b'x'; DATA]))),
        }
    }
}

/// Batches of `size` items of one kind.
pub(crate) struct Cycles {
    queue: WorkQueue,
    kind: Kind,
    size: usize,
    items: Vec<Vec<Item>>,
    leased: Vec<Vec<Lease>>,
}

impl Cycles {
    pub(crate) fn new(queue: WorkQueue, kind: Kind, size: usize, batches: usize) -> Self {
        let batch = |_| (0..size).map(|_| kind.item()).collect();
        Cycles { queue, kind, size, items: (0..batches).map(batch).collect(), leased: Vec::new() }
    }

    /// Sets what the queue needs for them.
    pub(crate) async fn prepare(&self) {
        if self.kind == Kind::Noted {
            let kept = SettingsChange::new().events(100_000);
            self.queue.configure(kept).await.unwrap();
        }
    }
}

impl Side for Cycles {
    const COMMANDS: &[&str] = &["evalsha", "eval"];

    async fn run(&mut self, step: Step, batches: Range<usize>) {
        for batch in batches {
            match step {
                Step::Add => {
                    let items = std::mem::take(&mut self.items[batch]);
                    self.queue.add_items(items).await.unwrap();
                }
                Step::Lease => {
                    let leases = self.queue.lease_many(self.size, at_once()).await.unwrap();
                    assert_eq!(leases.len(), self.size);
                    self.leased.push(leases);
                }
                Step::Complete => {
                    let options = match self.kind {
                        Kind::Retained => {
                            let results = vec![Some(vec![b'r'; DATA].into()); self.size];
                            CompleteOptions::new().results(results)
                        }
                        _ => CompleteOptions::new(),
                    };
                    let leases = &self.leased[batch];
                    let completed = self.queue.complete_many_with(leases, options).await.unwrap();
                    assert!(completed.iter().all(|&completed| completed));
                }
            }
        }
    }

    async fn is_done(&mut self) -> bool {
        let counts = self.queue.counts().await.unwrap();
        let added = if self.kind == Kind::Followed { self.size * self.items.len() } else { 0 };
        (counts.ready, counts.leased) == (added as u64, 0)
    }
}
