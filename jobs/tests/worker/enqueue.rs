//! Adding jobs, and what comes of them.

use std::time::Duration;

use leaseq::{ErrorKind, Outcome, Result};
use leaseq_jobs::{
    EnqueueMiddleware, EnqueueNext, Job, JobRef, NewJob, QueueOptions, ResultError, Task,
    async_trait,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Bench, Echo, PATIENCE, Seen, on_every_engine, start};

on_every_engine!(
    a_result_is_awaited,
    options_of_an_item_hold,
    a_type_has_defaults_that_depend_on_the_arguments,
    a_job_is_a_member_of_a_group,
    many_jobs_of_several_queues_are_added,
    what_is_invalid_adds_nothing,
    middleware_surrounds_the_enqueue,
);

async fn a_result_is_awaited(bench: Bench) {
    let worker = bench.worker().handle(|echo: Echo, _| async move {
        match echo.text.as_str() {
            "fails" => Err(leaseq_jobs::JobError::bury("no")),
            text => Ok(text.to_uppercase()),
        }
    });
    let (good, bad) = (bench.add("good").await, bench.add("fails").await);
    let early = good.result::<String>(Duration::ZERO).await;
    assert!(matches!(early, Err(ResultError::NotEnded)));
    worker.run_until_idle().await.unwrap();
    assert_eq!(good.result::<String>(PATIENCE).await.unwrap(), "GOOD");
    assert!(matches!(good.result::<u32>(PATIENCE).await, Err(ResultError::Unreadable(_))));
    let failed = bad.result::<String>(PATIENCE).await.unwrap_err();
    assert_eq!(failed.to_string(), "the job has failed: Bury: no");
    let cancelled = bench.add("late").await;
    assert!(cancelled.cancel().await.unwrap());
    assert!(matches!(cancelled.result::<()>(PATIENCE).await, Err(ResultError::Cancelled)));
}

