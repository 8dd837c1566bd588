//! The executor without the operations of a queue.

use std::sync::mpsc;

use super::*;
use crate::ErrorKind;
use crate::clock::Clock;
use crate::engine::sqlite::location::Location;

const TIMEOUT: Duration = Duration::from_millis(100);

async fn in_memory() -> Executor {
    let location = Location { path: None, full: true };
    let opening = Opening::new(location, Clock::machine(), TIMEOUT);
    let (executor, opened) = Executor::start(opening);
    opened.await.unwrap().unwrap();
    executor
}

/// Whether it shares a transaction with other calls or not.
#[tokio::test]
async fn a_panic_ends_its_call_and_no_other() {
    let executor = in_memory().await;
    let until = || Instant::now() + Duration::from_secs(20);
    for writes in [true, false] {
        // A panic takes long, so the next operations would run on the thread.
        let soon = || executor.shared.average_write.store(0, Ordering::Relaxed);
        soon();
        let here = executor.try_run_inline::<()>(writes, 1, |_| panic!("a defect"));
        let there = executor.run::<()>(writes, until(), |_| panic!("a defect")).await;
        for done in [here.unwrap(), there] {
            let error = done.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
            assert!(error.to_string().contains("a panic in leaseq"), "{error}");
            assert!(!error.outcome_unknown(), "{error}");
        }
        for writes in [true, false] {
            soon();
            executor.try_run_inline(writes, 1, |_| Ok(())).unwrap().unwrap();
            executor.run(writes, until(), |_| Ok(())).await.unwrap();
        }
    }
}

/// As when the disk hangs.
#[tokio::test]
async fn an_operation_that_has_begun_and_does_not_end_is_not_waited_for() {
    for writes in [true, false] {
        let executor = in_memory().await;
        let (end, ended) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let hanging = executor.run(writes, Instant::now() + TIMEOUT, move |_| {
            let _ = begin.send(());
            let _ = ended.recv();
            Ok(())
        });
        let error = hanging.await.unwrap_err();
        begun.try_recv().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.outcome_unknown(), writes, "{error}");
        // The next operation does not begin, and its outcome is known.
        let next = executor.run(true, Instant::now() + TIMEOUT, |_| Ok(()));
        let error = next.await.unwrap_err();
        assert!(!error.outcome_unknown(), "{error}");
        drop(end);
        let until = Instant::now() + Duration::from_secs(20);
        executor.run(true, until, |_| Ok(())).await.unwrap();
        assert_eq!(executor.shared.pending.load(Ordering::Acquire), 0);
    }
}
