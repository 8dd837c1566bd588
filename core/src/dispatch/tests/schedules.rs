//! Swaps of schedules that fail.

use super::*;
use crate::{Schedule, ScheduleRule, State};

async fn added(queue: &WorkQueue) -> Vec<String> {
    let page = queue.list(State::Ready, None, 100).await.unwrap();
    let name = |id: &[u8]| String::from_utf8_lossy(id).split('@').next().unwrap().to_owned();
    let mut names: Vec<String> = page.items.iter().map(|item| name(&item.id)).collect();
    names.sort();
    names
}

/// Of three schedules that are due, one cannot be swapped.
#[tokio::test]
async fn a_swap_that_fails_holds_up_no_other() {
    for kind in [ErrorKind::Invalid, ErrorKind::Internal] {
        let (engine, _client, queue) = faulty("memory:", SOON).await;
        for name in ["a", "b", "c"] {
            let rule = ScheduleRule::every(ms(100)).unwrap();
            queue.put_schedule(Schedule::new(name, rule, Item::new("data"))).await.unwrap();
        }
        engine.set(move |operation, names| {
            let bad = operation == "swap_schedule" && names[0] == "b";
            bad.then(|| Fault::Refuse(Error::new(kind, "as planned")))
        });
        let ticked = async |wanted: &[&str]| {
            // Its error is that of the swap.
            drop(queue.light_clean().await);
            added(&queue).await == wanted
        };
        assert!(eventually(SOON, async || ticked(&["a", "c"]).await).await, "{kind:?}");
        engine.set(|_, _| None);
        assert!(eventually(SOON, async || ticked(&["a", "b", "c"]).await).await, "{kind:?}");
    }
}

/// The engine has swapped the schedule, and the caller learns nothing of it.
#[tokio::test]
async fn a_swap_without_an_answer_is_found_by_the_next() {
    let (engine, _client, queue) = faulty("memory:", ms(200)).await;
    let rule = || ScheduleRule::every(Duration::from_secs(60)).unwrap();
    engine.set(once("swap_schedule", Fault::LateReply(SOON)));
    let put = queue.put_schedule(Schedule::new("a", rule(), Item::new("data"))).await;
    assert!(put.unwrap_err().outcome_unknown());
    let again = queue.put_schedule(Schedule::new("a", rule(), Item::new("data"))).await.unwrap();
    assert_eq!(again, crate::PutSchedule::Unchanged);
    engine.set(once("swap_schedule", Fault::LateReply(SOON)));
    assert!(queue.run_now("a").await.unwrap_err().outcome_unknown());
    assert_eq!(added(&queue).await, ["a"]);
}
