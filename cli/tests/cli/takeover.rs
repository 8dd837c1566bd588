//! Queues of redis-work-queue as its packages for Node.js and Rust write them. That for Python is in `transfer`.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use leaseq::LeaseOptions;
use leaseq_test_support::{RedisServer, eventually};

use crate::support::{Bench, finish};

/// Items that a program adds, of which it completes one.
const ADDED: u64 = 1_500;

/// A folder for a package, which is kept.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../build")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn succeeds(command: &mut Command) {
    let run = finish(command.stdin(Stdio::null()), b"");
    assert_eq!(run.status, 0, "{run:?}");
}

fn url(server: &RedisServer) -> String {
    format!("redis://127.0.0.1:{}/", server.port())
}

/// Takes over the queue `old`, killed in the middle, and again.
async fn take_over(target: &Bench, old: &Bench) {
    let server = old.server.as_ref().unwrap();
    let url = url(server);
    let args = ["import", "new", "old", "--from", "redis-work-queue", "--from-url", &url];
    let queue = target.queue("new").await;
    for least in [1, ADDED / 2] {
        let mut child =
            target.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let arrived = async || queue.counts().await.unwrap().totals.added >= least;
        assert!(eventually(Duration::from_secs(60), arrived).await);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let run = target.run(&args);
    assert!(run.status < 2, "{run:?}");
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.totals.added, counts.ready), (ADDED - 1, ADDED - 1), "{counts:?}");
    assert_eq!(queue.get("n0").await.unwrap(), None, "it was completed");
    let item = queue.get("n1499").await.unwrap().unwrap();
    assert_eq!(item.data, vec![255, (1_499 % 256) as u8]);
    // Those with a lease come first.
    let first = queue.lease(LeaseOptions::new(Duration::from_secs(60))).await.unwrap().unwrap();
    assert_eq!(first.id(), b"n1");
    assert_eq!(server.cli(&["KEYS", "old:*"]).trim(), "", "nothing is left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_of_the_package_for_node_is_taken_over() {
    let folder = folder("redis-work-queue-node");
    let package = "node_modules/@mevitae/redis-work-queue/package.json";
    if !folder.join(package).exists() {
        std::fs::write(folder.join("package.json"), "{\"private\":true}").unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "@mevitae/redis-work-queue@0.1.5"]);
        succeeds(npm.current_dir(&folder));
    }
    let script = format!(
        "const Redis = require('ioredis')
        const {{ Item, KeyPrefix, WorkQueue }} = require('@mevitae/redis-work-queue/dist/WorkQueue.js')
        async function main() {{
          const db = new Redis(process.argv[1])
          const queue = new WorkQueue(new KeyPrefix('old'))
          for (let n = 0; n < {ADDED}; n++)
            await queue.addItem(db, new Item(Buffer.from([255, n % 256]), `n${{n}}`))
          const leased = []
          for (let n = 0; n < 3; n++) leased.push(await queue.lease(db, 3600, false))
          if (!(await queue.complete(db, leased[0]))) throw new Error('not completed')
          // One that has expired: its cleaner brings it back, with an entry 0 that is no item.
          await db.del('old:leased_by_session:' + leased[2].id)
          await queue.lightClean(db)
          db.disconnect()
        }}
        main()"
    );
    for target in Bench::all() {
        let old = Bench::redis();
        let mut node = Command::new("node");
        node.args(["-e", &script, &url(old.server.as_ref().unwrap())]);
        succeeds(node.current_dir(&folder));
        assert_eq!(old.server.as_ref().unwrap().cli(&["LPOS", "old:queue", "0"]).trim(), "1");
        take_over(&target, &old).await;
    }
}

const RUST: &str = "use std::time::Duration;
use redis_work_queue::{Item, KeyPrefix, WorkQueue};
fn main() {
    async_std::task::block_on(async {
        let client = redis::Client::open(std::env::args().nth(1).unwrap()).unwrap();
        let mut db = client.get_multiplexed_async_std_connection().await.unwrap();
        let queue = WorkQueue::new(KeyPrefix::from(\"old\"));
        for n in 0..ADDED {
            let item = Item { id: format!(\"n{n}\"), data: vec![255, (n % 256) as u8].into() };
            queue.add_unique_item(&mut db, &item).await.unwrap();
        }
        let hour = Duration::from_secs(3600);
        let first = queue.lease(&mut db, Some(Duration::ZERO), hour).await.unwrap().unwrap();
        queue.lease(&mut db, Some(Duration::ZERO), hour).await.unwrap().unwrap();
        assert!(queue.complete(&mut db, &first).await.unwrap());
    });
}
";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "compiles the package for a minute; make nightly runs it"]
async fn a_queue_of_the_package_for_rust_is_taken_over() {
    let folder = folder("redis-work-queue-rust");
    let manifest = "[package]\nname = \"old\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
                    async-std = \"1\"\nredis = \"0.26\"\nredis-work-queue = \"=0.3.0\"\n";
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    let program = RUST.replace("ADDED", &ADDED.to_string());
    std::fs::write(folder.join("src/main.rs"), program).unwrap();
    for target in Bench::all() {
        let old = Bench::redis();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args([
            "run",
            "-q",
            "--target-dir",
            "target",
            "--",
            &url(old.server.as_ref().unwrap()),
        ]);
        succeeds(cargo.current_dir(&folder));
        let leases = old.server.as_ref().unwrap().cli(&["KEYS", "old:lease:*"]);
        assert_eq!(leases.trim(), "old:lease:n1");
        take_over(&target, &old).await;
    }
}
