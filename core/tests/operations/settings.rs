//! Settings of a queue: changing them, revisions, pauses, and what the defaults do. See `settings_sweep.rs` for limits.

use std::time::Duration;

use leaseq::{CompleteOptions, FailOptions, Lease, PauseOptions, SettingsChange, State, WorkQueue};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn change() -> SettingsChange {
    SettingsChange::new()
}

async fn configure(queue: &WorkQueue, change: SettingsChange) -> leaseq::Settings {
    queue.configure(change).await.unwrap().expect("no revision is expected")
}

async fn fail(queue: &WorkQueue, lease: &Lease) -> State {
    queue.fail(lease, "no", Duration::ZERO).await.unwrap()
}

async fn only_what_is_named_changes(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    assert_eq!(queue.settings().await.unwrap(), leaseq::Settings::default());
    let all = change()
        .max_attempts(5)
        .retain(HOUR)
        .max_dead(10)
        .max_retained(20)
        .max_dead_age(HOUR * 2)
        .max_retained_age(HOUR * 3);
    let first = configure(&queue, all).await;
    assert_eq!((first.max_attempts, first.retain), (Some(5), HOUR));
    assert_eq!((first.max_dead, first.max_retained), (Some(10), Some(20)));
    assert_eq!(first.max_dead_age, Some(HOUR * 2));
    assert_eq!(first.max_retained_age, Some(HOUR * 3));
    assert_eq!((first.revision, first.paused), (bench.now(), false));
    assert_eq!(other.settings().await.unwrap(), first);

    bench.advance(ms(5));
    let second = configure(&other, change().max_dead(11).max_retained(None)).await;
    assert_eq!((second.max_dead, second.max_retained), (Some(11), None));
    assert_eq!((second.max_attempts, second.retain), (Some(5), HOUR));
    assert_eq!(second.revision, bench.now());
    assert_eq!(queue.settings().await.unwrap(), second);

    let none = change()
        .max_attempts(None)
        .retain(None)
        .max_dead(None)
        .max_dead_age(None)
        .max_retained_age(None);
    let third = configure(&queue, none).await;
    assert_eq!(third.revision, second.revision + 1, "the clock has not moved");
    let mut expected = leaseq::Settings::default();
    expected.revision = third.revision;
    assert_eq!(third, expected);
    assert_sound(&queue).await;
}

async fn a_change_that_changes_nothing_keeps_the_revision(bench: &Bench) {
    let queue = bench.queue().await;
    // It does not make a queue, either.
    assert_eq!(configure(&queue, change().max_dead(None).retain(secs(0))).await.revision, 0);
    assert!(bench.client().await.queues().await.unwrap().is_empty());
    let first = configure(&queue, change().max_dead(1)).await;
    assert_eq!(bench.client().await.queues().await.unwrap(), ["jobs"]);
    bench.advance(secs(1));
    assert_eq!(configure(&queue, change().max_dead(1)).await, first);
    assert_eq!(configure(&queue, change()).await, first);
    assert_eq!(configure(&queue, change().max_retained(None)).await, first);
    assert_sound(&queue).await;
}

async fn another_revision_refuses_a_change(bench: &Bench) {
    let (queue, deployment) = (bench.queue().await, bench.queue().await);
    let seen = configure(&queue, change().max_attempts(3).expect_revision(0)).await.revision;
    let mut refused = change().max_attempts(4).expect_revision(0);
    for revision in [0, seen - 1, seen + 1, 1, u64::MAX] {
        refused = refused.expect_revision(revision);
        assert_eq!(deployment.configure(refused.clone()).await.unwrap(), None, "{revision}");
    }
    assert_eq!(queue.settings().await.unwrap().max_attempts, Some(3));
    let next = configure(&queue, change().max_attempts(4).expect_revision(seen)).await;
    assert!(next.revision > seen);
    assert_eq!(deployment.configure(change().expect_revision(seen)).await.unwrap(), None);
    // A queue that was dropped was never configured, and no earlier revision comes back.
    bench.advance(ms(2));
    assert!(queue.drop_queue().await.unwrap());
    assert_eq!(queue.settings().await.unwrap().revision, 0);
    assert_eq!(queue.configure(change().expect_revision(seen)).await.unwrap(), None);
    assert!(configure(&queue, change().max_dead(1)).await.revision > next.revision);
}

