//! Data of another version, and the form of stored data.

use ::redis::Commands;
use leaseq::{CompleteOptions, ErrorKind, State};

use crate::support::redis::Redis;
use crate::support::*;

/// Each queue has a format of its own. A file of the embedded engine has one format; its own tests check
/// that.
#[tokio::test]
async fn a_newer_storage_format_is_incompatible() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let mut set_format = |format| {
        raw.hset::<_, _, _, ()>("leaseq:{jobs}:meta", "format", format).unwrap();
    };
    bench.queue().await.add_item(item("a")).await.unwrap();
    set_format("3");
    let before = bench.backend().dump();
    let queue = bench.queue().await;
    for error in [
        queue.add_item(item("b")).await.unwrap_err(),
        queue.lease(at_once()).await.unwrap_err(),
        queue.light_clean().await.unwrap_err(),
        queue.deep_clean().await.unwrap_err(),
        queue.counts().await.unwrap_err(),
        queue.purge(State::Ready).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Incompatible, "{error}");
        assert!(error.to_string().contains("format 3"), "{error}");
    }
    assert_eq!(bench.backend().dump(), before);
    set_format("2");
    assert_eq!(drain(&queue).await, ["a"]);
}

/// A later version may keep items in places that this one does not know: it must not mend them.
#[tokio::test]
async fn a_client_that_is_outdated_meanwhile_mends_nothing() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    queue.add_items([item("a"), item("b"), item("c")]).await.unwrap();
    let lease = take(&queue).await;
    raw.del::<_, ()>("leaseq:{jobs}:leased").unwrap();
    raw.hset::<_, _, _, ()>("leaseq:{jobs}:meta", "format", "2+9").unwrap();
    let before = bench.backend().dump();
    for error in [
        queue.deep_clean().await.unwrap_err(),
        queue.light_clean().await.unwrap_err(),
        queue.complete(&lease).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Incompatible, "{error}");
    }
    assert_eq!(bench.backend().dump(), before);
}

/// The server stores a sorted set of up to 128 numbers as a list, which it searches linearly.
#[tokio::test]
async fn many_leases_at_once_are_stored_as_a_skip_list() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    queue.add_items((0..60).map(|n| item(n.to_string()))).await.unwrap();
    let mut kept = || {
        let encoding =
            ::redis::cmd("OBJECT").arg("ENCODING").arg("leaseq:{jobs}:leased").query(&mut raw);
        (encoding.unwrap(), raw.zcard::<_, u64>("leaseq:{jobs}:leased").unwrap())
    };
    let few = queue.lease_many(20, at_once()).await.unwrap();
    assert_eq!(kept(), ("listpack".to_owned(), 20));
    let many = queue.lease_many(40, at_once()).await.unwrap();
    assert_eq!(kept(), ("skiplist".to_owned(), 60));
    assert_eq!(queue.complete_many(few.iter().chain(&many)).await.unwrap(), [true; 60]);
    assert!(queue.check().await.unwrap().is_sound());
}

/// The server stores a hash of up to 512 short fields as a list, which it searches linearly.
#[tokio::test]
async fn hashes_with_an_entry_for_each_item_are_stored_as_tables() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let mut expect_tables = |keys: &[&str]| {
        for key in keys {
            let mut encoding = ::redis::cmd("OBJECT");
            encoding.arg("ENCODING").arg(format!("leaseq:{{jobs}}:{key}"));
            let encoding: String = encoding.query(&mut raw).unwrap();
            assert_eq!(encoding, "hashtable", "{key}");
        }
    };
    let bench = Bench::new(redis);
    let queue = bench.queue().await;
    queue.add_item(item("a").priority(1)).await.unwrap();
    expect_tables(&["meta", "items", "ids", "details"]);
    queue.add_item(item("b").unique("b").key("b").retain(secs(60))).await.unwrap();
    expect_tables(&["uniques"]);
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    expect_tables(&["places"]);
    let results = CompleteOptions::new().results([None, Some("done".into())]);
    assert_eq!(queue.complete_many_with(&leases, results).await.unwrap(), [true; 2]);
    expect_tables(&["ended", "results"]);
    assert!(queue.check().await.unwrap().is_sound());
}
