//! Changing items that are not leased: `bury`, `revise`, and generations that operators name.

use std::time::{Duration, UNIX_EPOCH};

use leaseq::{Item, ItemRef, LeaseOptions, Revision, State, WorkQueue};

use crate::support::*;

fn data(text: &str) -> Revision {
    Revision::new().data(text)
}

async fn generation(queue: &WorkQueue, id: &str) -> String {
    queue.get(id).await.unwrap().unwrap().generation
}

async fn bury_moves_what_is_ready_or_delayed(bench: &Bench) {
    let queue = bench.queue().await;
    one_of_each_state(&queue).await;
    let before = queue.get("leased").await.unwrap();
    let ids = ["ready", "leased", "delayed", "dead", "none", "ready"];
    let expected = [true, false, true, false, false, false];
    assert_eq!(queue.bury(ids, "bad data").await.unwrap(), expected);
    assert_eq!(queue.get("leased").await.unwrap(), before);
    for id in ["ready", "delayed"] {
        let info = queue.get(id).await.unwrap().unwrap();
        assert_eq!((info.state, info.last_error.as_str()), (State::Dead, "bad data"));
        assert_eq!((info.failures, info.expiries, info.endings.len()), (0, 0, 0));
        assert_eq!(info.at.map(since_1970), Some(bench.now()));
    }
    assert_eq!(queue.get("dead").await.unwrap().unwrap().last_error, "broken");
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.leased, counts.dead), (0, 0, 1, 3));
    assert_eq!((counts.totals.died, counts.totals.removed), (3, 0));
    bench.advance(secs(61));
    assert_eq!(queue.light_clean().await.unwrap().promoted, 0);
    assert_eq!(drain(&queue).await, ["leased"]);
    assert_eq!(queue.requeue(["ready"]).await.unwrap(), [true]);
    assert_eq!(drain(&queue).await, ["ready"]);
    assert_sound(&queue).await;
}

async fn a_buried_item_has_an_error_text(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    assert_eq!(queue.bury(["a"], "").await.unwrap(), [true]);
    assert_eq!(queue.bury(["b"], &"é".repeat(600)).await.unwrap(), [true]);
    let text = async |id| queue.get(id).await.unwrap().unwrap().last_error;
    assert_eq!(text("a").await, "buried by an operator");
    assert_eq!(text("b").await, "é".repeat(512));
}

/// What a revision does not name stays.
async fn revise_changes_what_it_names(bench: &Bench) {
    let queue = bench.queue().await;
    let rich = item("a").priority(3).max_attempts(5);
    queue.add_item(rich).await.unwrap();
    let added_at = bench.now();
    bench.advance(secs(5));
    queue.fail(&take(&queue).await, "first", Duration::ZERO).await.unwrap();
    let lease = take(&queue).await;
    bench.advance(secs(10));
    queue.light_clean().await.unwrap();
    assert!(is_lost(queue.extend(&lease, secs(1)).await));
    let before = queue.get("a").await.unwrap().unwrap();

    assert!(queue.revise("a", data("new")).await.unwrap());
    let after = queue.get("a").await.unwrap().unwrap();
    assert!(after.generation != before.generation);
    let mut expected = before.clone();
    expected.data = "new".into();
    expected.generation = after.generation.clone();
    assert_eq!(after, expected);
    assert_eq!(since_1970(after.added_at), added_at);
    assert_eq!((after.failures, after.expiries, after.endings.len()), (1, 1, 2));

    let options = Revision::new().priority(7).max_attempts(9).data("");
    bench.advance(secs(1));
    assert!(queue.revise("a", options).await.unwrap());
    let last = queue.get("a").await.unwrap().unwrap();
    assert_eq!((last.priority, last.max_attempts, &last.data[..]), (7, Some(9), &b""[..]));
    assert_eq!((since_1970(last.added_at), last.failures), (added_at, 1));
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready_by_priority[3], counts.ready_by_priority[7]), (0, 1));
    assert_eq!((counts.totals.added, counts.totals.removed, counts.totals.died), (1, 0, 0));
    let lease = take(&queue).await;
    assert_eq!((lease.attempt(), lease.priority(), lease.last_error()), (3, 7, "first"));
    assert!(queue.complete(&lease).await.unwrap());
    assert_sound(&queue).await;
}

