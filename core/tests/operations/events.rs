//! Events: every change once and in order, cursors, gaps, and waiting.

use std::time::Duration;

use leaseq::{
    CompleteOptions, ErrorKind, Event, EventCursor, EventKind, EventsOptions, FailOptions,
    Revision, SettingsChange, State, WorkQueue,
};

use crate::support::*;

/// A queue that keeps its changes.
async fn noted(bench: &Bench, most: u64) -> WorkQueue {
    let queue = bench.queue().await;
    queue.configure(SettingsChange::new().events(most)).await.unwrap();
    queue
}

/// All events behind the cursor, in pages of so many.
async fn read(queue: &WorkQueue, cursor: &mut Option<EventCursor>, limit: usize) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let options = EventsOptions::new().after(cursor.clone()).limit(limit);
        let page = queue.events(options).await.unwrap();
        assert!(!page.gap && page.events.len() <= limit);
        *cursor = Some(page.cursor.to_string().parse().unwrap());
        if page.events.is_empty() {
            return events;
        }
        let mut last = events.last().map_or(0, |event| event.number);
        for event in &page.events {
            assert!(event.number > last, "{event:?} after {last}");
            last = event.number;
        }
        events.extend(page.events);
    }
}

/// Kind, id and attempt, and the kinds alone.
fn shown(events: &[Event]) -> Vec<String> {
    let shown = |event: &Event| {
        let id = event.id.as_deref().map_or("-".into(), String::from_utf8_lossy);
        let attempt = event.attempt.map_or(String::new(), |attempt| format!(" {attempt}"));
        format!("{} {id}{attempt}", event.kind.as_str())
    };
    events.iter().map(shown).collect()
}

async fn every_change_is_an_event(bench: &Bench) {
    let queue = noted(bench, 1000).await;
    let mut cursor = None;
    let mut next = async || shown(&read(&queue, &mut cursor, 3).await);
    queue.add_items([item("a"), item("b").priority(1).max_attempts(2)]).await.unwrap();
    assert!(!queue.add_item(item("a")).await.unwrap());
    assert_eq!(next().await, ["added a", "added b"]);
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    assert_eq!(next().await, ["leased - 1", "leased - 1"]);
    queue.complete(&leases[1]).await.unwrap();
    assert!(!queue.complete(&leases[1]).await.unwrap());
    queue.fail(&leases[0], "no", Duration::ZERO).await.unwrap();
    assert_eq!(next().await, ["completed a 1", "failed - 1"]);
    let lease = take(&queue).await;
    queue.release(&lease, Duration::ZERO).await.unwrap();
    take(&queue).await;
    assert_eq!(next().await, ["leased - 2", "released - 2", "leased - 2"]);
    bench.advance(secs(11));
    queue.light_clean().await.unwrap();
    assert_eq!(next().await, ["expired - 2", "dead -"]);
    queue.requeue(["b"]).await.unwrap();
    let lease = take(&queue).await;
    queue.fail_with(&lease, "no", FailOptions::new().dead()).await.unwrap();
    assert_eq!(next().await, ["requeued b", "leased - 1", "failed - 1", "dead -"]);
    queue.revise("b", Revision::new().data("new")).await.unwrap();
    queue.remove("b").await.unwrap();
    assert_eq!(next().await, ["revised b", "removed b"]);
    queue.add_items(["c", "d", "e", "f"].map(item)).await.unwrap();
    queue.bury(["c"], "no").await.unwrap();
    queue.cancel("d").await.unwrap();
    queue.add_item(item("e").replace()).await.unwrap();
    queue.purge(State::Ready).await.unwrap();
    let [first @ .., purged, also] = &next().await[..] else { panic!() };
    let wanted = ["added c", "added d", "added e", "added f", "dead c", "cancelled d"];
    assert_eq!(first, [&wanted[..], &["replaced e", "added e"]].concat());
    let mut purged = [purged, also];
    purged.sort();
    assert_eq!(purged, ["removed e", "removed f"]);
    // Retained items, late completions, marked and expiring items.
    let retained =
        [item("g").retain(secs(60)), item("h"), item("i"), item("j").expires_in(secs(5))];
    queue.add_items(retained).await.unwrap();
    let leases = queue.lease_many(3, at_once()).await.unwrap();
    next().await;
    queue.complete(&leases[0]).await.unwrap();
    queue.release(&leases[1], Duration::ZERO).await.unwrap();
    let keep = CompleteOptions::new().retain(secs(60));
    assert!(queue.complete_with(&leases[1], keep).await.unwrap());
    queue.cancel("i").await.unwrap();
    queue.fail(&leases[2], "no", Duration::ZERO).await.unwrap();
    let wanted = ["completed g 1", "released - 1", "completed h 1", "failed - 1", "cancelled -"];
    assert_eq!(next().await, wanted);
    bench.advance(secs(5));
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_eq!(next().await, ["dead j"]);
    queue.add_item(item("k").expires_in(secs(5)).delay(secs(1))).await.unwrap();
    bench.advance(secs(5));
    queue.light_clean().await.unwrap();
    queue.configure(SettingsChange::new().max_dead(1)).await.unwrap();
    queue.light_clean().await.unwrap();
    let [added, dead, removed @ ..] = &next().await[..] else { panic!() };
    assert_eq!((&added[..], &dead[..4]), ("added k", "dead"));
    assert_eq!(removed, ["removed c", "removed j"]);
    // As many as the totals say.
    let all = read(&queue, &mut None, 1000).await;
    let totals = queue.counts().await.unwrap().totals;
    let count = |kind| all.iter().filter(|event| event.kind == kind).count() as u64;
    assert_eq!(count(EventKind::Added), totals.added);
    assert_eq!(count(EventKind::Leased), totals.leased);
    assert_eq!(count(EventKind::Completed), totals.completed);
    assert_eq!(count(EventKind::Failed), totals.failed);
    assert_eq!(count(EventKind::Expired), totals.expired);
    assert_eq!(count(EventKind::Dead), totals.died);
    assert_eq!(count(EventKind::Removed), totals.removed);
    assert_eq!(count(EventKind::Replaced), totals.replaced);
    assert_eq!(count(EventKind::Cancelled), totals.cancelled);
    assert!(all.iter().all(|event| since_1970(event.at) <= bench.now()));
    // Pages of any size have the same events.
    for limit in [1, 2, 7] {
        assert_eq!(read(&queue, &mut None, limit).await, all);
    }
    assert_sound(&queue).await;
}

