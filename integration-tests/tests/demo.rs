//! The demo tells the truth, on a server of its own and on one that it is given.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use leaseq_test_support::RedisServer;

fn demo() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo"));
    command.env_remove("LEASEQ_URL").env_remove("REDIS_URL");
    command
}

/// What the demo shows, if it succeeded.
fn screen(output: Output) -> String {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (screen, errors) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{}\n{screen}\n{errors}", output.status);
    assert!(screen.ends_with("nothing lost, one completion each, all digests right\n"), "{screen}");
    screen
}

/// The first number in the line that begins with this word.
fn number(screen: &str, word: &str) -> u64 {
    let line = screen.lines().find_map(|line| line.trim().strip_prefix(word)).unwrap();
    let digits = |c: char| c.is_ascii_digit();
    let from = &line[line.find(digits).unwrap()..];
    from[..from.find(|c| !digits(c)).unwrap_or(from.len())].parse().unwrap()
}

#[test]
fn it_succeeds_on_a_server_of_its_own() {
    let screen = screen(demo().output().unwrap());
    assert!(screen.contains(", private server"), "{screen}");
    assert_eq!(number(&screen, "completions"), number(&screen, "items"), "{screen}");
    assert!(number(&screen, "expiries") >= 2, "{screen}");
}

#[test]
fn it_uses_a_server_that_it_is_given_and_leaves_no_items_there() {
    let server = RedisServer::builder().password("secret").start();
    let screen = screen(demo().env("LEASEQ_URL", server.url()).output().unwrap());
    let shown = format!("redis://127.0.0.1:{}/, by LEASEQ_URL", server.port());
    assert!(screen.contains(&shown), "{screen}");
    assert!(!screen.contains("secret"), "{screen}");
    let keys = server.cli(&["KEYS", "*"]);
    for key in keys.lines() {
        let small = ["leaseq:queues", ":meta", ":lanes"].iter().any(|end| key.ends_with(end));
        assert!(small, "left behind: {keys}");
    }
}

#[test]
fn it_fails_when_there_is_no_server() {
    let output = demo().env("LEASEQ_URL", "redis://127.0.0.1:1/").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("did not come to an end"), "{errors}");
}
