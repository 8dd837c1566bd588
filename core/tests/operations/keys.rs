//! Keys, which limit how many items are leased at the same time. See `key_lines.rs` for held items.

use std::time::Duration;

use leaseq::{Item, Lease, SettingsChange, State, WorkQueue};

use crate::support::*;

/// An item with this id and key.
pub(super) fn keyed(id: impl AsRef<[u8]>, key: impl AsRef<[u8]>) -> Item {
    item(id).key(key)
}

pub(super) async fn add(queue: &WorkQueue, items: impl IntoIterator<Item = Item>) {
    assert!(queue.add_items(items).await.unwrap().into_iter().all(|added| added));
}

pub(super) async fn leases(queue: &WorkQueue, count: usize) -> Vec<Lease> {
    queue.lease_many(count, at_once()).await.unwrap()
}

/// The ids of the items that can be leased now.
pub(super) async fn got(queue: &WorkQueue) -> Vec<String> {
    ids(&leases(queue, 1000).await)
}

pub(super) async fn complete(queue: &WorkQueue, lease: &Lease) {
    assert!(queue.complete(lease).await.unwrap());
}

pub(super) async fn limit(queue: &WorkQueue, limit: impl Into<Option<u32>>) {
    queue.configure(SettingsChange::new().key_limit(limit)).await.unwrap().unwrap();
}

/// How many of this key are leased, and may be.
async fn of_key(queue: &WorkQueue, key: impl AsRef<[u8]>) -> (u64, u32) {
    let found = queue.get_keys([key]).await.unwrap().remove(0);
    (found.leased, found.limit)
}

async fn no_more_than_the_limit(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    add(&queue, ["a1", "a2", "b1", "a3", "b2"].map(|id| keyed(id, &id[..1]))).await;
    add(&queue, [item("plain")]).await;
    let first = leases(&queue, 1000).await;
    assert_eq!(ids(&first), ["a1", "b1", "plain"], "one key blocks no other");
    assert_eq!((first[0].key(), first[2].key()), (Some(&b"a"[..]), None));
    let found = queue.get("a1").await.unwrap().unwrap();
    assert_eq!(found.key.as_deref(), Some(&b"a"[..]));
    assert!(got(&other).await.is_empty());
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.held, counts.leased), (0, 3, 3));
    let held = list_all(&queue, State::Held, 2).await;
    assert_eq!(held.iter().map(|item| &item.id[..]).collect::<Vec<_>>(), [b"a2", b"a3", b"b2"]);
    assert!(held.iter().all(|item| item.state == State::Held && item.at.is_none()));
    complete(&other, &first[0]).await;
    assert_eq!(got(&other).await, ["a2"]);
    assert_eq!(of_key(&queue, "a").await, (1, 1));
    complete(&queue, &first[1]).await;
    assert_eq!(got(&queue).await, ["b2"]);
    assert_sound(&queue).await;
}

async fn keys_are_bytes(bench: &Bench) {
    let queue = bench.queue().await;
    let all: [&[u8]; 6] = [b"a", b"a\0", b"a\0b", b"\0", b"\xff", &[0; 128]];
    for (n, key) in all.iter().enumerate() {
        add(&queue, [0, 1].map(|i| keyed(format!("{n} {i}"), key))).await;
    }
    let first = leases(&queue, 1000).await;
    assert_eq!(ids(&first), (0..6).map(|n| format!("{n} 0")).collect::<Vec<_>>());
    for (lease, key) in first.iter().zip(all) {
        assert_eq!((lease.key(), of_key(&queue, key).await), (Some(key), (1, 1)));
    }
    for (n, lease) in first.iter().enumerate() {
        complete(&queue, lease).await;
        assert_eq!(got(&queue).await, [format!("{n} 1")]);
    }
    assert_sound(&queue).await;
}

