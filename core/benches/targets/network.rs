//! A network that takes its time: a proxy delays every request and every answer. How often a client
//! asks for an item decides then.

use std::time::{Duration, Instant};

use leaseq::Client;
use leaseq_test_support::Proxy;

use crate::Scale;
use crate::load::{ALL, Calls};
use crate::report::{Report, Scene};
use crate::setup::Setup;

pub(crate) async fn measure(scale: Scale, report: &mut Report) {
    let setup = Setup::new().await;
    let proxy = Proxy::start(setup.server.port()).await;
    for ms in [1, 5] {
        proxy.delay(Duration::from_millis(ms));
        let client = Client::connect(&proxy.url()).await.unwrap();
        let round_trip = round_trip(&proxy, scale).await;
        for calls in ALL {
            let queue = client.queue(&format!("{ms}-{}-{}", calls.at_once, calls.items)).unwrap();
            // The first operation on a queue asks for its format too.
            queue.counts().await.unwrap();
            cycles(&proxy, &queue, calls, (ms, round_trip), scale, report).await;
        }
        client.close().await;
    }
}

async fn cycles(
    proxy: &Proxy,
    queue: &leaseq::WorkQueue,
    calls: Calls,
    (ms, round_trip): (u64, f64),
    scale: Scale,
    report: &mut Report,
) {
    let batch = calls.at_once * calls.items;
    let items = (scale.batches * batch / 2).max(batch);
    let before = proxy.commands_named("EVALSHA") + proxy.commands_named("EVAL");
    let begun = Instant::now();
    calls.add(queue, items, crate::setup::DATA).await;
    let (done, _) = calls.process(queue).await;
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(done, items);
    let trips = proxy.commands_named("EVALSHA") + proxy.commands_named("EVAL") - before;
    report.scene(Scene::redis(calls.name()));
    let what = format!("add, lease and complete, {ms} ms of delay each way");
    let note = format!(
        "a round trip (PING) takes {round_trip:.2} ms; {:.3} round trips for a cycle",
        trips as f64 / items as f64
    );
    report.info("", &what, items as f64 / seconds, "cycles/s", note);
}

/// How long an empty request takes through the proxy, in ms.
async fn round_trip(proxy: &Proxy, scale: Scale) -> f64 {
    let client = redis::Client::open(proxy.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let pings = scale.batches;
    let begun = Instant::now();
    for _ in 0..pings {
        redis::cmd("PING").exec_async(&mut connection).await.unwrap();
    }
    begun.elapsed().as_secs_f64() * 1e3 / pings as f64
}
