//! Groups: what is added when all members have ended, wherever they are and however they end.

use std::time::Duration;

use leaseq::{
    CompleteOptions, DropOptions, ErrorKind, FailOptions, FollowUp, Group, GroupInfo, Item,
    NewGroup, On, PlaceState, State, WorkQueue,
};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

async fn queues<const N: usize>(bench: &Bench, names: [&str; N]) -> [WorkQueue; N] {
    let client = bench.client().await;
    names.map(|name| client.queue(name).unwrap())
}

/// A group with a follow-up for each kind of end, for queue `calls`.
fn new_group(id: &str) -> NewGroup {
    let kinds = [(On::Completed, "done"), (On::Dead, "failed"), (On::Ended, "ended")];
    kinds.into_iter().fold(NewGroup::new(id), |group, (on, name)| {
        let item = item(format!("{id} {name}")).queue("calls");
        group.follow_up(FollowUp::new(on, item).with_trigger())
    })
}

async fn add(queue: &WorkQueue, group: &Group, place: u32, item: Item) {
    assert!(queue.add_item(item.in_group(group, place)).await.unwrap());
}

async fn complete(queue: &WorkQueue, id: &str) {
    let lease = take(queue).await;
    assert_eq!(lease.id_str(), Some(id));
    assert!(queue.complete(&lease).await.unwrap());
}

async fn die(queue: &WorkQueue, id: &str) {
    let lease = take(queue).await;
    assert_eq!(lease.id_str(), Some(id));
    let dead = FailOptions::new().dead();
    assert_eq!(queue.fail_with(&lease, "no", dead).await.unwrap(), State::Dead);
}

async fn info(queue: &WorkQueue, id: &str) -> GroupInfo {
    queue.group(id).await.unwrap().unwrap()
}

/// How many places have ended and are completed, and whether the group has ended.
async fn filled(queue: &WorkQueue, id: &str) -> (u32, u32, bool) {
    let info = info(queue, id).await;
    (info.ended, info.completed, info.has_ended)
}

/// What groups have added since, in the order of the ids.
async fn called(queue: &WorkQueue) -> Vec<String> {
    let leases = queue.lease_many(1000, at_once()).await.unwrap();
    queue.complete_many(&leases).await.unwrap();
    let mut ids = ids(&leases);
    ids.sort();
    ids
}

async fn assert_all_sound(queues: &[&WorkQueue]) {
    for queue in queues {
        assert_sound(queue).await;
    }
}

async fn members_of_any_queue_end_a_group(bench: &Bench) {
    let [home, far, calls] = queues(bench, ["home", "far", "calls"]).await;
    let group = home.create_group(new_group("g")).await.unwrap();
    assert_eq!((group.queue(), group.id()), ("home", &b"g"[..]));
    let same = Group::new("home", "g", &group.generation()).unwrap();
    assert_eq!(same, group);
    add(&home, &group, 0, item("a")).await;
    add(&far, &same, 1, item("b").follow_up(FollowUp::new(On::Ended, item("b-next")))).await;
    add(&far, &group, 2, Item::new(vec![b'x'; 20_000]).with_id("c")).await;
    let before = info(&home, "g").await;
    assert_eq!((before.places, before.ended, before.has_ended), (None, 0, false));
    bench.advance(secs(5));
    complete(&home, "a").await;
    assert_eq!(filled(&home, "g").await, (1, 1, false));
    assert_eq!(since_1970(info(&home, "g").await.changed), bench.now());
    assert!(home.seal_group(&group, 3).await.unwrap());
    complete(&far, "b").await;
    complete(&far, "c").await;
    assert_eq!(filled(&home, "g").await, (3, 3, true));
    assert_eq!(info(&home, "g").await.places, Some(3));
    let lease = take(&calls).await;
    assert_eq!((lease.id(), lease.trigger().unwrap().id()), (&b"g done"[..], &b"g"[..]));
    assert_eq!(called(&calls).await, ["g ended"]);
    assert!(calls.complete(&lease).await.unwrap());
    complete(&far, "b-next").await;
    assert_eq!(called(&calls).await, [""; 0]);
    assert_all_sound(&[&home, &far, &calls]).await;
}

