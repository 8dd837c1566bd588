//! Servers and connections that fail under a worker.

use std::time::{Duration, Instant};

use leaseq::{Client, ConnectOptions, Measured};
use leaseq_jobs::{
    Finish, Job, JobError, JobStart, NewJob, Policy, Producer, QueueOptions, Settled, WorkerCore,
    WorkerOptions,
};
use leaseq_test_support::{Proxy, RedisServer, Then, eventually};

use crate::support::{Echo, PATIENCE, Seen, soon};

const JOBS: usize = 300;

/// A worker whose client gives up soon, so that the worker has to repeat by itself.
async fn impatient(url: &str) -> Client {
    let mut options = ConnectOptions::default();
    options.timeout = Duration::from_millis(300);
    options.connect_timeout = Duration::from_millis(300);
    Client::connect_with(url, options).await.unwrap()
}

fn worker(client: &Client) -> WorkerCore {
    let mut options = WorkerOptions::new();
    options.queues = vec![QueueOptions::new(Echo::QUEUE)];
    options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
    options.slots = 10;
    WorkerCore::start(client, options).unwrap()
}

async fn add_jobs(client: &Client) {
    let jobs = (0..JOBS).map(|i| NewJob::new(Echo::named(&i.to_string())).retain(10 * PATIENCE));
    Producer::new(client).enqueue_many(jobs).await.unwrap();
}

