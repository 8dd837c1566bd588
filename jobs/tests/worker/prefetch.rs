//! Jobs that are leased in advance.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use leaseq::State;
use leaseq_jobs::{Context, Event, Finish, JobError, NewJob, Reason, Throttle, WorkerCore};
use leaseq_test_support::eventually;

use crate::support::{Bench, Echo, PATIENCE, Seen, drained, on_every_engine, soon, start};

on_every_engine!(
    jobs_wait_until_a_slot_is_free,
    a_waiting_job_that_is_cancelled_never_starts,
    the_timeout_begins_with_the_start,
    waiting_jobs_are_given_back_at_the_end,
    a_worker_leases_no_more_jobs_than_it_may_start,
    prefetched_jobs_start_staggered_and_after_cooldowns,
    jobs_that_nobody_can_run_do_not_pile_up,
    what_waits_takes_no_slot,
    an_aborted_worker_forgets_what_waits,
    no_more_handlers_than_slots_and_every_job_once,
);

async fn done(core: &WorkerCore, task: &leaseq_jobs::Task) {
    soon(core.finish(task, Finish::Done { result: None })).await.unwrap();
}

async fn is_leased(bench: &Bench, count: u64) {
    let seen = eventually(PATIENCE, async || bench.counts().await.leased == count).await;
    assert!(seen, "{count} are leased: {:?}", bench.counts().await);
}

async fn starts_nothing(core: &WorkerCore) {
    let next = tokio::time::timeout(Duration::from_millis(200), core.next()).await;
    assert!(next.is_err(), "{next:?}");
}

async fn jobs_wait_until_a_slot_is_free(bench: Bench) {
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        bench.add(name).await;
    }
    let core = bench.core(|options| (options.slots, options.prefetch) = (2, 3));
    let tasks = [start(&core).await, start(&core).await];
    is_leased(&bench, 5).await;
    starts_nothing(&core).await;
    let load = core.load();
    assert_eq!((load.slots, load.in_use, load.waiting, load.started), (2, 2, 3, 2));
    // The next one does not wait for the confirmation of the queue.
    let confirmed = core.finish(&tasks[0], Finish::Done { result: None });
    let third = start(&core).await;
    let [third_args, second_args] = [&third, &tasks[1]].map(|task| task.args().clone());
    assert_eq!(
        (&third_args[..], &second_args[..]),
        (&br#"{"text":"c"}"#[..], &br#"{"text":"b"}"#[..])
    );
    soon(confirmed).await.unwrap();
    is_leased(&bench, 5).await;
    done(&core, &tasks[1]).await;
    done(&core, &third).await;
    for _ in 0..4 {
        done(&core, &start(&core).await).await;
    }
    assert_eq!(core.load().started, 7);
}

async fn a_waiting_job_that_is_cancelled_never_starts(bench: Bench) {
    let first = bench.add("a").await;
    let core = bench.core(|options| {
        (options.slots, options.prefetch) = (1, 2);
        options.lease = Duration::from_secs(1);
    });
    let task = start(&core).await;
    let (second, third) = (bench.add("b").await, bench.add("c").await);
    is_leased(&bench, 3).await;
    second.queue().cancel(second.id()).await.unwrap();
    // At once, although the slot has a job.
    let ended = eventually(PATIENCE, async || bench.get(&second).await.state == State::Cancelled);
    assert!(ended.await, "{:?}", bench.get(&second).await);
    assert!(task.cancel_reason().is_none());
    done(&core, &task).await;
    let next = start(&core).await;
    assert_eq!((task.id(), next.id()), (first.id(), third.id()));
    assert_eq!(core.load().started, 2);
}

async fn the_timeout_begins_with_the_start(bench: Bench) {
    let short = |name| NewJob::new(Echo::named(name)).timeout(Duration::from_millis(300));
    bench.add("a").await;
    let core = bench.core(|options| (options.slots, options.prefetch) = (1, 1));
    let task = start(&core).await;
    bench.producer().enqueue(short("b")).await.unwrap();
    is_leased(&bench, 2).await;
    // Longer than the timeout, and than the time after which jobs are watched.
    tokio::time::sleep(Duration::from_millis(1200)).await;
    done(&core, &task).await;
    let started = Instant::now();
    let second = start(&core).await;
    assert_eq!(second.cancel_reason(), None);
    assert_eq!(soon(second.cancelled()).await, Reason::Timeout);
    assert!(started.elapsed() >= Duration::from_millis(250), "{:?}", started.elapsed());
}

