//! Waiting for the ends of many items in one call.

use std::future::{pending, ready};

use leaseq::{Outcome, OutcomeOptions};

use super::outcome::{completed, ended, waiting_for};
use crate::support::{Bench, item, on_every_engine, take};

/// A face in another language ends a wait early.
async fn a_wait_that_is_ended_keeps_what_is_known(bench: &Bench) {
    let (queue, worker) = (bench.queue().await, bench.queue().await);
    queue.add_items(["open", "done"].map(item)).await.unwrap();
    let (end, is_ended) = tokio::sync::oneshot::channel::<()>();
    let (waits, options) = (queue.clone(), OutcomeOptions::new());
    let mut call = Box::pin(async move {
        let end = async { is_ended.await.unwrap() };
        waits.outcome_many_until(["open", "done"], options, end).await
    });
    let early = tokio::time::timeout(std::time::Duration::ZERO, &mut call).await;
    assert!(early.is_err(), "{early:?}");
    let another = waiting_for(&queue, "done").await;
    let leases = [take(&worker).await, take(&worker).await];
    // It leaves nothing: the report is all that there is.
    let done = leases.iter().find(|lease| lease.id_str() == Some("done")).unwrap();
    assert!(worker.complete(done).await.unwrap());
    assert_eq!(ended(another).await, [completed(None)]);
    end.send(()).unwrap();
    let outcomes: Vec<_> = call.await.unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(outcomes, [None, Some(completed(None))]);
    // One that is ended at once has nothing, and does not fail.
    let options = OutcomeOptions::new;
    let open = queue.outcome_many_until(["open"], options(), ready(())).await.unwrap();
    assert!(matches!(open[..], [Ok(None)]), "{open:?}");
    let gone = queue.outcome_many_until(["none"], options(), pending()).await.unwrap();
    assert!(matches!(gone[..], [Ok(Some(Outcome::Gone))]), "{gone:?}");
}

on_every_engine!(a_wait_that_is_ended_keeps_what_is_known);
