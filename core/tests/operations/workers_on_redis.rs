//! The registry of workers as it is on Redis, where others may write it.

use ::redis::{Commands, cmd};
use leaseq::options::BEAT_INTERVAL;
use leaseq::{Beat, Client, WorkerAction, WorkerId, WorkersOptions};

use crate::support::redis::Redis;
use crate::support::*;

fn beat(worker: &WorkerId) -> Beat {
    Beat::new(worker.clone())
}

const BEATS: &str = "leaseq:{(workers)}:beats";
const BODIES: &str = "leaseq:{(workers)}:bodies";

async fn served() -> (Redis, ::redis::Connection, Client) {
    let redis = Redis::start();
    let raw = redis.server().connection();
    let client = Client::connect(&redis.server().url()).await.unwrap();
    (redis, raw, client)
}

/// The clock was an hour ahead when the worker beat, and was set back.
#[tokio::test]
async fn a_beat_from_the_future_expires() {
    let (_redis, mut raw, client) = served().await;
    client.beat(&beat(&WorkerId::new("gone"))).await.unwrap();
    let time: (u64, u64) = cmd("TIME").query(&mut raw).unwrap();
    let _: () = raw.zadd(BEATS, "gone", (time.0 + 3_600) * 1_000).unwrap();
    client.beat(&beat(&WorkerId::new("here"))).await.unwrap();
    let score: f64 = raw.zscore(BEATS, "gone").unwrap();
    assert!(score <= (time.0 + 60) as f64 * 1_000.0, "{score}");
}

/// Who may beat may write anything.
#[tokio::test]
async fn entries_that_cannot_be_read_are_skipped_and_counted() {
    let (_redis, mut raw, client) = served().await;
    for name in ["a", "b", "c", "d"] {
        client.beat(&beat(&WorkerId::new(name).with_instance("1"))).await.unwrap();
    }
    let bodies: [&[u8]; 3] = [b"", b"\xff{", br#"{"host":"\u001b[2J"}"#];
    for (name, body) in ["a", "b", "c"].iter().zip(bodies) {
        let _: () = raw.hset(BODIES, format!("{name}\0\u{31}"), body).unwrap();
    }
    let _: () = raw.zadd("leaseq:{(workers)}:names", b"\xff", 0).unwrap();
    let _: () = raw.zadd(BEATS, b"\xff", 1e15).unwrap();
    let commands = "leaseq:{(workers)}:commands";
    let _: () = raw.hset(commands, "d\0\u{31}", "damaged commands, which are long").unwrap();
    let page = client.workers(WorkersOptions::new()).await.unwrap();
    assert_eq!((page.workers.len(), page.skipped), (1, 4));
    assert_eq!(page.workers[0].beat.worker.name(), "d");
    assert!(client.beat(&page.workers[0].beat).await.unwrap().commands.is_empty());
}

/// Otherwise such a name would hide all workers behind it.
#[tokio::test]
async fn a_page_may_end_with_a_name_that_no_worker_has() {
    let (_redis, mut raw, client) = served().await;
    for name in ["a", "m", "z"] {
        client.beat(&beat(&WorkerId::new(name).with_instance("1"))).await.unwrap();
    }
    // Neither UTF-8, nor an instance, nor without control characters.
    let hostile: [&[u8]; 5] = [b"b\xff\0\x31", b"c", b"d\n\0\x31", b"e\0\x07", b"\0"];
    for entry in hostile {
        let _: () = raw.zadd("leaseq:{(workers)}:names", entry, 0).unwrap();
        let _: () = raw.zadd(BEATS, entry, 1e15).unwrap();
        let _: () = raw.hset(BODIES, entry, "{}").unwrap();
    }
    for limit in 1..10 {
        let (mut found, mut skipped) = (Vec::new(), 0);
        let mut options = WorkersOptions::new().limit(limit);
        loop {
            let page = client.workers(options.clone()).await.unwrap();
            assert!(page.workers.len() <= limit);
            found.extend(page.workers.iter().map(|it| it.beat.worker.name().to_owned()));
            skipped += page.skipped;
            let Some(next) = page.next else { break };
            options = options.after(next);
        }
        assert_eq!((found, skipped), (["a", "m", "z"].map(str::to_owned).into(), 5), "{limit}");
    }
}

#[tokio::test]
async fn a_beat_is_one_command_every_ten_seconds() {
    let (_redis, mut raw, client) = served().await;
    let mut of_worker = beat(&WorkerId::new("w"));
    // The server gets to know the scripts.
    client.beat(&of_worker).await.unwrap();
    client.command_worker(&of_worker.worker, &WorkerAction::Stop).await.unwrap();
    let mut sent = || -> u64 {
        let stats: String = cmd("INFO").arg("commandstats").query(&mut raw).unwrap();
        let calls = stats.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            let is_script = ["evalsha", "evalsha_ro", "eval", "fcall"].contains(&name);
            is_script.then(|| rest.split(',').next()?.parse::<u64>().ok()).flatten()
        });
        calls.sum()
    };
    let before = sent();
    for _ in 0..10 {
        let reply = client.beat(&of_worker).await.unwrap();
        of_worker.acknowledged = reply.commands.iter().map(|told| told.number).collect();
        client.command_worker(&of_worker.worker, &WorkerAction::Stop).await.unwrap();
    }
    // A beat and a command each.
    assert_eq!(sent() - before, 20);
    assert!(BEAT_INTERVAL >= secs(10), "0.1 commands a second");
}

#[tokio::test]
async fn ten_thousand_workers_are_listed_in_bounded_steps_and_swept() {
    let redis = Redis::start();
    let mut raw = redis.server().connection();
    // Its clock stands still: on a busy machine the first one may have expired before the last one has beaten.
    let bench = Bench::new(redis);
    let client = bench.client().await;
    let mut beats = tokio::task::JoinSet::new();
    for hundred in 0..100 {
        let client = client.clone();
        beats.spawn(async move {
            for i in 0..100 {
                let mut beat = beat(&WorkerId::new(format!("w{hundred}-{i}")));
                beat.queues = vec!["q".into()];
                client.beat(&beat).await.unwrap();
            }
        });
    }
    while let Some(beat) = beats.join_next().await {
        beat.unwrap();
    }
    let (mut found, mut pages) = (0, 0);
    let mut options = WorkersOptions::new().limit(200);
    loop {
        let page = client.workers(options.clone()).await.unwrap();
        found += page.workers.len();
        pages += 1;
        let Some(next) = page.next else { break };
        options = options.after(next);
    }
    assert_eq!((found, pages), (10_000, 51));
    let entries: Vec<Vec<u8>> = raw.zrange(BEATS, 0, -1).unwrap();
    for entry in &entries {
        let _: () = raw.zadd(BEATS, entry, 1).unwrap();
    }
    // Each beat deletes more than one entry, so the registry shrinks whatever happens.
    client.beat(&beat(&WorkerId::new("w"))).await.unwrap();
    assert_eq!(raw.zcard::<_, u64>(BEATS).unwrap(), 10_000 - 20 + 1);
    assert_eq!(raw.hlen::<_, u64>(BODIES).unwrap(), 10_000 - 20 + 1);
    let lives: i64 = raw.ttl(BODIES).unwrap();
    assert!(lives > 80_000, "{lives}");
}
