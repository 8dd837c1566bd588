//! The task queue, in memory: no server, no file.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use example_rust_queue::{Charge, Checksum, Report, requeue_dead, stats, worker};
use leaseq::{Client, State};
use leaseq_jobs::{NewJob, Producer};

const SOON: Duration = Duration::from_secs(20);

async fn memory() -> (Client, Producer) {
    let client = Client::connect("memory:").await.unwrap();
    let producer = Producer::new(&client);
    (client, producer)
}

fn charge(customer: &str, order: u64, failures: u32) -> Charge {
    Charge { customer: customer.into(), order, failures }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_result_can_be_awaited() {
    let (client, producer) = memory().await;
    let added = producer.enqueue(Checksum { text: "a".into() }).await.unwrap();
    worker(&client, 2).unwrap().run_until_idle().await.unwrap();
    let digest: String = added.result(SOON).await.unwrap();
    assert!(digest.starts_with("ca978112ca1bbdcafac231b39a23dc4d"), "{digest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_task_is_retried_and_a_refused_one_is_dead() {
    let (client, producer) = memory().await;
    let retried = producer.enqueue(NewJob::new(charge("ada", 1, 2)).retain(SOON)).await.unwrap();
    let refused = producer.enqueue(charge("nobody", 2, 0)).await.unwrap();
    let worker = worker(&client, 2).unwrap();
    let ended = async {
        retried.result::<()>(SOON).await.unwrap();
        assert!(refused.result::<()>(SOON).await.unwrap_err().to_string().contains("nobody pays"));
    };
    worker.run_until(ended).await.unwrap();
    assert_eq!(retried.queue().get(retried.id()).await.unwrap().unwrap().failures, 2);
    assert_eq!(requeue_dead(&client).await.unwrap(), 1);
    assert_eq!(refused.queue().get(refused.id()).await.unwrap().unwrap().state, State::Ready);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_is_charged_once_and_a_customer_never_twice_at_a_time() {
    let (client, producer) = memory().await;
    assert!(producer.enqueue(charge("ada", 1, 0)).await.unwrap().added());
    assert!(!producer.enqueue(charge("ada", 1, 0)).await.unwrap().added());
    assert!(producer.enqueue(charge("ada", 2, 0)).await.unwrap().added());
    assert!(producer.enqueue(charge("bob", 3, 0)).await.unwrap().added());
    let queue = client.queue("critical").unwrap();
    let leased = queue.lease_many(10, leaseq::LeaseOptions::new(SOON)).await.unwrap();
    assert_eq!(leased.len(), 2);
    assert!(
        stats(&client)
            .await
            .unwrap()
            .lines()
            .any(|line| { line.split_whitespace().eq(["critical", "0", "0", "2", "1", "0", "0"]) })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheduled_task_waits_for_its_time() {
    let (client, producer) = memory().await;
    let report = || Report { name: "x".into() };
    let later = NewJob::new(report()).delay(Duration::from_millis(300)).retain(SOON);
    let later = producer.enqueue(later).await.unwrap();
    let worker = worker(&client, 2).unwrap();
    worker.run_until_idle().await.unwrap();
    assert_eq!(later.queue().get(later.id()).await.unwrap().unwrap().state, State::Delayed);
    worker.run_until(async { later.result::<()>(SOON).await.unwrap() }).await.unwrap();
    let schedules = client.queue("low").unwrap().schedules().await.unwrap();
    assert_eq!(schedules[0].name, "hourly-report");
}
