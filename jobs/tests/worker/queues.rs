//! Several queues.

use leaseq_jobs::{Finish, NewJob, Order, QueueOptions};
use serde_json::json;

use crate::support::{Bench, Echo, Seen, on_every_engine, soon, start};
use leaseq_jobs::Job;

on_every_engine!(
    weights_count_started_jobs,
    strict_order_prefers_the_first_queue,
    one_slot_waits_on_several_queues,
    queues_are_found_by_patterns,
);

async fn fill(bench: &Bench, queue: &str, count: usize) {
    let new = |_| NewJob::named(Echo::NAME, queue, &json!({ "text": queue }));
    bench.producer().enqueue_many((0..count).map(new)).await.unwrap();
}

fn queues(names: &[(&str, u32)]) -> Vec<QueueOptions> {
    names.iter().map(|(name, weight)| QueueOptions::new(*name).weight(*weight)).collect()
}

async fn weights_count_started_jobs(bench: Bench) {
    for slots in [1, 5] {
        fill(&bench, "mail", 100).await;
        fill(&bench, "bulk", 100).await;
        let core = bench.core(|options| {
            options.queues = queues(&[("mail", 3), ("bulk", 1)]);
            options.slots = slots;
        });
        let seen = Seen::default();
        for _ in 0..100 {
            let task = start(&core).await;
            seen.push(task.queue());
            soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
        }
        let count = seen.count();
        // What is leased for the slots and was not started makes the difference.
        assert!(count["mail"].abs_diff(75) <= slots, "{slots} slots: {count:?}");
        core.drain(std::time::Duration::ZERO);
        while let leaseq_jobs::JobStart::Start(_) = soon(core.next()).await {}
        for queue in ["mail", "bulk"] {
            bench.client.queue(queue).unwrap().drop_queue().await.unwrap();
        }
    }
}

async fn strict_order_prefers_the_first_queue(bench: Bench) {
    fill(&bench, "low", 10).await;
    fill(&bench, "high", 10).await;
    let core = bench.core(|options| {
        options.queues = queues(&[("high", 1), ("low", 9)]);
        options.order = Order::Strict;
        options.slots = 1;
    });
    for i in 0..20 {
        let task = start(&core).await;
        assert_eq!(task.queue(), if i < 10 { "high" } else { "low" });
        if i == 12 {
            fill(&bench, "high", 1).await;
        }
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
        if i == 12 {
            let task = start(&core).await;
            assert_eq!(task.queue(), "high");
            soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
        }
    }
}

async fn one_slot_waits_on_several_queues(bench: Bench) {
    let core = bench.core(|options| {
        options.queues = queues(&[("a", 1), ("b", 1), ("c", 1)]);
        options.slots = 1;
    });
    for queue in ["b", "a", "c", "c", "b", "a"] {
        fill(&bench, queue, 1).await;
        let task = start(&core).await;
        assert_eq!(task.queue(), queue);
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    }
    // All at once: one runs, and the others are not held by a worker without a slot.
    for queue in ["a", "b", "c"] {
        fill(&bench, queue, 1).await;
    }
    for _ in 0..3 {
        let task = start(&core).await;
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    }
}

async fn queues_are_found_by_patterns(bench: Bench) {
    for queue in ["tenant-a", "tenant-b", "other", "plain"] {
        fill(&bench, queue, 1).await;
    }
    let options = |options: &mut leaseq_jobs::WorkerOptions| {
        options.queues = queues(&[("plain", 1), ("tenant-*", 1), ("p?ain", 1)]);
        options.order = Order::Strict;
        options.slots = 1;
    };
    let core = bench.core(options);
    let mut seen = Vec::new();
    for _ in 0..3 {
        let task = start(&core).await;
        seen.push(task.queue().to_owned());
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    }
    assert_eq!(seen, ["plain", "tenant-a", "tenant-b"]);
    // One that is made later is found, too.
    fill(&bench, "tenant-c", 1).await;
    let task = start(&core).await;
    assert_eq!(task.queue(), "tenant-c");
    soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    core.abort();
    // A burst knows them before it ends.
    fill(&bench, "tenant-a", 2).await;
    let core = bench.core(|given| {
        options(given);
        given.burst = true;
    });
    for _ in 0..2 {
        let task = start(&core).await;
        assert_eq!(task.queue(), "tenant-a");
        soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    }
    assert_eq!(crate::support::drained(&core).await.started, 2);
}
