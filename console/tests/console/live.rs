//! What scripts of pages ask for: counts and history as JSON.

use std::sync::Arc;
use std::time::Duration;

use leaseq::{Item, LeaseOptions, Measured};
use leaseq_test_support::{RedisServer, eventually};
use serde_json::Value;

use crate::http::{Answer, Request};
use crate::support::{Engine, Served, TOKENS, bury};

fn json(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    serde_json::from_str(&answer.body).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_are_sent_only_if_they_have_changed() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue
            .add_items((0..1_234).map(|n| Item::new(n.to_string()).delay(Duration::from_secs(600))))
            .await
            .unwrap();
        engine.queue("photos").await.pause().await.unwrap();
        let console = engine.console().await;
        for path in ["/numbers", "/queues/mail/numbers"] {
            let first = console.get(path).await;
            let all = json(&first);
            assert_eq!(all["queues"]["mail"]["delayed"], "1,234", "{all}");
            assert_eq!(all["queues"]["mail"]["paused"], false, "{all}");
            assert_eq!(first.header("cache-control"), Some("private, no-cache"));
            let tag = first.header("etag").unwrap();
            let token = format!("Bearer {}", TOKENS[0].1);
            let ask = |tag: &str| {
                let request = Request::get(path).header("Authorization", &token);
                console.send(request.header("If-None-Match", tag))
            };
            let same = ask(tag).await;
            assert_eq!(
                (same.status, same.body.as_str(), same.header("etag")),
                (304, "", Some(tag))
            );
            assert_eq!(ask(&format!("\"other\", W/{tag}")).await.status, 304);
            assert_eq!(ask("\"other\"").await.status, 200);
            let more = Item::new("x").with_id("more").delay(Duration::from_secs(600));
            queue.add_item(more).await.unwrap();
            let changed = async || ask(tag).await.status == 200;
            assert!(eventually(Duration::from_secs(20), changed).await, "{path} never changes");
            assert!(queue.remove("more").await.unwrap());
            let as_before = async || ask(tag).await.status == 304;
            assert!(eventually(Duration::from_secs(20), as_before).await, "{path} never changes");
        }
        assert_eq!(json(&console.get("/numbers").await)["queues"]["photos"]["paused"], true);
        let found = json(&console.get("/numbers?find=phot").await);
        assert_eq!(found["queues"].as_object().unwrap().len(), 1, "{found}");
        console.get("/queues/none/numbers").await.has(404, "there is no queue none");
    }
}

/// What time does to them is drawn by scripts.
#[tokio::test(flavor = "multi_thread")]
async fn time_alone_changes_no_answer() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.add_item(Item::new("x").with_id("a")).await.unwrap();
        let options = LeaseOptions::new(Duration::from_secs(600)).wait(Duration::ZERO);
        let lease = queue.lease(options).await.unwrap().unwrap();
        bury(&queue, "dead", "x", "timed out").await;
        let console = engine.console().await;
        let begun = console.post("/queues/mail/bulk/requeue", &[("state", "dead")]).await;
        let task = format!("{}/now", begun.header("location").unwrap());
        let previewed = async || json(&console.get(&task).await)["phase"] == "previewed";
        assert!(eventually(Duration::from_secs(20), previewed).await, "not previewed");
        let token = format!("Bearer {}", TOKENS[2].1);
        let ask = async |path: &str, tag: &str| {
            let request = Request::get(path).header("Authorization", &token);
            console.send(request.header("If-None-Match", tag)).await
        };
        let paths = ["/queues/mail/leases/now", "/tasks/now", &task, "/health/now"];
        let mut tags = Vec::new();
        for path in paths {
            let answer = console.get(path).await;
            assert!(json(&answer).is_object());
            tags.push(answer.header("etag").unwrap().to_owned());
        }
        let row = json(&console.get(paths[0]).await)["leases"][0].clone();
        let ends = lease.deadline().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        assert!(row["ends"].as_u64().unwrap().abs_diff(ends as u64) < 5_000, "{row}");
        assert_eq!(
            (&row["id"], &row["attempt"], &row["held"]),
            (&"a".into(), &1.into(), &false.into())
        );
        // Long enough for every text of a time to be another one.
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        for (path, tag) in paths.iter().zip(&tags) {
            assert_eq!(ask(path, tag).await.status, 304, "{path}");
        }
        queue.complete(&lease).await.unwrap();
        let started = console.post(&task.replace("/now", "/start"), &[]).await;
        assert_eq!(started.status, 303, "{started:?}");
        console.post("/queues/mail/check", &[]).await;
        for (path, tag) in paths.iter().zip(&tags) {
            let changed = async || ask(path, tag).await.status == 200;
            assert!(eventually(Duration::from_secs(20), changed).await, "{path} never changes");
        }
        let none = json(&console.get(paths[0]).await);
        assert_eq!((&none["any"], none["leases"].as_array().unwrap().len()), (&false.into(), 0));
    }
}

