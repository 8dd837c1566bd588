//! Runs the first example of the book, with the commands that it shows, in an empty folder.

use std::process::Command;

use crate::installed::{Engine, prefix, succeed};

const EXAMPLE: &str = include_str!("../../../docs/first-queue.md");
const COMMANDS: &str = include_str!("../../../docs/install.md");

/// The first block of this language after the heading of the section on C.
fn block(page: &'static str, language: &str) -> &'static str {
    let section = &page[page.find("\n## C\n").expect("a section on C")..];
    let fence = format!("```{language}\n");
    let begin = section.find(&fence).unwrap() + fence.len();
    &section[begin..begin + section[begin..].find("```\n").unwrap()]
}

#[test]
fn the_example_runs_on_both_engines() {
    let (folder, redis) = (tempfile::tempdir().unwrap(), Engine::Redis.place());
    std::fs::write(folder.path().join("first.c"), block(EXAMPLE, "c")).unwrap();
    let commands = block(COMMANDS, "sh").replace("redis://127.0.0.1/", &redis.url);
    assert!(commands.contains(&redis.url), "{commands}");
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &commands]).current_dir(&folder);
    shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let printed = succeed(shell.env("LD_LIBRARY_PATH", prefix().join("lib")));
    assert_eq!(printed, "sending your order\nsending hello\n".repeat(2));
}

#[test]
fn it_compiles_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("first.c"), block(EXAMPLE, "c")).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(crate::installed::STRICT).args(["-fsyntax-only", "first.c", "-I"]);
    succeed(compiler.arg(prefix().join("include")).current_dir(&folder));
}
