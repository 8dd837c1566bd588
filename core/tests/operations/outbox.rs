//! Follow-ups for other queues: each is added once, and with everything that it has.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{
    CompleteOptions, DropOptions, ErrorKind, FailOptions, FollowUp, Item, On, State, WorkQueue,
};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

async fn queues<const N: usize>(bench: &Bench, names: [&str; N]) -> [WorkQueue; N] {
    let client = bench.client().await;
    names.map(|name| client.queue(name).unwrap())
}

async fn add(queue: &WorkQueue, item: Item) {
    assert!(queue.add_item(item).await.unwrap());
}

fn then(on: On, item: Item) -> FollowUp {
    FollowUp::new(on, item)
}

async fn follow_ups_reach_other_queues(bench: &Bench) {
    let [jobs, mail] = queues(bench, ["jobs", "mail"]).await;
    let back = item("back").queue("jobs").priority(2);
    let sent = Item::new("data").with_id("sent").queue("mail").priority(3).max_attempts(4);
    let sent = sent.retain(HOUR).unique("u").key("k").delay(secs(60)).expires_in(HOUR);
    let sent = then(On::Completed, sent.follow_up(then(On::Completed, back).with_trigger()));
    let own = then(On::Ended, item("own").queue("jobs"));
    add(&jobs, item("a").follow_up(sent.with_trigger()).follow_up(own)).await;
    bench.advance(secs(100));
    let done = CompleteOptions::new().result("done");
    assert!(jobs.complete_with(&take(&jobs).await, done).await.unwrap());
    assert_eq!(drain(&jobs).await, ["own"]);
    let found = mail.get("sent").await.unwrap().unwrap();
    assert_eq!((found.state, found.priority, found.max_attempts), (State::Delayed, 3, Some(4)));
    assert_eq!(found.at.map(since_1970), Some(bench.now() + 60_000));
    assert!(!mail.add_item(item("x").unique("u")).await.unwrap());
    bench.advance(secs(60));
    let lease = take(&mail).await;
    let trigger = lease.trigger().unwrap();
    assert_eq!((trigger.id(), trigger.result().unwrap().as_ref()), (&b"a"[..], &b"done"[..]));
    assert_eq!((lease.key(), &lease.data()[..]), (Some(&b"k"[..]), &b"data"[..]));
    assert!(mail.complete(&lease).await.unwrap());
    let lease = take(&jobs).await;
    assert_eq!((lease.id(), lease.priority()), (&b"back"[..], 2));
    assert_eq!(lease.trigger().unwrap().id(), b"sent");
    let names = bench.client().await.queues().await.unwrap();
    assert_eq!(names, ["jobs", "mail"]);
    assert_sound(&jobs).await;
    assert_sound(&mail).await;
}

async fn plain_queues_stay_plain(bench: &Bench) {
    let [jobs, mail] = queues(bench, ["jobs", "mail"]).await;
    add(&mail, item("first")).await;
    add(&jobs, item("a").follow_up(then(On::Ended, item("sent").queue("mail")))).await;
    assert!(jobs.complete(&take(&jobs).await).await.unwrap());
    assert_eq!(drain(&mail).await, ["first", "sent"]);
    // One that exists counts as delivered.
    add(&jobs, item("b").follow_up(then(On::Ended, item("sent").queue("mail")))).await;
    assert!(jobs.complete(&take(&jobs).await).await.unwrap());
    assert_eq!(mail.counts().await.unwrap().totals.added, 2);
    assert_sound(&mail).await;
}

