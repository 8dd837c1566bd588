//! Items that are dead if nobody leases them in time.

use std::time::{Duration, UNIX_EPOCH};

use leaseq::{
    CompleteOptions, ErrorKind, Item, ItemInfo, LeaseOptions, Revision, State, WorkQueue,
};

use crate::support::*;

const NOT_LEASED: &str = "not leased before it expired";
const HOUR: Duration = Duration::from_secs(3_600);

/// Expires in 10 s.
fn short(id: impl AsRef<[u8]>) -> Item {
    item(id).expires_in(secs(10))
}

async fn add(queue: &WorkQueue, item: Item) -> bool {
    queue.add_item(item).await.unwrap()
}

async fn info(queue: &WorkQueue, id: &str) -> ItemInfo {
    queue.get(id).await.unwrap().expect("the item is there")
}

/// The item is dead because it has expired, whether or not somebody has swept it.
async fn has_expired(queue: &WorkQueue, id: &str) {
    let found = info(queue, id).await;
    assert_eq!((found.state, &found.last_error[..]), (State::Dead, NOT_LEASED), "{id}");
    assert!(found.at.is_some() && found.expires_at.is_none(), "{found:?}");
}

/// Live, dead, and the totals of deaths.
async fn numbers(queue: &WorkQueue) -> [u64; 4] {
    let counts = queue.counts().await.unwrap();
    let live = counts.ready + counts.delayed + counts.leased;
    [live, counts.dead, counts.totals.died, counts.totals.expired_unleased]
}

async fn the_clock_decides_when_it_is_dead(bench: &Bench) {
    let queue = bench.queue().await;
    let begun = bench.now();
    let items = [short("ready"), short("high").priority(5), short("delayed").delay(secs(9))];
    queue.add_items(items).await.unwrap();
    assert!(add(&queue, item("other").delay(HOUR)).await);
    let found = info(&queue, "ready").await;
    assert_eq!((found.state, found.last_error.as_str()), (State::Ready, ""));
    assert_eq!(found.expires_at.map(since_1970), Some(begun + 10_000));
    assert_eq!(info(&queue, "other").await.expires_at, None);
    queue.pause().await.unwrap();
    bench.advance(ms(9_999));
    queue.light_clean().await.unwrap();
    assert_eq!(numbers(&queue).await, [4, 0, 0, 0]);
    bench.advance(ms(1));
    // Nobody has looked yet: lists and counts have it as it is stored.
    let [ready, high] = ["ready", "high"];
    for id in [ready, high, "delayed"] {
        has_expired(&queue, id).await;
        assert_eq!(info(&queue, id).await.at.map(since_1970), Some(begun + 10_000));
        assert!(!add(&queue, item(id)).await, "its id is taken");
    }
    assert_eq!(numbers(&queue).await, [4, 0, 0, 0]);
    assert_eq!(list_all(&queue, State::Ready, 10).await.len(), 3);
    assert_sound(&queue).await;
    bench.advance(ms(1));
    let report = queue.light_clean().await.unwrap();
    assert_eq!((report.promoted, report.expired, report.died), (0, 0, 0));
    assert_eq!(numbers(&queue).await, [1, 3, 3, 3]);
    for id in [ready, high, "delayed"] {
        has_expired(&queue, id).await;
        assert_eq!(info(&queue, id).await.at.map(since_1970), Some(bench.now()));
    }
    assert_sound(&queue).await;
    queue.resume().await.unwrap();
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert!(add(&queue, item("new")).await);
    assert_eq!(drain(&queue).await, ["new"]);
}

async fn it_is_not_leased_after_its_time(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([item("a"), short("b"), item("c"), short("d").priority(3)]).await.unwrap();
    bench.advance(secs(10));
    assert_eq!(drain(&queue).await, ["a", "c"]);
    assert_eq!(numbers(&queue).await, [2, 2, 2, 2]);
    has_expired(&queue, "b").await;
    assert_sound(&queue).await;
}

