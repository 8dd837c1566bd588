//! Ids and data of any bytes.

use std::collections::BTreeSet;
use std::time::Duration;

use leaseq::{Item, State};

use crate::support::*;

const UUID: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";

/// Ids that look like one another, or like something else.
fn ids() -> BTreeSet<Vec<u8>> {
    let packed = [&[0][..], &(0..16).collect::<Vec<u8>>()].concat();
    let real: Vec<u8> = [&[0][..], uuid::Uuid::parse_str(UUID).unwrap().as_bytes()].concat();
    let mut ids: Vec<Vec<u8>> = [
        "a",
        "A",
        " ",
        "a ",
        "\n",
        "a\r\n",
        "{a}",
        "}{",
        "*",
        "?[a-z]",
        "'",
        "\"",
        "\\",
        "%s%d",
        "1",
        "0",
        "-1",
        "01",
        "1.0",
        "1e3",
        "nil",
        "false",
        "inf",
        "nan",
        "9007199254740993",
        "ä",
        "a\u{308}",
        "日本",
        "\u{feff}",
        "leaseq:{jobs}:items",
        "1:2:3:",
        "$5\r\nhello\r\n",
    ]
    .map(Into::into)
    .to_vec();
    let uuids = [
        UUID.to_owned(),
        UUID.to_uppercase(),
        UUID.replace('-', ""),
        format!("{{{UUID}}}"),
        format!("urn:uuid:{UUID}"),
        UUID.replacen('e', "E", 1),
        UUID.replacen('6', "g", 1),
        UUID.replacen("67e55044-1", "67e5504410", 1),
        format!("{UUID}\0"),
        format!("\0{UUID}"),
        "00000000-0000-0000-0000-000000000000".to_owned(),
        "ffffffff-ffff-ffff-ffff-ffffffffffff".to_owned(),
    ];
    ids.extend(uuids.map(String::into_bytes));
    ids.extend([
        packed.clone(),
        [&[1], &packed[..]].concat(),
        [&[1, 1], &packed[..]].concat(),
        real.clone(),
        [&[1], &real[..]].concat(),
        [&real[..], b"x"].concat(),
        real[..16].to_vec(),
        vec![0],
        vec![0, 0],
        vec![1],
        vec![1, 0],
        vec![1, 1],
        vec![2],
        vec![0xff],
        vec![0xc3, 0x28],
        vec![0; 17],
        vec![0; 512],
        vec![1; 512],
        vec![b'x'; 511],
        vec![b'x'; 512],
        (0..=255).collect(),
    ]);
    ids.extend((0..=255).map(|byte| vec![b'p', byte, b's']));
    ids.into_iter().collect()
}

async fn every_id_is_itself_and_no_other(bench: &Bench) {
    let queue = bench.queue().await;
    let ids = ids();
    let items = ids
        .iter()
        .enumerate()
        .map(|(i, id)| Item::new(id).with_id(id).priority((i % 3) as u8).delay(ms(i as u64 % 2)));
    let added = queue.add_items(items).await.unwrap();
    assert!(added.iter().all(|added| *added), "{added:?}");
    assert!(queue.add_items(ids.iter().map(item)).await.unwrap().iter().all(|added| !added));
    for id in &ids {
        let info = queue.get(id).await.unwrap().unwrap();
        assert_eq!((&info.id[..], &info.data[..]), (&id[..], &id[..]));
    }
    bench.advance(ms(1));
    let listed = list_all(&queue, State::Delayed, 10).await;
    assert_eq!(listed.len(), ids.len() / 2);
    let leases = queue.lease_many(1000, at_once()).await.unwrap();
    assert_eq!(leases.iter().map(|lease| lease.id().to_vec()).collect::<BTreeSet<_>>(), ids);
    assert!(leases.iter().all(|lease| lease.id() == &lease.data()[..]));
    assert_sound(&queue).await;

    let (some, others) = leases.split_at(leases.len() / 2);
    assert!(queue.complete_many(some).await.unwrap().iter().all(|done| *done));
    for lease in some {
        assert_eq!(queue.get(lease.id()).await.unwrap(), None);
    }
    queue.release_many(others, Duration::ZERO).await.unwrap();
    let removed = queue.remove_many(others.iter().map(|lease| lease.id())).await.unwrap();
    assert!(removed.iter().all(|removed| *removed));
    assert_sound(&queue).await;
}

async fn ids_lead_to_their_items_after_a_deep_clean(bench: &Bench) {
    let queue = bench.queue().await;
    let ids = ids();
    queue.add_items(ids.iter().map(item)).await.unwrap();
    let report = queue.deep_clean().await.unwrap();
    assert!(report.is_sound() && report.items == ids.len() as u64, "{report:?}");
    for id in &ids {
        assert!(queue.get(id).await.unwrap().is_some());
    }
    assert_eq!(queue.purge(State::Ready).await.unwrap(), ids.len() as u64);
    assert_sound(&queue).await;
    assert!(queue.add_items(ids.iter().map(item)).await.unwrap().iter().all(|added| *added));
}

async fn data_is_any_bytes(bench: &Bench) {
    let queue = bench.queue().await;
    for data in [
        vec![],
        vec![0],
        vec![0; 3],
        (0..=255).collect(),
        b"\r\n$-1\r\n*0\r\n".to_vec(),
        vec![0xff; 65_537],
        "{\"a\":\"\u{0}\"}".into(),
    ] {
        queue.add_item(Item::new(&data).with_id("a")).await.unwrap();
        assert_eq!(queue.get("a").await.unwrap().unwrap().data, data);
        let lease = take(&queue).await;
        assert_eq!(lease.data(), &data);
        assert!(queue.complete(&lease).await.unwrap());
    }
}

async fn error_texts_are_any_text(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    for text in ["\0", "0:0:0:0:0:0:0:", "\n\r", "%d%s", "{}[]", "😀\u{0}ä", " "] {
        queue.fail(&take(&queue).await, text, Duration::ZERO).await.unwrap();
        let lease = take(&queue).await;
        assert_eq!(lease.last_error(), text);
        assert_eq!(queue.get("a").await.unwrap().unwrap().last_error, text);
        assert_sound(&queue).await;
        queue.release(&lease, Duration::ZERO).await.unwrap();
    }
    let huge = "ä".repeat(1 << 20);
    queue.fail(&take(&queue).await, &huge, Duration::ZERO).await.unwrap();
    assert_eq!(take(&queue).await.last_error(), "ä".repeat(512));
}

on_every_engine!(
    every_id_is_itself_and_no_other,
    ids_lead_to_their_items_after_a_deep_clean,
    data_is_any_bytes,
    error_texts_are_any_text,
);
