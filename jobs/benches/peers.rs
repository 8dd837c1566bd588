//! Workers beside their peers, on the same server and by turns: target 14. Figures are jobs a second, from the first
//! handler to the last one; handlers do nothing but note that, except in children, for which the worker tells of their
//! starts and ends.
//!
//! | leaseq | peer | target |
//! |---|---|---|
//! | worker in Rust, 100 slots | asynq, 100 at once | 10 |
//! | 2 reused children in Python, 8 jobs in advance | Celery, prefork with 2 processes | 5 |
//! | 2 loaded children in Python that fork for each job | RQ, 2 workers of its default kind | 2 |
//!
//! `make peers-jobs`. Without `--peers FOLDER`, which holds an environment for each, or with `--quick`, it only shows
//! that it works.

// A failed step must stop the measurement.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use leaseq::Client;
use leaseq_jobs::{Children, Context, Event, Job, NewJob, Producer, Worker};
use leaseq_test_support::RedisServer;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Nothing {
    text: String,
}

impl Job for Nothing {
    const NAME: &'static str = "bench.nothing";
    const QUEUE: &'static str = "bench";
}

/// What is measured: a worker, how many jobs it gets, and a peer.
struct Pair {
    name: &'static str,
    worker: fn(&Client, Arc<Times>) -> Worker,
    count: usize,
    peer: Peer,
    target: f64,
}

/// When the first handler started, and when the last one ended.
#[derive(Default)]
struct Times {
    first: OnceLock<Instant>,
    last: OnceLock<Instant>,
    ended: AtomicUsize,
    count: usize,
}

impl Times {
    fn starts(&self) {
        self.first.get_or_init(Instant::now);
    }

    fn ends(&self) {
        if self.ended.fetch_add(1, Ordering::Relaxed) + 1 == self.count {
            self.last.get_or_init(Instant::now);
        }
    }
}

/// A program that prints JSON with its rate.
struct Peer {
    name: &'static str,
    count: usize,
    command: fn(&Path) -> Command,
}

fn in_python(folder: &Path, environment: &str, module: &str) -> Command {
    let mut command =
        Command::new(folder.join("peers-python").join(environment).join("bin/python"));
    command.args(["-m", "peers", module]);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../bindings-python/bench"));
    command
}

/// What Celery leases in advance, unless it is told otherwise: four for each process.
const PREFETCH: usize = 8;

fn children() -> Children {
    Children::new("python3").arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/child.py"))
}

fn in_children(client: &Client, times: Arc<Times>, children: Children) -> Worker {
    Worker::new(client).slots(2).children(children).on_event(move |event| match event {
        Event::Started(_) => times.starts(),
        Event::Ended(..) => times.ends(),
        _ => {}
    })
}

const PAIRS: [Pair; 3] = [
    Pair {
        name: "Rust, 100 slots",
        worker: |client, times| {
            let nothing = move |_: Nothing, _: Context| {
                times.starts();
                times.ends();
                async { Ok(()) }
            };
            Worker::new(client).slots(100).handle(nothing)
        },
        count: 100_000,
        peer: Peer {
            name: "asynq",
            count: 20_000,
            command: |folder| Command::new(folder.join("peers-go/asynq")),
        },
        target: 10.0,
    },
    Pair {
        name: "2 reused children",
        worker: |client, times| in_children(client, times, children()).prefetch(PREFETCH),
        count: 20_000,
        peer: Peer {
            name: "celery prefork",
            count: 5_000,
            command: |folder| in_python(folder, "celery", "celery"),
        },
        target: 5.0,
    },
    Pair {
        name: "2 forking children",
        worker: |client, times| in_children(client, times, children().arg("--fork")),
        count: 2_000,
        peer: Peer {
            name: "rq default",
            count: 500,
            command: |folder| in_python(folder, "rq", "rq_fork"),
        },
        target: 2.0,
    },
];

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test` runs it as well, in a debug build.
    let quick = arguments.iter().any(|argument| argument == "--quick" || argument == "--test");
    let place = arguments.iter().position(|argument| argument == "--peers");
    let folder = place.map(|place| PathBuf::from(&arguments[place + 1]));
    let rounds = if folder.is_some() && !quick { 5 } else { 1 };
    let server = RedisServer::start();
    println!("{rounds} rounds, medians; jobs a second");
    for pair in PAIRS {
        let count = match (quick || folder.is_none(), cfg!(debug_assertions)) {
            (true, _) => 20,
            // A debug build shows that it works, and roughly how fast.
            (false, true) => pair.count / 10,
            (false, false) => pair.count,
        };
        let (mut ours, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let rate = measure(&server, &pair, count).await;
            ours.push(rate);
            if let Some(theirs) =
                folder.as_deref().and_then(|folder| pair.peer.rate(folder, &server))
            {
                ratios.push((rate / theirs, theirs));
            }
        }
        print!("{:<20} {:>8.0}", pair.name, median(ours));
        if !ratios.is_empty() {
            let theirs = median(ratios.iter().map(|(_, theirs)| *theirs).collect());
            let ratio = median(ratios.iter().map(|(ratio, _)| *ratio).collect());
            let word = if ratio >= pair.target { "ok" } else { "MISSED" };
            let (peer, target) = (pair.peer.name, pair.target);
            print!("   {peer:<16} {theirs:>8.0}   ratio {ratio:.1}, target {target}: {word}");
        }
        println!();
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// What a worker does in a second.
async fn measure(server: &RedisServer, pair: &Pair, count: usize) -> f64 {
    let client = Client::connect(&server.url()).await.unwrap();
    let jobs = (0..count).map(|_| NewJob::new(Nothing { text: "x".repeat(52) }));
    Producer::new(&client).enqueue_many(jobs).await.unwrap();
    let times = Arc::new(Times { count, ..Times::default() });
    (pair.worker)(&client, times.clone()).run_until_idle().await.unwrap();
    assert_eq!(times.ended.load(Ordering::Relaxed), count);
    assert_eq!(client.queue(Nothing::QUEUE).unwrap().queue_len().await.unwrap(), 0);
    client.close().await;
    count as f64 / (*times.last.get().unwrap() - *times.first.get().unwrap()).as_secs_f64()
}

impl Peer {
    /// What it does in a second; `None`: it is not there, or fails.
    fn rate(&self, folder: &Path, server: &RedisServer) -> Option<f64> {
        let mut command = (self.command)(folder);
        let output = command.arg(self.count.to_string()).env("BENCH_URL", server.url()).output();
        let output = output.inspect_err(|error| eprintln!("{}: {error}", self.name)).ok()?;
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let rate = said["rates"]["process"].as_f64();
        if rate.is_none() {
            eprintln!("{}: {}", self.name, String::from_utf8_lossy(&output.stderr));
        }
        rate
    }
}
