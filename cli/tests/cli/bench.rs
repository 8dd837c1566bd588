//! `bench`.

use std::process::Stdio;

use leaseq_test_support::eventually;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Bench;

const SHORT: [&str; 7] = ["bench", "--time", "500ms", "--items", "300", "--callers", "4"];

#[test]
fn every_call_is_measured_and_nothing_is_left_behind() {
    for bench in Bench::all() {
        let measured = bench.json(&SHORT);
        let all = measured["measurements"].as_array().unwrap();
        assert_eq!(all.len(), 6, "{measured}");
        let of_batches = all.iter().filter(|one| one["batch"] == 100);
        assert!(of_batches.clone().count() == 2, "{measured}");
        // Several calls, the last of which takes what is left.
        assert!(of_batches.into_iter().all(|one| one["items"].as_u64() > Some(100)), "{measured}");
        for one in all {
            let number = |name: &str| one[name].as_u64().unwrap();
            assert!(number("items") > 0 && number("items") <= 302, "{one}");
            assert!(number("items_per_second") > 0 && number("p50_us") > 0, "{one}");
            assert!(number("p50_us") <= number("p99_us") && number("p99_us") <= number("max_us"));
        }
        let csv = bench.run(&[&SHORT[..], &["--csv"]].concat()).ok().out;
        let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!((lines.len(), lines[0][0], lines[0][9]), (7, "call", "max_us"));
        assert!(lines.iter().all(|line| line.len() == 10), "{csv}");
        let tabs = bench.run(&SHORT).ok();
        assert_eq!(tabs.out.lines().filter(|line| line.split('\t').count() == 10).count(), 6);
        assert!(tabs.err.contains("leaseq: measuring "), "{tabs:?}");
        let table = bench.run(&[&SHORT[..], &["--table"]].concat()).ok().out;
        assert!(table.starts_with("CALL") && table.contains(" ms"), "{table}");
        assert_eq!(bench.run(&["queues"]).status, 1);
        assert_eq!(bench.run(&["bench", "--time", "1ms"]).status, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_measurement_drops_its_queue() {
    for bench in Bench::all() {
        let child =
            bench.command(&["bench", "--time", "1m"]).stderr(Stdio::piped()).spawn().unwrap();
        let begun = async || bench.run(&["queues"]).out.starts_with("leaseq-bench-");
        assert!(eventually(std::time::Duration::from_secs(60), begun).await);
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert_eq!(bench.run(&["queues"]).status, 1);
    }
}
