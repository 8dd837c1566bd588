//! A cleaner with its own Redis user: the rights in the access-control file suffice, and a missing
//! right is reported instead of stopping a script half-way.

use leaseq::Client;
use leaseq_test_support::RedisServer;

use crate::support::{Cleaner, item, lease, ms, run};

const USERS: &str = include_str!("../../../core/docs/users.acl");

fn rules(role: &str) -> Vec<String> {
    let begin = format!("user leaseq-{role} ");
    let line = USERS.lines().find(|line| line.starts_with(&begin)).unwrap();
    let rules = line.split(' ').skip(2).filter(|rule| !rule.starts_with('>'));
    rules.map(str::to_owned).collect()
}

fn set(server: &RedisServer, rules: &[String]) -> String {
    let mut words = vec!["ACL", "SETUSER", "cleaner", "reset", ">pw"];
    words.extend(rules.iter().map(String::as_str));
    server.cli(&words);
    format!("redis://cleaner:pw@127.0.0.1:{}/", server.port())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleaner_needs_no_more_than_its_rights() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let url = set(&server, &rules("cleaner"));
    let cleaner = Cleaner::start(&url, &[]);
    cleaner.wait_for_queues(&["q"]);
    drop(lease(&queue, ms(50)).await);
    cleaner.wait_for_log("light clean");
    for mode in ["--check", "--once"] {
        let (status, out, log) = run(&["--url", &url, mode]);
        assert_eq!(status, 0, "{out}{log}");
    }
    assert!(
        !cleaner.logs().iter().any(|line| line.contains("WARN") || line.contains("ERROR")),
        "{:#?}",
        cleaner.logs()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_right_is_named_and_nothing_is_torn() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let without: Vec<String> =
        rules("cleaner").into_iter().filter(|rule| rule != "+hincrby").collect();
    let url = set(&server, &without);
    drop(lease(&queue, ms(1)).await);
    let cleaner = Cleaner::start(&url, &[]);
    let line = cleaner.wait_for_log("lacks rights");
    assert!(line.contains("+hincrby"), "{line}");
    let (status, why) = cleaner.get("/readyz");
    assert!(status == 503 && why.contains("+hincrby"), "{why}");
    let (status, out, log) = run(&["--url", &url, "--once"]);
    assert!(status == 1 && out.contains("nothing was begun; grant +hincrby"), "{out}{log}");
    assert!(queue.check().await.unwrap().is_sound(), "a script was stopped half-way");
    assert_eq!(queue.counts().await.unwrap().leased, 1);
    // It continues as soon as it has the right.
    set(&server, &rules("cleaner"));
    cleaner.wait_for_log("light clean");
    cleaner.wait_ready();
}
