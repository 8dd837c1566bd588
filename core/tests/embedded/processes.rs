//! Processes that share a file and are killed at any point: nothing acknowledged is lost, and each
//! item is completed once.

use std::time::{Duration, Instant};

use leaseq::LeaseOptions;
use rand::Rng;

use crate::ledger::{Ledger, Writer};
use crate::support::{Place, assert_sound, ms, queue, random, seconds};
use crate::worker::{self, LEASE, data_of};

const PROCESSES: usize = 8;

#[tokio::test]
async fn eight_processes_that_are_killed_at_random_lose_nothing() {
    let place = Place::new();
    let mut random = random();
    let mut started = 0;
    // Half of them wait for the disk, half do not: a process that dies takes no write with it.
    let mut start = || {
        started += 1;
        let mode = if started % 2 == 0 { "full" } else { "normal" };
        let url = format!("{}?synchronous={mode}", place.url());
        worker::start(&url, place.folder(), &format!("w{started}"), 3)
    };
    let mut workers: Vec<_> = (0..PROCESSES).map(|_| start()).collect();
    let end = Instant::now() + seconds(8);
    let mut kills = 0;
    while Instant::now() < end {
        tokio::time::sleep(ms(random.random_range(1..250))).await;
        let worker = &mut workers[random.random_range(0..PROCESSES)];
        assert!(!worker.has_ended(), "a worker has failed: see its message above");
        worker.kill();
        *worker = start();
        kills += 1;
    }
    for mut worker in workers {
        assert!(!worker.has_ended(), "a worker has failed: see its message above");
        worker.kill();
    }
    drain(&place).await;
    let ledger = Ledger::read(place.folder());
    ledger.assert_settled();
    let added = ledger.0.values().filter(|known| known.added > 0).count();
    println!("{added} items, {kills} kills");
    assert!(added > 100 && kills > 10, "{added} items, {kills} kills: that tests nothing");
}

/// Completes whatever the others have left, and writes it down as well.
async fn drain(place: &Place) {
    let queue = queue(&place.url()).await;
    assert_sound(&queue).await;
    let ledger = Writer::open(&place.folder().join("drain.ledger"));
    let options = LeaseOptions::new(Duration::from_secs(60)).wait(LEASE + ms(200));
    loop {
        let leases = queue.lease_many(1_000, options.clone()).await.unwrap();
        if leases.is_empty() {
            break;
        }
        let answers = queue.complete_many(&leases).await.unwrap();
        for (lease, done) in leases.iter().zip(answers) {
            assert!(done);
            let id = lease.id_str().unwrap();
            assert_eq!(lease.data(), &data_of(id), "{id}");
            ledger.note("c?", [id]);
            ledger.note("c+", [id]);
        }
    }
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.leased, counts.dead), (0, 0, 0, 0));
    assert_eq!(counts.totals.added, counts.totals.completed + counts.totals.removed);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn a_file_is_whole_after_its_process_is_killed_in_the_middle_of_anything() {
    let mut random = random();
    let end = Instant::now() + seconds(5);
    let mut rounds = 0;
    while Instant::now() < end {
        let place = Place::new();
        // Several kills of one file; the first ones often hit it while it is being made.
        for life in 0..6 {
            let tasks = random.random_range(1..4);
            let mut worker =
                worker::start(&place.url(), place.folder(), &format!("w{life}"), tasks);
            let longest = if life == 0 { 40 } else { 150 };
            tokio::time::sleep(ms(random.random_range(5..longest))).await;
            assert!(!worker.has_ended(), "a worker has failed: see its message above");
            worker.kill();
            rounds += 1;
            // Else the next worker is the one that finds the file as it was left.
            if random.random_bool(0.6) {
                look(&place).await;
            }
        }
        drain(&place).await;
        Ledger::read(place.folder()).assert_settled();
    }
    println!("{rounds} kills");
}

/// Everything that was acknowledged is there.
async fn look(place: &Place) {
    let queue = queue(&place.url()).await;
    assert_sound(&queue).await;
    for id in Ledger::read(place.folder()).must_be_there() {
        let found = queue.get(id).await.unwrap().unwrap_or_else(|| panic!("{id} is lost"));
        assert_eq!(found.data, data_of(id));
    }
}
