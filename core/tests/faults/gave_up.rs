//! A caller gives up: the effects of a late execution are undone, and the error shows what is known.

use std::time::Duration;

use leaseq::{Client, ErrorKind, Item, LeaseOptions, State, WorkQueue};
use leaseq_test_support::{RedisServer, Then, eventually};

use crate::support::{
    SOON, add, all_at_once, at_once, behind_proxy, client, is_script, lease_now, ms, wait, warm_up,
};

async fn frozen(timeout_ms: u64) -> (RedisServer, Client, WorkQueue) {
    let server = RedisServer::start();
    let client = client(&server.url(), timeout_ms).await;
    warm_up(&client).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 3).await;
    server.pause();
    (server, client, queue)
}

#[tokio::test]
async fn a_lease_executed_after_its_caller_got_an_error_is_released() {
    let (server, _client, queue) = frozen(300).await;
    let error = queue.lease(at_once()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, true));
    // Later calls get no connection, or no answer; their leases are released too.
    for _ in 0..2 {
        let error = queue.lease_many(2, wait()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }
    server.resume();
    all_at_once(&queue, 3).await;
}

#[tokio::test]
async fn a_lease_executed_after_its_future_was_dropped_is_released() {
    let (server, _client, queue) = frozen(5_000).await;
    assert!(tokio::time::timeout(ms(50), queue.lease_many(3, wait())).await.is_err());
    server.resume();
    all_at_once(&queue, 3).await;
}

#[tokio::test]
async fn a_late_complete_and_lease_completes_and_releases_its_leases() {
    let server = RedisServer::start();
    let client = client(&server.url(), 300).await;
    warm_up(&client).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 3).await;
    let lease = lease_now(&queue).await;
    server.pause();
    let error = queue.complete_and_lease([&lease], 2, at_once()).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, true));
    assert!(!lease.is_settled());
    assert_eq!(lease.completed(), None);
    server.resume();
    // The server executes the request in its socket, or its number is used before that.
    let completed = u64::from(!queue.complete(&lease).await.unwrap());
    println!("completed by the first request: {completed}");
    assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
    all_at_once(&queue, 2).await;
}

#[tokio::test]
async fn an_error_after_completing_does_not_say_that_nothing_was_executed() {
    let (_server, proxy, client) = behind_proxy(300).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    let call = queue.complete_and_lease([&lease], 1, wait());
    let cut = async {
        assert!(eventually(SOON, async || lease.is_settled()).await);
        proxy.refuse(true);
        proxy.close_all();
    };
    // It is chance whether its next request has left by then.
    let (error, ()) = tokio::join!(call, cut);
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(!error.to_string().contains("nothing was executed"), "{error}");
    // This call finds no server.
    let error = queue.complete_and_lease([&lease], 1, at_once()).await.unwrap_err();
    assert!(!error.outcome_unknown(), "{error}");
    let told = "each lease says whether it was completed, nothing was leased";
    assert_eq!(lease.completed(), Some(true));
    assert!(error.to_string().ends_with(told), "{error}");
    let error = queue.lease(at_once()).await.unwrap_err();
    assert!(error.to_string().ends_with("nothing was executed"), "{error}");
}

#[tokio::test]
async fn a_dropped_complete_and_lease_completes_and_releases_its_leases() {
    let server = RedisServer::start();
    let client = client(&server.url(), 5_000).await;
    warm_up(&client).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 3).await;
    let lease = lease_now(&queue).await;
    server.pause();
    let call = queue.complete_and_lease([&lease], 2, wait());
    assert!(tokio::time::timeout(ms(50), call).await.is_err());
    server.resume();
    assert!(eventually(SOON, async || lease.is_settled()).await);
    assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
    all_at_once(&queue, 2).await;
}

#[tokio::test]
async fn a_pending_completion_is_executed_although_its_call_is_gone() {
    let server = RedisServer::start();
    let client = client(&server.url(), 5_000).await;
    warm_up(&client).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 3).await;
    let (first, second) = (lease_now(&queue).await, lease_now(&queue).await);
    server.pause();
    let call = tokio::spawn({
        let queue = queue.clone();
        async move { queue.complete_and_lease([&first], 1, at_once()).await.unwrap() }
    });
    // One request at a time: the first is in flight, and this one stays pending.
    tokio::time::sleep(ms(50)).await;
    let gone = queue.complete_and_lease([&second], 1, at_once());
    assert!(tokio::time::timeout(ms(50), gone).await.is_err());
    server.resume();
    let done = call.await.unwrap();
    assert_eq!((done.completed, done.leases.len()), (vec![true], 1));
    assert!(eventually(SOON, async || second.is_settled()).await);
    assert_eq!(queue.counts().await.unwrap().totals.completed, 2);
    queue.release(&done.leases[0], Duration::ZERO).await.unwrap();
    all_at_once(&queue, 1).await;
}

