//! Completed items that have one follow-up each, without options: one note is about all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use ::redis::{Commands, Connection};
use leaseq::{ErrorKind, FollowUp, LeaseOptions, On, WorkQueue};

use crate::follow_ups::work;
use crate::support::redis::{expect_waiters, fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

const LONG: Duration = Duration::from_secs(1800);

/// A note that cannot be read stands in front of all others, so completions do not add what they fire.
fn leave_a_note(raw: &mut Connection, queue: &WorkQueue) {
    raw.rpush::<_, _, ()>(format!("leaseq:{{{}}}:deferred", queue.name()), "0t").unwrap();
}

/// What the items of [`plain_follow_ups_of_completions`] have.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plain {
    Own,
    Chain,
    /// All have the same one.
    Shared,
    /// One that the queue has already.
    Known,
}

/// Follow-ups without options, and chains of them, which completions note as one and add by a shorter way. Wherever the script
/// stops, each comes once.
#[tokio::test]
async fn plain_follow_ups_of_completions() {
    let mut stage = Stage::new().await;
    let scripts = ["complete extended", "complete_and_lease extended", "distribute"];
    let kinds = [Plain::Own, Plain::Chain, Plain::Shared, Plain::Known];
    let cases = scripts.iter().flat_map(|&script| {
        kinds.iter().flat_map(move |&kind| [true, false].map(|cleans| (script, cleans, kind)))
    });
    for (script, cleans, kind) in cases {
        let next_id = |n| if kind == Plain::Shared { "next".into() } else { format!("{n}-next") };
        for calls in stopping_points() {
            let queue = stage.new_queue();
            for n in 0..3 {
                let follow_up = |item| FollowUp::new(On::Completed, item);
                let next = item(next_id(n));
                let follow_up = if kind == Plain::Chain {
                    let last = follow_up(item(format!("{n}-last"))).with_trigger();
                    follow_up(next.follow_up(last)).with_trigger()
                } else {
                    follow_up(next)
                };
                queue.add_item(item(n.to_string()).follow_up(follow_up)).await.unwrap();
            }
            let options = LeaseOptions::new(LONG).wait(Duration::ZERO);
            let leases = queue.lease_many(3, options).await.unwrap();
            if kind == Plain::Known {
                queue.add_item(item(next_id(1))).await.unwrap();
            }
            expect_waiters(&mut stage.raw, queue.name());
            if script == "distribute" {
                leave_a_note(&mut stage.raw, &queue);
            }
            fail_after(&mut stage.raw, script, calls);
            let mut came = BTreeMap::new();
            let answer = if script == "complete_and_lease extended" {
                let both = queue.complete_and_lease(&leases, 2, at_once()).await;
                both.map(|both| (both.completed, both.leases))
            } else {
                queue.complete_many(&leases).await.map(|done| (done, vec![]))
            };
            let failed = has_failed(&mut stage.raw, script);
            eprintln!("{script} stopped after call {calls}, {cleans}, {kind:?}: {failed}");
            match answer {
                Ok((done, leased)) => {
                    assert_eq!(done, [true; 3]);
                    // They are there for the same step.
                    if script == "complete_and_lease extended" {
                        assert_eq!(leased.len(), if kind == Plain::Shared { 1 } else { 2 });
                    }
                    for id in ids(&leased) {
                        *came.entry(id).or_default() += 1;
                    }
                    queue.complete_many(&leased).await.unwrap();
                }
                Err(error) => assert!(failed && error.kind() == ErrorKind::Internal, "{error}"),
            }
            for _ in 0..2 {
                if cleans {
                    queue.deep_clean().await.unwrap();
                    assert_sound(&queue).await;
                }
                for (id, times) in work(&stage.bench, &queue).await {
                    *came.entry(id).or_default() += times;
                }
                queue.deep_clean().await.unwrap();
            }
            for n in 0..3 {
                let last = usize::from(kind == Plain::Chain);
                // One that was there may have been worked off before its trigger has ended.
                let again = usize::from(kind == Plain::Known && n == 1 && failed);
                for (id, least, most) in
                    [(next_id(n), 1, 1 + again), (format!("{n}-last"), last, last)]
                {
                    let times = came.get(&id).copied().unwrap_or(0);
                    assert!((least..=most).contains(&times), "{id}: {came:?}");
                }
            }
            let prefix = format!("leaseq:{{{}}}", queue.name());
            for key in ["deferred", "follow_ups"] {
                let key = format!("{prefix}:{key}");
                assert_eq!(stage.raw.exists::<_, bool>(&key), Ok(false), "{key}");
            }
            if !failed {
                assert!(calls > 1, "{script} makes no call");
                break;
            }
        }
    }
}

/// Ends that nobody has distributed come in a few steps, in their order.
#[tokio::test]
async fn ends_that_wait_are_distributed_together() {
    let mut stage = Stage::new().await;
    let queue = stage.new_queue();
    let deferred = format!("leaseq:{{{}}}:deferred", queue.name());
    let at_once = || LeaseOptions::new(LONG).wait(Duration::ZERO);
    let followed = (0..80).map(|n| {
        let next = FollowUp::new(On::Completed, item(format!("{n}-next")));
        item(n.to_string()).follow_up(next)
    });
    queue.add_items(followed).await.unwrap();
    let leases = queue.lease_many(80, at_once()).await.unwrap();
    leave_a_note(&mut stage.raw, &queue);
    for pair in leases.chunks(2) {
        // The client that completes them would distribute.
        fail_after(&mut stage.raw, "distribute", 1);
        assert_eq!(queue.complete_many(pair).await.unwrap(), [true; 2]);
        assert!(has_failed(&mut stage.raw, "distribute"));
    }
    assert_eq!(stage.raw.llen::<_, usize>(&deferred), Ok(41));
    // One step for the note in front, and one for the others.
    for steps in 0.. {
        assert!(steps < 3, "{steps} cleans were not enough");
        queue.light_clean().await.unwrap();
        if !stage.raw.exists::<_, bool>(&deferred).unwrap() {
            break;
        }
    }
    let leases = queue.lease_many(100, at_once()).await.unwrap();
    let expected: Vec<_> = (0..80).map(|n| format!("{n}-next")).collect();
    assert_eq!(ids(&leases), expected);
    assert_eq!(queue.complete_many(&leases).await.unwrap(), [true; 80]);
    assert_sound(&queue).await;
}