async fn the_default_limit_of_attempts(bench: &Bench) {
    let queue = bench.queue().await;
    for id in ["waits", "own", "expires", "late"] {
        let item = if id == "own" { item(id).max_attempts(3) } else { item(id) };
        queue.add_item(item).await.unwrap();
    }
    let mut leases = queue.lease_many(4, at_once()).await.unwrap();
    let late = leases.pop().unwrap();
    let _expires = leases.pop().unwrap();
    // Leased before the queue had a limit.
    configure(&queue, change().max_attempts(1)).await;
    assert_eq!(fail(&queue, &leases[1]).await, State::Ready, "its own limit counts");
    assert_eq!(fail(&queue, &leases[0]).await, State::Dead);
    bench.advance(secs(5));
    queue.extend(&late, secs(60)).await.unwrap();
    bench.advance(secs(5));
    let report = queue.light_clean().await.unwrap();
    assert_eq!((report.expired, report.died), (1, 1));
    assert_eq!(state(&queue, "expires").await, Some(State::Dead));
    // It changes at once, in both directions.
    configure(&queue, change().max_attempts(2)).await;
    assert_eq!(fail(&queue, &late).await, State::Ready);
    let own = take(&queue).await;
    assert_eq!(own.id_str(), Some("own"));
    let late = take(&queue).await;
    configure(&queue, change().max_attempts(None)).await;
    assert_eq!(fail(&queue, &late).await, State::Ready);
    // A limit that an item has reached already counts from its next attempt on.
    configure(&queue, change().max_attempts(1)).await;
    let late = take(&queue).await;
    assert_eq!(late.attempt(), 3);
    assert_eq!(fail(&queue, &late).await, State::Dead);
    // It is not stored with the items.
    assert_eq!(queue.get("late").await.unwrap().unwrap().max_attempts, None);
    assert_eq!(queue.requeue(["late"]).await.unwrap(), [true]);
    let late = take(&queue).await;
    queue.fail_with(&late, "no", FailOptions::new().delay(secs(1))).await.unwrap();
    assert_eq!(state(&queue, "late").await, Some(State::Dead));
    assert_sound(&queue).await;
}

async fn the_default_retention(bench: &Bench) {
    let queue = bench.queue().await;
    let end = async |id: &str, own: Option<Duration>, options: CompleteOptions| {
        let item = own.map_or(item(id), |own| item(id).retain(own));
        assert!(queue.add_item(item).await.unwrap());
        let lease = take(&queue).await;
        assert!(queue.complete_with(&lease, options).await.unwrap());
        let info = queue.get(id).await.unwrap();
        info.map(|info| since_1970(info.at.unwrap()) - bench.now())
    };
    let default = CompleteOptions::new;
    assert_eq!(end("before", None, default()).await, None);
    configure(&queue, change().retain(secs(10))).await;
    assert_eq!(end("a", None, default().result("x")).await, Some(10_000));
    assert_eq!(end("b", Some(secs(20)), default()).await, Some(20_000));
    assert_eq!(end("c", Some(secs(20)), default().retain(secs(5))).await, Some(5_000));
    assert_eq!(end("d", None, default().retain(Duration::ZERO)).await, None);
    let found = queue.get("a").await.unwrap().unwrap();
    assert_eq!((found.result.as_deref(), found.retain), (Some(&b"x"[..]), Duration::ZERO));
    // A lease that was given before, in a batch with others.
    queue.add_items(["e", "f"].map(item)).await.unwrap();
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    configure(&queue, change().retain(secs(30)).max_retained_age(secs(25))).await;
    assert_eq!(queue.complete_many(&leases).await.unwrap(), [true, true]);
    for id in ["e", "f"] {
        let found = queue.get(id).await.unwrap().unwrap();
        assert_eq!(since_1970(found.at.unwrap()) - bench.now(), 25_000);
    }
    assert_eq!(end("g", Some(secs(26)), default()).await, Some(25_000));
    assert_eq!(end("h", None, default().retain(secs(26))).await, Some(25_000));
    assert_eq!(end("i", None, default().retain(secs(24))).await, Some(24_000));
    // It does not reach back.
    configure(&queue, change().max_retained_age(secs(1))).await;
    let found = queue.get("g").await.unwrap().unwrap();
    assert_eq!(since_1970(found.at.unwrap()) - bench.now(), 25_000);
    assert_eq!(end("j", None, default()).await, Some(1_000));
    configure(&queue, change().max_retained_age(None).retain(None)).await;
    assert_eq!(end("k", None, default()).await, None);
    assert_sound(&queue).await;
}