async fn waiting_jobs_are_given_back_at_the_end(bench: Bench) {
    for name in ["a", "b", "c", "d"] {
        bench.add(name).await;
    }
    let core = bench.core(|options| (options.slots, options.prefetch) = (1, 2));
    let task = start(&core).await;
    is_leased(&bench, 3).await;
    core.drain(PATIENCE);
    is_leased(&bench, 1).await;
    let queue = bench.client.queue("echo").unwrap();
    let listed = queue.list(State::Ready, None, 10).await.unwrap();
    let order: Vec<_> = listed.items.iter().map(|item| item.data.clone()).collect();
    for (data, name) in order.iter().zip(["b", "c", "d"]) {
        let text = String::from_utf8_lossy(data);
        assert!(text.contains(&format!("\"text\":\"{name}\"")), "{text} is not {name}");
    }
    assert!(listed.items.iter().all(|item| item.failures + item.expiries == 0), "{listed:?}");
    done(&core, &task).await;
    assert_eq!(drained(&core).await.started, 1);
}

async fn a_worker_leases_no_more_jobs_than_it_may_start(bench: Bench) {
    for _ in 0..9 {
        bench.add("a").await;
    }
    let core = bench.core(|options| {
        (options.slots, options.prefetch, options.max_jobs) = (1, 5, Some(4));
    });
    let mut task = start(&core).await;
    is_leased(&bench, 4).await;
    for left in (0..4).rev() {
        done(&core, &task).await;
        if left > 0 {
            task = start(&core).await;
        }
    }
    assert_eq!(drained(&core).await.started, 4);
    assert_eq!(bench.counts().await.ready, 5);
}

async fn prefetched_jobs_start_staggered_and_after_cooldowns(bench: Bench) {
    const SHORT: Duration = Duration::from_millis(200);
    for _ in 0..6 {
        bench.add("a").await;
    }
    let core = bench.core(|options| {
        (options.slots, options.prefetch, options.stagger) = (3, 3, SHORT);
    });
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        tasks.push(start(&core).await);
        is_leased(&bench, tasks.len() as u64 + 3).await;
    }
    assert!(begun.elapsed() + Duration::from_millis(20) >= 2 * SHORT, "{:?}", begun.elapsed());
    core.drain(Duration::ZERO);
    for task in &tasks {
        done(&core, task).await;
    }
    drained(&core).await;
    let core = bench.core(|options| {
        (options.slots, options.prefetch, options.cooldown) = (1, 2, SHORT);
    });
    let task = start(&core).await;
    is_leased(&bench, 3).await;
    let ended = Instant::now();
    done(&core, &task).await;
    start(&core).await;
    assert!(ended.elapsed() + Duration::from_millis(20) >= SHORT, "{:?}", ended.elapsed());
}

