//! Who was to look when the rate allows the next lease does not, because its reply came late or never.

use std::time::{Duration, Instant};

use leaseq::{Lease, LeaseOptions, Rate, SettingsChange, WorkQueue};
use leaseq_test_support::{RedisServer, Then, eventually};
use tokio::task::JoinHandle;

use crate::support::{
    LONG, SOON, add, at_once, behind_proxy, client, is_script, lease_now, ms, wait,
};

const PERIOD: Duration = Duration::from_secs(1);

/// The rate is used up. Returns since when.
async fn use_up(queue: &WorkQueue) -> Instant {
    queue.configure(SettingsChange::new().rate(Rate::new(1, PERIOD))).await.unwrap().unwrap();
    add(queue, 2).await;
    lease_now(queue).await;
    Instant::now()
}

/// A call of the other client, after one of the first is to look.
async fn waits(
    server: &RedisServer,
    queue: WorkQueue,
) -> JoinHandle<leaseq::Result<Option<Lease>>> {
    let key = format!("leaseq:{{{}}}:meta", queue.name());
    let looks = async || !server.cli(&["HGET", &key, "rate_look"]).trim().is_empty();
    assert!(eventually(SOON, looks).await, "nobody looks");
    tokio::spawn(async move { queue.lease(wait()).await })
}

/// By its polls it would get the item 2 s after it has asked.
async fn gets_it_in_time(waiting: JoinHandle<leaseq::Result<Option<Lease>>>, since: Instant) {
    assert!(waiting.await.unwrap().unwrap().is_some());
    let after = since.elapsed();
    assert!(after < PERIOD + ms(700), "{after:?}");
}

/// The first call of a client that looks, with a reply that comes when its wait is over, or when its caller is gone.
async fn the_reply_comes_too_late(gone: bool) {
    let (server, proxy, first) = behind_proxy(5_000).await;
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    let queue = first.queue("q").unwrap();
    // The first call on a queue has more to do.
    queue.queue_len().await.unwrap();
    let since = use_up(&other).await;
    proxy.delay(ms(100));
    let options = LeaseOptions::new(LONG).wait(if gone { LONG } else { ms(1) });
    let call = tokio::spawn(async move { queue.lease(options).await });
    let waiting = waits(&server, other).await;
    if gone {
        call.abort();
    } else {
        assert!(call.await.unwrap().unwrap().is_none());
    }
    gets_it_in_time(waiting, since).await;
}

#[tokio::test]
async fn a_call_whose_wait_ends_before_the_reply_lets_another_client_look() {
    the_reply_comes_too_late(false).await;
}

#[tokio::test]
async fn a_call_whose_caller_is_gone_before_the_reply_lets_another_client_look() {
    the_reply_comes_too_late(true).await;
}

#[tokio::test]
async fn a_lost_reply_lets_another_client_look() {
    let (server, proxy, first) = behind_proxy(300).await;
    let other = client(&server.url(), 5_000).await.queue("q").unwrap();
    let queue = first.queue("q").unwrap();
    queue.queue_len().await.unwrap();
    let since = use_up(&other).await;
    // Now the client knows that the queue is an extended one.
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    // As long as the call retries.
    proxy.drop_replies(is_script("lease extended", "q"), usize::MAX, Then::KeepOpen);
    let call = tokio::spawn(async move { queue.lease(wait()).await });
    let waiting = waits(&server, other).await;
    assert!(call.await.unwrap().unwrap_err().outcome_unknown());
    proxy.keep_replies();
    gets_it_in_time(waiting, since).await;
}
