//! Follow-ups that are attached to items which are in the queue already.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use leaseq::{
    CompleteOptions, ErrorKind, FailOptions, FollowUp, Item, ItemRef, On, Revision, State,
    WorkQueue,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::holders::Holders;
use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn follow_up(on: On, id: impl AsRef<[u8]>) -> FollowUp {
    FollowUp::new(on, item(id))
}

/// Attaches one for each kind of end.
async fn attach_all(queue: &WorkQueue, id: &str) -> [bool; 3] {
    let all = [(On::Completed, "completed"), (On::Dead, "dead"), (On::Ended, "ended")];
    let all = all.map(|(on, name)| (id, follow_up(on, format!("{id}-{name}"))));
    queue.attach_many(all).await.unwrap().try_into().unwrap()
}

/// Completes all that is ready; returns the ids that were.
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

async fn they_fire_at_whatever_end_comes(bench: &Bench) {
    let queue = bench.queue().await;
    for large in [false, true] {
        let plain = |id: &str| match large {
            true => Item::new(vec![b'x'; 20_000]).with_id(id),
            false => item(id),
        };
        let with_own = |id: &str| plain(id).follow_up(follow_up(On::Ended, "own"));
        for own in [false, true] {
            let new = |id: &str| if own { with_own(id) } else { plain(id) };
            let and_own = |ids: &[&str]| {
                let own = if own { &["own"][..] } else { &[] };
                ids.iter().chain(own).map(ToString::to_string).collect::<Vec<_>>()
            };
            // Before the lease, and during it: its holder knows nothing of it.
            for leased in [false, true] {
                add(&queue, new("a")).await;
                let early = if leased { Some(take(&queue).await) } else { None };
                assert_eq!(attach_all(&queue, "a").await, [true; 3]);
                let lease = match early {
                    Some(lease) => lease,
                    None => take(&queue).await,
                };
                assert!(queue.complete(&lease).await.unwrap());
                assert_eq!(fired(&queue).await, and_own(&["a-completed", "a-ended"]));
            }

            add(&queue, new("a").max_attempts(1)).await;
            let lease = take(&queue).await;
            assert_eq!(attach_all(&queue, "a").await, [true; 3]);
            queue.fail(&lease, "no", Duration::ZERO).await.unwrap();
            assert_eq!(fired(&queue).await, and_own(&["a-dead", "a-ended"]));
            assert!(queue.complete(&lease).await.unwrap());
            assert_eq!(fired(&queue).await, ["a-completed"]);

            // Reclaimed, and completed late by the earlier holder; retained.
            add(&queue, new("a").retain(HOUR)).await;
            let lease = take(&queue).await;
            assert_eq!(attach_all(&queue, "a").await, [true; 3]);
            bench.advance(secs(10));
            queue.light_clean().await.unwrap();
            assert!(queue.complete(&lease).await.unwrap());
            assert_eq!(fired(&queue).await, and_own(&["a-completed", "a-ended"]));
            assert!(queue.remove("a").await.unwrap());
            assert!(fired(&queue).await.is_empty());

            // New numbers keep them; requeued ones fire again.
            add(&queue, new("a")).await;
            assert_eq!(attach_all(&queue, "a").await, [true; 3]);
            assert!(queue.revise("a", Revision::new().priority(3)).await.unwrap());
            let all = queue.get("a").await.unwrap().unwrap();
            assert_eq!(all.follow_ups.len(), 3 + usize::from(own));
            assert_eq!(queue.bury(["a"], "no").await.unwrap(), [true]);
            assert_eq!(fired(&queue).await, and_own(&["a-dead", "a-ended"]));
            assert_eq!(queue.requeue(["a"]).await.unwrap(), [true]);
            let lease = take(&queue).await;
            assert!(queue.attach("a", follow_up(On::Completed, "more")).await.unwrap());
            assert!(queue.complete(&lease).await.unwrap());
            assert_eq!(fired(&queue).await, and_own(&["a-completed", "a-ended", "more"]));

            // Cancelled while it waits, and while it is leased; removed, purged, expired.
            for retain in [Duration::ZERO, HOUR] {
                add(&queue, new("a").retain(retain)).await;
                assert_eq!(attach_all(&queue, "a").await, [true; 3]);
                assert!(queue.cancel("a").await.unwrap());
                assert_eq!(fired(&queue).await, and_own(&["a-ended"]));
                queue.remove("a").await.unwrap();
                add(&queue, new("a").retain(retain)).await;
                let lease = take(&queue).await;
                assert!(queue.cancel("a").await.unwrap());
                assert_eq!(attach_all(&queue, "a").await, [true; 3]);
                queue.release(&lease, Duration::ZERO).await.unwrap();
                assert_eq!(fired(&queue).await, and_own(&["a-ended"]));
                queue.remove("a").await.unwrap();
                assert!(fired(&queue).await.is_empty());
            }
            add(&queue, new("a").delay(secs(60))).await;
            assert_eq!(attach_all(&queue, "a").await, [true; 3]);
            assert!(queue.remove("a").await.unwrap());
            assert_eq!(fired(&queue).await, and_own(&["a-ended"]));
            add(&queue, new("a")).await;
            assert_eq!(attach_all(&queue, "a").await, [true; 3]);
            assert_eq!(queue.purge(State::Ready).await.unwrap(), 1);
            assert_eq!(fired(&queue).await, and_own(&["a-ended"]));
            add(&queue, new("a").expires_in(secs(5))).await;
            assert_eq!(attach_all(&queue, "a").await, [true; 3]);
            bench.advance(secs(5));
            queue.light_clean().await.unwrap();
            assert_eq!(fired(&queue).await, and_own(&["a-dead", "a-ended"]));
            queue.remove("a").await.unwrap();

            // A replaced one fires nothing, and its successor has none.
            add(&queue, new("a")).await;
            assert_eq!(attach_all(&queue, "a").await, [true; 3]);
            add(&queue, item("a").replace()).await;
            assert_eq!(fired(&queue).await, ["a"]);
        }
    }
    assert_sound(&queue).await;
}