/// Completes every job, and writes down what has become of it. Returns when the worker has ended.
async fn complete_all(core: &WorkerCore, seen: &Seen) {
    let mut finishes = tokio::task::JoinSet::new();
    while let JobStart::Start(task) = core.next().await {
        let (finish, seen) = (core.finish(&task, Finish::Done { result: None }), seen.clone());
        finishes.spawn(async move {
            let settled = finish.await.unwrap();
            seen.push(settled.as_str());
            drop(task);
        });
    }
    finishes.join_all().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_worker_is_quiet() {
    let mut cases = tokio::task::JoinSet::new();
    for queues in [1, 3, 100] {
        cases.spawn(idle_with(queues));
    }
    while let Some(case) = cases.join_next().await {
        case.unwrap();
    }
}

async fn idle_with(queues: usize) {
    let server = tokio::task::spawn_blocking(RedisServer::start).await.unwrap();
    let proxy = Proxy::start(server.port()).await;
    let client = Client::connect(&proxy.url()).await.unwrap();
    let mut options = WorkerOptions::new();
    options.queues = (0..queues).map(|i| QueueOptions::new(format!("q{i}"))).collect();
    options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
    // A server that does not know the script would be sent it for each queue.
    let queue = client.queue("q0").unwrap();
    queue.record_history(&Measured::default()).await.unwrap();
    let core = WorkerCore::start(&client, options).unwrap();
    // The first calls do not know how many queues wait, so they ask again sooner.
    let idle = tokio::time::timeout(Duration::from_secs(6), core.next()).await;
    assert!(idle.is_err(), "there is no job");
    let (before, seconds) = (proxy.commands(), 10);
    let idle = tokio::time::timeout(Duration::from_secs(seconds), core.next()).await;
    assert!(idle.is_err(), "there is no job");
    // At most 1.2 a second, with a beat.
    let commands = proxy.commands() - before;
    println!("{queues} queues: {commands} commands in {seconds} s");
    assert!(commands * 10 <= seconds * 12, "{queues} queues: {commands} commands in {seconds} s");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_break_all_the_time_lose_no_job_and_report_none_as_lost() {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    let direct = Client::connect(&server.url()).await.unwrap();
    add_jobs(&direct).await;
    let client = impatient(&proxy.url()).await;
    let (core, seen) = (worker(&client), Seen::default());
    let queue = direct.queue(Echo::QUEUE).unwrap();
    let breaking = async {
        let all_done = async || {
            // Commands are executed, and their replies do not arrive; then they break.
            proxy.mute();
            tokio::time::sleep(Duration::from_millis(2)).await;
            proxy.close_all();
            tokio::time::sleep(Duration::from_millis(10)).await;
            queue.counts().await.unwrap().completed == JOBS as u64
        };
        assert!(eventually(2 * PATIENCE, all_done).await, "{:?}", queue.counts().await);
        core.drain(PATIENCE);
    };
    let both = async { tokio::join!(complete_all(&core, &seen), breaking) };
    tokio::time::timeout(3 * PATIENCE, both).await.unwrap();
    // A job whose lease reached nobody may run twice; it is lost for one of the two.
    let count = seen.count();
    let totals = queue.counts().await.unwrap().totals;
    assert!(count[Settled::Completed.as_str()] >= JOBS, "{count:?}");
    assert_eq!((totals.failed, totals.expired), (0, 0), "{count:?}");
    assert_eq!(count.len(), 1, "{count:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_away_is_used_again_and_what_has_ended_is_not_run_again() {
    let mut server = RedisServer::builder().arg("--appendonly", "yes").start();
    let client = impatient(&server.url()).await;
    let (core, seen) = (worker(&client), Seen::default());
    let outages = async {
        for round in 1..=3 {
            add_jobs(&client).await;
            let some_done = async || seen.len() > (round - 1) * JOBS;
            assert!(eventually(PATIENCE, some_done).await);
            server.kill();
            // Longer than the client tries.
            tokio::time::sleep(Duration::from_millis(700)).await;
            server.restart();
            let all_done = async || seen.len() == round * JOBS;
            assert!(eventually(2 * PATIENCE, all_done).await, "{round}: {}", seen.len());
        }
        core.drain(PATIENCE);
    };
    let both = async { tokio::join!(complete_all(&core, &seen), outages) };
    tokio::time::timeout(5 * PATIENCE, both).await.unwrap();
    assert_eq!(seen.count(), [("completed".to_owned(), 3 * JOBS)].into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_ends_in_time_although_its_server_is_gone() {
    let mut server = RedisServer::start();
    let client = impatient(&server.url()).await;
    add_jobs(&client).await;
    let mut options = WorkerOptions::new();
    options.queues = vec![QueueOptions::new(Echo::QUEUE)];
    options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
    options.owns_process = true;
    let core = WorkerCore::start(&client, options).unwrap();
    let JobStart::Start(task) = soon(core.next()).await else { panic!("a task starts") };
    server.kill();
    let begun = Instant::now();
    let finish = core.finish(&task, Finish::Done { result: None });
    core.drain(Duration::ZERO);
    while let JobStart::Start(task) = soon(core.next()).await {
        drop(task);
    }
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    drop(core);
    drop(finish);
}

/// The queue has executed what was reported; the worker does not say that it has not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_whose_answers_are_lost_is_not_called_lost() {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    let direct = Client::connect(&server.url()).await.unwrap();
    let queue = direct.queue(Echo::QUEUE).unwrap();
    let client = impatient(&proxy.url()).await;
    let core = worker(&client);
    let fails = || Finish::Failed(JobError::new("Broken", "pipe").policy(Policy::Bury));
    let snoozes = || Finish::Snooze(Duration::from_secs(3600));
    for (finish, word) in [(fails as fn() -> Finish, "Broken"), (snoozes, "snooze")] {
        Producer::new(&direct).enqueue(NewJob::new(Echo::named("a"))).await.unwrap();
        let JobStart::Start(task) = soon(core.next()).await else { panic!("a task starts") };
        let has = move |command: &[Vec<u8>]| {
            command.iter().any(|one| one.windows(word.len()).any(|part| part == word.as_bytes()))
        };
        proxy.drop_replies(has, 1_000, Then::Close);
        let settled = core.finish(&task, finish());
        let executed = eventually(PATIENCE, async || {
            let counts = queue.counts().await.unwrap();
            counts.leased == 0
        });
        assert!(executed.await, "{word}");
        // The client gives up, and the worker asks again by itself.
        tokio::time::sleep(Duration::from_millis(700)).await;
        proxy.keep_replies();
        assert_eq!(soon(settled).await.unwrap(), Settled::Uncertain, "{word}");
    }
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.dead, counts.delayed), (1, 1));
}

/// The second job's completion waits for the answer to the request that completes the first one and leases the third, which
/// does not come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_behind_a_request_is_reported_when_the_worker_ends() {
    let server = RedisServer::start();
    let proxy = Proxy::start(server.port()).await;
    let direct = Client::connect(&server.url()).await.unwrap();
    // It asks for the answer until the end of this test.
    let mut options = ConnectOptions::default();
    options.timeout = 3 * PATIENCE;
    let client = Client::connect_with(&proxy.url(), options).await.unwrap();
    for name in ["a", "b", "c"] {
        Producer::new(&direct).enqueue(NewJob::new(Echo::named(name))).await.unwrap();
    }
    let mut options = WorkerOptions::new();
    options.queues = vec![QueueOptions::new(Echo::QUEUE)];
    options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
    options.slots = 2;
    let core = WorkerCore::start(&client, options).unwrap();
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let JobStart::Start(task) = soon(core.next()).await else { panic!("a task starts") };
        tasks.push(task);
    }
    let word = b"first result";
    let is_first = move |command: &[Vec<u8>]| {
        command.iter().any(|one| one.windows(word.len()).any(|part| part == word))
    };
    proxy.drop_replies(is_first, usize::MAX, Then::Close);
    let done = |result: &'static [u8]| Finish::Done { result: Some(result.into()) };
    let first = core.finish(&tasks[0], done(word));
    assert!(proxy.wait_for_dropped(1, PATIENCE).await);
    let second = core.finish(&tasks[1], done(b"second result"));
    core.drain(Duration::ZERO);
    assert_eq!(soon(second).await.unwrap(), Settled::Completed);
    let next = soon(core.next()).await;
    assert!(!matches!(next, JobStart::Start(_)), "{next:?}");
    let counts = direct.queue(Echo::QUEUE).unwrap().counts().await.unwrap();
    assert_eq!(counts.totals.completed, 2);
    drop(first);
}
