//! Follow-ups: what ends of items add, and what they do not.

use std::time::Duration;

use leaseq::{
    CompleteOptions, ErrorKind, FailOptions, FollowUp, Item, Lease, On, Revision, SettingsChange,
    State, WorkQueue,
};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::holders::Holders;
use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// An item with a follow-up for each kind of end.
fn followed(id: &str) -> Item {
    let follow_up = |item: Item, on, name| {
        item.follow_up(FollowUp::new(on, self::item(format!("{id}-{name}"))))
    };
    let item = follow_up(item(id), On::Completed, "completed");
    follow_up(follow_up(item, On::Dead, "dead"), On::Ended, "ended")
}

/// Completes all that is ready; returns the ids that belong to this item, without it.
async fn fired(queue: &WorkQueue) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let leases = queue.lease_many(1000, at_once()).await.unwrap();
        if leases.is_empty() {
            all.sort();
            return all;
        }
        all.extend(ids(&leases));
        queue.complete_many(&leases).await.unwrap();
    }
}

async fn add(queue: &WorkQueue, item: Item) {
    assert!(queue.add_item(item).await.unwrap());
}

async fn each_end_fires_its_own(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, followed("a")).await;
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert_eq!(fired(&queue).await, ["a-completed", "a-ended"]);

    add(&queue, followed("a").max_attempts(2)).await;
    queue.fail(&take(&queue).await, "no", Duration::ZERO).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(lease.id(), b"a");
    queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
    assert_eq!(fired(&queue).await, ["a-dead", "a-ended"]);
    // A late completion fires what has not fired.
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(fired(&queue).await, ["a-completed"]);
    assert!(!queue.complete(&lease).await.unwrap());
    assert!(fired(&queue).await.is_empty());

    // Each run fires.
    add(&queue, followed("a")).await;
    queue.fail_with(&take(&queue).await, "no", FailOptions::new().dead()).await.unwrap();
    assert_eq!(fired(&queue).await, ["a-dead", "a-ended"]);
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
    let lease = take(&queue).await;
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(fired(&queue).await, ["a-completed", "a-ended"]);

    // A dead one that is removed has fired.
    add(&queue, followed("a")).await;
    assert_eq!(queue.bury(["a"], "no").await.unwrap(), [true]);
    assert_eq!(fired(&queue).await, ["a-dead", "a-ended"]);
    assert!(queue.remove("a").await.unwrap());
    assert!(fired(&queue).await.is_empty());

    for leased in [false, true] {
        add(&queue, followed("a")).await;
        let lease = if leased { Some(take(&queue).await) } else { None };
        assert!(queue.remove("a").await.unwrap());
        assert_eq!(fired(&queue).await, ["a-ended"]);
        drop(lease);
        add(&queue, followed("a")).await;
        let lease = if leased { Some(take(&queue).await) } else { None };
        assert!(queue.cancel("a").await.unwrap());
        if let Some(lease) = lease {
            queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
        }
        assert_eq!(fired(&queue).await, ["a-ended"]);
        add(&queue, followed("a").retain(HOUR).delay(secs(1))).await;
        assert!(queue.cancel("a").await.unwrap());
        assert_eq!(fired(&queue).await, ["a-ended"]);
        assert!(queue.remove("a").await.unwrap());
        assert!(fired(&queue).await.is_empty());
    }
    add(&queue, followed("a")).await;
    assert_eq!(queue.purge(State::Ready).await.unwrap(), 1);
    assert_eq!(fired(&queue).await, ["a-ended"]);
    assert_sound(&queue).await;
}

