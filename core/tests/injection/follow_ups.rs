//! Scripts that end items with follow-ups, and the one that adds these. Wherever a script stops: whatever an item fires when
//! its run ends is added once, whether a deep clean comes before the workers go on or not.

use std::collections::BTreeMap;
use std::time::Duration;

use ::redis::Commands;
use leaseq::{
    CompleteOptions, ErrorKind, FailOptions, FollowUp, Item, Lease, LeaseOptions, On, Result,
    Revision, WorkQueue,
};

use crate::fixtures::Leases;
use crate::support::redis::{expect_waiters, fail_after, has_failed};
use crate::support::*;
use crate::verify::{Stage, stopping_points};

const LONG: Duration = Duration::from_secs(1800);

fn followed(item: Item) -> Item {
    let id = item.id().to_vec();
    let follow_up =
        |on, name: &[u8]| FollowUp::new(on, self::item([&id[..], name].concat())).with_trigger();
    item.follow_up(follow_up(On::Ended, b" ended")).follow_up(follow_up(On::Completed, b" done"))
}

const IDS: [&str; 7] = ["leased", "large", "retained", "expired", "waiting", "over", "dead"];

/// - `leased`, `large`, `retained`: leased by the caller; `expired`: past its deadline
/// - `over`: its time has passed, and nobody has seen it; `dead`: it has fired
async fn fixtures(bench: &Bench, queue: &WorkQueue) -> Leases {
    let mut leases = Leases::new();
    let mut lease = async |item: Item, duration| {
        queue.add_item(followed(item)).await.unwrap();
        let lease = queue.lease(LeaseOptions::new(duration)).await.unwrap().unwrap();
        leases.insert(lease.id_str().unwrap().to_owned(), lease);
    };
    lease(item("dead"), LONG).await;
    lease(item("expired").max_attempts(1), secs(5)).await;
    lease(item("leased"), LONG).await;
    lease(Item::new(vec![b'x'; 20_000]).with_id("large"), LONG).await;
    lease(item("retained").retain(LONG), LONG).await;
    let dead = FailOptions::new().dead();
    queue.fail_with(&leases["dead"], "no", dead).await.unwrap();
    queue.add_item(followed(item("over").expires_in(secs(5)))).await.unwrap();
    queue.add_item(followed(item("waiting").delay(secs(60)))).await.unwrap();
    assert!(queue.complete(&take(queue).await).await.is_ok());
    bench.advance(secs(5));
    leases
}

/// Completes whatever comes; returns how often each came.
pub(crate) async fn work(bench: &Bench, queue: &WorkQueue) -> BTreeMap<String, usize> {
    let mut came = BTreeMap::new();
    for _ in 0..6 {
        loop {
            let options = LeaseOptions::new(LONG).wait(Duration::ZERO);
            let leases = queue.lease_many(1000, options).await.unwrap();
            if leases.is_empty() {
                break;
            }
            for id in ids(&leases) {
                *came.entry(id).or_default() += 1;
            }
            queue.complete_many(&leases).await.unwrap();
        }
        queue.light_clean().await.unwrap();
        bench.advance(LONG);
    }
    came
}

/// Stops the act after each call of the script. `fires`: what comes once, besides the end of each item.
async fn stops(script: &str, fires: &[&str], act: impl AsyncFn(&WorkQueue, &Leases) -> Result<()>) {
    let mut stage = Stage::new().await;
    for cleans in [true, false] {
        for calls in stopping_points() {
            let queue = stage.new_queue();
            let leases = fixtures(&stage.bench, &queue).await;
            expect_waiters(&mut stage.raw, queue.name());
            fail_after(&mut stage.raw, script, calls);
            let answer = act(&queue, &leases).await;
            let failed = has_failed(&mut stage.raw, script);
            eprintln!("{script} stopped after call {calls}, cleaned {cleans}: {answer:?}");
            if let Err(error) = &answer {
                assert!(failed && error.kind() == ErrorKind::Internal, "{error}");
            }
            if cleans {
                queue.deep_clean().await.unwrap();
                assert_sound(&queue).await;
            }
            let mut came = work(&stage.bench, &queue).await;
            if !cleans {
                queue.deep_clean().await.unwrap();
                for (id, times) in work(&stage.bench, &queue).await {
                    *came.entry(id).or_default() += times;
                }
            }
            let once = |times: usize| times == 1;
            for id in IDS.iter().filter(|id| **id != "dead") {
                let times = |how| came.get(&format!("{id} {how}")).copied().unwrap_or(0);
                assert!(once(times("ended")), "{id} ended: {came:?}");
                assert!(times("done") == 0 || once(times("done")), "{id} done: {came:?}");
            }
            for id in fires {
                let times = came.get(*id).copied().unwrap_or(0);
                assert!(once(times) || (failed && times == 0), "{id} came {times} times");
            }
            assert!(!came.contains_key("dead ended"), "it had fired before");
            queue.deep_clean().await.unwrap();
            let prefix = format!("leaseq:{{{}}}", queue.name());
            assert_eq!(stage.raw.llen::<_, usize>(format!("{prefix}:deferred")), Ok(0));
            if !failed {
                assert!(calls > 1, "{script} makes no call");
                break;
            }
        }
    }
}

