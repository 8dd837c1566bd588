//! Jobs that a worker cannot run.

use std::time::Duration;

use leaseq::{Item, State};
use leaseq_jobs::{NewJob, Worker};
use serde_json::json;

use crate::support::{Bench, Echo, nothing, on_every_engine, with_clock};
use leaseq_jobs::Job;

on_every_engine!(what_a_worker_cannot_run_is_released_without_an_attempt);

async fn what_a_worker_cannot_run_is_released_without_an_attempt(bench: Bench) {
    let queue = bench.client.queue(Echo::QUEUE).unwrap();
    let producer = bench.producer();
    queue.add_item(Item::new("no json").with_id("no_envelope")).await.unwrap();
    queue.add_item(Item::new(r#"{"v":2}"#).with_id("newer_version")).await.unwrap();
    let unknown = NewJob::named("unknown", Echo::QUEUE, &json!({})).id("no_handler");
    producer.enqueue(unknown).await.unwrap();
    let invalid = NewJob::named(Echo::NAME, Echo::QUEUE, &json!({ "text": 1 })).id("invalid_args");
    producer.enqueue(invalid).await.unwrap();
    let good = bench.add("good").await;
    bench.worker().handle(nothing).run_until_idle().await.unwrap();
    assert_eq!(bench.get(&good).await.state, State::Completed);
    for id in ["no_envelope", "newer_version", "no_handler", "invalid_args"] {
        let item = queue.get(id).await.unwrap().unwrap();
        assert_eq!((item.state, item.failures), (State::Delayed, 0), "{id}");
        let releases = item.releases.unwrap();
        assert_eq!((releases.reason.as_str(), releases.count), ("unhandled", 1), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_can_run_is_dead_after_a_day() {
    let (client, advance) = with_clock().await;
    let queue = client.queue("echo").unwrap();
    for id in ["no_handler", "no_envelope"] {
        let data = if id == "no_handler" { r#"{"v":1,"job":"x","args":{}}"# } else { "" };
        queue.add_item(Item::new(data).with_id(id)).await.unwrap();
    }
    let worker = Worker::new(&client).handle(nothing);
    let mut rounds = 0;
    while queue.counts().await.unwrap().dead < 2 {
        worker.run_until_idle().await.unwrap();
        advance(Duration::from_secs(300));
        rounds += 1;
    }
    // A day has 288 times five minutes.
    assert!((288..=290).contains(&rounds), "{rounds}");
    for id in ["no_handler", "no_envelope"] {
        let item = queue.get(id).await.unwrap().unwrap();
        assert!(item.last_error.starts_with(id), "{}", item.last_error);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_unknown_jobs_do_not_hold_the_others_up() {
    let bench = Bench::in_memory().await;
    let unknown = (0..1_000).map(|_| NewJob::named("unknown", Echo::QUEUE, &json!({})));
    bench.producer().enqueue_many(unknown).await.unwrap();
    let good = bench.add("good").await;
    bench.worker().slots(10).handle(nothing).run_until_idle().await.unwrap();
    assert_eq!(bench.get(&good).await.state, State::Completed);
    assert_eq!(bench.counts().await.delayed, 1_000);
}