async fn deaths_by_time_fire(bench: &Bench) {
    let queue = bench.queue().await;
    // Reclaimed at the limit.
    add(&queue, followed("a").max_attempts(1)).await;
    let lease = take(&queue).await;
    bench.advance(secs(10));
    assert_eq!(queue.light_clean().await.unwrap().died, 1);
    assert_eq!(fired(&queue).await, ["a-dead", "a-ended"]);
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(fired(&queue).await, ["a-completed"]);

    // Marked, and reclaimed.
    add(&queue, followed("a")).await;
    drop(take(&queue).await);
    assert!(queue.cancel("a").await.unwrap());
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    assert_eq!(fired(&queue).await, ["a-ended"]);

    // Swept, or found by a lease.
    for swept in [true, false] {
        add(&queue, followed("a").expires_in(secs(5))).await;
        bench.advance(secs(5));
        if swept {
            queue.light_clean().await.unwrap();
        }
        // Whoever leases finds the death; the follow-ups come soon after.
        queue.lease(at_once()).await.unwrap();
        queue.light_clean().await.unwrap();
        assert_eq!(state(&queue, "a").await, Some(State::Dead));
        let all = ["a-dead", "a-ended"];
        bench.advance(secs(10));
        assert_eq!(fired(&queue).await, all, "{swept}");
        assert!(queue.remove("a").await.unwrap());
    }

    // A step that finds an expired item that nobody has swept fires its death first.
    add(&queue, followed("a").expires_in(secs(5))).await;
    bench.advance(secs(5));
    assert!(queue.remove("a").await.unwrap());
    assert_eq!(fired(&queue).await, ["a-dead", "a-ended"]);
    add(&queue, followed("a").expires_in(secs(5))).await;
    bench.advance(secs(5));
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
    let lease = take(&queue).await;
    assert_eq!(lease.id(), b"a");
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(fired(&queue).await, ["a-completed", "a-dead", "a-ended"]);
    add(&queue, followed("a").expires_in(secs(5))).await;
    let lease = take(&queue).await;
    queue.release(&lease, secs(1)).await.unwrap();
    bench.advance(secs(5));
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(fired(&queue).await, ["a-completed", "a-dead", "a-ended"]);
    add(&queue, followed("a").expires_in(secs(5))).await;
    bench.advance(secs(5));
    add(&queue, item("a").replace()).await;
    assert!(queue.light_clean().await.is_ok());
    assert_eq!(fired(&queue).await, ["a", "a-dead", "a-ended"]);
    assert_sound(&queue).await;
}

async fn replaced_and_dropped_ones_fire_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, followed("a")).await;
    add(&queue, followed("a").replace()).await;
    assert!(queue.light_clean().await.is_ok());
    let lease = take(&queue).await;
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    // Nor does one with the same unique key.
    queue.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
    assert_eq!(fired(&queue).await, ["a-dead", "a-ended"]);
    add(&queue, item("a").replace()).await;
    assert!(queue.light_clean().await.is_ok());
    assert_eq!(fired(&queue).await, ["a"]);
    add(&queue, followed("b").unique("k")).await;
    add(&queue, item("c").unique("k").replace()).await;
    assert_eq!(fired(&queue).await, ["c"]);
    add(&queue, followed("a")).await;
    assert!(queue.drop_queue().await.unwrap());
    add(&queue, item("other")).await;
    assert_eq!(fired(&queue).await, ["other"]);
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
}

async fn they_have_all_options_and_their_own_follow_ups(bench: &Bench) {
    let queue = bench.queue().await;
    let third = Item::new("third").with_id("c").priority(2);
    let second = Item::new("second").with_id("b").priority(3).max_attempts(4).retain(HOUR);
    let second = second.unique("u").unique_for(HOUR).key("k").delay(secs(60)).expires_in(HOUR);
    let second = second.follow_up(FollowUp::new(On::Completed, third).with_trigger());
    add(&queue, item("a").follow_up(FollowUp::new(On::Completed, second))).await;
    bench.advance(secs(100));
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    let found = queue.get("b").await.unwrap().unwrap();
    assert_eq!((found.state, found.priority, found.max_attempts), (State::Delayed, 3, Some(4)));
    assert_eq!((found.retain, &found.data[..]), (HOUR, &b"second"[..]));
    assert_eq!(found.at.map(since_1970), Some(bench.now() + 60_000));
    assert!(!queue.add_item(item("x").unique("u")).await.unwrap());
    bench.advance(secs(60));
    let lease = take(&queue).await;
    assert_eq!((lease.id(), lease.key(), lease.trigger()), (&b"b"[..], Some(&b"k"[..]), None));
    let result = CompleteOptions::new().result("done");
    assert!(queue.complete_with(&lease, result).await.unwrap());
    assert_eq!(queue.get("b").await.unwrap().unwrap().state, State::Completed);
    let lease = take(&queue).await;
    let trigger = lease.trigger().unwrap();
    assert_eq!((lease.id(), &lease.data()[..]), (&b"c"[..], &b"third"[..]));
    assert_eq!((trigger.id(), trigger.result().map(|r| &r[..])), (&b"b"[..], Some(&b"done"[..])));
    assert_sound(&queue).await;
}

