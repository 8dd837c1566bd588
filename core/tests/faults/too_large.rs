//! An item that is too large for the server: only its own call fails.

use leaseq::{ErrorKind, Item};
use leaseq_test_support::RedisServer;

use crate::support::{add, client, sound};

const LARGE: usize = 2 << 20;

#[tokio::test]
async fn an_item_above_the_limit_of_the_server_fails_alone() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 10_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    server.cli(&["CONFIG", "SET", "proto-max-bulk-len", "1mb"]);
    for round in 0..5 {
        let calls = (0..20).map(|i| {
            let queue = queue.clone();
            let data = if i == 7 { vec![b'x'; LARGE] } else { b"data".to_vec() };
            let item = Item::new(data).with_id(format!("{round}-{i}"));
            tokio::spawn(async move { queue.add_item(item).await })
        });
        for (i, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
            match call.await.unwrap() {
                Ok(added) => assert!(added && i != 7, "{i}"),
                Err(error) => {
                    assert_eq!((i, error.kind()), (7, ErrorKind::Invalid), "{error}");
                    assert!(!error.outcome_unknown());
                    let text = error.to_string();
                    for part in ["queue q", "2097", "1048576", "proto-max-bulk-len"] {
                        assert!(text.contains(part), "{part}: {text}");
                    }
                }
            }
        }
    }
    assert_eq!(queue.queue_len().await.unwrap(), 1 + 5 * 19);
    sound(&queue).await;
}
