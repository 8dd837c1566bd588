//! The server executes an operation and the reply is lost: the retry gets the same answer, and nothing
//! is executed twice.

use std::time::Duration;

use leaseq::{Item, LeaseOptions, Revision, State, WorkQueue};
use leaseq_test_support::{Proxy, Then};
use tokio::task::JoinSet;

use crate::support::{at_once, behind_proxy, client, is_script, lease_now, ms, sound};

/// How replies are lost, and how often in a row.
const LOSSES: [(Then, usize); 3] = [(Then::Close, 1), (Then::Close, 4), (Then::KeepOpen, 1)];
const OPERATIONS: [&str; 23] = [
    "add",
    "lease",
    "complete",
    "complete_and_lease",
    "extend",
    "set_progress",
    "release",
    "fail",
    "remove",
    "requeue",
    "bury",
    "revise",
    "cancel",
    "attach",
    "light_clean",
    "purge",
    "configure",
    "record_history",
    "set_schedule",
    "tick",
    "pause",
    "resume",
    "drop",
];

#[tokio::test]
async fn an_operation_whose_reply_is_lost_is_executed_once_and_answered() {
    let (_server, proxy, first) = behind_proxy(2_000).await;
    // The server must know the scripts: a lost NOSCRIPT would prove nothing.
    for operation in OPERATIONS {
        run(&first.queue(&format!("warm-up-{operation}")).unwrap(), operation, || ()).await;
    }
    // In a debug build, so many clients together take longer to connect than they have by default.
    let url = format!("{}?timeout_ms=2000&connect_timeout_ms=20000", proxy.url());
    let proxy = std::sync::Arc::new(proxy);
    let mut cases = JoinSet::new();
    for operation in OPERATIONS {
        for (then, times) in LOSSES {
            let (proxy, url) = (proxy.clone(), url.clone());
            cases.spawn(async move {
                let name = format!("{operation}-{then:?}-{times}");
                // A client for each case, so that only its own connections are cut.
                let client = leaseq::Client::connect(&url).await.unwrap();
                let queue = client.queue(&name).unwrap();
                let cut = || lose(&proxy, operation, &name, times, then);
                run(&queue, operation, cut).await;
                sound(&queue).await;
            });
        }
    }
    while let Some(case) = cases.join_next().await {
        case.unwrap();
    }
    let lost: usize = LOSSES.iter().map(|(_, times)| times).sum();
    assert_eq!(proxy.replies_dropped(), (lost * OPERATIONS.len()) as u64);
}

fn lose(proxy: &Proxy, operation: &str, queue: &str, times: usize, then: Then) {
    proxy.drop_replies(is_script(operation, queue), times, then);
}

fn schedule() -> leaseq::Schedule {
    let rule = leaseq::ScheduleRule::every(Duration::from_secs(86_400)).unwrap();
    leaseq::Schedule::new("s", rule, Item::new("data"))
}

