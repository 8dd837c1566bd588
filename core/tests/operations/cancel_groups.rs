//! Cancelling groups: their members, wherever they are, and those that are added later.

use std::time::Duration;

use leaseq::{
    ErrorKind, FailOptions, FollowUp, Group, Item, NewGroup, On, OutcomeOptions, Revision, State,
    WorkQueue,
};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

async fn queues<const N: usize>(bench: &Bench, names: [&str; N]) -> [WorkQueue; N] {
    let client = bench.client().await;
    names.map(|name| client.queue(name).unwrap())
}

/// A group with a follow-up for each kind of end, for queue `calls`.
async fn group(home: &WorkQueue, id: &str) -> Group {
    let kinds = [(On::Completed, "done"), (On::Dead, "failed"), (On::Ended, "ended")];
    let new = kinds.into_iter().fold(NewGroup::new(id), |group, (on, name)| {
        group.follow_up(FollowUp::new(on, item(format!("{id} {name}")).queue("calls")))
    });
    home.create_group(new).await.unwrap()
}

async fn add(queue: &WorkQueue, group: &Group, place: u32, item: Item) {
    assert!(queue.add_item(item.in_group(group, place)).await.unwrap());
}

async fn state(queue: &WorkQueue, id: &str) -> Option<State> {
    queue.get(id).await.unwrap().map(|found| found.state)
}

/// How many places have ended and are completed, and whether the group has ended.
async fn filled(queue: &WorkQueue, id: &str) -> (u32, u32, bool) {
    let info = queue.group(id).await.unwrap().unwrap();
    (info.ended, info.completed, info.has_ended)
}

/// What groups have added.
async fn called(bench: &Bench) -> Vec<String> {
    let [calls] = queues(bench, ["calls"]).await;
    let mut ids = drain(&calls).await;
    ids.sort();
    ids
}

