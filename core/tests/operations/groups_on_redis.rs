//! Groups on Redis: reports that are late or sent again, and damage.

use std::collections::BTreeMap;

use ::redis::{Commands, Connection};
use leaseq::{DropOptions, ErrorKind, FailOptions, FollowUp, Group, NewGroup, On, WorkQueue};

use crate::support::redis::Redis;
use crate::support::*;

struct Stage {
    bench: Bench,
    raw: Connection,
    home: WorkQueue,
    far: WorkQueue,
    group: Group,
}

impl Stage {
    /// A group in `home` with the members `a` and `b` in `far`, which is leased.
    async fn new() -> Stage {
        let redis = Redis::start();
        let raw = redis.server().connection();
        let bench = Bench::new(redis);
        let client = bench.client().await;
        let [home, far] = ["home", "far"].map(|name| client.queue(name).unwrap());
        let next = FollowUp::new(On::Ended, item("next"));
        let group = home.create_group(NewGroup::new("g").follow_up(next)).await.unwrap();
        for (place, id) in [(0, "a"), (1, "b")] {
            assert!(far.add_item(item(id).in_group(&group, place)).await.unwrap());
        }
        assert!(home.seal_group(&group, 2).await.unwrap());
        Stage { bench, raw, home, far, group }
    }

    /// Whether `home` takes reports, and not only those of this version.
    fn set_reachable(&mut self, reachable: bool) {
        let format = if reachable { "2+1" } else { "9" };
        self.raw.hset::<_, _, _, ()>("leaseq:{home}:meta", "format", format).unwrap();
    }

    /// Everything that the outbox of `far` has, as if a client had read it.
    fn stored(&mut self) -> (Vec<String>, BTreeMap<String, Vec<u8>>) {
        let entries = self.raw.zrange("leaseq:{far}:outbox", 0, -1).unwrap();
        (entries, self.raw.hgetall("leaseq:{far}:outgoing").unwrap())
    }

    /// As if a late client brought it back, and forwarded it.
    async fn send(&mut self, (entries, packed): &(Vec<String>, BTreeMap<String, Vec<u8>>)) {
        let entries: Vec<(i64, &String)> = entries.iter().map(|entry| (0, entry)).collect();
        let packed: Vec<_> = packed.iter().collect();
        self.raw.zadd_multiple::<_, _, _, ()>("leaseq:{far}:outbox", &entries).unwrap();
        self.raw.hset_multiple::<_, _, _, ()>("leaseq:{far}:outgoing", &packed).unwrap();
        let client = self.bench.client().await;
        client.queue("far").unwrap().light_clean().await.unwrap();
        assert_eq!(self.stored().0.len(), 0, "they are delivered");
    }

    /// Of two members, `a` dies and is requeued. Returns the report of its death.
    async fn requeue_one(&mut self) -> (Vec<String>, BTreeMap<String, Vec<u8>>) {
        self.set_reachable(false);
        let lease = take(&self.far).await;
        self.far.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
        let death = self.stored();
        assert_eq!(death.0.len(), 1);
        self.set_reachable(true);
        self.send(&death).await;
        assert_eq!(self.ended().await, 1);
        assert_eq!(self.far.requeue(["a"]).await.unwrap(), [true]);
        let client = self.bench.client().await;
        client.queue("far").unwrap().light_clean().await.unwrap();
        assert_eq!(self.ended().await, 0);
        death
    }

    async fn ended(&self) -> u32 {
        self.home.group("g").await.unwrap().unwrap().ended
    }

    async fn assert_ends_once(&self) {
        for lease in self.far.lease_many(2, at_once()).await.unwrap() {
            assert_eq!(drain(&self.home).await, [""; 0]);
            assert!(self.far.complete(&lease).await.unwrap());
        }
        let client = self.bench.client().await;
        client.queue("far").unwrap().light_clean().await.unwrap();
        assert_eq!(drain(&self.home).await, ["next"]);
        assert_sound(&self.home).await;
        assert_sound(&self.far).await;
    }
}

#[tokio::test]
async fn reports_that_come_again_fill_nothing() {
    let mut stage = Stage::new().await;
    let death = stage.requeue_one().await;
    stage.send(&death).await;
    assert_eq!(stage.ended().await, 0);
    stage.assert_ends_once().await;
}

/// As when the step that has filled the place stopped before it wrote the lane.
#[tokio::test]
async fn reports_that_come_again_are_known_without_their_lane() {
    let mut stage = Stage::new().await;
    let death = stage.requeue_one().await;
    let lanes: Vec<String> = stage.raw.hkeys("leaseq:{home}:forward_lanes").unwrap();
    assert_eq!(lanes.len(), 1);
    stage.raw.hdel::<_, _, ()>("leaseq:{home}:forward_lanes", &lanes).unwrap();
    stage.send(&death).await;
    assert_eq!(stage.ended().await, 0);
    stage.assert_ends_once().await;
}