/// Executes the operation on an empty queue, with `cut` called right before, and checks everything that
/// would reveal a second execution.
async fn run(queue: &WorkQueue, operation: &str, cut: impl FnOnce()) {
    let item = || Item::new("data").with_id("a").max_attempts(2);
    if operation != "add" {
        assert!(queue.add_item(item()).await.unwrap());
    }
    match operation {
        "add" => {
            cut();
            assert!(queue.add_item(item()).await.unwrap());
            let counts = queue.counts().await.unwrap();
            assert_eq!((counts.ready, counts.totals.added), (1, 1));
        }
        "lease" => {
            assert!(queue.add_item(Item::new("other").with_id("b")).await.unwrap());
            cut();
            let lease = lease_now(queue).await;
            assert_eq!((lease.id(), lease.attempt()), (&b"a"[..], 1));
            let counts = queue.counts().await.unwrap();
            assert_eq!((counts.leased, counts.ready, counts.totals.leased), (1, 1, 1));
            assert!(queue.complete(&lease).await.unwrap());
        }
        "complete" => {
            let lease = lease_now(queue).await;
            cut();
            assert!(queue.complete(&lease).await.unwrap());
            assert_eq!(queue.counts().await.unwrap().totals.completed, 1);
            assert!(!queue.complete(&lease).await.unwrap());
        }
        "complete_and_lease" => {
            queue.add_items(["b", "c"].map(|id| Item::new("other").with_id(id))).await.unwrap();
            let lease = lease_now(queue).await;
            cut();
            let done = queue.complete_and_lease([&lease], 1, at_once()).await.unwrap();
            assert_eq!((&done.completed[..], done.leases[0].id()), (&[true][..], &b"b"[..]));
            assert_eq!(done.leases[0].attempt(), 1);
            let counts = queue.counts().await.unwrap();
            assert_eq!((counts.leased, counts.ready, counts.totals.completed), (1, 1, 1));
            assert_eq!(counts.totals.leased, 2);
            assert!(queue.complete(&done.leases[0]).await.unwrap());
        }
        "extend" => {
            let lease = lease_now(queue).await;
            cut();
            let deadline = queue.extend(&lease, Duration::from_secs(600)).await.unwrap();
            assert_eq!(queue.get("a").await.unwrap().unwrap().at, Some(deadline));
        }
        "set_progress" => {
            let lease = lease_now(queue).await;
            cut();
            queue.set_progress(&lease, "half").await.unwrap();
            let info = queue.get("a").await.unwrap().unwrap();
            assert_eq!(info.progress.as_deref(), Some(&b"half"[..]));
        }
        "release" => {
            let lease = lease_now(queue).await;
            cut();
            queue.release(&lease, Duration::ZERO).await.unwrap();
            assert_eq!(lease_now(queue).await.attempt(), 1);
            assert!(queue.lease(at_once()).await.unwrap().is_none());
        }
        "fail" => {
            let lease = lease_now(queue).await;
            cut();
            assert_eq!(queue.fail(&lease, "no", Duration::ZERO).await.unwrap(), State::Ready);
            assert_eq!(lease_now(queue).await.attempt(), 2);
            assert!(queue.lease(at_once()).await.unwrap().is_none());
            assert_eq!(queue.counts().await.unwrap().totals.failed, 1);
        }
        "remove" => {
            cut();
            assert!(queue.remove("a").await.unwrap());
            assert_eq!(queue.counts().await.unwrap().totals.removed, 1);
        }
        "requeue" => {
            for _ in 0..2 {
                let lease = lease_now(queue).await;
                queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
            }
            assert_eq!(queue.get("a").await.unwrap().unwrap().state, State::Dead);
            cut();
            assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
            assert_eq!(lease_now(queue).await.attempt(), 1);
            assert!(queue.lease(at_once()).await.unwrap().is_none());
        }
        "bury" => {
            cut();
            assert_eq!(queue.bury(["a"], "no").await.unwrap(), [true]);
            let counts = queue.counts().await.unwrap();
            assert_eq!((counts.ready, counts.dead, counts.totals.died), (0, 1, 1));
        }
        "revise" => {
            cut();
            let seen = queue.get("a").await.unwrap().unwrap();
            assert!(queue.revise(&seen, Revision::new().data("new")).await.unwrap());
            let lease = lease_now(queue).await;
            assert_eq!((lease.id(), &lease.data()[..]), (&b"a"[..], &b"new"[..]));
            assert!(queue.lease(at_once()).await.unwrap().is_none());
        }
        "cancel" => {
            assert!(queue.add_item(Item::new("l").with_id("leased").priority(9)).await.unwrap());
            let lease = lease_now(queue).await;
            cut();
            assert_eq!(queue.cancel_many(["a", "leased"]).await.unwrap(), [true, true]);
            let counts = queue.counts().await.unwrap();
            assert_eq!((counts.ready, counts.leased, counts.totals.cancelled), (0, 1, 1));
            let failed = queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
            assert_eq!(failed, State::Cancelled);
        }
        "attach" => {
            let next =
                |id: &str| leaseq::FollowUp::new(leaseq::On::Ended, Item::new("n").with_id(id));
            assert!(queue.add_item(Item::new("l").with_id("dead").priority(9)).await.unwrap());
            assert_eq!(queue.bury(["dead"], "no").await.unwrap(), [true]);
            cut();
            let both = [("a", next("a-next")), ("dead", next("dead-next"))];
            assert_eq!(queue.attach_many(both).await.unwrap(), [true, true]);
            assert_eq!(queue.get("a").await.unwrap().unwrap().follow_ups.len(), 1);
            assert_eq!(queue.counts().await.unwrap().totals.added, 3);
        }
        "light_clean" => {
            let short = LeaseOptions::new(ms(1)).wait(Duration::ZERO);
            let lease = queue.lease(short).await.unwrap().unwrap();
            lease.lost().await;
            tokio::time::sleep(ms(5)).await;
            cut();
            assert_eq!(queue.light_clean().await.unwrap().expired, 1);
            assert_eq!(lease_now(queue).await.attempt(), 2);
        }
        "purge" => {
            cut();
            assert_eq!(queue.purge(State::Ready).await.unwrap(), 1);
            assert_eq!(queue.counts().await.unwrap().totals.removed, 1);
        }
        "configure" => {
            cut();
            // Executed twice, it would be refused, because its own revision is another one.
            let change = leaseq::SettingsChange::new().max_dead(5).expect_revision(0);
            let settings = queue.configure(change).await.unwrap().expect("it is executed once");
            assert_eq!(queue.settings().await.unwrap(), settings);
        }
        "set_schedule" => {
            cut();
            // Executed twice, it would find another version: its own.
            let put = queue.put_schedule(schedule()).await.unwrap();
            assert_eq!(put, leaseq::PutSchedule::Added);
            assert_eq!(queue.schedules().await.unwrap().len(), 1);
        }
        "tick" => {
            queue.put_schedule(schedule()).await.unwrap();
            cut();
            assert!(queue.run_now("s").await.unwrap());
            assert_eq!(queue.counts().await.unwrap().totals.added, 2);
            assert!(queue.schedules().await.unwrap()[0].last_id.is_some());
        }
        "record_history" => {
            let mut measured = leaseq::Measured::default();
            measured.run.record(5);
            cut();
            assert!(queue.record_history(&measured).await.unwrap());
            let rows = queue.history(leaseq::HistoryKind::Hours).await.unwrap();
            assert_eq!(rows[0].measured, measured);
        }
        "pause" => {
            cut();
            let options = leaseq::PauseOptions::new().duration(Duration::from_secs(600));
            let begun = std::time::SystemTime::now();
            queue.pause_with(options).await.unwrap();
            let until = queue.settings().await.unwrap().paused_until.unwrap();
            let (took, longer) = (begun.elapsed().unwrap(), until.duration_since(begun).unwrap());
            // Executed twice, it would last for the time-out of the first attempt longer.
            assert!(took < ms(1_000) || longer < Duration::from_secs(600) + took);
        }
        "resume" => {
            queue.pause().await.unwrap();
            cut();
            queue.resume().await.unwrap();
            assert_eq!(lease_now(queue).await.id(), b"a");
        }
        "drop" => {
            cut();
            assert!(queue.drop_queue().await.unwrap());
            assert_eq!(queue.counts().await.unwrap().totals.added, 0);
        }
        other => panic!("{other}?"),
    }
}

