//! A wake token that is lost, or taken by a client that does not want it, delays others little.

use std::time::{Duration, Instant};

use leaseq::Item;
use leaseq_test_support::{RedisServer, eventually};

use crate::support::{SOON, client, ms, wait, waiting};

#[tokio::test]
async fn a_lost_token_delays_by_two_seconds_at_most() {
    let server = RedisServer::start();
    let worker = client(&server.url(), 5_000).await.queue("q").unwrap();
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    let call = waiting(&worker, wait()).await;
    let begin = Instant::now();
    // As if the token were gone before anybody saw it: nobody waits, as far as the server knows.
    server.cli(&["HSET", "leaseq:{q}:meta", "waiting", "0"]);
    assert!(other.add_item(Item::new("data")).await.unwrap());
    assert!(tokio::time::timeout(SOON, call).await.expect("it looks").unwrap().unwrap().is_some());
    assert!(begin.elapsed() < ms(2_300), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn a_token_taken_for_a_call_that_is_gone_is_passed_on() {
    let server = RedisServer::start();
    for round in 0..5 {
        let name = format!("q{round}");
        let quitter = client(&server.url(), 5_000).await.queue(&name).unwrap();
        let worker = client(&server.url(), 5_000).await.queue(&name).unwrap();
        let other = client(&server.url(), 5_000).await.queue(&name).unwrap();
        assert_eq!(other.queue_len().await.unwrap(), 0);
        let gone = waiting(&quitter, wait()).await;
        // The server serves those first who came first.
        let blocked = |n: usize| {
            let clients = server.cli(&["CLIENT", "LIST"]);
            clients.lines().filter(|line| line.contains("cmd=blpop")).count() == n
        };
        assert!(eventually(SOON, async || blocked(1)).await);
        let call = waiting(&worker, wait()).await;
        assert!(eventually(SOON, async || blocked(2)).await);
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        let begin = Instant::now();
        assert!(other.add_item(Item::new("data")).await.unwrap());
        let lease = tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap();
        assert!(lease.unwrap().is_some());
        assert!(begin.elapsed() < Duration::from_millis(200), "{:?}", begin.elapsed());
        quitter_leaves(quitter).await;
    }
}

/// Keeps the client until here.
async fn quitter_leaves(queue: leaseq::WorkQueue) {
    assert_eq!(queue.queue_len().await.unwrap(), 0);
}
