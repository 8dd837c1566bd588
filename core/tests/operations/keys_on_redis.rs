//! Keys on Redis: when exactly an item is held, and what is stored.

use std::collections::BTreeMap;
use std::time::Duration;

use ::redis::{Commands, Connection};
use leaseq::{Item, Lease, LeaseOptions, SettingsChange, State, WorkQueue};

use crate::support::redis::Redis;
use crate::support::*;

/// An item whose id is its data, with a key.
fn keyed(id: &str, key: &str) -> Item {
    item(id).key(key)
}

async fn add(queue: &WorkQueue, items: impl IntoIterator<Item = Item>) {
    assert!(queue.add_items(items).await.unwrap().into_iter().all(|added| added));
}

async fn lease(queue: &WorkQueue, count: usize) -> Vec<Lease> {
    queue.lease_many(count, LeaseOptions::new(secs(60)).wait(Duration::ZERO)).await.unwrap()
}

fn ids(leases: &[Lease]) -> Vec<String> {
    leases.iter().map(|lease| String::from_utf8_lossy(lease.id()).into_owned()).collect()
}

async fn got(queue: &WorkQueue, count: usize) -> Vec<String> {
    ids(&lease(queue, count).await)
}

async fn complete(queue: &WorkQueue, leases: &[Lease]) {
    assert!(queue.complete_many(leases).await.unwrap().into_iter().all(|done| done));
}

async fn state(queue: &WorkQueue, id: &str) -> State {
    queue.get(id).await.unwrap().unwrap().state
}

/// The tombstones of each priority that has some, as META counts them.
fn tombstones(raw: &mut Connection) -> BTreeMap<String, i64> {
    let meta: BTreeMap<String, String> = raw.hgetall("leaseq:{jobs}:meta").unwrap();
    let gone = meta.into_iter().filter_map(|(field, count)| {
        Some((field.strip_prefix("gone:")?.to_owned(), count.parse().unwrap()))
    });
    gone.filter(|(_, count)| *count != 0).collect()
}

fn length(raw: &mut Connection, key: &str) -> usize {
    let key = format!("leaseq:{{jobs}}:{key}");
    match key.ends_with("places") {
        true => raw.hlen(&key).unwrap(),
        false => raw.zcard(&key).unwrap(),
    }
}

#[tokio::test]
async fn an_item_waits_in_line_and_leaves_nothing_behind() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    add(&queue, ["a1", "a2", "a3"].map(|id| keyed(id, "a"))).await;
    add(&queue, [keyed("b1", "b"), item("free")]).await;
    let first = lease(&queue, 10).await;
    assert_eq!(ids(&first), ["a1", "b1", "free"]);
    assert_eq!((state(&queue, "a2").await, state(&queue, "a3").await), (State::Held, State::Held));
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.held, counts.ready, counts.leased), (2, 0, 3));
    assert_eq!(got(&queue, 10).await, [""; 0]);
    assert_sound(&queue).await;
    complete(&queue, &first[..1]).await;
    let second = lease(&queue, 10).await;
    assert_eq!(ids(&second), ["a2"]);
    assert_sound(&queue).await;
    // Behind one that waits, even if it comes later with the same priority.
    add(&queue, [keyed("a4", "a")]).await;
    complete(&queue, &second).await;
    let third = lease(&queue, 10).await;
    assert_eq!(ids(&third), ["a3"]);
    complete(&queue, &third).await;
    let fourth = lease(&queue, 10).await;
    assert_eq!(ids(&fourth), ["a4"]);
    complete(&queue, &fourth).await;
    complete(&queue, &first[1..]).await;
    for key in ["places", "held", "lines", "open"] {
        assert_eq!(length(&mut raw, key), 0, "{key}");
    }
    assert_sound(&queue).await;
}