async fn a_group_that_is_not_sealed_does_not_end(bench: &Bench) {
    let [home, far, calls] = queues(bench, ["home", "far", "calls"]).await;
    let group = home.create_group(new_group("g")).await.unwrap();
    add(&far, &group, 0, item("a")).await;
    die(&far, "a").await;
    assert_eq!(filled(&home, "g").await, (1, 0, false));
    assert_eq!(far.requeue(["a"]).await.unwrap(), [true]);
    assert_eq!(filled(&home, "g").await, (0, 0, false));
    // No place of these has ended, either.
    assert!(far.add_item(item("b")).await.unwrap());
    assert!(!far.add_item(item("b").in_group(&group, 1)).await.unwrap());
    assert!(far.remove("b").await.unwrap());
    add(&far, &group, 1, item("b")).await;
    assert_eq!(filled(&home, "g").await, (0, 0, false));
    assert!(home.seal_group(&group, 2).await.unwrap());
    complete(&far, "a").await;
    assert_eq!(filled(&home, "g").await, (1, 1, false));
    complete(&far, "b").await;
    assert_eq!(called(&calls).await, ["g done", "g ended"]);
}

async fn a_group_of_its_own_queue_needs_no_other(bench: &Bench) {
    let [home] = queues(bench, ["home"]).await;
    let next = NewGroup::new("g").follow_up(FollowUp::new(On::Completed, item("next")));
    let group = home.create_group(next).await.unwrap();
    add(&home, &group, 0, item("a")).await;
    assert!(home.seal_group(&group, 1).await.unwrap());
    complete(&home, "a").await;
    complete(&home, "next").await;
    // One without follow-ups ends too.
    let group = home.create_group(NewGroup::new("none")).await.unwrap();
    add(&home, &group, 0, item("a")).await;
    complete(&home, "a").await;
    assert!(home.seal_group(&group, 1).await.unwrap());
    assert_eq!(filled(&home, "none").await, (1, 1, true));
    assert_sound(&home).await;
}

async fn however_members_end_it_counts_once(bench: &Bench) {
    let [home, far, calls] = queues(bench, ["home", "far", "calls"]).await;
    let group = home.create_group(new_group("g")).await.unwrap();
    add(&far, &group, 0, item("completed").retain(HOUR)).await;
    complete(&far, "completed").await;
    add(&far, &group, 1, item("dead").max_attempts(1)).await;
    die(&far, "dead").await;
    add(&far, &group, 2, item("expired").expires_in(secs(5))).await;
    bench.advance(secs(5));
    far.light_clean().await.unwrap();
    add(&far, &group, 3, item("cancelled")).await;
    assert!(far.cancel("cancelled").await.unwrap());
    add(&far, &group, 4, item("removed")).await;
    assert!(far.remove("removed").await.unwrap());
    add(&far, &group, 5, item("buried")).await;
    assert_eq!(far.bury(["buried"], "no").await.unwrap(), [true]);
    add(&far, &group, 6, item("purged")).await;
    assert_eq!(far.purge(State::Ready).await.unwrap(), 1);
    add(&far, &group, 7, item("reclaimed").max_attempts(1)).await;
    take(&far).await;
    bench.advance(secs(10));
    far.light_clean().await.unwrap();
    add(&far, &group, 8, item("cancelled while leased")).await;
    let lease = take(&far).await;
    assert!(far.cancel("cancelled while leased").await.unwrap());
    far.release(&lease, Duration::ZERO).await.unwrap();
    add(&far, &group, 9, item("replaced").unique("u")).await;
    assert!(far.add_item(item("other").unique("u").replace()).await.unwrap());
    assert_eq!(filled(&home, "g").await, (10, 1, false));
    // Of those that have ended, nothing counts again.
    for id in ["dead", "expired", "buried", "completed", "reclaimed"] {
        assert!(far.remove(id).await.unwrap(), "{id}");
    }
    complete(&far, "other").await;
    assert_eq!(filled(&home, "g").await, (10, 1, false));
    assert!(home.seal_group(&group, 10).await.unwrap());
    assert_eq!(called(&calls).await, ["g ended", "g failed"]);
    let states = home.group_places(&group, 0).await.unwrap();
    assert_eq!(states[0], PlaceState::Completed);
    assert!(states[1..].iter().all(|state| *state == PlaceState::Ended) && states.len() == 10);
    assert_all_sound(&[&home, &far, &calls]).await;
}