async fn members_are_cancelled_whatever_their_state(bench: &Bench) {
    let [home, far] = queues(bench, ["home", "far"]).await;
    let g = group(&home, "g").await;
    let other = group(&home, "other").await;
    add(&home, &g, 0, item("completed")).await;
    assert!(home.complete(&take(&home).await).await.unwrap());
    add(&far, &g, 1, item("dead")).await;
    far.fail_with(&take(&far).await, "no", FailOptions::new().dead()).await.unwrap();
    add(&far, &g, 2, item("leased").key("k")).await;
    let lease = take(&far).await;
    add(&far, &g, 3, item("held").key("k")).await;
    assert!(far.lease(at_once()).await.unwrap().is_none());
    assert_eq!(state(&far, "held").await, Some(State::Held));
    add(&far, &g, 4, item("ready").follow_up(FollowUp::new(On::Ended, item("next")))).await;
    add(&far, &g, 5, item("retained").retain(HOUR)).await;
    add(&home, &g, 6, item("delayed").delay(HOUR)).await;
    add(&home, &g, 7, Item::new(vec![b'x'; 20_000]).with_id("large")).await;
    add(&far, &other, 0, item("of another")).await;
    far.add_item(item("of none")).await.unwrap();
    assert!(home.seal_group(&g, 8).await.unwrap());

    assert!(home.cancel_group(&g).await.unwrap());
    for (queue, id) in [(&far, "held"), (&far, "ready"), (&home, "delayed"), (&home, "large")] {
        assert_eq!(state(queue, id).await, None, "{id}");
    }
    assert_eq!(state(&far, "dead").await, Some(State::Dead));
    assert_eq!(state(&far, "retained").await, Some(State::Cancelled));
    assert!(far.get("leased").await.unwrap().unwrap().cancel_requested);
    assert_eq!(filled(&home, "g").await, (7, 1, false));
    assert_eq!(drain(&far).await, ["of another", "of none", "next"]);
    assert!(home.cancel_group(&g).await.unwrap(), "again");
    assert_eq!(far.fail(&lease, "no", Duration::ZERO).await.unwrap(), State::Cancelled);
    assert_eq!(filled(&home, "g").await, (8, 1, true));
    assert_eq!(called(bench).await, ["g ended", "g failed"]);
    assert!(!home.cancel_group(&g).await.unwrap(), "it has ended");
    assert_eq!(filled(&home, "other").await, (0, 0, false));
    assert_eq!(far.counts().await.unwrap().totals.cancelled, 4);
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

async fn a_holder_may_still_complete(bench: &Bench) {
    let [home, far] = queues(bench, ["home", "far"]).await;
    let g = group(&home, "g").await;
    add(&far, &g, 0, item("a")).await;
    let lease = take(&far).await;
    assert!(home.seal_group(&g, 1).await.unwrap());
    assert!(home.cancel_group(&g).await.unwrap());
    assert!(far.complete(&lease).await.unwrap());
    assert_eq!(called(bench).await, ["g done", "g ended"]);
}

async fn members_that_are_added_later_are_cancelled(bench: &Bench) {
    let [home, far, late] = queues(bench, ["home", "far", "late"]).await;
    let g = group(&home, "g").await;
    add(&far, &g, 0, item("0")).await;
    assert!(home.cancel_group(&g).await.unwrap());
    assert_eq!(filled(&home, "g").await, (1, 0, false));
    // In a queue that knows the group, in one that does not, and in the group's own.
    for (place, queue) in (1..).zip([&far, &late, &home, &late]) {
        add(queue, &g, place, item(place.to_string())).await;
        assert_eq!(state(queue, &place.to_string()).await, None);
    }
    let many = (5..205).map(|n| item(n.to_string()).in_group(&g, n)).collect::<Vec<_>>();
    assert_eq!(late.add_items(many).await.unwrap(), [true; 200]);
    assert_eq!(late.counts().await.unwrap().ready, 0);
    // Long after, too, as long as the group is there.
    bench.advance(DAY / 2);
    for queue in [&far, &home] {
        queue.deep_clean().await.unwrap();
    }
    add(&far, &g, 205, item("205")).await;
    assert_eq!(state(&far, "205").await, None);
    assert!(home.seal_group(&g, 206).await.unwrap());
    assert_eq!(filled(&home, "g").await, (206, 0, true));
    assert_eq!(called(bench).await, ["g ended", "g failed"]);
    for queue in [&home, &far, &late] {
        assert_sound(queue).await;
    }
}

async fn a_mark_that_is_old_comes_back(bench: &Bench) {
    let [home, far] = queues(bench, ["home", "far"]).await;
    let g = group(&home, "g").await;
    add(&far, &g, 0, item("0")).await;
    add(&home, &g, 1, item("1").delay(3 * DAY)).await;
    assert!(home.seal_group(&g, 3).await.unwrap());
    bench.advance(2 * DAY);
    far.deep_clean().await.unwrap();
    home.deep_clean().await.unwrap();
    assert!(home.cancel_group(&g).await.unwrap());
    assert_eq!(state(&far, "0").await, None);
    bench.advance(2 * DAY);
    far.deep_clean().await.unwrap();
    home.deep_clean().await.unwrap();
    let [home, far] = queues(bench, ["home", "far"]).await;
    add(&far, &g, 2, item("2")).await;
    assert_eq!(state(&far, "2").await, None);
    assert_eq!(filled(&home, "g").await, (3, 0, true));
}

async fn members_may_have_changed(bench: &Bench) {
    let [home, far] = queues(bench, ["home", "far"]).await;
    let g = group(&home, "g").await;
    let next = |id: &str| FollowUp::new(On::Dead, item(id));
    for (place, id) in ["revised", "attached", "both", "requeued", "dead"].iter().enumerate() {
        add(&far, &g, place as u32, item(id)).await;
    }
    assert!(far.revise("revised", Revision::new().priority(3)).await.unwrap());
    assert!(far.attach("attached", next("a")).await.unwrap());
    assert!(far.attach("both", next("b")).await.unwrap());
    assert!(far.revise("both", Revision::new().delay(HOUR)).await.unwrap());
    assert!(far.attach("both", next("c")).await.unwrap());
    assert_eq!(far.bury(["requeued", "dead"], "no").await.unwrap(), [true, true]);
    assert_eq!(far.requeue(["requeued"]).await.unwrap(), [true]);
    assert!(home.cancel_group(&g).await.unwrap());
    for id in ["revised", "attached", "both", "requeued"] {
        assert_eq!(state(&far, id).await, None, "{id}");
    }
    // Who requeues one that had died before wants it to run.
    assert_eq!(far.requeue(["dead"]).await.unwrap(), [true]);
    assert_eq!(state(&far, "dead").await, Some(State::Ready));
    // Also if others are added, or it gets follow-ups.
    add(&far, &g, 5, item("late")).await;
    assert_eq!(state(&far, "late").await, None);
    assert!(far.attach("dead", next("d")).await.unwrap());
    assert_eq!(state(&far, "dead").await, Some(State::Ready));
    // Unless the group is cancelled again.
    assert!(home.cancel_group(&g).await.unwrap());
    assert_eq!(state(&far, "dead").await, None);
    assert_eq!(filled(&home, "g").await, (6, 0, false));
    assert_sound(&far).await;
}

async fn thousands_of_members_are_cancelled_in_steps(bench: &Bench) {
    let all = queues(bench, ["home", "1", "2"]).await;
    let g = group(&all[0], "g").await;
    for (queue, first) in all.iter().zip([0, 2_500, 5_000]) {
        let members = (first..first + 2_500).map(|n| item(n.to_string()).in_group(&g, n));
        assert!(queue.add_items(members).await.unwrap().iter().all(|added| *added));
    }
    assert!(all[0].seal_group(&g, 7_500).await.unwrap());
    assert!(all[0].cancel_group(&g).await.unwrap());
    for queue in &all {
        while queue.light_clean().await.unwrap().next_in == Some(Duration::ZERO) {}
        assert_eq!(queue.counts().await.unwrap().ready, 0);
    }
    assert_eq!(filled(&all[0], "g").await, (7_500, 0, true));
    for queue in &all {
        assert_sound(queue).await;
    }
}

async fn groups_that_are_not_there_are_not_cancelled(bench: &Bench) {
    let [home, far] = queues(bench, ["home", "far"]).await;
    let old = group(&home, "g").await;
    add(&far, &old, 0, item("a")).await;
    assert!(home.remove_group(&old).await.unwrap());
    assert!(!home.cancel_group(&old).await.unwrap());
    let new = group(&home, "g").await;
    add(&far, &new, 0, item("b")).await;
    assert!(!home.cancel_group(&old).await.unwrap());
    assert_eq!(far.counts().await.unwrap().ready, 2);
    let error = far.cancel_group(&new).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(home.cancel_group(&new).await.unwrap());
    assert_eq!(drain(&far).await, ["a"]);
    let outcome =
        home.group_outcome("g", OutcomeOptions::new().wait(Duration::ZERO)).await.unwrap();
    assert_eq!(outcome, None, "it has not ended");
    bench.advance(DAY);
    assert!(!home.cancel_group(&new).await.unwrap(), "it is gone");
}

/// One of the members, in the queue of its place, and something that changes it without bringing it back from its end.
async fn change(queue: &WorkQueue, id: String, rng: &mut StdRng) {
    match rng.random_range(0..5) {
        0 => {
            _ = queue.attach(&id, FollowUp::new(On::Dead, item(format!("of {id}")))).await.unwrap()
        }
        1 => _ = queue.revise(id, Revision::new().priority(3)).await.unwrap(),
        2 => _ = queue.revise(id, Revision::new().delay(secs(5))).await.unwrap(),
        3 => _ = queue.remove(id).await.unwrap(),
        _ => _ = queue.bury([id], "no").await.unwrap(),
    }
}

async fn whatever_happens_no_member_waits(bench: &Bench) {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let all = queues(bench, ["home", "far", "other"]).await;
    let g = group(&all[0], "g").await;
    let cancelled_at = rng.random_range(0..200);
    let (mut added, mut leases) = (0, Vec::new());
    for step in 0..250 {
        if step == cancelled_at {
            assert!(all[0].cancel_group(&g).await.unwrap());
        }
        let place: u32 = rng.random_range(0..added + 1);
        let queue = &all[place as usize % all.len()];
        match rng.random_range(0..12) {
            0..5 => {
                let new = item(added.to_string()).in_group(&g, added);
                let new = if rng.random_bool(0.3) { new.delay(secs(20)) } else { new };
                let new = if rng.random_bool(0.3) { new.retain(secs(30)) } else { new };
                let new = if rng.random_bool(0.3) { new.key("k") } else { new };
                assert!(all[added as usize % all.len()].add_item(new).await.unwrap());
                added += 1;
            }
            5..8 => change(queue, place.to_string(), &mut rng).await,
            8 => leases.extend(queue.lease(at_once()).await.unwrap().map(|l| (queue.clone(), l))),
            9 if !leases.is_empty() => {
                let (queue, lease) = leases.swap_remove(rng.random_range(0..leases.len()));
                match rng.random_bool(0.5) {
                    true => _ = queue.complete(&lease).await.unwrap(),
                    false => _ = queue.fail(&lease, "no", secs(1)).await,
                }
            }
            10 => bench.advance(secs(rng.random_range(0..9))),
            _ => _ = queue.light_clean().await.unwrap(),
        }
    }
    bench.advance(secs(60));
    assert!(all[0].seal_group(&g, added.max(1)).await.unwrap());
    for _ in 0..2 {
        for queue in &all {
            queue.light_clean().await.unwrap();
            queue.deep_clean().await.unwrap();
        }
    }
    for queue in &all {
        assert_sound(queue).await;
        for state in [State::Ready, State::Delayed, State::Held, State::Leased] {
            for found in list_all(queue, state, 100).await {
                assert!(found.id.starts_with(b"of "), "{state:?} {:?}", found.id);
            }
        }
    }
    assert_eq!(filled(&all[0], "g").await.0, added);
}

on_every_engine!(
    whatever_happens_no_member_waits,
    members_are_cancelled_whatever_their_state,
    a_holder_may_still_complete,
    members_that_are_added_later_are_cancelled,
    a_mark_that_is_old_comes_back,
    members_may_have_changed,
    thousands_of_members_are_cancelled_in_steps,
    groups_that_are_not_there_are_not_cancelled,
);
