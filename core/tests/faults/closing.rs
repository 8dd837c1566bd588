//! Closing a client ends its waiting calls, and leaves nothing behind.

use std::time::{Duration, Instant};

use leaseq::{ErrorKind, Item, KeepAlive};
use leaseq_test_support::RedisServer;

use crate::support::{
    SOON, add, all_at_once, at_once, behind_proxy, calls, client, lease_now, ms, wait, waiting,
};

#[tokio::test]
async fn waiting_calls_end_and_later_ones_are_refused() {
    let server = RedisServer::start();
    let client = client(&server.url(), 5_000).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    assert!(queue.complete(&lease).await.unwrap());
    let mut waits = Vec::new();
    for _ in 0..20 {
        waits.push(waiting(&queue, wait()).await);
        waits.push(waiting(&client.queue("other").unwrap(), wait().wait(SOON)).await);
    }
    let begin = Instant::now();
    client.close().await;
    for wait in waits {
        assert_eq!(wait.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    }
    client.close().await;
    assert!(begin.elapsed() < ms(500), "{:?}", begin.elapsed());
    assert_eq!(client.queue("q").unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(client.queues().await.unwrap_err().kind(), ErrorKind::Closed);
    for error in [
        queue.add_item(Item::new("data")).await.unwrap_err(),
        queue.lease(at_once()).await.unwrap_err(),
        queue.complete(&lease).await.unwrap_err(),
        queue.complete_and_lease([&lease], 1, at_once()).await.unwrap_err(),
        queue.extend(&lease, SOON).await.unwrap_err(),
        queue.release(&lease, Duration::ZERO).await.unwrap_err(),
        queue.fail(&lease, "no", Duration::ZERO).await.unwrap_err(),
        queue.remove("a").await.unwrap_err(),
        queue.counts().await.unwrap_err(),
        queue.light_clean().await.unwrap_err(),
        queue.check().await.unwrap_err(),
        queue.pause().await.unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Closed, false), "{error}");
    }
    // What the server kept about this client's operations is gone.
    assert_eq!(server.cli(&["EXISTS", "leaseq:{q}:lanes", "leaseq:{other}:lanes"]), "0");
}

#[tokio::test]
async fn a_lease_on_its_way_when_the_client_is_closed_goes_back() {
    let (server, proxy, near) = behind_proxy(5_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 5).await;
    let direct = client(&server.url(), 5_000).await.queue("q").unwrap();
    proxy.delay(ms(80));
    // Dropped while the answer travels: it must go back before the connections are closed.
    assert!(tokio::time::timeout(ms(120), queue.lease_many(5, wait())).await.is_err());
    assert_eq!(direct.processing().await.unwrap(), 5);
    near.close().await;
    assert_eq!(direct.processing().await.unwrap(), 0);
    all_at_once(&direct, 5).await;
}

#[tokio::test]
async fn what_is_on_its_way_is_finished() {
    let (_server, proxy, near) = behind_proxy(5_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    proxy.delay(ms(50));
    let complete = tokio::spawn(async move { queue.complete(&lease).await });
    let before = proxy.commands();
    assert!(leaseq_test_support::eventually(SOON, async || proxy.commands() > before).await);
    near.close().await;
    assert!(complete.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_lease_stays_its_holders_when_the_client_is_closed() {
    let server = RedisServer::start();
    let near = client(&server.url(), 5_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 2).await;
    let held = lease_now(&queue).await;
    let kept = queue.lease(at_once().keep_alive(KeepAlive::new())).await.unwrap().unwrap();
    near.close().await;
    assert!(!held.is_lost() && !kept.is_lost());
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    assert_eq!(other.processing().await.unwrap(), 2);
    assert!(other.complete(&held).await.unwrap() && other.complete(&kept).await.unwrap());
}

#[tokio::test]
async fn closing_does_not_hang_on_a_server_that_is_gone() {
    let mut server = RedisServer::start();
    let near = client(&server.url(), 1_000).await;
    let queue = near.queue("q").unwrap();
    let call = waiting(&queue, wait()).await;
    assert!(calls(&server).contains_key("evalsha"));
    server.kill();
    let begin = Instant::now();
    tokio::time::timeout(SOON, near.close()).await.expect("it ends");
    println!("closed in {:?}", begin.elapsed());
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
}
