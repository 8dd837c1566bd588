//! Data of another version.

use ::redis::Commands;
use leaseq::{ErrorKind, State};

use crate::support::redis::Redis;
use crate::support::*;

/// Each queue has a format of its own; a file of the embedded engine has one, and is tested with it.
#[tokio::test]
async fn a_newer_storage_format_is_incompatible() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let bench = Bench::new(redis);
    let mut set_format = |format| {
        raw.hset::<_, _, _, ()>("leaseq:{jobs}:meta", "format", format).unwrap();
    };
    bench.queue().await.add_item(item("a")).await.unwrap();
    set_format("2");
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
        assert!(error.to_string().contains("format 2"), "{error}");
    }
    assert_eq!(bench.backend().dump(), before);
    set_format("1");
    assert_eq!(drain(&queue).await, ["a"]);
}
