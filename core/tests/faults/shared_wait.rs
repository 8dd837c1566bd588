//! Requests that wait for a replica on one connection: which leave together, and in which order.

use std::time::Duration;

use leaseq::{ErrorKind, Item};
use leaseq_test_support::{Proxy, RedisServer, eventually};
use tokio::task::JoinSet;

use crate::pair::{Pair, confirmed};
use crate::support::{SOON, add, calls, ms, sound, wait, waiting, warm_up};

#[tokio::test]
async fn calls_that_wait_at_the_same_time_share_one_wait() {
    const QUEUES: usize = 40;
    const EACH: usize = 10;
    let pair = Pair::start();
    let proxy = Proxy::start(pair.master.port()).await;
    let near = confirmed(&proxy.url(), 10_000).await;
    warm_up(&near).await;
    proxy.delay(ms(2));
    let (scripts, waits) = (proxy.commands_named("EVALSHA"), proxy.commands_named("WAIT"));
    let mut adding = JoinSet::new();
    for i in 0..QUEUES {
        let queue = near.queue(&format!("q{i}")).unwrap();
        adding.spawn(async move {
            for _ in 0..EACH {
                assert!(queue.add_item(Item::new("data")).await.unwrap());
            }
        });
    }
    adding.join_all().await;
    let scripts = proxy.commands_named("EVALSHA") - scripts;
    let waits = proxy.commands_named("WAIT") - waits;
    println!("{waits} times WAIT for {scripts} scripts");
    assert!(scripts >= (QUEUES * EACH) as u64 && waits < scripts / 4, "{waits} for {scripts}");
}

/// Calls that are made without waiting for the answers of earlier ones are executed in their order.
#[tokio::test]
async fn calls_keep_their_order() {
    const ROUNDS: usize = 300;
    let pair = Pair::start();
    let queue = pair.client(10_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    let mut done = JoinSet::new();
    for i in 0..ROUNDS {
        let id = format!("x{}", i % 7);
        let mut adding = Box::pin({
            let (queue, id) = (queue.clone(), id.clone());
            async move { queue.add_item(Item::new("data").with_id(id)).await }
        });
        // Made when first polled.
        let early = tokio::time::timeout(Duration::ZERO, &mut adding).await;
        let mut removing = Box::pin({
            let queue = queue.clone();
            async move { queue.remove(id).await }
        });
        let gone = tokio::time::timeout(Duration::ZERO, &mut removing).await;
        done.spawn(async move {
            let added = match early {
                Ok(added) => added,
                Err(_) => adding.await,
            };
            let removed = match gone {
                Ok(removed) => removed,
                Err(_) => removing.await,
            };
            (added.unwrap(), removed.unwrap())
        });
    }
    assert!(done.join_all().await.into_iter().all(|pair| pair == (true, true)));
    assert_eq!(queue.counts().await.unwrap().ready, 1);
    sound(&queue).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_before_it_is_sent_changes_nothing() {
    let pair = Pair::start();
    let near = pair.client(20_000).await;
    let [queue, other] = ["q", "other"].map(|name| near.queue(name).unwrap());
    add(&queue, 1).await;
    other.pause().await.unwrap();
    other.resume().await.unwrap();
    pair.replica.pause();
    let adding = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_item(Item::new("data")).await }
    });
    assert!(eventually(SOON, async || pair.is_waiting()).await);
    let waits = calls(&pair.master)["wait"];
    assert!(tokio::time::timeout(ms(20), other.pause()).await.is_err());
    // On a machine that stood still it may have been sent between two of them.
    let one_wait = pair.is_waiting() && calls(&pair.master)["wait"] == waits;
    pair.replica.resume();
    assert!(adding.await.unwrap().unwrap());
    add(&other, 1).await;
    assert!(!(one_wait && other.counts().await.unwrap().paused));
}

#[tokio::test]
async fn a_waiting_worker_gets_items_and_survives_its_connections() {
    let pair = Pair::start();
    let near = pair.client(10_000).await;
    warm_up(&near).await;
    let queue = near.queue("idle").unwrap();
    for _ in 0..3 {
        let call = waiting(&queue, wait()).await;
        pair.master.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        assert!(queue.add_item(Item::new("data")).await.unwrap());
        let lease = tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap();
        assert!(queue.complete(&lease.unwrap().unwrap()).await.unwrap());
    }
}

#[tokio::test]
async fn an_item_that_the_server_refuses_as_too_large_is_still_invalid() {
    let pair = Pair::start_with(RedisServer::builder().arg("--proto-max-bulk-len", "1mb"));
    let near = pair.client(5_000).await;
    warm_up(&near).await;
    let [queue, other] = ["q", "other"].map(|name| near.queue(name).unwrap());
    queue.counts().await.unwrap();
    other.counts().await.unwrap();
    let (large, small) = tokio::join!(
        queue.add_item(Item::new(vec![0; 2 << 20])),
        other.add_item(Item::new("data")),
    );
    assert!(small.unwrap());
    let error = large.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("proto-max-bulk-len"), "{error}");
    assert_eq!(queue.counts().await.unwrap().ready, 0);
}