/// The retry of a lease counts once: one of three is left.
#[tokio::test]
async fn a_lease_whose_reply_is_lost_uses_up_the_rate_once() {
    let (_server, proxy, client) = behind_proxy(2_000).await;
    let rate = leaseq::Rate::new(1, Duration::from_secs(3_600)).burst(3);
    let cases = [("none", Then::Close, 0), ("a", Then::Close, 3), ("b", Then::KeepOpen, 1)];
    for ((name, then, times), of_key) in
        cases.into_iter().flat_map(|case| [(case, false), (case, true)])
    {
        let name = &format!("{name}-{of_key}");
        let queue = client.queue(name).unwrap();
        let change = leaseq::SettingsChange::new().key_limit(9);
        let change = if of_key { change.key_rate(rate) } else { change.rate(rate) };
        queue.configure(change).await.unwrap();
        queue.add_items((0..9).map(|_| Item::new("data").key("k"))).await.unwrap();
        let lose = |script| {
            if times > 0 {
                lose(&proxy, script, name, times, then)
            }
        };
        lose("lease extended");
        let lease = lease_now(&queue).await;
        lose("complete_and_lease extended");
        let done = queue.complete_and_lease([&lease], 1, at_once()).await.unwrap();
        assert_eq!((&done.completed[..], done.leases.len()), (&[true][..], 1));
        assert_eq!(queue.lease_many(9, at_once()).await.unwrap().len(), 1);
        assert_eq!(queue.counts().await.unwrap().totals.leased, 3);
        sound(&queue).await;
    }
    assert_eq!(proxy.replies_dropped(), 16);
}

/// What another client has set before the retry stays.
#[tokio::test]
async fn limits_of_keys_whose_reply_is_lost_are_set_once() {
    let (server, proxy, first) = behind_proxy(2_000).await;
    first.queue("warm-up").unwrap().set_key_limits([("a", Some(2))]).await.unwrap();
    let queue = first.queue("jobs").unwrap();
    lose(&proxy, "set_key_limits", "jobs", 1, Then::KeepOpen);
    let setting = tokio::spawn(async move { queue.set_key_limits([("a", Some(2))]).await });
    let dropped = async || proxy.replies_dropped() == 1;
    assert!(leaseq_test_support::eventually(Duration::from_secs(20), dropped).await);
    let other = client(&server.url(), 10_000).await.queue("jobs").unwrap();
    other.set_key_limits([("a", Some(7))]).await.unwrap();
    setting.await.unwrap().unwrap();
    assert_eq!(other.get_keys(["a"]).await.unwrap()[0].limit, 7);
}

/// The queue is created again before the retry, which must not drop the new one.
#[tokio::test]
async fn a_drop_whose_reply_is_lost_does_not_touch_a_newer_queue() {
    let (server, proxy, first) = behind_proxy(10_000).await;
    let warm_up = first.queue("warm-up").unwrap();
    warm_up.add_item(Item::new("x")).await.unwrap();
    assert!(warm_up.drop_queue().await.unwrap());
    let queue = first.queue("q").unwrap();
    let other = leaseq::Client::connect(&server.url()).await.unwrap().queue("q").unwrap();
    assert!(queue.add_item(Item::new("old").with_id("old")).await.unwrap());
    lose(&proxy, "drop", "q", 1, Then::KeepOpen);
    let dropped = tokio::spawn(async move { queue.drop_queue().await });
    let is_gone = async || other.counts().await.unwrap().totals.added == 0;
    assert!(leaseq_test_support::eventually(Duration::from_secs(20), is_gone).await);
    assert!(other.add_item(Item::new("new").with_id("new")).await.unwrap());
    assert!(dropped.await.unwrap().unwrap());
    assert_eq!(other.counts().await.unwrap().ready, 1);
    assert_eq!(first.queues().await.unwrap(), ["q"]);
    sound(&other).await;
}
