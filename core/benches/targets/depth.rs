//! Target 7: lease and complete with a million items queued, beside a thousand; and what the same depth
//! does to raw commands, one for a whole batch, that move the same data: items that lie in no cache.

use leaseq::WorkQueue;
use redis::{Value, cmd};

use crate::Scale;
use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, DATA, RAW, Setup, at_once, fill, median};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let (shallow, deep) = (setup.queue("shallow"), setup.queue("deep"));
    fill(&deep, scale.deep).await;
    fill_raw(&setup, "deep", scale.deep);
    let (mut ratios, mut more) = (Vec::new(), Vec::new());
    let (mut raw_ratios, mut raw_more) = (Vec::new(), Vec::new());
    for _ in 0..scale.rounds * 3 {
        fill(&shallow, 1_000).await;
        let shallow_usec = drain(&setup, &shallow).await;
        let deep_usec = drain(&setup, &deep).await;
        ratios.push(deep_usec / shallow_usec);
        more.push((deep_usec - shallow_usec) / 1_000.0);
        fill(&deep, 1_000).await;

        fill_raw(&setup, "shallow", 1_000);
        let shallow_usec = drain_raw(&setup, "shallow");
        let deep_usec = drain_raw(&setup, "deep");
        raw_ratios.push(deep_usec / shallow_usec);
        raw_more.push((deep_usec - shallow_usec) / 1_000.0);
        fill_raw(&setup, "deep", 1_000);
    }
    report.scene(Scene::redis(format!("batches of {BATCH}")));
    let what = "lease and complete, a million queued / a thousand";
    let note = format!("{} items behind, {:+.2} µs; INFO commandstats", scale.deep, median(more));
    report.target("7", what, median(ratios), "×", (Bound::AtMost, 1.3), note);
    let note = format!("{:+.2} µs; one command for a batch, one table", median(raw_more));
    report.info("7", "the same with raw commands", median(raw_ratios), "×", note);
}

/// Server time of leasing and completing a thousand items.
async fn drain(setup: &Setup, queue: &WorkQueue) -> f64 {
    setup.reset_stats();
    for _ in 0..1_000 / BATCH {
        let leases = queue.lease_many(BATCH, at_once()).await.unwrap();
        assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; BATCH]);
    }
    setup.usec(&["evalsha", "eval"])
}

/// As raw commands do it: a table of items by their ids, a list, a sorted set.
fn fill_raw(setup: &Setup, name: &str, items: usize) {
    let mut connection = setup.server.connection();
    let data = [b'x'; DATA];
    for _ in 0..items.div_ceil(BATCH * 10) {
        let ids: Vec<String> = (0..BATCH * 10).map(|_| uuid::Uuid::new_v4().to_string()).collect();
        let mut store = cmd("HSET");
        store.arg(format!("{name}:items"));
        for id in &ids {
            store.arg(id).arg(&data);
        }
        let _: Value = store.query(&mut connection).unwrap();
        let _: Value =
            cmd("LPUSH").arg(format!("{name}:ready")).arg(ids).query(&mut connection).unwrap();
    }
}

fn drain_raw(setup: &Setup, name: &str) -> f64 {
    let mut connection = setup.server.connection();
    let [ready, items, leased] = ["ready", "items", "leased"].map(|key| format!("{name}:{key}"));
    setup.reset_stats();
    for _ in 0..1_000 / BATCH {
        let mut pop = cmd("LMPOP");
        pop.arg(1).arg(&ready).arg("RIGHT").arg("COUNT").arg(BATCH);
        let (_, ids): (String, Vec<String>) = pop.query(&mut connection).unwrap();
        let _: Value = cmd("HMGET").arg(&items).arg(&ids).query(&mut connection).unwrap();
        let mut lease = cmd("ZADD");
        lease.arg(&leased);
        for id in &ids {
            lease.arg(1_795_000_000_000u64).arg(id);
        }
        let _: Value = lease.query(&mut connection).unwrap();
        let _: Value = cmd("ZREM").arg(&leased).arg(&ids).query(&mut connection).unwrap();
        let _: Value = cmd("HDEL").arg(&items).arg(&ids).query(&mut connection).unwrap();
    }
    setup.usec(&RAW)
}
