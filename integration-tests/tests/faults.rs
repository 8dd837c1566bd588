//! The runner of the faults distinguishes right and wrong, from the processes to the exit status.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Duration;

use leaseq_test_support::eventually_blocking;
use rustix::process::{Pid, Signal, kill_process};

fn faults() -> Command {
    Command::new(env!("CARGO_BIN_EXE_faults"))
}

fn run(arguments: &[&str]) -> Output {
    run_for("1", arguments)
}

fn run_for(seconds: &str, arguments: &[&str]) -> Output {
    faults().args(["--engine", "sqlite", "--seconds", seconds]).args(arguments).output().unwrap()
}

#[test]
fn what_is_right_passes() {
    let output = run(&["--only", "workers killed", "--seed", "7"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && shown.ends_with("2 passed, 0 failed, 0 skipped\n"),
        "{shown}"
    );
    // Reported at once, which in long runs is long before the table.
    assert!(shown.contains(" of 2: workers killed on sqlite, rounds 1, seed 7, "), "{shown}");
}

#[test]
fn a_queue_in_memory_is_played_by_each_language_alone() {
    // On one queue they would use the same ids, and each would miss the other's completions.
    let second = format!("second={}", env!("CARGO_BIN_EXE_testee-rust"));
    let mut command = faults();
    command.args(["--engine", "memory", "--only", "cleaners race", "--seconds", "1", &second]);
    let output = command.output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown}{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.ends_with("1 passed, 0 failed, 0 skipped\n"), "{shown}");
}

#[test]
fn what_is_told_to_stop_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| {
        let entries = fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|found| found.starts_with(name)).collect::<Vec<_>>()
    };
    let mut command = faults();
    command.args(["--engine", "redis", "--only", "workers killed", "--seconds", "60"]);
    let mut running = command.env("TMPDIR", folder.path()).spawn().unwrap();
    let serves = || {
        here("leaseq-redis-").iter().any(|name| folder.path().join(name).join("redis.log").exists())
    };
    assert!(eventually_blocking(Duration::from_secs(30), serves));
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(1), "it proves nothing");
    assert_eq!(here("leaseq-").len(), here("leaseq-ports-").len(), "{:?}", here("leaseq-"));
}

#[test]
fn a_language_that_lies_is_found_out() {
    // This testee turns every false into true.
    let folder = tempfile::tempdir().unwrap();
    let liar = folder.path().join("liar");
    let testee = env!("CARGO_BIN_EXE_testee-rust");
    let lie = r#"s/"gives":false/"gives":true/"#;
    fs::write(&liar, format!("#!/bin/sh\n{testee} | sed -u '{lie}'\n")).unwrap();
    fs::set_permissions(&liar, fs::Permissions::from_mode(0o755)).unwrap();
    let language = format!("liar={}", liar.display());
    // In one second perhaps no worker completes too late.
    let output = run_for("6", &["--only", "workers stopped", "--seed", "7", &language]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    // The violation, the history of the item, and the command that repeats the run.
    for part in
        ["both completed it", "gets lease", "Complete lease", "--language rust,liar --seed 7"]
    {
        assert!(errors.contains(part), "{part}: {errors}");
    }
}

#[test]
fn what_is_unknown_is_refused() {
    for arguments in [["--only", "no such fault"], ["--language", "klingon"], ["--jobs", "0"]] {
        let output = run(&arguments);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}");
    }
}