/// Somebody whose lease has expired completes an item that is ready again.
async fn the_default_retention_of_a_late_completion(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    configure(&queue, change().retain(HOUR)).await;
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    assert_eq!(queue.complete_many(&leases).await.unwrap(), [true, true]);
    assert_eq!(state(&queue, "a").await, Some(State::Completed));
    assert!(drain(&queue).await.is_empty());
    assert_eq!(queue.counts().await.unwrap().completed, 2);
    assert_sound(&queue).await;
}

async fn the_default_retention_of_cancelled_items(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["leased", "fails"].map(item)).await.unwrap();
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    queue.add_item(item("ready")).await.unwrap();
    assert_eq!(queue.cancel_many(["leased", "fails"]).await.unwrap(), [true, true]);
    configure(&queue, change().retain(HOUR).max_retained_age(secs(60))).await;
    assert!(queue.cancel("ready").await.unwrap());
    assert_eq!(fail(&queue, &leases[1]).await, State::Cancelled);
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    for (id, since) in [("leased", 0), ("fails", 10_000), ("ready", 10_000)] {
        let found = queue.get(id).await.unwrap().expect(id);
        assert_eq!(found.state, State::Cancelled, "{id}");
        assert_eq!(since_1970(found.at.unwrap()) - bench.now(), 60_000 - since, "{id}");
    }
    assert_sound(&queue).await;
}

async fn a_pause_ends_by_itself(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    let revision = queue.settings().await.unwrap().revision;
    let pause = async |duration| {
        other.pause_with(PauseOptions::new().duration(duration)).await.unwrap();
    };
    pause(secs(10)).await;
    let settings = queue.settings().await.unwrap();
    assert_eq!(settings.paused_until.map(since_1970), Some(bench.now() + 10_000));
    assert_eq!((settings.paused, settings.revision), (true, revision));
    bench.advance(ms(9_999));
    assert!(queue.counts().await.unwrap().paused);
    assert!(drain(&queue).await.is_empty());
    bench.advance(ms(1));
    assert!(!queue.counts().await.unwrap().paused);
    let settings = queue.settings().await.unwrap();
    assert_eq!((settings.paused, settings.paused_until), (false, None));
    assert_eq!(take(&queue).await.id_str(), Some("a"));
    // The last pause counts: shorter, unlimited, limited again.
    pause(secs(100)).await;
    pause(secs(10)).await;
    bench.advance(secs(10));
    assert!(!queue.settings().await.unwrap().paused);
    pause(secs(10)).await;
    other.pause().await.unwrap();
    bench.advance(HOUR);
    let settings = queue.settings().await.unwrap();
    assert_eq!((settings.paused, settings.paused_until), (true, None));
    pause(secs(10)).await;
    assert!(drain(&queue).await.is_empty());
    other.resume().await.unwrap();
    assert!(!queue.settings().await.unwrap().paused);
    assert_eq!(drain(&queue).await, ["a", "b"]);
    assert_sound(&queue).await;
}

