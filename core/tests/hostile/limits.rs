//! Every limit: just inside, and just outside.

use std::time::Duration;

use leaseq::{
    ErrorKind, Item, ItemRef, KeepAlive, LeaseOptions, PauseOptions, Rate, Revision,
    SettingsChange, State,
};

use crate::support::*;

const DAY: Duration = Duration::from_secs(86_400);

/// `Invalid`, with all of these in the message.
fn assert_invalid<T: std::fmt::Debug>(result: leaseq::Result<T>, says: &[&str]) {
    let error = result.expect_err("this is outside the limits");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    for part in says {
        assert!(error.to_string().contains(part), "{error} does not say {part}");
    }
}

async fn ids_have_1_to_512_bytes(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("there")).await.unwrap();
    let before = bench.backend().dump();
    for (id, says) in [(vec![], "0 bytes"), (vec![b'x'; 513], "513 bytes")] {
        let says = [says, "512"];
        assert_invalid(queue.add_item(item(&id)).await, &says);
        assert_invalid(queue.add_items([item("fine"), item(&id)]).await, &says);
        assert_invalid(queue.get(&id).await, &says);
        assert_invalid(queue.remove(&id).await, &says);
        assert_invalid(queue.remove_many([&b"there"[..], &id]).await, &says);
        assert_invalid(queue.requeue([&b"there"[..], &id]).await, &says);
        assert_invalid(queue.bury([&b"there"[..], &id], "").await, &says);
        assert_invalid(queue.cancel_many([&b"there"[..], &id]).await, &says);
        assert_invalid(queue.revise(&id, Revision::new().priority(1)).await, &says);
    }
    assert!(bench.backend().dump() == before);
    for id in [vec![b'x'], vec![b'x'; 512]] {
        assert!(queue.add_item(item(&id)).await.unwrap());
        assert!(queue.remove(&id).await.unwrap());
    }
}

async fn revisions_and_generations(bench: &Bench) {
    let client = bench.client_with(options(|options| options.max_data = 100)).await;
    let queue = client.queue("jobs").unwrap();
    queue.add_item(item("there").delay(secs(60))).await.unwrap();
    let before = bench.backend().dump();
    let new = Revision::new;
    for (bad, says) in [
        (new(), &["there", "changes nothing"][..]),
        (new().data([0; 101]), &["there", "101 bytes", "100"]),
        (new().priority(10), &["there", "priority 10", "0 and 9"]),
        (new().delay(366 * DAY + ms(1)), &["there", "366 days"]),
        (new().delay(ms(0)).due_at(std::time::SystemTime::now()), &["there", "a delay and a time"]),
        (new().max_attempts(0), &["there", "max_attempts 0"]),
        (new().max_attempts(65_536), &["there", "max_attempts 65536", "65535"]),
    ] {
        assert_invalid(queue.revise("there", bad.clone()).await, says);
        let many = [("there", new().data("new")), ("there", bad)];
        assert_invalid(queue.revise_many(many).await, says);
    }
    for bad in ["", "17", "A2345salt5", &"0".repeat(600)] {
        let bad = ItemRef::new("there").if_generation(bad);
        let says = ["there", "is not a generation"];
        assert_invalid(queue.remove(bad.clone()).await, &says);
        assert_invalid(queue.requeue([bad.clone()]).await, &says);
        assert_invalid(queue.bury([ItemRef::new("there"), bad.clone()], "").await, &says);
        assert_invalid(queue.cancel_many([ItemRef::new("there"), bad.clone()]).await, &says);
        assert_invalid(queue.revise(bad, new().data("new")).await, &says);
    }
    assert!(bench.backend().dump() == before);
    for good in [
        new().data([0; 100]).priority(9).max_attempts(65_535),
        new().delay(366 * DAY),
        new().data("").priority(0).delay(ms(0)).max_attempts(1),
    ] {
        assert!(queue.revise("there", good).await.unwrap());
    }
}

