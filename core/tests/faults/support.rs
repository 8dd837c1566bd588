//! Helpers of the fault tests.

use std::collections::HashMap;
use std::time::Duration;

use leaseq::{Client, Item, Lease, LeaseOptions, WorkQueue};
use leaseq_test_support::{Proxy, RedisServer, eventually};

/// Longer than any test, so that a stranded item is noticed.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// How long a test may wait for a condition before it fails.
pub(crate) const SOON: Duration = Duration::from_secs(5);

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A client whose operations time out after `timeout_ms`.
pub(crate) async fn client(url: &str, timeout_ms: u64) -> Client {
    Client::connect(&format!("{url}?timeout_ms={timeout_ms}")).await.unwrap()
}

/// A lease of 60 s, as soon as there is an item.
pub(crate) fn wait() -> LeaseOptions {
    LeaseOptions::new(LONG)
}

/// A lease of 60 s, if there is an item.
pub(crate) fn at_once() -> LeaseOptions {
    LeaseOptions::new(LONG).wait(Duration::ZERO)
}

pub(crate) async fn lease_now(queue: &WorkQueue) -> Lease {
    queue.lease(at_once()).await.unwrap().expect("an item is ready")
}

/// Adds items with the ids 0 to `n` - 1.
pub(crate) async fn add(queue: &WorkQueue, n: usize) {
    let items = (0..n).map(|i| Item::new("data").with_id(i.to_string()));
    let added = queue.add_items(items).await.unwrap();
    assert!(added.iter().all(|added| *added));
}

/// A waiting lease call in a task of its own, which has already asked the server.
pub(crate) async fn waiting(
    queue: &WorkQueue,
    options: LeaseOptions,
) -> tokio::task::JoinHandle<leaseq::Result<Option<Lease>>> {
    // The first call on a queue has more to do.
    assert_eq!(queue.queue_len().await.unwrap(), 0);
    let mut call = Box::pin({
        let queue = queue.clone();
        async move { queue.lease(options).await }
    });
    // The call is pending before the next call on the queue is made.
    let early = tokio::time::timeout(Duration::ZERO, &mut call).await;
    assert!(early.is_err(), "nothing to wait for: {early:?}");
    let call = tokio::spawn(call);
    // This call follows it in order.
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    call
}

/// Checks that all items become ready within 5 s, and that each is leased once and completed.
pub(crate) async fn all_at_once(queue: &WorkQueue, n: u64) {
    let mut counts = None;
    let ready = eventually(SOON, async || {
        counts = Some(queue.counts().await.unwrap());
        counts.as_ref().is_some_and(|counts| (counts.ready, counts.leased) == (n, 0))
    });
    assert!(ready.await, "not {n} ready items, leased to nobody: {counts:?}");
    let mut left = n as usize;
    while left > 0 {
        let leases = queue.lease_many(1_000, at_once()).await.unwrap();
        assert!(!leases.is_empty());
        left -= leases.len();
        assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
    }
    sound(queue).await;
    assert_eq!(queue.queue_len().await.unwrap(), 0);
}

/// Checks that the stored data is sound.
pub(crate) async fn sound(queue: &WorkQueue) {
    let report = queue.check().await.unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// Whether a command is this script, by digest or by text, for this queue.
pub(crate) fn is_script(name: &str, queue: &str) -> impl Fn(&[Vec<u8>]) -> bool + Send + 'static {
    let (_, text) = leaseq::testing::scripts().iter().find(|(known, _)| *known == name).unwrap();
    let digest = redis::Script::new(text).get_hash().to_owned();
    let tag = format!("{{{queue}}}").into_bytes();
    move |args: &[Vec<u8>]| {
        let [_, script, _, key, ..] = args else { return false };
        (script == digest.as_bytes() || script == text.as_bytes())
            && key.windows(tag.len()).any(|part| part == tag)
    }
}

/// Loads the scripts into the server, because their first calls take one more round trip.
pub(crate) async fn warm_up(client: &Client) {
    let queue = client.queue("warm-up").unwrap();
    add(&queue, 2).await;
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    queue.extend(&leases[0], LONG).await.unwrap();
    queue.release(&leases[0], Duration::ZERO).await.unwrap();
    assert!(queue.complete(&leases[1]).await.unwrap());
    let both = queue.complete_and_lease([&leases[1]], 1, at_once()).await.unwrap();
    queue.release(&both.leases[0], Duration::ZERO).await.unwrap();
}

/// A server, a proxy in front of it, and a client of the proxy.
pub(crate) async fn behind_proxy(timeout_ms: u64) -> (RedisServer, Proxy, Client) {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    let client = client(&proxy.url(), timeout_ms).await;
    warm_up(&client).await;
    (server, proxy, client)
}

/// Connections of clients (without this helper's) to the server.
pub(crate) fn connections(server: &RedisServer) -> usize {
    let list = server.cli(&["CLIENT", "LIST", "TYPE", "normal"]);
    list.lines().filter(|line| !line.contains("cmd=client|list")).count()
}

/// How often the server executed each command so far.
pub(crate) fn calls(server: &RedisServer) -> HashMap<String, u64> {
    let info = server.cli(&["INFO", "commandstats"]);
    let line = |line: &str| {
        let (name, figures) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), figures.split(',').next()?.parse().ok()?))
    };
    info.lines().filter_map(line).collect()
}
