//! Progress that cannot be stored.

use leaseq::Item;
use leaseq_test_support::{RedisServer, eventually};

use crate::support::{SOON, client, lease_now, ms};

/// Sending it again would fail again. The first value of a lease is sent at once, so its holder has the error.
#[tokio::test]
async fn a_value_that_the_server_refuses_is_dropped() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 5_000).await.queue("q").unwrap();
    for id in ["a", "b"] {
        assert!(queue.add_item(Item::new("data").with_id(id)).await.unwrap());
    }
    let (a, b) = (lease_now(&queue).await, lease_now(&queue).await);
    queue.set_progress(&a, "stored").await.unwrap();
    queue.set_progress(&a, "refused").await.unwrap();
    server.cli(&["RENAME", "leaseq:{q}:details", "aside"]);
    server.cli(&["SET", "leaseq:{q}:details", "no hash"]);
    let refused = async || server.cli(&["INFO", "errorstats"]).contains("errorstat_WRONGTYPE");
    assert!(eventually(SOON, refused).await);
    queue.set_progress(&b, "refused").await.unwrap_err();
    server.cli(&["RENAME", "aside", "leaseq:{q}:details"]);
    // A release sends what waits.
    queue.release(&a, ms(0)).await.unwrap();
    let found = queue.get("a").await.unwrap().unwrap();
    assert_eq!(found.progress.as_deref(), Some(&b"stored"[..]));
}