#[tokio::test]
async fn a_short_lease_executed_late_is_released_without_an_attempt() {
    let server = RedisServer::start();
    let client = client(&server.url(), 200).await;
    warm_up(&client).await;
    let queue = client.queue("q").unwrap();
    assert!(queue.add_item(Item::new("data").max_attempts(1)).await.unwrap());
    server.pause();
    let short = LeaseOptions::new(ms(800)).wait(Duration::ZERO);
    assert!(queue.lease(short).await.unwrap_err().outcome_unknown());
    // Longer than the lease would have lasted.
    tokio::time::sleep(ms(1_200)).await;
    server.resume();
    all_at_once(&queue, 1).await;
}

#[tokio::test]
async fn a_lease_whose_release_fails_at_first_is_released_later() {
    // The client waits longer for an answer than the round trip takes.
    let (server, proxy, client) = behind_proxy(700).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let direct = crate::support::client(&server.url(), 2_000).await.queue("q").unwrap();
    proxy.delay(ms(50));
    let before = proxy.commands();
    assert!(tokio::time::timeout(ms(70), queue.lease(wait())).await.is_err());
    assert_eq!(direct.processing().await.unwrap(), 1);
    // The network fails while the release is in flight, for longer than an operation is retried.
    assert!(eventually(SOON, async || proxy.commands() == before + 2).await);
    proxy.refuse(true);
    proxy.close_all();
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(direct.processing().await.unwrap(), 1);
    proxy.delay(Duration::ZERO);
    proxy.refuse(false);
    all_at_once(&direct, 1).await;
}

#[tokio::test]
async fn a_refused_connection_means_that_nothing_was_executed() {
    let (_server, proxy, client) = behind_proxy(400).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    proxy.refuse(true);
    proxy.close_all();
    // This request may have left on the old connection.
    assert_eq!(queue.complete(&lease).await.unwrap_err().kind(), ErrorKind::Unavailable);
    for error in [
        queue.complete(&lease).await.unwrap_err(),
        queue.add_item(Item::new("data")).await.unwrap_err(),
        queue.lease(at_once()).await.unwrap_err(),
        queue.extend(&lease, SOON).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(!error.outcome_unknown(), "{error}");
    }
    assert_eq!(
        Client::connect(&proxy.url()).await.unwrap_err().kind(),
        ErrorKind::Unavailable,
        "there is no server"
    );
    proxy.refuse(false);
    assert!(queue.complete(&lease).await.unwrap());
}

#[tokio::test]
async fn a_lost_reply_that_is_never_recovered_means_that_the_outcome_is_unknown() {
    let (_server, proxy, client) = behind_proxy(400).await;
    let queue = client.queue("q").unwrap();
    add(&queue, 2).await;
    let lease = lease_now(&queue).await;
    proxy.drop_replies(is_script("complete", "q"), usize::MAX, Then::Close);
    let error = queue.complete(&lease).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.outcome_unknown(), "{error}");
    proxy.keep_replies();
    // It was executed after all.
    assert_eq!(queue.get(lease.id()).await.unwrap(), None);
}

#[tokio::test]
async fn the_first_add_is_true_even_if_the_queue_cannot_be_announced() {
    let (_server, proxy, client) = behind_proxy(400).await;
    let queue = client.queue("q").unwrap();
    let list = |args: &[Vec<u8>]| args.iter().any(|arg| arg == b"leaseq:queues");
    proxy.drop_replies(list, usize::MAX, Then::Close);
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    assert_eq!(queue.queue_len().await.unwrap(), 1);
}

#[tokio::test]
async fn a_late_copy_of_a_purge_or_a_clean_finds_its_lane_after_the_client_was_closed() {
    for name in ["purge", "light_clean"] {
        let (server, proxy, client) = behind_proxy(400).await;
        let queue = client.queue("q").unwrap();
        add(&queue, 2).await;
        if name == "purge" {
            queue.purge(State::Dead).await.unwrap();
        }
        queue.light_clean().await.unwrap();
        proxy.drop_replies(is_script(name, "q"), usize::MAX, Then::Close);
        let error = match name {
            "purge" => queue.purge(State::Ready).await.map(drop).unwrap_err(),
            _ => queue.light_clean().await.map(drop).unwrap_err(),
        };
        assert!(error.outcome_unknown(), "{error}");
        proxy.keep_replies();
        client.close().await;
        // Only the lane of the operation is kept.
        let lanes = server.cli(&["HLEN", "leaseq:{q}:lanes"]);
        assert_eq!(lanes, "1", "{name}");
    }
}

/// The first operation on a queue, of any kind.
#[tokio::test]
async fn the_first_operation_is_retried_for_its_whole_time() {
    let (_server, proxy, client) = behind_proxy(10_000).await;
    let queue = client.queue("q").unwrap();
    proxy.refuse(true);
    proxy.close_all();
    let call = tokio::spawn(async move { queue.add_item(Item::new("data")).await });
    tokio::time::sleep(ms(3_000)).await;
    assert!(!call.is_finished(), "{:?}", call.await);
    proxy.refuse(false);
    assert!(call.await.unwrap().unwrap());
}
