//! Cursors of `list` while a queue changes.

use std::collections::BTreeMap;
use std::time::Duration;

use leaseq::{LeaseOptions, State};

use super::list::{ids, options};
use crate::support::*;

/// Turns pages while items come and go between them. Items that stay are shown once, all others at most once.
async fn cursors_stay_right(bench: &Bench, state: State, reverse: bool, seed: u32) {
    let client = bench.client().await;
    let queue = client.queue(&format!("{}-{reverse}-{seed}", state.as_str())).unwrap();
    let mut next = 0;
    // Many have the same time.
    let mut add = async |count: u32| {
        let items = (next..next + count).map(|n| {
            let one =
                item(format!("{n}")).max_attempts(1).priority((n % 2) as u8 * (seed % 2) as u8);
            match state {
                State::Delayed => one.delay(ms(u64::from(60_000 + n % 7))),
                State::Completed => one.retain(ms(u64::from(60_000 + n % 7))),
                _ => one,
            }
        });
        let items: Vec<_> = items.collect();
        next += count;
        queue.add_items(items).await.unwrap();
        match state {
            State::Leased => {
                queue.lease_many(count as usize, LeaseOptions::new(secs(600))).await.unwrap();
            }
            State::Dead => {
                let leases = queue.lease_many(count as usize, at_once()).await.unwrap();
                queue
                    .fail_many(leases.iter().map(|lease| (lease, "no")), Duration::ZERO)
                    .await
                    .unwrap();
            }
            State::Completed => {
                let leases = queue.lease_many(count as usize, at_once()).await.unwrap();
                queue.complete_many(&leases).await.unwrap();
            }
            _ => {}
        }
    };
    add(60).await;
    let all = async || list_all(&queue, state, 1_000).await.into_iter().map(|info| info.id);
    let began: Vec<_> = all().await.collect();
    let mut shown: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    let (mut cursor, mut gone, mut round) = (None, Vec::new(), seed);
    loop {
        let options = options(reverse).limit(4);
        let page = queue.list_with(state, cursor.as_ref(), &options).await.unwrap();
        for info in &page.items {
            *shown.entry(info.id.to_vec()).or_default() += 1;
        }
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
        bench.advance(ms(u64::from(round % 3)));
        match round % 5 {
            0 => add(7).await,
            1 if state == State::Ready => {
                // From the front.
                let leases = queue.lease_many(3, at_once()).await.unwrap();
                gone.extend(leases.iter().map(|lease| lease.id().to_vec()));
                queue.complete_many(&leases).await.unwrap();
            }
            // The one at which the cursor stands, one before it and one behind it.
            _ => {
                let here: Vec<_> = all().await.collect();
                let last = page.items.last().map(|info| info.id.clone());
                let at = here.iter().position(|id| Some(id) == last.as_ref()).unwrap_or(0);
                let near = [at, at.saturating_sub(1), at + 2].map(|at| here.get(at));
                let near: Vec<_> = near.into_iter().flatten().map(|id| id.to_vec()).collect();
                queue.remove_many(&near).await.unwrap();
                gone.extend(near);
            }
        }
        round += 1;
    }
    for id in &began {
        let times = shown.get(&id[..]).copied().unwrap_or(0);
        let stayed = !gone.contains(&id.to_vec());
        assert!(times == 1 || !stayed && times == 0, "{state:?} {id:?}: {times} times");
    }
    assert!(shown.values().all(|times| *times == 1), "{state:?} {reverse} {seed}: {shown:?}");
    assert!(began.iter().any(|id| !gone.contains(&id.to_vec())));
}

async fn cursors_stay_right_while_items_come_and_go(bench: &Bench) {
    for state in [State::Ready, State::Delayed, State::Leased, State::Dead, State::Completed] {
        for reverse in [false, true] {
            for seed in 0..10 {
                cursors_stay_right(bench, state, reverse, seed).await;
            }
        }
    }
}

