//! This program as a worker process, for the scenarios that need several: `--worker MODE URL …`; and
//! as a program to be profiled, which does nothing but put items through a queue:
//! `--worker cycles URL 'one at a time' 1000`, with `--one-thread` before it on a runtime of one thread.

use std::io::Write;

use leaseq::Client;

use crate::load::Calls;
use crate::setup::{DATA, at_once};

/// Does what the arguments behind `--worker` say.
pub(crate) async fn run(arguments: &[String]) {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["nothing"] => say("done"),
        ["first", url] => first(url).await,
        ["cycles", url, calls, items] => {
            cycles(url, Calls::named(calls), items.parse().unwrap()).await;
        }
        ["drain", url, calls] => drain(url, Calls::named(calls)).await,
        _ => panic!("unknown worker {arguments:?}"),
    }
}

/// Leases one item, as soon as it can.
async fn first(url: &str) {
    let client = Client::connect(url).await.unwrap();
    let lease = client.queue("first").unwrap().lease(at_once()).await.unwrap();
    say(if lease.is_some() { "done" } else { "nothing" });
}

/// Adds so many items and processes them.
async fn cycles(url: &str, calls: Calls, items: usize) {
    let client = Client::connect(url).await.unwrap();
    let queue = client.queue("cycles").unwrap();
    calls.add(&queue, items, DATA).await;
    assert_eq!(calls.process(&queue).await.0, items);
    client.close().await;
}

/// Waits for a line, then processes what is in the queue and says how many it was.
async fn drain(url: &str, calls: Calls) {
    let client = Client::connect(url).await.unwrap();
    let queue = client.queue("shared").unwrap();
    queue.counts().await.unwrap();
    say("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let (done, _) = calls.process(&queue).await;
    say(&done.to_string());
    client.close().await;
}

fn say(word: &str) {
    println!("{word}");
    std::io::stdout().flush().unwrap();
}
