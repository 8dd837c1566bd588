//! The history of a queue: rows of minutes and hours.

use std::time::{Duration, UNIX_EPOCH};

use leaseq::HistoryKind::{Hours, Minutes};
use leaseq::{HistoryRow, Measured, WorkQueue};

use crate::support::*;

const MINUTE: Duration = Duration::from_secs(60);

fn nothing() -> Measured {
    Measured::default()
}

fn ran(values: &[(u64, u64)]) -> Measured {
    let mut measured = Measured::default();
    measured.run.extend(values.iter().copied());
    measured
}

async fn minutes(queue: &WorkQueue) -> Vec<HistoryRow> {
    queue.history(Minutes).await.unwrap()
}

async fn whoever_is_first_writes_the_row_of_a_minute(bench: &Bench) {
    let (queue, other) = (bench.queue().await, bench.queue().await);
    assert!(!queue.record_history(&ran(&[(1, 1)])).await.unwrap());
    assert!(minutes(&queue).await.is_empty() && queue.history(Hours).await.unwrap().is_empty());
    queue.add_items([item("a"), item("b").priority(9), item("c").delay(secs(600))]).await.unwrap();
    let begun = bench.now();
    assert!(queue.record_history(&nothing()).await.unwrap());
    let lease = take(&queue).await;
    bench.advance(MINUTE - ms(1));
    // In the same minute nothing but measurements is added.
    assert!(other.record_history(&ran(&[(5, 1), (1_000_000, 2)])).await.unwrap());
    assert!(queue.record_history(&ran(&[(5, 2)])).await.unwrap());
    let [row] = minutes(&other).await.try_into().unwrap();
    assert_eq!(since_1970(row.at), begun);
    assert_eq!((row.ready, row.delayed, row.leased, row.dead, row.held), (2, 1, 0, 0, 0));
    assert_eq!((row.totals.added, row.totals.leased), (3, 0));
    assert_eq!(row.measured, ran(&[(5, 3), (1_000_000, 2)]));
    queue.complete(&lease).await.unwrap();
    bench.advance(ms(1));
    assert!(other.record_history(&nothing()).await.unwrap());
    let [first, second] = minutes(&queue).await.try_into().unwrap();
    assert_eq!(first, row);
    assert_eq!((second.totals.leased, second.totals.completed, second.ready), (1, 1, 1));
    assert_eq!(second.measured, nothing());
    assert_eq!(second.totals, queue.counts().await.unwrap().totals);
    // The hour has one row, with the measurements of all of its minutes.
    let [hour] = queue.history(Hours).await.unwrap().try_into().unwrap();
    assert_eq!((since_1970(hour.at), hour.ready), (begun, 2));
    assert_eq!(hour.measured, first.measured);
    assert_sound(&queue).await;
}

async fn rows_are_kept_for_a_day_and_a_month(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    let begun = bench.now();
    for minute in 0..1_500 {
        // A minute without anybody has no row.
        if minute % 100 != 7 {
            queue.record_history(&ran(&[(minute, 1)])).await.unwrap();
        }
        bench.advance(MINUTE);
    }
    let rows = minutes(&queue).await;
    let expected: Vec<u64> = (61..1_500)
        .filter(|minute| minute % 100 != 7)
        .map(|minute| begun + minute * 60_000)
        .collect();
    assert_eq!(rows.iter().map(|row| since_1970(row.at)).collect::<Vec<_>>(), expected);
    assert!(rows.iter().all(|row| row.measured.run.count() == 1));
    assert_eq!(queue.history(Hours).await.unwrap().len(), 25);
    // Two days later nothing of it is left to see, and a new row has none of the old measurements.
    bench.advance(secs(2 * 86_400));
    assert!(minutes(&queue).await.is_empty());
    queue.record_history(&nothing()).await.unwrap();
    let [row] = minutes(&queue).await.try_into().unwrap();
    assert_eq!(row.measured, nothing());
    assert_eq!(queue.history(Hours).await.unwrap().len(), 26);
    bench.advance(secs(31 * 86_400));
    assert!(queue.history(Hours).await.unwrap().is_empty());
}