/// Its lease has expired before, also if the item is retained.
async fn a_late_completion_has_its_attempt(bench: &Bench) {
    let queue = noted(bench, 100).await;
    let ids = ["a", "b"];
    queue.add_items(ids.map(item)).await.unwrap();
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    bench.advance(secs(11));
    queue.light_clean().await.unwrap();
    let keep = CompleteOptions::new().retain(secs(60));
    assert!(queue.complete(&leases[0]).await.unwrap());
    assert!(queue.complete_with(&leases[1], keep).await.unwrap());
    let all = shown(&read(&queue, &mut None, 100).await);
    assert_eq!(all[all.len() - 2..], ["completed a 2", "completed b 2"]);
}

async fn an_event_names_the_generation(bench: &Bench) {
    let queue = noted(bench, 100).await;
    // Ids of different lengths, and one that is no text.
    let ids: [&[u8]; 4] =
        [b"a", b"a longer one", b"\x00\xff:1 2", b"0192f0c4-7c6a-7000-8000-000000000001"];
    queue.add_items(ids.map(item)).await.unwrap();
    let events = read(&queue, &mut None, 100).await;
    for (event, id) in events.iter().zip(ids) {
        assert_eq!(event.id.as_deref(), Some(id));
        let info = queue.get(id).await.unwrap().unwrap();
        assert_eq!(event.generation, info.generation);
        assert!(event.to_json().unwrap().contains(&info.generation));
    }
    queue.bury([ids[0]], "no").await.unwrap();
    let dead = queue.get(ids[0]).await.unwrap().unwrap();
    assert_eq!(read(&queue, &mut None, 100).await.last().unwrap().generation, dead.generation);
}

async fn only_the_last_ones_are_kept(bench: &Bench) {
    let queue = noted(bench, 5).await;
    let mut begin = None;
    queue.add_item(item("first")).await.unwrap();
    let [first] = read(&queue, &mut begin, 100).await.try_into().unwrap();
    queue.add_items((0..4).map(|n| item(format!("{n}")))).await.unwrap();
    let cursor = begin.clone();
    assert_eq!(read(&queue, &mut begin, 100).await.len(), 4);
    // The next one is the last that is not lost for this reader.
    queue.add_item(item("next")).await.unwrap();
    assert_eq!(read(&queue, &mut cursor.clone(), 100).await.len(), 5);
    queue.add_item(item("last")).await.unwrap();
    let after = |cursor: &Option<EventCursor>| EventsOptions::new().after(cursor.clone());
    let page = queue.events(after(&cursor)).await.unwrap();
    assert!(page.gap);
    let numbers: Vec<u64> = page.events.iter().map(|event| event.number).collect();
    assert_eq!(numbers, (first.number + 2..first.number + 7).collect::<Vec<_>>());
    assert!(!queue.events(after(&Some(page.cursor))).await.unwrap().gap);
    // Many in one step.
    queue.add_items((10..1010).map(|n| item(format!("{n}")))).await.unwrap();
    let page = queue.events(EventsOptions::new()).await.unwrap();
    assert_eq!((page.gap, page.events.len()), (false, 5));
    assert_eq!(page.events[4].id.as_deref(), Some(&b"1009"[..]));
    // Fewer, and more again.
    queue.configure(SettingsChange::new().events(2)).await.unwrap();
    assert_eq!(queue.events(EventsOptions::new()).await.unwrap().events.len(), 2);
    queue.configure(SettingsChange::new().events(1_000_000)).await.unwrap();
    let lease = take(&queue).await;
    queue.complete(&lease).await.unwrap();
    assert!(queue.events(EventsOptions::new()).await.unwrap().events.len() >= 4);
    assert_eq!(queue.settings().await.unwrap().events, Some(1_000_000));
}

