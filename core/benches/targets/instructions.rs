//! `--instructions`: how many instructions the server takes for an item, in everything that it does. Needs
//! valgrind. Beside server time they do not depend on the machine nor on its load.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use leaseq::Client;
use leaseq_test_support::RedisServer;

use crate::cycles::{Cycles, Kind};
use crate::server_time::{STEPS, Side};

/// Items in a batch; how many batches are not counted, because the server compiles the scripts and keeps up to 512
/// entries of a hash in a list; and how many are.
const SIZES: [(usize, usize, usize); 2] = [(100, 6, 100), (1, 600, 500)];

pub(crate) async fn measure() {
    let dir = tempfile::tempdir().unwrap();
    let binary = dir.path().join("redis-server");
    let mut script = std::fs::File::create(&binary).unwrap();
    let server = std::env::var("LEASEQ_REDIS_SERVER").unwrap_or("redis-server".into());
    write!(script, "#!/bin/sh\nexec valgrind -q --tool=callgrind {server} \"$@\"\n").unwrap();
    script.set_permissions(std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(script);

    println!("instructions of the server for an item: add + lease + complete");
    for (size, first, batches) in SIZES {
        for kind in Kind::ALL {
            let server = RedisServer::builder().binary(&binary).arg("--hz", "1").start();
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
}

/// By the main thread of the server so far.
fn executed(pid: u32) -> f64 {
    let output = Command::new("callgrind_control").arg("-e").arg(pid.to_string()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let count = text.lines().find_map(|line| line.trim().strip_prefix("Th 1")).unwrap();
    count.trim().replace(',', "").parse().unwrap()
}
