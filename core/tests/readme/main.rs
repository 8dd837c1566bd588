//! The first example in the README is a program that works.
#![cfg(feature = "redis")]

use std::process::Command;

use leaseq_test_support::RedisServer;

include!("first.rs");

const README: &str = include_str!("../../../README.md");

#[test]
fn the_readme_shows_the_example() {
    let begin = README.find("```rust\n").unwrap() + "```rust\n".len();
    let end = begin + README[begin..].find("```\n").unwrap();
    assert_eq!(&README[begin..end], include_str!("first.rs"));
}

#[test]
fn the_example_sends_both_items_in_the_order_of_their_priorities() {
    let server = RedisServer::start();
    // Runs the test below in a process of its own, for the environment variable.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "example", "--ignored", "--nocapture", "--test-threads=1"])
        .env("LEASEQ_URL", server.url())
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
#[ignore = "run by the test above, which starts the server"]
fn example() {
    main().unwrap();
}
