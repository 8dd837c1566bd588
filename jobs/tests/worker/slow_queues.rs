//! Queues that answer late or not at all do not hold up the others.

use std::time::Duration;

use leaseq::{Client, ConnectOptions, HistoryKind, Item, Schedule, ScheduleRule};
use leaseq_jobs::{
    Deployment, Finish, Job, JobError, Order, Policy, QueueOptions, Settled, WorkerCore,
    WorkerOptions,
};
use leaseq_test_support::{Cluster, RedisServer, eventually};

use crate::many_queues::{add, done, name, run};
use crate::support::{Echo, PATIENCE, drained, soon, start};

/// Two nodes, and a queue on each of them.
struct TwoNodes {
    cluster: Cluster,
    client: Client,
    /// The port of the node of the first queue.
    first: u16,
    queues: [String; 2],
}

impl TwoNodes {
    /// The client waits longer for an answer than the tests do. The other nodes go on although one has no answer for
    /// longer than they wait for it.
    async fn start() -> TwoNodes {
        let settings = RedisServer::builder().arg("--cluster-require-full-coverage", "no");
        let start = || Cluster::start_with(settings);
        let cluster = tokio::task::spawn_blocking(start).await.unwrap();
        let mut options = ConnectOptions::default();
        options.timeout = 2 * PATIENCE;
        let client = Client::connect_with(&cluster.url(), options).await.unwrap();
        let node =
            |queue: &str| cluster.slot_owner(cluster.slot_of(format!("leaseq:{{{queue}}}:meta")));
        let first = node(&name(0));
        let other = (1..).map(name).find(|queue| node(queue) != first).unwrap();
        TwoNodes { cluster, client, first, queues: [name(0), other] }
    }

    fn pause(&self) {
        self.cluster.node(self.first).pause();
    }

    fn resume(&self) {
        self.cluster.node(self.first).resume();
    }

    fn worker(&self, change: impl FnOnce(&mut WorkerOptions)) -> WorkerCore {
        let mut options = WorkerOptions::new();
        options.queues = self.queues.iter().map(QueueOptions::new).collect();
        // Beats go to a node, too.
        options.listed = false;
        options.jobs.insert(Echo::NAME.to_owned(), Echo::options());
        change(&mut options);
        WorkerCore::start(&self.client, options).unwrap()
    }
}

/// One of two nodes does not answer: jobs of queues on the other one are leased and completed all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_does_not_answer_holds_up_no_other() {
    let nodes = TwoNodes::start().await;
    for order in [Order::Weighted, Order::Strict] {
        let core = nodes.worker(|options| {
            options.slots = 2;
            options.order = order;
        });
        add(&nodes.client, &nodes.queues[0], 1).await;
        let stuck = start(&core).await;
        assert_eq!(stuck.queue(), nodes.queues[0]);
        nodes.pause();
        // Its completion has no answer, and its slot is free for others.
        let settled = core.finish(&stuck, Finish::Done { result: None });
        add(&nodes.client, &nodes.queues[1], 20).await;
        run(&core, 20).await;
        nodes.resume();
        assert_eq!(soon(settled).await.unwrap(), Settled::Completed);
        core.drain(Duration::ZERO);
        drained(&core).await;
    }
}

/// Neither what has failed, nor what has succeeded or is to wait, keeps a slot for longer than its lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_whose_ends_are_not_confirmed_leave_their_slots_with_their_leases() {
    let nodes = TwoNodes::start().await;
    let core = nodes.worker(|options| {
        options.slots = 3;
        options.lease = Duration::from_secs(1);
    });
    add(&nodes.client, &nodes.queues[0], 3).await;
    let tasks = [start(&core).await, start(&core).await, start(&core).await];
    nodes.pause();
    let fails = Finish::Failed(JobError::new("Broken", "pipe").policy(Policy::Bury));
    let ends = [fails, Finish::Snooze(PATIENCE), Finish::Done { result: None }];
    let ends: Vec<_> = tasks.iter().zip(ends).map(|(task, end)| core.finish(task, end)).collect();
    add(&nodes.client, &nodes.queues[1], 20).await;
    // All slots are for the other queue.
    let others = [start(&core).await, start(&core).await, start(&core).await];
    // The job that has succeeded lets another one start before its lease is lost.
    assert!(eventually(PATIENCE, async || core.load().in_use == 3).await);
    for task in &others {
        done(&core, task).await;
    }
    run(&core, 17).await;
    assert_eq!(core.load().in_use, 0);
    nodes.resume();
    // The reports were executed in the end: late, but nobody else had the jobs.
    for (end, expected) in ends.into_iter().zip(["dead", "released", "completed"]) {
        let settled = soon(end).await.unwrap();
        let expired = settled == Settled::Lost && expected != "completed";
        assert!(settled.as_str() == expected || expired, "{settled:?} instead of {expected}");
    }
    core.drain(Duration::ZERO);
    drained(&core).await;
}

/// The schedules of one cannot be stored, and jobs of the other run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_does_not_wait_for_the_schedules_of_a_queue_that_hangs() {
    let nodes = TwoNodes::start().await;
    nodes.pause();
    add(&nodes.client, &nodes.queues[1], 3).await;
    let rule = ScheduleRule::cron("0 0 1 1 *", "UTC").unwrap();
    let schedule = || Schedule::new("yearly", rule.clone(), Item::new("new year"));
    let core = nodes.worker(|options| {
        let schedules = nodes.queues.iter().map(|queue| (queue.clone(), schedule()));
        let mut deployment = Deployment::new("program", 1);
        deployment.schedules = schedules.collect();
        options.deployment = Some(deployment);
    });
    run(&core, 3).await;
    let stored = async |queue: &str| {
        let queue = nodes.client.queue(queue).unwrap();
        !queue.schedules().await.unwrap().is_empty()
    };
    assert!(stored(&nodes.queues[1]).await, "it waits for the other queue");
    nodes.resume();
    assert!(eventually(PATIENCE, async || stored(&nodes.queues[0]).await).await);
    core.drain(Duration::ZERO);
    drained(&core).await;
}

/// What was measured in the other one is recorded at the end, in which there is little time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_history_of_a_queue_that_hangs_holds_up_no_other() {
    let nodes = TwoNodes::start().await;
    let core = nodes.worker(|options| {
        options.listed = true;
        options.slots = 1;
    });
    for queue in &nodes.queues {
        add(&nodes.client, queue, 1).await;
    }
    run(&core, 2).await;
    nodes.pause();
    core.drain(Duration::ZERO);
    drained(&core).await;
    soon(core.left()).await;
    let queue = nodes.client.queue(&nodes.queues[1]).unwrap();
    let rows = queue.history(HistoryKind::Hours).await.unwrap();
    let measured = rows.iter().map(|row| row.measured.run.count()).sum::<u64>();
    assert_eq!(measured, 1, "{rows:?}");
    nodes.resume();
}
