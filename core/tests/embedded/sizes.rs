//! Answers are bounded by what they carry, not by what the queue once had.

use leaseq::{Item, State};

use crate::support::{Place, assert_sound, at_once, item};

#[tokio::test]
async fn a_large_item_that_is_gone_makes_no_page_smaller() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_item(Item::new(vec![1; 8 << 20]).with_id("large")).await.unwrap();
    assert!(queue.remove("large").await.unwrap());
    queue.add_items((0..1_000).map(|n| item(n.to_string()))).await.unwrap();
    let page = queue.list(State::Ready, None, 1_000).await.unwrap();
    assert_eq!(page.items.len(), 1_000);
    let leases = queue.lease_many(1_000, at_once()).await.unwrap();
    assert_eq!(leases.len(), 1_000);
    assert_sound(&queue).await;
}

#[tokio::test]
async fn an_answer_stops_before_it_carries_too_much() {
    let place = Place::new();
    let queue = place.queue().await;
    // 6 MiB each: two of them fit, and what follows waits for the next answer.
    let sizes = [6 << 20, 100, 6 << 20, 6 << 20, 100, 6 << 20];
    let items =
        sizes.iter().enumerate().map(|(n, size)| Item::new(vec![1; *size]).with_id([n as u8]));
    queue.add_items(items).await.unwrap();
    let (mut pages, mut seen, mut cursor) = (0, 0, None);
    loop {
        let page = queue.list(State::Ready, cursor.as_ref(), 1_000).await.unwrap();
        let bytes: usize = page.items.iter().map(|item| item.data.len()).sum();
        assert!(bytes <= 16 << 20, "{bytes}");
        (pages, seen, cursor) = (pages + 1, seen + page.items.len(), page.cursor);
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!((pages, seen), (2, 6));
    // The client asks again until it has as many as there are.
    let mut came = Vec::new();
    while came.len() < 6 {
        let leases = queue.lease_many(6, at_once()).await.unwrap();
        let bytes: usize = leases.iter().map(|lease| lease.data().len()).sum();
        assert!(!leases.is_empty() && bytes <= 16 << 20, "{bytes}");
        came.extend(leases.iter().map(|lease| lease.id()[0]));
    }
    assert_eq!(came, [0, 1, 2, 3, 4, 5]);
}