async fn a_listing_goes_on_behind_many_new_items(bench: &Bench) {
    for reverse in [false, true] {
        let queue = bench.client().await.queue(&format!("new-{reverse}")).unwrap();
        queue.add_items((0..10).map(|n| item(format!("{n}")))).await.unwrap();
        let options = options(reverse).limit(4);
        let first = queue.list_with(State::Ready, None, &options).await.unwrap();
        // More than one page looks through for the place to go on.
        queue.add_items((10..25_000).map(|n| item(format!("{n}")))).await.unwrap();
        let mut found = ids(&first);
        let mut cursor = first.cursor;
        while let Some(from) = cursor {
            let page = queue.list_with(State::Ready, Some(&from), &options).await.unwrap();
            found.extend(ids(&page));
            cursor = page.cursor;
        }
        let mut expected: Vec<_> = (0..10).map(|n| n.to_string()).collect();
        if reverse {
            expected.reverse();
        }
        assert_eq!(found, expected);

        // The queue is drained and filled again: nothing is left to list.
        let first = queue.list_with(State::Ready, None, &options).await.unwrap();
        queue.purge(State::Ready).await.unwrap();
        queue.add_items((0..20).map(|n| item(format!("{n}")))).await.unwrap();
        let (mut cursor, mut found) = (first.cursor, Vec::new());
        while let Some(from) = cursor {
            let page = queue.list_with(State::Ready, Some(&from), &options).await.unwrap();
            found.extend(ids(&page));
            cursor = page.cursor;
        }
        assert_eq!(found, [""; 0]);
    }
}

/// What was listed last is leased and comes back, to where new items are.
async fn an_item_that_comes_back_moves_no_cursor(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_items(["d", "x", "c", "b", "a"].map(item)).await.unwrap();
    let reverse = options(true).limit(4);
    let first = queue.list_with(State::Ready, None, &reverse).await.unwrap();
    assert_eq!(ids(&first), ["a", "b", "c", "x"]);
    let leases = queue.lease_many(2, at_once()).await.unwrap();
    queue.fail(&leases[1], "once more", Duration::ZERO).await.unwrap();
    queue.add_items(["n1", "n2", "n3"].map(item)).await.unwrap();
    let next = queue.list_with(State::Ready, first.cursor.as_ref(), &reverse).await.unwrap();
    assert_eq!((ids(&next), next.cursor), (vec![], None));
}

/// Retained items whose time ends between two pages are gone, and no others are missed.
async fn a_listing_goes_on_when_items_are_over(bench: &Bench) {
    for reverse in [false, true] {
        let queue = bench.client().await.queue(&format!("over-{reverse}")).unwrap();
        queue
            .add_items((0..20).map(|n| item(format!("{n:02}")).retain(secs(10 + n))))
            .await
            .unwrap();
        let leases = queue.lease_many(20, at_once()).await.unwrap();
        queue.complete_many(&leases).await.unwrap();
        let options = options(reverse).limit(3);
        let first = queue.list_with(State::Completed, None, &options).await.unwrap();
        bench.advance(secs(17));
        let (mut found, mut cursor) = (ids(&first), first.cursor);
        while let Some(from) = cursor {
            let page = queue.list_with(State::Completed, Some(&from), &options).await.unwrap();
            found.extend(ids(&page));
            cursor = page.cursor;
        }
        let left: Vec<u32> = if reverse {
            (8..20).rev().collect()
        } else {
            [0, 1, 2].into_iter().chain(8..20).collect()
        };
        assert_eq!(found, left.iter().map(|n| format!("{n:02}")).collect::<Vec<_>>());
    }
}

on_every_engine!(
    an_item_that_comes_back_moves_no_cursor,
    a_listing_goes_on_when_items_are_over,
    cursors_stay_right_while_items_come_and_go,
    a_listing_goes_on_behind_many_new_items,
);
