//! Changes of many items: what the preview has seen, and nothing newer.

use std::time::Duration;

use leaseq::{Item, State, WorkQueue};
use leaseq_console::Role;
use leaseq_test_support::eventually;

use crate::http::Request;
use crate::support::{Engine, Served, bury};

const LIMIT: Duration = Duration::from_secs(30);

/// Begins, and waits for the preview. Returns its address.
async fn preview(console: &Served, action: &str, form: &[(&str, &str)]) -> String {
    let answer = console.post(&format!("/queues/mail/bulk/{action}"), form).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let task = answer.header("location").unwrap().to_owned();
    reaches(console, &task, "previewed").await;
    task
}

async fn reaches(console: &Served, task: &str, phase: &str) {
    let shown = format!(">{phase}</span>");
    let reached = async || console.get(task).await.body.contains(&shown);
    assert!(eventually(LIMIT, reached).await, "{:?}", console.get(task).await);
}

async fn dead(queue: &WorkQueue, count: usize) {
    let items = (0..count).map(|n| Item::new("x").with_id(format!("item-{n:04}")));
    queue.add_items(items).await.unwrap();
    for part in (0..count).collect::<Vec<_>>().chunks(1_000) {
        let ids = part.iter().map(|n| format!("item-{n:04}"));
        queue.bury(ids, "connection refused after 17 ms").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_the_preview_has_seen_is_changed() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        dead(&queue, 1_200).await;
        let console = engine.console().await;
        let task = preview(&console, "requeue", &[("state", "dead"), ("error", "refused")]).await;
        console.get(&task).await.has(200, ">requeue</span>").has(200, "1,200</span> items match");
        assert_eq!(queue.counts().await.unwrap().dead, 1_200, "a preview changes nothing");
        bury(&queue, "later", "x", "connection refused after 9 ms").await;
        let started =
            console.send_as(Role::Operate, Request::post(&format!("{task}/start"), &[])).await;
        assert_eq!(started.status, 303, "{started:?}");
        reaches(&console, &task, "done").await;
        console.get(&task).await.has(200, "1,200</span> of 1,200 items changed");
        assert_eq!(queue.get("later").await.unwrap().unwrap().state, State::Dead);
        assert_eq!(queue.counts().await.unwrap().ready, 1_200);
        console.post(&format!("{task}/start"), &[]).await.has(409, "has been started");
        console.get("/tasks").await.has(200, ">requeue<");
        let lines = console.audit.all();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(
            (&lines[0]["action"], &lines[0]["user"]),
            (&"requeue many".into(), &"operate-user".into())
        );
        assert_eq!(
            (&lines[1]["step"], lines[1]["changed"].as_u64()),
            (&"ends".into(), Some(1_200))
        );
        assert_eq!(lines[1]["selection"], "state=dead&error=refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_errors_is_removed_by_administrators_only() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        dead(&queue, 30).await;
        bury(&queue, "other", "x", "no such host").await;
        let console = engine.console().await;
        let page = console.get("/queues/mail/dead").await;
        page.has(200, "connection refused after # ms")
            .has(200, "<strong>30</strong>")
            .has(200, "no such host");
        let kind = [("state", "dead"), ("kind", "connection refused after # ms")];
        let operator = Request::post("/queues/mail/bulk/remove", &kind);
        assert_eq!(console.send_as(Role::Operate, operator).await.status, 403);
        let task = preview(&console, "remove", &kind).await;
        let operator = Request::post(&format!("{task}/start"), &[]);
        assert_eq!(console.send_as(Role::Operate, operator).await.status, 403);
        assert_eq!(queue.counts().await.unwrap().dead, 31);
        assert_eq!(console.post(&format!("{task}/remove"), &[]).await.status, 303);
        reaches(&console, &task, "done").await;
        assert_eq!(queue.counts().await.unwrap().dead, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_change_can_be_stopped() {
    let engine = Engine::redis();
    let queue = engine.queue("mail").await;
    dead(&queue, 300).await;
    let console = engine.console().await;
    let task = preview(&console, "requeue", &[("state", "dead"), ("rate", "10")]).await;
    console.post(&format!("{task}/start"), &[]).await;
    let begun = async || queue.counts().await.unwrap().ready > 0;
    assert!(eventually(LIMIT, begun).await, "nothing is changed");
    console.post(&format!("{task}/stop"), &[]).await;
    reaches(&console, &task, "stopped").await;
    let counts = queue.counts().await.unwrap();
    assert!(counts.dead > 200 && counts.ready >= 10, "{counts:?}");
    for (rate, status) in [("0", 400), ("x", 400), ("9999999", 400)] {
        let answer = console.post("/queues/mail/bulk/requeue", &[("rate", rate)]).await;
        assert_eq!(answer.status, status, "{rate}");
    }
    let wrong = console.post("/queues/mail/bulk/requeue", &[("state", "ready")]).await;
    wrong.has(400, "cannot requeue ready items");
}
