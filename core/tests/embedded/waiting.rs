//! Waiting for an item: how soon a waiter wakes, whoever added it, and what waiting costs.

use std::time::{Duration, Instant, SystemTime};

use leaseq::{Client, ErrorKind, Item, LeaseOptions, OutcomeOptions, WorkQueue};
use leaseq_test_support::cpu_time;

use crate::support::{Place, Process, item, ms, queue};

fn patiently() -> LeaseOptions {
    LeaseOptions::new(Duration::from_secs(60)).wait(Duration::from_secs(20))
}

/// Latencies in ms from before an add of `producer` until `waiter` has the item, which has waited for the
/// nth as long as `rest` says.
async fn latencies(
    producer: &WorkQueue,
    waiter: &WorkQueue,
    count: usize,
    rest: fn(u64) -> Duration,
) -> Vec<f64> {
    let (ready, mut leased) = tokio::sync::mpsc::unbounded_channel();
    let waiter = waiter.clone();
    let waiting = tokio::spawn(async move {
        for _ in 0..count {
            let lease = waiter.lease(patiently()).await.unwrap().unwrap();
            ready.send(Instant::now()).unwrap();
            assert!(waiter.complete(&lease).await.unwrap());
        }
    });
    let mut latencies = Vec::new();
    for n in 0..count {
        // Not a synchronisation: it is to be waiting for a moment.
        tokio::time::sleep(rest(n as u64)).await;
        let begun = Instant::now();
        producer.add_item(item(n.to_string())).await.unwrap();
        let at = leased.recv().await.unwrap();
        latencies.push(at.saturating_duration_since(begun).as_secs_f64() * 1e3);
    }
    waiting.await.unwrap();
    latencies.sort_by(f64::total_cmp);
    latencies
}

fn a_moment(n: u64) -> Duration {
    ms(3 + n % 7)
}

