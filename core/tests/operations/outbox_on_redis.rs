//! The outbox on Redis: whatever is late, sent again or dropped in between, and whoever cannot deliver.

use std::time::Duration;

use ::redis::{Commands, Connection};
use leaseq::{Client, DropOptions, ErrorKind, FollowUp, Item, On, WorkQueue};

use crate::support::redis::Redis;
use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

struct Stage {
    bench: Bench,
    raw: Connection,
    client: Client,
    jobs: WorkQueue,
}

impl Stage {
    async fn new() -> Stage {
        let redis = Redis::start();
        let raw = redis.server().connection();
        let bench = Bench::new(redis);
        let client = bench.client().await;
        let jobs = client.queue("jobs").unwrap();
        Stage { bench, raw, client, jobs }
    }

    fn queue(&self, name: &str) -> WorkQueue {
        self.client.queue(name).unwrap()
    }

    /// An item whose end adds this one to that queue, leased and completed.
    async fn complete_one(&self, id: &str, target: &str) {
        self.jobs.add_item(then(id, target)).await.unwrap();
        assert!(self.jobs.complete(&take(&self.jobs).await).await.unwrap());
    }

    fn outbox(&mut self) -> Vec<String> {
        self.raw.zrange("leaseq:{jobs}:outbox", 0, -1).unwrap()
    }

    /// Everything that the outbox has, as if a client had read it.
    fn stored(&mut self) -> (Vec<String>, Vec<(String, Vec<u8>)>) {
        (self.outbox(), self.raw.hgetall("leaseq:{jobs}:outgoing").unwrap())
    }

    /// As if a late client or a failover had brought it back.
    fn restore(&mut self, (entries, packed): &(Vec<String>, Vec<(String, Vec<u8>)>)) {
        let entries: Vec<(i64, &String)> = entries.iter().map(|entry| (0, entry)).collect();
        self.raw.zadd_multiple::<_, _, _, ()>("leaseq:{jobs}:outbox", &entries).unwrap();
        self.raw.hset_multiple::<_, _, _, ()>("leaseq:{jobs}:outgoing", packed).unwrap();
    }
}

fn then(id: &str, target: &str) -> Item {
    let follow_up = item(format!("{id}-then")).queue(target);
    item(id).follow_up(FollowUp::new(On::Ended, follow_up))
}

/// Makes the target's key unusable, so that nothing can be added there.
fn break_queue(raw: &mut Connection, name: &str) {
    raw.set::<_, _, ()>(format!("leaseq:{{{name}}}:forward_lanes"), "no hash").unwrap();
}

fn mend_queue(raw: &mut Connection, name: &str) {
    raw.del::<_, ()>(format!("leaseq:{{{name}}}:forward_lanes")).unwrap();
}

#[tokio::test]
async fn what_is_sent_again_adds_nothing() {
    let mut stage = Stage::new().await;
    let mail = stage.queue("mail");
    break_queue(&mut stage.raw, "mail");
    for id in ["b", "c"] {
        stage.complete_one(id, "mail").await;
    }
    let entries = stage.stored();
    assert_eq!(entries.0.len(), 2);
    // This client waits with that queue; another one does not.
    mend_queue(&mut stage.raw, "mail");
    let other = stage.bench.queue().await;
    other.light_clean().await.unwrap();
    assert!(stage.outbox().is_empty());
    assert_eq!(drain(&mail).await, ["b-then", "c-then"]);
    for dropped in [false, true, false] {
        mail.purge(leaseq::State::Leased).await.unwrap();
        if dropped {
            assert!(mail.drop_queue().await.unwrap());
        }
        stage.restore(&entries);
        stage.bench.queue().await.light_clean().await.unwrap();
        assert!(stage.outbox().is_empty());
        assert_eq!(mail.queue_len().await.unwrap(), 0);
        stage.complete_one("new", "mail").await;
        // The first client still waits with that queue.
        stage.bench.queue().await.light_clean().await.unwrap();
        assert_eq!(drain(&mail).await, ["new-then"]);
    }
}