#[tokio::test]
async fn what_belongs_to_no_group_is_damage() {
    let mut stage = Stage::new().await;
    let generation = stage.group.generation();
    let key = "leaseq:{home}:groups";
    for field in ["P0 1aaaaa g", "P0 1aaaaa other", "?"] {
        stage.raw.hset::<_, _, _, ()>(key, field, "cc").unwrap();
        assert!(!stage.home.check().await.unwrap().is_sound(), "{field}");
        stage.home.deep_clean().await.unwrap();
        assert_sound(&stage.home).await;
        assert_eq!(stage.raw.hexists(key, field), Ok(false));
    }
    // What cannot be read is open, and a report that cannot be read is dropped.
    let field = format!("P0 {generation} g");
    stage.raw.hset::<_, _, _, ()>(key, field, "??").unwrap();
    assert_sound(&stage.home).await;
    stage.raw.del::<_, ()>("leaseq:{home}:groups").unwrap();
    stage.raw.set::<_, _, ()>("leaseq:{home}:groups", "no hash").unwrap();
    assert!(!stage.home.check().await.unwrap().is_sound());
}

#[tokio::test]
async fn members_that_are_not_listed_are_damage() {
    let mut stage = Stage::new().await;
    let key = "leaseq:{far}:members";
    let listed: Vec<Vec<u8>> = stage.raw.zrange(key, 0, -1).unwrap();
    assert_eq!(listed.len(), 2);
    stage.raw.zrem::<_, _, ()>(key, &listed[0]).unwrap();
    stage.raw.zadd::<_, _, _, ()>(key, "home 1aaaaa no name at all", 0).unwrap();
    stage.raw.hset::<_, _, _, ()>("leaseq:{far}:groups", "Jhome 1aaaaa", "?").unwrap();
    assert!(!stage.far.check().await.unwrap().is_sound());
    stage.far.deep_clean().await.unwrap();
    assert_sound(&stage.far).await;
    assert_eq!(stage.raw.zrange::<_, Vec<Vec<u8>>>(key, 0, -1).unwrap(), listed);
    assert!(stage.home.cancel_group(&stage.group).await.unwrap());
    assert_eq!(stage.ended().await, 2);
    assert_eq!(stage.raw.exists(key), Ok(false));
    assert_sound(&stage.far).await;
}

#[tokio::test]
async fn a_note_that_cannot_be_read_is_dropped() {
    let mut stage = Stage::new().await;
    let sweeps = ["0s", "0shome", "0shome 1aaaaa ", "0t", "0thome \0", "0tno queue"];
    let ends = ["", "5", "5l", "5p", "5p:", "5p1aaaaa", "5p1aaaaa 2aaaaa:\u{4}no name", "5p :"];
    let many =
        format!("5p{}:{}", "1aaaaa ".repeat(9_000), "\u{4}\0\0\0\u{1}no name at".repeat(9_000));
    for note in [&sweeps[..], &ends, &[&many]].concat() {
        stage.raw.rpush::<_, _, ()>("leaseq:{far}:deferred", note).unwrap();
    }
    for _ in 0..16 {
        stage.far.light_clean().await.unwrap();
    }
    assert_eq!(stage.raw.exists("leaseq:{far}:deferred"), Ok(false));
    assert_eq!(stage.stored().0.len(), 0);
    assert_sound(&stage.far).await;
    stage.assert_ends_once().await;
}

#[tokio::test]
async fn a_queue_that_has_refused_a_member_is_not_dropped_before_it_has_told_that() {
    let mut stage = Stage::new().await;
    let third = stage.bench.client().await.queue("third").unwrap();
    let never = FollowUp::new(On::Ended, item("never").queue("home"));
    assert!(third.add_item(item("x").follow_up(never)).await.unwrap());
    stage.set_reachable(false);
    assert!(!third.add_item(item("x").in_group(&stage.group, 1)).await.unwrap());
    let error = third.drop_queue_with(DropOptions::new().force()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("it has ends of members of groups to report"), "{error}");
    stage.set_reachable(true);
    let third = stage.bench.client().await.queue("third").unwrap();
    assert!(third.drop_queue_with(DropOptions::new().force()).await.unwrap());
    assert_eq!(stage.ended().await, 1);
    // It has had no member, so its items are gone without an end.
    assert_eq!(stage.home.counts().await.unwrap().ready, 0);
}
