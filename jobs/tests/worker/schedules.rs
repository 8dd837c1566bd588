//! Schedules that a worker declares.

use std::time::Duration;

use leaseq::{Item, Missed, Schedule, ScheduleRule};
use leaseq_jobs::{Job, NewJob, Worker};

use crate::support::{Bench, Echo, Seen, nothing, on_every_engine, soon, with_clock};

on_every_engine!(
    a_scheduled_job_runs,
    each_deployment_has_the_schedules_that_it_declares,
    schedules_that_are_refused_end_the_worker,
);

fn yearly() -> ScheduleRule {
    ScheduleRule::cron("0 0 1 1 *", "UTC").unwrap()
}

async fn names(bench: &Bench) -> Vec<String> {
    let schedules = bench.client.queue(Echo::QUEUE).unwrap().schedules().await.unwrap();
    schedules.into_iter().map(|schedule| schedule.name).collect()
}

async fn a_scheduled_job_runs(bench: Bench) {
    let seen = Seen::default();
    let handler_seen = seen.clone();
    let worker = bench
        .worker()
        .handle(move |echo: Echo, job| {
            let id = String::from_utf8_lossy(job.id()).into_owned();
            handler_seen.push(format!(
                "{} {}",
                echo.text,
                id.split('@').next().unwrap_or_default()
            ));
            async { Ok(()) }
        })
        .deployment("program", 1)
        .schedule(
            "often",
            ScheduleRule::every(Duration::from_millis(100)).unwrap(),
            Echo::named("a"),
        );
    let twice = async {
        while seen.len() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    soon(worker.run_until(twice)).await.unwrap();
    assert!(seen.take().iter().all(|one| one == "a often"));
}

async fn each_deployment_has_the_schedules_that_it_declares(bench: Bench) {
    let worker = |revision| bench.worker().handle(nothing).deployment("program", revision);
    let job = || NewJob::new(Echo::named("a")).priority(3);
    let first = worker(1).schedule("old", yearly(), job()).schedule_with(
        "both",
        yearly(),
        job(),
        |schedule| schedule.overlap().missed(Missed::Skip),
    );
    first.run_until_idle().await.unwrap();
    assert_eq!(names(&bench).await, ["both", "old"]);
    worker(2).schedule("both", yearly(), job()).run_until_idle().await.unwrap();
    assert_eq!(names(&bench).await, ["both"]);
    // A process of the older one starts again.
    first.run_until_idle().await.unwrap();
    let queue = bench.client.queue(Echo::QUEUE).unwrap();
    let [both] = &queue.schedules().await.unwrap()[..] else { panic!("not one schedule") };
    assert_eq!((both.owner.as_str(), both.revision, both.overlap), ("program", 2, false));
    assert_eq!(both.data, r#"{"v":1,"job":"test.echo","args":{"text":"a"}}"#);
    // Without a declaration nothing changes; with none, those of the program are removed.
    bench.worker().handle(nothing).run_until_idle().await.unwrap();
    assert_eq!(names(&bench).await, ["both"]);
    worker(3).run_until_idle().await.unwrap();
    assert!(names(&bench).await.is_empty());
}

async fn schedules_that_are_refused_end_the_worker(bench: Bench) {
    let worker = |program: &str| {
        bench.worker().handle(nothing).deployment(program, 1).schedule(
            "x",
            yearly(),
            Echo::named("a"),
        )
    };
    worker("mine").run_until_idle().await.unwrap();
    let refused = soon(worker("yours").run_until_idle()).await.unwrap_err();
    assert!(refused.to_string().contains("\"x\""), "{refused}");
    let nobody = bench.worker().handle(nothing).schedule("x", yearly(), Echo::named("a"));
    let refused = soon(nobody.run_until_idle()).await.unwrap_err();
    assert_eq!(refused.to_string(), "schedules without a deployment");
    let invalid = bench.worker().handle(nothing).deployment("mine", 1).schedule(
        "x",
        yearly(),
        NewJob::new(Echo::named("a")).timeout(Duration::ZERO),
    );
    let refused = soon(invalid.run_until_idle()).await.unwrap_err();
    assert!(refused.to_string().contains("timeout"), "{refused}");
}

/// The request that finds the queue empty is the one that notices that a schedule is due.
#[tokio::test]
async fn a_burst_runs_what_a_schedule_that_is_due_adds() {
    let (client, advance) = with_clock().await;
    let hour = Duration::from_secs(3_600);
    let queue = client.queue(Echo::QUEUE).unwrap();
    let job = Item::new(r#"{"v":1,"job":"test.echo","args":{"text":"a"}}"#);
    let rule = ScheduleRule::every(hour).unwrap();
    queue.put_schedule(Schedule::new("hourly", rule, job)).await.unwrap();
    for round in 0..20 {
        advance(hour);
        let exit = soon(Worker::new(&client).handle(nothing).run_until_idle()).await.unwrap();
        assert_eq!(exit.started, 1, "round {round}");
    }
}
