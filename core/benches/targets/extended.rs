//! Target 12: what the options of extended queues cost the server, beside plain items in turn.

use std::time::Duration;

use leaseq::CompleteOptions;

use crate::Scale;
use crate::cycles::{Cycles, Kind};
use crate::report::{Bound, Report, Scene};
use crate::server_time::{STEPS, Side, TURN};
use crate::setup::{BATCH, DATA, PLAIN, Setup, at_once, fill, median};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    report.scene(Scene::redis(format!("batches of {BATCH}")));
    let kinds = [
        (Kind::Retained, 2.0),
        (Kind::Unique, 1.5),
        (Kind::Keyed, 3.0),
        (Kind::Followed, 4.0),
        (Kind::Noted, 1.0),
    ];
    for (kind, limit) in kinds {
        let (mut added, mut steps, mut plains) = (vec![], [vec![], vec![], vec![]], vec![]);
        for _ in 0..scale.rounds {
            // A server of its own for each round: what is retained stays.
            let setup = Setup::new().await;
            let ([plain, own], cycles) = in_turns(&setup, kind, scale).await;
            let took = plain.iter().sum::<f64>();
            added.push((own.iter().sum::<f64>() / took - 1.0) * PLAIN);
            plains.push(took / cycles);
            for (i, step) in steps.iter_mut().enumerate() {
                step.push((own[i] - plain[i]) / took * PLAIN);
            }
        }
        let least = added.iter().copied().fold(f64::INFINITY, f64::min);
        let [add, lease, complete] = steps.map(median);
        let note = format!(
            "where a plain one takes {PLAIN} µs (here {:.2}): add {add:+.2}, lease {lease:+.2}, \
             complete {complete:+.2} µs; the lowest round {least:.2} µs; INFO commandstats",
            median(plains)
        );
        let what = format!("server time added for an item {}", kind.name());
        report.target("12", &what, median(added), "µs", (Bound::AtMost, limit), note);
    }
    let times = deletions(scale).await;
    report.info("12", "deleting an item whose time is over", times, "µs", "by light cleans");
}

/// Microseconds of server time for each step, of plain items and of this kind, and how many items it was.
async fn in_turns(setup: &Setup, kind: Kind, scale: Scale) -> ([[f64; 3]; 2], f64) {
    let new = |kind: Kind, name| Cycles::new(setup.queue(name), kind, BATCH, scale.batches);
    let mut sides = [new(Kind::Plain, "plain"), new(kind, "extended")];
    for side in &sides {
        side.prepare().await;
    }
    let mut usec = [[0.0; 3]; 2];
    for (i, step) in STEPS.into_iter().enumerate() {
        for first in (0..scale.batches).step_by(TURN) {
            let batches = first..scale.batches.min(first + TURN);
            for (side, usec) in sides.iter_mut().zip(&mut usec) {
                usec[i] += side.turn(setup, step, batches.clone()).await;
            }
        }
    }
    for side in &mut sides {
        assert!(side.is_done().await, "everything was completed");
    }
    (usec, (scale.batches * BATCH) as f64)
}

/// Microseconds for each retained item that is deleted.
async fn deletions(scale: Scale) -> f64 {
    let setup = Setup::new().await;
    let queue = setup.queue("deletions");
    let mut times = Vec::new();
    for _ in 0..scale.rounds {
        let items = scale.batches * BATCH;
        fill(&queue, items).await;
        let mut leases = Vec::new();
        while leases.len() < items {
            leases.extend(queue.lease_many(BATCH, at_once()).await.unwrap());
        }
        for leases in leases.chunks(BATCH) {
            let results = vec![Some(vec![b'r'; DATA].into()); leases.len()];
            let options = CompleteOptions::new().results(results).retain(Duration::from_millis(1));
            queue.complete_many_with(leases, options).await.unwrap();
        }
        setup.reset_stats();
        while queue.light_clean().await.unwrap().next_in.is_some() {}
        times.push(setup.usec(&["evalsha", "eval"]) / items as f64);
    }
    median(times)
}
