//! A disk that is full: nothing is acknowledged that is not there, nothing is damaged, and work
//! goes on when there is room.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use leaseq::{ErrorKind, Item, Lease, WorkQueue};

use crate::support::{Mount, assert_sound, at_once, queue, url};

/// Adds until there is no room; returns the ids of what was added.
async fn fill(queue: &WorkQueue, name: &str) -> Vec<String> {
    let mut added = Vec::new();
    loop {
        let id = format!("{name}.{}", added.len());
        // Large data and small data, so that both tables grow.
        let size = if added.len() % 3 == 0 { 5_000 } else { 200 };
        match queue.add_item(Item::new(vec![b'x'; size]).with_id(&id)).await {
            Ok(true) => added.push(id),
            Ok(false) => panic!("{id} is not there yet"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert!(!error.outcome_unknown(), "{error}");
                assert!(error.to_string().contains("the disk is full"), "{error}");
                assert_eq!(queue.get(&id).await.unwrap().map(|found| found.id), None);
                return added;
            }
        }
    }
}

async fn assert_there(queue: &WorkQueue, ids: &[String]) {
    for id in ids {
        assert!(queue.get(id).await.unwrap().is_some(), "{id} is lost");
    }
    assert_sound(queue).await;
}

/// Something else takes all the room that is left.
fn take_all(mount: &Mount) -> PathBuf {
    let path = mount.folder().join("something-else");
    let mut file = File::create(&path).unwrap();
    while file.write(&[0; 4_096]).is_ok_and(|written| written > 0) {}
    path
}

#[tokio::test]
async fn a_full_disk_is_unavailable_and_loses_nothing() {
    let Some(mount) = Mount::new("16m") else { return };
    let url = url(&mount.folder().join("queue.db"));
    let queue = queue(&url).await;
    let items = (0..300).map(|n| Item::new(vec![b'x'; 100 + n * 10]).with_id(n.to_string()));
    queue.add_items(items).await.unwrap();
    let mut there: Vec<String> = (0..300).map(|n| n.to_string()).collect();
    let filler = take_all(&mount);
    there.extend(fill(&queue, "more").await);
    assert_there(&queue, &there).await;
    // Looking goes on; what changes something works, or says that it did not.
    let leases = lease_what_can_be(&queue).await;
    let completed = complete_what_can_be(&queue, &leases).await;
    println!("{} there, {} leased, {} completed", there.len(), leases.len(), completed.len());
    there.retain(|id| !completed.contains(id));
    assert_there(&queue, &there).await;
    // Another client, with no memory of it.
    let other = crate::support::queue(&url).await;
    assert_there(&other, &there).await;
    drop(other);

    std::fs::remove_file(filler).unwrap();
    for lease in &leases {
        let id = lease.id_str().unwrap();
        assert_eq!(queue.complete(lease).await.unwrap(), there.iter().any(|a| a == id), "{id}");
        there.retain(|other| other != id);
    }
    assert_there(&queue, &there).await;
    assert!(queue.add_item(Item::new(vec![b'x'; 5_000])).await.unwrap());
}

#[tokio::test]
async fn with_a_little_room_what_is_completed_makes_more() {
    let Some(mount) = Mount::new("16m") else { return };
    let queue = queue(&url(&mount.folder().join("queue.db"))).await;
    let added = fill(&queue, "first").await;
    // Somebody makes a little room, as an operator would: enough for the log.
    mount.remount("size=21m");
    let mut left = added.len();
    while left > 0 {
        let leases = queue.lease_many(10, at_once()).await.unwrap();
        assert_eq!(queue.complete_many(&leases).await.unwrap(), vec![true; leases.len()]);
        left -= leases.len();
    }
    assert_sound(&queue).await;
    let again = fill(&queue, "second").await;
    println!("{} and then {}", added.len(), again.len());
    assert!(again.len() >= added.len() / 2, "{} and then {}", added.len(), again.len());
    assert_there(&queue, &again).await;
}

fn assert_full(error: &leaseq::Error) {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(!error.outcome_unknown(), "{error}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

async fn lease_what_can_be(queue: &WorkQueue) -> Vec<Lease> {
    let mut leases = Vec::new();
    for _ in 0..50 {
        match queue.lease(at_once()).await {
            Ok(lease) => leases.extend(lease),
            Err(error) => assert_full(&error),
        }
    }
    leases
}

async fn complete_what_can_be(queue: &WorkQueue, leases: &[Lease]) -> Vec<String> {
    let mut completed = Vec::new();
    for lease in leases.iter().take(20) {
        match queue.complete(lease).await {
            Ok(done) => {
                assert!(done);
                completed.push(lease.id_str().unwrap().to_owned());
            }
            Err(error) => assert_full(&error),
        }
    }
    completed
}
