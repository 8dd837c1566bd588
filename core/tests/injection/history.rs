//! The history: wherever its script stops, rows can be read, and no measurement counts twice in one of them.

use leaseq::{HistoryKind, Measured, WorkQueue};

use crate::fixtures::Leases;
use crate::verify::Stage;

#[tokio::test]
async fn history() {
    let mut stage = Stage::new().await;
    let mut measured = Measured::default();
    measured.run.record(5);
    let record = async |queue: &WorkQueue, _: &Leases| {
        let first = queue.record_history(&measured).await.map(drop);
        queue.record_history(&Measured::default()).await.unwrap();
        for kind in [HistoryKind::Minutes, HistoryKind::Hours] {
            let [row] = queue.history(kind).await.unwrap().try_into().unwrap();
            assert!(row.measured == measured || row.measured.is_empty());
            assert!(first.is_err() || row.measured == measured);
            assert_eq!(row.totals, queue.counts().await.unwrap().totals);
        }
        first
    };
    stage.furnished("record_history", &[], record).await;
}
