//! Calls of all kinds, made without waiting for earlier answers.

use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use leaseq::{Lease, Revision, State, WorkQueue};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::support::*;

const HANDLES: usize = 6;
const IDS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

#[derive(Debug, Clone)]
enum Op {
    Add(&'static str, u8),
    AddMany(Vec<&'static str>),
    Remove(&'static str),
    Requeue(&'static str),
    Bury(&'static str),
    Revise(&'static str, u8),
    Complete(Vec<usize>),
    Extend(usize),
    Progress(usize),
    Release(usize),
    Fail(usize),
    Lease(usize),
    CompleteAndLease(usize, usize),
    Cancel(&'static str),
}

/// A released or failed lease is not completed afterwards: only there, and for expired leases, may
/// completing and leasing change places. At most one lease is released at a time: of several items that go
/// to the front in one request, the first stays the first.
fn ops(rng: &mut StdRng, count: usize) -> Vec<Op> {
    let (mut given_back, mut reported) = ([false; HANDLES], [false; HANDLES]);
    let mut may_release = rng.random();
    let mut ops = Vec::new();
    while ops.len() < count {
        let id = *IDS.choose(rng).unwrap();
        let handle = rng.random_range(0..HANDLES);
        let op = match rng.random_range(0..16) {
            0 | 1 => Op::Add(id, rng.random_range(0..2)),
            2 => Op::AddMany(IDS.choose_multiple(rng, 3).copied().collect()),
            3 => Op::Remove(id),
            4 => Op::Requeue(id),
            5 | 6 if !given_back[handle] => Op::Complete(vec![handle]),
            7 if !given_back.contains(&true) => Op::Complete(vec![handle, (handle + 1) % HANDLES]),
            8 => Op::Extend(handle),
            9 => {
                given_back[handle] = true;
                if std::mem::take(&mut may_release) {
                    Op::Release(handle)
                } else {
                    Op::Fail(handle)
                }
            }
            10 => Op::Lease(rng.random_range(1..3)),
            12 => Op::Bury(id),
            13 => Op::Revise(id, rng.random_range(0..2)),
            14 => Op::Cancel(id),
            // A second value would wait.
            15 if !std::mem::replace(&mut reported[handle], true) => Op::Progress(handle),
            11 if !given_back[handle] => Op::CompleteAndLease(handle, rng.random_range(1..3)),
            _ => continue,
        };
        ops.push(op);
    }
    ops
}

fn said(answer: impl Debug) -> String {
    format!("{answer:?}")
}

type Call<'a> = Pin<Box<dyn Future<Output = String> + Send + 'a>>;

fn call<'a>(queue: &'a WorkQueue, handles: &'a [Lease], op: &Op) -> Call<'a> {
    let op = op.clone();
    Box::pin(async move {
        match op {
            Op::Add(id, priority) => {
                let item = item(id).priority(priority).max_attempts(2);
                said(queue.add_item(item).await.unwrap())
            }
            Op::AddMany(ids) => said(queue.add_items(ids.iter().map(item)).await.unwrap()),
            Op::Remove(id) => said(queue.remove(id).await.unwrap()),
            Op::Requeue(id) => said(queue.requeue([id]).await.unwrap()),
            Op::Bury(id) => said(queue.bury([id], "").await.unwrap()),
            Op::Cancel(id) => said(queue.cancel(id).await.unwrap()),
            Op::Revise(id, priority) => {
                let revision = Revision::new().priority(priority);
                said(queue.revise(id, revision).await.unwrap())
            }
            Op::Complete(which) => {
                let leases = which.iter().map(|i| &handles[*i]);
                said(queue.complete_many(leases).await.unwrap())
            }
            Op::Extend(i) => said(queue.extend(&handles[i], secs(60)).await.is_ok()),
            Op::Progress(i) => said(queue.set_progress(&handles[i], "x").await.is_ok()),
            Op::Release(i) => said(queue.release(&handles[i], Duration::ZERO).await.is_ok()),
            Op::Fail(i) => said(queue.fail(&handles[i], "", Duration::ZERO).await.ok()),
            Op::Lease(n) => said(ids(&queue.lease_many(n, at_once()).await.unwrap())),
            Op::CompleteAndLease(i, n) => {
                let done = queue.complete_and_lease([&handles[i]], n, at_once()).await.unwrap();
                said((done.completed, ids(&done.leases)))
            }
        }
    })
}

/// Polls all futures in their order, until each has an answer.
async fn together(mut calls: Vec<Call<'_>>) -> Vec<String> {
    let mut answers = vec![None; calls.len()];
    poll_fn(move |task| {
        for (call, answer) in calls.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let Poll::Ready(said) = call.as_mut().poll(task)
            {
                *answer = Some(said);
            }
        }
        if answers.iter().any(Option::is_none) {
            return Poll::Pending;
        }
        Poll::Ready(answers.iter_mut().filter_map(Option::take).collect())
    })
    .await
}

async fn prepared(queue: &WorkQueue) -> Vec<Lease> {
    let dead = item("dead").max_attempts(1);
    queue.add_items(IDS.iter().map(item).chain([dead.priority(9)])).await.unwrap();
    let dead = take(queue).await;
    queue.fail(&dead, "", Duration::ZERO).await.unwrap();
    queue.lease_many(HANDLES, at_once()).await.unwrap()
}

async fn calls_of_all_kinds_are_executed_in_their_order(bench: &Bench) {
    let seed = rand::rng().random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let client = bench.client().await;
    for round in 0..2_000 {
        let one = client.queue(&format!("one-{round}")).unwrap();
        let other = client.queue(&format!("other-{round}")).unwrap();
        let (handles, same) = (prepared(&one).await, prepared(&other).await);
        let count = rng.random_range(2..30);
        let ops = ops(&mut rng, count);
        let calls = ops.iter().map(|op| call(&one, &handles, op)).collect();
        let answers = together(calls).await;
        for (op, answer) in ops.iter().zip(&answers) {
            let expected = call(&other, &same, op).await;
            assert_eq!(*answer, expected, "seed {seed}, round {round}: {op:?} of {ops:#?}");
        }
        for state in [State::Ready, State::Dead] {
            let found = list_all(&one, state, 100).await;
            let expected = list_all(&other, state, 100).await;
            let ids = |items: &[leaseq::ItemInfo]| -> Vec<Vec<u8>> {
                let mut ids: Vec<_> = items.iter().map(|item| item.id.to_vec()).collect();
                // Those that died in the same ms stand in the order of their generations.
                if state == State::Dead {
                    ids.sort();
                }
                ids
            };
            assert_eq!(ids(&found), ids(&expected), "seed {seed}, round {round}: {ops:#?}");
        }
    }
}

async fn a_call_that_is_polled_once_does_not_delay_the_others(bench: &Bench) {
    let queue = bench.queue().await;
    assert_eq!(queue.queue_len().await.unwrap(), 0);
    let mut add = Box::pin(queue.add_item(item("a")));
    let polled = poll_fn(|task| Poll::Ready(add.as_mut().poll(task).is_ready())).await;
    let lease = tokio::time::timeout(secs(10), queue.lease(at_once())).await;
    assert_eq!(lease.unwrap().unwrap().unwrap().id(), b"a");
    assert!(polled || add.await.unwrap());
}

on_every_engine!(
    calls_of_all_kinds_are_executed_in_their_order,
    a_call_that_is_polled_once_does_not_delay_the_others,
);

/// With threads that can overtake one another.
mod on_threads {
    use super::calls_of_all_kinds_are_executed_in_their_order as ordered;
    use crate::support::{redis, sqlite};

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn calls_of_all_kinds_on_redis() {
        ordered(&redis::bench()).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn calls_of_all_kinds_on_sqlite() {
        ordered(&sqlite::bench()).await;
    }
}