async fn a_requeue_opens_a_place_and_late_completions_count(bench: &Bench) {
    let [home, far, calls] = queues(bench, ["home", "far", "calls"]).await;
    let group = home.create_group(new_group("g")).await.unwrap();
    add(&far, &group, 0, item("a")).await;
    add(&far, &group, 1, item("b").priority(1).max_attempts(1)).await;
    add(&home, &group, 2, item("c")).await;
    assert!(home.seal_group(&group, 3).await.unwrap());
    let late = take(&far).await;
    bench.advance(secs(10));
    far.light_clean().await.unwrap();
    die(&far, "a").await;
    assert_eq!(filled(&home, "g").await, (2, 0, false));
    assert_eq!(far.requeue(["a"]).await.unwrap(), [true]);
    assert_eq!(filled(&home, "g").await, (1, 0, false));
    complete(&home, "c").await;
    assert_eq!(filled(&home, "g").await, (2, 1, false));
    // It is dead, and its holder comes late.
    assert!(far.complete(&late).await.unwrap());
    assert_eq!(filled(&home, "g").await, (2, 2, false));
    assert_eq!(called(&calls).await, [""; 0]);
    complete(&far, "a").await;
    assert_eq!(filled(&home, "g").await, (3, 3, true));
    assert_eq!(called(&calls).await, ["g done", "g ended"]);
    assert_all_sound(&[&home, &far, &calls]).await;
}

async fn an_ended_group_changes_no_more(bench: &Bench) {
    let [home, calls] = queues(bench, ["home", "calls"]).await;
    let group = home.create_group(new_group("g")).await.unwrap();
    add(&home, &group, 0, item("a")).await;
    assert!(home.seal_group(&group, 1).await.unwrap());
    die(&home, "a").await;
    assert_eq!(called(&calls).await, ["g ended", "g failed"]);
    assert_eq!(home.requeue(["a"]).await.unwrap(), [true]);
    complete(&home, "a").await;
    assert_eq!(filled(&home, "g").await, (1, 0, true));
    assert_eq!(called(&calls).await, [""; 0]);
    assert_eq!(home.create_group(new_group("g")).await.unwrap(), group);
    // A day later the id is free.
    bench.advance(DAY);
    assert_eq!(home.group("g").await.unwrap(), None);
    let next = home.create_group(new_group("g")).await.unwrap();
    assert_ne!(next, group);
    assert_eq!(filled(&home, "g").await, (0, 0, false));
    assert_all_sound(&[&home, &calls]).await;
}

