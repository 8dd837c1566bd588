//! Data of 100 bytes, 10 kB and 1 MB, added and processed one at a time, 100 at once and in batches:
//! items a second, what a cycle costs the server, and how often the client asks.

use std::time::Duration;

use crate::Scale;
use crate::load::{ALL, Calls};
use crate::report::{Report, Scene};
use crate::setup::{Setup, median};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    for data in [100, 10_000, 1_000_000] {
        for calls in ALL {
            cycles(calls, data, scale, report).await;
        }
    }
}

/// How many items: some seconds' worth.
fn items(calls: Calls, data: usize, scale: Scale) -> usize {
    let items = match data {
        100 => 100,
        10_000 => 25,
        _ => 1,
    };
    // Single calls cost more by themselves; in a large item that is not what counts.
    let singly = if calls.at_once == 1 && calls.items == 1 && data < 1_000_000 { 10 } else { 1 };
    items * scale.batches * 2 / singly
}

async fn cycles(calls: Calls, data: usize, scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let queue = setup.queue("rates");
    let items = items(calls, data, scale);
    let rate = |time: Duration| items as f64 / time.as_secs_f64();
    let (mut adds, mut processes, mut costs, mut scripts) = (vec![], vec![], vec![], vec![]);
    let (mut cycles, mut bytes, mut trips) = (vec![], vec![], vec![]);
    for _ in 0..scale.rounds.min(5) {
        setup.reset_stats();
        let before = setup.cpu();
        let adding = calls.add(&queue, items, data).await;
        let (done, processing) = calls.process(&queue).await;
        assert_eq!(done, items);
        costs.push((setup.cpu() - before) / items as f64);
        scripts.push(setup.usec(&["evalsha", "eval"]) / items as f64);
        trips.push(setup.calls(&["evalsha", "eval"]) / items as f64);
        adds.push(rate(adding));
        processes.push(rate(processing));
        cycles.push(rate(adding + processing));
        bytes.push(rate(adding + processing) * data as f64 / 1e6);
    }
    report.scene(Scene::redis(calls.name()).data(data));
    report.info("", "add", median(adds), "items/s", format!("{items} items"));
    report.info("", "lease and complete", median(processes), "items/s", "");
    let note = format!("{:.1} MB/s", median(bytes));
    report.info("", "add, lease and complete", median(cycles), "cycles/s", note);
    let note = format!("{:.2} µs of it in scripts", median(scripts));
    report.info("", "CPU time of the server for a cycle", median(costs), "µs", note);
    report.info("", "round trips for a cycle", median(trips), "", "");
}
