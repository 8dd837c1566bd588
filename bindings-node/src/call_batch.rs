//! Calls that JavaScript has gathered become one call of the core, so that they share what it costs
//! there. Each gets its own answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{CompleteOptions, Item, Lease, LeaseOptions, Result, WorkQueue};

use crate::failure::Failure;
use crate::held::Held;
use crate::wire::{Answer, Outcome};

/// Calls of one kind, each with the number of its slot.
pub(crate) enum CallBatch {
    Add {
        queue: Arc<WorkQueue>,
        slots: Vec<u32>,
        items: Vec<Item>,
    },
    Complete {
        queue: Arc<WorkQueue>,
        options: CompleteOptions,
        slots: Vec<u32>,
        leases: Vec<Arc<Lease>>,
    },
    Lease(LeaseBatch),
}

/// Calls for one lease each.
pub(crate) struct LeaseBatch {
    queue: Arc<WorkQueue>,
    options: LeaseOptions,
    since: Instant,
    pub(crate) slots: Vec<u32>,
    /// What the calls complete first: nothing, or one lease each.
    before: Vec<Arc<Lease>>,
}

/// The results of a batch.
pub(crate) struct Done {
    pub(crate) answers: Vec<(u32, Answer)>,
    /// Calls that found nothing and wait on, each by itself.
    pub(crate) waiting: Vec<Waiting>,
}

/// A call for one lease, by itself.
pub(crate) struct Waiting {
    pub(crate) slot: u32,
    queue: Arc<WorkQueue>,
    options: LeaseOptions,
    before: Option<Arc<Lease>>,
}

impl CallBatch {
    pub(crate) async fn run(self) -> Done {
        match self {
            CallBatch::Add { queue, slots, items } => answered(slots, queue.add_items(items).await),
            CallBatch::Complete { queue, options, slots, leases } => {
                let leases = leases.iter().map(AsRef::as_ref);
                answered(slots, queue.complete_many_with(leases, options).await)
            }
            CallBatch::Lease(batch) => batch.run().await,
        }
    }
}

fn answered(slots: Vec<u32>, answers: Result<Vec<bool>>) -> Done {
    let answers = match answers {
        Ok(answers) => {
            let answers = answers.into_iter().map(|answer| Ok(Outcome::Bool(answer)));
            slots.into_iter().zip(answers).collect()
        }
        Err(error) => failed(slots, &error),
    };
    Done { answers, waiting: Vec::new() }
}

fn failed(slots: Vec<u32>, error: &leaseq::Error) -> Vec<(u32, Answer)> {
    slots.into_iter().map(|slot| (slot, Err(Failure::from(error.clone())))).collect()
}

impl LeaseBatch {
    pub(crate) fn new(
        queue: &Arc<WorkQueue>,
        options: LeaseOptions,
        slots: Vec<u32>,
        before: Vec<Arc<Lease>>,
    ) -> Self {
        LeaseBatch { queue: queue.clone(), options, since: Instant::now(), slots, before }
    }

    /// The call, if it is only one: it shares nothing.
    pub(crate) fn alone(mut self) -> std::result::Result<Waiting, LeaseBatch> {
        match *self.slots {
            [slot] => {
                let LeaseBatch { queue, options, .. } = self;
                Ok(Waiting { slot, queue, options, before: self.before.pop() })
            }
            _ => Err(self),
        }
    }

    /// Takes the leases that are ready for all calls. A call that gets none waits by itself, if it
    /// wants to wait, so that it can be cancelled by itself.
    async fn run(self) -> Done {
        let LeaseBatch { queue, options, since, slots, before } = self;
        let now = options.clone().wait(Duration::ZERO);
        let taken = if before.is_empty() {
            queue.lease_many(slots.len(), now).await
        } else {
            let before = before.iter().map(AsRef::as_ref);
            let both = queue.complete_and_lease(before, slots.len(), now).await;
            both.map(|done| done.leases)
        };
        // No await from here on: dropping this future would lose the leases.
        let leases = match taken {
            Ok(leases) => leases,
            Err(error) => return Done { answers: failed(slots, &error), waiting: Vec::new() },
        };
        let kept_alive = options.keep_alive.is_some();
        let answer = |leases| Ok(Outcome::Leases { leases: Held::all(&queue, leases), kept_alive });
        let empty = leases.is_empty();
        let mut slots = slots.into_iter();
        let mut answers: Vec<_> = leases
            .into_iter()
            .zip(slots.by_ref())
            .map(|(lease, slot)| (slot, answer(vec![lease])))
            .collect();
        let mut waiting = Vec::new();
        let left = options.wait.map(|wait| wait.saturating_sub(since.elapsed()));
        for slot in slots {
            // If some leases came, there may be more items than fit into one reply.
            if empty && left == Some(Duration::ZERO) {
                answers.push((slot, answer(Vec::new())));
            } else {
                let mut options = options.clone();
                options.wait = left;
                waiting.push(Waiting { slot, queue: queue.clone(), options, before: None });
            }
        }
        Done { answers, waiting }
    }
}

impl Waiting {
    pub(crate) async fn run(self) -> Answer {
        let Waiting { queue, options, before, .. } = self;
        let kept_alive = options.keep_alive.is_some();
        let leases = match before {
            None => queue.lease(options).await?.into_iter().collect(),
            Some(before) => queue.complete_and_lease([&*before], 1, options).await?.leases,
        };
        Ok(Outcome::Leases { leases: Held::all(&queue, leases), kept_alive })
    }
}
