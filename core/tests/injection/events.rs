//! Events: wherever a script stops, a reader finds every change once.

use std::collections::BTreeMap;

use leaseq::{Event, EventKind, EventsOptions, LeaseOptions, Revision, State, WorkQueue};

use crate::fixtures::Leases;
use crate::support::*;
use crate::verify::Stage;

/// All items have ended by now. Each generation has begun and ended once, and nothing of it is repeated or missing.
pub(crate) async fn verify_events(queue: &WorkQueue) {
    let mut generations: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    let mut options = EventsOptions::new().limit(1000);
    loop {
        let page = queue.events(options.clone()).await.unwrap();
        assert!(!page.gap);
        if page.events.is_empty() {
            break;
        }
        options = options.after(page.cursor);
        for event in page.events {
            generations.entry(event.generation.clone()).or_default().push(event);
        }
    }
    assert!(!generations.is_empty());
    for (generation, events) in &generations {
        assert_life(events).unwrap_or_else(|what| panic!("{generation}: {what}: {events:?}"));
    }
}

fn assert_life(events: &[Event]) -> Result<(), &'static str> {
    use EventKind::*;
    let ends = |kind| matches!(kind, Completed | Removed | Replaced | Cancelled);
    let (first, last) = (events[0].kind, events[events.len() - 1].kind);
    // Those that begin with another one have got a new number.
    if !matches!(first, Added | Revised | Dead | Cancelled | Completed)
        || first != Added && events[0].id.is_none()
    {
        return Err("no beginning");
    }
    if events[1..].iter().any(|event| event.kind == Added) {
        return Err("added twice");
    }
    for pair in events.windows(2) {
        let same = pair[0].kind == pair[1].kind && pair[0].attempt == pair[1].attempt;
        if same && pair[0].kind != Revised {
            return Err("repeated");
        }
        if ends(pair[0].kind) && !(pair[1].kind == Removed || pair[1].kind == Replaced) {
            return Err("something after the end");
        }
        let was_leased = pair[0].kind == Leased;
        if matches!(pair[1].kind, Failed | Expired | Released) != was_leased
            && !ends(pair[1].kind)
            && was_leased
        {
            return Err("a lease without an end");
        }
        if matches!(pair[1].kind, Failed | Expired | Released) && !was_leased {
            return Err("an end without a lease");
        }
    }
    // A new number may have come behind.
    let goes_on = matches!(last, Added | Revised | Released | Failed | Expired | Dead);
    if !ends(last) && !goes_on {
        return Err("no end");
    }
    Ok(())
}

async fn noted() -> Stage {
    let mut stage = Stage::new().await;
    stage.events = true;
    stage
}

const LEASED: [&str; 4] = ["leased", "leased-high", "leased-last", "expired"];

fn of<'a>(leases: &'a Leases, ids: &[&str]) -> Vec<&'a leaseq::Lease> {
    ids.iter().map(|id| &leases[*id]).collect()
}

/// Whoever was told of an error tries again.
async fn twice<T>(act: impl AsyncFn() -> leaseq::Result<T>) -> leaseq::Result<()> {
    let first = act().await.map(drop);
    if first.is_err() {
        // Leases may have ended.
        drop(act().await);
    }
    first
}

#[tokio::test]
async fn adds() {
    let mut stage = noted().await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        twice(async || queue.add_items(["new", "ready", "new-too"].map(item)).await).await
    };
    stage.furnished("add extended", &[], act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let items = || ["ready", "dead", "new"].map(|id| item(id).replace());
        twice(async || queue.add_items(items()).await).await
    };
    stage.furnished("add extended", &[], act).await;
}

#[tokio::test]
async fn leases() {
    let mut stage = noted().await;
    let options = || LeaseOptions::new(secs(60)).wait(ms(0));
    let act = async |queue: &WorkQueue, _: &Leases| queue.lease_many(20, options()).await.map(drop);
    stage.furnished("lease extended", &[], act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        twice(async || queue.complete_and_lease(of(leases, &LEASED), 20, options()).await).await
    };
    stage.furnished("complete_and_lease extended", &LEASED, act).await;
}

#[tokio::test]
async fn ends_of_leases() {
    let mut stage = noted().await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        twice(async || queue.complete_many(of(leases, &LEASED)).await).await
    };
    stage.furnished("complete extended", &LEASED, act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        let failed = || of(leases, &LEASED).into_iter().map(|lease| (lease, "no"));
        twice(async || queue.fail_many(failed(), ms(0)).await).await
    };
    stage.furnished("fail extended", &[], act).await;
    let act = async |queue: &WorkQueue, leases: &Leases| {
        twice(async || queue.release_many(of(leases, &LEASED), ms(0)).await).await
    };
    stage.furnished("release extended", &[], act).await;
    let act = async |queue: &WorkQueue, _: &Leases| queue.light_clean().await.map(drop);
    stage.furnished("light_clean", &[], act).await;
}

#[tokio::test]
async fn changes_by_operators() {
    let mut stage = noted().await;
    let ids = ["dead", "ready", "later", "s-dead", "leased"];
    let act =
        async |queue: &WorkQueue, _: &Leases| twice(async || queue.remove_many(ids).await).await;
    stage.furnished("remove", &ids, act).await;
    let act = async |queue: &WorkQueue, _: &Leases| twice(async || queue.requeue(ids).await).await;
    stage.furnished("requeue", &[], act).await;
    let act =
        async |queue: &WorkQueue, _: &Leases| twice(async || queue.bury(ids, "no").await).await;
    stage.furnished("bury", &[], act).await;
    let act = async |queue: &WorkQueue, _: &Leases| {
        let revisions = || ids.map(|id| (id, Revision::new().data("new")));
        twice(async || queue.revise_many(revisions()).await).await
    };
    stage.furnished("revise", &[], act).await;
    let act =
        async |queue: &WorkQueue, _: &Leases| twice(async || queue.cancel_many(ids).await).await;
    stage.furnished("cancel", &ids, act).await;
    let act =
        async |queue: &WorkQueue, _: &Leases| twice(async || queue.purge(State::Dead).await).await;
    stage.furnished("purge", &["dead", "s-dead", "expired-last"], act).await;
}
