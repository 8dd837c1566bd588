//! Pages of large queues. With `LEASEQ_STRESS`, in a release build, this measures: 10 million items on Redis, a million
//! in a file. Otherwise it looks whether all pages work, and how often they ask.

use std::time::{Duration, Instant};

use leaseq::{Item, LeaseOptions, Measured, SettingsChange, State, WorkQueue};
use leaseq_test_support::eventually;

use crate::example::past;
use crate::http::Answer;
use crate::live::requests;
use crate::support::{Engine, Served};

/// The longest time of any page.
const LIMIT: Duration = Duration::from_millis(50);
const SOON: Duration = Duration::from_secs(20);
/// Items that one task adds in a call.
const STEP: u64 = 1_000;
/// Items that are dead.
const DEAD: u64 = 5_000;
/// How many scripts any page runs at most: 20 for a search, and those that tell it of the queue.
const MAX_REQUESTS: u64 = 26;

const PAGES: [&str; 23] = [
    "/",
    "/numbers",
    "/history",
    "/queues/large",
    "/queues/large/numbers",
    "/queues/large/history?span=day",
    "/queues/large?state=ready&order=reverse",
    "/queues/large?state=dead",
    "/queues/large?state=ready&id=item-0000001",
    "/queues/large?state=dead&error=nothing",
    "/queues/large?state=ready&data=nothing",
    "/queues/large/item?id=item-00000010",
    "/queues/large/leases",
    "/queues/large/leases/now",
    "/queues/large/dead",
    "/queues/large/wasted",
    "/queues/large/schedules",
    "/queues/large/settings",
    "/workers",
    "/workers/now",
    "/health",
    "/health/now",
    "/tasks/now",
];

fn stress() -> bool {
    std::env::var_os("LEASEQ_STRESS").is_some() && !cfg!(debug_assertions)
}

