//! Waiting for the ends of groups.

use std::time::Duration;

use leaseq::{Group, GroupInfo, GroupOutcome, Item, NewGroup, Outcome, OutcomeOptions, WorkQueue};
use tokio::task::JoinHandle;

use crate::outcome::{completed, ended as items_ended, waiting_for};
use crate::support::*;

const DAY: Duration = Duration::from_secs(86_400);
/// Far longer than any notification takes.
const LATE: Duration = Duration::from_secs(30);

type Waiting = JoinHandle<leaseq::Result<Option<GroupOutcome>>>;

fn look() -> OutcomeOptions {
    OutcomeOptions::new().wait(Duration::ZERO)
}

async fn group(queue: &WorkQueue, id: impl AsRef<[u8]>) -> Group {
    queue.create_group(NewGroup::new(id)).await.unwrap()
}

async fn add(queue: &WorkQueue, group: &Group, place: u32) {
    let item: Item = item(format!("{place}")).in_group(group, place);
    assert!(queue.add_item(item).await.unwrap());
}

async fn complete_one(queue: &WorkQueue) {
    assert!(queue.complete(&take(queue).await).await.unwrap());
}

/// A call that waits without a limit, and is registered.
async fn waiting(queue: &WorkQueue, id: &[u8], options: OutcomeOptions) -> Waiting {
    let (waits, id) = (queue.clone(), id.to_vec());
    let mut call = Box::pin(async move { waits.group_outcome(id, options).await });
    // The call is pending before the next one is made, which is answered after it.
    let early = tokio::time::timeout(Duration::ZERO, &mut call).await;
    assert!(early.is_err(), "{early:?}");
    let call = tokio::spawn(call);
    let none = queue.group_outcome("there is none", OutcomeOptions::new()).await.unwrap();
    assert_eq!(none, Some(GroupOutcome::Gone));
    call
}

async fn waiting_for_group(queue: &WorkQueue, id: &str) -> Waiting {
    waiting(queue, id.as_bytes(), OutcomeOptions::new()).await
}

async fn ended(call: Waiting) -> GroupOutcome {
    let outcome = tokio::time::timeout(LATE, call).await.expect("it must end").unwrap().unwrap();
    outcome.expect("it waits until the group has ended")
}

/// What a group says that has ended.
fn counts(info: &GroupInfo) -> (Option<u32>, u32, u32, bool) {
    (info.places, info.ended, info.completed, info.has_ended)
}

async fn what_has_ended_is_returned_at_once(bench: &Bench) {
    let queue = bench.queue().await;
    let group = group(&queue, "g").await;
    for place in 0..2 {
        add(&queue, &group, place).await;
    }
    for wait in [look(), OutcomeOptions::new().wait(ms(1))] {
        assert_eq!(queue.group_outcome("g", wait.clone()).await.unwrap(), None);
        let none = queue.group_outcome("none", wait.clone()).await.unwrap();
        assert_eq!(none, Some(GroupOutcome::Gone));
        assert_eq!(queue.group_outcome("none", wait.expect()).await.unwrap(), None);
    }
    assert!(queue.seal_group(&group, 2).await.unwrap());
    complete_one(&queue).await;
    assert_eq!(queue.group_outcome("g", look()).await.unwrap(), None);
    queue.remove("1").await.unwrap();
    for wait in [look(), OutcomeOptions::new().wait(ms(1)), OutcomeOptions::new()] {
        let outcome = queue.group_outcome("g", wait).await.unwrap().unwrap();
        assert_eq!(outcome.as_str(), "ended");
        let info = outcome.info().unwrap();
        assert_eq!((&info.group, counts(info)), (&group, (Some(2), 2, 1, true)));
        assert!(matches!(outcome, GroupOutcome::Ended(_)));
    }
    bench.advance(DAY);
    assert_eq!(queue.group_outcome("g", look()).await.unwrap(), Some(GroupOutcome::Gone));
    let gone = queue.group_outcome("g", OutcomeOptions::new()).await.unwrap().unwrap();
    assert!(gone == GroupOutcome::Gone && gone.info().is_none() && gone.as_str() == "gone");
    assert_sound(&queue).await;
}

async fn the_step_that_ends_a_group_reports_it(bench: &Bench) {
    let client = bench.client().await;
    let [home, far] = ["home", "far"].map(|name| client.queue(name).unwrap());
    let other = bench.client().await.queue("home").unwrap();
    // The last member, in another queue; two clients learn it.
    let one = group(&home, "one").await;
    add(&home, &one, 0).await;
    add(&far, &one, 1).await;
    assert!(home.seal_group(&one, 2).await.unwrap());
    let calls = [waiting_for_group(&home, "one").await, waiting_for_group(&other, "one").await];
    complete_one(&home).await;
    complete_one(&far).await;
    for call in calls {
        let outcome = ended(call).await;
        assert_eq!(
            (outcome.as_str(), counts(outcome.info().unwrap())),
            ("completed", (Some(2), 2, 2, true))
        );
    }
    // The seal of a group whose members have all ended.
    let two = group(&home, "two").await;
    add(&far, &two, 0).await;
    complete_one(&far).await;
    let call = waiting_for_group(&other, "two").await;
    assert!(home.seal_group(&two, 1).await.unwrap());
    assert_eq!(ended(call).await.as_str(), "completed");
    // Several groups in one step, one of which nobody waits for.
    let mut calls = Vec::new();
    for n in 0..3 {
        let id = format!("many {n}");
        let group = group(&home, &id).await;
        assert!(far.add_item(item(id.clone()).in_group(&group, 0)).await.unwrap());
        assert!(home.seal_group(&group, 1).await.unwrap());
        if n > 0 {
            calls.push(waiting_for_group(&other, &id).await);
        }
    }
    let leases = far.lease_many(3, at_once()).await.unwrap();
    far.complete_many(&leases).await.unwrap();
    for call in calls {
        assert_eq!(ended(call).await.as_str(), "completed");
    }
    for queue in [&home, &far] {
        assert_sound(queue).await;
    }
}

