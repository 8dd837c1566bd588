//! What a lease tells its holder when the engine fails.

use super::*;

#[tokio::test]
async fn a_kept_lease_is_extended_again_when_the_engine_goes_on() {
    let (engine, _client, queue) = faulty("memory:", SOON).await;
    queue.add_items([item("a"), item("b")]).await.unwrap();
    let keep = LeaseOptions::new(ms(2_000)).keep_alive(KeepAlive::new());
    let lease = queue.lease(keep.clone()).await.unwrap().unwrap();
    let tries = Arc::new(AtomicUsize::new(0));
    let refuse = |tries: &Arc<AtomicUsize>| {
        let tries = tries.clone();
        move |operation: &'static str, _: &[Bytes]| {
            let refused = operation == "extend";
            tries.fetch_add(usize::from(refused), Relaxed);
            refused.then(|| Fault::Refuse(Error::unavailable("the disk is full", false)))
        }
    };
    engine.set(refuse(&tries));
    assert!(eventually(SOON, async || tries.load(Relaxed) >= 3).await);
    engine.set(|_, _| None);
    let deadline = lease.deadline();
    assert!(eventually(SOON, async || lease.deadline() > deadline).await);
    assert!(!lease.is_lost());
    assert!(queue.complete(&lease).await.unwrap());

    // The engine does not recover: a bounded number of attempts, and the holder is notified in time.
    tries.store(0, Relaxed);
    let lease = queue.lease(keep).await.unwrap().unwrap();
    let begun = Instant::now();
    engine.set(refuse(&tries));
    tokio::time::timeout(SOON, lease.lost()).await.unwrap();
    assert!(begun.elapsed() >= ms(1_900), "{:?}", begun.elapsed());
    let tries = tries.load(Relaxed);
    println!("{tries} tries");
    assert!((2..=60).contains(&tries), "{tries}");
}

