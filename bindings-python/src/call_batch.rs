//! Calls of one kind that are sent together become one call of the core. Each has an answer of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use leaseq::blocking::{self, ProcessBound};
use leaseq::options::MAX_SHARED_BYTES;
use leaseq::{CompleteOptions, Item, LeaseOptions, Result, SharedAdds, WorkQueue};
use tokio::sync::Notify;

use crate::answer::Answer;
use crate::driver::{Call, calls, waiting_call};
use crate::inbox::Reply;
use crate::unclaimed::lease_many;
use crate::unused::Handle;

/// Calls of one kind on one queue, each with its number.
pub(crate) enum CallBatch {
    Add {
        queue: Arc<blocking::Queue>,
        bytes: usize,
        items: Vec<(u64, Item)>,
        shared: SharedAdds,
    },
    Complete {
        queue: Arc<blocking::Queue>,
        /// Without results.
        options: CompleteOptions,
        bytes: usize,
        calls: Vec<CompleteCall>,
    },
    Lease {
        queue: Arc<blocking::Queue>,
        options: LeaseOptions,
        calls: Vec<LeaseCall>,
    },
}

/// A call that completes one item: its number, the lease, and the result.
pub(crate) type CompleteCall = (u64, Arc<Handle>, Option<Bytes>);

/// A call for one lease.
pub(crate) struct LeaseCall {
    number: u64,
    since: Instant,
    wait: Option<Duration>,
    abandoned: Arc<ProcessBound<Notify>>,
}

impl CallBatch {
    pub(crate) fn add(queue: &Arc<blocking::Queue>, number: u64, item: Item) -> CallBatch {
        let bytes = item.id().len() + item.data().len();
        let (items, shared) = (vec![(number, item)], SharedAdds::default());
        CallBatch::Add { queue: queue.clone(), bytes, items, shared }
    }

    pub(crate) fn complete(
        queue: &Arc<blocking::Queue>,
        options: CompleteOptions,
        call: CompleteCall,
    ) -> CallBatch {
        let bytes = call.2.as_ref().map_or(0, Bytes::len);
        CallBatch::Complete { queue: queue.clone(), options, bytes, calls: vec![call] }
    }

    pub(crate) fn lease(
        queue: &Arc<blocking::Queue>,
        number: u64,
        options: LeaseOptions,
        abandoned: Arc<ProcessBound<Notify>>,
    ) -> CallBatch {
        let call = LeaseCall { number, since: Instant::now(), wait: options.wait, abandoned };
        CallBatch::Lease { queue: queue.clone(), options, calls: vec![call] }
    }

    /// Takes the calls of another batch that the same call of the core can execute, or returns it.
    pub(crate) fn join(&mut self, other: CallBatch) -> std::result::Result<(), CallBatch> {
        match (self, other) {
            (
                CallBatch::Add { queue, bytes, items, shared },
                CallBatch::Add { queue: same, bytes: more, items: new, shared: own },
            ) if Arc::ptr_eq(queue, &same) && *bytes + more <= MAX_SHARED_BYTES => {
                if !admits(shared, items, &new) {
                    return Err(CallBatch::Add {
                        queue: same,
                        bytes: more,
                        items: new,
                        shared: own,
                    });
                }
                *bytes += more;
                items.extend(new);
            }
            (
                CallBatch::Complete { queue, options, bytes, calls },
                CallBatch::Complete { queue: same, options: how, bytes: more, calls: new },
            ) if Arc::ptr_eq(queue, &same)
                && (options.strict, options.retain) == (how.strict, how.retain)
                && *bytes + more <= MAX_SHARED_BYTES =>
            {
                *bytes += more;
                calls.extend(new);
            }
            (
                CallBatch::Lease { queue, options, calls },
                CallBatch::Lease { queue: same, options: how, calls: new },
            ) if Arc::ptr_eq(queue, &same) && alike(options, &how) => calls.extend(new),
            (_, other) => return Err(other),
        }
        Ok(())
    }

    pub(crate) fn into_call(self) -> Call {
        match self {
            CallBatch::Add { queue, items, .. } => {
                let numbers = items.iter().map(|(number, _)| *number).collect();
                calls(numbers, async { (add(queue, items).await, Vec::new()) })
            }
            CallBatch::Complete { queue, options, calls: leases, .. } => {
                let numbers = leases.iter().map(|(number, ..)| *number).collect();
                calls(numbers, async move { (complete(queue, options, leases).await, Vec::new()) })
            }
            // One alone has nothing to share.
            CallBatch::Lease { queue, options, mut calls } if calls.len() == 1 => {
                wait(queue, options, calls.remove(0))
            }
            CallBatch::Lease { queue, options, calls: leases } => {
                let numbers = leases.iter().map(|call| call.number).collect();
                calls(numbers, lease(queue, options, leases))
            }
        }
    }
}

