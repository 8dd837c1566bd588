//! The registry: wherever a script stops, whoever tries again succeeds, and nothing is left that no beat deletes.

use std::collections::BTreeSet;

use ::redis::{Commands, Connection};
use leaseq::{Beat, Client, ErrorKind, Result, WorkerAction, WorkerId, WorkersOptions};

use crate::support::redis::{Redis, fail_after, has_failed};
use crate::support::*;
use crate::verify::stopping_points;

const SWEPT: std::time::Duration = std::time::Duration::from_secs(3_600);

struct Registry {
    bench: Bench,
    raw: Connection,
    client: Client,
}

impl Registry {
    async fn new() -> Registry {
        let redis = Redis::start_failing();
        let raw = redis.server().connection();
        let bench = Bench::new(redis);
        let client = bench.client().await;
        Registry { bench, raw, client }
    }

    fn key(name: &str) -> String {
        format!("leaseq:{{(workers)}}:{name}")
    }

    /// Every entry can be found by those who delete what is gone.
    fn assert_nothing_is_stray(&mut self) {
        let beats: BTreeSet<Vec<u8>> = self.raw.zrange(Self::key("beats"), 0, -1).unwrap();
        let names: BTreeSet<Vec<u8>> = self.raw.zrange(Self::key("names"), 0, -1).unwrap();
        assert!(names.is_subset(&beats), "{names:?} {beats:?}");
        for hash in ["bodies", "commands"] {
            let entries: BTreeSet<Vec<u8>> = self.raw.hkeys(Self::key(hash)).unwrap();
            assert!(entries.is_subset(&beats), "{hash}: {entries:?} {beats:?}");
        }
    }

    /// Stops the act, which somebody repeats, after each call of the script.
    async fn acts(
        &mut self,
        script: &str,
        prepare: impl AsyncFn(&Client, &WorkerId),
        act: impl AsyncFn(&Client, &WorkerId) -> Result<()>,
        verify: impl AsyncFn(&Client, &WorkerId, bool),
    ) {
        for calls in stopping_points() {
            let worker = WorkerId::new(format!("{script} {calls}")).with_instance("1");
            prepare(&self.client, &worker).await;
            fail_after(&mut self.raw, script, calls);
            let first = act(&self.client, &worker).await;
            let failed = has_failed(&mut self.raw, script);
            eprintln!("{script} stopped after call {calls}: {first:?}");
            match first {
                Ok(()) => assert!(!failed, "an error must be told"),
                Err(error) => assert!(failed && error.kind() == ErrorKind::Internal, "{error}"),
            }
            self.assert_nothing_is_stray();
            if failed {
                act(&self.client, &worker).await.unwrap();
            }
            verify(&self.client, &worker, failed).await;
            self.assert_nothing_is_stray();
            if !failed {
                assert!(calls > 2, "{script} did nothing");
                break;
            }
        }
        // All of them are gone, and each beat deletes some of what they have left.
        self.bench.advance(SWEPT);
        let last = WorkerId::new("last").with_instance("1");
        for _ in 0..10 {
            self.client.beat(&Beat::new(last.clone())).await.unwrap();
        }
        for hash in ["bodies", "commands"] {
            let left: Vec<String> = self.raw.hkeys(Self::key(hash)).unwrap();
            assert!(left.iter().all(|entry| entry == "last\0\u{31}"), "{hash}: {left:?}");
        }
        self.client.leave(&last).await.unwrap();
    }
}

async fn beats(client: &Client, worker: &WorkerId) {
    client.beat(&Beat::new(worker.clone())).await.unwrap();
}

async fn is_told(client: &Client, worker: &WorkerId) {
    beats(client, worker).await;
    assert!(client.command_worker(worker, &WorkerAction::Stop).await.unwrap());
}

async fn listed(client: &Client, worker: &WorkerId) -> usize {
    let named = WorkersOptions::new().name(worker.name());
    client.workers(named).await.unwrap().workers.len()
}

#[tokio::test]
async fn beats_and_ends() {
    let mut registry = Registry::new().await;
    let beat = async |client: &Client, worker: &WorkerId| {
        client.beat(&Beat::new(worker.clone())).await.map(drop)
    };
    let is_listed = async |client: &Client, worker: &WorkerId, _| {
        assert_eq!(listed(client, worker).await, 1);
    };
    registry.acts("beat", async |_, _| (), beat, is_listed).await;
    registry.acts("beat", beats, beat, is_listed).await;
    let leave = async |client: &Client, worker: &WorkerId| client.leave(worker).await;
    let is_gone = async |client: &Client, worker: &WorkerId, _| {
        assert_eq!(listed(client, worker).await, 0);
        // Its commands are gone with it.
        assert!(client.beat(&Beat::new(worker.clone())).await.unwrap().commands.is_empty());
        client.leave(worker).await.unwrap();
    };
    registry.acts("beat", is_told, leave, is_gone).await;
}

#[tokio::test]
async fn commands() {
    let mut registry = Registry::new().await;
    let command = async |client: &Client, worker: &WorkerId| {
        let told = client.command_worker(worker, &WorkerAction::Stop).await?;
        assert!(told);
        Ok(())
    };
    // Whoever repeats it without its number may give it twice; each comes until it is acknowledged, and no longer.
    let comes = async |client: &Client, worker: &WorkerId, failed: bool| {
        let mut beat = Beat::new(worker.clone());
        let commands = client.beat(&beat).await.unwrap().commands;
        assert!(commands.len() == 1 || failed && commands.len() == 2, "{commands:?}");
        assert_eq!(client.beat(&beat).await.unwrap().commands, commands);
        beat.acknowledged = commands.iter().map(|command| command.number).collect();
        assert!(client.beat(&beat).await.unwrap().commands.is_empty());
        beat.acknowledged.clear();
        assert!(client.beat(&beat).await.unwrap().commands.is_empty());
    };
    registry.acts("command_worker", beats, command, comes).await;
    let acknowledge = async |client: &Client, worker: &WorkerId| {
        let named = WorkersOptions::new().name(worker.name());
        let listed = client.workers(named).await.unwrap().workers;
        let mut beat = Beat::new(worker.clone());
        let commands = listed.iter().flat_map(|worker| &worker.commands);
        beat.acknowledged = commands.map(|command| command.number).collect();
        client.beat(&beat).await.map(drop)
    };
    let is_done = async |client: &Client, worker: &WorkerId, _| {
        assert!(client.beat(&Beat::new(worker.clone())).await.unwrap().commands.is_empty());
        assert_eq!(listed(client, worker).await, 1);
    };
    registry.acts("beat", is_told, acknowledge, is_done).await;
}

#[tokio::test]
async fn quiet_names() {
    let mut registry = Registry::new().await;
    let is = |quiet| {
        async move |client: &Client, worker: &WorkerId, _| {
            let reply = client.beat(&Beat::new(worker.clone())).await.unwrap();
            assert_eq!(reply.quiet, quiet);
        }
    };
    let quiet = async |client: &Client, worker: &WorkerId| client.quiet_worker(worker.name()).await;
    registry.acts("set_quiet", beats, quiet, is(true)).await;
    let is_quiet = async |client: &Client, worker: &WorkerId| {
        client.quiet_worker(worker.name()).await.unwrap();
    };
    let resume =
        async |client: &Client, worker: &WorkerId| client.resume_worker(worker.name()).await;
    registry.acts("set_quiet", is_quiet, resume, is(false)).await;
}