async fn a_group_that_goes_ends_a_wait(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    let removed = group(&queue, "removed").await;
    let call = waiting_for_group(&other, "removed").await;
    assert!(queue.remove_group(&removed).await.unwrap());
    assert_eq!(ended(call).await, GroupOutcome::Gone);
    // Nobody has sealed it for a day.
    group(&queue, "expired").await;
    let call = waiting_for_group(&other, "expired").await;
    bench.advance(DAY);
    assert_eq!(ended(call).await, GroupOutcome::Gone);
    group(&queue, "dropped").await;
    let call = waiting_for_group(&other, "dropped").await;
    assert!(queue.drop_queue().await.unwrap());
    assert_eq!(ended(call).await, GroupOutcome::Gone);
}

async fn a_group_can_be_expected(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    let call = waiting(&other, b"later", OutcomeOptions::new().expect()).await;
    let later = group(&queue, "later").await;
    add(&queue, &later, 0).await;
    assert!(queue.seal_group(&later, 1).await.unwrap());
    queue.cancel("0").await.unwrap();
    let outcome = ended(call).await;
    assert_eq!((outcome.as_str(), &outcome.info().unwrap().group), ("ended", &later));
}

/// The same id names an item, a group and a group of another queue; and ids that begin as stored ids do.
async fn a_wait_is_for_one_group_only(bench: &Bench) {
    let client = bench.client().await;
    let [home, far] = ["home", "far"].map(|name| client.queue(name).unwrap());
    let uuid = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    for id in ["g", uuid, "\u{1}Gg", "\u{1}G", "\u{0}", "Gg"] {
        let own = group(&home, id).await;
        let same = group(&far, id).await;
        for group in [&own, &same] {
            assert!(home.add_item(item(group.queue()).in_group(group, 0)).await.unwrap());
        }
        assert!(home.seal_group(&own, 1).await.unwrap() && far.seal_group(&same, 1).await.unwrap());
        assert!(far.add_item(item(id).retain(ms(1))).await.unwrap());
        let group_call = waiting_for_group(&far, id).await;
        let item_call = waiting_for(&far, id).await;
        complete_one(&home).await;
        assert_eq!(far.group_outcome(id, look()).await.unwrap(), None);
        assert!(!group_call.is_finished() && !item_call.is_finished(), "{id:?}");
        assert_eq!(far.queue_len().await.unwrap(), 1);
        complete_one(&home).await;
        assert_eq!(ended(group_call).await.info().unwrap().group, same);
        assert!(!item_call.is_finished(), "{id:?}");
        far.remove(id).await.unwrap();
        assert_eq!(items_ended(item_call).await, [Outcome::Removed]);
        assert!(far.add_item(item(id)).await.unwrap());
        let item_call = waiting_for(&far, id).await;
        complete_one(&far).await;
        assert_eq!(items_ended(item_call).await, [completed(None)]);
    }
}

async fn its_time_and_its_limits(bench: &Bench) {
    let queue = bench.queue().await;
    let group = group(&queue, "g").await;
    let short = || OutcomeOptions::new().wait(ms(1));
    assert_eq!(queue.group_outcome("g", short()).await.unwrap(), None);
    let stopped = queue.group_outcome_until("g", OutcomeOptions::new(), async {}).await;
    assert_eq!(stopped.unwrap(), None);
    for id in [String::new(), "x".repeat(513)] {
        for options in [look(), short()] {
            let error = queue.group_outcome(&id, options).await.unwrap_err();
            assert_eq!(error.kind(), leaseq::ErrorKind::Invalid, "{error}");
        }
    }
    // A wait that is given up leaves nothing that disturbs a later one.
    let call = waiting_for_group(&queue, "g").await;
    call.abort();
    add(&queue, &group, 0).await;
    assert!(queue.seal_group(&group, 1).await.unwrap());
    complete_one(&queue).await;
    let again = queue.group_outcome("g", OutcomeOptions::new()).await.unwrap().unwrap();
    assert_eq!(again.as_str(), "completed");
}

on_every_engine!(
    what_has_ended_is_returned_at_once,
    the_step_that_ends_a_group_reports_it,
    a_group_that_goes_ends_a_wait,
    a_group_can_be_expected,
    a_wait_is_for_one_group_only,
    its_time_and_its_limits,
);