async fn every_end_of_a_lease_frees_its_place(bench: &Bench) {
    let queue = bench.queue().await;
    let delayed = Duration::from_secs(3_600);
    for end in 0..9 {
        let name = |i: usize| format!("{end} {i}");
        let retained = if end == 1 { secs(60) } else { Duration::ZERO };
        add(&queue, [keyed(name(0), "k").retain(retained).max_attempts(1)]).await;
        let lease = take(&queue).await;
        add(&queue, [keyed(name(1), "k")]).await;
        assert!(got(&queue).await.is_empty(), "{end}");
        match end {
            0 | 1 => complete(&queue, &lease).await,
            2 => queue.release(&lease, delayed).await.unwrap(),
            3 => drop(queue.fail(&lease, "no", Duration::ZERO).await.unwrap()),
            4 => assert!(queue.remove(name(0)).await.unwrap()),
            5 => assert_eq!(queue.purge(State::Leased).await.unwrap(), 1),
            6 => {
                assert!(queue.cancel(name(0)).await.unwrap());
                assert!(got(&queue).await.is_empty(), "its holder still has it");
                queue.release(&lease, Duration::ZERO).await.unwrap();
            }
            7 => bench.advance(secs(11)),
            _ => {
                bench.advance(secs(11));
                queue.light_clean().await.unwrap();
            }
        }
        let next = leases(&queue, 1000).await;
        assert_eq!(ids(&next), [name(1)], "{end}");
        complete(&queue, &next[0]).await;
        queue.remove(name(0)).await.unwrap();
        assert_sound(&queue).await;
    }
}

async fn an_item_that_comes_back_to_the_front_is_first(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, ["1", "2", "3"].map(|id| keyed(id, "k"))).await;
    let lease = take(&queue).await;
    assert!(got(&queue).await.is_empty());
    queue.release(&lease, Duration::ZERO).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(lease.id(), b"1");
    queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
    for id in ["2", "3", "1"] {
        let lease = take(&queue).await;
        assert_eq!(lease.id_str(), Some(id));
        complete(&queue, &lease).await;
    }
}

/// No item has an attempt, a priority or anything else that is kept beside its record.
async fn a_line_moves_when_what_came_back_before_it_is_gone(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, [keyed("a", "k"), keyed("b", "k"), item("c")]).await;
    let first = leases(&queue, 2).await;
    assert_eq!(ids(&first), ["a", "c"]);
    queue.release(&first[1], Duration::ZERO).await.unwrap();
    assert!(queue.remove("c").await.unwrap());
    complete(&queue, &first[0]).await;
    assert_eq!(got(&queue).await, ["b"]);
    assert_sound(&queue).await;
}

async fn limits_are_set_and_shown(bench: &Bench) {
    let queue = bench.queue().await;
    assert_eq!(of_key(&queue, "k").await, (0, 1), "there is no queue");
    queue.set_key_limits([("k", None)]).await.unwrap();
    assert!(!queue.drop_queue().await.unwrap());
    limit(&queue, 3).await;
    assert_eq!(queue.settings().await.unwrap().key_limit, 3);
    queue.set_key_limits([("k", Some(5)), ("k", Some(2)), ("l", Some(1000))]).await.unwrap();
    let keys = queue.get_keys(["k", "l", "m", "k"]).await.unwrap();
    let seen: Vec<_> =
        keys.iter().map(|found| (&found.key[..], found.limit, found.own_limit)).collect();
    let k = (&b"k"[..], 2, true);
    assert_eq!(seen, [k, (b"l", 1000, true), (b"m", 3, false), k]);
    add(&queue, (0..10).flat_map(|i| [keyed(format!("k{i}"), "k"), keyed(format!("m{i}"), "m")]))
        .await;
    assert_eq!(got(&queue).await, ["k0", "m0", "k1", "m1", "m2"]);
    assert_eq!((of_key(&queue, "k").await, of_key(&queue, "m").await), ((2, 2), (3, 3)));
    queue.set_key_limits([("k", None), ("m", Some(4))]).await.unwrap();
    assert_eq!(got(&queue).await, ["k2", "m3"]);
    limit(&queue, None).await;
    assert_eq!(queue.settings().await.unwrap().key_limit, 1);
    assert_eq!((of_key(&queue, "k").await, of_key(&queue, "m").await), ((3, 1), (4, 4)));
    let many: Vec<_> = (0..2_500).map(|i| format!("key {i}")).collect();
    queue.set_key_limits(many.iter().map(|key| (key, Some(7)))).await.unwrap();
    let found = queue.get_keys(&many).await.unwrap();
    assert!(found.len() == 2_500 && found.iter().all(|key| key.limit == 7));
    assert_sound(&queue).await;
    assert!(queue.drop_queue().await.unwrap());
    assert_eq!(of_key(&queue, "l").await, (0, 1));
}