/// Whether the new items can be added with the others, although each comes from a call of its own.
fn admits(shared: &mut SharedAdds, items: &[(u64, Item)], new: &[(u64, Item)]) -> bool {
    let earlier = || items.iter().map(|(_, item)| item);
    new.iter().all(|(_, item)| shared.admits(earlier(), std::slice::from_ref(item)))
}

/// All options but the wait, which each call does by itself.
fn alike(one: &LeaseOptions, other: &LeaseOptions) -> bool {
    let limit = |options: &LeaseOptions| options.keep_alive.as_ref().map(|keep| keep.limit);
    one.duration == other.duration && limit(one) == limit(other)
}

fn flags(numbers: Vec<u64>, answers: Result<Vec<bool>>) -> Vec<Reply> {
    match answers {
        Ok(answers) => {
            let answers = answers.into_iter().map(|answer| Some(Ok(Answer::Flag(answer))));
            numbers.into_iter().zip(answers).collect()
        }
        Err(error) => failed(numbers, &error),
    }
}

fn failed(numbers: impl IntoIterator<Item = u64>, error: &leaseq::Error) -> Vec<Reply> {
    numbers.into_iter().map(|number| (number, Some(Err(error.clone())))).collect()
}

async fn add(queue: Arc<blocking::Queue>, items: Vec<(u64, Item)>) -> Vec<Reply> {
    let queue = match queue.in_this_process().await {
        Ok(queue) => queue,
        Err(error) => return failed(items.into_iter().map(|(number, _)| number), &error),
    };
    let (mut numbers, mut accepted, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (number, item) in items {
        // A bad item is the mistake of its own caller.
        match queue.accepts(&item) {
            Ok(()) => {
                numbers.push(number);
                accepted.push(item);
            }
            Err(error) => refused.push((number, Some(Err(error)))),
        }
    }
    let mut replies = flags(numbers, queue.add_items(accepted).await);
    replies.extend(refused);
    replies
}

async fn complete(
    queue: Arc<blocking::Queue>,
    options: CompleteOptions,
    calls: Vec<CompleteCall>,
) -> Vec<Reply> {
    let queue = match queue.in_this_process().await {
        Ok(queue) => queue,
        Err(error) => return failed(calls.into_iter().map(|(number, ..)| number), &error),
    };
    // A result that is too large is the mistake of its own caller.
    let accepts = |result: &Bytes| queue.accepts(&Item::new(result.clone())).is_ok();
    let (together, alone): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|(_, _, result)| result.as_ref().is_none_or(accepts));
    let mut replies = Vec::new();
    for calls in std::iter::once(together).chain(alone.into_iter().map(|call| vec![call])) {
        if !calls.is_empty() {
            replies.extend(complete_together(queue, &options, calls).await);
        }
    }
    replies
}

async fn complete_together(
    queue: &WorkQueue,
    options: &CompleteOptions,
    calls: Vec<CompleteCall>,
) -> Vec<Reply> {
    let (mut numbers, mut handles, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for (number, handle, result) in calls {
        numbers.push(number);
        handles.push(handle);
        results.push(result);
    }
    let leases = handles.iter().filter_map(|handle| handle.lease.peek());
    let options = options.clone().results(results);
    flags(numbers, queue.complete_many_with(leases, options).await)
}

/// Leases what is there, for all of the calls. A call that gets nothing waits by itself, if it wants to:
/// so it can be abandoned by itself.
async fn lease(
    queue: Arc<blocking::Queue>,
    options: LeaseOptions,
    calls: Vec<LeaseCall>,
) -> (Vec<Reply>, Vec<Call>) {
    let now = options.clone().wait(Duration::ZERO);
    let leased = match lease_many(&queue, calls.len(), now, true).await {
        Ok(leased) => leased.split(),
        Err(error) => {
            return (failed(calls.into_iter().map(|call| call.number), &error), Vec::new());
        }
    };
    let (mut replies, mut waiting) = (Vec::with_capacity(calls.len()), Vec::new());
    let empty = leased.is_empty();
    let mut calls = calls.into_iter();
    for (leased, call) in leased.into_iter().zip(calls.by_ref()) {
        replies.push((call.number, Some(Ok(leased.one()))));
    }
    for mut call in calls {
        call.wait = call.wait.map(|wait| wait.saturating_sub(call.since.elapsed()));
        // If some were there, there may be more than fit into one answer.
        if empty && call.wait == Some(Duration::ZERO) {
            replies.push((call.number, Some(Ok(Answer::Nothing))));
        } else {
            waiting.push(wait(queue.clone(), options.clone(), call));
        }
    }
    (replies, waiting)
}

fn wait(queue: Arc<blocking::Queue>, mut options: LeaseOptions, call: LeaseCall) -> Call {
    options.wait = call.wait;
    waiting_call(call.number, call.abandoned, async move {
        Ok(lease_many(&queue, 1, options, true).await?.one())
    })
}