async fn triggers_come_without_a_result_that_is_too_large(bench: &Bench) {
    let queue = bench.queue().await;
    let with_trigger = |id: &str, on| {
        let follow_up = Item::new("f").with_id(format!("{id}-f")).key("key").unique(id);
        item(id).follow_up(FollowUp::new(on, follow_up).with_trigger())
    };
    let trigger = |lease: &Lease| {
        let trigger = lease.trigger().unwrap();
        (trigger.id().to_vec(), trigger.result().map(|result| result.len()))
    };
    for size in [0, 1, 64 << 10, (64 << 10) + 1] {
        add(&queue, with_trigger("a", On::Ended)).await;
        let options = CompleteOptions::new().result(vec![7; size]);
        assert!(queue.complete_with(&take(&queue).await, options).await.unwrap());
        let lease = take(&queue).await;
        let expected = Some(size).filter(|size| *size <= 64 << 10);
        assert_eq!(trigger(&lease), (b"a".to_vec(), expected));
        assert_eq!((lease.key(), &lease.data()[..]), (Some(&b"key"[..]), &b"f"[..]));
        assert!(queue.complete(&lease).await.unwrap());
    }
    // An id that is stored in another form; no completion.
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    add(&queue, with_trigger(id, On::Dead)).await;
    queue.fail_with(&take(&queue).await, "no", FailOptions::new().dead()).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!(trigger(&lease), (id.into(), None));
    // It survives a release, a revision and a failure.
    queue.release(&lease, Duration::ZERO).await.unwrap();
    let follow_up = format!("{id}-f");
    assert!(queue.revise(&*follow_up, Revision::new().data("new")).await.unwrap());
    let lease = take(&queue).await;
    assert_eq!((trigger(&lease), &lease.data()[..]), ((id.into(), None), &b"new"[..]));
    queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
    assert_eq!(trigger(&take(&queue).await), (id.into(), None));
    assert_sound(&queue).await;
}

async fn calls_add_items_if_they_end_theirs(bench: &Bench) {
    let queue = bench.queue().await;
    let items = |count: usize| (0..count).map(|n| item(format!("{n:03}"))).collect::<Vec<_>>();
    add(&queue, item("a").max_attempts(2)).await;
    let lease = take(&queue).await;
    let failed = FailOptions::new().add_items(items(2));
    queue.fail_with(&lease, "no", failed.clone()).await.unwrap();
    let lease = take(&queue).await;
    assert_eq!((lease.id(), lease.last_error()), (&b"a"[..], "no"));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_eq!(queue.fail_with(&lease, "why", failed).await.unwrap(), State::Dead);
    assert_eq!(queue.get("a").await.unwrap().unwrap().last_error, "why");
    assert_eq!(fired(&queue).await, ["000", "001"]);
    // The late completion ends it, too, and a second one does not.
    let options = CompleteOptions::new().add_items(items(999));
    assert!(queue.complete_with(&lease, options.clone()).await.unwrap());
    assert_eq!(fired(&queue).await.len(), 999);
    assert!(!queue.complete_with(&lease, options).await.unwrap());
    assert!(fired(&queue).await.is_empty());
    // Each of a batch has its own.
    queue.add_items([item("a"), item("b"), item("c")]).await.unwrap();
    let leases = queue.lease_many(3, at_once()).await.unwrap();
    let nested = item("x").follow_up(FollowUp::new(On::Ended, item("y")));
    let adds = CompleteOptions::new().adds([vec![nested], vec![], items(1)]);
    assert_eq!(queue.complete_many_with(&leases, adds.clone()).await.unwrap(), [true; 3]);
    assert_eq!(queue.complete_many_with(&leases, adds).await.unwrap(), [false; 3]);
    assert_eq!(fired(&queue).await, ["000", "x", "y"]);
    assert_sound(&queue).await;
}

async fn an_add_that_returns_false_counts_as_delivered(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, followed("a")).await;
    let lease = take(&queue).await;
    add(&queue, item("a-completed").delay(secs(60))).await;
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(state(&queue, "a-completed").await, Some(State::Delayed));
    assert_eq!(fired(&queue).await, ["a-ended"]);
    // The item that ends is gone: its follow-up may have its id.
    add(&queue, item("b").follow_up(FollowUp::new(On::Ended, item("b").priority(1)))).await;
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert_eq!(take(&queue).await.priority(), 1);
    assert_sound(&queue).await;
}