async fn fill(queue: &WorkQueue, count: u64) {
    queue.configure(SettingsChange::new().events(10_000)).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let queue = queue.clone();
        tasks.spawn(async move {
            let mut first = task * STEP;
            while first < count {
                let item = |n: u64| {
                    let data =
                        format!("{{\"job\":\"mail.send\",\"to\":\"customer-{n}@example.com\"}}");
                    Item::new(data).with_id(format!("item-{n:08}"))
                };
                queue.add_items((first..count.min(first + STEP)).map(item)).await.unwrap();
                first += 4 * STEP;
            }
        });
    }
    tasks.join_all().await;
    let ids = |n: u64| format!("item-{n:08}");
    for first in (20..DEAD + 20).step_by(STEP as usize) {
        queue.bury((first..first + STEP).map(ids), "connect to 10.0.0.1: timed out").await.unwrap();
    }
    let lease = LeaseOptions::new(Duration::from_secs(3_600)).wait(Duration::ZERO);
    queue.lease_many(20, lease).await.unwrap();
    queue.record_history(&Measured::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_large_queues_are_quick() {
    let counts = if stress() { [10_000_000, 1_000_000] } else { [30_000, 8_000] };
    let mut slow = Vec::new();
    for (engine, count) in Engine::all().iter().zip(counts) {
        let queue = engine.queue("large").await;
        let began = Instant::now();
        fill(&queue, count).await;
        if let Some(server) = &engine.server {
            past(server, "large", count);
        }
        let name = if engine.server.is_some() { "redis" } else { "sqlite" };
        println!("{name}: {count} items in {:?}", began.elapsed());
        assert_eq!(queue.counts().await.unwrap().dead, DEAD);
        assert_eq!(queue.list(State::Leased, None, 100).await.unwrap().items.len(), 20);
        for path in PAGES {
            let mut times = Vec::new();
            for _ in 0..if stress() { 5 } else { 1 } {
                // One that is connected, and has seen nothing of the queue.
                let console = engine.console().await;
                assert_eq!(console.get("/numbers?find=nothing").await.status, 200);
                let before = engine.server.as_ref().map_or(0, requests);
                let began = Instant::now();
                let answer = console.get(path).await;
                times.push(began.elapsed());
                assert_eq!(answer.status, 200, "{path}: {answer:?}");
                let asked = engine.server.as_ref().map_or(0, requests) - before;
                assert!(asked <= MAX_REQUESTS, "{path}: {asked} commands");
                if stress() && path == "/queues/large" {
                    // Although the first in the line are gone.
                    assert_eq!(answer.body.matches("class=\"id\" href").count(), 50);
                }
            }
            times.sort();
            println!(
                "{name}: {path}: median {:?}, longest {:?}",
                times[times.len() / 2],
                times[times.len() - 1]
            );
            if times[times.len() / 2] > LIMIT {
                slow.push(format!("{name} {path} {times:?}"));
            }
        }
        if let (Some(server), true) = (&engine.server, stress()) {
            // A console that somebody has looked at, and that nobody looks at now.
            let console = engine.console().await;
            assert_eq!(console.get("/").await.status, 200);
            let before = requests(server);
            tokio::time::sleep(Duration::from_secs(10)).await;
            let asked = requests(server) - before;
            println!("{name}: {asked} commands in 10 s while nobody looks");
            assert!(asked <= 10, "{asked} commands");
        }
    }
    assert!(!stress() || slow.is_empty(), "{slow:#?}");
}

/// A page of the overview asks for each queue as few times as it can, also where all of them have a long history.
#[tokio::test(flavor = "multi_thread")]
async fn the_overview_of_many_histories_is_quick() {
    const QUEUES: u64 = 50;
    let engine = Engine::redis();
    let server = engine.server.as_ref().unwrap();
    let client = engine.client().await;
    for n in 0..QUEUES {
        let queue = client.queue(&format!("queue-{n:02}")).unwrap();
        queue.add_item(Item::new("x")).await.unwrap();
        queue.record_history(&Measured::default()).await.unwrap();
    }
    past(server, "queue-00", 12);
    for n in 1..QUEUES {
        let to = format!("leaseq:{{queue-{n:02}}}:history");
        server.command(&["COPY", "leaseq:{queue-00}:history", &to, "REPLACE"]);
    }
    let consoles = [engine.console().await, engine.console().await, engine.console().await];
    let mut late = Vec::new();
    let look = async |console: &Served, path: &str| {
        let before = requests(server);
        let began = Instant::now();
        let answer = console.get(path).await;
        let took = began.elapsed();
        answer.has(200, "queue-49");
        (requests(server) - before, took)
    };
    // For each queue: whether its format is known, its counts, and its last hour. More of it is read of some queues at once,
    // and of the others a little later.
    for (console, (path, each)) in
        consoles.iter().zip([("/", 3), ("/?span=day", 4), ("/?span=month", 4)])
    {
        assert_eq!(console.get("/numbers?find=nothing").await.status, 200);
        let (asked, took) = look(console, path).await;
        println!("{path}: {asked} commands, {took:?}");
        assert!(asked <= QUEUES * each + 4, "{path}: {asked} commands");
        late.extend((stress() && took > LIMIT).then(|| format!("{path}: {took:?}")));
        let complete = async || {
            let page = console.get(path).await;
            page.has(200, "ready and ");
            !page.body.contains("queues so far")
        };
        assert!(eventually(SOON, complete).await, "{path} is never complete");
    }
    if stress() {
        // Longer than the console keeps a history without asking what has come since.
        tokio::time::sleep(Duration::from_secs(31)).await;
        for (console, (path, each)) in
            consoles.iter().zip([("/", 2), ("/?span=day", 2), ("/?span=month", 3)])
        {
            let (asked, took) = look(console, path).await;
            println!("{path}, 31 s later: {asked} commands, {took:?}");
            assert!(asked <= QUEUES * each + 4, "{path}: {asked} commands");
            late.extend((took > LIMIT).then(|| format!("{path}, 31 s later: {took:?}")));
        }
    }
    assert!(late.is_empty(), "{late:?}");
}

/// What a page says of the next one.
fn next_of(answer: &Answer) -> Option<String> {
    let next = answer.body.split("rel=\"next\" href=\"").nth(1)?;
    Some(next.split('"').next().unwrap().replace("&#38;", "&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_page_does_not_reach_its_next_ones_do() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        let item = |n: u32| Item::new(format!("number {n},")).with_id(format!("item-{n:05}"));
        for first in [0, 1_000, 2_000] {
            queue.add_items((first..first + 1_000).map(item)).await.unwrap();
        }
        let console = engine.console().await;
        let mut page = console.get("/queues/mail?data=number+2999%2C").await;
        let mut found = page.body.matches("class=\"id\" href").count();
        while let Some(next) = next_of(&page) {
            page.has(200, " of 3,000");
            page = console.get(&next).await;
            found += page.body.matches("class=\"id\" href").count();
        }
        page.has(200, "item-02999").has(200, "examined 3,000 of 3,000</span>");
        assert_eq!(found, 1);

        let ids = (0..3_000).map(|n| format!("item-{n:05}"));
        for part in ids.collect::<Vec<_>>().chunks(1_000) {
            let (one, other) = part.split_at(600);
            assert_eq!(queue.bury(one, "no route to host 7").await.unwrap(), vec![true; 600]);
            assert_eq!(queue.bury(other, "timed out").await.unwrap(), vec![true; 400]);
        }
        // One that has not counted them before.
        let console = engine.console().await;
        let mut page = console.get("/queues/mail/dead").await;
        page.has(200, "<span>1 to ").has(200, " of 3,000 dead items, the latest first.");
        let mut counted = 0;
        loop {
            let counts = page.body.split("data-name=\"Items\"><strong>").skip(1);
            counted +=
                counts.map(|c| c.split('<').next().unwrap().parse::<u64>().unwrap()).sum::<u64>();
            let Some(next) = next_of(&page) else { break };
            page = console.get(&next).await;
            page.has(200, "To the beginning");
        }
        page.has(200, " to 3,000 of 3,000 dead items");
        assert_eq!(counted, 3_000);

        // Behind what is left of the others in the line.
        queue.add_items((3_000..3_060).map(item)).await.unwrap();
        let mut page = console.get("/queues/mail").await;
        let mut found = page.body.matches("class=\"id\" href").count();
        while let Some(next) = next_of(&page) {
            page = console.get(&next).await;
            found += page.body.matches("class=\"id\" href").count();
        }
        assert_eq!(found, 60);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_watched_reads_no_events() {
    for engine in Engine::all() {
        let queue = engine.queue("mail").await;
        queue.configure(SettingsChange::new().events(100)).await.unwrap();
        queue.add_item(Item::new("x").with_id("mine")).await.unwrap();
        let lease = LeaseOptions::new(Duration::from_secs(3_600)).wait(Duration::ZERO);
        let lease = queue.lease(lease).await.unwrap().unwrap();
        let console = engine.console().await;
        let page = console.get("/queues/mail/item?id=mine").await;
        page.has(200, "From the 2 last events of the queue").has(200, "Leased, attempt 1");
        let source = page.body.split("data-source=\"").nth(1).unwrap().split('"').next().unwrap();
        let source = source.replace("&#38;", "&").replace("&amp;", "&");
        let page = console.get(&source).await;
        page.has(200, "data-live=\"lease\"");
        assert!(!page.body.contains("Leased, attempt 1"), "{page:?}");
        // Without this, scripts know that they have to load the whole page.
        queue.release(&lease, Duration::ZERO).await.unwrap();
        let page = console.get(&source).await;
        assert!(page.status == 200 && !page.body.contains("data-source"), "{page:?}");
    }
}