async fn a_counted_attempt_ends_it(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([short("failed"), short("expired"), short("late")]).await.unwrap();
    let leases = queue.lease_many(3, LeaseOptions::new(secs(5)).wait(ms(0))).await.unwrap();
    queue.extend(&leases[2], secs(60)).await.unwrap();
    queue.fail(&leases[0], "no", ms(0)).await.unwrap();
    bench.advance(secs(5));
    queue.light_clean().await.unwrap();
    for id in ["failed", "expired"] {
        assert_eq!(info(&queue, id).await.expires_at, None);
    }
    assert!(info(&queue, "late").await.expires_at.is_some());
    bench.advance(secs(10));
    // It is leased when its time passes; a sweep that has seen that does not look at it again.
    for _ in 0..2 {
        queue.light_clean().await.unwrap();
        let found = info(&queue, "late").await;
        assert_eq!((found.state, found.last_error.as_str()), (State::Leased, ""));
        assert_eq!(found.expires_at.map(since_1970), Some(bench.now() - 5_000));
    }
    queue.fail(&leases[2], "no", ms(0)).await.unwrap();
    assert_eq!(info(&queue, "late").await.expires_at, None);
    assert_eq!(drain(&queue).await, ["expired", "failed", "late"]);
    assert_eq!(numbers(&queue).await, [3, 0, 0, 0]);
    assert_sound(&queue).await;
}

async fn it_can_be_completed_while_it_is_leased(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([short("a"), short("b").retain(HOUR), short("c")]).await.unwrap();
    let leases = queue.lease_many(3, LeaseOptions::new(HOUR).wait(ms(0))).await.unwrap();
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    let [done, retained, both] = &leases[..] else { panic!("three leases") };
    assert!(queue.complete(done).await.unwrap());
    assert!(queue.complete(retained).await.unwrap());
    assert!(queue.complete_and_lease([both], 1, at_once()).await.unwrap().completed[0]);
    let found = info(&queue, "b").await;
    assert_eq!((found.state, found.expires_at), (State::Completed, None));
    assert_eq!(numbers(&queue).await, [0, 0, 0, 0]);
    assert_sound(&queue).await;
    assert!(add(&queue, item("a")).await);
    bench.advance(secs(10));
    assert_eq!(state(&queue, "a").await, Some(State::Ready));
}

async fn a_release_keeps_it(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([short("early"), short("late"), short("delayed").unique("k")]).await.unwrap();
    let leases = queue.lease_many(3, LeaseOptions::new(HOUR).wait(ms(0))).await.unwrap();
    bench.advance(secs(5));
    queue.release(&leases[0], ms(0)).await.unwrap();
    assert!(info(&queue, "early").await.expires_at.is_some());
    queue.release(&leases[2], secs(60)).await.unwrap();
    bench.advance(secs(5));
    has_expired(&queue, "early").await;
    has_expired(&queue, "delayed").await;
    assert!(add(&queue, item("next").unique("k").delay(HOUR)).await, "the key is free");
    assert_sound(&queue).await;
    // After its time it is dead at once.
    queue.release(&leases[1], secs(60)).await.unwrap();
    has_expired(&queue, "late").await;
    assert_eq!(numbers(&queue).await, [3, 1, 1, 1]);
    queue.light_clean().await.unwrap();
    assert_eq!(numbers(&queue).await, [1, 3, 3, 3]);
    assert_sound(&queue).await;
    assert_eq!(queue.requeue(["delayed"]).await.unwrap(), [false], "its key is taken");
}

async fn requeue_clears_it(bench: &Bench) {
    let queue = bench.queue().await;
    let items = ["ready", "delayed", "swept"].map(|id| short(id).unique(id));
    queue.add_items(items).await.unwrap();
    assert_eq!(queue.requeue(["ready"]).await.unwrap(), [false], "it is not dead yet");
    let revision = Revision::new().delay(secs(60));
    assert!(queue.revise("delayed", revision).await.unwrap());
    bench.advance(secs(10));
    let names = ["ready", "delayed", "ready"];
    assert_eq!(queue.requeue(names).await.unwrap(), [true, true, false]);
    assert_sound(&queue).await;
    queue.light_clean().await.unwrap();
    has_expired(&queue, "swept").await;
    assert_eq!(queue.requeue(["swept"]).await.unwrap(), [true]);
    bench.advance(HOUR);
    for id in ["ready", "delayed", "swept"] {
        let found = info(&queue, id).await;
        assert_eq!((found.state, found.expires_at), (State::Ready, None));
        assert!(!add(&queue, item("other").unique(id)).await, "its key is its own again");
    }
    assert_eq!(drain(&queue).await, ["ready", "delayed", "swept"]);
    assert_sound(&queue).await;
}