async fn options_of_an_item_hold(bench: Bench) {
    let producer = bench.producer();
    let new = || NewJob::new(Echo::named("a")).unique("key");
    let first = producer.enqueue(new().priority(7).max_attempts(2).id("x")).await.unwrap();
    let second = producer.enqueue(new()).await.unwrap();
    assert!(first.added() && !second.added());
    let item = bench.get(&first).await;
    assert_eq!((item.priority, item.max_attempts, first.id()), (7, Some(2), &b"x"[..]));
    assert_eq!(item.retain, Echo::options().retain);
    assert_eq!(item.data, r#"{"v":1,"job":"test.echo","args":{"text":"a"}}"#);
    let later = NewJob::new(Echo::named("b")).delay(PATIENCE).meta("trace", "1").timeout(PATIENCE);
    let later = bench.get(&producer.enqueue(later).await.unwrap()).await;
    assert_eq!(later.state, leaseq::State::Delayed);
    assert!(later.data.ends_with(br#""meta":{"trace":"1"},"timeout":20000}"#));
}

/// A job whose options depend on its arguments.
#[derive(Serialize, Deserialize)]
struct Invoice {
    customer: String,
    order: u64,
}

impl Job for Invoice {
    const NAME: &'static str = "test.invoice";

    fn defaults(&self, job: NewJob) -> NewJob {
        job.unique(format!("order-{}", self.order)).key(&self.customer).priority(3)
    }
}

async fn a_type_has_defaults_that_depend_on_the_arguments(bench: Bench) {
    let producer = bench.producer();
    let invoice = |customer: &str, order| Invoice { customer: customer.into(), order };
    let first = producer.enqueue(invoice("ada", 1)).await.unwrap();
    assert!(!producer.enqueue(invoice("bob", 1)).await.unwrap().added(), "the order is unique");
    let second = NewJob::new(invoice("ada", 2)).priority(5).expires_in(PATIENCE);
    let second = producer.enqueue(second).await.unwrap();
    let items = [bench.get(&first).await, bench.get(&second).await];
    assert_eq!(items.each_ref().map(|item| item.priority), [3, 5]);
    assert_eq!(items.each_ref().map(|item| item.key.as_deref()), [Some(&b"ada"[..]); 2]);
    let replaced = NewJob::new(invoice("cyd", 1)).replace();
    assert!(producer.enqueue(replaced).await.unwrap().added());
    let core = bench.core(|options| {
        options.queues = vec![QueueOptions::new(Invoice::QUEUE)];
        options.jobs.insert(Invoice::NAME.to_owned(), Invoice::options());
    });
    producer.enqueue(invoice("ada", 3)).await.unwrap();
    let one = start(&core).await;
    let other = start(&core).await;
    let key = |task: &Task| serde_json::from_slice::<Invoice>(task.args()).unwrap().customer;
    let mut keys = [key(&one), key(&other)];
    keys.sort();
    assert_eq!(keys, ["ada", "cyd"], "jobs of a key do not overlap");
}

async fn a_job_is_a_member_of_a_group(bench: Bench) {
    let queue = bench.client.queue("groups").unwrap();
    let group = queue.create_group(leaseq::NewGroup::new("g")).await.unwrap();
    let job = || NewJob::named("other", "groups", &json!({}));
    assert!(bench.producer().enqueue(job().in_group(&group, 1)).await.unwrap().added());
    let follows = job().on_end(job().in_group(&group, 0));
    let refused = bench.producer().enqueue(follows).await.unwrap_err();
    assert_eq!(refused.kind(), leaseq::ErrorKind::Invalid, "{refused}");
    assert!(queue.seal_group(&group, 2).await.unwrap());
    queue.purge(leaseq::State::Ready).await.unwrap();
    let states = queue.group_places(&group, 0).await.unwrap();
    assert_eq!(states, [leaseq::PlaceState::Open, leaseq::PlaceState::Ended]);
}

async fn many_jobs_of_several_queues_are_added(bench: Bench) {
    let jobs = (0..2_500).map(|i| {
        NewJob::named("other", if i % 3 == 0 { "a" } else { "b" }, &json!({ "i": i }))
            .id(i.to_string())
    });
    let added = bench.producer().enqueue_many(jobs).await.unwrap();
    assert_eq!(added.len(), 2_500);
    for (i, job) in added.iter().enumerate() {
        assert!(job.added());
        assert_eq!(job.id(), i.to_string().as_bytes());
        assert_eq!(job.queue().name(), if i % 3 == 0 { "a" } else { "b" });
    }
    assert_eq!(bench.client.queue("a").unwrap().queue_len().await.unwrap(), 834);
}

#[derive(Serialize, Deserialize)]
struct Number {
    number: f64,
}
impl Job for Number {
    const NAME: &'static str = "number";
}

async fn what_is_invalid_adds_nothing(bench: Bench) {
    let producer = bench.producer();
    let refused = |result: Result<Vec<JobRef>>, why: &str| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(why), "{error}");
    };
    let good = || NewJob::new(Number { number: 1.0 });
    let bad = |job: NewJob| producer.enqueue_many([good(), job]);
    refused(bad(Number { number: f64::NAN }.into()).await, "job number: NaN");
    refused(bad(NewJob::named("", "default", &json!({}))).await, "0 bytes");
    refused(bad(good().queue("no queue")).await, "no queue");
    refused(bad(good().priority(10)).await, "priority 10");
    refused(bad(good().timeout(Duration::ZERO)).await, "timeout");
    refused(bad(good().retry(leaseq_jobs::Retry::new(0))).await, "0 attempts");
    assert_eq!(bench.client.queues().await.unwrap(), [""; 0]);
}

/// Writes down when it runs, and attaches that.
struct Note(&'static str, Seen);

#[async_trait]
impl EnqueueMiddleware for Note {
    async fn enqueue(&self, jobs: Vec<NewJob>, next: EnqueueNext<'_>) -> Result<Vec<JobRef>> {
        self.1.push(format!("{} before {}", self.0, jobs[0].name()));
        let jobs = jobs.into_iter().map(|job| job.meta(self.0, "was here")).collect();
        let added = next.run(jobs).await?;
        self.1.push(format!("{} after {}", self.0, added.len()));
        Ok(added)
    }
}

async fn middleware_surrounds_the_enqueue(bench: Bench) {
    let seen = Seen::default();
    let producer = bench.producer();
    let producer = producer.middleware(Note("outer", seen.clone()));
    let producer = producer.middleware(Note("inner", seen.clone()));
    let job = producer.enqueue(Echo::named("a")).await.unwrap();
    let expected =
        ["outer before test.echo", "inner before test.echo", "inner after 1", "outer after 1"];
    assert_eq!(seen.take(), expected);
    let data = bench.get(&job).await.data;
    assert!(data.ends_with(br#""meta":{"inner":"was here","outer":"was here"}}"#));
    job.cancel().await.unwrap();
    let outcome = job.outcome(PATIENCE).await.unwrap();
    assert_eq!(outcome, Some(Outcome::Cancelled));
}
