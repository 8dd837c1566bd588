//! Cooldown, staggered starts and throttling.

use std::time::{Duration, Instant};

use leaseq_jobs::{Event, Finish, Throttle};
use leaseq_test_support::eventually;

use crate::support::{Bench, PATIENCE, Seen, drained, nothing, on_every_engine, soon, start};

on_every_engine!(a_slot_cools_down, starts_are_staggered,);

const SHORT: Duration = Duration::from_millis(200);

async fn a_slot_cools_down(bench: Bench) {
    for _ in 0..3 {
        bench.add("a").await;
    }
    let core = bench.core(|options| {
        options.slots = 2;
        options.cooldown = SHORT;
        options.burst = true;
    });
    let tasks = [start(&core).await, start(&core).await];
    soon(core.finish(&tasks[0], Finish::Done { result: None })).await.unwrap();
    let ended = Instant::now();
    let third = start(&core).await;
    assert!(ended.elapsed() + Duration::from_millis(20) >= SHORT, "{:?}", ended.elapsed());
    for task in [&tasks[1], &third] {
        soon(core.finish(task, Finish::Done { result: None })).await.unwrap();
    }
    assert_eq!(drained(&core).await.started, 3);
}

async fn starts_are_staggered(bench: Bench) {
    for _ in 0..3 {
        bench.add("a").await;
    }
    let core = bench.core(|options| {
        options.slots = 10;
        options.stagger = SHORT;
    });
    let mut starts = Vec::new();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(start(&core).await);
        starts.push(Instant::now());
        // The others are not held meanwhile.
        assert_eq!(bench.counts().await.leased, tasks.len() as u64);
    }
    let between = starts[2] - starts[0];
    assert!(between + Duration::from_millis(20) >= 2 * SHORT, "{between:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_throttled_as_a_program_says() {
    let bench = Bench::in_memory().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("percent");
    std::fs::write(&file, "95").unwrap();
    let command = ["cat", file.to_str().unwrap()];
    let (seen, hooked) = (Seen::default(), Seen::default());
    let (handler_seen, hook) = (seen.clone(), hooked.clone());
    let worker = bench
        .worker()
        .throttle(Throttle::new().gpu(90, 80).gpu_command(command))
        .on_event(move |event| {
            if let Event::Throttled(throttled) = event {
                hook.push(throttled.to_string());
            }
        })
        .handle(move |_: crate::support::Echo, _| {
            handler_seen.push("ran");
            async { Ok(()) }
        });
    let test = async {
        assert!(eventually(PATIENCE, async || hooked.len() == 1).await, "it is throttled");
        bench.add("a").await;
        tokio::time::sleep(SHORT).await;
        assert_eq!(seen.len(), 0, "a throttled worker starts a job");
        std::fs::write(&file, "10").unwrap();
        assert!(eventually(PATIENCE, async || seen.len() == 1).await, "it goes on");
    };
    soon(worker.run_until(test)).await.unwrap();
    assert_eq!(hooked.take(), ["true", "false"]);
    let wrong = bench.worker().throttle(Throttle::new().memory(80, 90)).handle(nothing);
    let error = soon(wrong.run_until_idle()).await.unwrap_err().to_string();
    assert!(error.contains("80:90 of the memory"), "{error}");
}