async fn operators_find_a_dead_item(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([short("a"), short("b"), short("c"), short("buried")]).await.unwrap();
    let data = || Revision::new().data("new");
    assert!(queue.revise("a", data()).await.unwrap());
    assert!(info(&queue, "a").await.expires_at.is_some(), "a revision keeps it");
    assert_eq!(queue.bury(["buried"], "no").await.unwrap(), [true]);
    assert_eq!(info(&queue, "buried").await.expires_at, None);
    assert_eq!(queue.requeue(["buried"]).await.unwrap(), [true]);
    bench.advance(secs(10));
    assert_eq!(queue.bury(["b"], "no").await.unwrap(), [false]);
    assert!(!queue.revise("b", data().delay(secs(1))).await.unwrap());
    assert!(!queue.revise("b", data().delay(ms(0))).await.unwrap());
    assert!(queue.revise("b", data()).await.unwrap());
    has_expired(&queue, "b").await;
    assert_eq!(info(&queue, "b").await.data, "new");
    assert!(queue.remove("c").await.unwrap());
    assert_sound(&queue).await;
    assert_eq!(drain(&queue).await, ["buried"]);
    assert_eq!(queue.purge(State::Dead).await.unwrap(), 2);
    assert_sound(&queue).await;
}

async fn a_replacement_brings_its_own(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items([short("a"), short("b"), short("c")]).await.unwrap();
    assert!(add(&queue, item("a").replace()).await);
    assert!(add(&queue, short("b").expires_in(secs(20)).replace()).await);
    bench.advance(secs(10));
    assert!(add(&queue, item("c").replace()).await);
    assert_eq!(queue.counts().await.unwrap().totals.replaced, 3);
    bench.advance(secs(10));
    assert_eq!(drain(&queue).await, ["a", "c"]);
    has_expired(&queue, "b").await;
    assert_sound(&queue).await;
}

async fn its_unique_key_is_free(bench: &Bench) {
    let queue = bench.queue().await;
    let unique = |id: &'static str| short(id).unique("k").retain(HOUR);
    assert!(add(&queue, unique("a")).await);
    let lease = take(&queue).await;
    queue.release(&lease, ms(0)).await.unwrap();
    assert!(!add(&queue, unique("b")).await);
    bench.advance(secs(10));
    assert!(add(&queue, unique("b")).await);
    assert!(!add(&queue, unique("c")).await);
    assert_sound(&queue).await;
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [false]);
    // Who has released it completes it late: the key stays with the other one.
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(info(&queue, "a").await.unique, None);
    assert!(!add(&queue, unique("c")).await);
    assert_sound(&queue).await;
    bench.advance(secs(10));
    assert!(add(&queue, unique("c")).await);
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
    has_expired(&queue, "b").await;
    assert!(!add(&queue, unique("d")).await);
    // Nobody has its key meanwhile.
    assert!(queue.remove("c").await.unwrap());
    assert!(add(&queue, unique("d")).await);
    let lease = take(&queue).await;
    queue.release(&lease, ms(0)).await.unwrap();
    bench.advance(secs(10));
    assert!(queue.complete(&lease).await.unwrap());
    assert!(add(&queue, unique("e")).await);
    assert_sound(&queue).await;
    bench.advance(HOUR);
    queue.light_clean().await.unwrap();
    assert_eq!(list_all(&queue, State::Completed, 10).await, []);
    assert_sound(&queue).await;
}

/// Of those that expire at the same time, the one that was added first dies first, whoever has taken its key.
async fn deaths_have_an_order(bench: &Bench) {
    let queue = bench.queue().await;
    let items = [short("a"), short("b").unique("k"), short("c").delay(secs(9))];
    queue.add_items(items).await.unwrap();
    bench.advance(secs(10));
    assert!(add(&queue, item("other").unique("k")).await);
    queue.light_clean().await.unwrap();
    let dead = list_all(&queue, State::Dead, 10).await;
    let dead: Vec<_> = dead.iter().map(|info| &info.id[..]).collect();
    assert_eq!(dead, [b"a", b"b", b"c"]);
    assert_sound(&queue).await;
}

/// The key of a dead item stays reserved as long as that of any other.
async fn a_reserved_key_stays_taken(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(add(&queue, short("a").unique("k").unique_for(secs(20))).await);
    bench.advance(secs(10));
    assert!(!add(&queue, item("b").unique("k")).await);
    queue.light_clean().await.unwrap();
    assert!(!add(&queue, item("b").unique("k")).await);
    bench.advance(secs(10));
    assert!(add(&queue, item("b").unique("k")).await);
    assert_sound(&queue).await;
}