async fn queue_names(bench: &Bench) {
    let client = bench.client().await;
    for bad in ["", " ", "a b", "{a}", "a}", "a/b", "a:b", "a*", "ä", "a\0", "a\n", "(all queues)"]
    {
        assert_invalid(client.queue(bad), &["[A-Za-z0-9._-]{1,128}"]);
    }
    assert_invalid(client.queue(&"x".repeat(129)), &["128"]);
    assert_invalid(client.queue(&"x".repeat(1 << 20)), &["128"]);
    assert!(bench.backend().dump().is_empty());
    for good in ["a", "0", "-", ".", "..", "_", "queues", "A.b_c-9", &"x".repeat(128)] {
        let queue = client.queue(good).unwrap();
        assert_eq!(queue.name(), good);
        assert!(queue.add_item(item("a")).await.unwrap(), "{good}");
        assert_eq!(drain(&queue).await, ["a"]);
    }
    assert_eq!(client.queues().await.unwrap().len(), 9);
}

async fn lease_durations(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let before = bench.backend().dump();
    for (bad, says) in [
        (Duration::ZERO, "0 ms"),
        (Duration::from_nanos(999_999), "999.999µs"),
        (30 * DAY + Duration::from_nanos(1), "2592000.000000001s"),
        (Duration::MAX, "30 days"),
    ] {
        let options = LeaseOptions::new(bad).wait(Duration::ZERO);
        assert_invalid(queue.lease(options.clone()).await, &[says, "1 ms", "30 days"]);
        assert_invalid(queue.lease_many(3, options).await, &[says]);
        assert_invalid(queue.extend(&lease, bad).await, &[says]);
    }
    let keep = LeaseOptions::new(secs(2)).keep_alive(KeepAlive::new().limit(secs(1)));
    assert_invalid(queue.lease(keep).await, &["1s", "2s"]);
    assert!(bench.backend().dump() == before);

    let deadline = queue.extend(&lease, 30 * DAY).await.unwrap();
    assert_eq!(since_1970(deadline), bench.now() + 30 * 86_400_000);
    queue.release(&lease, Duration::ZERO).await.unwrap();
    for good in [ms(1), Duration::from_nanos(1_000_001), 30 * DAY] {
        let options = LeaseOptions::new(good).wait(Duration::ZERO);
        let lease = queue.lease(options).await.unwrap().unwrap();
        let expected = bench.now() + good.as_nanos().div_ceil(1_000_000) as u64;
        assert_eq!(since_1970(lease.deadline()), expected);
        queue.release(&lease, Duration::ZERO).await.unwrap();
        assert_sound(&queue).await;
    }
}

async fn progress_has_up_to_1024_bytes(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let before = bench.backend().dump();
    assert_invalid(queue.set_progress(&lease, vec![0; 1_025]).await, &["1025 bytes", "1024"]);
    assert!(bench.backend().dump() == before);
    queue.set_progress(&lease, vec![0; 1_024]).await.unwrap();
    let info = queue.get("a").await.unwrap().unwrap();
    assert_eq!(info.progress.as_deref(), Some(&[0; 1_024][..]));
    assert_sound(&queue).await;
}

async fn a_wait_of_any_length(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    for wait in [Duration::MAX, 10_000 * 365 * DAY] {
        let options = LeaseOptions::new(secs(1)).wait(wait);
        assert!(queue.lease(options).await.unwrap().is_some());
    }
    let short = LeaseOptions::new(secs(1)).wait(Duration::from_nanos(1));
    assert!(queue.lease(short).await.unwrap().is_none());
}

async fn delays(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let lease = take(&queue).await;
    let before = bench.backend().dump();
    for bad in [366 * DAY + Duration::from_nanos(1), Duration::MAX] {
        let says = [&format!("{bad:?}")[..], "366 days"];
        assert_invalid(queue.add_item(item("b").delay(bad)).await, &says);
        assert_invalid(queue.release(&lease, bad).await, &says);
        assert_invalid(queue.fail(&lease, "", bad).await, &says);
    }
    assert!(bench.backend().dump() == before);
    assert!(queue.add_item(item("b").delay(366 * DAY)).await.unwrap());
    queue.release(&lease, 366 * DAY).await.unwrap();
    let at = queue.get("b").await.unwrap().unwrap().at.unwrap();
    assert_eq!(since_1970(at), bench.now() + 366 * 86_400_000);
    assert_sound(&queue).await;
    bench.advance(366 * DAY);
    assert_eq!(drain(&queue).await, ["a", "b"]);
}