#[tokio::test]
async fn the_lane_of_a_queue_that_is_gone_is_swept_and_forgotten() {
    let mut stage = Stage::new().await;
    let mail = stage.queue("mail");
    stage.complete_one("a", "mail").await;
    let lanes = |stage: &mut Stage| -> Vec<String> {
        let mut found: Vec<String> = stage.raw.hkeys("leaseq:{mail}:forward_lanes").unwrap();
        found.sort();
        found
    };
    let first = lanes(&mut stage);
    assert!(first.len() == 1 && first[0].starts_with("jobs "), "{first:?}");
    // Its queue exists, so it stays however idle it is.
    stage.bench.advance(2 * HOUR);
    mail.deep_clean().await.unwrap();
    assert_eq!(lanes(&mut stage), first);
    assert!(stage.jobs.drop_queue().await.unwrap());
    stage.jobs.add_item(item("x")).await.unwrap();
    mail.deep_clean().await.unwrap();
    assert_eq!(lanes(&mut stage), ["forgotten"]);
    // A queue whose entries are older than what was forgotten gives them other numbers.
    let forgotten: u64 = stage.raw.hget("leaseq:{mail}:forward_lanes", "forgotten").unwrap();
    let other = stage.queue("other");
    let far = forgotten + 1_000_000;
    stage.raw.hset::<_, _, _, ()>("leaseq:{mail}:forward_lanes", "forgotten", far).unwrap();
    for n in 0..3 {
        other.add_item(then(&n.to_string(), "mail")).await.unwrap();
    }
    let leases = other.lease_many(3, at_once()).await.unwrap();
    other.complete_many(&leases).await.unwrap();
    assert_eq!(drain(&mail).await, ["a-then", "0-then", "1-then", "2-then"]);
    assert_sound(&other).await;
    assert_sound(&mail).await;
}

#[tokio::test]
async fn a_queue_that_accepts_nothing_holds_up_no_other() {
    let mut stage = Stage::new().await;
    stage.queue("a-blocked").add_item(item("x")).await.unwrap();
    break_queue(&mut stage.raw, "a-blocked");
    for n in 0..300 {
        stage.jobs.add_item(then(&format!("blocked-{n}"), "a-blocked")).await.unwrap();
    }
    stage.jobs.add_item(then("fine", "mail")).await.unwrap();
    let leases = stage.jobs.lease_many(1_000, at_once()).await.unwrap();
    assert!(stage.jobs.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    assert_eq!(drain(&stage.queue("mail")).await, ["fine-then"]);
    assert_eq!(stage.outbox().len(), 300);
    // Nothing is lost by a drop.
    let error = stage.jobs.drop_queue().await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
    assert!(error.to_string().contains("follow-ups"), "{error}");
    // Others try again, and a cleaner is enough.
    mend_queue(&mut stage.raw, "a-blocked");
    let cleaner = stage.bench.queue().await;
    assert!(cleaner.wait_until_due(HOUR).await.unwrap());
    cleaner.light_clean().await.unwrap();
    assert_eq!(stage.queue("a-blocked").queue_len().await.unwrap(), 301);
    assert!(stage.outbox().is_empty());
    assert_sound(&stage.jobs).await;
    // A forced drop loses what is left.
    break_queue(&mut stage.raw, "a-blocked");
    stage.complete_one("last", "a-blocked").await;
    assert!(stage.jobs.drop_queue_with(DropOptions::new().force()).await.unwrap());
    assert!(stage.outbox().is_empty());
    mend_queue(&mut stage.raw, "a-blocked");
    assert_eq!(stage.queue("a-blocked").queue_len().await.unwrap(), 301);
}

#[tokio::test]
async fn entries_larger_than_a_forward_go_one_by_one() {
    let stage = Stage::new().await;
    let large = |n: u8| Item::new(vec![n; 3 << 20]).with_id([n]).queue("mail");
    stage.jobs.add_item(item("a")).await.unwrap();
    let options = leaseq::CompleteOptions::new().add_items((0..4).map(large));
    assert!(stage.jobs.complete_with(&take(&stage.jobs).await, options).await.unwrap());
    let leases = stage.queue("mail").lease_many(4, at_once()).await.unwrap();
    let data: Vec<u8> = leases.iter().map(|lease| lease.data()[0]).collect();
    assert_eq!(data, [0, 1, 2, 3]);
    assert_sound(&stage.queue("mail")).await;
}

#[tokio::test]
async fn damaged_entries_are_dropped() {
    let mut stage = Stage::new().await;
    break_queue(&mut stage.raw, "mail");
    for id in ["a", "b", "c"] {
        stage.complete_one(id, "mail").await;
    }
    mend_queue(&mut stage.raw, "mail");
    let entries = stage.outbox();
    let raw = &mut stage.raw;
    raw.hset::<_, _, _, ()>("leaseq:{jobs}:outgoing", &entries[0], "garbage").unwrap();
    raw.hdel::<_, _, ()>("leaseq:{jobs}:outgoing", &entries[1]).unwrap();
    for damaged in ["", "mail", "mail 1 2", "mail zzzzzzzzzzz_____ x", "\u{1} a b"] {
        raw.zadd::<_, _, _, ()>("leaseq:{jobs}:outbox", damaged, 0).unwrap();
    }
    stage.bench.queue().await.light_clean().await.unwrap();
    assert_eq!(drain(&stage.queue("mail")).await, ["c-then"]);
    stage.jobs.deep_clean().await.unwrap();
    assert!(stage.outbox().is_empty(), "{:?}", stage.outbox());
    assert_eq!(stage.raw.hlen("leaseq:{jobs}:outgoing"), Ok(0));
    assert_sound(&stage.jobs).await;
}
