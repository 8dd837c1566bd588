//! A process that forks while its threads work. With the hooks of `leaseq::fork` a child may open the file
//! again, and the parent continues.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leaseq::{Client, ErrorKind, Lease, LeaseOptions, WorkQueue};

use crate::libc_calls::{ended, forked, register_hooks};
use crate::support::{Place, Process, assert_sound, at_once, fill, item, ms, queue};

/// Where a process of these tests finds the URL of the file.
pub(super) const URL: &str = "LEASEQ_FORKS_URL";

pub(super) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Adds an item of its own, leases some item and completes it.
async fn one_cycle(queue: &WorkQueue, id: &str) {
    assert!(queue.add_item(item(id)).await.unwrap());
    let options = LeaseOptions::new(Duration::from_secs(60)).wait(Duration::from_secs(20));
    let lease = queue.lease(options).await.unwrap().unwrap();
    assert!(queue.complete(&lease).await.unwrap());
}

/// What a child does: a client of its own on the same file.
fn child(url: &str, id: &str) {
    block_on(async { one_cycle(&queue(url).await, id).await });
}

/// Runs an ignored test in a process of its own, where it may register the hooks and fork.
pub(super) fn in_own_process(test: &str, place: &Place) {
    let mut process = Process::start(test, &[(URL, &place.url())]);
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = process.0.try_wait().unwrap() {
            break status;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{test} does not end");
        std::thread::sleep(ms(10));
    };
    assert!(status.success(), "{test}: {status}: see its message above");
}

#[test]
fn children_use_the_file_while_the_parents_threads_work() {
    for mode in ["full", "normal"] {
        let place = Place::new();
        let url = format!("{}?synchronous={mode}", place.url());
        let mut process = Process::start("forks::forking", &[(URL, &url)]);
        assert!(process.0.wait().unwrap().success(), "see its message above");
        block_on(async {
            let queue = queue(&place.url()).await;
            assert_sound(&queue).await;
            let counts = queue.counts().await.unwrap();
            assert_eq!((counts.ready, counts.leased, counts.delayed, counts.dead), (0, 0, 0, 0));
            assert_eq!(counts.totals.added, counts.totals.completed);
            println!("{mode}: {} items", counts.totals.added);
        });
    }
}

/// `LEASEQ_FORKS`: how many.
fn forks() -> usize {
    std::env::var("LEASEQ_FORKS").ok().and_then(|forks| forks.parse().ok()).unwrap_or(220)
}

const THREADS: usize = 4;

fn assert_of_parent(done: leaseq::Result<()>) {
    let error = done.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("connect anew"), "{error}");
}