async fn priorities_and_attempts(bench: &Bench) {
    let queue = bench.queue().await;
    for bad in [10, 255] {
        let says = [&format!("{bad}")[..], "0 and 9", "\"a\""];
        assert_invalid(queue.add_item(item("a").priority(bad)).await, &says);
    }
    for bad in [0, 65_536, u32::MAX] {
        let says = [&format!("{bad}")[..], "1 and 65535", "\"a\""];
        assert_invalid(queue.add_item(item("a").max_attempts(bad)).await, &says);
    }
    assert!(bench.backend().dump().is_empty());
    for (id, priority, most) in [("a", 0, 1), ("b", 9, 65_535)] {
        queue.add_item(item(id).priority(priority).max_attempts(most)).await.unwrap();
        let info = queue.get(id).await.unwrap().unwrap();
        assert_eq!((info.priority, info.max_attempts), (priority, Some(most)));
    }
}

async fn settings(bench: &Bench) {
    let (queue, change) = (bench.queue().await, SettingsChange::new);
    let long = 366 * DAY + ms(1);
    for (bad, says) in [
        (change().max_attempts(0), ["max_attempts 0", "between 1 and 65535"]),
        (change().max_attempts(65_536), ["max_attempts 65536", "between 1 and 65535"]),
        (change().retain(long), ["a retention", "between 0 ms and 366 days"]),
        (change().max_dead(0), ["max_dead of 0", "between 1 and 1000000000"]),
        (change().max_dead(1_000_000_001), ["max_dead of 1000000001", "between 1 and"]),
        (change().max_retained(0), ["max_retained of 0", "between 1 and 1000000000"]),
        (change().max_retained(u64::MAX), ["max_retained of 18446744073709551615", "1 and"]),
        (change().max_dead_age(Duration::ZERO), ["max_dead_age of 0 ms", "1 ms and 366 days"]),
        (change().max_dead_age(long), ["max_dead_age", "366 days"]),
        (change().max_retained_age(Duration::ZERO), ["max_retained_age of 0 ms", "1 ms and"]),
        (change().max_retained_age(Duration::MAX), ["max_retained_age", "366 days"]),
        (change().rate(Rate::new(0, ms(1))), ["a rate of 0", "between 1 and 1000000"]),
        (
            change().rate(Rate::new(1_000_001, ms(1))),
            ["a rate of 1000001", "between 1 and 1000000"],
        ),
        (change().rate(Rate::new(1, Duration::ZERO)), ["the period of a rate of 0 ms", "31 days"]),
        (change().rate(Rate::new(1, 31 * DAY + ms(1))), ["2678400001 ms", "1 ms and 31 days"]),
        (
            change().rate(Rate::new(1, ms(1)).burst(0)),
            ["the burst of a rate of 0", "1 and 1000000"],
        ),
        (change().rate(Rate::new(1, ms(1)).burst(1_000_001)), ["burst", "1000001"]),
    ] {
        assert_invalid(queue.configure(bad).await, &says);
    }
    for (bad, says) in [(Duration::ZERO, "0 ms"), (long, "31622400001 ms")] {
        let options = PauseOptions::new().duration(bad);
        assert_invalid(queue.pause_with(options).await, &["a pause", says, "366 days"]);
    }
    assert!(bench.backend().dump().is_empty());
    let highest = change()
        .max_attempts(65_535)
        .retain(366 * DAY)
        .max_dead(1_000_000_000)
        .max_retained(1_000_000_000)
        .max_dead_age(366 * DAY)
        .max_retained_age(366 * DAY)
        .rate(Rate::new(1_000_000, 31 * DAY));
    let found = queue.configure(highest).await.unwrap().unwrap();
    assert_eq!((found.max_attempts, found.retain), (Some(65_535), 366 * DAY));
    assert_eq!((found.max_dead, found.max_retained), (Some(1_000_000_000), Some(1_000_000_000)));
    assert_eq!((found.max_dead_age, found.max_retained_age), (Some(366 * DAY), Some(366 * DAY)));
    assert_eq!(found.rate, Some(Rate::new(1_000_000, 31 * DAY)));
    let lowest = change()
        .max_attempts(1)
        .retain(Duration::from_nanos(1))
        .max_dead(1)
        .max_retained(1)
        .max_dead_age(ms(1))
        .max_retained_age(ms(1))
        .rate(Rate::new(1, Duration::from_nanos(1_000_001)));
    let found = queue.configure(lowest).await.unwrap().unwrap();
    assert_eq!((found.max_attempts, found.retain), (Some(1), ms(1)), "rounded up");
    assert_eq!(found.rate, Some(Rate::new(1, ms(2))), "rounded up");
    for good in [ms(1), 366 * DAY] {
        queue.pause_with(PauseOptions::new().duration(good)).await.unwrap();
        let until = queue.settings().await.unwrap().paused_until.map(since_1970);
        assert_eq!(until, Some(bench.now() + good.as_millis() as u64));
        assert_sound(&queue).await;
    }
    bench.advance(366 * DAY);
    assert!(!queue.settings().await.unwrap().paused);
}

