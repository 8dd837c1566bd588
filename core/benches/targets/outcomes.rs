//! How soon a call that waits for the end of an item learns of it, while many others wait, and how many
//! connections they use.

use std::time::{Duration, Instant};

use leaseq::{Client, Item, LeaseOptions, OutcomeOptions, WorkQueue};
use tokio::task::JoinSet;

use crate::Scale;
use crate::report::{Bound, Report, Scene};
use crate::setup::{DATA, Setup, percentile};

/// Calls that wait for items that never end.
const OTHERS: usize = 10_000;

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let waiting = Client::connect(&setup.server.url()).await.unwrap();
    let queue = waiting.queue("outcomes").unwrap();
    let worker = setup.queue("outcomes");
    let others = others(&queue).await;

    report.scene(Scene::redis("one completion, 10,000 other waits"));
    for (retain, what) in
        [(Duration::from_secs(60), "with its result"), (Duration::ZERO, "not retained")]
    {
        let found = completed(&queue, &worker, retain, scale.samples).await;
        let what = |share: &str| format!("completed → learned by a waiting call, {what}, {share}");
        report.info(
            "6",
            &what("p50"),
            percentile(found.clone(), 0.5),
            "ms",
            format!("{} samples", found.len()),
        );
        report.target("6", &what("p99"), percentile(found, 0.99), "ms", (Bound::AtMost, 5.0), "");
    }
    setup.client.close().await;
    let list = setup.server.cli(&["CLIENT", "LIST", "TYPE", "normal"]);
    let connections = list.lines().filter(|line| !line.contains("cmd=client|list")).count();
    report.target(
        "6",
        "connections of 10,000 waits",
        connections as f64,
        "",
        (Bound::AtMost, 2.0),
        "",
    );
    drop(others);
}

async fn others(queue: &WorkQueue) -> JoinSet<()> {
    let mut others = JoinSet::new();
    for i in 0..OTHERS {
        let queue = queue.clone();
        others.spawn(async move {
            let _ = queue.outcome(format!("never {i}"), OutcomeOptions::new().expect()).await;
        });
    }
    // Until all are registered.
    tokio::time::sleep(Duration::from_secs(2)).await;
    others
}

async fn completed(
    queue: &WorkQueue,
    worker: &WorkQueue,
    retain: Duration,
    samples: usize,
) -> Vec<f64> {
    let mut times = Vec::new();
    for i in 0..samples {
        let id = format!("{} {i}", retain.as_secs());
        let item = Item::new([b'x'; DATA]).with_id(&id).retain(retain);
        assert!(worker.add_item(item).await.unwrap());
        let mut call = Box::pin({
            let queue = queue.clone();
            async move { (queue.outcome(id, OutcomeOptions::new()).await, Instant::now()) }
        });
        // It is registered when a later call is answered.
        assert!(tokio::time::timeout(Duration::ZERO, &mut call).await.is_err());
        let call = tokio::spawn(call);
        assert!(queue.outcome("none", OutcomeOptions::new()).await.unwrap().is_some());
        let lease =
            worker.lease(LeaseOptions::new(Duration::from_secs(60))).await.unwrap().unwrap();
        let begun = Instant::now();
        assert!(worker.complete(&lease).await.unwrap());
        let (outcome, at) = call.await.unwrap();
        assert!(outcome.unwrap().unwrap().is_completed());
        times.push(at.saturating_duration_since(begun).as_secs_f64() * 1e3);
    }
    times
}