/// After an error, each lease tells whether it was completed.
#[tokio::test]
async fn each_lease_says_whether_it_was_completed() {
    let (engine, _client, queue) = faulty("memory:", SOON).await;
    let ids: Vec<String> = (0..2_500).map(|i| i.to_string()).collect();
    queue.add_items(ids.iter().map(|id| item(id))).await.unwrap();
    let mut leases = Vec::new();
    while leases.len() < ids.len() {
        leases.extend(queue.lease_many(1_000, at_once()).await.unwrap());
    }
    let says = |leases: &[crate::Lease]| -> Vec<Option<bool>> {
        leases.iter().map(crate::Lease::completed).collect()
    };
    assert!(says(&leases).iter().all(|said| *said == Some(false)));
    // The second of three chunks is refused: nothing of it was executed.
    let mut completes = 0;
    engine.set(move |operation, _| {
        completes += usize::from(operation == "complete");
        (operation == "complete" && completes == 2)
            .then(|| Fault::Refuse(Error::unavailable("no room", false)))
    });
    let error = queue.complete_and_lease(&leases, 1, at_once()).await.unwrap_err();
    assert!(error.to_string().contains("each lease says whether it was completed"), "{error}");
    assert!(!error.to_string().contains("nothing was executed"), "{error}");
    assert!(says(&leases[..1_000]).iter().all(|said| *said == Some(true)));
    assert!(says(&leases[1_000..]).iter().all(|said| *said == Some(false)));
    // The second half is refused, but the items are completed.
    engine.set(once("second half", Fault::Refuse(Error::internal("a bad record"))));
    let error = queue.complete_and_lease(&leases[1_000..1_002], 1, at_once()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(says(&leases[1_000..1_003]), [Some(true), Some(true), Some(false)]);
    // No reply to either half: unknown, until a later call gets a reply.
    engine.set(once("complete_and_lease", Fault::Panic));
    let error = queue.complete_and_lease(&leases[1_002..1_004], 1, at_once()).await.unwrap_err();
    assert!(error.outcome_unknown());
    assert_eq!(says(&leases[1_002..1_005]), [None, None, Some(false)]);
    assert_eq!(queue.complete_many(&leases[1_002..1_003]).await.unwrap(), [true]);
    assert_eq!(says(&leases[1_002..1_004]), [Some(true), None]);
    // Another client has removed it, so this call has not completed it.
    assert!(queue.remove("1004").await.unwrap());
    assert_eq!(queue.complete_many(&leases[1_004..1_005]).await.unwrap(), [false]);
    assert_eq!(says(&leases[1_004..1_005]), [Some(false)]);
}

/// A value whose request fails is sent again, unless there is a newer one by then.
#[tokio::test]
async fn progress_that_is_sent_again_replaces_no_newer_value() {
    let (engine, _client, queue) = faulty("memory:", ms(1_500)).await;
    queue.add_item(item("a")).await.unwrap();
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    engine.set(move |operation, _| {
        let second = operation == "set_progress" && counted.fetch_add(1, Relaxed) == 1;
        second.then_some(Fault::NoAnswer)
    });
    queue.set_progress(&lease, "first").await.unwrap();
    queue.set_progress(&lease, "second").await.unwrap();
    assert!(eventually(SOON, async || requests.load(Relaxed) == 2).await);
    // A second later, "second" is still without an answer, and the next value would be due.
    let begun = Instant::now();
    assert!(eventually(SOON, async || begun.elapsed() > ms(1_100)).await);
    queue.set_progress(&lease, "third").await.unwrap();
    let answered = begun + ms(1_500);
    let stored = async || {
        let found = queue.get("a").await.unwrap().unwrap().progress;
        answered + ms(1_500) < Instant::now() && found == Some("third".into())
    };
    assert!(eventually(SOON, stored).await);
    assert_eq!(requests.load(Relaxed), 3);
}

/// The engine says that a lease is not current, because a call of its holder has ended it and has no reply yet.
#[tokio::test]
async fn a_lease_that_its_holder_ends_is_not_lost() {
    let (engine, client, _queue) = faulty("memory:", SOON).await;
    engine.set(|operation, _| {
        let ends = ["complete", "release", "fail"].contains(&operation);
        ends.then_some(Fault::LateReply(ms(5_000)))
    });
    let mut calls = tokio::task::JoinSet::new();
    for end in ["complete", "release", "fail"] {
        let queue = client.queue(end).unwrap();
        calls.spawn(async move {
            queue.add_item(item("a")).await.unwrap();
            let lease = queue.lease(at_once()).await.unwrap().unwrap();
            let call = async {
                match end {
                    "complete" => assert!(queue.complete(&lease).await.unwrap()),
                    "release" => queue.release(&lease, Duration::ZERO).await.unwrap(),
                    _ => drop(queue.fail(&lease, "no", Duration::ZERO).await.unwrap()),
                }
            };
            let watch = async {
                assert!(!lease.cancelled().await);
                assert!(!lease.is_settled(), "the call has no reply yet");
                assert!(!lease.is_lost(), "{end}");
            };
            tokio::join!(call, watch);
            assert!(lease.is_settled() && !lease.is_lost(), "{end}");
        });
    }
    calls.join_all().await;
}

#[tokio::test]
async fn a_holder_is_told_when_the_engine_goes_on() {
    let (engine, client, queue) = faulty("memory:", SOON).await;
    queue.add_item(item("a")).await.unwrap();
    let lease = queue.lease(at_once()).await.unwrap().unwrap();
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    engine.set(move |operation, _| {
        let asks = operation == "cancellations";
        let refused = asks && counted.fetch_add(1, Relaxed) < 2;
        refused.then(|| Fault::Refuse(Error::unavailable("the server is gone", false)))
    });
    assert!(queue.cancel("a").await.unwrap() && !lease.is_cancelled());
    assert!(tokio::time::timeout(3 * SOON, lease.cancelled()).await.unwrap());
    assert_eq!(tries.load(Relaxed), 3, "two were refused");
    // Nobody is watched any more, so nobody asks.
    let watches = &client.context().watches;
    assert!(eventually(SOON, async || watches.is_empty()).await);
}