#[tokio::test]
async fn each_key_is_apart_whatever_bytes_it_has() {
    let bench = Bench::new(Redis::start());
    let queue = bench.queue().await;
    let keys: [&[u8]; 6] = [b"a", b"a\0b", b"a\0", b"\xff", b"\xff:", &[b'0'; 128]];
    for (i, key) in keys.iter().enumerate() {
        for n in 0..2 {
            add(&queue, [item(format!("{i}-{n}")).key(key)]).await;
        }
    }
    for round in 0..2 {
        let leases = lease(&queue, 20).await;
        let expected: Vec<String> = (0..6).map(|i| format!("{i}-{round}")).collect();
        // Keys that were opened in the same step come in any order.
        let mut found = ids(&leases);
        found.sort();
        assert_eq!(found, expected);
        assert_sound(&queue).await;
        complete(&queue, &leases).await;
    }
    assert_sound(&queue).await;
}

#[tokio::test]
async fn held_items_leave_no_tombstone_however_they_end() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    let late = {
        add(&queue, [keyed("late", "a")]).await;
        let late = lease(&queue, 1).await;
        queue.release(&late[0], Duration::ZERO).await.unwrap();
        late
    };
    let blocker = lease(&queue, 1).await;
    assert_eq!(ids(&blocker), ["late"]);
    let names = ["remove", "cancel", "kept", "revise", "bury", "sweep", "replace", "last"];
    let items = names.map(|id| match id {
        "sweep" => keyed(id, "a").expires_in(secs(5)),
        "kept" => keyed(id, "a").retain(secs(5)),
        _ => keyed(id, "a").priority(3),
    });
    add(&queue, items).await;
    assert_eq!(got(&queue, 10).await, [""; 0]);
    assert_eq!(queue.counts().await.unwrap().held, 8);
    assert!(queue.remove("remove").await.unwrap());
    assert!(queue.cancel("cancel").await.unwrap());
    assert!(queue.cancel("kept").await.unwrap());
    assert_eq!(queue.bury(["bury"], "no").await.unwrap(), [true]);
    assert!(queue.add_item(keyed("replace", "b").replace()).await.unwrap());
    bench.advance(secs(6));
    queue.light_clean().await.unwrap();
    assert_eq!(state(&queue, "sweep").await, State::Dead);
    assert_eq!(tombstones(&mut raw), BTreeMap::new());
    assert_sound(&queue).await;
    assert_eq!(queue.counts().await.unwrap().held, 2);
    assert_eq!(got(&queue, 10).await, ["replace"]);
    // The line goes on behind entries that no longer count.
    complete(&queue, &blocker).await;
    assert_eq!(queue.complete_many(&late).await.unwrap(), [false]);
    assert_eq!(got(&queue, 10).await, ["revise"]);
    assert_eq!(queue.purge(State::Held).await.unwrap(), 1);
    assert_eq!(tombstones(&mut raw), BTreeMap::new());
    assert_sound(&queue).await;
}