/// The longest pause is longer than any after the clock was set back.
async fn no_clean_ends_a_pause(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    queue.pause_with(PauseOptions::new().duration(HOUR * 24 * 366)).await.unwrap();
    bench.backend().set_clock(bench.now() - 120_000);
    queue.deep_clean().await.unwrap();
    let settings = queue.settings().await.unwrap();
    assert!(settings.paused && settings.paused_until.is_some(), "{settings:?}");
    assert!(drain(&queue).await.is_empty());
    assert_sound(&queue).await;
}

async fn a_pause_makes_a_queue(bench: &Bench) {
    let queue = bench.queue().await;
    queue.pause_with(PauseOptions::new().duration(secs(1))).await.unwrap();
    assert_eq!(bench.client().await.queues().await.unwrap(), ["jobs"]);
    bench.advance(secs(1));
    assert_eq!(bench.client().await.queues().await.unwrap(), ["jobs"]);
    assert!(queue.drop_queue().await.unwrap());
    assert!(!queue.settings().await.unwrap().paused);
}

/// Whoever waits wakes when the pause ends, although nothing happens then.
async fn the_end_of_a_pause_wakes(bench: &Bench) {
    let (queue, other) = (bench.queue_in_real_time().await, bench.queue_in_real_time().await);
    queue.add_item(item("a")).await.unwrap();
    let options = PauseOptions::new().duration(ms(200));
    queue.pause_with(options.clone()).await.unwrap();
    let wait = leaseq::LeaseOptions::new(secs(10)).wait(secs(600));
    let lease = tokio::time::timeout(secs(30), queue.lease(wait.clone())).await.unwrap();
    queue.complete(&lease.unwrap().unwrap()).await.unwrap();
    // It is shortened while somebody waits.
    other.add_item(item("b")).await.unwrap();
    other.pause_with(PauseOptions::new().duration(secs(600))).await.unwrap();
    let call = tokio::spawn(async move { queue.lease(wait).await.unwrap().unwrap() });
    other.pause_with(options.clone()).await.unwrap();
    let lease = tokio::time::timeout(secs(30), call).await.unwrap().unwrap();
    assert_eq!(lease.id_str(), Some("b"));
}

/// A client that has used the queue before another one changes its settings.
async fn a_change_holds_for_every_client_at_once(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    queue.add_items(["a", "b", "c"].map(item)).await.unwrap();
    let leases = queue.lease_many(3, at_once()).await.unwrap();
    assert!(queue.complete(&leases[0]).await.unwrap());
    assert_eq!(fail(&queue, &leases[1]).await, State::Ready);
    configure(&other, change().max_attempts(1).retain(HOUR).max_retained(1)).await;
    assert!(queue.complete(&leases[2]).await.unwrap());
    assert_eq!(state(&queue, "c").await, Some(State::Completed));
    assert_eq!(fail(&queue, &take(&queue).await).await, State::Dead);
    // Also for those of a queue of the same name.
    assert!(other.drop_queue().await.unwrap());
    queue.add_item(item("d")).await.unwrap();
    assert_eq!(fail(&queue, &take(&queue).await).await, State::Ready);
    assert!(queue.complete(&take(&queue).await).await.unwrap());
    assert_eq!(state(&queue, "d").await, None);
}

on_every_engine!(
    only_what_is_named_changes,
    a_change_that_changes_nothing_keeps_the_revision,
    another_revision_refuses_a_change,
    the_default_limit_of_attempts,
    the_default_retention,
    the_default_retention_of_a_late_completion,
    the_default_retention_of_cancelled_items,
    a_pause_ends_by_itself,
    no_clean_ends_a_pause,
    a_pause_makes_a_queue,
    the_end_of_a_pause_wakes,
    a_change_holds_for_every_client_at_once,
);
