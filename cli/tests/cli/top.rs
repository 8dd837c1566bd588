//! `top`, and questions, in a terminal.

use std::time::Duration;

use leaseq::{Beat, Client, Item, LeaseOptions, WorkerId};
use rustix::process::{Signal, kill_process};

use crate::support::Bench;
use crate::terminal::Terminal;

const LONG: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_shows_queues_rates_workers_and_leases() {
    for bench in Bench::all() {
        let client = Client::connect(&bench.url).await.unwrap();
        let (orders, mail) = (client.queue("orders").unwrap(), client.queue("mail").unwrap());
        orders.add_items(["a", "b", "c"].map(|id| Item::new("x").with_id(id))).await.unwrap();
        let hostile = Item::new("x").with_id("\u{1b}[2J\u{202e}x").priority(9);
        mail.add_item(hostile).await.unwrap();
        orders.lease(LeaseOptions::new(LONG)).await.unwrap().unwrap();
        mail.lease(LeaseOptions::new(LONG / 2)).await.unwrap().unwrap();
        orders.bury(["c"], "boom").await.unwrap();
        let mut beat = Beat::new(WorkerId::new("mailer"));
        beat.queues = vec!["mail".into()];
        client.beat(&beat).await.unwrap();
        let mut top = Terminal::run(&bench, &["top", "--interval", "100ms"]);
        top.until("the queues", |text| {
            text.contains("orders") && text.contains("mailer") && text.contains("4m5")
        })
        .await;
        let text = top.text();
        // The lease that ends first is the first; the busier queue is above.
        assert!(text.find("4m5").unwrap() < text.find("9m5").unwrap(), "{text}");
        assert!(text.find("orders").unwrap() < text.find("mail ").unwrap(), "{text}");
        assert!(text.contains("\\u001b[2J\\u202ex"), "{text}");
        for n in 0..50 {
            orders.add_item(Item::new("x").with_id(format!("n{n}"))).await.unwrap();
        }
        let rate = |text: &str| {
            let line = text.lines().find(|line| line.starts_with("orders")).unwrap_or_default();
            line.split_whitespace().nth(6)?.parse::<f64>().ok()
        };
        top.until("a rate", |text| rate(text).is_some_and(|rate| rate > 0.0)).await;
        // The second queue, whose lease is then the only one.
        top.press("\u{1b}[B\u{1b}[B");
        top.until("the leases of a queue", |text| text.contains("4m") && !text.contains("9m"))
            .await;
        mail.pause().await.unwrap();
        top.until("the pause", |text| text.contains("paused")).await;
        top.press("q");
        assert_eq!(top.end(), (0, true));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_screen_survives_the_loss_of_the_server_and_ends_as_it_began() {
    let mut bench = Bench::redis();
    bench.queue("orders").await.add_item(Item::new("x")).await.unwrap();
    let mut top = Terminal::run(&bench, &["top", "--interval", "100ms"]);
    top.until("a queue", |text| text.contains("orders")).await;
    bench.server.as_mut().unwrap().kill();
    top.until("the error", |text| text.contains("last seen") && text.contains("orders")).await;
    bench.server.as_mut().unwrap().restart();
    top.until("the server", |text| !text.contains("last seen")).await;
    // A server that does not answer.
    bench.server.as_ref().unwrap().pause();
    top.press("\u{3}");
    assert_eq!(top.end(), (0, true));
    bench.server.as_ref().unwrap().resume();
    let top = Terminal::run(&bench, &["top"]);
    top.until("a screen", |text| text.contains("q quit")).await;
    kill_process(top.program(), Signal::TERM).unwrap();
    assert_eq!(top.end(), (0, true));
    let missing = Terminal::run(&bench, &["top", "nobody"]);
    missing.until("an error", |text| text.contains("there is no queue nobody")).await;
    assert_eq!(missing.end(), (1, true));
    let pipe = bench.run(&["top"]);
    assert!(pipe.status == 2 && pipe.err.contains("status --watch"), "{pipe:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_made_only_if_the_name_of_the_queue_is_typed() {
    for bench in Bench::all() {
        let queue = bench.queue("orders").await;
        queue.add_items((0..10).map(|n| Item::new("x").with_id(format!("i{n}")))).await.unwrap();
        for (args, answer, status, left) in [
            (&["purge", "orders", "--state", "ready"][..], "order\n", 4, 10),
            (&["purge", "orders", "--state", "ready"], "\n", 4, 10),
            (&["purge", "orders", "--state", "ready"], "orders\n", 0, 0),
            (&["drop", "orders"], "no\n", 4, 0),
            (&["drop", "orders"], "orders\n", 0, 0),
        ] {
            let mut terminal = Terminal::run(&bench, args);
            terminal.until("a question", |text| text.contains("type the name")).await;
            assert!(terminal.text().contains(" items of queue orders") || args[0] == "drop");
            terminal.press(answer);
            assert_eq!(terminal.end().0, status, "{args:?} {answer:?}");
            assert_eq!(queue.counts().await.unwrap().ready, left);
        }
        assert_eq!(bench.run(&["queues"]).status, 1);
    }
}
