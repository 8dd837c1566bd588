//! Target 7: lease and complete with a million items queued, beside a thousand.

use leaseq::WorkQueue;

use crate::Scale;
use crate::report::{Bound, Report};
use crate::setup::{BATCH, Setup, at_once, fill, median};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let (shallow, deep) = (setup.queue("shallow"), setup.queue("deep"));
    fill(&deep, scale.deep).await;
    let mut ratios = Vec::new();
    for _ in 0..scale.rounds * 3 {
        fill(&shallow, 1_000).await;
        let shallow_usec = drain(&setup, &shallow).await;
        let deep_usec = drain(&setup, &deep).await;
        ratios.push(deep_usec / shallow_usec);
        fill(&deep, 1_000).await;
    }
    let what = "lease and complete, a million queued / a thousand";
    let note = format!("{} items behind; batches of 100, INFO commandstats", scale.deep);
    report.target("7", what, median(ratios), "×", (Bound::AtMost, 1.3), note);
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
