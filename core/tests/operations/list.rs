//! `list` and its options.

use std::time::{Duration, SystemTime};

use leaseq::{Cursor, ErrorKind, Item, ListOptions, Page, State, WorkQueue};

use crate::support::*;

pub(super) fn options(reverse: bool) -> ListOptions {
    let options = ListOptions::new();
    if reverse { options.reverse() } else { options }
}

pub(super) fn ids(page: &Page) -> Vec<String> {
    page.items.iter().map(|info| String::from_utf8(info.id.to_vec()).unwrap()).collect()
}

/// All pages of a listing, and how many entries they have examined.
async fn listed(queue: &WorkQueue, state: State, options: &ListOptions) -> (Vec<String>, u64) {
    let (mut found, mut examined, mut cursor) = (Vec::new(), 0, None);
    for pages in 0.. {
        assert!(pages < 10_000, "a listing without an end");
        let page = queue.list_with(state, cursor.as_ref(), options).await.unwrap();
        assert!(page.items.len() <= options.limit && page.examined <= 1_000);
        found.extend(ids(&page));
        examined += page.examined;
        // As another process would go on.
        cursor = page.cursor.map(|cursor| cursor.to_string().parse::<Cursor>().unwrap());
        if cursor.is_none() {
            break;
        }
    }
    (found, examined)
}

/// The states of [`some_of_each`].
const STATES: [State; 5] =
    [State::Ready, State::Delayed, State::Leased, State::Dead, State::Completed];

/// Items in each state but ready, a second apart, and ready ones of three priorities.
async fn some_of_each(bench: &Bench, queue: &WorkQueue) {
    for n in 0..20 {
        queue.add_item(item(format!("dead{n:02}")).max_attempts(1)).await.unwrap();
        queue.fail(&take(queue).await, &format!("error {}", n % 4), Duration::ZERO).await.unwrap();
        queue.add_item(item(format!("completed{n:02}")).retain(secs(500))).await.unwrap();
        queue.complete(&take(queue).await).await.unwrap();
        queue.add_item(item(format!("delayed{n:02}")).delay(secs(100))).await.unwrap();
        queue.add_item(item(format!("leased{n:02}"))).await.unwrap();
        let lease = queue.lease(leaseq::LeaseOptions::new(secs(200)).wait(Duration::ZERO)).await;
        assert!(lease.unwrap().is_some());
        bench.advance(secs(1));
    }
    for n in 0..20 {
        let ready = Item::new(format!("data {}", n % 5)).with_id(format!("ready{n:02}"));
        queue.add_item(ready.priority(n % 3)).await.unwrap();
        bench.advance(secs(1));
    }
}

async fn list_in_both_directions(bench: &Bench) {
    let queue = bench.queue().await;
    some_of_each(bench, &queue).await;
    let before = bench.backend().dump();
    for state in STATES {
        let (forward, examined) = listed(&queue, state, &options(false)).await;
        assert_eq!((forward.len(), examined), (20, 20), "{state:?}");
        let mut backward = forward.clone();
        backward.reverse();
        for limit in [1, 3, 7, 19, 20, 21, 1_000] {
            let found = listed(&queue, state, &options(false).limit(limit)).await;
            assert_eq!(found, (forward.clone(), 20), "{state:?}, pages of {limit}");
            let found = listed(&queue, state, &options(true).limit(limit)).await;
            assert_eq!(found, (backward.clone(), 20), "{state:?} in reverse, pages of {limit}");
        }
    }
    assert!(bench.backend().dump() == before, "looking changes nothing");
}

async fn list_from_and_until_a_time(bench: &Bench) {
    let queue = bench.queue().await;
    some_of_each(bench, &queue).await;
    for state in STATES {
        let all = queue.list(state, None, 1_000).await.unwrap().items;
        let time = |n: usize| all[n].at.unwrap_or(all[n].added_at);
        let expected = |holds: &dyn Fn(SystemTime) -> bool| -> Vec<_> {
            let held = (0..20).filter(|n| holds(time(*n)));
            held.map(|n| String::from_utf8(all[n].id.to_vec()).unwrap()).collect()
        };
        for reverse in [false, true] {
            for (since, until) in
                [(time(5), time(12)), (time(0), time(0)), (time(3) + ms(1), time(19))]
            {
                if since > until {
                    continue;
                }
                for limit in [2, 1_000] {
                    let options = options(reverse).limit(limit);
                    let both = options.clone().since(since).until(until);
                    let mut cases = [
                        (both, expected(&|at| at >= since && at < until)),
                        (options.clone().since(since), expected(&|at| at >= since)),
                        (options.clone().until(until), expected(&|at| at < until)),
                    ];
                    for (options, expected) in &mut cases {
                        if reverse {
                            expected.reverse();
                        }
                        let found = listed(&queue, state, options).await;
                        assert_eq!(&found.0, expected, "{state:?} {options:?}");
                        // Other states are not examined outside the times.
                        let examined = if state == State::Ready { 20 } else { expected.len() };
                        assert_eq!(found.1, examined as u64, "{state:?} {options:?}");
                    }
                }
            }
        }
        let long_ago = options(false).until(SystemTime::UNIX_EPOCH - secs(1));
        assert_eq!(listed(&queue, state, &long_ago).await.0, [""; 0]);
    }
}

