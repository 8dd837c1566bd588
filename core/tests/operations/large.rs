//! A large item makes only its own pages small, and none after it is gone.

use std::time::Duration;

use ::redis::{Connection, cmd};
use leaseq::{Item, State, WorkQueue};

use crate::support::redis::Redis;
use crate::support::*;

const LARGE: usize = 8 << 20;

fn large(id: &str) -> Item {
    Item::new(vec![7; LARGE]).with_id(id)
}

async fn add_small(queue: &WorkQueue, count: usize) {
    queue.add_items((0..count).map(|i| item(format!("{i}")))).await.unwrap();
}

/// How many scripts of any kind the server has run.
fn runs(raw: &mut Connection) -> u64 {
    let stats: String = cmd("INFO").arg("commandstats").query(raw).unwrap();
    let line = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    line.map_or(0, |line| line.split(',').next().unwrap().parse().unwrap())
}

/// How many scripts a deep clean of the queue runs.
async fn steps(raw: &mut Connection, queue: &WorkQueue) -> u64 {
    let before = runs(raw);
    let report = queue.deep_clean().await.unwrap();
    assert!(report.is_sound(), "{:?}", report.details);
    runs(raw) - before
}

/// An item that was removed while it was ready may have left a tombstone.
async fn full_pages(queue: &WorkQueue) {
    let page = queue.list(State::Ready, None, 1000).await.unwrap();
    assert!(page.items.len() >= 999, "{} items on a page", page.items.len());
    let leases = queue.lease_many(1000, at_once()).await.unwrap();
    assert!(leases.len() >= 999, "{} leases", leases.len());
    queue.release_many(&leases, Duration::ZERO).await.unwrap();
}

#[tokio::test]
async fn pages_are_full_again_when_the_large_item_is_gone() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let client = bench.client().await;
    let before = client.queue("never-large").unwrap();
    add_small(&before, 1000).await;
    let fewest = steps(&mut raw, &before).await;
    for end in ["complete", "remove", "purge", "expire"] {
        let queue = client.queue(end).unwrap();
        queue.add_item(large("large").max_attempts(1)).await.unwrap();
        assert_sound(&queue).await;
        match end {
            "complete" => assert!(queue.complete(&take(&queue).await).await.unwrap()),
            "remove" => assert!(queue.remove("large").await.unwrap()),
            "purge" => assert_eq!(queue.purge(State::Ready).await.unwrap(), 1),
            _ => {
                take(&queue).await;
                bench.advance(secs(10));
                assert_eq!(queue.light_clean().await.unwrap().died, 1);
                assert_eq!(queue.purge(State::Dead).await.unwrap(), 1);
            }
        }
        add_small(&queue, 1000).await;
        full_pages(&queue).await;
        let steps = steps(&mut raw, &queue).await;
        // The clean also reads the extras that the release has left, and the number of entries in a step
        // differs from hash to hash. With small pages there would be hundreds.
        assert!(steps <= 3 * fewest, "{end}: {steps} steps, {fewest} without any large item");
        let before = runs(&mut raw);
        assert_eq!(queue.purge(State::Ready).await.unwrap(), 1000);
        assert!(runs(&mut raw) - before <= 3);
        assert_sound(&queue).await;
    }
}

#[tokio::test]
async fn pages_that_do_not_hold_the_large_item_are_full() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    add_small(&queue, 1500).await;
    let fewest = steps(&mut raw, &queue).await;
    queue.add_item(large("large")).await.unwrap();
    full_pages(&queue).await;
    let steps = steps(&mut raw, &queue).await;
    assert!(steps <= 3 * fewest, "{steps} steps, {fewest} without the large item");
    let ids: Vec<_> = list_all(&queue, State::Ready, 1000).await;
    assert_eq!((ids.len(), &ids[1500].id[..]), (1501, &b"large"[..]));
}