async fn revise_keeps_the_state(bench: &Bench) {
    let queue = bench.queue().await;
    one_of_each_state(&queue).await;
    let before = seen(&queue).await;
    let same = |id| (id, data("new"));
    let answers = queue.revise_many(["ready", "leased", "none", "delayed", "dead"].map(same)).await;
    assert_eq!(answers.unwrap(), [true, false, false, true, true]);
    let after = seen(&queue).await;
    assert_eq!(after.0, before.0);
    for (old, new) in before.1.iter().zip(&after.1) {
        assert_eq!(
            (&old.id, old.state, old.at, &old.last_error),
            (&new.id, new.state, new.at, &new.last_error)
        );
        let stays = old.state == State::Leased || old.state.is_retained();
        assert_eq!((old.data == new.data, old.generation == new.generation), (stays, stays));
    }
    bench.advance(secs(60));
    assert_eq!(drain(&queue).await, ["leased", "ready", "delayed"]);
    assert_sound(&queue).await;
}

async fn a_delay_moves_an_item_unless_it_is_dead(bench: &Bench) {
    let queue = bench.queue().await;
    one_of_each_state(&queue).await;
    queue.add_items(["b", "c"].map(|id| item(id).delay(secs(60)))).await.unwrap();
    let delay = |seconds| Revision::new().delay(secs(seconds));
    let soon = Revision::new().due_at(UNIX_EPOCH + ms(bench.now() + 7_000));
    let passed = Revision::new().due_at(UNIX_EPOCH + ms(bench.now() - 1));
    let dead = generation(&queue, "dead").await;
    let answers = queue
        .revise_many([
            ("ready", delay(5)),
            ("delayed", delay(0)),
            ("leased", delay(0)),
            ("dead", delay(0)),
            ("dead", soon.clone()),
            ("b", soon),
            ("c", passed),
        ])
        .await;
    assert_eq!(answers.unwrap(), [true, true, false, false, false, true, true]);
    assert_eq!(generation(&queue, "dead").await, dead);
    assert_eq!(drain(&queue).await, ["delayed", "c"]);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.dead), (0, 2, 1));
    bench.advance(secs(5));
    assert_eq!(drain(&queue).await, ["ready"]);
    bench.advance(secs(2));
    assert_eq!(drain(&queue).await, ["b"]);
    assert_sound(&queue).await;
}

async fn a_released_item_keeps_its_place_at_the_front(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["a", "b"].map(item)).await.unwrap();
    queue.release(&take(&queue).await, secs(5)).await.unwrap();
    assert!(queue.revise("a", data("new")).await.unwrap());
    bench.advance(secs(5));
    assert_eq!(drain(&queue).await, ["a", "b"]);
}

async fn a_limit_that_was_reached_counts_from_the_next_failure(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    for _ in 0..3 {
        queue.fail(&take(&queue).await, "", Duration::ZERO).await.unwrap();
    }
    assert!(queue.revise("a", Revision::new().max_attempts(2)).await.unwrap());
    assert_eq!(state(&queue, "a").await, Some(State::Ready));
    let state = queue.fail(&take(&queue).await, "", Duration::ZERO).await.unwrap();
    assert_eq!(state, State::Dead);
}

/// Old entries of the ready lists lead to nothing, whatever the lease finds between them.
async fn what_left_the_line_is_leased_once_and_at_the_back(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..12).map(|i| item(format!("{i}")))).await.unwrap();
    queue.bury(["1", "2", "11"], "").await.unwrap();
    for id in ["0", "3", "4"] {
        assert!(queue.revise(id, data("new")).await.unwrap());
    }
    assert!(queue.revise("3", data("newer")).await.unwrap());
    assert_eq!(queue.queue_len().await.unwrap(), 9);
    let mut order = Vec::new();
    loop {
        let leases = queue.lease_many(2, at_once()).await.unwrap();
        let counts = queue.counts().await.unwrap();
        order.extend(ids(&leases));
        assert_eq!((counts.ready, counts.leased), (9 - order.len() as u64, order.len() as u64));
        if leases.is_empty() {
            break;
        }
    }
    assert_eq!(order, ["5", "6", "7", "8", "9", "10", "0", "4", "3"]);
    bench.advance(secs(10));
    queue.requeue(["1", "2", "11"]).await.unwrap();
    assert_eq!(drain(&queue).await.len(), 12);
    assert!(queue.lease(at_once()).await.unwrap().is_none());
    assert_sound(&queue).await;
}

