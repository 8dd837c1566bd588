//! Lines and places of keys on Redis that have entries which do not count, because a script has stopped or data is damaged.

use std::time::Duration;

use ::redis::{Commands, Connection};
use leaseq::{SettingsChange, State, WorkQueue};

use super::keys::{add, complete, got, keyed, leases, limit};
use crate::support::redis::Redis;
use crate::support::*;

fn key(name: &str) -> String {
    format!("leaseq:{{jobs}}:{name}")
}

fn number(raw: &mut Connection, id: &str) -> String {
    raw.hget(key("ids"), id).unwrap()
}

struct Stage {
    bench: Bench,
    raw: Connection,
    queue: WorkQueue,
}

async fn stage() -> Stage {
    let redis = Redis::start();
    let raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    Stage { bench, raw, queue }
}

/// The next item, and how many calls of the server it takes until it comes: a client asks again as often as the server says.
async fn next_item(queue: &WorkQueue, raw: &mut Connection) -> (Option<String>, usize) {
    let before = count_scripts(raw);
    let id = ids(&leases(queue, 1).await).pop();
    (id, count_scripts(raw) - before)
}

fn count_scripts(raw: &mut Connection) -> usize {
    let stats: String = ::redis::cmd("INFO").arg("commandstats").query(raw).unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.and_then(|line| line.split(',').next()).map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn entries_that_do_not_count_hold_up_nobody() {
    let Stage { bench: _bench, mut raw, queue } = stage().await;
    add(&queue, ["k0", "k1"].map(|id| keyed(id, "k"))).await;
    let first = leases(&queue, 10).await;
    let stale = (0..20_000).map(|i| (0, format!("\u{1}k{:016}none{i}", 1)));
    for chunk in stale.collect::<Vec<_>>().chunks(1_000) {
        raw.zadd_multiple::<_, _, _, ()>(key("lines"), chunk).unwrap();
    }
    complete(&queue, &first[0]).await;
    add(&queue, [item("ready")]).await;
    let (id, count) = next_item(&queue, &mut raw).await;
    assert_eq!(id.as_deref(), Some("k1"));
    assert!(count <= 25, "{count} calls");
    assert_eq!(raw.zcard::<_, usize>(key("lines")).unwrap(), 0);
    assert_eq!(got(&queue).await, ["ready"]);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn whatever_ends_a_held_item_drops_its_entry() {
    let Stage { bench, mut raw, queue } = stage().await;
    add(&queue, [keyed("0", "k")]).await;
    let first = leases(&queue, 1).await;
    for end in 0..7 {
        let one = keyed("1", "k").retain(if end == 3 { secs(60) } else { Duration::ZERO });
        let one = if end == 6 { one.expires_in(secs(1)) } else { one };
        let large = leaseq::Item::new(vec![0; 50_000]).with_id("2").key("k");
        add(&queue, [one, if end == 6 { large.expires_in(secs(1)) } else { large }]).await;
        assert!(got(&queue).await.is_empty());
        assert_eq!(raw.zcard::<_, usize>(key("lines")).unwrap(), 2);
        match end {
            0 => drop(queue.purge(State::Held).await.unwrap()),
            1 => drop(queue.remove_many(["1", "2"]).await.unwrap()),
            2 | 3 => drop(queue.cancel_many(["1", "2"]).await.unwrap()),
            4 => drop(queue.bury(["1", "2"], "no").await.unwrap()),
            5 => {
                drop(queue.add_items(["1", "2"].map(|id| keyed(id, "k").replace())).await.unwrap())
            }
            _ => {
                bench.advance(secs(1));
                queue.light_clean().await.unwrap();
            }
        }
        assert_eq!(raw.zcard::<_, usize>(key("lines")).unwrap(), 0, "{end}");
        for state in [State::Ready, State::Dead, State::Cancelled] {
            queue.purge(state).await.unwrap();
        }
    }
    complete(&queue, &first[0]).await;
    assert_sound(&queue).await;
}

#[tokio::test]
async fn open_keys_that_are_full_hold_up_nobody() {
    let Stage { bench: _bench, mut raw, queue } = stage().await;
    const KEYS: usize = 1_000;
    add(&queue, (0..2 * KEYS).map(|i| keyed(i.to_string(), (i % KEYS).to_string()))).await;
    while !got(&queue).await.is_empty() {}
    assert_eq!(queue.counts().await.unwrap().held, KEYS as u64);
    add(&queue, [item("ready")]).await;
    queue.set_key_limits((0..KEYS).map(|i| (i.to_string(), Some(1)))).await.unwrap();
    let (id, count) = next_item(&queue, &mut raw).await;
    assert_eq!(id.as_deref(), Some("ready"));
    assert!(count <= 10, "{count} calls");
}

/// Its key is readable, but the item is leased to nobody.
#[tokio::test]
async fn an_unreadable_item_takes_no_place() {
    let Stage { bench: _bench, mut raw, queue } = stage().await;
    add(&queue, [keyed("bad", "k"), keyed("good", "k")]).await;
    let bad = number(&mut raw, "bad");
    let mut record: Vec<u8> = raw.hget(key("items"), &bad).unwrap();
    record[0] |= 0x40; // it has a unique key
    record.truncate(record.len() - 3);
    record.extend([0xff, 0xff]);
    raw.hset::<_, _, _, ()>(key("items"), &bad, record).unwrap();
    assert_eq!(got(&queue).await, ["good"]);
}

/// As if a script had died before it leased the item that has a place.
#[tokio::test]
async fn an_item_that_has_a_place_already_overtakes_nobody() {
    let Stage { bench: _bench, mut raw, queue } = stage().await;
    add(&queue, ["1", "2"].map(|id| keyed(id, "k"))).await;
    assert_eq!(got(&queue).await, ["1"]);
    add(&queue, [keyed("3", "k")]).await;
    let places: String = raw.hget(key("places"), "k").unwrap();
    let places = format!("{places}{} ", number(&mut raw, "3"));
    raw.hset::<_, _, _, ()>(key("places"), "k", places).unwrap();
    queue.set_key_limits([("k", Some(3))]).await.unwrap();
    raw.del::<_, ()>(key("open")).unwrap();
    assert_eq!(ids(&leases(&queue, 1).await), ["2"]);
    assert_eq!(got(&queue).await, ["3"]);
}

#[tokio::test]
async fn a_key_that_was_looked_at_in_vain_stays_open() {
    let Stage { bench, mut raw, queue } = stage().await;
    queue.set_key_limits([("a", Some(3))]).await.unwrap();
    add(&queue, ["a1", "a2", "a3", "b1"].map(|id| keyed(id, &id[..1]))).await;
    let first = leases(&queue, 10).await;
    add(&queue, ["a4", "a5"].map(|id| keyed(id, "a").expires_in(secs(1)))).await;
    add(&queue, [keyed("b2", "b")]).await;
    assert!(got(&queue).await.is_empty());
    complete(&queue, &first[0]).await;
    complete(&queue, &first[1]).await;
    // The end of its lease was lost, but for the lease itself.
    let b1 = number(&mut raw, "b1");
    raw.zrem::<_, _, ()>(key("leased"), b1).unwrap();
    raw.zadd::<_, _, _, ()>(key("open"), "b", 5_600_000_000_000_000u64).unwrap();
    bench.advance(ms(1_001));
    assert_eq!(ids(&leases(&queue, 2).await), ["b2"]);
}

#[tokio::test]
async fn removing_an_item_with_unreadable_details_opens_its_key() {
    let Stage { bench: _bench, mut raw, queue } = stage().await;
    add(&queue, [keyed("1", "k").priority(1), keyed("2", "k")]).await;
    assert_eq!(got(&queue).await, ["1"]);
    let one = number(&mut raw, "1");
    raw.hset::<_, _, _, ()>(key("details"), &one, "damaged").unwrap();
    assert!(queue.remove("1").await.unwrap());
    assert_eq!(got(&queue).await, ["2"]);
}

#[tokio::test]
async fn a_flag_without_a_line_is_no_damage() {
    let Stage { bench: _bench, queue, .. } = stage().await;
    add(&queue, ["1", "2"].map(|id| keyed(id, "k"))).await;
    assert_eq!(got(&queue).await, ["1"]);
    assert_eq!(queue.purge(State::Held).await.unwrap(), 1);
    limit(&queue, 2).await;
    queue.configure(SettingsChange::new().max_attempts(9)).await.unwrap().unwrap();
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
}
