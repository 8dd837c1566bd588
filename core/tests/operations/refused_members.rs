//! Members of groups that are not added, because other items are in their way.

use leaseq::{FailOptions, FollowUp, Group, Item, NewGroup, On, PlaceState, State, WorkQueue};

use crate::support::*;

use PlaceState::{Completed, Ended, Open};

/// A group in queue `home` of so many places, and the queue of its members.
async fn new_group(bench: &Bench, places: u32) -> (WorkQueue, WorkQueue, Group) {
    let client = bench.client().await;
    let [home, far] = ["home", "far"].map(|name| client.queue(name).unwrap());
    let new = [(On::Completed, "done"), (On::Dead, "failed")]
        .into_iter()
        .fold(NewGroup::new("g"), |new, (on, id)| new.follow_up(FollowUp::new(on, item(id))));
    let group = home.create_group(new).await.unwrap();
    assert!(home.seal_group(&group, places).await.unwrap());
    (home, far, group)
}

async fn add(queue: &WorkQueue, item: Item) -> bool {
    queue.add_item(item).await.unwrap()
}

/// Completes all that comes; returns the ids, in order.
async fn done(queue: &WorkQueue) -> Vec<String> {
    let mut done = Vec::new();
    while let Some(lease) = queue.lease(at_once()).await.unwrap() {
        assert!(queue.complete(&lease).await.unwrap());
        done.push(lease.id_str().unwrap().to_owned());
    }
    done.sort();
    done
}

async fn assert_places(home: &WorkQueue, group: &Group, expected: &[PlaceState]) {
    assert_eq!(home.group_places(group, 0).await.unwrap(), expected);
    let info = home.group(group.id()).await.unwrap().unwrap();
    let count = |states: &[PlaceState]| {
        expected.iter().filter(|state| states.contains(state)).count() as u32
    };
    assert_eq!((info.ended, info.completed), (count(&[Ended, Completed]), count(&[Completed])));
}

