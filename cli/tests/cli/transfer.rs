//! `export` and `import`, also from redis-work-queue.

use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use leaseq::{FollowUp, Item, LeaseOptions, On, State};
use leaseq_test_support::eventually;
use serde_json::Value;

use crate::support::{Bench, finish};

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_item_does_not_fire_again_where_it_is_imported() {
    for bench in Bench::all() {
        let queue = bench.queue("q").await;
        let of = |on, id| FollowUp::new(on, Item::new("x").with_id(id));
        let item = Item::new("x").with_id("a");
        let item = item.follow_up(of(On::Completed, "next")).follow_up(of(On::Dead, "alarm"));
        queue.add_item(item).await.unwrap();
        queue.bury(["a"], "boom").await.unwrap();
        assert!(queue.get("alarm").await.unwrap().is_some());
        bench.run(&["purge", "q", "--state", "dead", "--save", "saved", "--yes"]).ok();
        queue.remove("alarm").await.unwrap();
        bench.run(&["import", "q", "saved"]).ok();
        assert!(queue.get("alarm").await.unwrap().is_none());
        let dead = queue.get("a").await.unwrap().unwrap();
        assert_eq!(
            (dead.state, &dead.follow_ups[..]),
            (State::Dead, &[of(On::Completed, "next")][..])
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_is_moved_to_another_engine_as_it_is() {
    let hour = Duration::from_secs(3600);
    for (from, to) in [(Bench::redis(), Bench::sqlite()), (Bench::sqlite(), Bench::redis())] {
        let queue = from.queue("q").await;
        let bytes: Vec<u8> = (0..=255).collect();
        for n in 0..1_100 {
            queue.add_item(Item::new(format!("{n}")).with_id(format!("n{n}"))).await.unwrap();
        }
        let last = FollowUp::new(On::Ended, Item::new(&bytes).with_id(&bytes).key("k"));
        let report = Item::new("x").with_id("report").queue("reports").delay(hour).follow_up(last);
        let report = FollowUp::new(On::Completed, report).with_trigger();
        let alarm = FollowUp::new(On::Dead, Item::new("x").with_id("alarm"));
        let special = Item::new(&bytes)
            .with_id(&bytes)
            .priority(9)
            .max_attempts(7)
            .retain(hour)
            .unique("u")
            .key("k");
        queue.add_item(special).await.unwrap();
        queue.add_item(Item::new("later").with_id("later").delay(hour)).await.unwrap();
        queue.bury(["n7"], "boom\u{1b}").await.unwrap();
        let lease = queue.lease(LeaseOptions::new(hour)).await.unwrap().unwrap();
        queue.complete(&lease).await.unwrap();
        let second = Item::new(&bytes).with_id([&bytes[..], b"2"].concat()).priority(8);
        let second = second.follow_up(report.clone()).follow_up(alarm.clone());
        queue.add_item(second).await.unwrap();
        let leased = queue.lease(LeaseOptions::new(hour)).await.unwrap().unwrap();
        assert_eq!(leased.priority(), 8);
        let export = from.run(&["export", "q"]).ok();
        assert_eq!(export.out.lines().count(), 1_103);
        std::fs::write(to.folder.path().join("q.ndjson"), &export.out).unwrap();
        let first = to.json(&["import", "new", "q.ndjson"]);
        assert_eq!(first, serde_json::json!({ "added": 1_102, "existing": 0, "ended": 1 }));
        let again = to.run(&["import", "new", "q.ndjson", "--json"]);
        assert_eq!((again.status, &again.json()["existing"]), (1, &1_102.into()));
        let moved = to.queue("new").await;
        let counts = moved.counts().await.unwrap();
        assert_eq!((counts.ready, counts.delayed, counts.dead), (1_100, 1, 1));
        let dead = moved.get("n7").await.unwrap().unwrap();
        assert_eq!((dead.state, dead.last_error.as_str()), (State::Dead, "boom\u{1b}"));
        let later = moved.get("later").await.unwrap().unwrap();
        assert_eq!(later.at, queue.get("later").await.unwrap().unwrap().at);
        let second = moved.get(leased.id()).await.unwrap().unwrap();
        assert_eq!(second.follow_ups, [report, alarm]);
        let order = to.run(&["items", "new", "--all"]).ok().out;
        let order: Vec<_> =
            order.lines().skip(1).map(|line| line.split('\t').next().unwrap()).collect();
        assert!(order.starts_with(&["n0", "n1", "n2"]) && order.ends_with(&["n1099"]), "{order:?}");
        for line in [
            "{}",
            "x",
            "{\"id\":\"a\"}",
            "{\"id\":1,\"data\":\"\"}",
            "{\"id\":\"a\",\"data\":\"\",\"priority\":\"1\"}",
        ] {
            let run = to.run_with(&["import", "new", "-"], line.as_bytes());
            assert!(run.status == 2 && run.err.contains("line 1"), "{run:?}");
        }
    }
}

/// The package of the registry.
fn python() -> &'static str {
    static PYTHON: OnceLock<String> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../build/redis-work-queue");
        let (python, ready) = (format!("{folder}/bin/python"), format!("{folder}/ready"));
        if !std::path::Path::new(&ready).exists() {
            let requirements = concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../bindings-python/bench/peers/redis-work-queue.txt"
            );
            let mut venv = Command::new("python3");
            assert_eq!(finish(venv.args(["-m", "venv", folder]), b"").status, 0);
            let mut pip = Command::new(&python);
            pip.args([
                "-m",
                "pip",
                "-q",
                "install",
                "--disable-pip-version-check",
                "-r",
                requirements,
            ]);
            let installed = finish(&mut pip, b"");
            assert_eq!(installed.status, 0, "{installed:?}");
            std::fs::write(ready, "").unwrap();
        }
        python
    })
}