async fn calls_add_items_to_other_queues(bench: &Bench) {
    let [jobs, mail, log] = queues(bench, ["jobs", "mail", "log"]).await;
    let items = |name: &str, count: usize| {
        let all = (0..count).map(|n| item(format!("{n:03}")).queue(name));
        all.collect::<Vec<_>>()
    };
    jobs.add_items([item("a"), item("b"), item("c").max_attempts(1)]).await.unwrap();
    let leases = jobs.lease_many(3, at_once()).await.unwrap();
    // The same ids, for different queues.
    let both = [items("mail", 400), items("log", 400), items("jobs", 1)].concat();
    let adds = CompleteOptions::new().adds([both, items("mail", 400)]);
    assert_eq!(jobs.complete_many_with(&leases[..2], adds).await.unwrap(), [true; 2]);
    let add = FailOptions::new().add_items(items("log", 401));
    assert_eq!(jobs.fail_with(&leases[2], "no", add).await.unwrap(), State::Dead);
    assert_eq!(drain(&jobs).await, ["000"]);
    for (queue, count) in [(&mail, 400), (&log, 401)] {
        assert_eq!(drain(queue).await.len(), count, "{}", queue.name());
        assert_sound(queue).await;
    }
    assert_sound(&jobs).await;
}

async fn many_for_many_queues_come_in_order(bench: &Bench) {
    let [jobs, one, two, three] = queues(bench, ["jobs", "1", "2.x", "2"]).await;
    let item = |n: usize| {
        let follow_up = |k: usize| {
            let target = ["1", "2.x", "2", "jobs"][k % 4];
            then(On::Completed, item(format!("{n}-{k}")).queue(target))
        };
        (0..16).fold(item(n.to_string()), |item, k| item.follow_up(follow_up(k)))
    };
    jobs.add_items((0..300).map(item)).await.unwrap();
    let leases = jobs.lease_many(300, at_once()).await.unwrap();
    assert_eq!(jobs.complete_many(&leases).await.unwrap(), [true; 300]);
    // Whatever the finisher has left comes with the next cleans.
    for (k, queue) in [&one, &two, &three, &jobs].into_iter().enumerate() {
        while queue.counts().await.unwrap().ready < 1_200 {
            jobs.light_clean().await.unwrap();
        }
        let mut all = Vec::new();
        while all.len() < 1_200 {
            all.extend(drain(queue).await);
        }
        let expected: Vec<_> =
            (0..300).flat_map(|n| (0..4).map(move |i| format!("{n}-{}", 4 * i + k))).collect();
        assert!(all == expected, "{}: they are in the order of the ends", queue.name());
        assert_sound(queue).await;
    }
}

async fn those_that_depend_on_each_other_come_one_after_the_other(bench: &Bench) {
    let [jobs, mail] = queues(bench, ["jobs", "mail"]).await;
    for n in 0..5u8 {
        let latest = Item::new([n]).with_id("latest").replace().queue("mail");
        let unique = Item::new([n]).with_id([n]).unique("u").replace().queue("mail");
        let item = item(n.to_string()).follow_up(then(On::Ended, latest));
        add(&jobs, item.follow_up(then(On::Ended, unique))).await;
    }
    let leases = jobs.lease_many(5, at_once()).await.unwrap();
    jobs.complete_many(&leases).await.unwrap();
    let mut leases = mail.lease_many(10, at_once()).await.unwrap();
    leases.sort_by_key(|lease| lease.id().len());
    let found: Vec<_> = leases.iter().map(|lease| (lease.id(), lease.data()[0])).collect();
    assert_eq!(found, [(&[4][..], 4), (b"latest", 4)]);
    assert_sound(&mail).await;
}

