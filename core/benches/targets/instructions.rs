//! `--instructions`: how many instructions the server takes for an item, in everything that it does. Needs
//! valgrind. Beside server time they do not depend on the machine nor on its load.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use leaseq::{Client, Item, SettingsChange};
use leaseq_test_support::RedisServer;
use tempfile::TempDir;

use crate::cycles::{Cycles, Kind};
use crate::server_time::{STEPS, Side, Step};
use crate::setup::{BATCH, DATA, at_once};

/// Items in a batch; how many batches are not counted, because the server compiles the scripts; and how many are.
const SIZES: [(usize, usize, usize); 2] = [(100, 6, 100), (1, 600, 500)];

/// How many items wait in a queue that is worked on all the time.
const WAITING: [usize; 3] = [0, 100, 400];

/// `only`: names of kinds, or `held`, with commas between; `None` for all, and then also beside items that wait.
pub(crate) async fn measure(only: Option<&str>) {
    let server = Callgrind::new();
    println!("instructions of the server for an item: add + lease + complete");
    let wanted = |name: &str| only.is_none_or(|only| only.split(',').any(|one| one == name));
    for (size, first, batches) in SIZES {
        for kind in Kind::ALL.into_iter().filter(|kind| wanted(kind.name())) {
            let server = server.start();
            let client = Client::connect(&server.url()).await.unwrap();
            let mut cycles =
                Cycles::new(client.queue("cycles").unwrap(), kind, size, first + batches);
            cycles.prepare().await;
            let mut counted = [0.0; 3];
            for (step, counted) in STEPS.into_iter().zip(&mut counted) {
                cycles.run(step, 0..first).await;
                let before = executed(server.pid());
                cycles.run(step, first..first + batches).await;
                *counted = (executed(server.pid()) - before) / (size * batches) as f64;
            }
            assert!(cycles.is_done().await, "everything was completed");
            let [add, lease, complete] = counted;
            let sum = add + lease + complete;
            let name = kind.name();
            println!(
                "batches of {size:>3}, {name:<22} {sum:>7.0} = {add:.0} + {lease:.0} + {complete:.0}"
            );
        }
    }
    if wanted("held") {
        held(&server).await;
    }
    if only.is_some() {
        return;
    }
    println!("the sum, while others wait");
    for (size, first, batches) in SIZES {
        for kind in [Kind::Plain, Kind::Unique, Kind::Keyed] {
            let mut sums = Vec::new();
            for waiting in WAITING {
                let sum = beside_waiting(&server, kind, waiting, (size, first, batches)).await;
                sums.push(format!("{sum:.0} beside {waiting}"));
            }
            println!("batches of {size:>3}, {:<22} {}", kind.name(), sums.join(", "));
        }
    }
}

/// Items of one key, whose places a batch takes: all others are held first. And items of many keys, one of each at a time.
async fn held(server: &Callgrind) {
    const BATCHES: usize = 41;
    for (keys, limit) in [(1, BATCH), (BATCH, 1)] {
        let server = server.start();
        let client = Client::connect(&server.url()).await.unwrap();
        let queue = client.queue("held").unwrap();
        queue.configure(SettingsChange::new().key_limit(limit as u32)).await.unwrap();
        let mut counted = [0.0; 4];
        for _ in 0..BATCHES {
            let item = |n: usize| Item::new([b'x'; DATA]).key(format!("{:036}", n % keys));
            let before = executed(server.pid());
            queue.add_items((0..BATCH).map(item).collect::<Vec<_>>()).await.unwrap();
            counted[0] += executed(server.pid()) - before;
        }
        let mut leases = queue.lease_many(BATCH, at_once()).await.unwrap();
        let before = executed(server.pid());
        while queue.counts().await.unwrap().ready > 0 {
            assert!(queue.lease_many(BATCH, at_once()).await.unwrap().is_empty());
        }
        counted[1] = executed(server.pid()) - before;
        assert!(queue.complete_many(&leases).await.unwrap().iter().all(|done| *done));
        for _ in 1..BATCHES {
            let before = executed(server.pid());
            leases = queue.lease_many(BATCH, at_once()).await.unwrap();
            let leased = executed(server.pid());
            assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; BATCH]);
            counted[2] += leased - before;
            counted[3] += executed(server.pid()) - leased;
        }
        // The first batch is not held.
        let batches = [BATCHES, BATCHES - 1, BATCHES - 1, BATCHES - 1];
        let [add, hold, lease, complete] =
            std::array::from_fn(|i| counted[i] / (BATCH * batches[i]) as f64);
        let sum = add + hold + lease + complete;
        println!(
            "batches of {BATCH}, held, {keys:>3} keys with limit {limit:>3}: {sum:>7.0} = \
             {add:.0} + {hold:.0} (made held) + {lease:.0} + {complete:.0}"
        );
    }
}

/// Each batch is leased and completed before the next one is added.
async fn beside_waiting(
    server: &Callgrind,
    kind: Kind,
    waiting: usize,
    (size, first, batches): (usize, usize, usize),
) -> f64 {
    let server = server.start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("waiting").unwrap();
    // Small calls, as they come to such a queue.
    let mut others = Cycles::new(queue.clone(), kind, 10, waiting.div_ceil(10));
    others.run(Step::Add, 0..waiting.div_ceil(10)).await;
    let mut cycles = Cycles::new(queue, kind, size, first + batches);
    let mut before = 0.0;
    for batch in 0..first + batches {
        if batch == first {
            before = executed(server.pid());
        }
        for step in STEPS {
            cycles.run(step, batch..batch + 1).await;
        }
    }
    (executed(server.pid()) - before) / (size * batches) as f64
}

/// A server that runs in callgrind.
struct Callgrind {
    binary: PathBuf,
    _dir: TempDir,
}

impl Callgrind {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let binary = dir.path().join("redis-server");
        let mut script = std::fs::File::create(&binary).unwrap();
        let server = std::env::var("LEASEQ_REDIS_SERVER").unwrap_or("redis-server".into());
        write!(script, "#!/bin/sh\nexec valgrind -q --tool=callgrind {server} \"$@\"\n").unwrap();
        script.set_permissions(std::fs::Permissions::from_mode(0o755)).unwrap();
        Callgrind { binary, _dir: dir }
    }

    fn start(&self) -> RedisServer {
        RedisServer::builder().binary(&self.binary).arg("--hz", "1").start()
    }
}

/// By the main thread of the server so far.
fn executed(pid: u32) -> f64 {
    let output = Command::new("callgrind_control").arg("-e").arg(pid.to_string()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let count = text.lines().find_map(|line| line.trim().strip_prefix("Th 1")).unwrap();
    count.trim().replace(',', "").parse().unwrap()
}
