//! Plays the page on the command line: its output is what the program writes.

use std::path::Path;

use crate::support::{Bench, finish};

const PAGE: &str = include_str!("../../../docs/command-line.md");

/// The commands of the page, each with the output that it shows.
fn commands() -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let blocks = PAGE.split("```console\n").skip(1);
    for line in blocks.flat_map(|block| block.split("```").next().unwrap().lines()) {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => output.extend([line, "\n"]),
            (None, None) => panic!("a block begins with {line:?}"),
        }
    }
    commands
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
fn the_page_shows_what_the_program_writes() {
    let commands = commands();
    assert!(commands.len() > 10);
    for bench in Bench::all() {
        let folder = Path::new(env!("CARGO_BIN_EXE_leaseq")).parent().unwrap();
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        for (command, expected) in &commands {
            let mut shell = std::process::Command::new("sh");
            let made = bench.command(&["-"]);
            shell.args(["-c", command]).current_dir(bench.folder.path()).env_clear();
            shell.envs(made.get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell.env("PATH", &path).env("COLUMNS", "100");
            let run = finish(shell.stdin(std::process::Stdio::null()), b"").ok();
            let (lines, patterns) = (run.out.trim_end().lines(), expected.trim_end().lines());
            assert_eq!(lines.clone().count(), patterns.clone().count(), "{command}: {run:?}");
            for (line, pattern) in lines.zip(patterns) {
                assert!(is_like(line, pattern), "{command}: {line:?} is not {pattern:?}");
            }
        }
    }
}

#[test]
fn any_text_is_like_its_pattern() {
    assert!(is_like("a 1 b", "a [..] b") && is_like("a 1", "a [..]") && is_like("x", "x"));
    assert!(!is_like("a 1 c", "a [..] b") && !is_like("xy", "x") && !is_like("b 1", "a [..]"));
    assert!(!is_like("a 1 bc", "a [..] b"));
}
