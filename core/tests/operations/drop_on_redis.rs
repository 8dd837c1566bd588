//! What remains of a queue on Redis that was dropped, or never created.

use std::collections::BTreeSet;
use std::time::Duration;

use ::redis::{Commands, Connection, cmd};
use leaseq::{Client, LeaseOptions};

use crate::support::redis::{Redis, fail_after, has_failed};
use crate::support::*;

const LIST: &str = "leaseq:queues";
const DAY_MS: i64 = 86_400_000;

/// Keys of the queue that do not expire.
fn lasting(raw: &mut Connection) -> BTreeSet<String> {
    let keys: Vec<String> = raw.keys("leaseq:{*").unwrap();
    let mut lasting = BTreeSet::new();
    for key in keys {
        let left: i64 = cmd("PTTL").arg(&key).query(raw).unwrap();
        assert!(left <= DAY_MS, "{key}");
        if left < 0 {
            lasting.insert(key);
        }
    }
    lasting
}

async fn use_it_all(client: &Client) {
    let queue = client.queue("jobs").unwrap();
    assert!(queue.lease(LeaseOptions::new(secs(1)).wait(ms(10))).await.unwrap().is_none());
    queue.light_clean().await.unwrap();
    queue.wait_until_due(ms(5)).await.unwrap();
    queue.deep_clean_if_due(secs(1)).await.unwrap();
    queue.deep_clean().await.unwrap();
    queue.remove("x").await.unwrap();
    queue.requeue(["x"]).await.unwrap();
    queue.purge(leaseq::State::Ready).await.unwrap();
    queue.resume().await.unwrap();
    queue.counts().await.unwrap();
}

#[tokio::test]
async fn remaining_keys_expire() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let client = Client::connect(&redis.server().url()).await.unwrap();
    let queue = client.queue("jobs").unwrap();
    for _ in 0..2 {
        use_it_all(&client).await;
        assert_eq!(lasting(&mut raw), BTreeSet::new());
        queue.drop_queue().await.unwrap();
        assert_eq!(lasting(&mut raw), BTreeSet::new());
        // Existing keys become part of the queue.
        queue.add_item(item("a").delay(secs(60))).await.unwrap();
        for key in ["lanes", "meta", "items"] {
            let key = format!("leaseq:{{jobs}}:{key}");
            assert_eq!(cmd("PTTL").arg(&key).query::<i64>(&mut raw).unwrap(), -1, "{key}");
        }
        use_it_all(&client).await;
        assert!(queue.drop_queue().await.unwrap());
        assert_eq!(lasting(&mut raw), BTreeSet::new());
        let kept: Vec<String> = raw.hkeys("leaseq:{jobs}:meta").unwrap();
        assert!(kept.iter().all(|field| ["waiting", "watched"].contains(&&field[..])), "{kept:?}");
        queue.pause().await.unwrap();
        assert!(lasting(&mut raw).contains("leaseq:{jobs}:meta"));
        assert!(lasting(&mut raw).contains("leaseq:{jobs}:lanes"));
        assert!(queue.drop_queue().await.unwrap());
    }
    assert!(!raw.exists::<_, bool>(LIST).unwrap());
}

/// The queue is gone, but its name is still on the list.
#[tokio::test]
async fn a_leftover_name_is_removed_by_the_next_client() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let url = redis.server().url();
    for deep in [false, true] {
        let client = Client::connect(&url).await.unwrap();
        let queue = client.queue("jobs").unwrap();
        queue.add_item(item("a")).await.unwrap();
        let keys: Vec<String> = raw.keys("leaseq:{jobs}:*").unwrap();
        raw.unlink::<_, ()>(keys).unwrap();
        assert_eq!(client.queues().await.unwrap(), ["jobs"]);
        if deep {
            queue.deep_clean().await.unwrap();
        } else {
            let other = Client::connect(&url).await.unwrap();
            other.queue("jobs").unwrap().light_clean().await.unwrap();
        }
        assert!(client.queues().await.unwrap().is_empty());
        // The queue has a new incarnation.
        queue.add_item(item("a")).await.unwrap();
        raw.hset::<_, _, _, ()>(LIST, "jobs", "7salt0").unwrap();
        let other = Client::connect(&url).await.unwrap();
        other.queue("jobs").unwrap().light_clean().await.unwrap();
        let listed: String = raw.hget(LIST, "jobs").unwrap();
        let is: String = raw.hget("leaseq:{jobs}:meta", "incarnation").unwrap();
        assert_eq!(listed, is);
        assert!(queue.drop_queue().await.unwrap());
        assert!(client.queues().await.unwrap().is_empty());
    }
}

/// Items of the queue remain, so a deep clean needs its name.
#[tokio::test]
async fn a_queue_that_has_lost_its_incarnation_stays_on_the_list_and_gets_another() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let url = redis.server().url();
    let first = Client::connect(&url).await.unwrap();
    first.queue("jobs").unwrap().add_items(["a", "b"].map(item)).await.unwrap();
    raw.unlink::<_, ()>("leaseq:{jobs}:meta").unwrap();
    let client = Client::connect(&url).await.unwrap();
    let queue = client.queue("jobs").unwrap();
    queue.wait_until_due(ms(1)).await.unwrap();
    assert_eq!(client.queues().await.unwrap(), ["jobs"]);
    assert!(!queue.deep_clean().await.unwrap().is_sound());
    assert_sound(&queue).await;
    let listed: String = raw.hget(LIST, "jobs").unwrap();
    let is: String = raw.hget("leaseq:{jobs}:meta", "incarnation").unwrap();
    assert_eq!(listed, is);
    assert!(lasting(&mut raw).contains("leaseq:{jobs}:meta"));
    assert_eq!(drain(&queue).await, ["a", "b"]);
    // A queue without an incarnation can be dropped too.
    raw.unlink::<_, ()>("leaseq:{jobs}:meta").unwrap();
    assert!(queue.drop_queue().await.unwrap());
    assert!(client.queues().await.unwrap().is_empty());
    assert_eq!(lasting(&mut raw), BTreeSet::new());
}