/// A page has about 16 MiB of items in the order of the queue, whatever their sizes.
#[tokio::test]
async fn a_page_ends_where_it_is_full() {
    let bench = crate::support::redis::bench();
    let queue = bench.queue().await;
    let sizes = [1 << 20, 3, LARGE, 20_000, LARGE - 64, 5 << 20, 17 << 20, 1, 16_800, 16_700];
    let client = bench.client_with(options(|options| options.max_data = 32 << 20)).await;
    let adds = client.queue("jobs").unwrap();
    for (i, size) in sizes.into_iter().enumerate() {
        let item = Item::new(vec![b'x'; size]).with_id(format!("{i}"));
        adds.add_item(if i == 3 { item.max_attempts(5) } else { item }).await.unwrap();
    }
    adds.add_items((0..50).map(|i| item(format!("gone{i}")))).await.unwrap();
    adds.remove_many((0..50).map(|i| format!("gone{i}"))).await.unwrap();
    assert_sound(&queue).await;

    let expected: Vec<String> = (0..sizes.len()).map(|i| i.to_string()).collect();
    let listed: Vec<_> = list_all(&queue, State::Ready, 1000).await;
    assert!(listed.iter().zip(sizes).all(|(info, size)| info.data.len() == size));
    let (mut all, mut pages) = (Vec::new(), Vec::new());
    loop {
        let leases = queue.lease_many(1000, at_once()).await.unwrap();
        if leases.is_empty() {
            break;
        }
        let bytes: usize = leases.iter().map(|lease| lease.data().len()).sum();
        assert!(bytes <= 17 << 20 || leases.len() == 1, "{bytes} bytes in one reply");
        pages.push(leases.len());
        all.extend(leases);
    }
    assert_eq!((ids(&all), pages), (expected.clone(), vec![4, 2, 1, 3]));
    // The same for items in a sorted set, and each page is read once.
    let listed: Vec<_> = list_all(&queue, State::Leased, 1000).await;
    assert_eq!(listed.len(), sizes.len());
    queue.release_many(&all, Duration::ZERO).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().ready, sizes.len() as u64);
    assert_sound(&queue).await;
    let again: Vec<String> = list_all(&queue, State::Ready, 3)
        .await
        .iter()
        .map(|info| String::from_utf8(info.id.to_vec()).unwrap())
        .collect();
    assert_eq!(again, expected);
    assert_eq!(queue.purge(State::Ready).await.unwrap(), sizes.len() as u64);
    assert_eq!(queue.counts().await.unwrap().ready, 0);
    assert_sound(&queue).await;
}

/// The stored size is damaged: a check finds it, a deep clean corrects it.
#[tokio::test]
async fn a_wrong_size_is_found_and_mended() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    queue.add_items([large("a"), item("b")]).await.unwrap();
    let number: String = cmd("HGET").arg("leaseq:{jobs}:ids").arg("a").query(&mut raw).unwrap();
    let right: String =
        cmd("HGET").arg("leaseq:{jobs}:details").arg(&number).query(&mut raw).unwrap();
    let meta = "leaseq:{jobs}:meta";
    for damage in [
        &["HSET", "leaseq:{jobs}:details", &number, "0:0:0:0:0:0:0:0:"][..],
        &["HSET", "leaseq:{jobs}:details", &number, "0:17000:0:0:0:0:0:0:"],
        &["HDEL", "leaseq:{jobs}:details", &number],
        &["HSET", meta, "large", "1salt0"],
        &["HDEL", meta, "large", "largest"],
        &["HSET", meta, "largest", "20000"],
    ] {
        cmd(damage[0]).arg(&damage[1..]).query::<i64>(&mut raw).unwrap();
        assert!(!queue.check().await.unwrap().is_sound(), "{damage:?}");
        queue.deep_clean().await.unwrap();
        assert_sound(&queue).await;
        let now: String =
            cmd("HGET").arg("leaseq:{jobs}:details").arg(&number).query(&mut raw).unwrap();
        assert_eq!(now, right, "{damage:?}");
    }
}
