//! Waits for the ends of items.

use std::sync::Mutex;

use super::*;
use crate::OutcomeOptions;
use crate::lock::lock;

#[tokio::test]
async fn a_short_wait_fails_in_time_while_another_request_has_no_answer() {
    let (engine, _client, queue) = faulty("memory:", ms(300)).await;
    queue.add_item(item("a")).await.unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    engine.set(move |operation, _| {
        let asks = operation == "await_outcomes";
        counted.fetch_add(asks.into(), Relaxed);
        asks.then_some(Fault::Late(ms(60_000)))
    });
    let other = queue.clone();
    let first = tokio::spawn(async move { other.outcome("a", OutcomeOptions::new()).await });
    assert!(eventually(SOON, async || asked.load(Relaxed) == 1).await);
    let begun = Instant::now();
    let error = queue.outcome("b", OutcomeOptions::new().wait(ms(10))).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, false));
    assert!(begun.elapsed() >= ms(300) && begun.elapsed() < SOON, "{:?}", begun.elapsed());
    // A longer one has all its time.
    let error = queue.outcome("b", OutcomeOptions::new().wait(ms(500))).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unavailable && begun.elapsed() >= ms(800));
    first.abort();
}

#[tokio::test]
async fn lost_reports_make_it_ask_at_once() {
    let mut fastest = SOON;
    // The machine may be slow once.
    for _ in 0..5 {
        let (engine, _client, queue) = faulty("memory:", SOON).await;
        queue.add_item(item("a")).await.unwrap();
        let (lost, asked) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
        let (when_lost, when_asked) = (lost.clone(), asked.clone());
        engine.set(move |operation, _| {
            let (mut lost, mut asked) = (lock(&when_lost), lock(&when_asked));
            match operation {
                "wait_endings" if lost.is_none() => {
                    *lost = Some(Instant::now());
                    return Some(Fault::Lost);
                }
                "await_outcomes" if lost.is_some() => {
                    asked.get_or_insert_with(Instant::now);
                }
                _ => {}
            }
            None
        });
        let waits = queue.clone();
        let call = tokio::spawn(async move { waits.outcome("a", OutcomeOptions::new()).await });
        assert!(eventually(SOON, async || lock(&asked).is_some()).await);
        call.abort();
        let (lost, asked) = (lock(&lost).unwrap(), lock(&asked).unwrap());
        fastest = fastest.min(asked - lost);
    }
    assert!(fastest < ms(300), "{fastest:?}");
}