async fn a_seal_counts_anew_and_may_be_repeated(bench: &Bench) {
    let [home, calls] = queues(bench, ["home", "calls"]).await;
    let group = home.create_group(new_group("g")).await.unwrap();
    for (place, id) in [(0, "a"), (700, "b"), (99_999, "c")] {
        add(&home, &group, place, item(id)).await;
        complete(&home, id).await;
    }
    assert_eq!(filled(&home, "g").await, (3, 3, false));
    assert!(home.seal_group(&group, 701).await.unwrap());
    assert_eq!(filled(&home, "g").await, (2, 2, false));
    assert!(home.seal_group(&group, 701).await.unwrap());
    assert!(!home.seal_group(&group, 2).await.unwrap());
    let places = home.group_places(&group, 699).await.unwrap();
    assert_eq!(places, [PlaceState::Open, PlaceState::Completed]);
    // Places behind the last one are ignored.
    add(&home, &group, 701, item("d")).await;
    complete(&home, "d").await;
    assert_eq!(filled(&home, "g").await, (2, 2, false));
    assert_eq!(called(&calls).await, [""; 0]);
    let all: Vec<Item> = (1..700).map(|n| item(n.to_string()).in_group(&group, n)).collect();
    home.add_items(all).await.unwrap();
    let leases = home.lease_many(1000, at_once()).await.unwrap();
    assert_eq!(home.complete_many(&leases[1..]).await.unwrap(), [true; 698]);
    assert_eq!(called(&calls).await, [""; 0]);
    assert!(home.complete(&leases[0]).await.unwrap());
    assert_eq!(filled(&home, "g").await, (701, 701, true));
    assert_eq!(called(&calls).await, ["g done", "g ended"]);
    assert_all_sound(&[&home, &calls]).await;
}

async fn thousands_of_members_in_four_queues(bench: &Bench) {
    let all = queues(bench, ["home", "1", "2", "3"]).await;
    let [calls] = queues(bench, ["calls"]).await;
    let group = all[0].create_group(new_group("g")).await.unwrap();
    for (queue, first) in all.iter().zip([0, 1_000, 2_000, 3_000]) {
        let members = first..first + 1_000;
        let items = members.map(|n| item(n.to_string()).in_group(&group, n));
        assert!(queue.add_items(items).await.unwrap().iter().all(|added| *added));
    }
    assert!(all[0].seal_group(&group, 4_000).await.unwrap());
    for queue in all.iter().rev() {
        assert_eq!(called(&calls).await, [""; 0]);
        let leases = queue.lease_many(1_000, at_once()).await.unwrap();
        queue.complete_many(&leases).await.unwrap();
        while queue.light_clean().await.unwrap().next_in == Some(Duration::ZERO) {}
    }
    assert_eq!(filled(&all[0], "g").await, (4_000, 4_000, true));
    assert_eq!(called(&calls).await, ["g done", "g ended"]);
    let places = all[0].group_places(&group, 3_500).await.unwrap();
    assert_eq!(places, [PlaceState::Completed; 500]);
    for queue in &all {
        assert_sound(queue).await;
    }
}

async fn removed_and_forgotten_groups_get_no_reports(bench: &Bench) {
    let [home, far, calls] = queues(bench, ["home", "far", "calls"]).await;
    let group = home.create_group(new_group("g")).await.unwrap();
    add(&far, &group, 0, item("a")).await;
    assert!(home.remove_group(&group).await.unwrap());
    assert!(!home.remove_group(&group).await.unwrap());
    assert!(!home.seal_group(&group, 1).await.unwrap());
    assert_eq!(home.group_places(&group, 0).await.unwrap(), []);
    let next = home.create_group(new_group("g")).await.unwrap();
    assert!(home.seal_group(&next, 1).await.unwrap());
    complete(&far, "a").await;
    assert_eq!(filled(&home, "g").await, (0, 0, false));
    assert!(!home.remove_group(&group).await.unwrap());
    // A sealed one waits; one that is not sealed goes a day after its last change.
    let open = home.create_group(new_group("open")).await.unwrap();
    bench.advance(DAY - secs(10));
    add(&far, &open, 0, item("b")).await;
    complete(&far, "b").await;
    bench.advance(DAY - secs(10));
    assert_eq!(filled(&home, "open").await, (1, 1, false));
    bench.advance(secs(10));
    assert_eq!(home.group("open").await.unwrap(), None);
    assert!(!home.seal_group(&open, 1).await.unwrap());
    home.deep_clean().await.unwrap();
    add(&far, &next, 0, item("c")).await;
    complete(&far, "c").await;
    assert_eq!(called(&calls).await, ["g done", "g ended"]);
    assert_all_sound(&[&home, &far, &calls]).await;
}