/// Scripts that clients have called.
pub(crate) fn requests(server: &RedisServer) -> u64 {
    let stats = server.cli(&["INFO", "commandstats"]);
    let calls =
        |line: &str| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next()?.parse().ok();
    stats.lines().find_map(calls).unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn many_viewers_cost_one_question() {
    let engine = Engine::redis();
    engine.queue("mail").await.add_item(Item::new("x")).await.unwrap();
    let console = engine.console().await;
    console.get("/numbers").await.has(200, "mail");
    let server = engine.server.as_ref().unwrap();
    let before = requests(server);
    let began = std::time::Instant::now();
    for _ in 0..20 {
        let (one, two, three) = tokio::join!(
            console.get("/numbers"),
            console.get("/queues/mail/numbers"),
            console.get("/")
        );
        for answer in [one, two, three] {
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    }
    let asked = requests(server) - before;
    // The names and the counts, every 2 s, and a few times the history and the doctor.
    let most = 60 + 8 * began.elapsed().as_secs();
    assert!(asked <= most, "{asked} commands in {:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_viewers_of_what_is_drawn_cost_one_question() {
    let engine = Engine::redis();
    engine.queue("mail").await.add_item(Item::new("x")).await.unwrap();
    let console = Arc::new(engine.console().await);
    let paths = ["/queues/mail/leases/now", "/workers/now", "/health/now"];
    for path in paths {
        assert!(json(&console.get(path).await).is_object());
    }
    let server = engine.server.as_ref().unwrap();
    let (before, began) = (requests(server), std::time::Instant::now());
    let mut viewers = tokio::task::JoinSet::new();
    for at in 0..60 {
        let console = console.clone();
        viewers.spawn(async move { console.get(paths[at % 3]).await.status });
    }
    assert!(viewers.join_all().await.iter().all(|status| *status == 200));
    let asked = requests(server) - before;
    // The names, the counts, the leases and the workers, every 2 s.
    let most = 5 + 5 * began.elapsed().as_secs();
    assert!(asked <= most, "{asked} commands in {:?}", began.elapsed());
    // A change is seen at once.
    assert_eq!(console.post("/queues/mail/check", &[]).await.status, 303);
    let running = json(&console.get("/health/now").await);
    assert_ne!(running["queues"][0]["state"], "not yet", "{running}");
}

/// What the script of this page draws.
async fn drawn(console: &Served, page: &Answer) -> Value {
    let source = page.body.split("data-history=\"").nth(1).unwrap().split('"').next().unwrap();
    json(&console.get(&source.replace("&#38;", "&")).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_is_a_chart_a_sentence_and_a_table() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.add_item(Item::new("x")).await.unwrap();
        let mut measured = Measured::default();
        measured.run.record_many(16_384, 99);
        measured.waiting.record_many(2_000_000, 99);
        let console = engine.console().await;
        let page = console.get("/queues/mail").await;
        page.has(200, "<div class=\"nothing\"><strong>Nothing is recorded in this time")
            .has(200, "<div class=\"charts\" hidden>");
        assert_eq!(drawn(&console, &page).await["nothing"], true);
        queue.record_history(&measured).await.unwrap();
        for path in ["/queues/mail", "/queues/mail?span=day", "/?span=month"] {
            let console = engine.console().await;
            let page = console.get(path).await;
            page.has(200, "1 ready and 0 leased at last")
                .has(200, "Show as a table")
                .has(200, "data-chart=\"rates\"");
            if path != "/?span=month" {
                page.has(200, "Half of the items ran for at most 17 ms, 95 % 17 ms.");
            }
            page.has(200, "<div class=\"nothing\" hidden>").has(200, "<div class=\"charts\">");
            let drawn = drawn(&console, &page).await;
            assert_eq!(drawn["nothing"], false);
            let line = |name: &str| {
                let lines = drawn["lines"].as_array().unwrap();
                let line = lines.iter().find(|line| line["name"] == name);
                line.unwrap_or_else(|| panic!("{name}: {drawn}"))["values"].as_array().unwrap()
            };
            assert_eq!(line("ready").iter().filter(|value| **value == 1.0).count(), 1, "{drawn}");
            assert_eq!(line("waited, p50").len(), line("added").len());
            let now = std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_secs();
            let end = drawn["begin"].as_u64().unwrap()
                + drawn["width"].as_u64().unwrap() * line("added").len() as u64;
            assert!((now..=now + 21_600).contains(&end), "{now} {end}");
        }
        console.get("/?span=year").await.has(400, "a span is hour, day or month");
    }
}
