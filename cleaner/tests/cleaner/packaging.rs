//! The packaging files agree with the binary.

use std::collections::BTreeSet;

use leaseq::{Client, State};
use leaseq_test_support::{RedisServer, eventually, eventually_blocking};
use serde_json::Value;

use crate::support::{Cleaner, SOON, item, lease, ms, run, secs};

const DASHBOARD: &str = include_str!("../../packaging/grafana-dashboard.json");
const ALERTS: &str = include_str!("../../packaging/alerts.yaml");
const KEDA: &str = include_str!("../../packaging/keda.yaml");
const UNIT: &str = include_str!("../../packaging/leaseq-cleaner.service");
const DOCKERFILE: &str = include_str!("../../../packaging/Dockerfile");
const CONFIG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/cleaner.toml");

/// The metric names in a text.
fn names(text: &str) -> BTreeSet<String> {
    let rest = text.match_indices("leaseq_").map(|(at, _)| &text[at..]);
    let end = |rest: &str| rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    rest.map(|rest| rest[..end(rest).unwrap_or(rest.len())].to_owned()).collect()
}

/// A queue with every kind of count, and a cleaner that has seen it.
async fn stage() -> (RedisServer, Client, Cleaner) {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("emails").unwrap();
    queue.add_items((0..4).map(|i| item(&format!("{i}")).max_attempts(1))).await.unwrap();
    queue.complete(&lease(&queue, secs(60)).await).await.unwrap();
    queue.fail(&lease(&queue, secs(60)).await, "x", ms(0)).await.unwrap();
    queue.add_item(item("removed")).await.unwrap();
    queue.remove("removed").await.unwrap();
    queue.add_item(item("retained").priority(9).retain(secs(3600))).await.unwrap();
    queue.add_item(item("retained").priority(9).retain(secs(3600)).replace()).await.unwrap();
    queue.complete(&lease(&queue, secs(60)).await).await.unwrap();
    queue.add_item(item("expired").expires_in(ms(1))).await.unwrap();
    // Until its time has passed; then the next lease finds it.
    let is_dead =
        async || queue.get("expired").await.unwrap().is_some_and(|info| info.state == State::Dead);
    assert!(eventually(SOON, is_dead).await);
    let _held = lease(&queue, secs(60)).await;
    server.cli(&["HSET", "leaseq:{emails}:ids", "nothing", "999"]);
    let cleaner = Cleaner::start(&server.url(), &[]);
    cleaner.wait_for_queues(&["emails"]);
    cleaner.wait_for_log("deep clean");
    (server, client, cleaner)
}

#[tokio::test(flavor = "multi_thread")]
async fn dashboard_and_alerts_use_metrics_that_exist() {
    let (_server, _client, cleaner) = stage().await;
    let text = || cleaner.get("/metrics").1;
    assert!(eventually_blocking(SOON, || text().contains("leaseq_damage_mended_total")));
    let text = text();
    let there: BTreeSet<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split(['{', ' ']).next().unwrap())
        .collect();
    let used = &names(DASHBOARD) | &names(ALERTS);
    assert!(used.len() >= 15, "{used:?}");
    for name in &used {
        assert!(there.contains(name.as_str()), "{name} is not in\n{text}");
    }
    // Nor is there a metric that the dashboard does not show.
    let shown = |name: &&str| {
        let base = name.trim_end_matches("_sum").trim_end_matches("_count");
        used.iter().any(|used| used.starts_with(base))
    };
    let hidden: Vec<_> = there.iter().filter(|name| !shown(name)).collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    for sample in [
        r#"leaseq_items{queue="emails",state="ready"} 1"#,
        r#"leaseq_items{queue="emails",state="leased"} 1"#,
        r#"leaseq_items{queue="emails",state="dead"} 2"#,
        r#"leaseq_items{queue="emails",state="completed"} 1"#,
        r#"leaseq_items{queue="emails",state="cancelled"} 0"#,
        r#"leaseq_added_total{queue="emails"} 8"#,
        r#"leaseq_leased_total{queue="emails"} 4"#,
        r#"leaseq_completed_total{queue="emails"} 2"#,
        r#"leaseq_failed_total{queue="emails"} 1"#,
        r#"leaseq_dead_total{queue="emails"} 2"#,
        r#"leaseq_removed_total{queue="emails"} 1"#,
        r#"leaseq_replaced_total{queue="emails"} 1"#,
        r#"leaseq_expired_unleased_total{queue="emails"} 1"#,
        r#"leaseq_cancelled_total{queue="emails"} 0"#,
        r#"leaseq_damage_mended_total{queue="emails",damage="ids without an item"} 1"#,
        "leaseq_up 1",
    ] {
        assert!(text.lines().any(|line| line == sample), "{sample} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn the_dashboard_is_complete() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    for target in panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap()) {
        let query = target["expr"].as_str().unwrap();
        let count = |c| query.matches(c).count();
        assert!(count('(') == count(')') && count('{') == count('}'), "{query}");
        assert_eq!(target["datasource"]["uid"], "${DS_PROMETHEUS}");
    }
    assert_eq!(dashboard["__inputs"][0]["name"], "DS_PROMETHEUS");
}

#[tokio::test(flavor = "multi_thread")]
async fn keda_finds_a_number() {
    let (_server, _client, cleaner) = stage().await;
    let setting = |name: &str| {
        let line = KEDA.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim().trim_matches('"').to_owned()
    };
    let url = setting("url");
    let path = &url[url.find("/queues").unwrap()..];
    let json = cleaner.json(path);
    let found = setting("valueLocation").split('.').fold(&json, |json, key| &json[key]).clone();
    assert_eq!(found, 2, "{json}");
    setting("targetValue").parse::<u32>().unwrap();
    assert!(url.ends_with(":9470/queues.json"));
}

#[test]
fn the_example_configuration_is_the_default() {
    let (status, by_file, log) = run(&["--print-config", "--config", CONFIG]);
    assert_eq!(status, 0, "{log}");
    let (_, default, _) = run(&["--print-config", "--url", "redis://127.0.0.1/"]);
    assert_eq!(by_file, default);
}

#[test]
fn unit_and_image_start_what_there_is() {
    let start = UNIT.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut words = start.split(' ');
    let binary = words.next().unwrap();
    assert!(binary.ends_with("/leaseq-cleaner"));
    let flags: Vec<&str> = words.chain(["--url", "memory:", "--print-config"]).collect();
    assert_eq!(run(&flags).0, 0);
    for needed in [
        "Type=notify",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "DynamicUser=yes",
        "Restart=on-failure",
    ] {
        assert!(UNIT.lines().any(|line| line == needed), "{needed}");
    }
    let user = DOCKERFILE.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    assert!(user.split(':').all(|id| id.parse::<u32>().is_ok_and(|id| id > 0)), "{user}");
    assert!(DOCKERFILE.contains(&format!("ENTRYPOINT [\"{binary}\"]")));
    let variables = DOCKERFILE.lines().find_map(|line| line.strip_prefix("ENV ")).unwrap();
    let mut command = crate::support::command(&["--url", "memory:", "--print-config"]);
    command.envs(variables.split(' ').map(|pair| pair.split_once('=').unwrap()));
    let (status, out, log) = crate::support::ended(command);
    assert!(status == 0 && out.contains("0.0.0.0:9470"), "{out}{log}");
}
