//! A process that is stopped in the middle of a write: no call of another one waits for ever, and what its
//! callers have given up is not kept.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};

use leaseq::{Client, ErrorKind, Item, State, WorkQueue};
use leaseq_test_support::{eventually, eventually_blocking};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Place, Process, assert_sound, at_once, item, queue, url};

const FOLDER: &str = "LEASEQ_STOPPED_FOLDER";
/// No call takes longer than its time-out of 600 ms and this: the machine may be busy.
const SOON: Duration = Duration::from_secs(10);

#[test]
#[ignore = "started as a process by other tests"]
fn hold() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let folder = Path::new(&folder);
    let turn = File::open(folder.join("queue.db-lock")).unwrap();
    turn.lock().unwrap();
    let connection = Connection::open(folder.join("queue.db")).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE; UPDATE meta SET clock = clock").unwrap();
    fs::write(folder.join("held"), "").unwrap();
    loop {
        std::thread::park();
    }
}

/// A process that has the turn and is in the middle of a transaction, and is stopped.
fn stopped(place: &Place) -> Process {
    let folder = place.folder().to_str().unwrap();
    let process = Process::start("stopped::hold", &[(FOLDER, folder)]);
    let held = place.folder().join("held");
    assert!(eventually_blocking(Duration::from_secs(20), || held.exists()));
    let pid = Pid::from_raw(process.0.id() as i32).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    fs::remove_file(held).unwrap();
    process
}

fn in_a_hurry(place: &Place) -> String {
    format!("{}?timeout_ms=600", place.url())
}

/// The call ends soon: what it gave, if it was not `Unavailable` and not executed.
async fn soon<T>(what: &str, call: impl Future<Output = leaseq::Result<T>>) -> Option<T> {
    let begun = Instant::now();
    let ended = tokio::time::timeout(SOON, call).await;
    let answer = ended.unwrap_or_else(|_| panic!("{what} does not end"));
    println!("{what}: {:?}, {:?}", begun.elapsed(), answer.as_ref().err());
    answer
        .map_err(|error| {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{what}: {error}");
            assert!(!error.outcome_unknown(), "{what}: {error}");
        })
        .ok()
}

#[tokio::test]
async fn every_call_ends_in_its_time() {
    let place = Place::new();
    let queue = queue(&in_a_hurry(&place)).await;
    queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    let mut holder = stopped(&place);

    let client = soon("connect", Client::connect(&in_a_hurry(&place))).await;
    let client = client.expect("a file that is there can be opened");
    let other = client.queue("jobs").unwrap();
    for queue in [&queue, &other] {
        assert!(soon("add", queue.add_item(item("never"))).await.is_none());
        assert!(soon("lease", queue.lease(at_once())).await.is_none());
        assert!(soon("complete", queue.complete(&lease)).await.is_none());
        assert!(soon("extend", queue.extend(&lease, SOON)).await.is_none());
        assert!(soon("remove", queue.remove("a")).await.is_none());
        assert!(soon("pause", queue.pause()).await.is_none());
        assert!(soon("drop_queue", queue.drop_queue()).await.is_none());
        // Who only reads is not in its way.
        assert_eq!(soon("counts", queue.counts()).await.unwrap().ready, 2);
        let page = soon("list", queue.list(State::Ready, None, 10)).await.unwrap();
        assert_eq!(page.items.len(), 2);
        assert!(soon("get", queue.get("a")).await.unwrap().is_some());
        assert!(soon("check", queue.check()).await.unwrap().is_sound());
        soon("light_clean", queue.light_clean()).await.unwrap();
        assert!(soon("deep_clean", queue.deep_clean()).await.unwrap().is_sound());
    }
    assert_eq!(soon("queues", client.queues()).await.unwrap(), ["jobs"]);
    soon("doctor", client.doctor()).await.unwrap();
    soon("close", async {
        client.close().await;
        Ok(())
    })
    .await
    .unwrap();

    holder.kill();
    // Nothing of what was given up happens now.
    let later = place.queue().await;
    assert!(later.add_item(item("later")).await.unwrap());
    assert!(queue.complete(&lease).await.unwrap());
    for queue in [&queue, &later] {
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.leased, counts.totals.added), (3, 0, 4));
    }
    assert_sound(&later).await;
}

#[tokio::test]
async fn connecting_to_a_new_file_ends_and_works_later() {
    let place = Place::new();
    let turn = File::create(place.folder().join("queue.db-lock")).unwrap();
    turn.lock().unwrap();
    for _ in 0..3 {
        assert!(soon("connect", Client::connect(&in_a_hurry(&place))).await.is_none());
    }
    assert!(!place.file().exists());
    let url = place.url();
    let waiting = tokio::spawn(async move { Client::connect(&url).await });
    tokio::task::yield_now().await;
    drop(turn);
    waiting.await.unwrap().unwrap();
    assert!(place.queue().await.add_item(item("a")).await.unwrap());
}

