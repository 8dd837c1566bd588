//! Target 2: the Rust client in batches beside what the server's own time allows. And single calls, one
//! after the other, beside bare round trips.

use std::time::{Duration, Instant};

use leaseq::{Item, WorkQueue};

use crate::Scale;
use crate::report::{Bound, Report, Scene};
use crate::setup::{BATCH, DATA, Setup, at_once, batch, median};

/// Tasks that send batches at the same time, so that the server does not wait for the client.
pub(crate) const TASKS: usize = 4;

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let (mut shares, mut rates) = (vec![], vec![]);
    for round in 0..scale.rounds {
        setup.reset_stats();
        let (cycles, time) = batched(&setup, round, scale).await;
        let rate = cycles / time.as_secs_f64();
        let allowed = cycles / (setup.usec(&["evalsha", "eval"]) / 1e6);
        rates.push(rate);
        shares.push(rate / allowed);
    }
    report.scene(Scene::redis(format!("{TASKS} × batches of {BATCH}")));
    let note = format!("{:.0} cycles/s, wall clock", median(rates));
    let what = "batches from Rust / what the server's time allows";
    report.target("2", what, median(shares), "×", (Bound::AtLeast, 0.8), note);

    report.scene(Scene::redis("one at a time"));
    let one = one_at_a_time(&setup.queue("one"), scale).await;
    let raw = raw_round_trips(&setup, scale).await;
    let note = format!("raw round trips (PING) {raw:.0}/s by the same client library");
    report.info("4", "single calls from Rust, one after the other", one, "calls/s", note);
}

/// How many items some tasks put through queues of their own, which stay as short as one batch each;
/// and how long that took.
pub(crate) async fn batched(setup: &Setup, round: usize, scale: Scale) -> (f64, Duration) {
    let each = scale.batches / TASKS + 1;
    let begun = Instant::now();
    let tasks = (0..TASKS).map(|task| {
        let queue = setup.queue(&format!("batch-{round}-{task}"));
        tokio::spawn(async move {
            for _ in 0..each {
                queue.add_items(batch()).await.unwrap();
                let leases = queue.lease_many(BATCH, at_once()).await.unwrap();
                let completed = queue.complete_many(&leases).await.unwrap();
                assert_eq!(completed, [true; BATCH]);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    ((each * TASKS * BATCH) as f64, begun.elapsed())
}

async fn one_at_a_time(queue: &WorkQueue, scale: Scale) -> f64 {
    let begun = Instant::now();
    let cycles = scale.batches * 5;
    for _ in 0..cycles {
        queue.add_item(Item::new([b'x'; DATA])).await.unwrap();
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        assert!(queue.complete(&lease).await.unwrap());
    }
    3.0 * cycles as f64 / begun.elapsed().as_secs_f64()
}

async fn raw_round_trips(setup: &Setup, scale: Scale) -> f64 {
    let client = redis::Client::open(setup.server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let begun = Instant::now();
    let trips = scale.batches * 15;
    for _ in 0..trips {
        redis::cmd("PING").exec_async(&mut connection).await.unwrap();
    }
    trips as f64 / begun.elapsed().as_secs_f64()
}
