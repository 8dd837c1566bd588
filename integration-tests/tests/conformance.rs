//! The runner of the scenarios distinguishes right and wrong answers.

#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

/// Runs one scenario, in Rust and in memory.
fn run(scenario: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("planted.json"), scenario).unwrap();
    Command::new(env!("CARGO_BIN_EXE_conformance"))
        .args(["--engines", "memory", "--scenarios"])
        .arg(folder.path())
        .output()
        .unwrap()
}

fn assert_fails(steps: &str, says: &str) {
    let output = run(&format!(r#"{{"about": "", "steps": [{steps}]}}"#));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{steps}");
    assert!(errors.contains(says), "{errors}");
}

#[test]
fn what_is_right_passes() {
    let output = run(r#"{"about": "", "steps": [{"add_item": {"id": "a"}, "gives": true}]}"#);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && shown.ends_with("2 passed, 0 failed\n"), "{shown}");
}

#[test]
fn what_is_wrong_fails() {
    let add = r#"{"add_item": {"id": "a"}}"#;
    assert_fails(r#"{"add_item": {"id": "a"}, "gives": false}"#, "expected false, got true");
    assert_fails(r#"{"add_item": {"id": "a"}, "gives": null}"#, "expected null, got true");
    assert_fails(r#"{"add_item": {"id": "a"}, "fails": "INVALID"}"#, "did not fail");
    assert_fails(r#"{"add_item": {"id": ""}}"#, "failed: INVALID");
    assert_fails(r#"{"add_item": {"id": ""}, "fails": "CLOSED"}"#, "failed: INVALID");
    assert_fails(
        r#"{"add_item": {"id": ""}, "fails": "INVALID", "says": ["no such words"]}"#,
        "does not say",
    );
    assert_fails(
        r#"{"add_item": {"id": ""}, "fails": "INVALID", "hides": ["bytes"]}"#,
        "says bytes",
    );
    assert_fails(r#"{"queue_len": {}, "within_ms": 20, "gives": 1}"#, "expected 1, got 0");
    assert_fails(r#"{"lease": {"duration_ms": 9}, "as": "x", "within_ms": 20}"#, "asked again");
    assert_fails(
        &format!(r#"{add}, {{"get": {{"id": "a"}}, "gives": {{"state": "dead"}}}}"#),
        "state",
    );
    assert_fails(r#"{"lease": {"duration_ms": 9}, "begin": "never ended"}"#, "never ended");
    assert_fails(r#"{"add_item": {}, "lease": {}}"#, "one operation");
    assert_fails(r#"{"no_such_operation": {}}"#, "has ended");
}

#[test]
fn a_step_is_asked_again_until_the_answer_is_right() {
    let output = run(r##"{"about": "", "clock": "runs", "steps": [
        {"add_items": {"items": {"of": {"id": "#", "delay_ms": 50}, "times": 2}}, "gives": [true, true]},
        {"light_clean": {}, "within_ms": 5000, "gives": {"promoted": 2}}
    ]}"##);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
}
