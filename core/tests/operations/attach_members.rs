//! Follow-ups that are attached to members of groups, which keep their places.

use leaseq::{FailOptions, FollowUp, Item, NewGroup, On, State, Trigger, WorkQueue};

use crate::support::*;

/// Attaches one for each kind of end, which ask for what triggers them.
async fn attach_all(queue: &WorkQueue, id: &str) {
    for (on, name) in [(On::Completed, "completed"), (On::Dead, "dead"), (On::Ended, "ended")] {
        let follow_up = FollowUp::new(on, item(format!("{id}-{name}"))).with_trigger();
        assert!(queue.attach(id, follow_up).await.unwrap());
    }
}

async fn complete(queue: &WorkQueue, id: &str) {
    let lease = take(queue).await;
    assert_eq!(lease.id_str(), Some(id));
    assert!(queue.complete(&lease).await.unwrap());
}

/// How many places of the group have ended and are completed.
async fn filled(queue: &WorkQueue) -> (u32, u32) {
    let info = queue.group("g").await.unwrap().unwrap();
    (info.ended, info.completed)
}

async fn a_member_keeps_its_place(bench: &Bench) {
    let client = bench.client().await;
    let [home, far] = ["home", "far"].map(|name| client.queue(name).unwrap());
    let next = FollowUp::new(On::Completed, item("all done"));
    let group = home.create_group(NewGroup::new("g").follow_up(next)).await.unwrap();
    let own = |item: Item| item.follow_up(FollowUp::new(On::Ended, self::item("own")));
    let members = [
        // Before the last one: the places of a group that has ended do not open again.
        ("requeued", item("requeued")),
        ("ready", item("ready")),
        ("leased", own(item("leased"))),
        ("large", Item::new(vec![b'x'; 20_000]).with_id("large")),
    ];
    assert!(home.seal_group(&group, members.len() as u32).await.unwrap());

    for (place, (id, member)) in (0..).zip(members) {
        let done = place + 1;
        assert!(far.add_item(member.in_group(&group, place)).await.unwrap());
        if id != "leased" {
            attach_all(&far, id).await;
        }
        if id == "requeued" {
            let lease = take(&far).await;
            let dead = FailOptions::new().dead();
            assert_eq!(far.fail_with(&lease, "no", dead).await.unwrap(), State::Dead);
            assert_eq!(filled(&home).await, (done, done - 1));
            for expected in ["requeued-dead", "requeued-ended"] {
                complete(&far, expected).await;
            }
            // It is added at once, and changes nothing for the place.
            let late = FollowUp::new(On::Dead, item("late"));
            assert!(far.attach("requeued", late).await.unwrap());
            complete(&far, "late").await;
            assert_eq!(filled(&home).await, (done, done - 1));
            assert_eq!(far.requeue(["requeued"]).await.unwrap(), [true]);
            assert_eq!(filled(&home).await, (done - 1, done - 1));
            attach_all(&far, id).await;
        }
        let lease = take(&far).await;
        assert_eq!(lease.id_str(), Some(id));
        if id == "leased" {
            attach_all(&far, id).await;
        }
        assert!(far.complete(&lease).await.unwrap());
        assert_eq!(filled(&home).await, (done, done), "{id}");
        let leases = far.lease_many(10, at_once()).await.unwrap();
        let mut expected = vec![format!("{id}-completed"), format!("{id}-ended")];
        if id == "leased" {
            expected.push("own".to_owned());
        }
        let mut fired = ids(&leases);
        fired.sort();
        assert_eq!(fired, expected);
        for lease in &leases {
            let trigger = (lease.id_str() != Some("own")).then_some(id.as_bytes());
            assert_eq!(lease.trigger().map(Trigger::id), trigger);
        }
        assert_eq!(far.complete_many(&leases).await.unwrap(), vec![true; leases.len()]);
    }
    complete(&home, "all done").await;
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

async fn the_place_of_a_replaced_member_ends(bench: &Bench) {
    let client = bench.client().await;
    let [home, far] = ["home", "far"].map(|name| client.queue(name).unwrap());
    let next = FollowUp::new(On::Ended, item("all done"));
    let group = home.create_group(NewGroup::new("g").follow_up(next)).await.unwrap();
    for (place, id) in [(0, "a"), (1, "b")] {
        assert!(far.add_item(item(id).in_group(&group, place)).await.unwrap());
        attach_all(&far, id).await;
    }
    assert!(home.seal_group(&group, 2).await.unwrap());
    assert!(far.add_item(item("a").replace()).await.unwrap());
    assert_eq!(filled(&home).await, (1, 0));
    assert!(far.remove("b").await.unwrap());
    assert_eq!(filled(&home).await, (2, 0));
    complete(&home, "all done").await;
    // What the replaced one had has gone.
    let mut left = drain(&far).await;
    left.sort();
    assert_eq!(left, ["a", "b-ended"]);
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

on_every_engine!(a_member_keeps_its_place, the_place_of_a_replaced_member_ends);
