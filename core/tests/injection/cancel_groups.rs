//! Cancelled groups: wherever a script stops, all members end, also those that are added later, and the group ends once.

use ::redis::Commands;
use leaseq::{ErrorKind, FollowUp, NewGroup, On, State, WorkQueue};

use crate::support::redis::{fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

/// Does it, and once more if it was stopped.
async fn again<T>(act: impl AsyncFn() -> leaseq::Result<T>) -> T {
    match act().await {
        Err(error) if error.kind() == ErrorKind::Internal => act().await.unwrap(),
        answer => answer.unwrap(),
    }
}

async fn clean(queues: [&WorkQueue; 2]) {
    for queue in queues {
        queue.light_clean().await.unwrap();
        queue.deep_clean().await.unwrap();
        assert_sound(queue).await;
    }
}

/// A group with members in two queues, of which one is leased, one gets a follow-up and one comes late.
async fn stops(script: &str) {
    let mut stage = Stage::new().await;
    for calls in stopping_points() {
        let (home, far) = (stage.new_queue(), stage.new_queue());
        fail_after(&mut stage.raw, script, calls);
        let then = FollowUp::new(On::Ended, item("then").queue(home.name()));
        let new = NewGroup::new("g").follow_up(then);
        let group = again(async || home.create_group(new.clone()).await).await;
        let member = |id: &str, place| item(id).in_group(&group, place);
        again(async || far.add_item(member("leased", 0)).await).await;
        // What has stopped behind the id of the item has left it in no state.
        far.deep_clean().await.unwrap();
        let lease = take(&far).await;
        again(async || far.add_item(member("attached", 1)).await).await;
        let attached = || FollowUp::new(On::Dead, item("never"));
        again(async || far.attach("attached", attached()).await).await;
        again(async || far.add_item(member("kept", 2).retain(secs(3_600))).await).await;
        again(async || home.add_item(member("delayed", 3).delay(secs(60))).await).await;
        assert!(again(async || home.cancel_group(&group).await).await);
        again(async || far.add_item(member("late", 4)).await).await;
        assert!(again(async || home.seal_group(&group, 5).await).await);

        // Another client, which does not wait with a queue that could not be reached.
        let client = stage.bench.client().await;
        let [home, far] = [&home, &far].map(|queue| client.queue(queue.name()).unwrap());
        for _ in 0..3 {
            clean([&home, &far]).await;
        }
        let failed = has_failed(&mut stage.raw, script);
        eprintln!("{script} stopped after call {calls}: {failed}");
        let states = [(&far, "attached"), (&far, "late"), (&home, "delayed")];
        for (queue, id) in states {
            assert!(queue.get(id).await.unwrap().is_none(), "{script} {calls}: {id}");
        }
        let kept = far.get("kept").await.unwrap().map(|found| found.state);
        if script == "cancel_members" && kept == Some(State::Ready) {
            // Stopped before its id led to its new number: as for `cancel`, a deep clean has made it ready again.
            assert!(far.remove("kept").await.unwrap());
        } else {
            assert_eq!(kept, Some(State::Cancelled), "{script} {calls}");
        }
        let state = far.fail(&lease, "no", std::time::Duration::ZERO).await.unwrap();
        assert_eq!(state, State::Cancelled, "{script} {calls}");
        let info = home.group("g").await.unwrap().unwrap();
        assert_eq!((info.ended, info.completed, info.has_ended), (5, 0, true), "{info:?}");
        assert_eq!(drain(&home).await, ["then"], "{script} {calls}");
        assert_eq!(drain(&far).await, [""; 0], "{script} {calls}");
        clean([&home, &far]).await;
        for queue in [&home, &far] {
            let prefix = format!("leaseq:{{{}}}", queue.name());
            for key in ["deferred", "outbox", "outgoing", "members"] {
                let key = format!("{prefix}:{key}");
                assert_eq!(stage.raw.exists::<_, bool>(&key), Ok(false), "{script} {calls}: {key}");
            }
        }
        if !failed {
            assert!(calls > 1, "{script} makes no call");
            break;
        }
    }
}

#[tokio::test]
async fn members() {
    for script in ["add extended", "attach"] {
        stops(script).await;
    }
}

#[tokio::test]
async fn groups() {
    stops("change_group").await;
}

#[tokio::test]
async fn steps() {
    for script in ["distribute", "forward", "outbox", "cancel_members"] {
        stops(script).await;
    }
}
