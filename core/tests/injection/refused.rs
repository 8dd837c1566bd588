//! Members of groups that are refused, and added later: wherever an add stops, its repeat tells the group what is true.

use ::redis::Commands;
use leaseq::{FollowUp, Group, Item, NewGroup, On, PlaceState, WorkQueue};

use crate::support::redis::{fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

use PlaceState::{Ended, Open};

const ADD: &str = "add extended";

struct Queues {
    home: WorkQueue,
    far: WorkQueue,
    group: Group,
}

impl Queues {
    /// A sealed group of four places. Something is in the way of the first two members, and the third one of the fourth.
    async fn new(stage: &mut Stage) -> Queues {
        let (home, far) = (stage.new_queue(), stage.new_queue());
        let next = FollowUp::new(On::Ended, item("next"));
        let group = home.create_group(NewGroup::new("g").follow_up(next)).await.unwrap();
        assert!(home.seal_group(&group, 4).await.unwrap());
        far.add_items([item("a"), item("owner").unique("u")]).await.unwrap();
        Queues { home, far, group }
    }

    fn members(&self) -> [Item; 4] {
        let own = FollowUp::new(On::Ended, item("own"));
        let all = [item("a"), item("b").unique("u"), item("c").follow_up(own), item("c")];
        let mut place = 0..;
        all.map(|item| item.in_group(&self.group, place.next().unwrap()))
    }

    async fn assert_places(&self, expected: [PlaceState; 4], when: &str) {
        // Whatever the call has left to others.
        for queue in [&self.far, &self.home] {
            queue.light_clean().await.unwrap();
        }
        assert_eq!(self.home.group_places(&self.group, 0).await.unwrap(), expected, "{when}");
    }

    /// Completes all, and expects that the group ends then.
    async fn end(&self, stage: &mut Stage, when: &str) {
        for queue in [&self.far, &self.home] {
            queue.deep_clean().await.unwrap();
            assert_sound(queue).await;
        }
        for lease in self.far.lease_many(10, at_once()).await.unwrap() {
            assert_eq!(self.home.queue_len().await.unwrap(), 0, "{when}");
            assert!(self.far.complete(&lease).await.unwrap());
        }
        // What a member has added.
        let own = take(&self.far).await;
        assert!(self.far.complete(&own).await.unwrap());
        assert_eq!(drain(&self.home).await, ["next"], "{when}");
        for queue in [&self.home, &self.far] {
            queue.deep_clean().await.unwrap();
            assert_sound(queue).await;
            let prefix = format!("leaseq:{{{}}}", queue.name());
            for key in ["deferred", "outbox", "outgoing", "follow_ups"] {
                let key = format!("{prefix}:{key}");
                assert_eq!(stage.raw.exists::<_, bool>(&key), Ok(false), "{key} {when}");
            }
        }
    }
}

/// Stops an add after each of its calls, and then the add of what was refused. It is repeated by the same client, or by another
/// one, also if it was not stopped.
async fn stops(is_repeated_by_another: bool) {
    let mut stage = Stage::new().await;
    for later in [false, true] {
        for calls in stopping_points() {
            let queues = Queues::new(&mut stage).await;
            let other = stage.bench.client().await.queue(queues.far.name()).unwrap();
            let when = format!("stopped after call {calls}, later: {later}");
            let mut failed = false;
            let mut add = async |items: &[Item], stop: bool| {
                if stop {
                    fail_after(&mut stage.raw, ADD, calls);
                }
                let first = queues.far.add_items(items.to_vec()).await;
                if stop {
                    failed = has_failed(&mut stage.raw, ADD);
                    assert_eq!(failed, first.is_err(), "{first:?}");
                }
                if is_repeated_by_another {
                    // It has also done what was noted.
                    other.light_clean().await.unwrap();
                    other.add_items(items.to_vec()).await.unwrap();
                } else if first.is_err() {
                    queues.far.add_items(items.to_vec()).await.unwrap();
                }
            };
            add(&queues.members(), !later).await;
            queues.assert_places([Ended, Ended, Open, Ended], &when).await;
            for id in ["a", "owner"] {
                assert!(queues.far.remove(id).await.unwrap());
            }
            add(&queues.members()[..2], later).await;
            queues.assert_places([Open, Open, Open, Ended], &when).await;
            eprintln!("{when}: {failed}");
            queues.end(&mut stage, &when).await;
            if !failed {
                assert!(calls > 1);
                break;
            }
        }
    }
}

#[tokio::test]
async fn repeated_by_the_same_client() {
    stops(false).await;
}

#[tokio::test]
async fn repeated_by_another_client() {
    stops(true).await;
}
