//! `tail`: events, line by line.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use leaseq::{Item, LeaseOptions, SettingsChange, WorkQueue};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::outages::durable;
use crate::support::{Bench, Run};
use crate::terminal::Terminal;

const LONG: Duration = Duration::from_secs(60);

async fn queue(bench: &Bench, name: &str, events: u64) -> WorkQueue {
    let queue = bench.queue(name).await;
    queue.configure(SettingsChange::new().events(events)).await.unwrap();
    queue
}

async fn add(queue: &WorkQueue, id: &str) {
    assert!(queue.add_item(Item::new("x").with_id(id)).await.unwrap());
}

/// A `tail` that runs.
struct Tail {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Tail {
    fn run(bench: &Bench, args: &[&str]) -> Tail {
        let mut command = bench.command(&[&["tail", "--json"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Tail { child, lines }
    }

    #[track_caller]
    fn next(&mut self) -> Value {
        let line = self.lines.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// The queue, the kind and the id of the next event.
    #[track_caller]
    fn event(&mut self) -> (String, String, String) {
        let event = self.next();
        let [queue, kind, id] =
            ["queue", "kind", "id"].map(|name| event[name].as_str().unwrap_or_default().to_owned());
        (queue, kind, id)
    }

    /// Interrupts it. Returns what it says, line by line; the last is the error.
    fn interrupt(self) -> Vec<Value> {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn event(queue: &str, kind: &str, id: &str) -> (String, String, String) {
    (queue.into(), kind.into(), id.into())
}

fn place(said: &[Value]) -> String {
    said.last().unwrap()["error"]["continue"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_are_followed_and_continued_where_they_were_interrupted() {
    for bench in Bench::all() {
        let (orders, mail) = (queue(&bench, "orders", 1_000).await, queue(&bench, "mail", 9).await);
        bench.queue("silent").await.add_item(Item::new("x")).await.unwrap();
        add(&orders, "a").await;
        let mut tail = Tail::run(&bench, &["--continue", "orders=start", "--continue=mail=start"]);
        assert_eq!(tail.event(), event("orders", "added", "a"));
        add(&mail, "m").await;
        assert_eq!(tail.event(), event("mail", "added", "m"));
        let lease = orders.lease(LeaseOptions::new(LONG)).await.unwrap().unwrap();
        // Its event does not have the id.
        let leased = tail.next();
        assert_eq!((&leased["kind"], &leased["attempt"]), (&json!("leased"), &json!(1)));
        assert_eq!((&leased["id"], &leased["queue"]), (&json!("a"), &json!("orders")));
        assert!(leased["at"].as_str().unwrap().ends_with('Z') && leased["number"].is_u64());
        let said = tail.interrupt();
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0]["error"]["kind"], "INTERRUPTED");
        let place = place(&said);
        orders.complete(&lease).await.unwrap();
        add(&mail, "n").await;
        let mut tail = Tail::run(&bench, &["--continue", &place]);
        let mut events = [tail.event(), tail.event()];
        events.sort();
        let expected = [event("mail", "added", "n"), event("orders", "completed", "a")];
        assert_eq!(events, expected);
        tail.interrupt();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_is_written_in_every_form() {
    for bench in Bench::all() {
        let orders = queue(&bench, "orders", 1_000).await;
        let nothing = bench.run(&["tail", "orders", "--no-follow"]);
        assert_eq!((nothing.status, nothing.out.as_str()), (1, ""), "{nothing:?}");
        let hostile = "\u{1b}[2J\u{202e}x";
        add(&orders, hostile).await;
        orders.add_item(Item::new("x").with_id([0xff, b'\\'])).await.unwrap();
        let lease = orders.lease(LeaseOptions::new(LONG)).await.unwrap().unwrap();
        orders.fail(&lease, "boom", Duration::ZERO).await.unwrap();
        let all = ["tail", "orders", "--no-follow"];
        let tabs = bench.run(&all).ok();
        let rows: Vec<Vec<&str>> =
            tabs.out.lines().map(|line| line.split('\t').collect()).collect();
        let shown = "\\u001b[2J\\u202ex";
        let of = |kind, attempt, id| ["orders", kind, attempt, id];
        assert_eq!(
            rows.iter().map(|row| [row[1], row[3], row[4], row[5]]).collect::<Vec<_>>(),
            [
                of("added", "", shown),
                of("added", "", "\\xff\\\\"),
                of("leased", "1", shown),
                of("failed", "1", shown),
            ],
        );
        assert_eq!(rows[0][6], rows[3][6]);
        let table = bench.run(&[&all[..], &["--table", "--color=always"]].concat()).ok().out;
        assert!(table.contains(&format!("orders  leased       1  {shown}\n")), "{table}");
        assert!(table.contains("\u{1b}[31mfailed   \u{1b}[0m") && table.lines().count() == 4);
        let json = bench.run(&[&all[..], &["--json"]].concat()).ok();
        let second: Value = serde_json::from_str(json.out.lines().nth(1).unwrap()).unwrap();
        assert_eq!(second["id_base64"], "/1w=", "{second}");
        assert!(json.out.contains(shown), "{json:?}");
        // The place at the end is where the next call begins.
        let places: Value = serde_json::from_str(&json.err).unwrap();
        let place = places["continue"].as_str().unwrap();
        let more = ["tail", "--no-follow", "--continue", place];
        assert_eq!(bench.run(&more).status, 1);
        add(&orders, "new").await;
        let more = bench.run(&more).ok().out;
        assert!(more.contains("\tadded\t\tnew\t") && more.lines().count() == 1, "{more}");
        assert_eq!(bench.run(&[&all[..], &["--since", "1h"]].concat()).ok().out.lines().count(), 5);
        assert_eq!(bench.run(&[&all[..], &["--since", "2999-01-01T00:00:00Z"]].concat()).status, 1);
        for wrong in ["orders", "orders=x", "=now"] {
            assert_eq!(bench.run(&["tail", "--continue", wrong]).status, 2);
        }
        assert_eq!(bench.run(&["tail", "nobody"]).status, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_shows_what_happens_from_now_on() {
    for bench in Bench::all() {
        let orders = queue(&bench, "orders", 1_000).await;
        bench.queue("silent").await.add_item(Item::new("x")).await.unwrap();
        add(&orders, "before").await;
        // All that keep events.
        let mut tail = Terminal::run(&bench, &["tail"]);
        tail.until("a note", |text| text.contains("following orders; Ctrl-C ends")).await;
        orders.lease(LeaseOptions::new(LONG)).await.unwrap().unwrap();
        tail.until("an event", |text| text.contains("orders  leased       1  before")).await;
        assert!(!tail.text().contains("added"), "{}", tail.text());
        tail.press("\u{3}");
        tail.until("the place", |text| text.contains("leaseq tail --continue orders=")).await;
        assert_eq!(tail.end().0, 130);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_are_off_or_lost_are_told() {
    let off = |run: &Run| run.err.contains("leaseq settings q events=10000");
    for bench in Bench::all() {
        let (q, other) = (bench.queue("q").await, queue(&bench, "other", 5).await);
        add(&q, "a").await;
        let run = bench.run(&["tail", "q"]);
        assert!(run.status == 1 && off(&run), "{run:?}");
        // With another that keeps some, it is told and followed all the same.
        add(&other, "o").await;
        let run = bench.run(&["tail", "q", "other", "--no-follow"]);
        assert!(run.status == 0 && off(&run) && run.out.lines().count() == 1, "{run:?}");
        q.configure(SettingsChange::new().events(5)).await.unwrap();
        add(&q, "b").await;
        let mut tail = Tail::run(&bench, &["--continue", "q=start"]);
        assert_eq!(tail.event(), event("q", "added", "b"));
        q.configure(SettingsChange::new().events(None)).await.unwrap();
        let mut said = BufReader::new(tail.child.stderr.take().unwrap()).lines();
        let told: Value = serde_json::from_str(&said.next().unwrap().unwrap()).unwrap();
        assert_eq!(told["error"]["message"], "queue q keeps no events");
        add(&q, "c").await;
        q.configure(SettingsChange::new().events(5)).await.unwrap();
        add(&q, "d").await;
        assert_eq!(tail.next(), json!({ "queue": "q", "gap": true }));
        assert_eq!(tail.event(), event("q", "added", "d"));
        kill_process(Pid::from_child(&tail.child), Signal::TERM).unwrap();
        assert_eq!(tail.child.wait().unwrap().code(), Some(130));
        // A reader that was away for too long.
        let error: Value = serde_json::from_str(&said.next().unwrap().unwrap()).unwrap();
        let place = error["error"]["continue"].as_str().unwrap();
        for n in 0..2_000 {
            q.add_items((0..10).map(|m| Item::new("x").with_id(format!("n{n}-{m}"))))
                .await
                .unwrap();
            if n % 100 == 99
                && bench.run(&["tail", "--no-follow", "--continue", place]).out.contains("gap")
            {
                break;
            }
        }
        let run = bench.run(&["tail", "--no-follow", "--continue", place]).ok();
        assert!(run.out.starts_with("\tq\t\tgap\t\t\t\n"), "{run:?}");
        let table = bench.run(&["tail", "--no-follow", "--table", "--continue", place]).ok().out;
        assert!(table.lines().next().unwrap().contains("are not kept any more"), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_is_followed_on() {
    let mut bench = durable();
    let q = queue(&bench, "q", 1_000).await;
    add(&q, "a").await;
    let mut tail = Tail::run(&bench, &["--continue", "q=start"]);
    assert_eq!(tail.event(), event("q", "added", "a"));
    bench.server.as_mut().unwrap().kill();
    let mut said = BufReader::new(tail.child.stderr.take().unwrap()).lines();
    let lost: Value = serde_json::from_str(&said.next().unwrap().unwrap()).unwrap();
    assert_eq!(lost["error"]["kind"], "UNAVAILABLE", "{lost}");
    bench.server.as_mut().unwrap().restart_with_whole_log();
    add(&q, "b").await;
    assert_eq!(tail.event(), event("q", "added", "b"));
    // A server that does not answer does not hold up an interruption.
    bench.server.as_ref().unwrap().pause();
    kill_process(Pid::from_child(&tail.child), Signal::INT).unwrap();
    assert_eq!(tail.child.wait().unwrap().code(), Some(130));
    bench.server.as_ref().unwrap().resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_or_stops_does_not_hold_it() {
    for bench in Bench::all() {
        let q = queue(&bench, "q", 10_000).await;
        add(&q, "a").await;
        let Tail { mut child, mut lines } = Tail::run(&bench, &["--continue", "q=start"]);
        assert!(lines.next().unwrap().unwrap().contains("added"));
        // Nothing happens any more that it could write.
        drop(lines);
        let output = child.wait().unwrap();
        assert_eq!(output.code(), Some(141));
        // More than a pipe holds, and nobody reads it.
        for n in 0..5 {
            let ids = (0..1_000).map(|m| format!("n{n}-{m}"));
            q.add_items(ids.map(|id| Item::new("x").with_id(id))).await.unwrap();
        }
        let mut tail = Tail::run(&bench, &["--continue", "q=start"]);
        assert_eq!(tail.event(), event("q", "added", "a"));
        kill_process(Pid::from_child(&tail.child), Signal::INT).unwrap();
        assert_eq!(tail.child.wait().unwrap().code(), Some(130));
        let mut last = 0;
        for line in tail.lines.map_while(Result::ok) {
            let Ok(event) = serde_json::from_str::<Value>(&line) else { break };
            last = event["number"].as_u64().unwrap();
        }
        let said = std::io::read_to_string(tail.child.stderr.take().unwrap()).unwrap();
        let place = place(&[serde_json::from_str(&said).unwrap()]);
        // The last line may have been cut off.
        let run = bench.run(&["tail", "--json", "--no-follow", "--continue", &place]).ok();
        let first: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
        assert_eq!(first["number"].as_u64().unwrap(), last + 1);
        assert!(run.out.lines().count() > 1_000);
    }
}
