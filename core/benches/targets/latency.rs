//! Target 6: how soon a waiting worker gets an item that was added to an idle queue, and one whose
//! worker died. Target 9: how much an idle process asks.

use std::time::{Duration, Instant, SystemTime};

use leaseq::options::BEAT_INTERVAL;
use leaseq::{Beat, Client, Item, LeaseOptions, Schedule, ScheduleRule, WorkQueue, WorkerId};

use crate::Scale;
use crate::report::{Bound, Report, Scene};
use crate::setup::{DATA, Setup, percentile};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let worker = Client::connect(&setup.server.url()).await.unwrap();

    report.scene(Scene::redis("one waiter"));
    let added = added(&setup, &worker, scale).await;
    let what =
        |share: &str| format!("added to an idle queue → leased by a waiting worker, {share}");
    let note = format!("{} samples", added.len());
    report.info("6", &what("p50"), percentile(added.clone(), 0.5), "ms", note);
    let p99 = percentile(added.clone(), 0.99);
    report.target("6", &what("p99"), p99, "ms", (Bound::AtMost, 5.0), "");
    report.info("6", &what("p99.9"), percentile(added, 0.999), "ms", "");

    let expired = expired(&setup, &worker, scale).await;
    let note = format!("p50 {:.2} ms; {} samples", percentile(expired.clone(), 0.5), expired.len());
    let p99 = percentile(expired, 0.99);
    report.target(
        "6",
        "deadline of a dead worker → leased by a waiting worker, p99",
        p99,
        "ms",
        (Bound::AtMost, 50.0),
        note,
    );

    let ticks = ticks(&setup, &worker, scale).await;
    let note = format!("p50 {:.2} ms; {} samples", percentile(ticks.clone(), 0.5), ticks.len());
    report.target(
        "6",
        "tick of a schedule → leased by a waiting worker, p99",
        percentile(ticks, 0.99),
        "ms",
        (Bound::AtMost, 20.0),
        note,
    );

    report.target(
        "9",
        "commands of a worker for its beats",
        beats(&setup).await,
        "/s",
        (Bound::AtMost, 0.1),
        "a beat every 10 s",
    );

    report.scene(Scene::redis("idle"));
    let (rate, connections) = idle(&setup, &worker, scale).await;
    report.target(
        "9",
        "commands of an idle process that waits",
        rate,
        "/s",
        (Bound::AtMost, 1.0),
        "",
    );
    report.target("9", "connections of an idle process", connections, "", (Bound::AtMost, 2.0), "");
}

async fn added(setup: &Setup, worker: &Client, scale: Scale) -> Vec<f64> {
    let (producer, waiting) = (setup.queue("added"), worker.queue("added").unwrap());
    let (ready, mut leased) = tokio::sync::mpsc::unbounded_channel();
    // Enough for the last of a thousand to be more than one.
    let samples = scale.samples * 4;
    let worker = tokio::spawn(async move {
        for _ in 0..samples {
            let lease = waiting.lease(LeaseOptions::new(Duration::from_secs(60))).await.unwrap();
            ready.send(Instant::now()).unwrap();
            assert!(waiting.complete(&lease.unwrap()).await.unwrap());
        }
    });
    let mut latencies = Vec::new();
    for _ in 0..samples {
        // Not a synchronisation: the queue is to be idle for a moment.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let begun = Instant::now();
        producer.add_item(Item::new([b'x'; DATA])).await.unwrap();
        let at = leased.recv().await.unwrap();
        latencies.push(at.saturating_duration_since(begun).as_secs_f64() * 1e3);
    }
    worker.await.unwrap();
    latencies
}

async fn expired(setup: &Setup, worker: &Client, scale: Scale) -> Vec<f64> {
    let (dying, waiting) = (setup.queue("expired"), worker.queue("expired").unwrap());
    let mut latencies = Vec::new();
    for _ in 0..(scale.samples / 5).max(5) {
        dying.add_item(Item::new([b'x'; DATA])).await.unwrap();
        let short = LeaseOptions::new(Duration::from_millis(30));
        let dead = dying.lease(short).await.unwrap().unwrap();
        let lease =
            waiting.lease(LeaseOptions::new(Duration::from_secs(60))).await.unwrap().unwrap();
        // The server's clock is this machine's.
        let late = SystemTime::now().duration_since(dead.deadline()).unwrap();
        latencies.push(late.as_secs_f64() * 1e3);
        assert!(waiting.complete(&lease).await.unwrap());
    }
    latencies
}

async fn ticks(setup: &Setup, worker: &Client, scale: Scale) -> Vec<f64> {
    late_ticks(&setup.queue("ticks"), &worker.queue("ticks").unwrap(), scale).await
}

/// How late (ms) a waiting worker has the item of each tick.
pub(crate) async fn late_ticks(owner: &WorkQueue, waiting: &WorkQueue, scale: Scale) -> Vec<f64> {
    let rule = ScheduleRule::every(Duration::from_millis(100)).unwrap();
    owner.put_schedule(Schedule::new("s", rule, Item::new([b'x'; DATA])).overlap()).await.unwrap();
    let mut next = owner.schedules().await.unwrap()[0].next.unwrap();
    let mut latencies = Vec::new();
    for _ in 0..(scale.samples / 5).max(5) {
        let lease =
            waiting.lease(LeaseOptions::new(Duration::from_secs(60))).await.unwrap().unwrap();
        // The server's clock is this machine's.
        let late = SystemTime::now().duration_since(next).unwrap();
        latencies.push(late.as_secs_f64() * 1e3);
        next += Duration::from_millis(100);
        assert!(waiting.complete(&lease).await.unwrap());
    }
    owner.remove_schedule("s").await.unwrap();
    latencies
}

/// Commands a second that a worker sends to be seen, if it beats as often as workers do.
async fn beats(setup: &Setup) -> f64 {
    const BEATS: u32 = 100;
    let mut beat = Beat::new(WorkerId::new("worker"));
    beat.queues = vec!["emails".into()];
    setup.client.beat(&beat).await.unwrap();
    setup.reset_stats();
    for _ in 0..BEATS {
        setup.client.beat(&beat).await.unwrap();
    }
    sent(setup) / f64::from(BEATS) / BEAT_INTERVAL.as_secs_f64()
}

/// What clients have sent since the statistics were reset; not this benchmark's own, nor commands inside a script.
fn sent(setup: &Setup) -> f64 {
    let info = setup.server.cli(&["INFO", "commandstats"]);
    let calls = |line: &str| -> f64 {
        let name = line.split(':').next().unwrap_or("");
        if !["cmdstat_evalsha", "cmdstat_blpop", "cmdstat_eval", "cmdstat_ping"].contains(&name) {
            return 0.0;
        }
        let calls = line.split(['=', ',']).nth(1).unwrap_or("0");
        calls.parse().unwrap()
    };
    info.lines().map(calls).sum()
}

async fn idle(setup: &Setup, worker: &Client, scale: Scale) -> (f64, f64) {
    setup.client.close().await;
    let queue = worker.queue("idle").unwrap();
    let waiting = tokio::spawn(async move {
        let _ = queue.lease(LeaseOptions::new(Duration::from_secs(60))).await;
    });
    let seconds = if scale.samples > 100 { 20 } else { 2 };
    tokio::time::sleep(Duration::from_millis(500)).await;
    setup.reset_stats();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let rate = sent(setup) / seconds as f64;
    let clients = setup.server.cli(&["CLIENT", "LIST"]);
    // One of them is this benchmark's own.
    let connections = clients.lines().filter(|line| line.contains("id=")).count() - 1;
    waiting.abort();
    (rate, connections as f64)
}
