//! Handlers, what surrounds them, and how they end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leaseq_jobs::{Context, Event, JobError, Middleware, Next, Output, Worker, async_trait};

use crate::support::{Bench, Echo, PATIENCE, Seen, nothing, on_every_engine};

on_every_engine!(
    a_panic_fails_the_job_and_not_the_worker,
    blocking_handlers_run_beside_each_other,
    handlers_that_compute_use_all_threads_of_the_runtime,
    middleware_surrounds_the_handler,
    events_are_reported,
    progress_is_stored,
    a_burst_says_whether_there_was_anything,
    a_worker_ends_after_max_jobs,
);

async fn a_panic_fails_the_job_and_not_the_worker(bench: Bench) {
    let (one, two) = (bench.add("panics").await, bench.add("works").await);
    let worker = bench.worker().handle(|echo: Echo, _| async move {
        assert_ne!(echo.text, "panics", "on purpose");
        Ok(())
    });
    worker.run_until_idle().await.unwrap();
    let error = one.outcome(PATIENCE).await.unwrap().unwrap();
    assert!(error.error().unwrap().starts_with("Panic: assertion"), "{error:?}");
    two.result::<()>(PATIENCE).await.unwrap();
    let early = bench.add("early").await;
    let worker = bench.worker().handle(|_: Echo, _| {
        assert!(std::env::args().count() == 0, "before the first await");
        async { Ok(()) }
    });
    worker.run_until_idle().await.unwrap();
    let outcome = early.outcome(PATIENCE).await.unwrap().unwrap();
    assert_eq!(outcome.error(), Some("Panic: before the first await"));
    let blocking = bench.add("blocking").await;
    let worker = bench.worker().handle_blocking(|_: Echo, _| -> Result<(), _> { panic!("again") });
    worker.run_until_idle().await.unwrap();
    let outcome = blocking.outcome(PATIENCE).await.unwrap().unwrap();
    assert_eq!(outcome.error(), Some("Panic: again"));
}

async fn blocking_handlers_run_beside_each_other(bench: Bench) {
    let jobs = [bench.add("a").await, bench.add("b").await];
    // Each waits for the other.
    let worker = bench.worker().state(std::sync::Barrier::new(2)).slots(2).handle_blocking(
        |echo: Echo, job: Context| {
            job.state::<std::sync::Barrier>()?.wait();
            job.progress_blocking("met")?;
            Ok(echo.text)
        },
    );
    worker.run_until_idle().await.unwrap();
    assert_eq!(jobs[0].result::<String>(PATIENCE).await.unwrap(), "a");
    assert_eq!(jobs[1].result::<String>(PATIENCE).await.unwrap(), "b");
}

async fn handlers_that_compute_use_all_threads_of_the_runtime(bench: Bench) {
    let jobs = [bench.add("a").await, bench.add("b").await];
    // Each waits for the other, and lets nothing else run on its thread.
    let worker =
        bench.worker().state(AtomicUsize::new(0)).handle(|_: Echo, job: Context| async move {
            let begun = job.state::<AtomicUsize>()?;
            begun.fetch_add(1, Ordering::SeqCst);
            let since = Instant::now();
            while begun.load(Ordering::SeqCst) < 2 && since.elapsed() < PATIENCE {
                std::thread::yield_now();
            }
            Ok(begun.load(Ordering::SeqCst))
        });
    worker.run_until_idle().await.unwrap();
    for job in jobs {
        assert_eq!(job.result::<usize>(PATIENCE).await.unwrap(), 2);
    }
}

