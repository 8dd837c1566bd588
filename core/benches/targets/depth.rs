//! Target 7: lease and complete with a million items queued, beside a thousand; and what the same depth
//! does to raw commands, one for a whole batch, that move the same data: items that lie in no cache.

use leaseq::WorkQueue;

use crate::Scale;
use crate::raw::{self, keys};
use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, RAW, Setup, at_once, fill, median};

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
    let [table, ready, _] = keys(name);
    for _ in 0..items.div_ceil(BATCH * 10) {
        let ids: Vec<String> = (0..BATCH * 10).map(|_| uuid::Uuid::new_v4().to_string()).collect();
        raw::send(&mut connection, raw::add(&table, &ready, &ids));
    }
}

fn drain_raw(setup: &Setup, name: &str) -> f64 {
    let mut connection = setup.server.connection();
    let [items, ready, leased] = keys(name);
    setup.reset_stats();
    for _ in 0..1_000 / BATCH {
        let pop = raw::pop(&ready, BATCH);
        let (_, ids): (String, Vec<String>) = pop.query(&mut connection).unwrap();
        raw::send(&mut connection, raw::lease(&items, &leased, &ids));
        raw::send(&mut connection, raw::complete(&items, &leased, &ids));
    }
    setup.usec(&RAW)
}