async fn items_that_have_ended_so_add_at_once(bench: &Bench) {
    let queue = bench.queue().await;
    assert_eq!(attach_all(&queue, "a").await, [false; 3]);
    add(&queue, item("a").retain(secs(60))).await;
    queue.complete_with(&take(&queue).await, CompleteOptions::new().result("done")).await.unwrap();
    assert_eq!(attach_all(&queue, "a").await, [true, false, true]);
    assert_eq!(fired(&queue).await, ["a-completed", "a-ended"]);
    for on in [On::Completed, On::Ended] {
        assert!(queue.attach("a", follow_up(on, "next").with_trigger()).await.unwrap());
        let next = take(&queue).await;
        let trigger = next.trigger().unwrap();
        let result = trigger.result().map(|result| result.to_vec());
        assert_eq!((trigger.id(), result), (&b"a"[..], Some(b"done".to_vec())));
        queue.complete(&next).await.unwrap();
    }
    // Those that exist already count as delivered.
    add(&queue, item("there").delay(secs(600))).await;
    assert!(queue.attach("a", follow_up(On::Completed, "there")).await.unwrap());
    assert!(fired(&queue).await.is_empty());
    bench.advance(secs(60));
    assert_eq!(attach_all(&queue, "a").await, [false; 3], "it is kept no longer");

    add(&queue, item("b").retain(secs(60))).await;
    assert!(queue.cancel("b").await.unwrap());
    assert_eq!(attach_all(&queue, "b").await, [false, false, true]);
    assert_eq!(fired(&queue).await, ["b-ended"]);

    add(&queue, item("c")).await;
    let lease = take(&queue).await;
    queue.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
    assert_eq!(attach_all(&queue, "c").await, [false, true, true]);
    assert_eq!(fired(&queue).await, ["c-dead", "c-ended"]);
    assert!(queue.complete(&lease).await.unwrap());
    assert!(fired(&queue).await.is_empty());

    // Its time has passed, and nobody has swept it.
    add(&queue, item("d").expires_in(secs(5))).await;
    bench.advance(secs(5));
    assert_eq!(attach_all(&queue, "d").await, [false, true, true]);
    queue.light_clean().await.unwrap();
    assert_eq!(fired(&queue).await, ["d-dead", "d-ended"]);
    assert_sound(&queue).await;
}