/// Writes down when it runs.
struct Note(&'static str, Seen);

#[async_trait]
impl Middleware for Note {
    async fn handle(&self, job: &Context, next: Next<'_>) -> Result<Output, JobError> {
        self.1.push(format!("{} before {}", self.0, job.name()));
        let ended = next.run(job).await;
        let text = match &ended {
            Ok(output) => format!("{:?}", output.json()),
            Err(error) => error.to_string(),
        };
        self.1.push(format!("{} after {text}", self.0));
        ended
    }
}

async fn middleware_surrounds_the_handler(bench: Bench) {
    bench.add("a").await;
    let seen = Seen::default();
    let inner = seen.clone();
    let worker = bench
        .worker()
        .middleware(Note("outer", seen.clone()))
        .middleware(Note("inner", seen.clone()))
        .handle(move |echo: Echo, _| {
            inner.push(echo.text);
            async { Err::<(), _>(JobError::bury("x")) }
        });
    worker.run_until_idle().await.unwrap();
    let expected = [
        "a",
        "outer before test.echo",
        "inner before test.echo",
        "inner after Bury: x",
        "outer after Bury: x",
    ];
    assert_eq!(seen.take(), expected);
}

async fn events_are_reported(bench: Bench) {
    bench.add("a").await;
    let hook = Seen::default();
    let hooked = hook.clone();
    let worker = bench
        .worker()
        // It disturbs nobody.
        .on_event(|_| panic!("a faulty hook"))
        .on_event(move |event| match event {
            Event::Started(job) => hooked.push(format!("started {}", job.attempt())),
            Event::Ended(job, settled, _) => {
                hooked.push(format!("{} {}", settled.as_str(), job.attempt()));
            }
            _ => {}
        })
        .handle(|_: Echo, job: Context| async move {
            match job.attempt() {
                1 => Err(JobError::retry_after(Duration::ZERO, "once more")),
                _ => Ok(()),
            }
        });
    worker.run_until_idle().await.unwrap();
    let heard = hook.take();
    assert_eq!((heard.len(), heard[0].as_str()), (4, "started 1"), "{heard:?}");
    // The second attempt may start before the hooks hear of the end of the first.
    let of = |attempt: &str| -> Vec<&String> {
        heard.iter().filter(|word| word.ends_with(attempt)).collect()
    };
    assert_eq!(of("1"), ["started 1", "retried 1"]);
    assert_eq!(of("2"), ["started 2", "completed 2"]);
}

async fn progress_is_stored(bench: Bench) {
    let job = bench.add("a").await;
    let worker = bench.worker().handle(|_: Echo, job: Context| async move {
        job.progress("half").await?;
        Err::<(), _>(JobError::bury(""))
    });
    worker.run_until_idle().await.unwrap();
    assert_eq!(bench.get(&job).await.progress.as_deref(), Some(&b"half"[..]));
}

async fn a_burst_says_whether_there_was_anything(bench: Bench) {
    let worker = bench.worker().burst().handle(nothing);
    assert_eq!(worker.run_until_idle().await.unwrap().status(), 3);
    bench.add("a").await;
    // A handler adds another job before it ends.
    let client = bench.client.clone();
    let worker = bench.worker().burst().handle(move |echo: Echo, _| {
        let producer = leaseq_jobs::Producer::new(&client);
        async move {
            if echo.text == "a" {
                producer.enqueue(Echo::named("b")).await?;
            }
            Ok(())
        }
    });
    let exit = worker.run().await.unwrap();
    assert_eq!((exit.status(), exit.started, exit.running), (0, 2, 0));
}

async fn a_worker_ends_after_max_jobs(bench: Bench) {
    for _ in 0..10 {
        bench.add("a").await;
    }
    let worker = bench.worker().max_jobs(7).handle(nothing);
    let exit = worker.run_until(std::future::pending()).await.unwrap();
    assert_eq!((exit.status(), exit.started), (0, 7));
    assert_eq!(exit.reason, leaseq_jobs::ExitReason::MaxJobs);
    let counts = bench.counts().await;
    assert_eq!((counts.ready, counts.leased, counts.completed), (3, 0, 7));
}

#[tokio::test]
async fn mistakes_of_the_configuration_are_reported() {
    let bench = Bench::in_memory().await;
    let error = bench.worker().run_until_idle().await.unwrap_err();
    assert_eq!(error.to_string(), "number of queues 0 is not between 1 and 100");
    let twice = bench.worker().handle(nothing).handle(nothing);
    let error = twice.run_until_idle().await.unwrap_err();
    assert_eq!(error.to_string(), "job test.echo has two handlers");
}

#[tokio::test]
async fn a_job_runs_inline_through_json() {
    let bench = Bench::in_memory().await;
    let worker =
        Worker::new(&bench.client).state(7_u32).handle(|echo: Echo, job: Context| async move {
            if echo.text == "bad" {
                return Err(JobError::new("Bad", "no"));
            }
            Ok((echo.text, *job.state::<u32>()?, job.meta().clone()))
        });
    let job = leaseq_jobs::NewJob::new(Echo::named("a")).meta("k", "v");
    let (text, state, meta): (String, u32, std::collections::BTreeMap<String, String>) =
        worker.run_inline(job).await.unwrap();
    assert_eq!((text.as_str(), state, meta["k"].as_str()), ("a", 7, "v"));
    let error = worker.run_inline::<()>(Echo::named("bad")).await.unwrap_err();
    assert_eq!(error.to_string(), "the job has failed: Bad: no");
    assert_eq!(bench.client.queues().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_missing_state_is_a_mistake_that_no_retry_mends() {
    let bench = Bench::in_memory().await;
    let worker = bench.worker().handle(|_: Echo, job: Context| async move {
        job.state::<u64>()?;
        Ok(())
    });
    let error = worker.run_inline::<()>(Echo::named("a")).await.unwrap_err();
    assert!(error.to_string().ends_with("the worker has no state of type u64"), "{error}");
}