async fn refused_members_have_ended(bench: &Bench) {
    let (home, far, group) = new_group(bench, 4).await;
    let other = home.create_group(NewGroup::new("other")).await.unwrap();
    let other_place = item("of another group").in_group(&other, 1);
    assert!(add(&far, item("taken").follow_up(FollowUp::new(On::Ended, item("next")))).await);
    assert!(add(&far, item("owner").unique("u").in_group(&other, 0)).await);
    assert!(add(&far, other_place).await);
    let refused = [
        item("taken").in_group(&group, 0).follow_up(FollowUp::new(On::Ended, item("never"))),
        item("has a key").unique("u").in_group(&group, 1),
        // The same place, but of another group.
        item("of another group").in_group(&group, 1),
        Item::new(vec![b'x'; 20_000]).with_id("taken").in_group(&group, 2),
    ];
    for _ in 0..2 {
        for item in refused.clone() {
            assert!(!add(&far, item).await);
        }
        assert_places(&home, &group, &[Ended, Ended, Ended, Open]).await;
    }
    assert!(add(&far, item("last").in_group(&group, 3)).await);
    assert_eq!(done(&far).await, ["last", "next", "of another group", "owner", "taken"]);
    assert_places(&home, &group, &[Ended, Ended, Ended, Completed]).await;
    assert_eq!(done(&home).await, ["failed"]);
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

async fn a_repeat_changes_nothing(bench: &Bench) {
    let (home, far, group) = new_group(bench, 7).await;
    let members = [
        item("ready"),
        item("delayed").delay(secs(60)),
        item("key").unique("u"),
        item("dead").priority(9),
        item("retained").priority(9).retain(secs(3_600)),
        item("removed"),
        item("gone").priority(9),
    ];
    let all = || (0..).zip(&members).map(|(place, member)| member.clone().in_group(&group, place));
    assert_eq!(far.add_items(all()).await.unwrap(), [true; 7]);
    assert!(!far.add_items(all()).await.unwrap().contains(&true));
    assert_places(&home, &group, &[Open; 7]).await;
    // A member without an id of its own is known by its unique key.
    assert!(!add(&far, Item::new("x").unique("u").in_group(&group, 2)).await);
    assert_places(&home, &group, &[Open; 7]).await;

    let leases = far.lease_many(3, at_once()).await.unwrap();
    assert_eq!(ids(&leases), ["dead", "retained", "gone"]);
    far.fail_with(&leases[0], "no", FailOptions::new().dead()).await.unwrap();
    assert_eq!(far.complete_many(&leases[1..]).await.unwrap(), [true; 2]);
    assert!(far.remove("removed").await.unwrap());
    for id in ["removed", "gone"] {
        assert!(add(&far, item(id)).await);
    }
    let expected = [Open, Open, Open, Ended, Completed, Ended, Completed];
    for _ in 0..2 {
        assert!(!far.add_items(all()).await.unwrap().contains(&true));
        assert_places(&home, &group, &expected).await;
    }
    // Now the queue has refused members, and notes repeats.
    assert!(far.requeue(["dead"]).await.unwrap()[0]);
    assert!(!far.add_items(all()).await.unwrap().contains(&true));
    let expected = [Open, Open, Open, Open, Completed, Ended, Completed];
    assert_places(&home, &group, &expected).await;
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

async fn a_refused_member_is_added_later(bench: &Bench) {
    let (home, far, group) = new_group(bench, 3).await;
    let member = |place: u32| item(place.to_string()).in_group(&group, place);
    for id in ["0", "1"] {
        assert!(add(&far, item(id)).await);
    }
    for place in [0, 1] {
        assert!(!add(&far, member(place)).await);
    }
    assert_places(&home, &group, &[Ended, Ended, Open]).await;
    assert_eq!(done(&far).await, ["0", "1"]);
    assert!(add(&far, member(0)).await);
    assert_places(&home, &group, &[Open, Ended, Open]).await;
    assert!(add(&far, member(2)).await);
    let leases = far.lease_many(2, at_once()).await.unwrap();
    assert!(far.complete(&leases[1]).await.unwrap());
    assert_places(&home, &group, &[Open, Ended, Completed]).await;
    assert_eq!(home.queue_len().await.unwrap(), 0);
    assert!(far.complete(&leases[0]).await.unwrap());
    assert_eq!(done(&home).await, ["failed"]);
    // A group that has ended changes no more, and one that is gone has no places.
    assert!(add(&far, member(1)).await);
    assert_places(&home, &group, &[Completed, Ended, Completed]).await;
    assert!(home.remove_group(&group).await.unwrap());
    assert!(!add(&far, item("1").in_group(&group, 0)).await);
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

async fn members_of_one_call_are_in_the_way_of_each_other(bench: &Bench) {
    let (home, far, group) = new_group(bench, 6).await;
    let members = [
        item("a").in_group(&group, 0),
        item("a").in_group(&group, 1),
        item("b").unique("u").in_group(&group, 2),
        item("c").unique("u").in_group(&group, 3),
        item("a").in_group(&group, 0),
        item("d"),
        item("d").in_group(&group, 4),
        item("e").in_group(&group, 5),
    ];
    let added = [true, false, true, false, false, true, false, true];
    assert_eq!(far.add_items(members.clone()).await.unwrap(), added);
    let expected = [Open, Ended, Open, Ended, Ended, Open];
    assert_places(&home, &group, &expected).await;
    // Those that are there are repeats.
    assert_eq!(far.add_items(members).await.unwrap(), [false; 8]);
    assert_places(&home, &group, &expected).await;
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

async fn a_refused_member_may_have_a_second_one_in_its_call(bench: &Bench) {
    let (home, far, group) = new_group(bench, 2).await;
    assert!(add(&far, item("a")).await);
    let members = || ["a", "b"].map(|id| item(id).in_group(&group, 0));
    assert_eq!(far.add_items(members()).await.unwrap(), [false, true]);
    assert_places(&home, &group, &[Open, Open]).await;
    assert_eq!(far.add_items(members()).await.unwrap(), [false, false]);
    assert_places(&home, &group, &[Open, Open]).await;
}

async fn a_thousand_refusals_in_the_queue_of_the_group(bench: &Bench) {
    let (home, _, group) = new_group(bench, 1_000).await;
    let all = || (0..1_000).map(|n| item(n.to_string()).priority(1));
    home.add_items(all()).await.unwrap();
    let members = (0..).zip(all()).map(|(place, item)| item.in_group(&group, place));
    assert_eq!(home.add_items(members).await.unwrap(), [false; 1_000]);
    while home.light_clean().await.unwrap().next_in == Some(std::time::Duration::ZERO) {}
    assert_places(&home, &group, &[Ended; 1_000]).await;
    assert_eq!(home.purge(State::Ready).await.unwrap(), 1_001);
    assert_sound(&home).await;
}

on_every_engine!(
    refused_members_have_ended,
    a_repeat_changes_nothing,
    a_refused_member_is_added_later,
    members_of_one_call_are_in_the_way_of_each_other,
    a_refused_member_may_have_a_second_one_in_its_call,
    a_thousand_refusals_in_the_queue_of_the_group,
);
