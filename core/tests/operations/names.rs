//! The list of queues, to which every user who adds items may write.

use ::redis::{Commands, cmd};
use leaseq::{Client, ErrorKind};

use crate::support::redis::Redis;
use crate::support::*;

const LIST: &str = "leaseq:queues";

#[tokio::test]
async fn strange_names_are_skipped_and_counted() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let client = Client::connect(&redis.server().url()).await.unwrap();
    for name in ["b", "a"] {
        client.queue(name).unwrap().add_item(item("x")).await.unwrap();
    }
    assert_eq!(client.queue_names().await.unwrap().skipped, 0);
    let strange: [&[u8]; 6] =
        [b"\xff\xfe", b"two\nlines", b"", b"{a}", &[b'x'; 100_000], "ä".as_bytes()];
    for name in strange {
        raw.hset::<_, _, _, ()>(LIST, name, "1").unwrap();
    }
    let found = client.queue_names().await.unwrap();
    assert_eq!((&found.names[..], found.skipped), (&["a".to_owned(), "b".to_owned()][..], 6));
    assert_eq!(client.queues().await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn all_names_are_listed_however_many_there_are() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    let client = Client::connect(&redis.server().url()).await.unwrap();
    let names: Vec<String> = (0..5_000).map(|i| format!("queue-{i:04}")).collect();
    let mut add = cmd("HSET");
    add.arg(LIST);
    for name in &names {
        add.arg(name).arg("1");
    }
    add.query::<i64>(&mut raw).unwrap();
    assert_eq!(client.queues().await.unwrap(), names);
}

#[tokio::test]
async fn a_user_without_the_right_to_list_gets_an_error_at_once() {
    let redis = Redis::start();
    let server = redis.server();
    for (rules, lacks) in [
        (&["~leaseq:*", "+@all", "-hscan"][..], "+hscan"),
        (&["~leaseq:{*", "+@all"], "leaseq:queues"),
        (&["~leaseq:*", "+info", "+hscan"], "+eval"),
    ] {
        server.cli(&[&["ACL", "SETUSER", "some", "reset", "on", ">pw"], rules].concat());
        let url = format!("redis://some:pw@127.0.0.1:{}/?timeout_ms=60000", server.port());
        let begin = std::time::Instant::now();
        let error = Client::connect(&url).await.unwrap().queues().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(lacks), "{error}");
        assert!(begin.elapsed() < secs(20), "{:?}", begin.elapsed());
    }
}
