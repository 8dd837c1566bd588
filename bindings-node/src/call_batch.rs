//! Calls of one kind that are handed over together become one call of the core, so that they share
//! what it costs there. Each has an answer of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::options::{MAX_BATCH, MAX_SHARED_BYTES};
use leaseq::{CompleteOptions, Item, Lease, LeaseOptions, Result, WorkQueue};

use crate::failure::Failure;
use crate::lease::Held;
use crate::wire::{Answer, Outcome};

/// With what is completed before, as many as go in one request.
const MOST: usize = MAX_BATCH / 2;

/// Calls that go together, each with the number of its slot.
pub(crate) enum CallBatch {
    Add { queue: Arc<WorkQueue>, bytes: usize, items: Vec<(u32, Item)> },
    Complete { queue: Arc<WorkQueue>, strict: bool, leases: Vec<(u32, Arc<Lease>)> },
    Lease { queue: Arc<WorkQueue>, options: LeaseOptions, calls: Vec<LeaseCall> },
}

/// A call for one lease.
pub(crate) struct LeaseCall {
    pub(crate) slot: u32,
    since: Instant,
    wait: Option<Duration>,
    /// What it completes first.
    before: Option<Arc<Lease>>,
}

/// What became of a batch.
pub(crate) struct Done {
    pub(crate) answers: Vec<(u32, Answer)>,
    /// Those that found nothing and wait on, each by itself.
    pub(crate) waiting: Vec<Waiting>,
}

/// A call for one lease, by itself.
pub(crate) struct Waiting {
    pub(crate) slot: u32,
    queue: Arc<WorkQueue>,
    options: LeaseOptions,
    before: Option<Arc<Lease>>,
}

/// Calls join the newest batch, or begin another: so they stay in the order in which they were made.
pub(crate) trait CallBatches {
    /// The batch that nothing has followed yet.
    fn newest(&mut self) -> Option<&mut CallBatch>;
    fn begin(&mut self, batch: CallBatch);

    fn add(&mut self, queue: &Arc<WorkQueue>, slot: u32, item: Item) {
        let size = item.id().len() + item.data().len();
        if let Some(CallBatch::Add { queue: same, bytes, items }) = self.newest()
            && Arc::ptr_eq(same, queue)
            && items.len() < MOST
            && *bytes + size <= MAX_SHARED_BYTES
        {
            *bytes += size;
            return items.push((slot, item));
        }
        self.begin(CallBatch::Add { queue: queue.clone(), bytes: size, items: vec![(slot, item)] });
    }

    fn complete(&mut self, queue: &Arc<WorkQueue>, slot: u32, lease: Arc<Lease>, strict: bool) {
        if let Some(CallBatch::Complete { queue: same, strict: how, leases }) = self.newest()
            && Arc::ptr_eq(same, queue)
            && *how == strict
            && leases.len() < MOST
        {
            return leases.push((slot, lease));
        }
        self.begin(CallBatch::Complete {
            queue: queue.clone(),
            strict,
            leases: vec![(slot, lease)],
        });
    }

    fn lease(
        &mut self,
        queue: &Arc<WorkQueue>,
        slot: u32,
        before: Option<Arc<Lease>>,
        options: LeaseOptions,
    ) {
        let (since, wait) = (Instant::now(), options.wait);
        let call = LeaseCall { slot, since, wait, before };
        if let Some(CallBatch::Lease { queue: same, options: how, calls }) = self.newest()
            && Arc::ptr_eq(same, queue)
            && alike(how, &options)
            && calls.len() < MOST
        {
            return calls.push(call);
        }
        self.begin(CallBatch::Lease { queue: queue.clone(), options, calls: vec![call] });
    }
}

/// But for the waiting, which each does for itself.
fn alike(one: &LeaseOptions, other: &LeaseOptions) -> bool {
    let limit = |options: &LeaseOptions| options.keep_alive.as_ref().map(|keep| keep.limit);
    one.duration == other.duration && limit(one) == limit(other)
}

impl CallBatch {
    /// `Waiting` for one that has nothing to share.
    pub(crate) fn alone(self) -> std::result::Result<Waiting, CallBatch> {
        match self {
            CallBatch::Lease { queue, options, mut calls } if calls.len() == 1 => {
                let LeaseCall { slot, before, .. } = calls.remove(0);
                Ok(Waiting { slot, queue, options, before })
            }
            others => Err(others),
        }
    }

    pub(crate) async fn run(self) -> Done {
        match self {
            CallBatch::Add { queue, items, .. } => {
                let (slots, items): (Vec<u32>, Vec<Item>) = items.into_iter().unzip();
                answered(slots, queue.add_items(items).await)
            }
            CallBatch::Complete { queue, strict, leases } => {
                let (slots, leases): (Vec<u32>, Vec<_>) = leases.into_iter().unzip();
                let leases = leases.iter().map(AsRef::as_ref);
                answered(slots, queue.complete_many_with(leases, complete_options(strict)).await)
            }
            CallBatch::Lease { queue, options, calls } => lease(queue, options, calls).await,
        }
    }
}

pub(crate) fn complete_options(strict: bool) -> CompleteOptions {
    if strict { CompleteOptions::new().strict() } else { CompleteOptions::new() }
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

fn failed(slots: impl IntoIterator<Item = u32>, error: &leaseq::Error) -> Vec<(u32, Answer)> {
    slots.into_iter().map(|slot| (slot, Err(Failure::from(error.clone())))).collect()
}

/// Takes what is there for all of them. Whoever gets nothing waits by itself, if it wants to: so it
/// can be cancelled by itself.
async fn lease(queue: Arc<WorkQueue>, options: LeaseOptions, mut calls: Vec<LeaseCall>) -> Done {
    let kept_alive = options.keep_alive.is_some();
    let now = options.clone().wait(Duration::ZERO);
    let before: Vec<Arc<Lease>> = calls.iter_mut().filter_map(|call| call.before.take()).collect();
    let mut done = Done { answers: Vec::with_capacity(calls.len()), waiting: Vec::new() };
    let taken = if before.is_empty() {
        queue.lease_many(calls.len(), now).await
    } else {
        let before = before.iter().map(AsRef::as_ref);
        let both = queue.complete_and_lease(before, calls.len(), now).await;
        both.map(|done| done.leases)
    };
    // From here on nothing is waited for: nobody would give back what was taken.
    let leases = match taken {
        Ok(leases) => leases,
        Err(error) => {
            done.answers = failed(calls.into_iter().map(|call| call.slot), &error);
            return done;
        }
    };
    let empty = leases.is_empty();
    let mut calls = calls.into_iter();
    for (lease, call) in leases.into_iter().zip(calls.by_ref()) {
        let leases = Held::all(&queue, vec![lease]);
        done.answers.push((call.slot, Ok(Outcome::Leases { leases, kept_alive })));
    }
    for LeaseCall { slot, since, wait, .. } in calls {
        let left = wait.map(|wait| wait.saturating_sub(since.elapsed()));
        // If some were there, there may be more than fit into one answer.
        if empty && left == Some(Duration::ZERO) {
            let none = Outcome::Leases { leases: Vec::new(), kept_alive };
            done.answers.push((slot, Ok(none)));
        } else {
            let mut options = options.clone();
            options.wait = left;
            done.waiting.push(Waiting { slot, queue: queue.clone(), options, before: None });
        }
    }
    done
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
