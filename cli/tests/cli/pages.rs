//! Plays the pages on the command line: their output is what the program writes.

use std::path::Path;

use crate::support::{Bench, finish};

/// Each is played by itself.
const PAGES: [(&str, &str); 7] = [
    ("command-line", include_str!("../../../docs/command-line.md")),
    ("stuck-queue", include_str!("../../../docs/stuck-queue.md")),
    ("requeue-dead-items", include_str!("../../../docs/requeue-dead-items.md")),
    ("move-a-queue", include_str!("../../../docs/move-a-queue.md")),
    ("events", include_str!("../../../docs/events.md")),
    ("run-commands", include_str!("../../../docs/run-commands.md")),
    ("measure-a-server", include_str!("../../../docs/measure-a-server.md")),
];

/// Before each block that is played.
const PLAYED: &str = "<!-- skip: a test of the command line runs it -->\n```console\n";

/// The commands of a page, each with the output that it shows; before them what it says has happened.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let before = page.lines().find_map(|line| line.strip_prefix("<!-- before: "));
    if let Some(before) = before.and_then(|line| line.strip_suffix(" -->")) {
        commands.push((format!("({before}) > /dev/null"), String::new()));
    }
    let blocks = page.split(PLAYED).skip(1);
    for line in blocks.flat_map(|block| block.split("```").next().unwrap().lines()) {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => output.extend([line, "\n"]),
            (None, None) => panic!("a block begins with {line:?}"),
        }
    }
    commands
}

/// Whether the lines are like the patterns. `…` stands for any number of lines.
fn are_like(lines: &[&str], patterns: &[&str]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((&"…", rest)) => (0..=lines.len()).any(|skip| are_like(&lines[skip..], rest)),
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, lines)| is_like(line, first) && are_like(lines, rest)),
    }
}

/// `[..]` stands for any text within a line.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap()) else { return false };
    let mut ends = false;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        ends = part.is_empty();
    }
    ends || rest.is_empty()
}

#[test]
fn the_pages_show_what_the_program_writes() {
    let folder = Path::new(env!("CARGO_BIN_EXE_leaseq")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    for (name, page) in PAGES {
        let commands = commands(page);
        assert!(commands.len() > usize::from(name != "measure-a-server"), "{name}");
        for bench in Bench::every() {
            for (command, expected) in &commands {
                let mut shell = std::process::Command::new("sh");
                let made = bench.command(&["-"]);
                shell.args(["-c", command]).current_dir(bench.folder.path()).env_clear();
                shell.envs(made.get_envs().filter_map(|(name, value)| Some((name, value?))));
                shell.env("PATH", &path).env("COLUMNS", "100");
                let run = finish(shell.stdin(std::process::Stdio::null()), b"");
                // Also the answer no.
                assert!(run.status < 2, "{name}: {command}: {run:?}");
                let lines: Vec<_> = run.out.trim_end().lines().collect();
                let patterns: Vec<_> = expected.trim_end().lines().collect();
                assert!(
                    are_like(&lines, &patterns),
                    "{name}: {command}: {run:#?} not {patterns:#?}"
                );
            }
        }
    }
}

#[test]
fn any_text_is_like_its_pattern() {
    assert!(is_like("a 1 b", "a [..] b") && is_like("a 1", "a [..]") && is_like("x", "x"));
    assert!(!is_like("a 1 c", "a [..] b") && !is_like("xy", "x") && !is_like("b 1", "a [..]"));
    assert!(!is_like("a 1 bc", "a [..] b"));
    assert!(
        are_like(&["a", "b", "c"], &["a", "…", "c"]) && are_like(&["a", "c"], &["a", "…", "c"])
    );
    assert!(!are_like(&["a", "b"], &["a", "…", "c"]) && !are_like(&["a", "b"], &["a"]));
}
