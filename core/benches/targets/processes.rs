//! One, four and sixteen worker processes on one queue.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use leaseq::Client;

use crate::Scale;
use crate::load::{BULK, Calls, MANY, ONE};
use crate::report::{Report, Scene};
use crate::setup::{DATA, Setup, median};

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = format!("sqlite:{}?synchronous=normal", folder.path().join("queue.db").display());
    for (url, of) in [(setup.server.url(), "redis"), (file, "sqlite")] {
        for calls in [ONE, MANY] {
            for processes in [1, 4, 16] {
                let concurrency = format!("{processes} × {}", calls.name());
                report.scene(match of {
                    "redis" => Scene::redis(concurrency),
                    _ => Scene::embedded("normal", concurrency),
                });
                let items = scale.batches * if calls.at_once > 1 { 200 } else { 50 };
                let rounds = scale.rounds.min(3);
                let mut rates = Vec::new();
                for _ in 0..rounds {
                    rates.push(drain(&url, calls, processes, items).await);
                }
                let what = format!("{of}: lease and complete, worker processes: {processes}");
                report.info("", &what, median(rates), "items/s", format!("{items} items"));
            }
        }
    }
}

/// Items a second, from the word to start until the last process has said how many it had.
async fn drain(url: &str, calls: Calls, processes: usize, items: usize) -> f64 {
    let client = Client::connect(url).await.unwrap();
    BULK.add(&client.queue("shared").unwrap(), items, DATA).await;
    client.close().await;
    let mut workers: Vec<Worker> =
        (0..processes).map(|_| Worker::start(&["drain", url, &calls.name()])).collect();
    for worker in &mut workers {
        assert_eq!(worker.line(), "ready");
    }
    let begun = Instant::now();
    for worker in &mut workers {
        worker.child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    }
    let done: usize =
        workers.iter_mut().map(|worker| worker.line().parse::<usize>().unwrap()).sum();
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(done, items);
    items as f64 / seconds
}

/// A process of this program; it ends with this value.
pub(crate) struct Worker {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Worker {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("--worker").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Worker { child, said }
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
