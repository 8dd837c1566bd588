//! The scenarios are complete and well-formed.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use leaseq::ErrorKind;
use serde_json::Value;

/// Every operation of the contract.
const OPERATIONS: [&str; 28] = [
    "add_item",
    "add_items",
    "lease",
    "lease_many",
    "complete",
    "complete_many",
    "complete_and_lease",
    "extend",
    "extend_many",
    "release",
    "release_many",
    "fail",
    "fail_many",
    "light_clean",
    "deep_clean",
    "check",
    "queue_len",
    "processing",
    "counts",
    "get",
    "list",
    "remove",
    "remove_many",
    "requeue",
    "pause",
    "resume",
    "purge",
    "queues",
];

/// Name and content of each.
fn scenarios() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "json") {
                let text = std::fs::read_to_string(&path).unwrap();
                let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                all.push((name, serde_json::from_str(&text).unwrap()));
            }
        }
    }
    all
}

/// The entries that `find` returns for all steps.
fn found<'a>(
    scenarios: &'a [(String, Value)],
    find: impl Fn(&'a Value) -> Vec<&'a str>,
) -> BTreeSet<&'a str> {
    let steps = scenarios.iter().flat_map(|(_, scenario)| scenario["steps"].as_array().unwrap());
    steps.flat_map(find).collect()
}

#[test]
fn every_operation_and_option_of_the_contract_occurs() {
    let scenarios = scenarios();
    let names = found(&scenarios, |step| {
        let fields = step.as_object().unwrap();
        let arguments = fields.values().filter_map(Value::as_object);
        fields.keys().chain(arguments.flat_map(|a| a.keys())).map(String::as_str).collect()
    });
    for operation in OPERATIONS {
        assert!(names.contains(operation), "no scenario has {operation}");
    }
    for option in [
        "max_attempts",
        "delay_ms",
        "priority",
        "strict",
        "wait_ms",
        "cursor",
        "error",
        "dead",
        "reason",
        "retain_ms",
        "result",
        "results",
        "unique",
        "unique_for_ms",
        "replace",
        "expires_in_ms",
        "follow_ups",
        "add",
        "adds",
    ] {
        assert!(names.contains(option), "no scenario has {option}");
    }
    for operation in
        ["enqueue", "result", "start_worker", "end_worker", "worker_exit", "tell", "seen"]
    {
        assert!(names.contains(operation), "no scenario has {operation}");
    }
    for option in ["keep_alive", "keep_alive_limit_ms", "options", "cancel", "close", "drop"] {
        assert!(names.contains(option), "no scenario has {option}");
    }
}

#[test]
fn every_kind_of_error_occurs() {
    let scenarios = scenarios();
    let kinds = found(&scenarios, |step| step["fails"].as_str().into_iter().collect());
    assert_eq!(kinds, ErrorKind::ALL.into_iter().map(ErrorKind::code).collect());
}

#[test]
fn every_scenario_says_what_it_is_about() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 120, "there are {} scenarios", scenarios.len());
    for (name, scenario) in &scenarios {
        let about = scenario["about"].as_str().unwrap();
        assert!(about.ends_with('.') && about.contains(' '), "{name}: {about:?}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(name.chars().all(plain), "{name} is no name in snake case");
        let judged = scenario["steps"]
            .as_array()
            .unwrap()
            .iter()
            .any(|step| step.get("gives").is_some() || step.get("fails").is_some());
        assert!(judged, "{name} expects nothing");
    }
}