async fn what_has_come_since_a_row_is_read_alone(bench: &Bench) {
    let queue = bench.queue().await;
    let at = |ms_since_1970: u64| UNIX_EPOCH + ms(ms_since_1970);
    assert!(queue.history_since(Minutes, at(0)).await.unwrap().is_empty());
    queue.add_item(item("a")).await.unwrap();
    let begun = bench.now();
    for minute in 0..1_445 {
        queue.record_history(&ran(&[(minute, 1)])).await.unwrap();
        if minute < 1_444 {
            bench.advance(MINUTE);
        }
    }
    let all = minutes(&queue).await;
    assert_eq!(all.len(), 1_440);
    // The row of a minute may have been written before the time, and may hold more now.
    queue.record_history(&ran(&[(7, 3)])).await.unwrap();
    let last = all.last().unwrap();
    for since in [last.at, at(bench.now()), at(since_1970(last.at) / 60_000 * 60_000)] {
        let [row] = queue.history_since(Minutes, since).await.unwrap().try_into().unwrap();
        assert_eq!((row.at, &row.totals), (last.at, &last.totals));
        assert_eq!(row.measured.run.count(), 4);
    }
    for (ago, count) in [(1, 2), (60, 61), (359, 360), (360, 361), (1_439, 1_440), (1_444, 1_440)] {
        let rows = queue.history_since(Minutes, last.at - ago * MINUTE).await.unwrap();
        assert_eq!(rows.len(), count, "{ago} minutes ago");
        assert_eq!(rows[..count - 1], all[1_440 - count..1_439], "{ago} minutes ago");
    }
    let hours = queue.history_since(Hours, at(begun)).await.unwrap();
    assert_eq!(hours, queue.history(Hours).await.unwrap());
    assert_eq!(queue.history_since(Hours, last.at).await.unwrap(), hours[hours.len() - 1..]);
    // What is yet to come has no rows, however far away it is.
    for later in [MINUTE, secs(400 * 86_400), secs(1 << 40)] {
        assert!(queue.history_since(Minutes, last.at + later).await.unwrap().is_empty());
    }
    // Of another queue of the same name nobody takes the rows for those of the first.
    assert!(queue.drop_queue().await.unwrap());
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    bench.advance(ms(1));
    queue.record_history(&nothing()).await.unwrap();
    let [row] = queue.history_since(Minutes, last.at).await.unwrap().try_into().unwrap();
    assert!((row.at, row.totals) != (last.at, last.totals.clone()));
}

async fn percentiles_are_within_ten_percent(bench: &Bench) {
    let queues = [bench.queue().await, bench.queue().await];
    queues[0].add_item(item("a")).await.unwrap();
    // The same values in the same order with each run: from 1 µs to about a minute.
    let mut state = 7_u64;
    let mut exact = Vec::new();
    for i in 0..50 {
        let mut values = Vec::new();
        for _ in 0..40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let power = (state >> 33) % 26;
            values.push((1 << power) + (state >> 40) % (1 << power));
        }
        exact.extend(&values);
        let values: Vec<(u64, u64)> = values.into_iter().map(|value| (value, 1)).collect();
        queues[i % 2].record_history(&ran(&values)).await.unwrap();
    }
    exact.sort_unstable();
    let [row] = minutes(&queues[0]).await.try_into().unwrap();
    assert_eq!(row.measured.run.count(), exact.len() as u64);
    for part in [0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
        let rank = ((part * exact.len() as f64).ceil() as usize).max(1);
        let (read, exact) = (row.measured.run.quantile(part).unwrap(), exact[rank - 1]);
        assert!(read.abs_diff(exact) as f64 <= exact as f64 * 0.1, "{part}: {read}, not {exact}");
    }
}

async fn percentiles_of_waiting_are_within_ten_percent(bench: &Bench) {
    let queue = bench.queue().await;
    // From 10 ms to about an hour, and nobody leases anything meanwhile.
    let mut exact: Vec<u64> =
        (0..100_u32).map(|i| (10.0 * 1.13_f64.powi(i as i32)) as u64).collect();
    exact.retain(|waits| *waits < 3_600_000);
    exact.reverse();
    for (i, waits) in exact.iter().enumerate() {
        queue.add_item(item(format!("{i}"))).await.unwrap();
        bench.advance(ms(waits - exact.get(i + 1).unwrap_or(&0)));
    }
    let mut measured = nothing();
    for lease in queue.lease_many(exact.len(), at_once()).await.unwrap() {
        measured.waiting.record(lease.waited().as_micros() as u64);
    }
    queue.record_history(&measured).await.unwrap();
    exact.reverse();
    let [row] = minutes(&queue).await.try_into().unwrap();
    assert_eq!(row.measured.waiting.count(), exact.len() as u64);
    for part in [0.01, 0.1, 0.5, 0.9, 0.99, 1.0] {
        let rank = ((part * exact.len() as f64).ceil() as usize).max(1);
        let (read, exact) = (row.measured.waiting.quantile(part).unwrap(), 1_000 * exact[rank - 1]);
        assert!(read.abs_diff(exact) as f64 <= exact as f64 * 0.1, "{part}: {read}, not {exact}");
    }
}