async fn a_lower_limit_takes_no_lease_away(bench: &Bench) {
    let queue = bench.queue().await;
    limit(&queue, 4).await;
    add(&queue, (0..8).map(|i| keyed(i.to_string(), "k"))).await;
    let first = leases(&queue, 1000).await;
    assert_eq!(first.len(), 4);
    limit(&queue, 2).await;
    for lease in &first[..2] {
        queue.extend(lease, secs(60)).await.unwrap();
        complete(&queue, lease).await;
        assert!(got(&queue).await.is_empty());
    }
    complete(&queue, &first[2]).await;
    assert_eq!(got(&queue).await, ["4"]);
    limit(&queue, 5).await;
    assert_eq!(got(&queue).await, ["5", "6", "7"]);
    assert_eq!(of_key(&queue, "k").await, (5, 5));
    assert_sound(&queue).await;
}

async fn many_at_once(bench: &Bench) {
    let queue = bench.queue().await;
    limit(&queue, 2).await;
    add(&queue, (0..3_000).map(|i| keyed(i.to_string(), format!("key {}", i % 300)))).await;
    let mut held = leases(&queue, 1000).await;
    let mut seen = held.len();
    while !held.is_empty() {
        assert!(held.len() <= 600);
        let done = queue.complete_and_lease(&held, 1000, at_once()).await.unwrap();
        assert!(done.completed.iter().all(|done| *done));
        held = done.leases;
        seen += held.len();
    }
    assert_eq!(seen, 3_000);
    assert_sound(&queue).await;
}

async fn a_thousand_places_of_one_key(bench: &Bench) {
    let queue = bench.queue().await;
    limit(&queue, 1_000).await;
    add(&queue, (0..2_500).map(|i| keyed(i.to_string(), "k"))).await;
    let (mut current, mut seen) = (leases(&queue, 1_000).await, Vec::new());
    while !current.is_empty() {
        assert!(seen.len() == 2_000 || current.len() == 1_000);
        assert!(got(&queue).await.is_empty(), "all others are held");
        assert_eq!(of_key(&queue, "k").await, (current.len() as u64, 1_000));
        seen.extend(ids(&current));
        let completed = queue.complete_many(&current).await.unwrap();
        assert!(completed.into_iter().all(|completed| completed));
        current = leases(&queue, 1_000).await;
    }
    assert_eq!(seen, (0..2_500).map(|i| i.to_string()).collect::<Vec<_>>());
    assert_sound(&queue).await;
}

async fn one_full_key_in_front_of_others(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, (0..5_000).map(|i| keyed(i.to_string(), "full"))).await;
    add(&queue, ["a", "b"].map(|id| keyed(id, id))).await;
    assert_eq!(take(&queue).await.id(), b"0");
    assert_eq!(take(&queue).await.id(), b"a");
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.held), (1, 4_999));
    assert_eq!(take(&queue).await.id(), b"b");
    assert_sound(&queue).await;
}

on_every_engine!(
    no_more_than_the_limit,
    keys_are_bytes,
    every_end_of_a_lease_frees_its_place,
    an_item_that_comes_back_to_the_front_is_first,
    a_line_moves_when_what_came_back_before_it_is_gone,
    limits_are_set_and_shown,
    a_lower_limit_takes_no_lease_away,
    many_at_once,
    a_thousand_places_of_one_key,
    one_full_key_in_front_of_others,
);
