//! A thousand producers ask for the same work at once, after its owner has ended in each way, and while it ends.

use std::sync::Arc;
use std::time::Duration;

use leaseq::{CompleteOptions, FailOptions, Item, Lease, LeaseOptions, Revision, State, WorkQueue};
use tokio::task::JoinSet;

use crate::audit::{Auditor, Violations};
use crate::support::*;
use crate::{on_threads, queues};

const PRODUCERS: usize = 1_000;
const KEY: &str = "key";

/// What becomes of the item that has the key, and whether the key is free then.
const FATES: [(&str, bool); 24] = [
    ("completed", true),
    ("completed late", true),
    ("completed after its death", true),
    ("failed", false),
    ("failed for good", true),
    ("released", false),
    ("expired", false),
    ("expired for good", true),
    ("not leased in time", true),
    ("removed", true),
    ("removed while leased", true),
    ("purged", true),
    ("buried", true),
    ("buried and requeued", false),
    ("revised", false),
    ("cancelled", true),
    ("cancelled and failed", true),
    ("cancelled and expired", true),
    ("replaced", true),
    ("retained", false),
    ("retained long enough", true),
    ("reserved", false),
    ("reserved long enough", true),
    ("dropped with the queue", true),
];

fn owner(fate: &str) -> Item {
    let item = Item::new("owner").with_id("owner").unique(KEY);
    match fate {
        "expired for good" => item.max_attempts(1),
        "not leased in time" => item.expires_in(secs(5)),
        "retained" | "retained long enough" => item.retain(secs(5)),
        "reserved" | "reserved long enough" => item.unique_for(secs(60)),
        _ => item,
    }
}

async fn end(bench: &Bench, queue: &WorkQueue, fate: &str) {
    let lease = || async { take(queue).await };
    let fail = |lease: Lease, options: FailOptions| async move {
        queue.fail_with(&lease, "no", options).await.unwrap()
    };
    let expire = || async {
        bench.advance(secs(11));
        queue.light_clean().await.unwrap();
    };
    let one = |answers: Vec<bool>| assert_eq!(answers, [true]);
    match fate {
        "completed" | "retained" | "reserved" => {
            assert!(queue.complete(&lease().await).await.unwrap());
        }
        "completed late" => {
            let early = lease().await;
            expire().await;
            assert!(queue.complete(&early).await.unwrap());
        }
        "completed after its death" => {
            let lease = lease().await;
            queue.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
            let options = CompleteOptions::new().retain(secs(60));
            assert!(queue.complete_with(&lease, options).await.unwrap());
        }
        "failed" => drop(fail(lease().await, FailOptions::new().delay(secs(1))).await),
        "failed for good" => drop(fail(lease().await, FailOptions::new().dead()).await),
        "released" => queue.release(&lease().await, Duration::ZERO).await.unwrap(),
        "expired" | "expired for good" => {
            lease().await;
            expire().await;
        }
        // Nobody sweeps it.
        "not leased in time" => bench.advance(secs(5)),
        "removed" => assert!(queue.remove("owner").await.unwrap()),
        "removed while leased" => {
            lease().await;
            assert!(queue.remove("owner").await.unwrap());
        }
        "purged" => assert_eq!(queue.purge(State::Ready).await.unwrap(), 1),
        "buried" => one(queue.bury(["owner"], "no").await.unwrap()),
        "buried and requeued" => {
            one(queue.bury(["owner"], "no").await.unwrap());
            // False if somebody else has taken the key meanwhile.
            queue.requeue(["owner"]).await.unwrap();
        }
        "revised" => assert!(queue.revise("owner", Revision::new().data("x")).await.unwrap()),
        "cancelled" => assert!(queue.cancel("owner").await.unwrap()),
        "cancelled and failed" | "cancelled and expired" => {
            let lease = lease().await;
            assert!(queue.cancel("owner").await.unwrap());
            match fate {
                "cancelled and failed" => drop(fail(lease, FailOptions::new()).await),
                _ => expire().await,
            }
        }
        "replaced" => assert!(queue.add_item(item("owner").replace()).await.unwrap()),
        "retained long enough" => {
            assert!(queue.complete(&lease().await).await.unwrap());
            bench.advance(secs(5));
        }
        "reserved long enough" => {
            assert!(queue.complete(&lease().await).await.unwrap());
            bench.advance(secs(60));
        }
        "dropped with the queue" => assert!(queue.drop_queue().await.unwrap()),
        other => panic!("{other}?"),
    }
}