async fn a_dropped_queue_has_no_history(bench: &Bench) {
    let queue = bench.queue().await;
    queue.add_item(item("a")).await.unwrap();
    queue.record_history(&ran(&[(1, 1)])).await.unwrap();
    assert!(queue.drop_queue().await.unwrap());
    let queue = bench.queue().await;
    assert!(minutes(&queue).await.is_empty());
    queue.add_item(item("a")).await.unwrap();
    queue.record_history(&nothing()).await.unwrap();
    assert_eq!(minutes(&queue).await[0].measured, nothing());
}

async fn extended_queues_have_a_history(bench: &Bench) {
    let queue = bench.queue().await;
    for id in ["a", "b", "c"] {
        queue.add_item(item(id).key("k")).await.unwrap();
    }
    take(&queue).await;
    assert_eq!(queue.lease_many(10, at_once()).await.unwrap().len(), 0);
    queue.record_history(&nothing()).await.unwrap();
    let counts = queue.counts().await.unwrap();
    let [row] = minutes(&queue).await.try_into().unwrap();
    assert_eq!((row.leased, row.held, row.ready), (1, counts.held, counts.ready));
    assert_eq!((row.held, row.totals), (2, counts.totals));
}

on_every_engine!(
    whoever_is_first_writes_the_row_of_a_minute,
    rows_are_kept_for_a_day_and_a_month,
    what_has_come_since_a_row_is_read_alone,
    percentiles_are_within_ten_percent,
    percentiles_of_waiting_are_within_ten_percent,
    a_dropped_queue_has_no_history,
    extended_queues_have_a_history,
);

mod redis_only {
    use ::redis::{Commands, cmd};

    use super::*;
    use crate::support::redis::Redis;

    const HISTORY: &str = "leaseq:{jobs}:history";

    #[tokio::test]
    async fn rows_that_cannot_be_read_are_left_out() {
        let redis = Redis::start();
        let mut raw = redis.server().connection();
        let client = leaseq::Client::connect(&redis.server().url()).await.unwrap();
        let queue = client.queue("jobs").unwrap();
        queue.add_item(item("a")).await.unwrap();
        queue.record_history(&ran(&[(1, 1)])).await.unwrap();
        let good = minutes(&queue).await;
        let rows: Vec<(String, String)> = raw.hgetall(HISTORY).unwrap();
        assert_eq!(rows.len(), 4);
        let free = |place: &str| rows.iter().all(|(name, _)| name != place);
        let places: Vec<String> =
            (0..1_440).map(|i| format!("m{i}")).filter(|place| free(place)).take(4).collect();
        let harms: [&[u8]; 4] = [b"", b"\xff 1", b"1 2 3", b"99999999999999999999 x"];
        for (place, harm) in places.iter().zip(harms) {
            let _: () = raw.hset(HISTORY, place, harm).unwrap();
            let _: () = raw.hset(HISTORY, format!("{place}+"), b"\xff;;").unwrap();
        }
        assert_eq!(minutes(&queue).await, good);
        // Measurements that cannot be read make room for others.
        let now =
            rows.iter().find(|(name, _)| name.starts_with('m') && name.ends_with('+')).unwrap();
        let _: () = raw.hset(HISTORY, &now.0, "nonsense").unwrap();
        queue.record_history(&ran(&[(2, 1)])).await.unwrap();
        let rows = minutes(&queue).await;
        assert!(rows.last().unwrap().measured.run.count() >= 1);
        let lives: i64 = cmd("PTTL").arg(HISTORY).query(&mut raw).unwrap();
        assert_eq!(lives, -1);
    }
}