fn threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.flat_map(|task| fs::read_to_string(task.path().join("comm")));
    names.filter(|name| name.starts_with("leaseq-")).count()
}

/// Memory of this process that is in use, in MiB.
fn resident() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4 / 1_024
}

#[test]
fn what_was_given_up_is_not_kept() {
    let place = Place::new();
    let mut process =
        Process::start("stopped::giving_up", &[(FOLDER, place.folder().to_str().unwrap())]);
    assert!(process.0.wait().unwrap().success(), "see its message above");
}

#[tokio::test]
#[ignore = "started as a process by other tests"]
async fn giving_up() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    // Connecting, to a file that somebody is making.
    let file = Path::new(&folder).join("queue.db");
    let turn = File::create(Path::new(&folder).join("queue.db-lock")).unwrap();
    turn.lock().unwrap();
    let impatient = format!("{}?timeout_ms=200", url(&file));
    for _ in 0..10 {
        assert_eq!(Client::connect(&impatient).await.unwrap_err().kind(), ErrorKind::Unavailable);
        // And one that is dropped.
        let connecting = Client::connect(&impatient);
        let _ = tokio::time::timeout(Duration::from_millis(5), connecting).await;
    }
    assert!(eventually(SOON, async || threads() == 0).await, "{} threads", threads());
    turn.unlock().unwrap();
    // A disk that stands still for longer than the time-out is no reason to fail.
    Client::connect(&url(&file)).await.unwrap().close().await;
    let queue = queue(&impatient).await;
    let added = async |id| eventually(SOON, async || queue.add_item(item(id)).await.is_ok()).await;
    assert!(added("a").await);
    assert_eq!(threads(), 1);
    turn.lock().unwrap();
    let before = resident();
    for n in 0..25 {
        never(&queue, n).await;
    }
    // One of them takes 8 MiB on its way.
    let grown = resident().saturating_sub(before);
    assert!(grown < 100, "{grown} MiB are kept of 200");
    turn.unlock().unwrap();
    assert!(added("b").await);
    let counted = async || queue.counts().await.is_ok_and(|counts| counts.totals.added == 2);
    assert!(eventually(SOON, counted).await);
    assert_eq!(threads(), 1);
}

/// Clients that come, write and are closed beside a stopped writer leave no more threads behind than there
/// were clients at the same time, and none when the writer is gone.
#[test]
fn closed_clients_leave_no_threads() {
    let place = Place::new();
    let folder = place.folder().to_str().unwrap();
    let mut process = Process::start("stopped::coming_and_going", &[(FOLDER, folder)]);
    assert!(process.0.wait().unwrap().success(), "see its message above");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "started as a process by other tests"]
async fn coming_and_going() {
    const AT_ONCE: usize = 3;
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let file = Path::new(&folder).join("queue.db");
    queue(&url(&file)).await.add_item(item("first")).await.unwrap();
    let turn = File::open(Path::new(&folder).join("queue.db-lock")).unwrap();
    for round in 0..3 {
        turn.lock().unwrap();
        let hurried = format!("{}?timeout_ms=300", url(&file));
        for _ in 0..10 {
            let come_and_go = || async {
                let client = Client::connect(&hurried).await.unwrap();
                let adding = client.queue("jobs").unwrap().add_item(item("never")).await;
                assert_eq!(adding.unwrap_err().kind(), ErrorKind::Unavailable);
                client.close().await;
            };
            tokio::join!(come_and_go(), come_and_go(), come_and_go());
        }
        let few = async || threads() <= AT_ONCE;
        assert!(eventually(SOON, few).await, "round {round}: {} threads", threads());
        // Whoever takes such a wait over has the turn when it is free, and has it alone.
        let adding = Vec::from_iter((0..AT_ONCE + 2).map(|n| {
            let url = url(&file);
            tokio::spawn(async move {
                let id = format!("{round}-{n}");
                queue(&url).await.add_item(item(&id)).await.unwrap()
            })
        }));
        let all_there = async || threads() >= AT_ONCE + 2;
        assert!(eventually(SOON, all_there).await, "round {round}: {} threads", threads());
        turn.unlock().unwrap();
        for added in adding {
            assert!(added.await.unwrap());
        }
        assert!(eventually(SOON, async || threads() == 0).await, "{} threads", threads());
    }
    let counts = queue(&url(&file)).await.counts().await.unwrap();
    assert_eq!(counts.totals.added, 1 + 3 * (AT_ONCE as u64 + 2));
}

async fn never(queue: &WorkQueue, n: usize) {
    let large = || Item::new(vec![n as u8; 8 << 20]);
    assert_eq!(queue.add_item(large()).await.unwrap_err().kind(), ErrorKind::Unavailable);
}
