//! What happens to jobs that fail.

use std::time::{Duration, SystemTime};

use leaseq::{LeaseOptions, Outcome, SettingsChange, State};
use leaseq_jobs::{Context, JobError, NewJob, Retry};

use crate::support::{Bench, Echo, PATIENCE, on_every_engine};

on_every_engine!(
    a_failed_job_is_tried_until_its_attempts_are_used_up,
    the_rules_of_a_job_and_the_limit_of_an_item_take_precedence,
    the_lower_limit_of_queue_and_rules_counts_for_jobs_without_their_own,
    a_handler_may_decide_what_comes_next,
    a_job_that_kills_its_worker_is_buried_at_its_start,
);

async fn a_failed_job_is_tried_until_its_attempts_are_used_up(bench: Bench) {
    let job = bench.add("a").await;
    let worker = bench.worker().handle(|_: Echo, job: Context| async move {
        let text = format!("{} of {}, {}", job.attempt(), job.max_attempts(), job.last_error());
        Err::<(), _>(JobError::new("E", text))
    });
    worker.run_until_idle().await.unwrap();
    let item = bench.get(&job).await;
    assert_eq!((item.state, item.failures), (State::Dead, 3));
    assert_eq!(item.last_error, "E: 3 of 3, E: 2 of 3, E: 1 of 3, ");
}

async fn the_rules_of_a_job_and_the_limit_of_an_item_take_precedence(bench: Bench) {
    let producer = bench.producer();
    let own = Retry::new(2).base(Duration::ZERO);
    let own = producer.enqueue(NewJob::new(Echo::named("own")).retry(own)).await.unwrap();
    let limited = NewJob::new(Echo::named("limited")).max_attempts(5);
    let limited = producer.enqueue(limited).await.unwrap();
    let never = NewJob::new(Echo::named("never")).retry(Retry::new(5).on(["Other"]));
    let never = producer.enqueue(never).await.unwrap();
    let worker =
        bench.worker().handle(|_: Echo, _| async { Err::<(), _>(JobError::new("E", "x")) });
    worker.run_until_idle().await.unwrap();
    for (job, failures) in [(own, 2), (limited, 5), (never, 1)] {
        let item = bench.get(&job).await;
        assert_eq!((item.state, item.failures), (State::Dead, failures));
    }
}

async fn the_lower_limit_of_queue_and_rules_counts_for_jobs_without_their_own(bench: Bench) {
    let queue = bench.client.queue("echo").unwrap();
    // The rules of the job allow three.
    for (limit, failures) in [(2, 2), (5, 3)] {
        queue.configure(SettingsChange::new().max_attempts(limit)).await.unwrap();
        let job = bench.add("rules").await;
        let limited = NewJob::new(Echo::named("own")).max_attempts(4);
        let limited = bench.producer().enqueue(limited).await.unwrap();
        let worker =
            bench.worker().handle(|_: Echo, _| async { Err::<(), _>(JobError::new("E", "x")) });
        worker.run_until_idle().await.unwrap();
        for (job, failures) in [(job, failures), (limited, 4)] {
            let item = bench.get(&job).await;
            assert_eq!((item.state, item.failures), (State::Dead, failures));
            assert_eq!(item.last_error, "E: x");
        }
    }
}

async fn a_handler_may_decide_what_comes_next(bench: Bench) {
    let jobs = ["later", "discard", "bury", "snooze"].map(|name| bench.add(name));
    let jobs = futures_util::future::join_all(jobs).await;
    let hour = Duration::from_secs(3600);
    let worker = bench.worker().handle(move |echo: Echo, _| async move {
        Err::<(), _>(match echo.text.as_str() {
            "later" => JobError::retry_after(hour, "busy"),
            "discard" => JobError::discard("over"),
            "bury" => JobError::bury("wrong"),
            _ => JobError::snooze(hour),
        })
    });
    worker.run_until_idle().await.unwrap();
    for (job, failures) in [(&jobs[0], 1), (&jobs[3], 0)] {
        let item = bench.get(job).await;
        assert_eq!((item.state, item.failures), (State::Delayed, failures));
        let waits = item.at.unwrap().duration_since(SystemTime::now()).unwrap();
        assert!(waits > hour - PATIENCE && waits <= hour, "{waits:?}");
    }
    assert_eq!(bench.get(&jobs[0]).await.last_error, "RetryAfter: busy");
    assert_eq!(bench.get(&jobs[3]).await.releases.unwrap().reason, "snooze");
    let outcome = jobs[1].outcome(PATIENCE).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Completed { result: None, retained: true }));
    let item = bench.get(&jobs[2]).await;
    assert_eq!((item.state, item.failures), (State::Dead, 1));
}

async fn a_job_that_kills_its_worker_is_buried_at_its_start(bench: Bench) {
    let job = bench.add("deadly").await;
    // Three workers have leased it and died.
    for _ in 0..3 {
        let options = LeaseOptions::new(Duration::from_millis(1)).wait(PATIENCE);
        let lease = job.queue().lease(options).await.unwrap().expect("the item is there");
        lease.lost().await;
    }
    let worker =
        bench.worker().handle(|_: Echo, _| async { panic!("it runs again") as Result<(), _> });
    // The last lease may not have been reclaimed when the worker looks.
    let ended = async { _ = job.outcome(PATIENCE).await };
    worker.run_until(ended).await.unwrap();
    let item = bench.get(&job).await;
    assert_eq!((item.state, item.expiries), (State::Dead, 3));
    assert!(item.last_error.starts_with("attempts_exhausted: 3 attempts"), "{}", item.last_error);
}
