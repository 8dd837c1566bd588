//! A panic in the task that sends requests.

use super::*;

/// A panic in the request of several calls: all of them get an error, and later ones are served.
async fn a_panic_ends_its_calls_alone(url: &str) {
    let (engine, client, queue) = faulty(url, SOON).await;
    assert!(queue.add_item(item("first")).await.unwrap());
    for round in 0..3 {
        let (one, two) = (format!("{round}"), format!("{round} too"));
        engine.set(once("add", Fault::Panic));
        let (one, two) = tokio::join!(queue.add_item(item(&one)), queue.add_item(item(&two)));
        let errors: Vec<Error> = [one, two].into_iter().filter_map(Result::err).collect();
        assert!(!errors.is_empty());
        assert!(errors.iter().all(|error| error.kind() == ErrorKind::Internal), "{errors:?}");
        assert!(errors.iter().any(Error::outcome_unknown), "{errors:?}");
        assert!(queue.add_item(item(&format!("{round} again"))).await.unwrap());

        for name in ["lease", "complete_and_lease"] {
            let lease = queue.lease(at_once()).await.unwrap().unwrap();
            engine.set(once(name, Fault::Panic));
            let error = match name {
                "lease" => queue.lease(at_once()).await.unwrap_err(),
                _ => queue.complete_and_lease([&lease], 1, at_once()).await.unwrap_err(),
            };
            assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Internal, true));
            // The next call is served, alone or in a task of its own.
            let other = tokio::spawn({
                let queue = queue.clone();
                async move { queue.lease(at_once()).await }
            });
            let next = queue.lease(at_once()).await.unwrap();
            assert!(next.is_some() || other.await.unwrap().unwrap().is_some());
            queue.release(&lease, Duration::ZERO).await.unwrap();
            queue.purge(crate::State::Leased).await.unwrap();
            queue.add_items([item("a"), item("b"), item("c")]).await.unwrap();
        }
    }
    let closed = tokio::time::timeout(SOON, client.close()).await;
    assert!(closed.is_ok(), "close waits for a request that has ended");
}

#[tokio::test]
async fn a_panic_ends_its_calls_alone_in_memory() {
    a_panic_ends_its_calls_alone("memory:").await;
}

/// A lone call drives its request in its own task, which must not panic as well.
#[tokio::test]
async fn a_panic_does_not_reach_the_call_that_drives_the_request() {
    for name in ["add", "lease"] {
        let (engine, _client, queue) = faulty("memory:", SOON).await;
        assert_eq!(queue.queue_len().await.unwrap(), 0);
        engine.set(once(name, Fault::Panic));
        let error = match name {
            "add" => queue.add_item(item("a")).await.map(drop),
            _ => queue.lease(at_once()).await.map(drop),
        };
        let error = error.unwrap_err();
        assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Internal, true), "{error}");
        assert!(queue.add_item(item("b")).await.unwrap());
        assert!(queue.lease(at_once()).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_ends_its_calls_alone_on_a_server() {
    let server = RedisServer::start();
    a_panic_ends_its_calls_alone(&server.url()).await;
}

#[tokio::test]
async fn a_panic_strands_no_lease() {
    let server = RedisServer::start();
    let (engine, client, queue) = faulty(&server.url(), SOON).await;
    queue.add_items([item("a"), item("b")]).await.unwrap();
    engine.set(once("lease", Fault::PanicAfter));
    let waits = tokio::spawn({
        let queue = queue.clone();
        async move { queue.lease_many(2, at_once()).await }
    });
    assert_eq!(waits.await.unwrap().unwrap_err().kind(), ErrorKind::Internal);
    let mut counts = queue.counts().await.unwrap();
    let back = eventually(SOON, async || {
        counts = queue.counts().await.unwrap();
        (counts.ready, counts.leased) == (2, 0)
    });
    assert!(back.await, "{counts:?}");
    client.close().await;
}

/// Calls that are sent one by one, after their common request was refused.
#[tokio::test]
async fn a_panic_says_of_calls_that_were_not_sent_again_that_nothing_happened() {
    let (engine, _client, queue) = faulty("memory:", SOON).await;
    assert_eq!(queue.queue_len().await.unwrap(), 0);
    engine.set(|operation, ids| {
        let refused = Fault::Refuse(Error::new(ErrorKind::Internal, "as planned"));
        (operation == "add").then_some(if ids.len() > 1 { refused } else { Fault::Panic })
    });
    let add = |id| queue.add_item(item(id));
    let answers = tokio::join!(add("a"), add("b"), add("c"));
    let errors = <[_; 3]>::from(answers).map(Result::unwrap_err);
    let told = errors.each_ref().map(|error| (error.kind(), error.outcome_unknown()));
    let expected = [true, false, false].map(|unknown| (ErrorKind::Internal, unknown));
    assert_eq!(told, expected, "{errors:?}");
}