fn script(bench: &Bench, script: &str) {
    let url = format!("redis://127.0.0.1:{}/", bench.server.as_ref().unwrap().port());
    let head = format!(
        "from redis import Redis\nfrom redis_work_queue import Item, KeyPrefix, WorkQueue\n\
         db = Redis.from_url('{url}')\nq = WorkQueue(KeyPrefix('old'))\n"
    );
    let run =
        finish(Command::new(python()).stdin(Stdio::piped()).arg("-"), (head + script).as_bytes());
    assert_eq!(run.status, 0, "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_of_redis_work_queue_is_taken_over_whatever_interrupts_it() {
    for target in Bench::all() {
        let old = Bench::redis();
        // A lease that is held, one that has expired, one that is completed, and an item that a cleaner has in hand.
        script(
            &old,
            "for n in range(3000): q.add_item(db, Item(b'\\xff%d' % n, id=f'i{n}'))\n\
                      a, b, c, d = [q.lease(db, 3600, block=False) for _ in range(4)]\n\
                      assert q.complete(db, a)\n\
                      db.delete('old:leased_by_session:' + b.id())\n\
                      db.lrem('old:processing', 0, d.id()); db.lpush('old:cleaning', d.id())\n",
        );
        let old_url = format!("redis://127.0.0.1:{}/", old.server.as_ref().unwrap().port());
        let args = ["import", "new", "old", "--from", "redis-work-queue", "--from-url", &old_url];
        let queue = target.queue("new").await;
        // Killed at once, and again and again in the middle, while a worker completes what has arrived.
        let (mut completed, mut killed) = (0, 0);
        for least in [0_u64, 1, 700, 1_800] {
            let mut child =
                target.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            let arrived = async || queue.counts().await.unwrap().totals.added >= least;
            assert!(eventually(Duration::from_secs(60), arrived).await);
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
            let leases = queue
                .lease_many(50, LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO))
                .await
                .unwrap();
            completed += queue.complete_many(&leases).await.unwrap().len();
        }
        let last = target.run(&args);
        assert!(last.status < 2, "{last:?}");
        assert!(killed > 0);
        let counts = queue.counts().await.unwrap();
        assert_eq!(
            (counts.totals.added, counts.ready + completed as u64),
            (2_999, 2_999),
            "{counts:?}"
        );
        assert_eq!(target.run(&args).status, 1, "there is nothing left");
        let left = old.server.as_ref().unwrap().cli(&["KEYS", "old:*"]);
        assert_eq!(left.trim(), "", "nothing is left behind");
        let item = queue.get("i2999").await.unwrap().unwrap();
        assert_eq!(item.data, &b"\xff2999"[..]);
        // The order: what was leased first, then the others from the oldest.
        let items = queue.list(State::Ready, None, 1).await.unwrap().items;
        assert!(items[0].id.starts_with(b"i"), "{items:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_in_the_way_is_left_and_named() {
    let bench = Bench::redis();
    script(&bench, "for n in range(5): q.add_item(db, Item(b'old', id=f'i{n}'))");
    let queue = bench.queue("new").await;
    queue.add_item(Item::new("other").with_id("i2")).await.unwrap();
    queue.add_item(Item::new("old").with_id("i3")).await.unwrap();
    let url = format!("redis://127.0.0.1:{}/", bench.server.as_ref().unwrap().port());
    let run = bench.run(&[
        "import",
        "new",
        "old",
        "--from",
        "redis-work-queue",
        "--from-url",
        &url,
        "--json",
    ]);
    assert_eq!((run.status, &run.json()["conflicts"]), (3, &serde_json::json!(["i2"])));
    assert_eq!(run.json()["moved"], 3);
    let server = bench.server.as_ref().unwrap();
    assert_eq!(server.cli(&["LRANGE", "old:queue", "0", "-1"]).trim(), "i2");
    assert_eq!(server.cli(&["GET", "old:item:i2"]).trim(), "old");
    let gone: Value =
        bench.run(&["import", "x", "nothing", "--from", "redis-work-queue", "--json"]).error();
    assert_eq!(gone["kind"], "NOT_FOUND");
}
