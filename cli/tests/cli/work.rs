//! `work`, and what its commands and its own process can do wrong.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use leaseq::{Item, LeaseOptions, State, WorkQueue};
use leaseq_test_support::eventually;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::support::Bench;

const LONG: Duration = Duration::from_secs(60);

async fn filled(bench: &Bench, ids: &[&str]) -> WorkQueue {
    let queue = bench.queue("q").await;
    for id in ids {
        queue.add_item(Item::new(format!("data of {id}")).with_id(id)).await.unwrap();
    }
    queue
}

/// `leaseq work q OPTIONS -- sh -c SCRIPT`.
fn spawn(bench: &Bench, options: &[&str], script: &str) -> Child {
    let args = [&["work", "q"], options, &["--", "sh", "-c", script]].concat();
    let mut command = bench.command(&args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// The process whose id a script has written into this file.
async fn written(path: PathBuf) -> Pid {
    let read = || std::fs::read_to_string(&path).ok()?.strip_suffix('\n')?.parse().ok();
    assert!(eventually(LONG, async || read().is_some()).await, "{}", path.display());
    Pid::from_raw(read().unwrap()).unwrap()
}

async fn is_gone(process: Pid) -> bool {
    let state = format!("/proc/{}/stat", process.as_raw_nonzero());
    let dead = || {
        test_kill_process(process).is_err()
            // Nobody has to wait for it.
            || std::fs::read_to_string(&state).is_ok_and(|stat| stat.contains(") Z"))
    };
    eventually(LONG, async || dead()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_the_item_and_decides_how_it_ends() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["good", "bad"]).await;
        let script = "printf '%s %s %s ' $LEASEQ_ID $LEASEQ_ATTEMPT $LEASEQ_QUEUE; cat; echo; \
                      [ $LEASEQ_ID = good ] || { echo first >&2; echo no such customer >&2; exit 3; }";
        let run = spawn(&bench, &["--burst"], script).wait_with_output().unwrap();
        let out = String::from_utf8(run.stdout).unwrap();
        assert_eq!(out, "good 1 q data of good\nbad 1 q data of bad\n");
        assert_eq!(run.status.code(), Some(3));
        let bad = queue.get("bad").await.unwrap().unwrap();
        assert_eq!((bad.state, bad.last_error.as_str()), (State::Delayed, "no such customer"));
        assert_eq!(queue.get("good").await.unwrap(), None);
        assert_eq!(spawn(&bench, &["--burst"], "true").wait().unwrap().code(), Some(1));
        queue.revise("bad", leaseq::Revision::new().delay(Duration::ZERO)).await.unwrap();
        let run = bench.run(&[
            "work",
            "q",
            "--burst",
            "--max-attempts",
            "2",
            "--json",
            "--",
            "sh",
            "-c",
            "kill -9 $$",
        ]);
        assert_eq!(run.json()["outcome"], "failed", "{run:?}");
        let bad = queue.get("bad").await.unwrap().unwrap();
        assert_eq!((bad.state, bad.last_error.as_str()), (State::Dead, "killed by signal 9"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_commands_run_at_once_and_as_many_as_wanted() {
    for bench in Bench::all() {
        let ids: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let queue = filled(&bench, &ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
        // Each of four waits until all four run.
        let script = "touch run$LEASEQ_ID; until [ $(ls run* | wc -l) -ge 4 ]; do sleep 0.01; done";
        let run = spawn(&bench, &["-j", "4", "--max-jobs", "15"], script).wait().unwrap();
        assert_eq!((run.code(), queue.queue_len().await.unwrap()), (Some(0), 5));
        assert_eq!(spawn(&bench, &["-j", "3", "--burst"], "true").wait().unwrap().code(), Some(0));
        assert_eq!(queue.counts().await.unwrap().totals.completed, 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_cannot_be_started_costs_no_attempt() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["a"]).await;
        let run = bench.run(&["work", "q", "--", "./no-such-program"]);
        assert_eq!(run.status, 2, "{run:?}");
        let item = queue.get("a").await.unwrap().unwrap();
        assert_eq!((item.state, item.failures), (State::Ready, 0));
        assert_eq!(bench.run(&["work", "q"]).status, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_hangs_and_forks_is_killed_whole() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["a"]).await;
        let script =
            "trap '' TERM; sleep 1000 & echo $! > inner; echo $$ > outer; wait; sleep 1000";
        let run = spawn(&bench, &["--burst", "--timeout", "1s"], script).wait().unwrap();
        assert_eq!(run.code(), Some(3));
        for file in ["inner", "outer"] {
            assert!(is_gone(written(bench.folder.path().join(file)).await).await, "{file}");
        }
        assert_eq!(
            queue.get("a").await.unwrap().unwrap().last_error,
            "killed after the timeout of 1s"
        );
        // What a command leaves behind ends with it.
        filled(&bench, &["b"]).await;
        let script = "sleep 1000 & echo $! > left; exit 0";
        assert_eq!(spawn(&bench, &["--burst"], script).wait().unwrap().code(), Some(0));
        assert!(is_gone(written(bench.folder.path().join("left")).await).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_without_end_is_passed_on_and_a_lease_outlived() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["a"]).await;
        // Far longer than the lease, and more than any pipe holds.
        let script = "yes nonsense | head -c 5000000 >&2; echo >&2; yes | head -c 5000000; sleep 2; echo the end >&2; exit 1";
        let run =
            spawn(&bench, &["--burst", "--lease", "500ms"], script).wait_with_output().unwrap();
        let last = &run.stderr[run.stderr.len().saturating_sub(500)..];
        let last = String::from_utf8_lossy(last);
        assert_eq!(run.stdout.len(), 5_000_000, "{} {}: {last}", bench.url, run.status);
        assert!(run.stderr.len() > 5_000_000, "{last}");
        let item = queue.get("a").await.unwrap().unwrap();
        assert_eq!((item.last_error.as_str(), item.expiries, item.failures), ("the end", 0, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_lease_and_a_cancelled_item_end_the_command() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["lost", "cancelled"]).await;
        let mut child =
            spawn(&bench, &["-j", "2", "--lease", "2s"], "echo $$ > $LEASEQ_ID; sleep 1000");
        let lost = written(bench.folder.path().join("lost")).await;
        let cancelled = written(bench.folder.path().join("cancelled")).await;
        assert!(queue.remove("lost").await.unwrap());
        assert!(queue.cancel("cancelled").await.unwrap());
        assert!(is_gone(lost).await && is_gone(cancelled).await);
        let empty = async || queue.counts().await.unwrap().leased == 0;
        assert!(eventually(LONG, empty).await);
        assert_eq!(queue.get("cancelled").await.unwrap(), None);
        kill_process(pid(&child), Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_stopped_loses_its_lease_and_ends_the_command() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["a"]).await;
        let mut child =
            spawn(&bench, &["--lease", "1s", "--max-jobs", "1"], "echo $$ > started; sleep 1000");
        let command = written(bench.folder.path().join("started")).await;
        kill_process(pid(&child), Signal::STOP).unwrap();
        let second = LeaseOptions::new(LONG).wait(LONG);
        let lease = queue.lease(second).await.unwrap().unwrap();
        assert_eq!(lease.attempt(), 2);
        kill_process(pid(&child), Signal::CONT).unwrap();
        assert!(is_gone(command).await);
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert!(queue.complete(&lease).await.unwrap(), "the lost lease has changed nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_takes_its_commands_with_it() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["a", "b"]).await;
        let script = "sleep 1000 & echo $! > inner$LEASEQ_ID; echo $$ > outer$LEASEQ_ID; wait";
        let mut child = spawn(&bench, &["-j", "2", "--lease", "1s"], script);
        let mut commands = Vec::new();
        for file in ["innera", "outera", "innerb", "outerb"] {
            commands.push(written(bench.folder.path().join(file)).await);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for command in commands {
            assert!(is_gone(command).await);
        }
        let leases = LeaseOptions::new(LONG).wait(LONG);
        assert_eq!(queue.lease(leases.clone()).await.unwrap().unwrap().attempt(), 2);
        assert_eq!(queue.lease(leases).await.unwrap().unwrap().attempt(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_ends_after_its_commands_unless_it_is_told_twice() {
    for bench in Bench::all() {
        let queue = filled(&bench, &["a", "b"]).await;
        let mut child =
            spawn(&bench, &[], "echo $$ > started; until [ -e go ]; do sleep 0.01; done");
        written(bench.folder.path().join("started")).await;
        kill_process(pid(&child), Signal::TERM).unwrap();
        std::fs::write(bench.folder.path().join("go"), "").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.totals.completed, counts.ready), (1, 1));
        std::fs::remove_file(bench.folder.path().join("started")).unwrap();
        let mut child = spawn(&bench, &[], "echo $$ > started; sleep 1000");
        let command = written(bench.folder.path().join("started")).await;
        kill_process(pid(&child), Signal::TERM).unwrap();
        // A second signal of the same kind may be merged with the first.
        kill_process(pid(&child), Signal::INT).unwrap();
        assert!(child.wait().unwrap().success() && is_gone(command).await);
        let item = queue.get("b").await.unwrap().unwrap();
        assert_eq!((item.state, item.failures), (State::Ready, 0));
        assert_eq!(item.releases.unwrap().reason, "leaseq work was stopped");
    }
}

/// Whether a process runs whose arguments have this text.
fn runs(text: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let arguments = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    arguments.into_iter().any(|bytes| String::from_utf8_lossy(&bytes).contains(text))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_at_any_moment_leaves_no_command() {
    let bench = Bench::sqlite();
    let queue = bench.queue("q").await;
    let seed: u64 = std::process::id().into();
    println!("seed {seed}");
    let rounds = std::env::var("LEASEQ_STRESS").map_or(15, |_| 300);
    let mut random = seed;
    for round in 0..rounds {
        for n in 0..4 {
            queue.add_item(Item::new("x").with_id(format!("{round}-{n}"))).await.unwrap();
        }
        let marker = format!("marker-{seed}-{round}");
        let script = format!("sleep 1000; : {marker}");
        let mut child = spawn(&bench, &["-j", "4", "--lease", "1h"], &script);
        // As soon as there is anything, or a little later.
        assert!(eventually(LONG, async || runs(&marker)).await);
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_micros(random >> 50)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(eventually(LONG, async || !runs(&marker)).await, "round {round}");
        queue.purge(State::Leased).await.unwrap();
        queue.purge(State::Ready).await.unwrap();
    }
}

#[test]
fn a_command_waits_until_the_guard_knows_of_it() {
    let bench = Bench::sqlite();
    let launch = ["launch-command", "--", "sh", "-c", "touch ran; cat"];
    let orphan = bench.run_with(&launch, b"");
    assert_eq!((orphan.status, orphan.out.as_str()), (127, ""), "{orphan:?}");
    assert!(!bench.folder.path().join("ran").exists());
    assert_eq!(bench.run_with(&launch, b"\n\ndata").ok().out, "\ndata");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_goes_on_when_its_server_is_back() {
    let server = leaseq_test_support::RedisServer::builder()
        .arg("--appendonly", "yes")
        .arg("--appendfsync", "always")
        .start();
    let mut bench = Bench::redis();
    bench.url = format!("{}?timeout_ms=1000", server.url());
    bench.server = Some(server);
    let queue = filled(&bench, &["a", "b"]).await;
    let script = "touch began$LEASEQ_ID; until [ -e go ]; do sleep 0.01; done";
    let mut child = spawn(&bench, &["--max-jobs", "2", "--lease", "5m"], script);
    let began = bench.folder.path().join("begana");
    assert!(eventually(LONG, async || began.exists()).await);
    bench.server.as_mut().unwrap().kill();
    std::fs::write(bench.folder.path().join("go"), "").unwrap();
    bench.server.as_mut().unwrap().restart();
    // Whether the end of the first one came through, or it is leased again: nothing is lost.
    let status = child.wait().unwrap().code();
    assert!(matches!(status, Some(0 | 3)), "{status:?}");
    let counts = queue.counts().await.unwrap();
    assert_eq!(counts.totals.added, 2);
    assert!(counts.totals.completed + counts.leased + counts.ready == 2, "{counts:?}");
}