async fn a_generation_that_was_not_seen_is_not_changed(bench: &Bench) {
    let queue = bench.queue().await;
    one_of_each_state(&queue).await;
    let old = list_all(&queue, State::Dead, 10).await;
    let of = |generation: &str| ItemRef::new("dead").if_generation(generation);
    assert!(queue.revise(of(&old[0].generation), data("new")).await.unwrap());

    let before = seen(&queue).await;
    assert!(!queue.remove(&old[0]).await.unwrap());
    assert_eq!(queue.requeue(&old).await.unwrap(), [false]);
    assert!(!queue.revise(&old[0], data("newer")).await.unwrap());
    let stranger = generation(&queue, "leased").await;
    assert!(!queue.remove(of(&stranger)).await.unwrap());
    let ready = ItemRef::new("ready").if_generation(stranger);
    assert_eq!(queue.bury([ready.clone()], "").await.unwrap(), [false]);
    assert!(!queue.revise(ready, data("newer")).await.unwrap());
    let nobody = ItemRef::new("nobody").if_generation(&before.1[0].generation);
    assert_eq!(queue.remove_many([nobody]).await.unwrap(), [false]);
    assert_eq!(seen(&queue).await, before);

    // The second of two references to an item may be the right one.
    let ready = list_all(&queue, State::Ready, 10).await;
    let both = [ItemRef::new("ready").if_generation(&old[0].generation), ItemRef::from(&ready[0])];
    assert_eq!(queue.bury(both, "").await.unwrap(), [false, true]);
    let new = list_all(&queue, State::Dead, 10).await;
    assert_eq!(queue.requeue(&new).await.unwrap(), [true, true]);
    // A requeue and a lease keep the generation.
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    assert_eq!(leases.len(), 2);
    assert_eq!(queue.remove_many(&new).await.unwrap(), [true, true]);
    assert_sound(&queue).await;
}

async fn an_item_of_the_same_id_is_another_generation(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let page = queue.list(State::Ready, None, 10).await.unwrap();
    queue.remove("a").await.unwrap();
    queue.add_item(item("a")).await.unwrap();
    assert_eq!(queue.remove_many(&page.items).await.unwrap(), [false]);
    assert_eq!(queue.bury(&page.items, "").await.unwrap(), [false]);
    assert_eq!(drain(&queue).await, ["a"]);
}

/// Of two operators who have seen the same, one changes it.
async fn two_operators_change_each_generation_once(bench: &Bench) {
    let queues = [bench.queue().await, bench.queue().await];
    let names: Vec<String> = (0..300).map(|i| format!("{i}")).collect();
    queues[0].add_items(names.iter().map(item)).await.unwrap();
    let pages = queues[0].list(State::Ready, None, 1000).await.unwrap().items;
    let both = async |act: &dyn Fn(usize) -> _| tokio::join!(act(0), act(1));
    let revise = |operator: usize| {
        let (queue, revision) = (queues[operator].clone(), data(&operator.to_string()));
        let all: Vec<_> =
            pages.iter().map(|info| (ItemRef::from(info), revision.clone())).collect();
        tokio::spawn(async move {
            let mut answers = Vec::new();
            for one in all {
                answers.push(queue.revise_many([one]).await.unwrap()[0]);
            }
            answers
        })
    };
    let (one, two) = both(&revise).await;
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(one.iter().zip(&two).all(|(one, two)| one != two));
    for info in list_all(&queues[0], State::Ready, 1000).await {
        let at = names.iter().position(|name| name.as_bytes() == info.id).unwrap();
        assert_eq!(info.data, if one[at] { "0" } else { "1" });
    }

    // While a worker leases.
    let leased = tokio::spawn({
        let queue = queues[1].clone();
        async move {
            let mut leased = Vec::new();
            for _ in 0..20 {
                let long = LeaseOptions::new(secs(600)).wait(Duration::ZERO);
                leased.extend(ids(&queue.lease_many(5, long).await.unwrap()));
            }
            leased
        }
    });
    let (queue, all) = (queues[0].clone(), names.clone());
    let buried = tokio::spawn(async move {
        let mut buried = Vec::new();
        for chunk in all.chunks(7) {
            buried.extend(queue.bury(chunk, "").await.unwrap());
        }
        buried
    });
    let (leased, buried) = (leased.await.unwrap(), buried.await.unwrap());
    for (name, buried) in names.iter().zip(buried) {
        assert_eq!(leased.iter().filter(|leased| *leased == name).count(), usize::from(!buried));
    }
    let counts = queues[0].counts().await.unwrap();
    assert_eq!((counts.ready, counts.dead + counts.leased), (0, 300));
    assert_eq!((counts.leased, counts.totals.died), (leased.len() as u64, counts.dead));
    assert_sound(&queues[0]).await;
}