async fn jobs_that_nobody_can_run_do_not_pile_up(bench: Bench) {
    let unknown = |_| NewJob::named("nobody.knows", "echo", &serde_json::json!({}));
    bench.producer().enqueue_many((0..300).map(unknown)).await.unwrap();
    bench.add("a").await;
    let core = bench.core(|options| (options.slots, options.prefetch) = (2, 2));
    let task = start(&core).await;
    assert_eq!(&task.args()[..], br#"{"text":"a"}"#);
    assert_eq!(bench.counts().await.dead, 0);
}

async fn what_waits_takes_no_slot(bench: Bench) {
    for name in ["a", "b", "c"] {
        bench.add(name).await;
    }
    let core = bench.core(|options| (options.slots, options.prefetch) = (1, 2));
    let first = start(&core).await;
    is_leased(&bench, 3).await;
    assert_eq!((core.load().in_use, core.load().waiting), (1, 2));
    let failed = core.finish(&first, Finish::Failed(JobError::new("Unlucky", "try again")));
    assert_eq!(soon(failed).await.unwrap().as_str(), "retried");
    let second = start(&core).await;
    assert_eq!(core.load().in_use, 1);
    core.drain(PATIENCE);
    assert_eq!((core.load().in_use, core.load().waiting), (1, 0));
    done(&core, &second).await;
    assert_eq!(drained(&core).await.running, 0);
}

/// What watches jobs that wait ends with the worker, which keeps nothing of them.
async fn an_aborted_worker_forgets_what_waits(bench: Bench) {
    for name in ["a", "b", "c"] {
        bench.add(name).await;
    }
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let core = bench.core(|options| (options.slots, options.prefetch) = (1, 2));
    let task = start(&core).await;
    is_leased(&bench, 3).await;
    let before = tasks();
    let watched = eventually(PATIENCE, async || tasks() >= before + 3).await;
    assert!(watched, "{} tasks, {before} before", tasks());
    core.abort();
    assert_eq!(core.exit().running, 1);
    drop(task);
    let forgotten = eventually(PATIENCE, async || tasks() < before).await;
    assert!(forgotten, "{} tasks, {before} before they were watched", tasks());
    // Those that waited are given back, the one that ran keeps its lease.
    is_leased(&bench, 1).await;
}

/// Jobs that succeed, fail, snooze and wait in turn, in no order.
async fn no_more_handlers_than_slots_and_every_job_once(bench: Bench) {
    const JOBS: usize = 300;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let random =
        Arc::new(Mutex::new(<rand::rngs::StdRng as rand::SeedableRng>::seed_from_u64(seed)));
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let ends = Arc::new(Mutex::new(HashSet::new()));
    let new = |n: usize| NewJob::new(Echo::named(&n.to_string())).max_attempts(100);
    bench.producer().enqueue_many((0..JOBS).map(new)).await.unwrap();
    let counts = (running.clone(), most.clone(), ends.clone());
    let handler = move |job: Echo, _: Context| {
        let ((running, most, ends), random) = (counts.clone(), random.clone());
        async move {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            let roll: u32 = rand::Rng::random_range(&mut *random.lock().unwrap(), 0..10);
            if roll > 6 {
                tokio::time::sleep(Duration::from_millis(roll.into())).await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            match roll {
                0 => Err(JobError::new("Unlucky", "try again")),
                1 => Err(JobError::snooze(Duration::ZERO)),
                _ => {
                    assert!(ends.lock().unwrap().insert(job.text.clone()), "{} again", job.text);
                    Ok(())
                }
            }
        }
    };
    let worker = bench.worker().slots(3).prefetch(7).handle(handler);
    let exit = soon(worker.run_until_idle()).await.unwrap();
    assert_eq!(ends.lock().unwrap().len(), JOBS, "{exit:?}");
    assert!(most.load(Ordering::SeqCst) <= 3, "{most:?} handlers ran at the same time");
    assert_eq!((bench.counts().await.ready, bench.counts().await.dead), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_jobs_are_given_back_while_memory_is_short() {
    let bench = Bench::in_memory().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("percent");
    std::fs::write(&file, "10").unwrap();
    let (seen, hooked) = (Seen::default(), Seen::default());
    let (handler_seen, hook) = (seen.clone(), hooked.clone());
    let (go, going) = tokio::sync::watch::channel(false);
    let worker = bench
        .worker()
        .slots(1)
        .prefetch(2)
        .throttle(Throttle::new().gpu(90, 80).gpu_command(["cat", file.to_str().unwrap()]))
        .on_event(move |event| {
            if let Event::Throttled(throttled) = event {
                hook.push(throttled.to_string());
            }
        })
        .handle(move |job: Echo, _| {
            handler_seen.push(job.text);
            let mut going = going.clone();
            async move {
                _ = going.wait_for(|go| *go).await;
                Ok(())
            }
        });
    for name in ["a", "b", "c"] {
        bench.add(name).await;
    }
    let test = async {
        is_leased(&bench, 3).await;
        std::fs::write(&file, "95").unwrap();
        is_leased(&bench, 1).await;
        assert!(eventually(PATIENCE, async || hooked.len() == 1).await, "it is throttled");
        assert_eq!((seen.len(), hooked.take()), (1, vec!["true".to_owned()]));
        std::fs::write(&file, "10").unwrap();
        is_leased(&bench, 3).await;
        go.send(true).unwrap();
        assert!(eventually(PATIENCE, async || seen.len() == 3).await, "it goes on");
    };
    soon(worker.run_until(test)).await.unwrap();
    assert_eq!(seen.take(), ["a", "b", "c"]);
}
