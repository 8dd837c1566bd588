//! How soon a program has its first lease: from the connection on, and as a process of its own.

use std::time::Instant;

use leaseq::{Client, Item};

use crate::Scale;
use crate::processes::Worker;
use crate::report::{Report, Scene};
use crate::setup::{DATA, Setup, at_once, percentile};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}", folder.path().join("queue.db").display());
    let samples = scale.samples.min(100);
    for (url, scene) in [
        (setup.server.url(), Scene::redis("one client")),
        (file, Scene::embedded("full", "one client")),
    ] {
        let keeper = Client::connect(&url).await.unwrap();
        let queue = keeper.queue("first").unwrap();
        let (mut inside, mut outside, mut nothing) = (vec![], vec![], vec![]);
        for _ in 0..samples {
            queue.add_item(Item::new([b'x'; DATA])).await.unwrap();
            let begun = Instant::now();
            let client = Client::connect(&url).await.unwrap();
            let lease = client.queue("first").unwrap().lease(at_once()).await.unwrap().unwrap();
            inside.push(begun.elapsed().as_secs_f64() * 1e3);
            queue.complete(&lease).await.unwrap();
            client.close().await;
        }
        for _ in 0..samples.div_ceil(4) {
            queue.add_item(Item::new([b'x'; DATA])).await.unwrap();
            outside.push(run(&["first", &url]));
            nothing.push(run(&["nothing"]));
        }
        report.scene(scene);
        let p99 = percentile(inside.clone(), 0.99);
        let note = format!("median of {samples}; p99 {p99:.2} ms");
        report.info("", "connect → first lease", percentile(inside, 0.5), "ms", note);
        let nothing = percentile(nothing, 0.5);
        let note = format!("a process that does nothing: {nothing:.2} ms");
        report.info("", "start of a process → first lease", percentile(outside, 0.5), "ms", note);
    }
}

/// How long a worker process takes until it says that it is done, in ms.
fn run(arguments: &[&str]) -> f64 {
    let begun = Instant::now();
    let mut worker = Worker::start(arguments);
    assert_eq!(worker.line(), "done");
    begun.elapsed().as_secs_f64() * 1e3
}