/// A step copies 16 MiB at most, or one item; the client asks again for the rest.
async fn large_items_are_changed_in_steps(bench: &Bench) {
    let queue = bench.queue().await;
    let large = |i: u8| Item::new(vec![i; 6 << 20]).with_id([b'a' + i]);
    queue.add_items((0..5).map(large)).await.unwrap();
    queue.add_item(item("small")).await.unwrap();
    let names = ["a", "b", "none", "c", "d", "e", "small"];
    let revise = |id| (id, Revision::new().priority(1));
    let expected = [true, true, false, true, true, true, true];
    assert_eq!(queue.revise_many(names.map(revise)).await.unwrap(), expected);
    assert_eq!(queue.queue_len().await.unwrap(), 6);
    assert_eq!(queue.bury(names, "too large").await.unwrap(), expected);
    assert_sound(&queue).await;
    for (i, id) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        let info = queue.get(id).await.unwrap().unwrap();
        assert_eq!((info.state, info.priority), (State::Dead, 1));
        assert!(info.data.len() == 6 << 20 && info.data.iter().all(|byte| *byte == i as u8));
    }
    // Large data becomes small, and small data large.
    let new = vec![9; 40_000];
    let revisions = [("a", data("x")), ("small", data("").data(&new)), ("b", data("").data(&new))];
    assert_eq!(queue.revise_many(revisions).await.unwrap(), [true; 3]);
    assert_eq!(queue.get("a").await.unwrap().unwrap().data, "x");
    for id in ["small", "b"] {
        assert!(queue.get(id).await.unwrap().unwrap().data == new);
    }
    assert_sound(&queue).await;
}

async fn batches_of_any_size(bench: &Bench) {
    let queue = bench.queue().await;
    let names: Vec<String> = (0..2_345).map(|i| format!("{i}")).collect();
    assert_eq!(queue.bury(&names, "").await.unwrap(), [false; 2_345]);
    queue.add_items(names.iter().map(item)).await.unwrap();
    let revisions = names.iter().map(|id| (id, data(&format!("new {id}"))));
    assert_eq!(queue.revise_many(revisions).await.unwrap(), [true; 2_345]);
    let lease = take(&queue).await;
    assert_eq!((lease.id(), &lease.data()[..]), (&b"0"[..], &b"new 0"[..]));
    queue.release(&lease, Duration::ZERO).await.unwrap();
    assert_eq!(queue.bury(&names, "").await.unwrap(), [true; 2_345]);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.dead, counts.totals.died), (0, 2_345, 2_345));
    assert!(queue.bury(Vec::<String>::new(), "").await.unwrap().is_empty());
    assert!(queue.revise_many(Vec::<(String, Revision)>::new()).await.unwrap().is_empty());
    assert_sound(&queue).await;
}

on_every_engine!(
    bury_moves_what_is_ready_or_delayed,
    a_buried_item_has_an_error_text,
    revise_changes_what_it_names,
    revise_keeps_the_state,
    a_delay_moves_an_item_unless_it_is_dead,
    a_released_item_keeps_its_place_at_the_front,
    a_limit_that_was_reached_counts_from_the_next_failure,
    what_left_the_line_is_leased_once_and_at_the_back,
    a_generation_that_was_not_seen_is_not_changed,
    an_item_of_the_same_id_is_another_generation,
    two_operators_change_each_generation_once,
    large_items_are_changed_in_steps,
    batches_of_any_size,
);