async fn they_go_to_other_queues(bench: &Bench) {
    let queue = bench.queue().await;
    let other = bench.client().await.queue("mail").unwrap();
    let sent = |id: &str| FollowUp::new(On::Completed, item(id).queue(other.name()));
    add(&queue, item("a").retain(HOUR)).await;
    assert!(queue.attach("a", sent("early")).await.unwrap());
    // The same id, in another queue.
    assert!(queue.attach("a", follow_up(On::Completed, "early")).await.unwrap());
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert!(queue.attach("a", sent("late")).await.unwrap());
    queue.light_clean().await.unwrap();
    assert_eq!(fired(&other).await, ["early", "late"]);
    assert_eq!(fired(&queue).await, ["early"]);
    assert_sound(&queue).await;
    assert_sound(&other).await;
}

async fn repeated_calls_attach_once(bench: &Bench) {
    let queue = bench.queue().await;
    add(&queue, item("a").follow_up(follow_up(On::Ended, "own"))).await;
    for _ in 0..3 {
        let again =
            [("a", follow_up(On::Completed, "next")), ("a", follow_up(On::Completed, "own"))];
        assert_eq!(queue.attach_many(again).await.unwrap(), [true; 2]);
    }
    // Only one of these can fire.
    let both = [("a", follow_up(On::Dead, "next")), ("a", follow_up(On::Dead, "next"))];
    assert_eq!(queue.attach_many(both).await.unwrap(), [true; 2]);
    assert_eq!(queue.get("a").await.unwrap().unwrap().follow_ups.len(), 3);
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert_eq!(fired(&queue).await, ["next", "own"]);
    assert_sound(&queue).await;
}

async fn limits(bench: &Bench) {
    let queue = bench.queue().await;
    let two = bench.client().await.queue(queue.name()).unwrap();
    add(&queue, item("a")).await;
    let all = (0..15).map(|n| ("a", follow_up(On::Ended, format!("f{n:02}"))));
    assert_eq!(queue.attach_many(all).await.unwrap(), [true; 15]);
    // Two want the last place.
    let (one, other) = tokio::join!(
        queue.attach("a", follow_up(On::Ended, "one")),
        two.attach("a", follow_up(On::Ended, "other"))
    );
    let (won, lost) = if one.is_ok() { ("one", other) } else { ("other", one) };
    let error = lost.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("item \"a\" would have more than 16 follow-ups"), "{error}");
    assert!(queue.attach("a", follow_up(On::Ended, won)).await.unwrap(), "it has that already");
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    let all = fired(&queue).await;
    assert!(all.len() == 16 && all.contains(&won.to_owned()), "{all:?}");

    let large = |id: &str| FollowUp::new(On::Ended, Item::new(vec![0; 40_000]).with_id(id));
    add(&queue, item("a")).await;
    assert!(queue.attach("a", large("x")).await.unwrap());
    assert_eq!(kind(queue.attach("a", large("y")).await), ErrorKind::Invalid);
    for wrong in [
        FollowUp::new(On::Ended, Item::new(vec![0; 70_000])),
        FollowUp::new(On::Ended, item("")),
        FollowUp::new(On::Ended, item("x").priority(10)),
        FollowUp::new(On::Ended, item("x").queue("no queue")),
    ] {
        let both = [("a", follow_up(On::Ended, "fine")), ("a", wrong)];
        assert_eq!(kind(queue.attach_many(both).await), ErrorKind::Invalid);
    }
    assert_eq!(queue.get("a").await.unwrap().unwrap().follow_ups.len(), 1);
    assert!(queue.attach_many(Vec::<(&str, FollowUp)>::new()).await.unwrap().is_empty());

    let seen = queue.get("a").await.unwrap().unwrap();
    let seen = ItemRef::new("a").if_generation(seen.generation);
    assert!(queue.attach(seen.clone(), follow_up(On::Ended, "z")).await.unwrap());
    assert!(queue.revise("a", Revision::new().data("new")).await.unwrap());
    assert!(!queue.attach(seen, follow_up(On::Ended, "late")).await.unwrap());

    // Many at once, in several steps.
    queue.add_items((0..300).map(|n| item(format!("i{n}")))).await.unwrap();
    let all = (0..300).map(|n| (format!("i{n}"), follow_up(On::Ended, format!("i{n}-next"))));
    assert_eq!(queue.attach_many(all).await.unwrap(), [true; 300]);
    let all: BTreeSet<_> = fired(&queue).await.into_iter().collect();
    assert!((0..300).all(|n| all.contains(&format!("i{n}-next"))));
    assert_sound(&queue).await;
}

