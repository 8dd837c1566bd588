//! Every call ends at its own deadline, whatever the engine does.

use super::*;

/// A request continues for the last of its calls. The first one gets an error at its own deadline.
#[tokio::test]
async fn each_call_ends_within_its_own_time() {
    let timeout = ms(1_000);
    for kind in ["add", "lease"] {
        let (engine, _client, queue) = faulty("memory:", timeout).await;
        assert_eq!(queue.queue_len().await.unwrap(), 0);
        engine.set(move |operation, _| (operation == kind).then_some(Fault::NoAnswer));
        let call = |id: &'static str, after: Duration| {
            let queue = queue.clone();
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                let begun = Instant::now();
                let error = match kind {
                    "add" => queue.add_item(item(id)).await.map(drop),
                    _ => queue.lease(at_once()).await.map(drop),
                };
                (error.unwrap_err(), begun.elapsed())
            })
        };
        // The second waits behind the first, and shares a request with the third.
        let calls = [call("a", ms(0)), call("b", ms(30)), call("c", ms(900))];
        for call in calls {
            let (error, took) = call.await.unwrap();
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(took < ms(1_800), "{kind}: {took:?} {error}");
        }
    }
}

/// Neither a call whose request the engine does not end in time, nor one that waits behind it.
#[tokio::test]
async fn no_call_outlives_its_time_when_the_engine_does() {
    const OVERRUN: Duration = Duration::from_secs(60);
    for kind in ["add", "lease"] {
        let (engine, _client, queue) = faulty("memory:", ms(500)).await;
        assert_eq!(queue.queue_len().await.unwrap(), 0);
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        engine.set(move |operation, _| {
            counted.fetch_add(usize::from(operation == kind), Relaxed);
            (operation == kind).then_some(Fault::Late(OVERRUN))
        });
        let call = async |id: &'static str| match kind {
            "add" => queue.add_item(item(id)).await.map(drop),
            _ => queue.lease(at_once()).await.map(drop),
        };
        let begun = Instant::now();
        let behind = async |id: &'static str, after: Duration| {
            assert!(eventually(SOON, async || requests.load(Relaxed) > 0).await);
            tokio::time::sleep(after).await;
            call(id).await
        };
        // The last call is made after the deadline of the request.
        let all = async { tokio::join!(call("a"), behind("b", ms(0)), behind("c", ms(900))) };
        let (sent, in_line, later) = tokio::time::timeout(OVERRUN / 2, all).await.expect(kind);
        println!("{kind}: {:?}", begun.elapsed());
        for (answer, sent) in [(sent, true), (in_line, false), (later, false)] {
            let error = answer.unwrap_err();
            let told = (error.kind(), error.outcome_unknown());
            assert_eq!(told, (ErrorKind::Unavailable, sent), "{kind}: {error}");
        }
    }
}

/// Steps of a lease are bounded, so many of them may look at entries without an item before one finds any.
#[tokio::test]
async fn a_lease_that_searches_longer_than_its_time_is_not_unavailable() {
    let timeout = ms(300);
    let (engine, _client, queue) = faulty("memory:", timeout).await;
    queue.add_item(item("a")).await.unwrap();
    let search = |steps: usize| {
        let mut left = steps;
        move |operation: &'static str, _: &[Bytes]| {
            let searches = operation == "lease" && left > 0;
            left -= usize::from(searches);
            searches.then_some(Fault::Fruitless(ms(50)))
        }
    };
    engine.set(search(usize::MAX));
    let begun = Instant::now();
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert!(begun.elapsed() >= timeout, "{:?}", begun.elapsed());

    engine.set(search(10));
    let waits = LeaseOptions::new(ms(60_000)).wait(SOON);
    assert!(queue.lease(waits).await.unwrap().is_some());
}

/// Opening the queue and the operation itself share one deadline.
#[tokio::test]
async fn pausing_ends_within_its_time() {
    for slow in ["open_queue", "set_paused"] {
        let (engine, _client, queue) = faulty("memory:", ms(1_000)).await;
        engine.set(move |operation, _| match operation {
            "open_queue" | "set_paused" if operation == slow => Some(Fault::Late(SOON)),
            "open_queue" | "set_paused" => Some(Fault::Late(ms(100))),
            _ => None,
        });
        let begun = Instant::now();
        let error = queue.pause().await.unwrap_err();
        assert!(begun.elapsed() < SOON / 2, "{slow}: {:?}", begun.elapsed());
        let expected = (ErrorKind::Unavailable, slow == "set_paused");
        assert_eq!((error.kind(), error.outcome_unknown()), expected, "{error}");
    }
}

/// None of them waits for the others beyond its own deadline.
#[tokio::test]
async fn calls_that_are_sent_again_one_by_one_end_in_time() {
    const OVERRUN: Duration = Duration::from_secs(60);
    let (engine, _client, queue) = faulty("memory:", ms(500)).await;
    assert_eq!(queue.queue_len().await.unwrap(), 0);
    engine.set(|operation, ids| {
        let refused = Fault::Refuse(Error::new(ErrorKind::Internal, "as planned"));
        (operation == "add").then_some(if ids.len() > 1 { refused } else { Fault::Late(OVERRUN) })
    });
    let add = |id| queue.add_item(item(id));
    let all = async { tokio::join!(add("a"), add("b"), add("c")) };
    let answers = tokio::time::timeout(OVERRUN / 2, all).await.unwrap();
    let errors = <[_; 3]>::from(answers).map(Result::unwrap_err);
    let told = errors.each_ref().map(|error| (error.kind(), error.outcome_unknown()));
    let expected = [true, false, false].map(|unknown| (ErrorKind::Unavailable, unknown));
    assert_eq!(told, expected, "{errors:?}");
}
