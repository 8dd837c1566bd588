//! Held items that have unique keys, too.

use leaseq::{Item, Revision, State, WorkQueue};

use crate::keys::{add, complete, got, keyed};
use crate::support::*;

/// One item of the key is leased; `held` waits behind it, with a unique key.
async fn held(queue: &WorkQueue) -> leaseq::Lease {
    queue.drop_queue().await.unwrap();
    add(queue, [keyed("first", "k")]).await;
    let first = take(queue).await;
    add(queue, [keyed("held", "k").unique("u"), keyed("last", "k")]).await;
    assert!(got(queue).await.is_empty());
    assert_eq!(state(queue, "held").await, Some(State::Held));
    first
}

fn other(id: &str) -> Item {
    item(id).unique("u")
}

async fn every_end_of_a_held_item_releases_its_unique_key(bench: &Bench) {
    let queue = bench.queue().await;
    for way in ["cancel", "remove", "purge", "bury", "replaced by its id", "replaced by its key"] {
        let first = held(&queue).await;
        assert!(!queue.add_item(other("other")).await.unwrap(), "{way}");
        match way {
            "cancel" => assert!(queue.cancel("held").await.unwrap()),
            "remove" => assert!(queue.remove("held").await.unwrap()),
            "purge" => assert_eq!(queue.purge(State::Held).await.unwrap(), 2),
            "bury" => assert_eq!(queue.bury(["held"], "no").await.unwrap(), [true]),
            "replaced by its id" => {
                assert!(queue.add_item(keyed("held", "k").replace()).await.unwrap());
            }
            _ => {
                assert!(queue.add_item(other("new").key("k").replace()).await.unwrap());
                assert_eq!(state(&queue, "held").await, None);
                assert!(queue.remove("new").await.unwrap());
            }
        }
        assert!(queue.add_item(other("other")).await.unwrap(), "{way}");
        if way == "bury" {
            assert_eq!(queue.requeue(["held"]).await.unwrap(), [false], "it has lost its key");
            assert!(queue.remove("other").await.unwrap());
            assert_eq!(queue.requeue(["held"]).await.unwrap(), [true]);
            assert!(!queue.add_item(other("other")).await.unwrap());
        }
        complete(&queue, &first).await;
        let next = got(&queue).await;
        let of_key = if way == "purge" { vec![] } else { vec!["last"] };
        let others = if way == "bury" { vec![] } else { vec!["other"] };
        assert_eq!(next, [of_key, others].concat(), "{way}");
        assert_sound(&queue).await;
    }
}

async fn a_held_item_keeps_its_unique_key_until_it_ends(bench: &Bench) {
    let queue = bench.queue().await;
    let first = held(&queue).await;
    assert!(queue.revise("held", Revision::new().data("new")).await.unwrap());
    assert!(!queue.add_item(other("other")).await.unwrap());
    assert_eq!(queue.set_key_limits([("k", Some(2))]).await.unwrap(), ());
    let second = take(&queue).await;
    assert_eq!(second.id_str(), Some("last"), "what is revised is the last one");
    complete(&queue, &first).await;
    let third = take(&queue).await;
    assert_eq!((third.id_str(), &third.data()[..]), (Some("held"), &b"new"[..]));
    assert!(!queue.add_item(other("other")).await.unwrap());
    complete(&queue, &third).await;
    assert!(queue.add_item(other("other")).await.unwrap());
    assert_sound(&queue).await;
}

async fn a_held_item_that_expires_releases_both(bench: &Bench) {
    let queue = bench.queue().await;
    let first = held(&queue).await;
    assert!(queue.remove("held").await.unwrap());
    add(&queue, [keyed("held", "k").unique("u").expires_in(secs(5))]).await;
    assert!(got(&queue).await.is_empty());
    bench.advance(secs(5));
    assert!(queue.add_item(other("other").key("k")).await.unwrap());
    complete(&queue, &first).await;
    assert_eq!(got(&queue).await, ["last"]);
    let last = queue.get("last").await.unwrap().unwrap();
    assert_eq!(last.state, State::Leased);
    assert_eq!(state(&queue, "held").await, Some(State::Dead));
    assert_eq!(queue.requeue(["held"]).await.unwrap(), [false], "another one has its key");
    assert_sound(&queue).await;
}

on_every_engine!(
    every_end_of_a_held_item_releases_its_unique_key,
    a_held_item_keeps_its_unique_key_until_it_ends,
    a_held_item_that_expires_releases_both,
);