async fn what_is_invalid_changes_nothing(bench: &Bench) {
    let [jobs] = queues(bench, ["jobs"]).await;
    let follow_up = |item: Item| self::item("a").follow_up(then(On::Ended, item));
    let same = |queue: &str| item("x").queue(queue);
    let invalid = [
        (item("a").queue("mail"), "is for queue mail, and was given to queue jobs"),
        (item("a").queue("a b"), "queue name \"a b\""),
        (follow_up(item("b").queue("")), "queue name \"\""),
        (follow_up(same("jobs")).follow_up(then(On::Ended, item("x"))), "two follow-ups"),
        (follow_up(same("m")).follow_up(then(On::Ended, same("m"))), "two follow-ups"),
        (
            follow_up(item("b").queue("m").follow_up(then(On::Ended, item("c").queue("{}")))),
            "queue name \"{}\"",
        ),
    ];
    for (item, message) in invalid {
        let error = jobs.add_item(item).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(message), "{error}: {message}");
    }
    add(&jobs, item("a").queue("jobs")).await;
    let lease = take(&jobs).await;
    let added = |queue: &str| CompleteOptions::new().add_items([item("x").queue(queue)]);
    assert_eq!(kind(jobs.complete_with(&lease, added("ä")).await), ErrorKind::Invalid);
    assert!(jobs.complete_with(&lease, added("mail")).await.unwrap());
    assert_eq!(bench.client().await.queues().await.unwrap(), ["jobs", "mail"]);
}

async fn queues_are_dropped_and_made_again(bench: &Bench) {
    let [jobs, mail] = queues(bench, ["jobs", "mail"]).await;
    let mut expected = 0;
    for round in 0..4 {
        for n in 0..3 {
            let follow_up = then(On::Ended, item(format!("{round}-{n}")).queue("mail"));
            add(&jobs, item(n.to_string()).follow_up(follow_up)).await;
            assert!(jobs.complete(&take(&jobs).await).await.unwrap());
            expected += 1;
        }
        assert_eq!(mail.queue_len().await.unwrap(), expected);
        if round % 2 == 0 {
            assert!(jobs.drop_queue().await.unwrap());
        } else {
            assert!(mail.drop_queue_with(DropOptions::new().force()).await.unwrap());
            expected = 0;
        }
    }
    assert_sound(&jobs).await;
}

/// A chain through three queues, whose workers lose leases.
async fn chains_through_queues_take_each_step_once(bench: &Bench) {
    let names = ["a", "b", "c"];
    let queues = queues(bench, names).await;
    let chain = |n: usize| {
        let step = |k: usize| item(format!("{n}-{k}")).queue(names[k % 3]).max_attempts(9);
        let mut last = step(9);
        for k in (0..9).rev() {
            last = step(k).follow_up(then(On::Completed, last).with_trigger());
        }
        last
    };
    queues[0].add_items((0..20).map(chain)).await.unwrap();
    let mut completed = BTreeMap::<String, usize>::new();
    let mut held = Vec::new();
    for round in 0..100 {
        let queue = &queues[round % 3];
        queue.light_clean().await.unwrap();
        let leases = queue.lease_many(7, at_once()).await.unwrap();
        for (n, lease) in leases.into_iter().enumerate() {
            // Every third lease expires, and its holder completes late or never.
            match (round + n) % 3 {
                0 => held.push((queue, lease)),
                _ => {
                    let id = lease.id_str().unwrap().to_owned();
                    *completed.entry(id).or_default() +=
                        usize::from(queue.complete(&lease).await.unwrap());
                }
            }
        }
        if round % 5 == 4 {
            bench.advance(secs(60));
            for (queue, lease) in held.drain(..).step_by(2) {
                let id = lease.id_str().unwrap().to_owned();
                *completed.entry(id).or_default() +=
                    usize::from(queue.complete(&lease).await.unwrap());
            }
        }
    }
    for n in 0..20 {
        for k in 0..10 {
            assert_eq!(completed.get(&format!("{n}-{k}")), Some(&1), "{n}-{k}");
        }
    }
    for queue in &queues {
        assert_eq!(queue.counts().await.unwrap().ready, 0);
        assert_sound(queue).await;
    }
}

on_every_engine!(
    follow_ups_reach_other_queues,
    plain_queues_stay_plain,
    calls_add_items_to_other_queues,
    many_for_many_queues_come_in_order,
    those_that_depend_on_each_other_come_one_after_the_other,
    what_is_invalid_changes_nothing,
    queues_are_dropped_and_made_again,
    chains_through_queues_take_each_step_once,
);
