//! Handlers that run for too long.

use std::time::{Duration, Instant};

use leaseq::State;
use leaseq_jobs::{Context, ExitReason, Finish, NewJob, Reason, Retry, Settled};

use crate::support::{Bench, Echo, PATIENCE, drained, on_every_engine, soon, start};

on_every_engine!(
    a_timeout_cancels_and_then_kills,
    more_time_moves_the_timeout,
    an_async_handler_that_ignores_its_timeout_is_dropped,
    a_thread_that_ignores_its_timeout_keeps_its_lease,
    a_worker_whose_handlers_hang_ends,
);

const SHORT: Duration = Duration::from_millis(100);

fn short(text: &str) -> NewJob {
    NewJob::new(Echo::named(text)).timeout(SHORT).retry(Retry::none())
}

async fn a_timeout_cancels_and_then_kills(bench: Bench) {
    let core = bench.core(|options| options.kill_after = SHORT);
    let job = bench.producer().enqueue(short("a")).await.unwrap();
    let task = start(&core).await;
    let begun = Instant::now();
    assert_eq!(soon(task.cancelled()).await, Reason::Timeout);
    let cancelled = begun.elapsed();
    soon(task.killed()).await;
    let killed = begun.elapsed();
    assert!(cancelled + Duration::from_millis(5) >= SHORT, "{cancelled:?}");
    assert!(killed + Duration::from_millis(5) >= 2 * SHORT, "{killed:?}");
    let settled = soon(core.finish(&task, Finish::Cancelled)).await.unwrap();
    let error = "Timeout: the handler ran for more than 100ms";
    assert_eq!(settled, Settled::Dead { error: error.into() });
    assert_eq!(bench.get(&job).await.last_error, error);
}

async fn more_time_moves_the_timeout(bench: Bench) {
    let core = bench.core(|_| {});
    bench.producer().enqueue(short("a").timeout(PATIENCE)).await.unwrap();
    let task = start(&core).await;
    // Later, and then earlier.
    task.more_time(2 * PATIENCE).unwrap();
    assert!(task.soft_deadline() > Instant::now() + PATIENCE);
    task.more_time(SHORT).unwrap();
    assert_eq!(soon(task.cancelled()).await, Reason::Timeout);
    assert!(task.more_time(SHORT).is_err(), "its time is over");
    soon(core.finish(&task, Finish::Done { result: None })).await.unwrap();
    assert!(task.more_time(SHORT).is_err(), "it has ended");
}

async fn an_async_handler_that_ignores_its_timeout_is_dropped(bench: Bench) {
    let job = bench.producer().enqueue(short("a")).await.unwrap();
    let worker = bench.worker().kill_after(SHORT).handle(|_: Echo, _| async {
        std::future::pending::<()>().await;
        Ok(())
    });
    soon(worker.run_until_idle()).await.unwrap();
    let item = bench.get(&job).await;
    assert_eq!((item.state, item.failures), (State::Dead, 1));
}

async fn a_thread_that_ignores_its_timeout_keeps_its_lease(bench: Bench) {
    let job = bench.producer().enqueue(short("a")).await.unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let worker =
        bench.worker().kill_after(SHORT).slots(4).handle_blocking(move |_: Echo, job: Context| {
            while !job.is_cancelled() {
                std::thread::sleep(SHORT / 10);
            }
            released.lock().unwrap().recv().unwrap();
            Ok(())
        });
    let running = async {
        soon(worker.run_until_idle()).await.unwrap();
    };
    let observed = async {
        // Past the hard timeout, and several times.
        tokio::time::sleep(6 * SHORT).await;
        assert_eq!(bench.get(&job).await.state, State::Leased);
        release.send(()).unwrap();
    };
    tokio::join!(running, observed);
    assert_eq!(bench.get(&job).await.state, State::Completed);
}

async fn a_worker_whose_handlers_hang_ends(bench: Bench) {
    let core = bench.core(|options| {
        options.kill_after = SHORT;
        options.max_hung = Some(2);
    });
    for text in ["a", "b"] {
        bench.producer().enqueue(short(text)).await.unwrap();
    }
    let tasks = [start(&core).await, start(&core).await];
    let added = bench.producer();
    // The second hung one makes the worker drain, so it starts nothing more.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    added.enqueue(short("c")).await.unwrap();
    for task in &tasks {
        soon(core.finish(task, Finish::Cancelled)).await.unwrap();
    }
    let exit = drained(&core).await;
    assert_eq!((exit.reason, exit.status(), exit.started), (ExitReason::Hung, 1, 2));
}
