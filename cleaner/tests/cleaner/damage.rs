//! The binary finds and mends damage of every kind.

use leaseq::Client;
use leaseq_test_support::RedisServer;
use serde_json::Value;

use crate::support::{Cleaner, Place, file_url, item, lease, run, secs};

#[path = "../../../core/tests/support/damage.rs"]
mod cases;
use cases::{CASES, Hurt};

const STATES: [&str; 4] = ["ready", "delayed", "leased", "dead"];

async fn add_fixtures(client: &Client, name: &str) {
    let queue = client.queue(name).unwrap();
    queue.add_item(item("leased")).await.unwrap();
    let _held = lease(&queue, secs(1800)).await;
    queue.add_item(item("dead").max_attempts(1)).await.unwrap();
    queue.fail(&lease(&queue, secs(60)).await, "x", secs(0)).await.unwrap();
    queue.add_items([item("ready"), item("delayed").delay(secs(1800))]).await.unwrap();
}

fn report(url: &str, mode: &str, queue: &str) -> (i32, Value, Value) {
    let (status, out, log) = run(&["--url", url, mode, "--json", "--queue", queue]);
    let said: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{log}"));
    let part = if mode == "--check" { "check" } else { "deep" };
    (status, said["queues"][0][part].clone(), said)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_is_found_mended_and_gone() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let mut raw = server.connection();
    for (i, case) in CASES.iter().enumerate() {
        let name = format!("q{i}");
        add_fixtures(&client, &name).await;
        (case.hurt)(&mut Hurt { raw: &mut raw, queue: &name });
        let (status, found, said) = report(&server.url(), "--check", &name);
        assert_eq!(status, 1, "{}: {said:#}", case.name);
        for damage in case.finds {
            assert!(found["found"][damage.as_str()].is_u64(), "{}: {said:#}", case.name);
        }
        assert_eq!(found["mended"], serde_json::json!({}), "a check mends nothing");
        report(&server.url(), "--once", &name);
        let (status, found, said) = report(&server.url(), "--check", &name);
        assert!(status == 0 && found["sound"] == true, "{}: {said:#}", case.name);
        let queue = client.queue(&name).unwrap();
        for id in STATES {
            assert!(queue.get(id).await.unwrap().is_some(), "{}: {id} is lost", case.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_lost_comes_back() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_items((0..500).map(|i| item(&format!("{i}")))).await.unwrap();
    server.cli(&["DEL", "leaseq:{q}:ready"]);
    let (status, found, _) = report(&server.url(), "--check", "q");
    assert_eq!((status, &found["found"]["items in no state"]), (1, &500.into()));
    let (status, found, _) = report(&server.url(), "--once", "q");
    assert_eq!((status, &found["mended"]["items in no state"]), (0, &500.into()));
    assert_eq!(report(&server.url(), "--check", "q").0, 0);
    // In their order.
    for i in 0..500 {
        assert_eq!(lease(&queue, secs(60)).await.id_str().unwrap(), format!("{i}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_mended_is_reported_and_left_alone() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let mut raw = server.connection();
    for (name, key, kind) in
        [("one", "leased", "string"), ("two", "due", "string"), ("three", "items", "list")]
    {
        add_fixtures(&client, name).await;
        let key = format!("leaseq:{{{name}}}:{key}");
        server.cli(&["DEL", &key]);
        let make = if kind == "list" { "RPUSH" } else { "SET" };
        server.cli(&[make, &key, "somebody else's"]);
        let keys = || server.cli(&["DBSIZE"]);
        let before = keys();
        for mode in ["--check", "--once"] {
            let (status, out, log) = run(&["--url", &server.url(), mode, "--queue", name]);
            // A light clean may find the key first, and report it.
            assert!(matches!(status, 1 | 2), "{status}: {out}{log}");
            assert!(
                (out + &log).contains(if mode == "--check" { "wrong type" } else { "" }),
                "{log}"
            );
        }
        assert_eq!(server.cli(&["TYPE", &key]), kind);
        assert_eq!(keys(), before);
    }
    // An unreadable record.
    add_fixtures(&client, "four").await;
    let mut hurt = Hurt { raw: &mut raw, queue: "four" };
    let number = hurt.number("ready");
    hurt.run("HSET", "items", &[&number, "x"]);
    for mode in ["--check", "--once", "--once"] {
        let (status, found, said) = report(&server.url(), mode, "four");
        assert!(status == 1 && found["found"]["unreadable items"] == 1, "{said:#}");
    }
    assert_eq!(hurt.run("HGET", "items", &[&number]), "x");
    // Keys of others are ignored.
    add_fixtures(&client, "five").await;
    server.cli(&["SET", "leaseq:{five}:mine", "1"]);
    server.cli(&["SET", "leaseq:{fiv", "1"]);
    assert_eq!(report(&server.url(), "--once", "five").0, 0);
    assert_eq!(server.cli(&["EXISTS", "leaseq:{five}:mine", "leaseq:{fiv"]), "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_cannot_be_cleaned_does_not_stop_the_others() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    for name in ["bad", "good"] {
        client.queue(name).unwrap().add_item(item("a")).await.unwrap();
    }
    server.cli(&["SET", "leaseq:{bad}:delayed", "x"]);
    let cleaner = Cleaner::start(&server.url(), &[]);
    let line = cleaner.wait_for_log("\"ERROR\"");
    assert!(line.contains("queue bad"), "{line}");
    let good = client.queue("good").unwrap();
    drop(lease(&good, secs(1)).await);
    cleaner.wait_for_log("light clean");
    // The counts of the other queues are shown, and the failure of this one.
    cleaner.wait_ready();
    let (status, json) = cleaner.get("/queues.json");
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(status == 200 && json["queues"]["good"]["ready"] == 1, "{json}");
    assert!(json["queues"]["bad"].is_null() && json["uncounted"]["bad"].is_string(), "{json}");
    // The failure ends as soon as the queue is gone.
    server.cli(&["DEL", "leaseq:{bad}:delayed"]);
    cleaner.wait_for_queues(&["bad", "good"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_a_file_is_found_and_mended() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::File(folder);
    let Place::File(folder) = &place else { unreachable!() };
    let url = file_url(folder.path());
    let client = place.client().await;
    add_fixtures(&client, "q").await;
    client
        .queue("q")
        .unwrap()
        .add_item(leaseq::Item::new(vec![1; 5_000]).with_id("large"))
        .await
        .unwrap();
    client.close().await;
    let file = rusqlite::Connection::open(folder.path().join("queue.db")).unwrap();
    for (damage, mended) in [
        ("UPDATE queue SET ready0 = 77, dead = 0", true),
        ("INSERT INTO large VALUES (1, x'00')", true),
        ("UPDATE item SET sort_key = 9800000000000 WHERE state = 1", true),
        ("DELETE FROM large", false),
    ] {
        file.execute_batch(damage).unwrap();
        assert_eq!(report(&url, "--check", "q").0, 1, "{damage}");
        let (status, _, said) = report(&url, "--once", "q");
        assert_eq!(status, if mended { 0 } else { 1 }, "{damage}: {said:#}");
        assert_eq!(report(&url, "--check", "q").0, if mended { 0 } else { 1 }, "{damage}");
    }
}