#[tokio::test]
async fn a_returning_item_stays_in_front_of_its_line() {
    let bench = Bench::new(Redis::start());
    let queue = bench.queue().await;
    queue.configure(SettingsChange::new().key_limit(2)).await.unwrap();
    add(&queue, ["a1", "a2", "a3", "a4"].map(|id| keyed(id, "a"))).await;
    let first = lease(&queue, 10).await;
    assert_eq!(ids(&first), ["a1", "a2"]);
    queue.release_many(&first, Duration::ZERO).await.unwrap();
    assert_sound(&queue).await;
    let again = lease(&queue, 10).await;
    assert_eq!(ids(&again), ["a1", "a2"]);
    // Expired leases, and one that was released with a delay.
    queue.release(&again[1], secs(10)).await.unwrap();
    let third = lease(&queue, 10).await;
    assert_eq!(ids(&third), ["a3"]);
    bench.advance(secs(10));
    assert_eq!(got(&queue, 10).await, [""; 0]);
    assert_eq!(state(&queue, "a2").await, State::Held);
    bench.advance(secs(60));
    assert_eq!(got(&queue, 10).await, ["a1", "a3"]);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn a_cleaner_wakes_workers_for_places_that_it_has_freed() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    add(&queue, [keyed("a1", "a").max_attempts(1), keyed("a2", "a")]).await;
    assert_eq!(got(&queue, 10).await, ["a1"]);
    bench.advance(secs(61));
    crate::support::redis::expect_waiters(&mut raw, "jobs");
    let report = queue.light_clean().await.unwrap();
    assert_eq!((report.expired, report.died), (1, 1));
    assert_eq!(raw.llen::<_, usize>("leaseq:{jobs}:wake").unwrap(), 1);
    assert_eq!(got(&queue, 10).await, ["a2"]);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn purging_ready_items_leaves_held_ones() {
    let bench = Bench::new(Redis::start());
    let queue = bench.queue().await;
    add(&queue, ["a1", "a2", "a3"].map(|id| keyed(id, "a"))).await;
    let first = lease(&queue, 10).await;
    add(&queue, [keyed("a4", "a"), item("plain")]).await;
    assert_eq!(queue.purge(State::Ready).await.unwrap(), 2);
    assert_eq!(queue.counts().await.unwrap().held, 2);
    assert_eq!(queue.purge(State::Leased).await.unwrap(), 1);
    assert_eq!(queue.complete_many(&first).await.unwrap(), [false]);
    assert_eq!(got(&queue, 10).await, ["a2"]);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn a_raised_limit_opens_lines_and_a_lowered_one_takes_no_lease_away() {
    let bench = Bench::new(Redis::start());
    let queue = bench.queue().await;
    add(&queue, (0..6).map(|i| keyed(&format!("a{i}"), "a"))).await;
    add(&queue, (0..6).map(|i| keyed(&format!("b{i}"), "b"))).await;
    assert_eq!(got(&queue, 20).await, ["a0", "b0"]);
    // New ones do not overtake those that wait.
    add(&queue, [keyed("a9", "a"), keyed("b9", "b")]).await;
    queue.configure(SettingsChange::new().key_limit(3)).await.unwrap();
    let more = lease(&queue, 20).await;
    assert_eq!(ids(&more), ["a1", "a2", "b1", "b2"]);
    queue.set_key_limits([("b", Some(4))]).await.unwrap();
    assert_eq!(got(&queue, 20).await, ["b3"]);
    let keys = queue.get_keys(["a", "b", "c"]).await.unwrap();
    let seen: Vec<_> = keys.iter().map(|one| (one.limit, one.own_limit, one.leased)).collect();
    assert_eq!(seen, [(3, false, 3), (4, true, 4), (3, false, 0)]);
    queue.configure(SettingsChange::new().key_limit(1)).await.unwrap();
    complete(&queue, &more[..1]).await;
    assert_eq!(got(&queue, 20).await, [""; 0]);
    queue.set_key_limits([("b", None::<u32>), ("a", Some(3))]).await.unwrap();
    assert_eq!(got(&queue, 20).await, ["a3"]);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn priorities_decide_within_a_line_and_between_lines_and_lists() {
    let bench = Bench::new(Redis::start());
    let queue = bench.queue().await;
    add(&queue, [keyed("first", "a"), keyed("low", "a"), keyed("b1", "b")]).await;
    let first = lease(&queue, 2).await;
    assert_eq!(ids(&first), ["first", "b1"]);
    add(&queue, [keyed("high", "a").priority(9), item("five").priority(5), item("zero")]).await;
    // The one with priority 9 waits in front of the one with priority 0.
    assert_eq!(got(&queue, 1).await, ["five"]);
    complete(&queue, &first[..1]).await;
    let high = lease(&queue, 1).await;
    assert_eq!(ids(&high), ["high"]);
    complete(&queue, &high).await;
    assert_eq!(got(&queue, 10).await, ["low", "zero"]);
    assert_sound(&queue).await;
}
