//! Target 7: a light clean does not look at live leases. Target 8: a deep clean in small steps.

use std::time::{Duration, Instant};

use leaseq::LeaseOptions;

use crate::Scale;
use crate::report::{Bound, Report, Scene};
use crate::setup::{Setup, fill, median, percentile};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    report.scene(Scene::redis("one cleaner"));
    light(&setup, scale, report).await;
    deep(&setup, scale, report).await;
}

async fn light(setup: &Setup, scale: Scale, report: &mut Report) {
    let (few, many) = (setup.queue("few"), setup.queue("many"));
    let options = LeaseOptions::new(Duration::from_secs(3600)).wait(Duration::ZERO);
    fill(&few, 1_000).await;
    let mut held = few.lease_many(10, options.clone()).await.unwrap();
    fill(&many, scale.leases).await;
    while held.len() < scale.leases {
        held.extend(many.lease_many(1_000, options.clone()).await.unwrap());
    }
    let mut ratios = Vec::new();
    for _ in 0..scale.rounds * 3 {
        let mut usec = [0.0; 2];
        for (usec, queue) in usec.iter_mut().zip([&few, &many]) {
            setup.reset_stats();
            for _ in 0..100 {
                queue.light_clean().await.unwrap();
            }
            *usec = setup.usec(&["evalsha", "eval"]);
        }
        ratios.push(usec[1] / usec[0]);
    }
    let what = "light clean, 100,000 live leases / ten";
    let note = format!("{} leases, none expired; INFO commandstats", scale.leases);
    report.target("7", what, median(ratios), "×", (Bound::AtMost, 1.3), note);
}

async fn deep(setup: &Setup, scale: Scale, report: &mut Report) {
    let queue = setup.queue("deep");
    fill(&queue, scale.deep).await;
    setup.server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "100"]);
    setup.server.cli(&["CONFIG", "SET", "slowlog-max-len", "100000"]);
    setup.server.cli(&["SLOWLOG", "RESET"]);
    setup.reset_stats();
    let begun = Instant::now();
    let found = queue.deep_clean().await.unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    assert!(found.is_sound(), "{found:?}");
    let total = setup.usec(&["evalsha", "eval"]) / 1e6;
    let slow: Vec<(u64, u64, u64, Vec<redis::Value>, String, String)> =
        redis::cmd("SLOWLOG").arg("GET").arg(-1).query(&mut setup.server.connection()).unwrap();
    let times: Vec<f64> = slow.iter().map(|entry| entry.2 as f64 / 1e3).collect();
    let longest = percentile(times.clone(), 1.0);
    // By the clock: one that is interrupted by another program counts as long as that took.
    let most = percentile(times, 0.999);
    let items = found.items;
    let note = format!(
        "{items} items in {seconds:.1} s, {total:.1} s of server time; 999 of 1,000 scripts within {most:.1} ms"
    );
    report.target(
        "8",
        "longest script of a deep clean of a million items",
        longest,
        "ms",
        (Bound::AtMost, 5.0),
        note,
    );
}
