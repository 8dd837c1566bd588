//! Queues that are dropped: at once for everybody, and bit by bit on the disk.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leaseq::{Client, Damage, ErrorKind, Item, LeaseOptions, WorkQueue};
use rusqlite::Connection;

use crate::support::{Place, assert_sound, at_once, item, ms};

/// How many rows there are in a table.
fn rows(place: &Place, table: &str) -> i64 {
    let connection = Connection::open(place.file()).unwrap();
    connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

async fn queues(place: &Place) -> Vec<String> {
    Client::connect(&place.url()).await.unwrap().queues().await.unwrap()
}

#[tokio::test]
async fn nothing_is_left_of_a_queue() {
    let place = Place::new();
    let (queue, other) = (place.queue().await, place.queue().await);
    assert!(!queue.drop_queue().await.unwrap(), "there is none");
    queue.add_items((0..2_500).map(|n| item(n.to_string()))).await.unwrap();
    queue.add_items((0..20).map(|n| Item::new(vec![1; 3 << 20]).with_id([n]))).await.unwrap();
    queue.add_item(item("later").delay(Duration::from_secs(60))).await.unwrap();
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    queue.deep_clean_if_due(Duration::from_secs(3_600)).await.unwrap();
    // The others know the queue.
    assert!(other.counts().await.unwrap().ready > 0);
    let held = other.lease(at_once()).await.unwrap().unwrap();

    assert!(queue.drop_queue().await.unwrap());
    for table in ["item", "large", "queue", "deep_turn"] {
        assert_eq!(rows(&place, table), 0, "{table}");
    }
    for queue in [&queue, &other] {
        assert_eq!(queue.counts().await.unwrap(), Default::default());
        assert!(queue.lease(at_once()).await.unwrap().is_none());
        for lease in [&lease, &held] {
            assert!(!queue.complete(lease).await.unwrap());
            let lost = queue.extend(lease, Duration::from_secs(9)).await.unwrap_err();
            assert_eq!(lost.kind(), ErrorKind::LeaseLost);
        }
        assert!(!queue.drop_queue().await.unwrap());
    }
    assert_eq!(queues(&place).await, [""; 0]);
    // One that was only paused is one.
    queue.pause().await.unwrap();
    assert!(other.drop_queue().await.unwrap());
    assert!(!queue.counts().await.unwrap().paused);
    queue.resume().await.unwrap();
    assert!(!other.drop_queue().await.unwrap());
}

#[tokio::test]
async fn what_another_client_adds_afterwards_is_in_the_new_queue() {
    let place = Place::new();
    let (queue, other) = (place.queue().await, place.queue().await);
    other.add_item(item("old")).await.unwrap();
    let old = other.lease(at_once()).await.unwrap().unwrap();
    for round in 0..20 {
        assert!(queue.drop_queue().await.unwrap());
        // It knew the queue's number.
        assert!(other.add_item(item("new")).await.unwrap(), "{round}");
        assert_eq!(queue.counts().await.unwrap().totals.added, 1);
        assert!(!queue.complete(&old).await.unwrap(), "a stale handle changes nothing");
        assert!(queue.get("new").await.unwrap().is_some());
        assert_sound(&queue).await;
    }
}

/// As if whoever drops it had died after the first step.
fn detach(place: &Place, name: &str) {
    let connection = Connection::open(place.file()).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    let steps = format!(
        "BEGIN IMMEDIATE; UPDATE queue SET name = NULL WHERE name = '{name}';
        UPDATE meta SET changes = changes + 1; COMMIT"
    );
    connection.execute_batch(&steps).unwrap();
}

#[tokio::test]
async fn what_a_dead_process_has_left_of_it_is_deleted_by_others() {
    for way in ["light", "deep", "drop"] {
        let place = Place::new();
        let queue = place.queue().await;
        queue
            .add_items((0..2_500).map(|n| Item::new(vec![1; 2_000]).with_id(n.to_string())))
            .await
            .unwrap();
        let leases = queue.lease_many(10, at_once()).await.unwrap();
        detach(&place, "jobs");
        // While its rows are there still.
        assert_eq!(queue.complete_many(&leases).await.unwrap(), [false; 10]);
        assert!(queue.add_item(item("1")).await.unwrap());
        assert_eq!(queue.complete_many(&leases).await.unwrap(), [false; 10]);
        let failures = leases.iter().map(|lease| (lease, "no"));
        let failed = queue.fail_many(failures, Duration::ZERO).await.unwrap();
        assert!(failed.iter().all(Result::is_err));
        assert_eq!(rows(&place, "item"), 2_501);
        assert_eq!(queues(&place).await, ["jobs"]);
        assert_sound(&queue).await;
        let client = Client::connect(&place.url()).await.unwrap();
        let other = client.queue("other").unwrap();
        match way {
            "light" => drop(other.light_clean().await.unwrap()),
            "deep" => assert!(other.deep_clean().await.unwrap().is_sound()),
            _ => {
                other.add_item(item("x")).await.unwrap();
                assert!(other.drop_queue().await.unwrap());
            }
        }
        assert_eq!((rows(&place, "item"), rows(&place, "queue")), (1, 1), "{way}");
        assert_eq!(rows(&place, "large"), 0, "{way}");
        assert_eq!(queue.lease(at_once()).await.unwrap().unwrap().id(), b"1");
        assert_sound(&queue).await;
    }
}

/// The data of an item goes on in pages that are not there.
fn damage_large_data(place: &Place) {
    // Such a page begins with the number of the next one; the data are ones.
    let bytes = std::fs::read(place.file()).unwrap();
    let page = bytes.chunks(4_096).position(|page| page[4..].iter().all(|byte| *byte == 1));
    let page = page.unwrap() as u64;
    let file = File::options().write(true).open(place.file()).unwrap();
    file.write_all_at(&[0x7F; 4], page * 4_096).unwrap();
}

#[tokio::test]
async fn one_that_is_damaged_is_in_nobodys_way() {
    for way in ["light", "deep", "drop"] {
        let place = Place::new();
        let damaged = place.queue().await;
        damaged.add_item(Item::new(vec![1; 100_000]).with_id("damaged")).await.unwrap();
        drop(damaged);
        let log = place.folder().join("queue.db-wal");
        crate::support::until("closed", || async { !log.exists() }).await;
        damage_large_data(&place);

        let client = Client::connect(&format!("{}?timeout_ms=2000", place.url())).await.unwrap();
        let [sound, other] = ["sound", "other"].map(|name| client.queue(name).unwrap());
        for queue in [&sound, &other] {
            queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
        }
        match way {
            "drop" => assert!(client.queue("jobs").unwrap().drop_queue().await.unwrap()),
            _ => detach(&place, "jobs"),
        }
        detach(&place, "sound");
        let left = match way {
            "light" => {
                other.light_clean().await.unwrap();
                (4, 2)
            }
            "deep" => {
                let report = other.deep_clean().await.unwrap();
                assert!(report.found.contains_key(&Damage::BadRecord), "{report:?}");
                (4, 2)
            }
            _ => {
                assert!(other.drop_queue().await.unwrap());
                assert!(!other.drop_queue().await.unwrap());
                assert!(!client.queue("jobs").unwrap().drop_queue().await.unwrap());
                (1, 1)
            }
        };
        // All but the damaged one.
        assert_eq!((rows(&place, "item"), rows(&place, "queue")), left, "{way}");
        // What cannot be deleted is not due: a clean that finds nothing to do needs no lock.
        let writer = Connection::open(place.file()).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE").unwrap();
        other.light_clean().await.unwrap();
    }
}

#[tokio::test]
async fn items_of_no_queue_are_found_and_deleted() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_items((0..30).map(|n| Item::new(vec![1; 2_000]).with_id([n + 1]))).await.unwrap();
    let connection = Connection::open(place.file()).unwrap();
    connection.execute_batch("UPDATE item SET queue = 99 WHERE number % 3 = 0").unwrap();
    let lost: i64 = connection
        .query_row("SELECT count(*) FROM item WHERE queue = 99", [], |row| row.get(0))
        .unwrap();
    assert!(lost > 0);
    let report = queue.check().await.unwrap();
    assert_eq!(report.found.get(&Damage::Orphan), Some(&(lost as u64)), "{report:?}");
    let report = queue.deep_clean().await.unwrap();
    assert_eq!(report.mended.get(&Damage::Orphan), Some(&(lost as u64)), "{report:?}");
    assert_eq!(rows(&place, "item"), 30 - lost);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn who_waits_goes_on_and_gets_what_is_added_next() {
    let place = Place::new();
    let (queue, far) = (place.queue().await, place.queue().await);
    let near = queue.clone();
    queue.add_item(item("old").delay(Duration::from_secs(60))).await.unwrap();
    let options = LeaseOptions::new(Duration::from_secs(60)).wait(Duration::from_secs(30));
    let wait = |queue: WorkQueue| {
        let options = options.clone();
        tokio::spawn(async move { queue.lease(options).await.unwrap().unwrap().id().to_vec() })
    };
    let waiting = [wait(near), wait(far)];
    for _ in 0..3 {
        tokio::time::sleep(ms(20)).await;
        assert!(queue.drop_queue().await.unwrap());
        assert!(waiting.iter().all(|call| !call.is_finished()));
        queue.add_item(item("old").delay(Duration::from_secs(60))).await.unwrap();
    }
    assert!(queue.drop_queue().await.unwrap());
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    for call in waiting {
        let id = tokio::time::timeout(Duration::from_secs(20), call).await.unwrap().unwrap();
        assert!(id == b"a" || id == b"b", "{id:?}");
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Adds three items and takes two of them, until it is told to stop.
async fn use_it(url: &str, name: usize, stop: &AtomicBool) {
    let queue = crate::support::queue(url).await;
    for n in (0..).take_while(|_: &usize| !stop.load(Ordering::Relaxed)) {
        let items = (0..3).map(|i| item(format!("{name}.{n}.{i}")));
        assert_eq!(queue.add_items(items).await.unwrap(), [true; 3]);
        let leases = queue.lease_many(2, at_once()).await.unwrap();
        queue.complete_many(&leases).await.unwrap();
    }
}

async fn drop_it(url: &str, stop: &AtomicBool) {
    let queue = crate::support::queue(url).await;
    let end = Instant::now() + Duration::from_secs(2);
    let mut drops = 0;
    while Instant::now() < end || drops < 5 {
        drops += u64::from(queue.drop_queue().await.unwrap());
        tokio::time::sleep(ms(10)).await;
    }
    stop.store(true, Ordering::Relaxed);
}

#[test]
fn nothing_that_is_added_after_the_last_drop_is_lost() {
    let place = Place::new();
    let (url, stop) = (place.url(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for name in 0..3 {
            let (url, stop) = (&url, &stop);
            scope.spawn(move || block_on(use_it(url, name, stop)));
        }
        block_on(drop_it(&url, &stop));
    });
    block_on(async {
        let queue = place.queue().await;
        let counts = queue.counts().await.unwrap();
        let there = counts.ready + counts.leased;
        assert_eq!(counts.totals.added - counts.totals.completed, there);
        assert_eq!(rows(&place, "item"), there as i64, "every item is in the queue");
        assert!(rows(&place, "queue") <= 1);
        assert_sound(&queue).await;
    });
}