async fn dropped_queues_report_their_members(bench: &Bench) {
    let [home, far, calls] = queues(bench, ["home", "far", "calls"]).await;
    for force in [false, true] {
        let group = home.create_group(new_group("g")).await.unwrap();
        add(&far, &group, 0, item("a")).await;
        add(&far, &group, 1, item("b").delay(secs(60))).await;
        add(&far, &group, 2, item("c").retain(HOUR)).await;
        assert!(home.seal_group(&group, 3).await.unwrap());
        let leases = far.lease_many(2, at_once()).await.unwrap();
        assert!(far.complete(&leases[1]).await.unwrap());
        let options = if force { DropOptions::new().force() } else { DropOptions::new() };
        assert!(far.drop_queue_with(options).await.unwrap());
        assert!(!far.drop_queue().await.unwrap());
        assert_eq!(filled(&home, "g").await, (3, 1, true));
        assert_eq!(called(&calls).await, ["g ended", "g failed"]);
        assert!(home.remove_group(&group).await.unwrap());
    }
    // The group goes with its own queue, and its members are none any more.
    let group = home.create_group(new_group("g")).await.unwrap();
    add(&far, &group, 0, item("a")).await;
    assert!(home.drop_queue().await.unwrap());
    let next = home.create_group(new_group("g")).await.unwrap();
    assert!(home.seal_group(&next, 1).await.unwrap());
    complete(&far, "a").await;
    assert_eq!(filled(&home, "g").await, (0, 0, false));
    assert!(far.drop_queue().await.unwrap());
    assert_all_sound(&[&home, &calls]).await;
}

async fn what_is_invalid_changes_nothing(bench: &Bench) {
    let [home, far] = queues(bench, ["home", "far"]).await;
    let group = home.create_group(NewGroup::new("g")).await.unwrap();
    let member = || item("a").in_group(&group, 0);
    let follow_up = FollowUp::new(On::Ended, member());
    for (item, message) in [
        (item("a").in_group(&group, 100_000), "place 100000 of a group is over the limit of 99999"),
        (member().replace(), "cannot replace others"),
        (item("b").follow_up(follow_up), "only what is added at once"),
    ] {
        let error = home.add_item(item).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(message), "{error}");
    }
    for places in [0, 100_001] {
        let error = home.seal_group(&group, places).await.unwrap_err();
        assert!(error.to_string().contains(&format!("{places} places are not")), "{error}");
    }
    assert_eq!(kind(far.seal_group(&group, 1).await), ErrorKind::Invalid);
    assert_eq!(kind(far.remove_group(&group).await), ErrorKind::Invalid);
    assert_eq!(kind(home.create_group(NewGroup::new("")).await), ErrorKind::Invalid);
    assert_eq!(kind(home.group("").await), ErrorKind::Invalid);
    assert_eq!(kind(Group::new("home", "g", "?")), ErrorKind::Invalid);
    let name = NewGroup::new("g").follow_up(FollowUp::new(On::Ended, item("x").queue("{}")));
    assert_eq!(kind(home.create_group(name).await), ErrorKind::Invalid);
    home.add_item(item("a")).await.unwrap();
    let add = CompleteOptions::new().add_items([item("b").in_group(&group, 0)]);
    assert_eq!(kind(home.complete_with(&take(&home).await, add).await), ErrorKind::Invalid);
    assert_eq!(filled(&home, "g").await, (0, 0, false));
    assert_eq!(far.group("g").await.unwrap(), None);
    assert!(!bench.client().await.queues().await.unwrap().iter().any(|name| name == "far"));
}

on_every_engine!(
    members_of_any_queue_end_a_group,
    a_group_that_is_not_sealed_does_not_end,
    a_group_of_its_own_queue_needs_no_other,
    however_members_end_it_counts_once,
    a_requeue_opens_a_place_and_late_completions_count,
    an_ended_group_changes_no_more,
    a_seal_counts_anew_and_may_be_repeated,
    thousands_of_members_in_four_queues,
    removed_and_forgotten_groups_get_no_reports,
    dropped_queues_report_their_members,
    what_is_invalid_changes_nothing,
);