/// How many of a thousand adds with the key return true.
async fn produce(queues: &[WorkQueue], replace: bool) -> usize {
    let mut adds = JoinSet::new();
    for i in 0..PRODUCERS {
        let queue = queues[i % queues.len()].clone();
        let item = Item::new("new").with_id(format!("new-{i}")).unique(KEY);
        let item = if replace { item.replace() } else { item };
        adds.spawn(async move { queue.add_item(item).await.unwrap() });
    }
    adds.join_all().await.into_iter().filter(|added| *added).count()
}

/// Begins anew.
async fn clear(queue: &WorkQueue) {
    queue.drop_queue().await.unwrap();
}

async fn one_of_a_thousand_adds_is_true_once_the_key_is_free(bench: Arc<Bench>) {
    let queues = queues(&bench, 4).await;
    for (fate, is_free) in FATES {
        clear(&queues[0]).await;
        assert!(queues[0].add_item(owner(fate)).await.unwrap());
        assert!(!queues[1].add_item(Item::new("other").unique(KEY)).await.unwrap());
        end(&bench, &queues[0], fate).await;
        assert_eq!(produce(&queues, false).await, usize::from(is_free), "{fate}");
        assert!(!queues[1].add_item(Item::new("other").unique(KEY)).await.unwrap());
        assert_sound(&queues[0]).await;
    }
}

/// The adds and the end of the owner cross each other: at most one add wins, and if none does, the next one does.
async fn at_most_one_wins_while_the_owner_ends(bench: Arc<Bench>) {
    let queues = queues(&bench, 4).await;
    let mut auditor = None;
    for (fate, is_free) in FATES.into_iter().filter(|(fate, _)| !fate.contains("drop")) {
        clear(&queues[0]).await;
        assert!(queues[0].add_item(owner(fate)).await.unwrap());
        let (added, ()) = tokio::join!(produce(&queues, false), end(&bench, &queues[3], fate));
        let frees = is_free || fate == "buried and requeued";
        assert!(added <= usize::from(frees), "{fate}: {added}");
        let last = queues[0].add_item(Item::new("last").unique(KEY)).await.unwrap();
        assert_eq!(last, is_free && added == 0, "{fate}: {added}");
        let auditor = auditor.get_or_insert_with(|| Auditor::new(&bench.backend().url()));
        assert_eq!(auditor.look(|| bench.now()), Violations::default(), "{fate}");
        assert_sound(&queues[0]).await;
    }
}

/// Each add that replaces is true, and the last one stays.
async fn a_thousand_replace_each_other(bench: Arc<Bench>) {
    let queues = queues(&bench, 4).await;
    assert_eq!(produce(&queues, true).await, PRODUCERS);
    let counts = queues[0].counts().await.unwrap();
    assert_eq!((counts.ready, counts.totals.replaced), (1, PRODUCERS as u64 - 1));
    assert_eq!(drain(&queues[0]).await.len(), 1);
    // The item is leased now.
    assert_eq!(produce(&queues, true).await, 0);
    assert_sound(&queues[0]).await;
}

/// Holders die, and whoever leases the item next may complete it. One item at a time is live.
async fn holders_that_die_leave_no_key_behind(bench: Arc<Bench>) {
    let queues = queues(&bench, 4).await;
    let mut ends = 0;
    for round in 0..20 {
        assert_eq!(produce(&queues, false).await, 1, "round {round}");
        let client = bench.client().await;
        let queue = client.queue("jobs").unwrap();
        let held = queue.lease(LeaseOptions::new(secs(1)).wait(Duration::ZERO)).await.unwrap();
        let held = held.expect("one is ready");
        // The holder dies, at the latest before it completes.
        if round % 2 == 0 {
            client.close().await;
        }
        drop((held, queue, client));
        bench.advance(secs(2));
        assert_eq!(produce(&queues, false).await, 0, "round {round}");
        assert!(queues[round % 4].complete(&take(&queues[round % 4]).await).await.unwrap());
        ends += 1;
    }
    let counts = queues[0].counts().await.unwrap();
    assert_eq!((counts.totals.added, counts.totals.completed), (ends, ends));
    assert_eq!(counts.totals.expired, ends);
    assert_sound(&queues[0]).await;
}

on_threads!(
    one_of_a_thousand_adds_is_true_once_the_key_is_free,
    at_most_one_wins_while_the_owner_ends,
    a_thousand_replace_each_other,
    holders_that_die_leave_no_key_behind,
);