/// Of a batch whose items all have one, some are not added, or are in the way of each other.
async fn each_of_a_batch_has_its_own(bench: &Bench) {
    let queue = bench.queue().await;
    let followed = |id: &str, next: &str| {
        item(id).follow_up(FollowUp::new(On::Completed, item(format!("{id}-{next}"))))
    };
    let batch = |next: &str| ["a", "b", "c", "b"].map(|id| followed(id, next));
    let counts = async || queue.counts().await.unwrap().totals.added;
    add(&queue, followed("b", "first")).await;
    assert_eq!(queue.add_items(batch("second")).await.unwrap(), [true, false, true, false]);
    let replacing = |next: &str| batch(next).map(|item| item.replace());
    assert_eq!(queue.add_items(replacing("third")).await.unwrap(), [true, true, true, false]);
    assert_eq!(counts().await, 6);
    assert_eq!(fired(&queue).await, ["a", "a-third", "b", "b-third", "c", "c-third"]);
    assert_eq!(counts().await, 9);
    // Of two with the same unique key the first is added.
    let unique = [followed("a", "x").unique("u"), followed("b", "x").unique("u")];
    assert_eq!(queue.add_items(unique).await.unwrap(), [true, false]);
    let lease = take(&queue).await;
    // One waits for the end of the lease.
    let waits = followed("a", "y").unique("u").replace().successor();
    assert_eq!(queue.add_items([waits, followed("d", "y")]).await.unwrap(), [true, true]);
    assert!(queue.complete(&lease).await.unwrap());
    assert_eq!(fired(&queue).await, ["a", "a-x", "a-y", "d", "d-y"]);
    assert_sound(&queue).await;
}

async fn large_items_and_new_generations_keep_theirs(bench: &Bench) {
    let queue = bench.queue().await;
    let large = || {
        let item = Item::new(vec![7; 20_000]).with_id("a").key("k").unique("u").max_attempts(1);
        item.follow_up(FollowUp::new(On::Dead, self::item("f")).with_trigger())
    };
    let dies = async || {
        let lease = take(&queue).await;
        assert_eq!((lease.id(), lease.key()), (&b"a"[..], Some(&b"k"[..])));
        queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
        let follow_up = take(&queue).await;
        assert_eq!(follow_up.trigger().map(|trigger| trigger.id()), Some(&b"a"[..]));
        assert!(queue.complete(&follow_up).await.unwrap());
    };
    add(&queue, large()).await;
    dies().await;
    // A revised item, dead or not, is another generation.
    assert!(queue.revise("a", Revision::new().data("small")).await.unwrap());
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
    assert!(queue.revise("a", Revision::new().data(vec![8; 30_000])).await.unwrap());
    dies().await;
    assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
    assert_eq!(queue.bury(["a"], "no").await.unwrap(), [true]);
    assert_eq!(fired(&queue).await, ["f"]);
    assert!(queue.remove("a").await.unwrap());
    assert!(fired(&queue).await.is_empty());
    assert_sound(&queue).await;
}

async fn many_with_many_are_added_step_by_step(bench: &Bench) {
    let queue = bench.queue().await;
    let item = |n: usize| {
        let follow_up = |k| FollowUp::new(On::Completed, item(format!("{n}-{k}")));
        (0..16).fold(item(n.to_string()), |item, k| item.follow_up(follow_up(k)))
    };
    queue.add_items((0..300).map(item)).await.unwrap();
    let leases = queue.lease_many(300, at_once()).await.unwrap();
    assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; 300]);
    // Whatever the finisher has left comes with the next cleans.
    while queue.counts().await.unwrap().ready < 4_800 {
        queue.light_clean().await.unwrap();
    }
    let mut all = Vec::new();
    while all.len() < 4_800 {
        all.extend(drain(&queue).await);
    }
    let expected: Vec<_> =
        (0..300).flat_map(|n| (0..16).map(move |k| format!("{n}-{k}"))).collect();
    assert!(all == expected, "they are in the order of the ends");
    assert_sound(&queue).await;
}

