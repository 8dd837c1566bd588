//! The first example of the book is a program that works, on either engine.
#![cfg(all(feature = "redis", feature = "sqlite"))]
// A failed step must stop the test and say where.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use leaseq_test_support::RedisServer;

include!("first.rs");

/// The same program, but for the URL: that is in `LEASEQ_URL`.
mod elsewhere {
    mod leaseq {
        pub(super) use ::leaseq::{Item, LeaseOptions, Result};

        pub(super) struct Client;

        impl Client {
            pub(super) async fn connect(_: &str) -> Result<::leaseq::Client> {
                ::leaseq::Client::from_env().await
            }
        }
    }

    include!("first.rs");

    pub(super) fn run() -> ::leaseq::Result<()> {
        main()
    }
}

const PAGE: &str = include_str!("../../../docs/first-queue.md");

#[test]
fn the_page_shows_the_example() {
    let begin = PAGE.find("```rust\n").unwrap() + "```rust\n".len();
    let end = begin + PAGE[begin..].find("```\n").unwrap();
    assert_eq!(&PAGE[begin..end], include_str!("first.rs"));
}

#[test]
fn the_page_of_redis_shows_the_line_for_it() {
    let page = include_str!("../../../docs/redis.md");
    let first = PAGE.lines().find(|line| line.contains("Client::connect(")).unwrap();
    let (code, _) = first.split_once(" //").unwrap();
    let other = code.trim().replace("sqlite:jobs.db", "redis://127.0.0.1/");
    assert!(page.contains(&format!("```rust\n{other}\n```\n")), "{other}");
}

/// Runs a test below in a process of its own, for its folder and environment.
fn assert_sends_both_items(test: &str, folder: &Path, url: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .current_dir(folder)
        .env("LEASEQ_URL", url)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    // The test's name may stand before the first line.
    let sent = |line| str::find(line, "sending").map(|from| &line[from..]);
    let sent: Vec<&str> = printed.lines().filter_map(sent).collect();
    assert_eq!(sent, [r#"sending b"your order""#, r#"sending b"hello""#]);
}

#[test]
fn the_example_sends_both_items_in_the_order_of_their_priorities() {
    let folder = tempfile::tempdir().unwrap();
    // A second run finds the file of the first, and the queue empty.
    for _ in 0..2 {
        assert_sends_both_items("example", folder.path(), "");
        assert!(folder.path().join("jobs.db").exists());
    }
}

#[test]
fn it_does_the_same_on_redis() {
    let (server, folder) = (RedisServer::start(), tempfile::tempdir().unwrap());
    assert_sends_both_items("example_elsewhere", folder.path(), &server.url());
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
#[ignore = "run by a test above, in a folder of its own"]
fn example() {
    main().unwrap();
}

#[test]
#[ignore = "run by a test above, which starts the server"]
fn example_elsewhere() {
    elsewhere::run().unwrap();
}
