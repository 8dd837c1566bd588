//! Target 1: what a full cycle costs the server, beside raw commands that move the same data.
//!
//! Raw is what a program without scripts sends: HSET, LPUSH / LMPOP, HMGET, ZADD / ZREM, HDEL for
//! each item, pipelined by 100. Scripts that do no more than our commands ([`bare`](mod@crate::bare))
//! show what an atomic step costs by itself. One raw command for a whole batch is shown as well: it is
//! the floor, for a queue that keeps no ids apart, gives no token and no answer for each item.

use redis::{Pipeline, Value, cmd};

use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, DATA, RAW, Setup, at_once, batch, median};
use crate::{Scale, bare};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let cycles = (scale.batches * BATCH) as f64;
    let mut ratios = Vec::new();
    let (mut floor_ratios, mut bare_ratios, mut bare_shares) = (vec![], vec![], vec![]);
    let (mut add, mut lease, mut complete, mut raws) = (vec![], vec![], vec![], vec![]);
    for round in 0..scale.rounds {
        let [a, l, c] = ours(&setup, round, scale).await.map(|usec| usec / cycles);
        let raw = raw(&setup, scale) / cycles;
        let floor = raw_floor(&setup, scale) / cycles;
        ratios.push((a + l + c) / raw);
        let bare = bare::measure(&setup, scale) / cycles;
        floor_ratios.push((a + l + c) / floor);
        bare_ratios.push((a + l + c) / bare);
        bare_shares.push(bare / raw);
        add.push(a);
        lease.push(l);
        complete.push(c);
        raws.push(raw);
    }
    let note = format!(
        "add {:.2} + lease {:.2} + complete {:.2} µs, raw {:.2} µs; INFO commandstats",
        median(add),
        median(lease),
        median(complete),
        median(raws)
    );
    report.scene(Scene::redis(format!("batches of {BATCH}")));
    let what = "server time per cycle / raw commands, pipelined";
    report.target("1", what, median(ratios), "×", (Bound::AtMost, 1.3), note);
    let what = "server time per cycle / one raw command per batch";
    report.info("1", what, median(floor_ratios), "×", "the floor: no ids, tokens or answers");
    let what = "server time per cycle / the same commands in bare scripts";
    let note = format!("bare scripts / raw commands {:.2} ×", median(bare_shares));
    report.info("1", what, median(bare_ratios), "×", note);
}

async fn ours(setup: &Setup, round: usize, scale: Scale) -> [f64; 3] {
    let queue = setup.queue(&format!("cycle-{round}"));
    let batches: Vec<_> = (0..scale.batches).map(|_| batch()).collect();
    setup.reset_stats();
    for items in batches {
        queue.add_items(items).await.unwrap();
    }
    let add = setup.usec(&["evalsha", "eval"]);
    setup.reset_stats();
    let mut leased = Vec::new();
    for _ in 0..scale.batches {
        leased.push(queue.lease_many(BATCH, at_once()).await.unwrap());
    }
    let lease = setup.usec(&["evalsha", "eval"]);
    setup.reset_stats();
    for leases in &leased {
        let completed = queue.complete_many(leases).await.unwrap();
        assert_eq!(completed, [true; BATCH]);
    }
    [add, lease, setup.usec(&["evalsha", "eval"])]
}

fn raw(setup: &Setup, scale: Scale) -> f64 {
    let mut connection = setup.server.connection();
    let ids: Vec<String> =
        (0..scale.batches * BATCH).map(|_| uuid::Uuid::new_v4().to_string()).collect();
    let data = [b'x'; DATA];
    setup.reset_stats();
    for ids in ids.chunks(BATCH) {
        let mut pipeline = Pipeline::new();
        for id in ids {
            pipeline.hset("raw:items", id, &data).lpush("raw:ready", id);
        }
        let _: Vec<Value> = pipeline.query(&mut connection).unwrap();
    }
    for ids in ids.chunks(BATCH) {
        let mut pipeline = Pipeline::new();
        for id in ids {
            pipeline.cmd("LMPOP").arg(1).arg("raw:ready").arg("RIGHT").arg("COUNT").arg(1);
            pipeline.cmd("HMGET").arg("raw:items").arg(id);
            pipeline.zadd("raw:leased", id, 1_795_000_000_000u64);
        }
        let _: Vec<Value> = pipeline.query(&mut connection).unwrap();
    }
    for ids in ids.chunks(BATCH) {
        let mut pipeline = Pipeline::new();
        for id in ids {
            pipeline.zrem("raw:leased", id).hdel("raw:items", id);
        }
        let _: Vec<Value> = pipeline.query(&mut connection).unwrap();
    }
    setup.usec(&RAW)
}

fn raw_floor(setup: &Setup, scale: Scale) -> f64 {
    let mut connection = setup.server.connection();
    let ids: Vec<String> =
        (0..scale.batches * BATCH).map(|_| uuid::Uuid::new_v4().to_string()).collect();
    let data = [b'x'; DATA];
    setup.reset_stats();
    for ids in ids.chunks(BATCH) {
        let mut store = cmd("HSET");
        store.arg("raw:items");
        for id in ids {
            store.arg(id).arg(&data);
        }
        let _: Value = store.query(&mut connection).unwrap();
        let _: Value = cmd("LPUSH").arg("raw:ready").arg(ids).query(&mut connection).unwrap();
    }
    for ids in ids.chunks(BATCH) {
        let mut pop = cmd("LMPOP");
        pop.arg(1).arg("raw:ready").arg("RIGHT").arg("COUNT").arg(BATCH);
        let _: Value = pop.query(&mut connection).unwrap();
        let _: Value = cmd("HMGET").arg("raw:items").arg(ids).query(&mut connection).unwrap();
        let mut lease = cmd("ZADD");
        lease.arg("raw:leased");
        for id in ids {
            lease.arg(1_795_000_000_000u64).arg(id);
        }
        let _: Value = lease.query(&mut connection).unwrap();
    }
    for ids in ids.chunks(BATCH) {
        let _: Value = cmd("ZREM").arg("raw:leased").arg(ids).query(&mut connection).unwrap();
        let _: Value = cmd("HDEL").arg("raw:items").arg(ids).query(&mut connection).unwrap();
    }
    setup.usec(&RAW)
}
