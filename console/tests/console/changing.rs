//! Changes: only what was seen, and a line of the audit for each.

use std::time::Duration;

use leaseq::{Item, LeaseOptions, Revision, State};
use leaseq_console::Role;

use crate::http::Request;
use crate::support::{Engine, bury};

/// The values of the boxes of a list.
fn boxes(page: &str) -> Vec<String> {
    let parts = page.split("name=\"item\" value=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn selected_items_are_changed_as_they_were_seen() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        for id in ["a", "b", "c"] {
            bury(&queue, id, "data", "no such host").await;
        }
        let console = engine.console().await;
        let page = console.get("/queues/mail?state=dead").await;
        let values = boxes(&page.body);
        assert_eq!(values.len(), 3, "{page:?}");
        // Somebody else is faster with one of them.
        queue.requeue(["b"]).await.unwrap();
        let mut form: Vec<_> = values.iter().map(|value| ("item", value.as_str())).collect();
        form.push(("state", "dead"));
        let operator = Request::post("/queues/mail/items/requeue", &form);
        let answer = console.send_as(Role::Operate, operator).await;
        let to = answer.header("location").unwrap().to_owned();
        assert_eq!(
            (answer.status, to.as_str()),
            (303, "/queues/mail?state=dead&done=requeue&n=2&of=3")
        );
        console.get(&to).await.has(200, "Requeued 2 of 3 items");
        assert_eq!(queue.counts().await.unwrap().ready, 3);
        let lines = console.audit.all();
        assert_eq!(lines.len(), 1, "{lines:?}");
        let line = &lines[0];
        assert_eq!(line["user"], "operate-user");
        assert_eq!(line["from"], "127.0.0.1");
        assert_eq!((&line["action"], &line["queue"]), (&"requeue".into(), &"mail".into()));
        assert_eq!((line["asked"].as_u64(), line["changed"].as_u64()), (Some(3), Some(2)));
        assert!(line["ids"].as_array().unwrap().contains(&"a".into()), "{line}");
        console.post("/queues/mail/items/requeue", &[]).await.has(400, "select an item first");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn single_items_are_cancelled_buried_and_removed() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.add_items(["a", "b", "c"].map(|id| Item::new("x").with_id(id))).await.unwrap();
        let console = engine.console().await;
        for (id, action) in [("a", "cancel"), ("b", "bury"), ("c", "remove")] {
            let page = console.get(&format!("/queues/mail/item?id={id}")).await;
            let value = boxes(&page.body).remove(0);
            let form = [("item", value.as_str()), ("from", "item"), ("state", "ready")];
            let answer = console.post(&format!("/queues/mail/items/{action}"), &form).await;
            assert_eq!(answer.status, 303, "{answer:?}");
            console.get(answer.header("location").unwrap()).await.has(200, "role=\"status\"");
        }
        assert_eq!(queue.get("a").await.unwrap(), None);
        let buried = queue.get("b").await.unwrap().unwrap();
        assert_eq!(buried.state, State::Dead);
        assert_eq!(buried.last_error, "buried in the console by administer-user");
        assert_eq!(queue.get("c").await.unwrap(), None);
        assert_eq!(console.audit.all().len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_is_edited_unless_it_has_changed() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.add_item(Item::new("one\ntwo").with_id("a")).await.unwrap();
        let console = engine.console().await;
        let page = console.get("/queues/mail/item/edit?id=a").await;
        page.has(200, "one\ntwo</textarea>");
        let value = boxes(&page.body).remove(0);
        let form = |data| [("item", value.as_str()), ("data", data), ("priority", "7")];
        let answer = console.post("/queues/mail/item/edit", &form("one\r\nthree")).await;
        console.get(answer.header("location").unwrap()).await.has(200, "Saved.");
        let info = queue.get("a").await.unwrap().unwrap();
        assert_eq!((&info.data[..], info.priority), (&b"one\nthree"[..], 7));
        // The page is of an earlier generation now.
        queue.revise("a", Revision::new().priority(1)).await.unwrap();
        let late = console.post("/queues/mail/item/edit", &form("late")).await;
        late.has(409, "the item has changed");
        assert_eq!(queue.get("a").await.unwrap().unwrap().priority, 1);
        let line = &console.audit.all()[0];
        assert_eq!((&line["before"]["priority"], &line["saved"]), (&0.into(), &true.into()));
        let lease = LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO);
        let _held = queue.lease(lease).await.unwrap().unwrap();
        console
            .get("/queues/mail/item/edit?id=a")
            .await
            .has(409, "a leased item cannot be changed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_paused_for_a_time() {
    let engine = Engine::redis();
    let queue = engine.queue("mail").await;
    queue.add_item(Item::new("x")).await.unwrap();
    let console = engine.console().await;
    console.post("/queues/mail/pause", &[("for", "1y")]).await.has(400, "no duration");
    console.post("/queues/mail/pause", &[("for", "9999999d")]).await.has(400, "pause");
    assert!(!queue.settings().await.unwrap().paused);
    let long = "x".repeat(257);
    console.post("/queues/mail/pause", &[("reason", &long)]).await.has(400, "256");
    let form = [("for", "1h"), ("reason", "disk <full>")];
    assert_eq!(console.post("/queues/mail/pause", &form).await.status, 303);
    assert!(queue.settings().await.unwrap().paused_until.is_some());
    let settings = queue.settings().await.unwrap();
    assert_eq!((&*settings.paused_by, &*settings.pause_reason), ("administer-user", "disk <full>"));
    for page in ["", "/leases", "/dead", "/schedules", "/settings", "/wasted"] {
        let page = console.get(&format!("/queues/mail{page}")).await;
        page.has(200, "Resume").has(200, "by administer-user: disk &#60;full&#62;");
    }
    assert_eq!(console.post("/queues/mail/resume", &[]).await.status, 303);
    assert!(!queue.settings().await.unwrap().paused);
    let lines = console.audit.all();
    assert_eq!((&lines[0]["before"], &lines[0]["after"]), (&false.into(), &true.into()));
}
