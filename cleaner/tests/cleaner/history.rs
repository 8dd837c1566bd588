//! The history that a cleaner writes, beside its metrics.

use leaseq::{FailOptions, HistoryKind, HistoryRow};
use leaseq_test_support::eventually;

use crate::support::{Cleaner, Place, item, lease, secs};

/// What the metrics say of the queue.
fn metric(metrics: &str, begin: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(begin));
    line.unwrap_or_else(|| panic!("no {begin} in {metrics}")).trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_history_agrees_with_the_metrics() {
    for place in Place::both() {
        let client = place.client().await;
        let queue = client.queue("q").unwrap();
        let ids = ["done", "done too", "dead", "leased", "ready", "ready too", "ready three"];
        queue.add_items(ids.map(item)).await.unwrap();
        queue.add_item(item("later").delay(secs(3_600))).await.unwrap();
        for _ in 0..2 {
            let done = lease(&queue, secs(60)).await;
            assert!(queue.complete(&done).await.unwrap());
        }
        let failed = lease(&queue, secs(60)).await;
        queue.fail_with(&failed, "no", FailOptions::new().dead()).await.unwrap();
        lease(&queue, secs(3_600)).await;
        queue.remove("ready three").await.unwrap();
        let cleaner = Cleaner::start(&place.url(), &[]);
        cleaner.wait_for_queues(&["q"]);
        let rows = async || queue.history(HistoryKind::Minutes).await.unwrap();
        assert!(eventually(secs(60), async || !rows().await.is_empty()).await);
        let (status, metrics) = cleaner.get("/metrics");
        assert_eq!(status, 200);
        for HistoryRow { totals, ready, delayed, leased, dead, held, .. } in rows().await {
            for (name, known) in [
                ("added", totals.added),
                ("leased", totals.leased),
                ("completed", totals.completed),
                ("expired", totals.expired),
                ("failed", totals.failed),
                ("dead", totals.died),
                ("removed", totals.removed),
            ] {
                let shown = metric(&metrics, &format!("leaseq_{name}_total{{queue=\"q\"}}"));
                assert_eq!(shown, known, "{name}");
            }
            let states = [ready, delayed, leased, dead, held];
            let names = ["ready", "delayed", "leased", "dead", "held"];
            for (name, known) in names.into_iter().zip(states) {
                let begin = format!("leaseq_items{{queue=\"q\",state=\"{name}\"}}");
                assert_eq!(metric(&metrics, &begin), known, "{name}");
            }
            assert_eq!((totals.added, totals.completed, states), (8, 2, [2, 1, 1, 1, 0]));
        }
    }
}