async fn batches_and_pages(bench: &Bench) {
    let queue = bench.queue().await;
    assert_invalid(queue.lease_many(0, at_once()).await, &["0"]);
    for bad in [0, 1001, usize::MAX] {
        for state in State::ALL {
            let says = [&format!("{bad}")[..], "1 and 1000"];
            assert_invalid(queue.list(state, None, bad).await, &says);
        }
    }
    assert!(bench.backend().dump().is_empty());
    queue.add_items((0..1001).map(|i| item(format!("{i}")))).await.unwrap();
    assert_eq!(queue.list(State::Ready, None, 1000).await.unwrap().items.len(), 1000);
    assert_eq!(queue.list(State::Ready, None, 1).await.unwrap().items.len(), 1);
    assert_eq!(queue.lease_many(usize::MAX, at_once()).await.unwrap().len(), 1000);
}

async fn a_cursor_of_another_state_is_harmless(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..5).map(|i| Item::new("").with_id([i]).priority(i))).await.unwrap();
    queue.add_items((5..9).map(|i| Item::new("").with_id([i]).delay(secs(1)))).await.unwrap();
    let before = bench.backend().dump();
    let ready = queue.list(State::Ready, None, 2).await.unwrap().cursor.unwrap();
    let delayed = queue.list(State::Delayed, None, 2).await.unwrap().cursor.unwrap();
    for (state, cursor) in [(State::Delayed, ready), (State::Ready, delayed)] {
        // Any answer will do, but for harm and for an internal error.
        if let Err(error) = queue.list(state, Some(&cursor), 2).await {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
    }
    assert!(bench.backend().dump() == before);
}

async fn a_cursor_of_another_engine_is_harmless(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..5).map(|i| Item::new("").with_id([i]).delay(secs(1)))).await.unwrap();
    let before = bench.backend().dump();
    let mut refused = 0;
    for (text, own) in [
        ("f:delayed:1:8j2t94r9kEKd5K", State::Delayed),
        ("f:ready:9:8j2t94r9kEKd5K:0:3:0", State::Ready),
        ("f:delayed:1:0:-3", State::Delayed),
        ("f:ready:9:4:17", State::Ready),
    ] {
        let cursor = text.parse().unwrap();
        for state in [State::Ready, State::Delayed, State::Dead] {
            let listed = queue.list(state, Some(&cursor), 2).await;
            assert!(listed.is_err() || state == own, "{text} {state:?}");
            if let Err(error) = listed {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
                assert!(error.to_string().contains(text), "{error}");
                refused += u32::from(state == own);
            }
        }
    }
    assert_eq!(refused, 2, "those of the other engine");
    assert!(bench.backend().dump() == before);
}

on_every_engine!(
    ids_have_1_to_512_bytes,
    revisions_and_generations,
    queue_names,
    lease_durations,
    progress_has_up_to_1024_bytes,
    a_wait_of_any_length,
    delays,
    priorities_and_attempts,
    settings,
    batches_and_pages,
    a_cursor_of_another_state_is_harmless,
    a_cursor_of_another_engine_is_harmless,
);