fn leased(leases: &Leases) -> Vec<&Lease> {
    ["leased", "large", "retained"].iter().map(|id| &leases[*id]).collect()
}

#[tokio::test]
async fn completions() {
    stops("complete extended", &["added"], async |queue, leases| {
        let options = CompleteOptions::new().adds([vec![], vec![], vec![item("added")]]);
        let results = [None, Some("x".into()), Some("y".into())];
        queue.complete_many_with(leased(leases), options.results(results)).await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn late_completions() {
    stops("complete extended", &[], async |queue, leases| {
        let late = [&leases["leased"], &leases["dead"], &leases["expired"]];
        queue.complete_many_with(late, CompleteOptions::new().retain(secs(60))).await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn completions_that_lease() {
    stops("complete_and_lease extended", &[], async |queue, leases| {
        queue.complete_and_lease(leased(leases), 10, at_once()).await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn failures() {
    stops("fail extended", &["added"], async |queue, leases| {
        let options = FailOptions::new().dead().adds([vec![], vec![], vec![item("added")]]);
        let failures = leased(leases).into_iter().map(|lease| (lease, "no"));
        queue.fail_many_with(failures, options).await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn cancellations() {
    stops("cancel", &[], async |queue, _| {
        queue.cancel_many(["leased", "waiting", "over"]).await.map(drop)
    })
    .await;
    stops("release extended", &[], async |queue, leases| {
        queue.cancel_many(["leased", "large", "retained"]).await.unwrap();
        queue.release_many(leased(leases), Duration::ZERO).await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn removals() {
    stops("remove", &[], async |queue, _| queue.remove_many(IDS).await.map(drop)).await;
    stops("bury", &[], async |queue, _| queue.bury(["waiting", "over"], "no").await.map(drop))
        .await;
    stops("purge", &[], async |queue, _| queue.purge(leaseq::State::Leased).await.map(drop)).await;
}

#[tokio::test]
async fn cleans_and_leases() {
    stops("light_clean", &[], async |queue, _| queue.light_clean().await.map(drop)).await;
    stops("lease extended", &[], async |queue, _| queue.lease(at_once()).await.map(drop)).await;
}

/// The first ones live, `dead` has ended: it adds at once. A call that has stopped is repeated, as its caller would do.
#[tokio::test]
async fn attaching() {
    let next = |id: &'static str| {
        let attached = item(format!("{id} attached"));
        (id, FollowUp::new(On::Ended, attached).with_trigger())
    };
    let ids = ["leased", "large", "retained", "waiting", "dead"];
    let names: Vec<String> = ids.iter().map(|id| format!("{id} attached")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    stops("attach", &names, async |queue, _| {
        let attach = async || queue.attach_many(ids.map(next)).await.map(drop);
        if attach().await.is_err() {
            attach().await.unwrap();
        }
        Ok(())
    })
    .await;
    // What was attached is fired by whoever ends the items, and moves with them.
    for (script, living) in [("complete extended", 3), ("fail extended", 3), ("remove", 4)] {
        stops(script, &names[..living], async |queue, leases| {
            queue.attach_many(ids[..living].iter().copied().map(next)).await.unwrap();
            match script {
                "complete extended" => queue.complete_many(leased(leases)).await.map(drop),
                "fail extended" => {
                    let failures = leased(leases).into_iter().map(|lease| (lease, "no"));
                    queue.fail_many_with(failures, FailOptions::new().dead()).await.map(drop)
                }
                _ => queue.remove_many(&ids[..living]).await.map(drop),
            }
        })
        .await;
    }
    for script in ["bury", "revise", "cancel"] {
        stops(script, &["waiting attached"], async |queue, _| {
            assert!(queue.attach("waiting", next("waiting").1).await.unwrap());
            match script {
                "bury" => queue.bury(["waiting"], "no").await.map(drop),
                "revise" => queue.revise("waiting", Revision::new().data("new")).await.map(drop),
                _ => queue.cancel("waiting").await.map(drop),
            }
        })
        .await;
    }
    stops("light_clean", &["expired attached", "retained attached"], async |queue, _| {
        queue.attach_many(["expired", "retained"].map(next)).await.unwrap();
        queue.light_clean().await.map(drop)
    })
    .await;
}

#[tokio::test]
async fn what_is_distributed() {
    stops("distribute", &["added"], async |queue, leases| {
        let options = FailOptions::new().dead().adds([vec![], vec![], vec![item("added")]]);
        let failures = leased(leases).into_iter().map(|lease| (lease, "no"));
        queue.fail_many_with(failures, options).await.map(drop)
    })
    .await;
}

/// What the end of items adds to another queue. Wherever a script of either queue stops, each is added once.
async fn stops_on_the_way(script: &str, renumbers: bool) {
    let mut stage = Stage::new().await;
    for cleans in [true, false] {
        for calls in stopping_points() {
            let source = stage.new_queue();
            let target = stage.new_queue();
            let sent = |id: &str| {
                let next = item(format!("{id}-next"));
                let sent = item(id).queue(target.name()).retain(secs(5)).unique(id).key("k");
                sent.follow_up(FollowUp::new(On::Completed, next).with_trigger())
            };
            for n in 0..3 {
                let id = n.to_string();
                let follow_up = |on, item: Item| FollowUp::new(on, item).with_trigger();
                let own = follow_up(On::Ended, item(format!("{id}-own")));
                let other = follow_up(On::Completed, sent(&format!("{id}-sent")));
                source.add_item(item(&id).follow_up(own).follow_up(other)).await.unwrap();
            }
            if renumbers {
                let lanes = format!("leaseq:{{{}}}:forward_lanes", target.name());
                stage
                    .raw
                    .hset::<_, _, _, ()>(lanes, "forgotten", 9_000_000_000_000_000u64)
                    .unwrap();
            }
            let options = LeaseOptions::new(LONG).wait(Duration::ZERO);
            let leases = source.lease_many(3, options).await.unwrap();
            fail_after(&mut stage.raw, script, calls);
            let results = CompleteOptions::new().results(vec![Some("done".into()); 3]);
            match source.complete_many_with(&leases, results).await {
                Ok(done) => assert_eq!(done, [true; 3]),
                Err(error) => assert!(script.starts_with("complete"), "{error}"),
            }
            let failed = has_failed(&mut stage.raw, script);
            eprintln!("{script} stopped after call {calls}, cleaned {cleans}: {failed}");
            // Another client, which does not wait with the target.
            let client = stage.bench.client().await;
            for name in [source.name(), target.name()] {
                let queue = client.queue(name).unwrap();
                queue.light_clean().await.unwrap();
                if cleans {
                    queue.deep_clean().await.unwrap();
                    queue.light_clean().await.unwrap();
                    assert_sound(&queue).await;
                }
            }
            let mut came = work(&stage.bench, &source).await;
            came.append(&mut work(&stage.bench, &target).await);
            for name in [source.name(), target.name()] {
                let queue = client.queue(name).unwrap();
                queue.deep_clean().await.unwrap();
                for (id, times) in work(&stage.bench, &queue).await {
                    *came.entry(id).or_default() += times;
                }
                queue.deep_clean().await.unwrap();
                assert_sound(&queue).await;
                for key in ["deferred", "outbox", "outgoing"] {
                    let key = format!("leaseq:{{{name}}}:{key}");
                    assert_eq!(stage.raw.exists::<_, bool>(&key), Ok(false), "{key}");
                }
            }
            // Records without ids that have been added again since come back with a clean that is too late.
            let most = if cleans { 1 } else { 2 };
            for n in 0..3 {
                for what in ["own", "sent", "sent-next"] {
                    let times = came.get(&format!("{n}-{what}")).copied().unwrap_or(0);
                    assert!((1..=most).contains(&times), "{n}-{what}: {came:?}");
                }
            }
            if !failed {
                assert!(calls > 1, "{script} makes no call");
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_is_distributed_to_another_queue() {
    stops_on_the_way("complete extended", false).await;
    stops_on_the_way("distribute", false).await;
}

#[tokio::test]
async fn what_is_forwarded() {
    stops_on_the_way("forward", false).await;
    stops_on_the_way("outbox", false).await;
}

#[tokio::test]
async fn what_is_renumbered() {
    stops_on_the_way("renumber", true).await;
}

/// A completion that stops behind its notes and is repeated notes the end twice, before anybody has read the first note.
#[tokio::test]
async fn what_is_noted_twice_is_sent_once() {
    let mut stage = Stage::new().await;
    for calls in stopping_points() {
        let source = stage.new_queue();
        let target = stage.new_queue();
        let sent = item("sent").queue(target.name());
        source.add_item(item("a").follow_up(FollowUp::new(On::Completed, sent))).await.unwrap();
        let lease = take(&source).await;
        // What is for it stays in the outbox.
        let meta = format!("leaseq:{{{}}}:meta", target.name());
        stage.raw.hset::<_, _, _, ()>(&meta, "format", "9").unwrap();
        fail_after(&mut stage.raw, "complete extended", calls);
        if source.complete(&lease).await.is_err() {
            // False if it had been stopped behind the end of the item.
            source.complete(&lease).await.unwrap();
        }
        let failed = has_failed(&mut stage.raw, "complete extended");
        source.light_clean().await.unwrap();
        let outbox = format!("leaseq:{{{}}}:outbox", source.name());
        assert_eq!(stage.raw.zcard::<_, usize>(&outbox), Ok(1), "after call {calls}");
        if !failed {
            break;
        }
    }
}
