//! Files that were cut off or changed by something else: clear errors, no panic, no endless loop.

use std::fs;
use std::path::Path;
use std::time::Duration;

use leaseq::{Client, ErrorKind, Item, State};
use rand::Rng;

use crate::support::{Place, at_once, item, ms, random, url};

/// A file with items in every state, as it is after the last client has gone.
async fn file() -> Vec<u8> {
    let place = Place::new();
    let queue = place.queue().await;
    let items = (0..500).map(|n| Item::new([b'x'; 90]).with_id(format!("item {n}")));
    queue.add_items(items).await.unwrap();
    queue.add_items((0..20).map(|n| Item::new([b'y'; 3_000]).with_id([n + 1]))).await.unwrap();
    let leases = queue.lease_many(100, at_once()).await.unwrap();
    queue.release_many(&leases[..20], Duration::from_secs(60)).await.unwrap();
    let dying = Item::new("dying").max_attempts(1).priority(9);
    queue.add_item(dying).await.unwrap();
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    queue.fail(&lease, "broken", Duration::ZERO).await.unwrap();
    drop(queue);
    let wal = place.folder().join("queue.db-wal");
    crate::support::until("closed", || async { !wal.exists() }).await;
    fs::read(place.file()).unwrap()
}

/// What every operation says about the file, if it is an error.
async fn use_it(file: &Path) -> Vec<leaseq::Error> {
    let client = match Client::connect(&format!("{}?timeout_ms=2000", url(file))).await {
        Ok(client) => client,
        Err(error) => return vec![error],
    };
    let queue = client.queue("jobs").unwrap();
    let mut errors = Vec::new();
    macro_rules! note {
        ($call:expr) => {
            match tokio::time::timeout(Duration::from_secs(10), $call).await {
                Ok(done) => done.map_err(|error| errors.push(error)).ok(),
                Err(_) => panic!("{} does not end", stringify!($call)),
            }
        };
    }
    note!(queue.add_item(item("new")));
    let leases = note!(queue.lease_many(50, at_once())).unwrap_or_default();
    note!(queue.complete_many(&leases[..leases.len() / 2]));
    note!(queue.fail_many(leases.iter().map(|lease| (lease, "no")), ms(5)));
    note!(queue.release_many(&leases, Duration::ZERO));
    note!(queue.light_clean());
    note!(queue.check());
    note!(queue.deep_clean());
    note!(queue.counts());
    note!(queue.get("item 300"));
    for state in State::ALL {
        note!(queue.list(state, None, 1_000));
    }
    note!(queue.remove("item 400"));
    note!(client.queues());
    note!(queue.purge(State::Ready));
    errors
}

fn assert_clear(errors: &[leaseq::Error]) {
    for error in errors {
        assert!(
            matches!(error.kind(), ErrorKind::Internal | ErrorKind::Invalid),
            "{:?}: {error}",
            error.kind()
        );
    }
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_a_clear_error() {
    let whole = file().await;
    let pages = whole.len() / 4_096;
    for length in [100, 4_096, 5_000, pages / 2 * 4_096, whole.len() - 4_096] {
        let place = Place::new();
        fs::write(place.file(), &whole[..length]).unwrap();
        let errors = use_it(&place.file()).await;
        assert!(!errors.is_empty(), "{length} of {} bytes", whole.len());
        println!("{length} bytes: {}", errors[0]);
        assert_clear(&errors);
    }
}

#[tokio::test]
async fn a_file_with_bytes_changed_at_random_never_panics_or_hangs() {
    let whole = file().await;
    let mut random = random();
    let mut noticed = 0;
    const ROUNDS: usize = 60;
    for _ in 0..ROUNDS {
        let mut broken = whole.clone();
        for _ in 0..random.random_range(1..40) {
            // The first bytes say whose file it is.
            let at = random.random_range(100..broken.len());
            broken[at] = random.random();
        }
        let place = Place::new();
        fs::write(place.file(), broken).unwrap();
        let errors = use_it(&place.file()).await;
        noticed += usize::from(!errors.is_empty());
        for error in errors {
            // A wrong number in a row may be any time, length or place; but the thread lives.
            assert_ne!(error.kind(), ErrorKind::Closed, "{error}");
        }
    }
    println!("{noticed} of {ROUNDS} files gave an error");
}

#[tokio::test]
async fn names_that_are_none_are_skipped_and_counted() {
    let place = Place::new();
    place.queue().await.add_item(item("a")).await.unwrap();
    let other = rusqlite::Connection::open(place.file()).unwrap();
    for name in ["'a\nb'", "''", "CAST(X'FF61' AS TEXT)"] {
        other.execute_batch(&format!("INSERT INTO queue (name) VALUES ({name})")).unwrap();
    }
    let client = Client::connect(&url(&place.file())).await.unwrap();
    let found = client.queue_names().await.unwrap();
    assert_eq!((found.names, found.skipped), (vec!["jobs".to_owned()], 3));
}