async fn list_with_filters(bench: &Bench) {
    let queue = bench.queue().await;
    some_of_each(bench, &queue).await;
    let ready = |n| format!("ready{n:02}");
    for limit in [1, 3, 1_000] {
        let options = options(false).limit(limit);
        // In the order of their priorities, 2 to 0.
        let found = listed(&queue, State::Ready, &options.clone().id_prefix("ready1")).await;
        assert_eq!(found, ([11, 14, 17, 10, 13, 16, 19, 12, 15, 18].map(ready).to_vec(), 20));
        let found = listed(&queue, State::Ready, &options.clone().data_contains("ta 3")).await;
        assert_eq!(found, ([8, 13, 3, 18].map(ready).to_vec(), 20));
        let both = options.clone().data_contains("3").id_prefix("ready0").reverse();
        let found = listed(&queue, State::Ready, &both.without_data()).await;
        assert_eq!(found, ([3, 8].map(ready).to_vec(), 20));
        let found = listed(&queue, State::Dead, &options.clone().error_contains("or 2")).await;
        assert_eq!(found.0, [2, 6, 10, 14, 18].map(|n| format!("dead{n:02}")));
        let found = listed(&queue, State::Dead, &options.clone().error_contains("none")).await;
        assert_eq!(found, (vec![], 20));
    }
    let page = queue.list_with(State::Ready, None, &options(false).limit(3).without_data()).await;
    assert!(page.unwrap().items.iter().all(|info| info.data.is_empty()));
    let page = queue.list_with(State::Ready, None, &options(false).limit(3)).await.unwrap();
    assert!(page.items.iter().all(|info| !info.data.is_empty()));
}

async fn a_filtered_page_may_be_empty_although_there_is_more(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..2_500).map(|n| item(format!("a{n}")))).await.unwrap();
    queue.add_item(item("b")).await.unwrap();
    let options = options(false).id_prefix("b").limit(10);
    let (mut cursor, mut pages) = (None, Vec::new());
    loop {
        let page = queue.list_with(State::Ready, cursor.as_ref(), &options).await.unwrap();
        pages.push((page.items.len(), page.examined));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, [(0, 1_000), (0, 1_000), (1, 501)]);
    let first = queue.list_with(State::Ready, None, &options.clone().reverse()).await.unwrap();
    assert_eq!((ids(&first), first.examined), (vec!["b".to_owned()], 1_000));
    let one = queue.list_with(State::Ready, None, &options.clone().reverse().limit(1)).await;
    assert_eq!(one.unwrap().examined, 1, "the page is full");
}

async fn large_items_take_no_room_from_others(bench: &Bench) {
    let queue = bench.queue().await;
    let small = |n: u32| Item::new(vec![1; 2_000]).with_id(format!("{n}"));
    let large = |n: u32| Item::new(vec![1; 7 << 20]).with_id(format!("large{n}"));
    queue.add_items((0..250).map(small)).await.unwrap();
    queue.add_item(large(0)).await.unwrap();
    queue.add_items((250..500).map(small)).await.unwrap();
    queue.add_item(large(1)).await.unwrap();
    queue.add_items((500..750).map(small)).await.unwrap();
    for n in 2..5 {
        queue.add_item(large(n)).await.unwrap();
    }
    for reverse in [false, true] {
        let (mut cursor, mut pages) = (None, Vec::new());
        loop {
            let options = options(reverse).limit(1_000);
            let page = queue.list_with(State::Ready, cursor.as_ref(), &options).await.unwrap();
            let bytes: usize = page.items.iter().map(|info| info.data.len()).sum();
            assert!(bytes <= 16 << 20, "{bytes}");
            pages.push(page.items.len());
            cursor = page.cursor;
            if cursor.is_none() {
                break;
            }
        }
        // Two large ones fit into a page, and with them what is between.
        let expected = if reverse { [2, 502, 251] } else { [752, 2, 1] };
        assert_eq!(pages, expected, "reverse: {reverse}");
        let options = options(reverse).limit(1_000).without_data();
        assert_eq!(listed(&queue, State::Ready, &options).await.0.len(), 755);
    }
}

async fn wrong_options_are_invalid(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items((0..3).map(|n| item(n.to_string()))).await.unwrap();
    let now = SystemTime::now();
    for (wrong, says) in [
        (options(false).limit(0), "0 items"),
        (options(true).limit(1_001), "1 and 1000"),
        (options(false).id_prefix([1; 513]), "id_prefix of 513 bytes is over the limit of 512"),
        (options(false).data_contains([1; 1_025]), "data_contains of 1025 bytes"),
        (options(false).error_contains("x".repeat(1_025)), "error_contains of 1025"),
        (options(false).since(now).until(now - secs(1)), "since is after until"),
    ] {
        let error = queue.list_with(State::Dead, None, &wrong).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(says), "{error}");
    }
    let page = queue.list_with(State::Ready, None, &options(true).limit(1)).await.unwrap();
    let error = queue.list(State::Ready, page.cursor.as_ref(), 1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("the other direction"), "{error}");
    queue.add_items((0..3).map(|n| item(format!("{n} later")).delay(secs(60)))).await.unwrap();
    let page = queue.list(State::Delayed, None, 1).await.unwrap();
    for state in [State::Ready, State::Leased, State::Dead, State::Completed] {
        let error = queue.list(state, page.cursor.as_ref(), 1).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{state:?}");
    }
}

on_every_engine!(
    list_in_both_directions,
    list_from_and_until_a_time,
    list_with_filters,
    a_filtered_page_may_be_empty_although_there_is_more,
    large_items_take_no_room_from_others,
    wrong_options_are_invalid,
);