/// A lease makes a bounded number of items dead, and says that there is more.
async fn many_that_have_expired_are_passed_step_by_step(bench: &Bench) {
    let queue = bench.queue().await;
    queue
        .add_items((0..2_600).map(|i| short(i.to_string()).priority((i % 2) as u8)))
        .await
        .unwrap();
    let large = |i: usize| Item::new(vec![1; 200_000]).with_id(format!("large {i}"));
    queue.add_items((0..100).map(|i| large(i).expires_in(secs(10)))).await.unwrap();
    queue.add_items(["last", "after"].map(item)).await.unwrap();
    bench.advance(secs(10));
    let lease = queue.lease(LeaseOptions::new(secs(60)).wait(secs(30))).await.unwrap().unwrap();
    assert_eq!(lease.id(), b"last");
    assert_eq!(numbers(&queue).await, [2, 2_700, 2_700, 2_700]);
    assert_sound(&queue).await;
    assert_eq!(drain(&queue).await, ["after"]);
    assert_eq!(queue.purge(State::Dead).await.unwrap(), 2_700);

    // A clean needs no lease.
    queue.add_items((0..1_300).map(|i| short(i.to_string()))).await.unwrap();
    queue.add_items((0..100).map(|i| large(i).expires_in(secs(10)))).await.unwrap();
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    assert_eq!(numbers(&queue).await, [2, 1_400, 4_100, 4_100]);
    assert_sound(&queue).await;
}

async fn a_quiet_queue_is_swept_within_a_minute(bench: &Bench) {
    let queue = bench.queue().await;
    assert!(add(&queue, short("a")).await);
    let next = queue.light_clean().await.unwrap().next_in.expect("something is to be done");
    assert!(next >= secs(10) && next <= secs(70), "{next:?}");
    bench.advance(next);
    assert!(queue.wait_until_due(secs(1)).await.unwrap());
    assert_eq!(queue.light_clean().await.unwrap().next_in, None);
    assert_eq!(numbers(&queue).await, [0, 1, 1, 1]);
}

async fn what_is_invalid_adds_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    let now = std::time::SystemTime::now();
    let days = |days: u64| secs(days * 86_400);
    for bad in [
        item("a").expires_in(ms(0)),
        item("a").expires_in(days(366) + ms(1)),
        short("a").delay(ms(10_001)),
        short("a").due_at(now + secs(60)),
    ] {
        assert_eq!(kind(queue.add_items([item("fine"), bad]).await), ErrorKind::Invalid);
    }
    assert_eq!(numbers(&queue).await, [0, 0, 0, 0]);
    let fine = [item("a").expires_in(ms(1)), item("b").expires_in(days(366)).delay(days(366))];
    assert_eq!(queue.add_items(fine).await.unwrap(), [true; 2]);
    assert!(add(&queue, short("c").due_at(UNIX_EPOCH)).await);
    bench.advance(ms(1));
    has_expired(&queue, "a").await;
    let error = queue.add_item(short("d").delay(secs(11))).await.unwrap_err();
    let message = "a delay of 11 s is longer than expires_in of 10 s";
    assert!(error.to_string().contains(message), "{error}");
}

async fn late_completions_are_safe(bench: &Bench) {
    let queue = bench.queue().await;
    let retain = CompleteOptions::new().retain(HOUR);
    for options in [CompleteOptions::new(), retain] {
        for swept in [false, true] {
            assert!(add(&queue, short("a")).await);
            let lease = take(&queue).await;
            queue.release(&lease, ms(0)).await.unwrap();
            bench.advance(secs(10));
            if swept {
                queue.light_clean().await.unwrap();
            }
            // The sweep has made a new generation.
            assert_eq!(queue.complete_with(&lease, options.clone()).await.unwrap(), !swept);
            assert_sound(&queue).await;
            queue.remove("a").await.unwrap();
        }
    }
    assert_eq!(queue.counts().await.unwrap().totals.died, 2);
}

on_every_engine!(
    the_clock_decides_when_it_is_dead,
    it_is_not_leased_after_its_time,
    a_counted_attempt_ends_it,
    it_can_be_completed_while_it_is_leased,
    a_release_keeps_it,
    requeue_clears_it,
    operators_find_a_dead_item,
    a_replacement_brings_its_own,
    its_unique_key_is_free,
    deaths_have_an_order,
    a_reserved_key_stays_taken,
    many_that_have_expired_are_passed_step_by_step,
    a_quiet_queue_is_swept_within_a_minute,
    what_is_invalid_adds_nothing,
    late_completions_are_safe,
);
