//! Groups whose members end in any order and in every way, and follow-ups that lead back to what has added them.

use leaseq::{
    DropOptions, FailOptions, FollowUp, Item, NewGroup, On, PlaceState, Revision, State, WorkQueue,
};
use leaseq_test_support::eventually;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::holders::Holders;
use crate::support::*;

/// Places with members; one more is filled in the end.
const MEMBERS: u32 = 60;

fn then(on: On, item: Item) -> FollowUp {
    FollowUp::new(on, item)
}

/// Completes all that is ready; returns the ids, in order.
async fn done(queue: &WorkQueue) -> Vec<String> {
    let leases = queue.lease_many(1000, at_once()).await.unwrap();
    queue.complete_many(&leases).await.unwrap();
    let mut ids = ids(&leases);
    ids.sort();
    ids
}

/// Each member has a unique key, so that an item with another id can replace it.
fn member(place: u32, rng: &mut StdRng) -> Item {
    let mut item = item(place.to_string()).unique(format!("u{place}"));
    item = item.max_attempts(rng.random_range(1..4));
    item = if rng.random_bool(0.3) { item.expires_in(secs(20)) } else { item };
    item = if rng.random_bool(0.3) { item.retain(secs(30)) } else { item };
    item = if rng.random_bool(0.3) { item.key("k") } else { item };
    if rng.random_bool(0.3) {
        item = item.follow_up(then(On::Ended, self::item(format!("next {place}"))));
    }
    item
}

/// Something that may end or change the item with this id.
async fn change(queue: &WorkQueue, id: String, rng: &mut StdRng) {
    match rng.random_range(0..8) {
        0 => _ = queue.cancel(id).await.unwrap(),
        1 => _ = queue.remove(id).await.unwrap(),
        2 => _ = queue.bury([id], "no").await.unwrap(),
        3 => {
            let new = item(format!("replaces {id}")).unique(format!("u{id}"));
            queue.add_item(new.replace()).await.unwrap();
        }
        4 => {
            let attached = then(On::Ended, item(format!("attached to {id}")));
            queue.attach(id, attached).await.unwrap();
        }
        5 => _ = queue.revise(id, Revision::new().priority(3)).await.unwrap(),
        _ => _ = queue.requeue([id]).await.unwrap(),
    }
}

async fn whatever_happens_a_group_ends_once(bench: &Bench) {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let client = bench.client().await;
    let [home, far, other, calls] =
        ["home", "far", "other", "calls"].map(|name| client.queue(name).unwrap());
    let new_group = || {
        [(On::Completed, "done"), (On::Dead, "failed"), (On::Ended, "ended")]
            .into_iter()
            .fold(NewGroup::new("g"), |group, (on, id)| {
                group.follow_up(then(on, item(id).queue("calls")))
            })
    };
    let group = home.create_group(new_group()).await.unwrap();
    let queues = [&home, &far, &other];
    let mut holders: [Holders; 3] = Default::default();
    let queue_of = |place: u32| place as usize % queues.len();
    let (mut added, sealed_at) = (0, rng.random_range(0..500));
    // Members that were not added, because another item had their unique key.
    let mut refused = Vec::new();
    for step in 0..500 {
        if step == sealed_at {
            assert!(home.seal_group(&group, MEMBERS + 1).await.unwrap());
        }
        let at = rng.random_range(0..queues.len());
        let (queue, holders) = (queues[at], &mut holders[at]);
        match rng.random_range(0..30) {
            0..5 if added < MEMBERS => {
                let queue = queues[queue_of(added)];
                let is_taken = rng.random_bool(0.2);
                if is_taken {
                    let owner = item(format!("has {added}")).unique(format!("u{added}"));
                    assert!(queue.add_item(owner).await.unwrap());
                    refused.push(added);
                }
                let item = member(added, &mut rng).in_group(&group, added);
                assert_eq!(queue.add_item(item).await.unwrap(), !is_taken);
                added += 1;
            }
            5..10 => holders.lease(queue, &mut rng).await,
            10..13 => holders.complete(queue, &mut rng).await,
            13..16 => holders.fail(queue, &mut rng).await,
            16..23 if added > 0 => {
                let place = rng.random_range(added.saturating_sub(12)..added);
                change(queues[queue_of(place)], place.to_string(), &mut rng).await;
            }
            27 if !refused.is_empty() => {
                let at = rng.random_range(0..refused.len());
                let place = refused[at];
                let item = member(place, &mut rng).in_group(&group, place);
                if queues[queue_of(place)].add_item(item).await.unwrap() {
                    refused.swap_remove(at);
                }
            }
            23 if rng.random_bool(0.1) => _ = queue.purge(State::Ready).await.unwrap(),
            24 if at > 0 && rng.random_bool(0.1) => {
                _ = queue.drop_queue_with(DropOptions::new().force()).await.unwrap();
            }
            25 => assert_eq!(home.create_group(new_group()).await.unwrap(), group),
            26 => _ = queue.light_clean().await.unwrap(),
            _ => bench.advance(secs(rng.random_range(0..6))),
        }
    }
    for place in added..MEMBERS {
        let item = item(place.to_string()).in_group(&group, place);
        assert!(queues[queue_of(place)].add_item(item).await.unwrap());
    }
    for (queue, holders) in queues.iter().zip(&mut holders) {
        holders.complete_all(bench, queue).await;
    }

    // A client whose server is busy leaves reports to others for a while.
    let all_reported = async || {
        for queue in queues {
            queue.light_clean().await.unwrap();
        }
        home.group("g").await.unwrap().unwrap().ended == MEMBERS
    };
    assert!(eventually(secs(20), all_reported).await, "{:?}", home.group("g").await);
    // Nothing is to come but the last place.
    let info = home.group("g").await.unwrap().unwrap();
    assert_eq!((info.places, info.ended), (Some(MEMBERS + 1), MEMBERS));
    assert!(!info.has_ended);
    assert_eq!(done(&calls).await, [""; 0]);
    let mut places = home.group_places(&group, 0).await.unwrap();
    assert_eq!(places.pop(), Some(PlaceState::Open));
    for (place, state) in (0..).zip(&places) {
        let completed = holders[queue_of(place)].completions(&place.to_string());
        let expected = [PlaceState::Ended, PlaceState::Completed][completed as usize];
        assert_eq!(*state, expected, "place {place} was completed {completed} times");
    }
    let all_completed = !places.contains(&PlaceState::Ended);
    let end = async |place: u32| {
        assert!(far.add_item(item("last").in_group(&group, place)).await.unwrap());
        assert!(far.complete(&take(&far).await).await.unwrap());
    };
    end(MEMBERS).await;
    let have_been_added = async || calls.counts().await.unwrap().ready == 2;
    assert!(eventually(secs(20), have_been_added).await);
    let called = if all_completed { ["done", "ended"] } else { ["ended", "failed"] };
    assert_eq!(done(&calls).await, called);
    // Members of a group that has ended fill nothing.
    for place in [0, MEMBERS, MEMBERS + 1] {
        end(place).await;
    }
    assert_eq!(done(&calls).await, [""; 0]);
    assert_eq!(home.group_places(&group, 0).await.unwrap()[..MEMBERS as usize], places);
    for queue in [&home, &far, &other, &calls] {
        queue.light_clean().await.unwrap();
        assert_sound(queue).await;
    }
}