/// Returns the median: the machine may be busy with other tests. The benchmark holds the p99.
fn show(what: &str, latencies: &[f64]) -> f64 {
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100];
    println!("{what}: p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms", at(50), at(99), at(100));
    at(50)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_of_the_same_client_wakes_at_once() {
    let place = Place::new();
    let queue = queue(&format!("{}?synchronous=normal", place.url())).await;
    let p50 = show("same client", &latencies(&queue, &queue, 300, a_moment).await);
    assert!(p50 < 5.0, "{p50} ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_of_another_client_wakes_within_moments() {
    let place = Place::new();
    let url = format!("{}?synchronous=normal", place.url());
    let (producer, waiter) = (queue(&url).await, queue(&url).await);
    let p50 = show("another client", &latencies(&producer, &waiter, 200, a_moment).await);
    assert!(p50 < 50.0, "{p50} ms");
}

/// The log has been at rest for so long that the thread looks at it only once a second.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_that_has_long_had_nothing_wakes_within_moments() {
    let place = Place::new();
    let url = format!("{}?synchronous=normal", place.url());
    let (producer, waiter) = (queue(&url).await, queue(&url).await);
    // It is to have nothing for so long, and not always for as long.
    let latencies = latencies(&producer, &waiter, 5, |n| ms(2_300 + n * 170)).await;
    let p50 = show("another client, after a rest", &latencies);
    assert!(p50 < 50.0, "{p50} ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_wakes_exactly_when_an_item_is_due_or_expires() {
    let place = Place::new();
    let (producer, waiter) = (place.queue().await, place.queue().await);
    for round in 0..5 {
        let begun = SystemTime::now();
        producer.add_item(item(format!("due {round}")).delay(ms(80))).await.unwrap();
        let first = waiter.lease(LeaseOptions::new(ms(60)).wait(ms(5_000))).await.unwrap().unwrap();
        let late = begun.elapsed().unwrap();
        assert!(late >= ms(79) && late < ms(480), "due after {late:?}");
        let second = waiter.lease(patiently()).await.unwrap().unwrap();
        assert_eq!((second.attempt(), second.id()), (2, first.id()));
        let late = SystemTime::now().duration_since(first.deadline()).unwrap();
        assert!(late < ms(400), "expired {late:?} ago");
        assert!(waiter.complete(&second).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_queues_of_three_hundred_in_a_file_can_be_waited_on() {
    const QUEUES: usize = 300;
    const WAITED_ON: usize = 50;
    let place = Place::new();
    let url = format!("{}?synchronous=normal", place.url());
    let (producer, waiter) =
        (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
    let name = |n: usize| format!("queue-{n}");
    for n in 0..QUEUES {
        producer.queue(&name(n)).unwrap().add_item(item("first")).await.unwrap();
    }
    assert_eq!(producer.queues().await.unwrap().len(), QUEUES);
    let waiting: Vec<_> = (0..WAITED_ON)
        .map(|n| {
            let queue = waiter.queue(&name(n * 6)).unwrap();
            tokio::spawn(async move {
                let first = queue.lease(patiently()).await.unwrap().unwrap();
                assert!(queue.complete(&first).await.unwrap());
                let second = queue.lease(patiently()).await.unwrap().unwrap();
                (second.id().to_vec(), Instant::now())
            })
        })
        .collect();
    crate::support::until("all wait", || async {
        let mut left = 0;
        for n in 0..WAITED_ON {
            left += producer.queue(&name(n * 6)).unwrap().queue_len().await.unwrap();
        }
        left == 0
    })
    .await;
    tokio::time::sleep(ms(50)).await;
    let mut latencies = Vec::new();
    for (n, waiting) in waiting.into_iter().enumerate() {
        let begun = Instant::now();
        producer.queue(&name(n * 6)).unwrap().add_item(item(name(n))).await.unwrap();
        let (id, at) = waiting.await.unwrap();
        assert_eq!(id, name(n).as_bytes());
        latencies.push(at.saturating_duration_since(begun).as_secs_f64() * 1e3);
    }
    latencies.sort_by(f64::total_cmp);
    let p50 = show("one of fifty queues, another client", &latencies);
    assert!(p50 < 50.0, "{p50} ms");
}

const URL: &str = "LEASEQ_IDLE_URL";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started as a process by the test below"]
async fn idle() {
    let Ok(url) = std::env::var(URL) else { return };
    let options = LeaseOptions::new(Duration::from_secs(60));
    let lease = queue(&url).await.lease(options).await.unwrap().unwrap();
    assert_eq!(lease.id(), b"at last");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started as a process by the test below"]
async fn idle_cleaner() {
    let Ok(url) = std::env::var(URL) else { return };
    let queue = queue(&url).await;
    while !queue.wait_until_due(Duration::from_secs(60)).await.unwrap() {}
    assert_eq!(queue.light_clean().await.unwrap().promoted, 1);
}

#[tokio::test]
async fn an_idle_waiter_wakes_no_more_often_than_it_must() {
    is_at_rest("waiting::idle", |item| item).await;
}

#[tokio::test]
async fn an_idle_cleaner_wakes_no_more_often_than_it_must() {
    is_at_rest("waiting::idle_cleaner", |item| item.delay(ms(50))).await;
}

/// What a wake-up costs depends on what else runs on the machine, how many there are does not. The
/// benchmark holds the share of a core. The process ends when this item is added.
async fn is_at_rest(waits: &str, what_for: impl Fn(Item) -> Item) {
    const WATCHED: Duration = Duration::from_secs(3);
    let place = Place::new();
    let queue = place.queue().await;
    // Nothing is due, but there is something to look after.
    queue.add_item(item("later").delay(Duration::from_secs(3600))).await.unwrap();
    let mut process = Process::start(waits, &[(URL, &place.url())]);
    let pid = process.0.id();
    let watch = async |what: &str| {
        let (before, used, begun) = (wakes(pid), cpu_time(pid), Instant::now());
        tokio::time::sleep(WATCHED).await;
        let watched = begun.elapsed().as_secs_f64();
        let wakes = (wakes(pid) - before) as f64 / watched;
        let share = (cpu_time(pid) - used).as_secs_f64() / watched;
        let percent = share * 100.0;
        println!("{what}, {waits} wakes {wakes:.0} times a second, for {percent:.2} % of a core");
        assert!(share < 0.05, "{what}: {share} of a core");
        wakes
    };
    // It opens the file and settles down.
    tokio::time::sleep(ms(500)).await;
    // It looks every 8 ms.
    let wakes = watch("at first").await;
    assert!(wakes < 160.0, "{wakes} a second");
    let wakes = watch("then").await;
    // Where the kernel tells it of writes.
    assert!(wakes < if cfg!(target_os = "linux") { 20.0 } else { 160.0 }, "{wakes} a second");
    queue.add_item(what_for(item("at last"))).await.unwrap();
    crate::support::until("it has ended", || {
        let ended = process.has_ended();
        async move { ended }
    })
    .await;
    assert!(process.0.wait().unwrap().success());
}

/// How often its threads have gone to sleep.
fn wakes(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let slept = threads.map(|thread| {
        let text = std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse::<u64>().unwrap()
    });
    slept.sum()
}

#[test]
fn a_wait_ends_when_the_runtime_of_the_client_is_gone() {
    let (first, second) = (runtime(), runtime());
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("q.db").display());
    let client = first.block_on(Client::connect(&url)).unwrap();
    let queue = client.queue("q").unwrap();
    first.shutdown_background();
    second.block_on(async {
        for wait in [None, Some(ms(10))] {
            let options = OutcomeOptions::new().expect();
            let options = wait.map_or(options.clone(), |wait| options.wait(wait));
            let ended = tokio::time::timeout(Duration::from_secs(20), queue.outcome("a", options));
            let error = ended.await.expect("it ends").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        }
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
