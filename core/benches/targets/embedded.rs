//! Target 10: the embedded engine on a file, beside plain SQLite statements that move the same data
//! in the same run, in both durability modes. `plain.rs` says what those do.

use std::path::Path;
use std::time::{Duration, Instant};

use leaseq::{Client, Item, LeaseOptions, WorkQueue};
use leaseq_test_support::cpu_time;

use crate::Scale;
use crate::latency::late_ticks;
use crate::load::{MANY, by_turns};
use crate::plain::Plain;
use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, DATA, at_once, batch, median};

/// Batches that one runs before it is the other's turn, so that both have the same disk and processor.
const TURN: usize = 20;

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    for mode in ["full", "normal"] {
        let folder = tempfile::tempdir().unwrap();
        compare(mode, folder.path(), scale, report).await;
    }
    waiting(scale, report).await;
}

async fn compare(mode: &str, folder: &Path, scale: Scale, report: &mut Report) {
    let url = format!("sqlite:{}?synchronous={mode}", folder.join("queue.db").display());
    let client = Client::connect(&url).await.unwrap();
    let mut plain = Plain::new(&folder.join("plain.db"), mode, false);
    let mut lean = Plain::new(&folder.join("lean.db"), mode, true);
    let mut figures: [Vec<f64>; 8] = Default::default();
    let mut ratios: [Vec<f64>; 6] = Default::default();
    let (singles, batches) = (scale.batches * 2, scale.batches);
    for round in 0..scale.rounds * 2 {
        let queue = client.queue(&format!("round-{round}")).unwrap();
        let singly = in_turns(&queue, [&mut plain, &mut lean], singles, 1).await;
        let batched = in_turns(&queue, [&mut plain, &mut lean], batches, BATCH).await;
        let leanest = [singly[2], batched[2]];
        let shared = at_the_same_time(&queue, scale).await;
        let on_one_thread = on_one_thread(&url, queue.name(), scale).await;
        let [batched_here, plain_batched, _] = batched;
        let shares = [shared, on_one_thread];
        let all = [singly[1], singly[0], plain_batched, batched_here, shared, on_one_thread];
        let all = all.into_iter().chain(leanest);
        for (figures, figure) in figures.iter_mut().zip(all) {
            figures.push(figure);
        }
        let all = [
            singly[0] / singly[1],
            batched[0] / batched[1],
            shares[0] / batched[0],
            shares[1] / batched[0],
            singly[0] / leanest[0],
            batched[0] / leanest[1],
        ];
        for (ratios, ratio) in ratios.iter_mut().zip(all) {
            ratios.push(ratio);
        }
    }
    let [plain_singly, singly, plain_batched, batched, shared, on_one, lean_singly, lean_batched] =
        figures.map(median);
    let [single_ratio, batch_ratio, shared_ratio, on_one_ratio, single_lean, batch_lean] =
        ratios.map(median);
    let what = |rest: &str| format!("embedded, synchronous={mode}: {rest}");
    report.scene(Scene::embedded(mode, "one at a time"));
    let at_least = (Bound::AtLeast, 0.8);
    let note = format!("{singly:.0} cycles/s, plain {plain_singly:.0}");
    report.target("10", &what("singly / plain"), single_ratio, "×", at_least, note);
    report.scene(Scene::embedded(mode, format!("batches of {BATCH}")));
    let note = format!("{batched:.0} cycles/s, plain {plain_batched:.0}");
    report.target("10", &what("batches of 100 / plain"), batch_ratio, "×", at_least, note);
    report.scene(Scene::embedded(mode, "one at a time"));
    let note = format!("the leanest {lean_singly:.0} cycles/s");
    report.info("10", &what("singly / the leanest"), single_lean, "×", note);
    report.scene(Scene::embedded(mode, format!("batches of {BATCH}")));
    let note = format!("the leanest {lean_batched:.0} cycles/s");
    report.info("10", &what("batches of 100 / the leanest"), batch_lean, "×", note);
    report.scene(Scene::embedded(mode, MANY.name()));
    let note = format!("{shared:.0} cycles/s");
    report.info("10", &what("singly, 100 at once / batches"), shared_ratio, "×", note);
    let note = format!("{on_one:.0} cycles/s");
    report.info(
        "10",
        &what("singly, 100 at once on one thread / batches"),
        on_one_ratio,
        "×",
        note,
    );
}

/// Cycles of one item a second in batches of this size: ours, and theirs.
async fn in_turns(
    queue: &WorkQueue,
    mut others: [&mut Plain; 2],
    batches: usize,
    size: usize,
) -> [f64; 3] {
    let mut times = [Duration::ZERO; 3];
    for first in (0..batches).step_by(TURN) {
        let turn = TURN.min(batches - first);
        let [ours, theirs @ ..] = &mut times;
        *ours += cycles(queue, turn, size).await;
        for (time, other) in theirs.iter_mut().zip(&mut others) {
            *time += other.cycles(turn, size);
        }
    }
    times.map(|time| (batches * size) as f64 / time.as_secs_f64())
}