async fn follow_ups_may_lead_back(bench: &Bench) {
    let client = bench.client().await;
    let [here, there] = ["here", "there"].map(|name| client.queue(name).unwrap());
    let dies = async |queue: &WorkQueue| {
        let dead = FailOptions::new().dead();
        assert_eq!(queue.fail_with(&take(queue).await, "no", dead).await.unwrap(), State::Dead);
    };
    // What has died is replaced by its own follow-up, but not without `replace`.
    let again = || item("a").follow_up(then(On::Ended, item("b")));
    assert!(here.add_item(item("a").follow_up(then(On::Dead, again()))).await.unwrap());
    dies(&here).await;
    assert_eq!(state(&here, "a").await, Some(State::Dead));
    assert!(here.remove("a").await.unwrap());
    let replaces = then(On::Dead, again().replace());
    assert!(here.add_item(item("a").follow_up(replaces)).await.unwrap());
    dies(&here).await;
    assert_eq!(done(&here).await, ["a"]);
    assert_eq!(done(&here).await, ["b"]);

    // Through another queue, and back.
    let back = item("a").queue("here").follow_up(then(On::Completed, item("a").queue("there")));
    let first = item("a").follow_up(then(
        On::Completed,
        item("b").queue("there").follow_up(then(On::Completed, back)),
    ));
    assert!(here.add_item(first).await.unwrap());
    for (queue, id) in [(&here, "a"), (&there, "b"), (&here, "a"), (&there, "a")] {
        assert_eq!(done(queue).await, [id]);
    }

    // Two that one end adds do not make room for each other, as in any other batch.
    let twice = |id: &str| {
        let own = then(On::Ended, item(format!("{id}-next")));
        item(id).unique("u").replace().follow_up(own)
    };
    let both =
        item("a").follow_up(then(On::Completed, twice("x"))).follow_up(then(On::Ended, twice("y")));
    assert!(here.add_item(both).await.unwrap());
    assert_eq!(done(&here).await, ["a"]);
    assert_eq!(done(&here).await, ["x"]);
    assert_eq!(done(&here).await, ["x-next"]);
    for queue in [&here, &there] {
        assert_eq!(done(queue).await, [""; 0]);
        assert_sound(queue).await;
    }
}

on_every_engine!(whatever_happens_a_group_ends_once, follow_ups_may_lead_back);