#[test]
#[ignore = "started as a process by the test above"]
fn forking() {
    let Ok(url) = std::env::var(URL) else { return };
    register_hooks();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // Two clients of one file, and one in memory that works too.
    let clients: Vec<Client> = [url.as_str(), &url, "memory:"]
        .map(|url| runtime.block_on(Client::connect(url)).unwrap())
        .to_vec();
    let (stop, cycles) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let queue = clients[thread % clients.len()].queue("jobs").unwrap();
            let (stop, cycles, handle) = (stop.clone(), cycles.clone(), runtime.handle().clone());
            std::thread::spawn(move || {
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    handle.block_on(one_cycle(&queue, &format!("{thread}.{n}")));
                    n += 1;
                    cycles.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let old = clients[0].queue("jobs").unwrap();
    let mut children = Vec::new();
    for fork in 0..forks() {
        let before = cycles.load(Ordering::Relaxed);
        children.push(forked(|| {
            // Of what came across the fork nothing works, and says so.
            assert_of_parent(clients[0].queue("jobs").map(drop));
            assert_of_parent(block_on(old.counts()).map(drop));
            child(&url, &format!("child {fork}"));
            if fork % 10 == 0 {
                let grandchild = forked(|| child(&url, &format!("grandchild {fork}")));
                assert_eq!(ended(grandchild), 0);
                child(&url, &format!("again {fork}"));
            }
        }));
        if children.len() >= 4 {
            assert_eq!(ended(children.remove(0)), 0, "a child has failed: see above");
        }
        // The threads get on between two forks.
        let begun = Instant::now();
        while cycles.load(Ordering::Relaxed) == before {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing goes on in the parent");
            std::thread::yield_now();
        }
    }
    for child in children {
        assert_eq!(ended(child), 0, "a child has failed: see above");
    }
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    for client in clients {
        runtime.block_on(client.close());
    }
}

#[test]
fn a_child_waits_for_no_call_of_its_parent() {
    in_own_process("forks::a_first_call_under_way", &Place::new());
}

#[test]
#[ignore = "started as a process by the test above"]
fn a_first_call_under_way() {
    let Ok(url) = std::env::var(URL) else { return };
    register_hooks();
    let file = Path::new(url.strip_prefix("sqlite:").unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let client = runtime.block_on(Client::connect(&url)).unwrap();
    let turn = std::fs::File::open(format!("{}-lock", file.display())).unwrap();
    turn.lock().unwrap();
    // While a write waits for its turn, the first call on a queue waits in the check of its storage format.
    let busy = client.queue("busy").unwrap();
    let adding = runtime.spawn(async move { busy.add_item(item("late")).await });
    let mut n = 0;
    let (queue, first) = loop {
        n += 1;
        let queue = client.queue(&format!("queue{n}")).unwrap();
        let mut first = Box::pin({
            let queue = queue.clone();
            async move { queue.counts().await }
        });
        let early = async { tokio::time::timeout(Duration::ZERO, &mut first).await };
        if runtime.block_on(early).is_err() {
            break (queue, first);
        }
    };
    let pid = forked(|| {
        let begun = Instant::now();
        assert_of_parent(block_on(queue.counts()).map(drop));
        assert_of_parent(block_on(client.queues()).map(drop));
        block_on(client.close());
        assert!(begun.elapsed() < ms(4_000), "{:?}", begun.elapsed());
    });
    assert_eq!(ended(pid), 0, "see its message above");
    turn.unlock().unwrap();
    runtime.block_on(first).unwrap();
    assert!(runtime.block_on(adding).unwrap().unwrap());
}

#[test]
fn a_child_may_drop_its_parents_client() {
    in_own_process("forks::dropping_in_a_child", &Place::new());
}

#[test]
#[ignore = "started as a process by the test above"]
fn dropping_in_a_child() {
    let Ok(url) = std::env::var(URL) else { return };
    register_hooks();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let queue = runtime.block_on(queue(&url));
    let mut leases = runtime.block_on(async {
        assert_eq!(queue.add_items([item("a"), item("b")]).await.unwrap(), [true, true]);
        queue.lease_many(2, at_once()).await.unwrap()
    });
    let (busy, other) = (leases.remove(0), leases.remove(0));
    let stop = AtomicBool::new(false);
    let mut queue = Some(queue);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                // It has no handle of the client, and locks what belongs to it.
                while !stop.load(Ordering::Relaxed) {
                    drop(busy.cancelled());
                }
            });
        }
        for _ in 0..40 {
            let pid = forked(|| {
                assert!(!other.is_cancelled());
                drop(other.cancelled());
                drop(queue.take());
            });
            if ended(pid) != 0 {
                stop.store(true, Ordering::Relaxed);
                panic!("the child hangs");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    drop(queue);
}

#[test]
fn a_lease_call_that_waits_across_a_fork_gets_its_item() {
    in_own_process("forks::waiting_across_forks", &Place::new());
}

#[test]
#[ignore = "started as a process by the test above"]
fn waiting_across_forks() {
    let Ok(url) = std::env::var(URL) else { return };
    register_hooks();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let waiter = runtime.block_on(queue(&url));
    for round in 0..20 {
        let waiting = runtime.spawn({
            let waiter = waiter.clone();
            async move {
                let options = LeaseOptions::new(Duration::from_secs(60));
                let lease: Lease = waiter.lease(options).await.unwrap().unwrap();
                let at = Instant::now();
                assert!(waiter.complete(&lease).await.unwrap());
                (lease.id().to_vec(), at)
            }
        });
        std::thread::sleep(ms(round % 7));
        let id = format!("item {round}");
        // The child adds what the parent waits for.
        let pid = forked(|| {
            block_on(async { assert!(queue(&url).await.add_item(item(&id)).await.unwrap()) });
        });
        assert_eq!(ended(pid), 0);
        let begun = Instant::now();
        let (leased, at) = runtime.block_on(waiting).unwrap();
        assert_eq!(leased, id.as_bytes());
        let late = at.saturating_duration_since(begun);
        assert!(late < ms(1_000), "round {round}: the news came late: {late:?}");
    }
}

#[test]
fn a_child_outlives_a_parent_that_waited_for_its_turn() {
    in_own_process("forks::waiting_for_a_turn", &Place::new());
}

#[test]
#[ignore = "started as a process by the test above"]
fn waiting_for_a_turn() {
    let Ok(url) = std::env::var(URL) else { return };
    register_hooks();
    let file = Path::new(url.strip_prefix("sqlite:").unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let parent = runtime.block_on(queue(&url));
    let turn = std::fs::File::open(format!("{}-lock", file.display())).unwrap();
    turn.lock().unwrap();
    let adding = runtime.spawn({
        let parent = parent.clone();
        async move { parent.add_item(item("late")).await }
    });
    // It waits in the kernel by then, most likely; if not, that is right as well.
    std::thread::sleep(ms(100));
    let begun = Instant::now();
    let pid = forked(|| {
        let url = format!("{url}?timeout_ms=10000");
        child(&url, "of the child");
    });
    assert!(begun.elapsed() < ms(4_000), "the fork has waited for a turn: {:?}", begun.elapsed());
    turn.unlock().unwrap();
    drop(turn);
    assert!(runtime.block_on(adding).unwrap().unwrap());
    assert_eq!(ended(pid), 0);
    let left = runtime.block_on(parent.lease(at_once())).unwrap().unwrap();
    assert!(runtime.block_on(parent.complete(&left)).unwrap());
}

#[test]
fn a_fork_does_not_wait_for_a_check_which_begins_again() {
    let place = Place::new();
    block_on(async {
        let queue = place.queue().await;
        assert!(queue.add_item(item("first")).await.unwrap());
        fill(&place, 300_000);
    });
    in_own_process("forks::checking_across_forks", &place);
}

#[test]
#[ignore = "started as a process by the test above"]
fn checking_across_forks() {
    let Ok(url) = std::env::var(URL) else { return };
    register_hooks();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let parent = runtime.block_on(queue(&url));
    let checking = runtime.spawn(async move {
        let report = parent.check().await.unwrap();
        assert!(report.is_sound(), "{:?}", report.details);
        report.items
    });
    for n in 0.. {
        std::thread::sleep(ms(100));
        if checking.is_finished() || n == 20 {
            break;
        }
        let begun = Instant::now();
        let pid = forked(|| {
            block_on(async {
                let queue = queue(&url).await;
                assert!(queue.get("item 7").await.unwrap().is_some());
            });
        });
        assert!(begun.elapsed() < ms(4_000), "the fork has waited: {:?}", begun.elapsed());
        assert_eq!(ended(pid), 0);
    }
    assert_eq!(runtime.block_on(checking).unwrap(), 300_001);
}