/// Adds, leases and completes, in batches of this size.
async fn cycles(queue: &WorkQueue, batches: usize, size: usize) -> Duration {
    let begun = Instant::now();
    for _ in 0..batches {
        if size == 1 {
            assert!(queue.add_item(Item::new([b'x'; DATA])).await.unwrap());
            let lease = queue.lease(at_once()).await.unwrap().unwrap();
            assert!(queue.complete(&lease).await.unwrap());
        } else {
            queue.add_items(batch()).await.unwrap();
            let leases = queue.lease_many(size, at_once()).await.unwrap();
            assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; BATCH]);
        }
    }
    begun.elapsed()
}

async fn at_the_same_time(queue: &WorkQueue, scale: Scale) -> f64 {
    let each = (scale.batches / 4).max(1);
    let time = by_turns(queue, each).await;
    (MANY.at_once * each) as f64 / time.as_secs_f64()
}

/// The same on a runtime of one thread.
async fn on_one_thread(url: &str, queue: &str, scale: Scale) -> f64 {
    let (url, queue) = (url.to_owned(), queue.to_owned());
    let measured = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::connect(&url).await.unwrap();
            let rate = at_the_same_time(&client.queue(&queue).unwrap(), scale).await;
            client.close().await;
            rate
        })
    });
    tokio::task::spawn_blocking(|| measured.join().unwrap()).await.unwrap()
}

/// How soon a waiter has an item that another client has added, as if it were another process.
async fn waiting(scale: Scale, report: &mut Report) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?synchronous=normal", folder.path().join("queue.db").display());
    let (same, other) =
        (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
    report.scene(Scene::embedded("normal", "one waiter"));
    for (who, producer) in [("same", &same), ("another", &other)] {
        let waiter = same.queue(who).unwrap();
        let producer = producer.queue(who).unwrap();
        let mut latencies = Vec::new();
        for n in 0..scale.samples {
            let waiting = tokio::spawn({
                let waiter = waiter.clone();
                async move {
                    let options = LeaseOptions::new(Duration::from_secs(60));
                    let lease = waiter.lease(options).await.unwrap().unwrap();
                    let at = Instant::now();
                    assert!(waiter.complete(&lease).await.unwrap());
                    at
                }
            });
            // Not a synchronisation: it is to be waiting for a moment.
            tokio::time::sleep(Duration::from_millis(2 + n as u64 % 7)).await;
            let begun = Instant::now();
            producer.add_item(Item::new([b'x'; DATA])).await.unwrap();
            let at = waiting.await.unwrap();
            latencies.push(at.saturating_duration_since(begun).as_secs_f64() * 1e3);
        }
        let what = format!("embedded: added by {who} process → leased by a waiter, p99");
        let note = format!("p50 {:.2} ms", crate::setup::percentile(latencies.clone(), 0.5));
        let p99 = crate::setup::percentile(latencies, 0.99);
        let most = if who == "same" { 5.0 } else { 10.0 };
        report.target("6", &what, p99, "ms", (Bound::AtMost, most), note);
    }
    let (owner, waiter) = (other.queue("ticks").unwrap(), same.queue("ticks").unwrap());
    let ticks = late_ticks(&owner, &waiter, scale).await;
    let note = format!("p50 {:.2} ms", crate::setup::percentile(ticks.clone(), 0.5));
    let p99 = crate::setup::percentile(ticks, 0.99);
    let what = "embedded: tick of a schedule → leased by a waiter, p99";
    report.target("6", what, p99, "ms", (Bound::AtMost, 20.0), note);
    other.close().await;
    let queue = same.queue("idle").unwrap();
    idle("waiter", scale, report, {
        let queue = queue.clone();
        async move { queue.lease(LeaseOptions::new(Duration::from_secs(60))).await.map(drop) }
    })
    .await;
    idle("cleaner", scale, report, async move {
        queue.wait_until_due(Duration::from_secs(60)).await.map(drop)
    })
    .await;
}

/// What this process uses while one of its tasks waits and nothing comes. For two seconds after a write
/// every look asks SQLite whether all of it is there: that is not idle yet.
async fn idle(
    who: &str,
    scale: Scale,
    report: &mut Report,
    waits: impl Future<Output = leaseq::Result<()>> + Send + 'static,
) {
    let waiting = tokio::spawn(waits);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let (before, begun) = (cpu_time(std::process::id()), Instant::now());
    tokio::time::sleep(Duration::from_millis(scale.samples as u64 * 3)).await;
    let used = cpu_time(std::process::id()) - before;
    waiting.abort();
    let share = used.as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0;
    let note = "all threads; the kernel tells when another process writes".to_owned();
    let what = format!("embedded: an idle {who}, of a core");
    report.target("9", &what, share, "%", (Bound::AtMost, 1.0), note);
}
