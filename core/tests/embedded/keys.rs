//! Keys of a file that several processes use.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use leaseq::LeaseOptions;

use crate::support::{Place, Process, assert_sound, item, queue, until};

const URL: &str = "LEASEQ_KEYS_URL";
const MARKS: &str = "LEASEQ_KEYS_MARKS";
const KEYS: usize = 5;

/// Leases and completes items. A file for each key says that one of them is leased.
#[tokio::test]
#[ignore = "started as a process by other tests"]
async fn work() {
    let Ok(url) = std::env::var(URL) else { return };
    let marks = std::env::var(MARKS).unwrap();
    let queue = queue(&url).await;
    let options = LeaseOptions::new(Duration::from_secs(600)).wait(Duration::from_secs(60));
    loop {
        let leases = queue.lease_many(3, options.clone()).await.unwrap();
        for lease in leases {
            let mark = Path::new(&marks).join(std::str::from_utf8(lease.key().unwrap()).unwrap());
            match fs::File::create_new(&mark) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    panic!("two leases of {}", mark.display())
                }
                Err(error) => panic!("{error}"),
            }
            tokio::task::yield_now().await;
            fs::remove_file(mark).unwrap();
            assert!(queue.complete(&lease).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_key_holds_for_all_processes_and_they_wake_each_other() {
    let place = Place::new();
    let marks = place.folder().join("marks");
    fs::create_dir(&marks).unwrap();
    let url = format!("{}?synchronous=normal", place.url());
    let queue = queue(&url).await;
    let environment = [(URL, &url[..]), (MARKS, marks.to_str().unwrap())];
    let mut workers: Vec<_> = (0..3).map(|_| Process::start("keys::work", &environment)).collect();
    for round in 0..20 {
        let items = (0..20).map(|n| item(format!("{round} {n}")).key(format!("k{}", n % KEYS)));
        assert!(queue.add_items(items).await.unwrap().into_iter().all(|added| added));
    }
    until("all are done", || async { queue.counts().await.unwrap().totals.completed == 400 }).await;
    for worker in &mut workers {
        assert!(!worker.has_ended(), "a worker has failed: see its message above");
        worker.kill();
    }
    assert_sound(&queue).await;
}