/// A late request names an old incarnation.
#[tokio::test]
async fn a_late_request_does_not_touch_a_newer_queue() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let client = Client::connect(&redis.server().url()).await.unwrap();
    let queue = client.queue("jobs").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let old: String = raw.hget("leaseq:{jobs}:meta", "incarnation").unwrap();
    assert!(queue.drop_queue().await.unwrap());
    queue.add_item(item("b")).await.unwrap();
    let text = leaseq::testing::scripts().iter().find(|(name, _)| *name == "drop").unwrap().1;
    let mut keys: Vec<String> = ["lanes", "meta", "items", "ids", "leased", "details", "wake"]
        .into_iter()
        .chain(["delayed", "dead", "due", "ready"])
        .map(|key| format!("leaseq:{{jobs}}:{key}"))
        .collect();
    keys.extend((1..10).map(|p| format!("leaseq:{{jobs}}:ready:{p}")));
    for incarnation in [&old[..], "", "1salt0"] {
        let mut late = cmd("EVAL");
        late.arg(text).arg(20).arg(&keys).arg(incarnation);
        assert_eq!(late.query::<i64>(&mut raw).unwrap(), 0);
    }
    assert_eq!(drain(&queue).await, ["b"]);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn a_drop_that_is_stopped_half_way_can_be_repeated() {
    let redis = Redis::start_failing();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let client = bench.client().await;
    for script in ["drop", "register"] {
        for calls in 1.. {
            let queue = client.queue(&format!("{script}-{calls}")).unwrap();
            one_of_each_state(&queue).await;
            queue.lease(LeaseOptions::new(secs(9)).wait(ms(1))).await.unwrap();
            fail_after(&mut raw, script, calls);
            let first = queue.drop_queue().await;
            if !has_failed(&mut raw, script) {
                assert!(first.unwrap());
                break;
            }
            // The queue is gone even if its name remains.
            assert_eq!(first.ok(), (script == "register").then_some(true));
            queue.drop_queue().await.unwrap();
            let (counts, items) = seen(&queue).await;
            assert_eq!((counts, items.len()), (leaseq::Counts::default(), 0));
            assert_sound(&queue).await;
            assert!(client.queues().await.unwrap().is_empty());
            assert!(queue.add_item(item("ready")).await.unwrap());
            assert!(queue.drop_queue().await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_user_without_the_right_to_drop_gets_an_error_and_nothing_begins() {
    let redis = Redis::start();
    let server = redis.server();
    let admin = Client::connect(&server.url()).await.unwrap().queue("jobs").unwrap();
    admin.add_item(item("a")).await.unwrap();
    server.cli(&["ACL", "SETUSER", "some", "on", ">pw", "~leaseq:*", "+@all", "-unlink"]);
    let url = format!("redis://some:pw@127.0.0.1:{}/?timeout_ms=60000", server.port());
    let queue = Client::connect(&url).await.unwrap().queue("jobs").unwrap();
    let error = queue.drop_queue().await.unwrap_err();
    assert_eq!(error.kind(), leaseq::ErrorKind::Invalid);
    assert!(error.to_string().contains("+unlink"), "{error}");
    assert_eq!(drain(&admin).await, ["a"]);
}

/// The whole queue is deleted in one short step, however long it is.
#[tokio::test]
async fn the_server_frees_a_large_queue_in_the_background() {
    let redis = Redis::start();
    let client = Client::connect(&redis.server().url()).await.unwrap();
    let queue = client.queue("jobs").unwrap();
    for from in (0..100_000).step_by(10_000) {
        queue.add_items((from..from + 10_000).map(|i| item(format!("{i}")))).await.unwrap();
    }
    let mut best = Duration::MAX;
    redis.server().cli(&["CONFIG", "RESETSTAT"]);
    assert!(queue.drop_queue().await.unwrap());
    let stats = redis.server().cli(&["INFO", "commandstats"]);
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_unlink:")).unwrap();
    let usec = line.split(',').find_map(|part| part.strip_prefix("usec=")).unwrap();
    best = best.min(Duration::from_micros(usec.parse().unwrap()));
    // Freeing it at once would take 20 ms or more.
    assert!(best < ms(10), "{best:?}");
}

#[tokio::test]
async fn a_queue_can_be_dropped_if_the_list_cannot_be_written() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let client = Client::connect(&redis.server().url()).await.unwrap();
    let queue = client.queue("jobs").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let _: () = raw.set(LIST, "something else").unwrap();
    assert!(queue.drop_queue().await.unwrap());
    assert_eq!(queue.counts().await.unwrap().totals.added, 0);
    assert_eq!(lasting(&mut raw), BTreeSet::new());
}
