//! The cost of waiting: connections and commands.

use std::collections::HashMap;
use std::time::Duration;

use leaseq::Client;
use leaseq_test_support::{RedisServer, eventually};
use tokio::task::JoinSet;

use crate::support::{add, calls, client, connections, ms, wait, waiting};

const WATCHED: Duration = Duration::from_secs(6);

/// Commands that the server executed for clients while they only waited.
async fn while_idle(server: &RedisServer) -> HashMap<String, u64> {
    let before = calls(server);
    tokio::time::sleep(WATCHED).await;
    let mut after = calls(server);
    for (name, count) in &mut after {
        *count -= before.get(name).unwrap_or(&0);
    }
    // Commands inside a script are not a client's; INFO is this test's.
    after.retain(|name, count| {
        *count > 0 && ["evalsha", "eval", "blpop", "client|unblock", "rpush"].contains(&&**name)
    });
    after
}

async fn wait_on(client: &Client, queues: usize) {
    for i in 0..queues {
        waiting(&client.queue(&format!("q{i}")).unwrap(), wait()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_process_sends_about_one_command_a_second() {
    let mut cases = JoinSet::new();
    // Many calls on one queue, a single call on a queue, and a call on each of many queues.
    for (name, queues, calls) in [("one", 1, 1), ("many calls", 1, 3_000), ("many queues", 50, 1)] {
        cases.spawn(async move {
            let server = RedisServer::start();
            let client = client(&server.url(), 5_000).await;
            wait_on(&client, queues).await;
            let queue = client.queue("q0").unwrap();
            let mut more = JoinSet::new();
            for _ in 1..calls {
                let queue = queue.clone();
                more.spawn(async move { queue.lease(wait()).await });
            }
            tokio::time::sleep(ms(500)).await;
            let sent = while_idle(&server).await;
            let total: u64 = sent.values().sum();
            println!("{name}: {total} commands in {WATCHED:?}: {sent:?}");
            assert!(total <= WATCHED.as_secs() + 3, "{name}: {total} commands: {sent:?}");
            assert!(connections(&server) <= 2);
        });
    }
    while let Some(case) = cases.join_next().await {
        case.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waiting_calls_hold_two_connections_and_all_get_an_item() {
    const CALLS: usize = 10_000;
    let server = RedisServer::start();
    let workers = client(&server.url(), 10_000).await;
    let queue = workers.queue("q").unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..CALLS {
        let queue = queue.clone();
        calls.spawn(async move { queue.lease(wait()).await });
    }
    // A later call was answered, so they are all pending.
    assert!(queue.lease(crate::support::at_once()).await.unwrap().is_none());
    assert!(eventually(ms(2_000), async || connections(&server) == 2).await);
    let producer = client(&server.url(), 10_000).await.queue("q").unwrap();
    add(&producer, CALLS).await;
    let all = async {
        let mut ids = std::collections::HashSet::new();
        while let Some(lease) = calls.join_next().await {
            ids.insert(lease.unwrap().unwrap().unwrap().id().to_vec());
        }
        ids.len()
    };
    let got = tokio::time::timeout(Duration::from_secs(10), all).await;
    assert_eq!(got.expect("all get an item"), CALLS);
    assert!(connections(&server) <= 3, "two, and one of the producer");
}

#[tokio::test]
async fn a_client_that_is_dropped_or_closed_leaves_no_connection() {
    let server = RedisServer::start();
    for close in [false, true] {
        let client = client(&server.url(), 5_000).await;
        let queue = client.queue("q").unwrap();
        waiting(&queue, wait()).await.abort();
        // With a wait in progress, and with a finished one.
        assert!(queue.lease(wait().wait(ms(20))).await.unwrap().is_none());
        assert!(eventually(ms(3_000), async || connections(&server) == 2).await);
        if close {
            client.close().await;
        }
        drop((client, queue));
        let gone = eventually(ms(3_000), async || connections(&server) == 0);
        assert!(gone.await, "closed: {close}");
    }
}

#[tokio::test]
async fn the_servers_data_about_a_client_does_not_grow_with_its_calls() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 5_000).await.queue("q").unwrap();
    for round in 0..50 {
        add(&queue, 3).await;
        assert_eq!(queue.light_clean().await.unwrap().expired, 0);
        assert!(queue.lease(crate::support::at_once()).await.unwrap().is_some());
        assert_eq!(queue.purge(leaseq::State::Ready).await.unwrap(), 2);
        assert_eq!(queue.purge(leaseq::State::Leased).await.unwrap(), 1);
        let lanes: u64 = server.cli(&["HLEN", "leaseq:{q}:lanes"]).parse().unwrap();
        assert!(lanes <= 8, "{lanes} lanes after {} rounds", round + 1);
    }
}
