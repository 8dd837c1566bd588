//! A server that was killed while it wrote its append-only file: the file ends in the middle of a script.
//! Redis (7.0 at least) removes only the incomplete command, and executes the rest of the script at the
//! start after the next.

use std::fs::{self, OpenOptions};
use std::time::Duration;

use leaseq::{Item, LeaseOptions, WorkQueue};
use leaseq_test_support::{RedisServer, eventually};
use tokio::task::block_in_place;

use crate::support::{SOON, all_at_once, client, ms, sound};

const ITEMS: u64 = 9;

fn server() -> RedisServer {
    RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always").start()
}

/// Leases and completes all items, and removes the last bytes of that from the log.
async fn complete_in_a_torn_log(server: &mut RedisServer, queue: &WorkQueue) {
    let items = (0..ITEMS).map(|n| Item::new("data").with_id(n.to_string()));
    assert!(queue.add_items(items).await.unwrap().iter().all(|added| *added));
    let options = LeaseOptions::new(ms(200)).wait(Duration::ZERO);
    let leases = queue.lease_many(ITEMS as usize, options).await.unwrap();
    assert!(queue.complete_many(&leases).await.unwrap().iter().all(|completed| *completed));
    server.kill();
    let folder = fs::read_dir(server.dir().join("appendonlydir")).unwrap();
    let mut files = folder.map(|file| file.unwrap().path());
    let log = files.find(|path| path.to_string_lossy().ends_with(".incr.aof")).unwrap();
    let text = fs::read(&log).unwrap();
    // Cut in the command that removes the ids, after the one that removes the items.
    let at = text.windows(4).rposition(|part| part == b"HDEL").unwrap();
    OpenOptions::new().write(true).open(log).unwrap().set_len(at as u64 + 2).unwrap();
}

/// Waits until the restored leases expire.
async fn all_expire(queue: &WorkQueue) {
    let expired = eventually(SOON, async || queue.light_clean().await.unwrap().expired == ITEMS);
    assert!(expired.await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_damage_of_half_a_script_is_mended() {
    let mut server = server();
    let client = client(&server.url(), 5_000).await;
    let queue = client.queue("q").unwrap();
    complete_in_a_torn_log(&mut server, &queue).await;
    block_in_place(|| server.restart());
    assert!(server.log().contains("Truncating the AOF"));
    all_expire(&queue).await;
    block_in_place(|| server.restart());
    let found = queue.check().await.unwrap();
    queue.deep_clean().await.unwrap();
    sound(&queue).await;
    // Half of the completion was executed, or none of it.
    let left = if found.is_sound() { ITEMS } else { 0 };
    all_at_once(&queue, left).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rewritten_log_has_no_half_of_a_script() {
    let mut server = server();
    let client = client(&server.url(), 5_000).await;
    let queue = client.queue("q").unwrap();
    complete_in_a_torn_log(&mut server, &queue).await;
    block_in_place(|| server.restart_with_whole_log());
    all_expire(&queue).await;
    block_in_place(|| server.restart_with_whole_log());
    sound(&queue).await;
    all_at_once(&queue, ITEMS).await;
}
