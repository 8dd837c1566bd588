//! A wake token that is lost, or taken by a client that does not need it, delays others only a little.

use std::time::Instant;

use leaseq::Item;
use leaseq_test_support::{Proxy, RedisServer, eventually};

use crate::support::{SOON, calls, client, ms, wait, waiting};

#[tokio::test]
async fn a_lost_token_delays_by_two_seconds_at_most() {
    let server = RedisServer::start();
    let worker = client(&server.url(), 5_000).await.queue("q").unwrap();
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    let call = waiting(&worker, wait()).await;
    let begin = Instant::now();
    // As if the token were lost: the server believes that nobody waits.
    server.cli(&["HSET", "leaseq:{q}:meta", "waiting", "0"]);
    assert!(other.add_item(Item::new("data")).await.unwrap());
    assert!(tokio::time::timeout(SOON, call).await.expect("it looks").unwrap().unwrap().is_some());
    assert!(begin.elapsed() < ms(3_500), "{:?}", begin.elapsed());
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
        // The server serves clients in the order of their commands.
        assert!(eventually(SOON, async || blocked(&server) == 1).await);
        let call = waiting(&worker, wait()).await;
        assert!(eventually(SOON, async || blocked(&server) == 2).await);
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        let begin = Instant::now();
        assert!(other.add_item(Item::new("data")).await.unwrap());
        let lease = tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap();
        assert!(lease.unwrap().is_some());
        assert!(begin.elapsed() < ms(1_500), "{:?}", begin.elapsed());
        quitter_leaves(quitter).await;
    }
}

/// The token may say that a pause ends earlier, or that something is due earlier, than others know.
#[tokio::test]
async fn a_token_for_a_time_is_passed_on() {
    for paused in [true, false] {
        let server = RedisServer::start();
        let quitter = client(&server.url(), 5_000).await.queue("q").unwrap();
        let other = client(&server.url(), 5_000).await.queue("q").unwrap();
        if paused {
            other.pause_with(leaseq::PauseOptions::new().duration(ms(600_000))).await.unwrap();
        } else {
            assert!(other.add_item(Item::new("data").delay(ms(600_000))).await.unwrap());
        }
        let call = waiting(&quitter, wait()).await;
        assert!(eventually(SOON, async || blocked(&server) == 1).await);
        // As if another client waited without polling, and the quitter had taken its token.
        server.cli(&["HSET", "leaseq:{q}:meta", "waiting", "9000000000000"]);
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        let is_passed_on = async || server.cli(&["LLEN", "leaseq:{q}:wake"]) == "1";
        assert!(eventually(SOON, is_passed_on).await, "paused: {paused}");
        quitter_leaves(quitter).await;
    }
}

/// Keeps the client alive until here.
async fn quitter_leaves(queue: leaseq::WorkQueue) {
    assert_eq!(queue.queue_len().await.unwrap(), 0);
}

#[tokio::test]
async fn a_token_taken_by_a_client_that_hangs_delays_by_two_seconds_at_most() {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    let hanging = client(&proxy.url(), 5_000).await.queue("q").unwrap();
    let worker = client(&server.url(), 5_000).await.queue("q").unwrap();
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    assert_eq!(other.queue_len().await.unwrap(), 0);
    // The server serves clients in the order of their commands.
    let _hangs = waiting(&hanging, wait()).await;
    assert!(eventually(SOON, async || blocked(&server) == 1).await);
    let call = waiting(&worker, wait()).await;
    let looked = Instant::now();
    assert!(eventually(SOON, async || blocked(&server) == 2).await);
    proxy.black_hole();
    proxy.black_hole_new(true);
    // The only token for this due time goes to the client that hangs.
    assert!(other.add_item(Item::new("data").delay(ms(100))).await.unwrap());
    let lease = tokio::time::timeout(SOON, call).await.expect("it looks").unwrap().unwrap();
    assert!(lease.is_some());
    assert!(looked.elapsed() < ms(3_500), "{:?}", looked.elapsed());
}

#[tokio::test]
async fn many_clients_that_stopped_waiting_leave_one_token() {
    const CLIENTS: usize = 30;
    let server = RedisServer::start();
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let client = client(&server.url(), 5_000).await;
        let queue = client.queue("q").unwrap();
        clients.push((client, waiting(&queue, wait()).await));
    }
    let count = |name: &str| calls(&server).get(name).copied().unwrap_or(0);
    let before = count("evalsha");
    for (_, call) in &mut clients {
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    // Clients poll once more without a caller, and their blocking commands continue for a while.
    assert!(eventually(SOON, async || count("evalsha") >= before + CLIENTS as u64).await);
    let tokens = blocked(&server) / 2;
    assert!(tokens > 1, "{tokens}");
    // As if many items became ready while others put their tokens back.
    let before = count("eval");
    server.cli(&[vec!["RPUSH", "leaseq:{q}:wake"], vec!["1"; tokens]].concat());
    assert!(eventually(SOON, async || count("eval") > before).await);
    // The other clients may also take a token and put it back.
    assert!(eventually(4 * SOON, async || blocked(&server) == 0).await);
    let left: usize = server.cli(&["LLEN", "leaseq:{q}:wake"]).parse().unwrap();
    assert!(left <= 1, "{left} of {tokens} tokens");
}

/// How many clients block.
fn blocked(server: &RedisServer) -> usize {
    let clients = server.cli(&["CLIENT", "LIST"]);
    clients.lines().filter(|line| line.contains("cmd=blpop")).count()
}
