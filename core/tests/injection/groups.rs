//! Groups: wherever a script stops, a group adds what its end fires, once and not before all members have ended.

use std::collections::BTreeMap;

use ::redis::Commands;
use leaseq::{
    ErrorKind, FailOptions, FollowUp, Group, NewGroup, On, OutcomeOptions, State, WorkQueue,
};

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

/// Completes whatever comes; counts what the group has added.
async fn work(queue: &WorkQueue, called: &mut BTreeMap<String, usize>) {
    for _ in 0..3 {
        let leases = queue.lease_many(100, at_once()).await.unwrap();
        again(async || queue.complete_many(&leases).await).await;
        for id in ids(&leases).into_iter().filter(|id| id.starts_with("then")) {
            *called.entry(id).or_default() += 1;
        }
        queue.light_clean().await.unwrap();
    }
}

/// The life of a group with three members: one dies, is requeued and completed, one is removed.
async fn stops(script: &str) {
    let mut stage = Stage::new().await;
    for cleans in [true, false] {
        for calls in stopping_points() {
            let (home, far) = (stage.new_queue(), stage.new_queue());
            fail_after(&mut stage.raw, script, calls);
            let then = |on, id: &str| FollowUp::new(on, item(id).queue(far.name()));
            let new = NewGroup::new("g")
                .follow_up(then(On::Dead, "then"))
                .follow_up(then(On::Ended, "then too"));
            let group: Group = again(async || home.create_group(new.clone()).await).await;
            // Somebody waits for it.
            let waits = stage.bench.client().await.queue(home.name()).unwrap();
            let outcome = match cleans {
                true => Some(tokio::spawn(async move {
                    waits.group_outcome("g", OutcomeOptions::new()).await
                })),
                false => None,
            };
            far.add_item(item("a").in_group(&group, 0)).await.unwrap();
            let a = take(&far).await;
            far.add_item(item("b").in_group(&group, 1)).await.unwrap();
            home.add_item(item("c").in_group(&group, 2).delay(secs(60))).await.unwrap();
            let dead = FailOptions::new().dead();
            let died = far.fail_with(&a, "no", dead).await;
            // Another client, which does not wait with a queue that could not be reached.
            let client = stage.bench.client().await;
            let [home, far] = [&home, &far].map(|queue| client.queue(queue.name()).unwrap());
            let clean = async || {
                for queue in [&home, &far] {
                    queue.light_clean().await.unwrap();
                    if cleans {
                        queue.deep_clean().await.unwrap();
                        assert_sound(queue).await;
                    }
                }
            };
            clean().await;
            assert!(again(async || home.seal_group(&group, 3).await).await);
            again(async || home.remove("c").await).await;
            if died.is_ok() {
                assert_eq!(again(async || far.requeue(["a"]).await).await.len(), 1);
            }
            clean().await;
            let mut called = BTreeMap::new();
            // Nothing may come while both of the others live.
            for queue in [&home, &far] {
                for item in list_all(queue, State::Ready, 100).await {
                    assert!(!item.id.starts_with(b"then"), "{script} {calls}: too early");
                }
            }
            for _ in 0..4 {
                work(&far, &mut called).await;
                work(&home, &mut called).await;
                stage.bench.advance(secs(60));
            }
            let failed = has_failed(&mut stage.raw, script);
            eprintln!("{script} stopped after call {calls}, cleaned {cleans}: {failed} {died:?}");
            let client = stage.bench.client().await;
            let [home, far] = [&home, &far].map(|queue| client.queue(queue.name()).unwrap());
            work(&far, &mut called).await;
            for queue in [&home, &far] {
                queue.deep_clean().await.unwrap();
                assert_sound(queue).await;
                work(queue, &mut called).await;
                queue.deep_clean().await.unwrap();
                let prefix = format!("leaseq:{{{}}}", queue.name());
                for key in ["deferred", "outbox", "outgoing"] {
                    let key = format!("{prefix}:{key}");
                    assert_eq!(stage.raw.exists::<_, bool>(&key), Ok(false), "{key}");
                }
            }
            let info = home.group("g").await.unwrap().unwrap();
            assert_eq!((info.places, info.ended, info.has_ended), (Some(3), 3, true), "{info:?}");
            if let Some(outcome) = outcome {
                assert_eq!(outcome.await.unwrap().unwrap().unwrap().info(), Some(&info));
            }
            // Records without ids that have been added again since come back with a clean that is too late.
            let most = if cleans { 1 } else { 2 };
            for id in ["then", "then too"] {
                let times = called.get(id).copied().unwrap_or(0);
                assert!((1..=most).contains(&times), "{script} {calls} {id}: {called:?}");
            }
            if !failed {
                assert!(calls > 1, "{script} makes no call");
                break;
            }
        }
    }
}

#[tokio::test]
async fn changes() {
    stops("change_group").await;
}

#[tokio::test]
async fn ends() {
    for script in ["fail extended", "complete extended", "remove", "requeue"] {
        stops(script).await;
    }
}

#[tokio::test]
async fn reports() {
    for script in ["distribute", "forward", "outbox"] {
        stops(script).await;
    }
}
