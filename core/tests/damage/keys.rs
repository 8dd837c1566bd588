//! Damage of what Redis keeps for keys.

use std::collections::BTreeSet;

use leaseq::{Damage, State};

use crate::damage::Hurt;
use crate::support::redis::Redis;
use crate::support::*;

type Harm = fn(&mut Hurt);

/// `a1` is leased, `a2` and `a3` are held, `b1` is ready; `c1` is held, and its key is open.
const HARMS: &[(&str, Harm)] = &[
    ("places are gone", |q| drop(q.run("UNLINK", "places", &[]))),
    ("places that cannot be read", |q| drop(q.run("HSET", "places", &["a", "?", "z", "9 x x"]))),
    ("a place of an item that is not leased", |q| drop(q.run("HSET", "places", &["b", " none"]))),
    ("lines are gone", |q| drop(q.run("UNLINK", "lines", &[]))),
    ("lines without flags", |q| drop(q.run("HDEL", "places", &["c"]))),
    ("no key is open", |q| drop(q.run("UNLINK", "open", &[]))),
    ("limits that cannot be read", |q| drop(q.run("HSET", "key_limits", &["a", "x", "b", "0"]))),
    ("a rank that cannot be", |q| {
        let number = q.number("a2");
        q.run("ZADD", "held", &["+inf", &number]);
    }),
    ("an item is held without a key", |q| {
        let number = q.number("plain");
        q.run("ZADD", "held", &["5", &number]);
        q.drop_from("ready", "plain");
    }),
    ("nobody knows that items have keys", |q| drop(q.run("HDEL", "meta", &["keyed"]))),
];

#[tokio::test]
async fn every_harm_is_found_and_mended() {
    for (name, harm) in HARMS {
        let redis = Redis::start();
        let mut raw = redis.server().connection();
        let bench = Bench::new(redis);
        let queue = bench.queue().await;
        let add = async |ids: &[&str]| {
            let keyed = ids.iter().map(|id| item(id).key(&id[..1]));
            assert!(queue.add_items(keyed).await.unwrap().into_iter().all(|added| added));
        };
        add(&["c0", "c1"]).await;
        let c0 = queue.lease_many(10, at_once()).await.unwrap();
        add(&["a1", "a2", "a3"]).await;
        let a1 = queue.lease_many(10, at_once()).await.unwrap();
        assert_eq!((ids(&c0), ids(&a1)), (vec!["c0".to_owned()], vec!["a1".to_owned()]));
        assert!(queue.complete(&c0[0]).await.unwrap());
        add(&["b1"]).await;
        queue.add_item(item("plain")).await.unwrap();
        assert_sound(&queue).await;

        harm(&mut Hurt { raw: &mut raw, queue: "jobs" });
        let before = bench.backend().dump();
        let checked = queue.check().await.unwrap();
        assert!(bench.backend().dump() == before, "{name}: a check changes nothing");
        assert!(!checked.is_sound(), "{name}");
        let cleaned = queue.deep_clean().await.unwrap();
        assert_eq!(cleaned.found, cleaned.mended, "{name}");
        let known = [Damage::BadKey, Damage::BadCount, Damage::Stray];
        assert!(cleaned.found.keys().all(|found| known.contains(found)), "{name}: {cleaned:?}");
        let again = queue.deep_clean().await.unwrap();
        assert!(again.is_sound(), "{name}: a second clean finds {:?}", again.details);

        let first = queue.lease_many(10, at_once()).await.unwrap();
        let found: BTreeSet<String> = ids(&first).into_iter().collect();
        assert_eq!(found, ["b1", "c1", "plain"].map(str::to_owned).into(), "{name}");
        assert!(queue.complete_many(a1.iter().chain(&first)).await.unwrap().iter().all(|d| *d));
        for _ in 0..2 {
            let next = queue.lease_many(10, at_once()).await.unwrap();
            assert_eq!(next.len(), 1, "{name}: one at a time");
            assert!(queue.complete(&next[0]).await.unwrap());
        }
        assert_eq!(list_all(&queue, State::Held, 10).await.len(), 0, "{name}");
        assert_sound(&queue).await;
    }
}