async fn what_is_invalid_changes_nothing(bench: &Bench) {
    let queue = bench.queue().await;
    let with = |count: usize, item: fn(usize) -> Item| {
        (0..count).fold(self::item("a"), |a, n| a.follow_up(FollowUp::new(On::Ended, item(n))))
    };
    let deep = (0..17).fold(item("x"), |inner, n| {
        item(format!("{n}")).follow_up(FollowUp::new(On::Ended, inner))
    });
    let twice = item("a").follow_up(FollowUp::new(On::Completed, item("x")));
    let invalid = [
        (with(17, |_| Item::new("")), "17 follow-ups are over the limit of 16"),
        (with(2, |_| Item::new(vec![0; 40 << 10])), "are over the limit of 65536"),
        (with(2, |_| self::item("x")), "two follow-ups with the id of item \"x\""),
        (with(1, |_| Item::new("").priority(10)), "priority"),
        (deep, "follow-ups of follow-ups go deeper than 16"),
        (twice.clone().follow_up(FollowUp::new(On::Ended, item("x"))), "two follow-ups"),
    ];
    for (item, message) in invalid {
        let error = queue.add_item(item).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(message), "{error}: {message}");
    }
    add(&queue, twice.follow_up(FollowUp::new(On::Dead, item("x")))).await;
    let lease = take(&queue).await;
    let items = |count| (0..count).map(|_| Item::new(""));
    for add in [
        CompleteOptions::new().add_items(items(1_000)),
        CompleteOptions::new().add_items([item("y"), item("y")]),
        CompleteOptions::new().add_items([item("y").priority(11)]),
        CompleteOptions::new().add_items((0..3).map(|_| Item::new(vec![0; 6 << 20]))),
        CompleteOptions::new().adds([vec![], vec![]]),
    ] {
        assert_eq!(kind(queue.complete_with(&lease, add).await), ErrorKind::Invalid);
    }
    assert_eq!(queue.processing().await.unwrap(), 1);
    assert_sound(&queue).await;
}

async fn settings_remove_items_and_fire(bench: &Bench) {
    let queue = bench.queue().await;
    queue.configure(SettingsChange::new().max_attempts(1).max_dead(1)).await.unwrap();
    for id in ["a", "b"] {
        add(&queue, followed(id)).await;
        queue.fail(&take(&queue).await, "no", Duration::ZERO).await.unwrap();
        assert_eq!(fired(&queue).await, [format!("{id}-dead"), format!("{id}-ended")]);
        bench.advance(secs(1));
    }
    queue.light_clean().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().dead, 1);
    assert!(fired(&queue).await.is_empty());
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
}

/// Ends of all kinds in any order, by holders of current and old leases, with cleans in between.
async fn whatever_happens_each_end_fires_once(bench: &Bench) {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let queue = bench.queue().await;
    let (mut holders, mut added) = (Holders::default(), 0);
    for _ in 0..400 {
        let id = |rng: &mut StdRng, added: usize| format!("{}", rng.random_range(0..added.max(1)));
        match rng.random_range(0..14) {
            0..3 => {
                let mut item = item(added.to_string()).max_attempts(rng.random_range(1..4));
                for (on, letter) in [(On::Completed, 'c'), (On::Ended, 'e')] {
                    let follow_up = self::item(format!("{letter}{added}"));
                    item = item.follow_up(FollowUp::new(on, follow_up).with_trigger());
                }
                item = if rng.random_bool(0.3) { item.expires_in(secs(20)) } else { item };
                item = if rng.random_bool(0.3) { item.retain(secs(30)) } else { item };
                item = if rng.random_bool(0.3) { item.key("k") } else { item };
                add(&queue, item).await;
                added += 1;
            }
            3..5 => holders.lease(&queue, &mut rng).await,
            5 | 6 => holders.complete(&queue, &mut rng).await,
            7 | 8 => holders.fail(&queue, &mut rng).await,
            9 => _ = queue.cancel(id(&mut rng, added)).await.unwrap(),
            10 => _ = queue.remove(id(&mut rng, added)).await.unwrap(),
            11 => _ = queue.bury([id(&mut rng, added)], "no").await.unwrap(),
            12 => _ = queue.light_clean().await.unwrap(),
            _ => bench.advance(secs(rng.random_range(0..6))),
        }
    }
    holders.complete_all(bench, &queue).await;
    for n in 0..added {
        assert_eq!(holders.completions(&format!("e{n}")), 1, "{n} has ended once");
        let completed = holders.completions(&n.to_string());
        let fired = holders.completions(&format!("c{n}"));
        assert_eq!(fired, completed, "{n} was completed {completed} times");
    }
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
}

on_every_engine!(
    whatever_happens_each_end_fires_once,
    each_end_fires_its_own,
    deaths_by_time_fire,
    replaced_and_dropped_ones_fire_nothing,
    they_have_all_options_and_their_own_follow_ups,
    triggers_come_without_a_result_that_is_too_large,
    calls_add_items_if_they_end_theirs,
    an_add_that_returns_false_counts_as_delivered,
    each_of_a_batch_has_its_own,
    large_items_and_new_generations_keep_theirs,
    many_with_many_are_added_step_by_step,
    what_is_invalid_changes_nothing,
    settings_remove_items_and_fire,
);