async fn a_reader_learns_of_what_it_has_missed(bench: &Bench) {
    let queue = noted(bench, 100).await;
    queue.add_item(item("a")).await.unwrap();
    let mut cursor = None;
    read(&queue, &mut cursor, 100).await;
    let gap = async |queue: &WorkQueue, cursor: &Option<EventCursor>| {
        let page = queue.events(EventsOptions::new().after(cursor.clone())).await.unwrap();
        (page.gap, page.events.len(), page.cursor)
    };
    // Switched off and on.
    bench.advance(ms(1));
    queue.configure(SettingsChange::new().events(None)).await.unwrap();
    queue.add_item(item("b")).await.unwrap();
    let (missed, count, same) = gap(&queue, &cursor).await;
    assert_eq!((missed, count, Some(same)), (false, 0, cursor.clone()));
    assert!(queue.events(EventsOptions::new()).await.unwrap().events.is_empty());
    bench.advance(ms(1));
    queue.configure(SettingsChange::new().events(100)).await.unwrap();
    let (missed, count, next) = gap(&queue, &cursor).await;
    assert_eq!((missed, count), (true, 0));
    queue.add_item(item("c")).await.unwrap();
    let (missed, count, next) = gap(&queue, &Some(next)).await;
    assert_eq!((missed, count), (false, 1));
    // Dropped and made again.
    queue.drop_queue().await.unwrap();
    assert_eq!(gap(&queue, &Some(next.clone())).await, (false, 0, next.clone()));
    bench.advance(ms(1));
    queue.configure(SettingsChange::new().events(100)).await.unwrap();
    queue.add_item(item("d")).await.unwrap();
    let (missed, count, _) = gap(&queue, &Some(next)).await;
    assert_eq!((missed, count), (true, 1));
    // A cursor that is newer than everything, or of an event that a server has lost.
    let newer: EventCursor = "999999999999999-1".parse().unwrap();
    let (missed, count, next) = gap(&queue, &Some(newer)).await;
    assert_eq!((missed, count), (true, 1));
    let (number, at) = next
        .to_string()
        .split_once('-')
        .map(|(n, at)| (n.to_owned(), at.parse::<u64>().unwrap()))
        .unwrap();
    let other: EventCursor = format!("{number}-{}", at - 1).parse().unwrap();
    assert!(gap(&queue, &Some(other)).await.0);
    // Who reads before events are kept has begun, too.
    let other = bench.client().await.queue("others").unwrap();
    let (missed, count, begun) = gap(&other, &None).await;
    assert_eq!((missed, count), (false, 0));
    other.configure(SettingsChange::new().events(2)).await.unwrap();
    for id in ["a", "b", "c"] {
        other.add_item(item(id)).await.unwrap();
    }
    let (missed, count, next) = gap(&other, &Some(begun)).await;
    assert_eq!((missed, count), (true, 2));
    assert_eq!(gap(&other, &Some(next.clone())).await, (false, 0, next));
    // From now on.
    let (missed, count, now) = gap(&queue, &Some(EventCursor::now())).await;
    assert_eq!((missed, count), (false, 0));
    queue.add_item(item("e")).await.unwrap();
    assert_eq!(gap(&queue, &Some(now)).await.1, 1);
}

async fn a_reader_waits(bench: &Bench) {
    let queue = noted(bench, 100).await;
    let other = bench.queue_in_real_time().await;
    let short = EventsOptions::new().wait(ms(30));
    assert!(other.events(short).await.unwrap().events.is_empty());
    let waits = other.events(EventsOptions::new().wait(secs(60)));
    let adds = async {
        tokio::task::yield_now().await;
        queue.add_item(item("a")).await.unwrap();
    };
    let (page, ()) = tokio::join!(waits, adds);
    assert_eq!(shown(&page.unwrap().events), ["added a"]);
    for limit in [0, 1001] {
        let options = EventsOptions::new().limit(limit);
        assert_eq!(kind(queue.events(options).await), ErrorKind::Invalid);
    }
    for most in [0, 1_000_001] {
        let change = SettingsChange::new().events(most);
        assert_eq!(kind(queue.configure(change).await), ErrorKind::Invalid);
    }
    let none = bench.client().await.queue("nothing").unwrap();
    assert!(none.events(EventsOptions::new()).await.unwrap().events.is_empty());
}

on_every_engine!(
    every_change_is_an_event,
    a_late_completion_has_its_attempt,
    an_event_names_the_generation,
    only_the_last_ones_are_kept,
    a_reader_learns_of_what_it_has_missed,
    a_reader_waits,
);
