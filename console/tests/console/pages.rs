//! What the pages say.

use std::time::Duration;

use leaseq::{
    Client, CompleteOptions, EventCursor, EventsOptions, FailOptions, Item, LeaseOptions,
    SettingsChange,
};
use leaseq_test_support::eventually;

use crate::support::{Engine, bury};

#[tokio::test(flavor = "multi_thread")]
async fn the_overview_counts_the_queues() {
    for engine in Engine::all() {
        let console = engine.console().await;
        console.get("/").await.has(200, "There are no queues yet");
        let queue = engine.queue("mail").await;
        queue.add_items((0..1_234).map(|n| Item::new(n.to_string()))).await.unwrap();
        engine.queue("photos").await.pause().await.unwrap();
        bury(&queue, "broken", "data", "no such host").await;
        // It answers from what it has known before for almost 2 s.
        let counted = async || console.get("/").await.body.contains("1,234");
        assert!(eventually(Duration::from_secs(20), counted).await, "it counts nothing");
        let page = console.get("/").await;
        page.has(200, "1,234").has(200, "paused").has(200, "?state=dead\">1</a>");
        let page = console.get("/?find=phot").await;
        assert!(page.body.contains("photos") && !page.body.contains("mail"), "{page:?}");
        console.get("/?find=nothing").await.has(200, "No queue matches");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_queues_come_in_pages() {
    let engine = Engine::sqlite();
    let client = engine.client().await;
    for n in 0..120 {
        client.queue(&format!("queue-{n:03}")).unwrap().add_item(Item::new("x")).await.unwrap();
    }
    let console = engine.console().await;
    let mut page = console.get("/").await;
    let mut seen = page.body.matches("<th scope=\"row\">").count();
    for _ in 0..2 {
        let next =
            page.body.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
        page = console.get(&next.replace("&#38;", "&")).await;
        seen += page.body.matches("<th scope=\"row\">").count();
    }
    assert_eq!(seen, 120);
    assert!(!page.body.contains("rel=\"next\""), "{page:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_listed_and_searched() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        let item =
            |n: u32| Item::new(format!("{{\"customer\":{n}}}")).with_id(format!("order-{n:03}"));
        queue.add_items((0..120).map(item)).await.unwrap();
        let console = engine.console().await;
        let mut page = console.get("/queues/mail").await;
        page.has(200, "order-000").has(200, "50 of 120 ready items");
        assert!(!page.body.contains("customer"), "lists show no data");
        let mut seen = page.body.matches("class=\"id\" href").count();
        while let Some(next) = page.body.split("rel=\"next\" href=\"").nth(1) {
            let next = next.split('"').next().unwrap().replace("&#38;", "&");
            page = console.get(&next).await;
            seen += page.body.matches("class=\"id\" href").count();
        }
        assert_eq!(seen, 120);
        let page = console.get("/queues/mail?state=ready&order=reverse").await;
        assert!(page.body.contains("order-119") && !page.body.contains("order-000"), "{page:?}");
        let page = console.get("/queues/mail?data=%22customer%22%3A77").await;
        page.has(200, "order-077").has(200, "1 found, examined 120 of 120");
        let page = console.get("/queues/mail?id=order-11").await;
        assert_eq!(page.body.matches("class=\"id\" href").count(), 10, "{page:?}");
        console.get("/queues/mail?error=x").await.has(200, "No item found");
        console.get("/queues/mail?state=dead").await.has(200, "Nothing has failed for good");
        console.get("/queues/mial").await.has(404, "there is no queue mial");
        console.get("/queues/mail?state=lost").await.has(400, "there is no such state");
        console.get("/queues/mail?cursor=lost").await.has(400, "cannot be read");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_shows_all_that_is_known() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        let data = r#"{"to":"ada","big":123456789012345678901}"#;
        queue
            .add_item(Item::new(data).with_id("a/b?c").max_attempts(9).key("tenant-7"))
            .await
            .unwrap();
        let options = || LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO);
        let lease = queue.lease(options()).await.unwrap().unwrap();
        queue.fail(&lease, "no route to host\nat line 7", Duration::ZERO).await.unwrap();
        let lease = queue.lease(options()).await.unwrap().unwrap();
        let console = engine.console().await;
        let page = console.get("/queues/mail/item?id=a%2Fb%3Fc").await;
        for text in [
            "a/b?c",
            "leased",
            "Lease failed",
            "no route to host\nat line 7",
            "tenant-7",
            " left",
            "\n  &#34;big&#34;: 123456789012345678901",
            "No worker in the registry",
        ] {
            page.has(200, text);
        }
        let page = console.get("/queues/mail/item?id=a%2Fb%3Fc&as=hex").await;
        page.has(200, "00000000  7b 22 74 6f");
        let data = console.get("/queues/mail/item/data?id=a%2Fb%3Fc").await;
        assert_eq!(data.header("content-type"), Some("application/octet-stream"));
        data.has(200, r#"{"to":"ada","big":123456789012345678901}"#);
        let options = CompleteOptions::new().result("sent").retain(Duration::from_secs(60));
        queue.complete_with(&lease, options).await.unwrap();
        let page = console.get("/queues/mail/item?id=a%2Fb%3Fc").await;
        page.has(200, "completed").has(200, "sent");
        console.get("/queues/mail/item?id=other").await.has(404, "has no item other");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_timeline_is_made_of_events_where_they_are_kept() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.configure(SettingsChange::new().events(10_000)).await.unwrap();
        let options = || LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO);
        queue.add_item(Item::new("x").with_id("one")).await.unwrap();
        let lease = queue.lease(options()).await.unwrap().unwrap();
        queue.release(&lease, Duration::ZERO).await.unwrap();
        let lease = queue.lease(options()).await.unwrap().unwrap();
        queue.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
        queue.requeue(["one"]).await.unwrap();
        queue.add_item(Item::new("x").with_id("other")).await.unwrap();
        let _lease = queue.lease(options()).await.unwrap().unwrap();
        let console = engine.console().await;
        let page = console.get("/queues/mail/item?id=one").await;
        let list = page.body.split("<ol class=\"timeline\">").nth(1).unwrap().split("</ol>").next();
        let texts: Vec<_> = list
            .unwrap()
            .split("<bdi>")
            .skip(1)
            .map(|part| part.split('<').next().unwrap())
            .collect();
        assert_eq!(texts.first(), Some(&"Added"), "{texts:?}");
        for text in ["Leased, attempt 1", "Lease failed, attempt 1", "Dead", "Requeued"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
        assert_eq!(
            texts.iter().filter(|text| text.starts_with("Leased, ")).count(),
            3,
            "{texts:?}"
        );
        assert!(texts.iter().any(|text| text.starts_with("Lease released")), "{texts:?}");
        assert_eq!(texts.last(), Some(&"Leased; the lease ends"), "{texts:?}");
        page.has(200, "last events of the queue");
        // More events than a page reads.
        for _ in 0..6 {
            queue.add_items((0..1_000).map(|n| Item::new(n.to_string()))).await.unwrap();
        }
        queue.bury(["other"], "no").await.unwrap();
        queue.requeue(["other"]).await.unwrap();
        let mut page = console.get("/queues/mail/item?id=other").await;
        let mut found = page.body.matches(">Requeued<").count();
        // A slow server gets more than one page to the end.
        while let Some(next) = page.body.split("&#38;events=").nth(1) {
            page.has(200, " oldest events that were read");
            let next = next.split('"').next().unwrap();
            page = console.get(&format!("/queues/mail/item?id=other&events={next}")).await;
            found += page.body.matches(">Requeued<").count();
        }
        assert_eq!(found, 1);
        let all =
            queue.events(EventsOptions::new().after(EventCursor::now())).await.unwrap().cursor;
        let page = console.get(&format!("/queues/mail/item?id=other&events={all}")).await;
        page.has(200, "There are no later events.");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_redacted_is_nowhere() {
    let engine = Engine::redis();
    let queue = engine.queue("mail").await;
    bury(&queue, "one", r#"{"card":"4111-2222","to":"ada"}"#, "card 4111-2222 is refused").await;
    let console = engine.console_with(|options| options.redact = vec!["/card".into()]).await;
    for path in [
        "/queues/mail?state=dead",
        "/queues/mail?state=dead&data=4111-2222",
        "/queues/mail?state=dead&error=4111-2222",
        "/queues/mail/item?id=one",
        "/queues/mail/item?id=one&as=text",
        "/queues/mail/item?id=one&as=hex",
        "/queues/mail/item/data?id=one",
        "/queues/mail/item/edit?id=one",
    ] {
        let page = console.get(path).await;
        assert_eq!(page.status, 200, "{page:?}");
        let quoted = page.body.replace("value=\"4111-2222\"", "");
        assert!(!quoted.contains("4111-2222") && !page.body.contains("34 31 31 31 2d"), "{page:?}");
    }
    console.get("/queues/mail?state=dead&data=4111-2222").await.has(200, "No item found");
    console.get("/queues/mail?state=dead&data=ada").await.has(200, ">one<");
    console.get("/queues/mail/item?id=one").await.has(200, "card [redacted] is refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_of_the_server_is_not_shown() {
    let engine = Engine::sqlite();
    let url = format!("{}?synchronous=full&user=me&password=verysecret", engine.url);
    let console = engine.console_with(|options| options.url = url).await;
    let page = console.get("/").await;
    assert!(!page.body.contains("verysecret"), "{page:?}");
    drop(Client::connect(&engine.url).await);
}
