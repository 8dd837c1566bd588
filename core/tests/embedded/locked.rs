//! Programs that hold the lock: operations wait for their turn, for as long as the client's
//! timeout, and nobody is left out.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leaseq::{ErrorKind, WorkQueue};
use rusqlite::Connection;

use crate::support::{Place, assert_sound, at_once, item, ms, queue};

/// Something that keeps others from writing until it is dropped.
trait Lock {}
impl Lock for File {}
impl Lock for Connection {}

fn by_another_program(place: &Place) -> Box<dyn Lock> {
    let connection = Connection::open(place.file()).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    Box::new(connection)
}

/// As one that was stopped in the middle of a write.
fn by_a_client_that_hangs(place: &Place) -> Box<dyn Lock> {
    let turn = File::open(place.folder().join("queue.db-lock")).unwrap();
    turn.lock().unwrap();
    Box::new(turn)
}

type Locking = fn(&Place) -> Box<dyn Lock>;

const LOCKS: [Locking; 2] = [by_another_program, by_a_client_that_hangs];

#[tokio::test]
async fn operations_wait_for_a_lock_and_go_on() {
    for lock in LOCKS {
        let place = Place::new();
        let queue = place.queue().await;
        queue.add_item(item("a")).await.unwrap();
        let held = lock(&place);
        let adding = tokio::spawn({
            let queue = queue.clone();
            async move { queue.add_item(item("b")).await }
        });
        tokio::time::sleep(ms(300)).await;
        assert!(!adding.is_finished());
        drop(held);
        let free = Instant::now();
        assert!(adding.await.unwrap().unwrap());
        assert!(free.elapsed() < ms(5_000), "{:?}", free.elapsed());
    }
}

#[tokio::test]
async fn a_lock_that_is_held_for_too_long_is_unavailable_and_nothing_happens() {
    for lock in LOCKS {
        let place = Place::new();
        let queue = queue(&format!("{}?timeout_ms=400", place.url())).await;
        queue.add_item(item("a")).await.unwrap();
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        queue.add_item(item("b")).await.unwrap();
        let held = lock(&place);
        for round in 0..3 {
            let begun = Instant::now();
            let (complete, add, leased) = tokio::join!(
                queue.complete(&lease),
                // Calls that come later wait no longer than the others.
                many_adds(&queue, round),
                queue.lease(at_once())
            );
            for error in [complete.unwrap_err(), add, leased.unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert!(!error.outcome_unknown(), "{error}");
            }
            let took = begun.elapsed();
            assert!(took > ms(350) && took < ms(3_000), "{took:?}");
        }
        drop(held);
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.leased), (1, 1));
        assert!(queue.complete(&lease).await.unwrap());
        assert!(queue.add_item(item("c")).await.unwrap());
        assert_sound(&queue).await;
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.leased, counts.totals.added), (2, 0, 3));
        // Others get their turn: what waited in vain holds nothing.
        let other = place.queue().await;
        let begun = Instant::now();
        assert!(other.add_item(item("d")).await.unwrap());
        assert!(begun.elapsed() < ms(5_000), "{:?}", begun.elapsed());
    }
}

/// Adds one after the other for a while, and then one that must fail like them.
async fn many_adds(queue: &WorkQueue, round: usize) -> leaseq::Error {
    let adds = (0..10).map(|n| {
        let queue = queue.clone();
        tokio::spawn(async move {
            tokio::time::sleep(ms(n * 20)).await;
            queue.add_item(item(format!("never.{round}.{n}"))).await.unwrap_err()
        })
    });
    let mut last = None;
    for add in adds.collect::<Vec<_>>() {
        let error = add.await.unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        last = Some(error);
    }
    last.unwrap()
}

#[test]
fn clients_that_all_write_get_a_fair_share() {
    for mode in ["full", "normal"] {
        let place = Place::new();
        let stop = Arc::new(AtomicBool::new(false));
        let url = format!("{}?synchronous={mode}", place.url());
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                let (url, stop) = (url.clone(), stop.clone());
                std::thread::spawn(move || hammer(&url, thread, &stop))
            })
            .collect();
        std::thread::sleep(Duration::from_secs(2));
        stop.store(true, Ordering::Relaxed);
        let shares: Vec<(usize, Duration)> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let counts: Vec<usize> = shares.iter().map(|share| share.0).collect();
        let longest = shares.iter().map(|share| share.1).max().unwrap();
        println!("{mode}: {counts:?}, longest wait {longest:?}");
        let mean = counts.iter().sum::<usize>() / counts.len();
        assert!(*counts.iter().min().unwrap() >= mean / 4, "{counts:?}");
    }
}

/// Adds one item after the other with a client of its own: how many, and the longest wait.
fn hammer(url: &str, thread: usize, stop: &AtomicBool) -> (usize, Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let queue = queue(url).await;
        let (mut count, mut longest) = (0, Duration::ZERO);
        while !stop.load(Ordering::Relaxed) {
            let begun = Instant::now();
            assert!(queue.add_item(item(format!("{thread}.{count}"))).await.unwrap());
            longest = longest.max(begun.elapsed());
            count += 1;
        }
        (count, longest)
    })
}