/// Attaching, and ends of all kinds, in any order.
async fn whatever_happens_those_with_true_come_once(bench: &Bench) {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let queue = bench.queue().await;
    // Whether each was attached.
    let mut attached = BTreeMap::<String, bool>::new();
    let (mut holders, mut added) = (Holders::default(), 0);
    for _ in 0..500 {
        let id = |rng: &mut StdRng, added: usize| {
            rng.random_range(added.saturating_sub(8)..added.max(1)).to_string()
        };
        match rng.random_range(0..18) {
            0..3 => {
                let mut item = item(added.to_string()).max_attempts(rng.random_range(1..4));
                if rng.random_bool(0.3) {
                    item = item.follow_up(follow_up(On::Ended, format!("own{added}")));
                }
                item = if rng.random_bool(0.3) { item.expires_in(secs(20)) } else { item };
                item = if rng.random_bool(0.3) { item.retain(secs(30)) } else { item };
                item = if rng.random_bool(0.3) { item.key("k") } else { item };
                add(&queue, item).await;
                added += 1;
            }
            3..7 => {
                let (id, letter) = (id(&mut rng, added), rng.random_range(0..2));
                let (on, letter) = [(On::Completed, 'c'), (On::Ended, 'e')][letter];
                let name = format!("{letter}{id}");
                if attached.get(&name) != Some(&true) {
                    let follow_up = follow_up(on, &name).with_trigger();
                    attached.insert(name, queue.attach(id, follow_up).await.unwrap());
                }
            }
            7..9 => holders.lease(&queue, &mut rng).await,
            9 | 10 => holders.complete(&queue, &mut rng).await,
            11 | 12 => holders.fail(&queue, &mut rng).await,
            13 => _ = queue.cancel(id(&mut rng, added)).await.unwrap(),
            14 => _ = queue.remove(id(&mut rng, added)).await.unwrap(),
            15 => _ = queue.bury([id(&mut rng, added)], "no").await.unwrap(),
            16 => _ = queue.light_clean().await.unwrap(),
            _ => bench.advance(secs(rng.random_range(0..6))),
        }
    }
    holders.complete_all(bench, &queue).await;
    assert!(attached.values().any(|attached| *attached));
    for (name, attached) in attached {
        let expected = match name.split_at(1) {
            ("c", id) => holders.completions(id),
            _ => 1,
        };
        let expected = expected * u32::from(attached);
        assert_eq!(holders.completions(&name), expected, "{name}, attached: {attached}");
    }
    queue.light_clean().await.unwrap();
    assert_sound(&queue).await;
}

on_every_engine!(
    whatever_happens_those_with_true_come_once,
    they_fire_at_whatever_end_comes,
    items_that_have_ended_so_add_at_once,
    they_go_to_other_queues,
    repeated_calls_attach_once,
    limits,
);
