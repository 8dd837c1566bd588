//! Waiting for the ends of items while connections and servers fail, and what it costs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use leaseq::{Client, CompleteOptions, Item, Outcome, OutcomeOptions, WorkQueue};
use leaseq_test_support::{Cluster, RedisServer, Sentinel, Then, eventually};
use tokio::task::{JoinSet, block_in_place};

use crate::support::{
    at_once, behind_proxy, calls, client, connections, is_script, lease_now, ms, wait,
};

const LATE: Duration = Duration::from_secs(60);
/// Far more than the second after which a client asks again.
const SOON: Duration = Duration::from_secs(8);

fn completed(result: Option<&str>) -> Option<Outcome> {
    Some(Outcome::Completed {
        result: result.map(|result| result.to_owned().into()),
        retained: result.is_some(),
    })
}

/// Each id has an answer of its own: what cannot be read of one does not lose the outcomes of others.
#[tokio::test]
async fn an_error_of_one_request_loses_no_outcome_of_others() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 5_000).await.queue("q").unwrap();
    queue.add_item(Item::new("data").with_id("unreadable").retain(LATE)).await.unwrap();
    let lease = lease_now(&queue).await;
    let done = CompleteOptions::new().result("done");
    assert!(queue.complete_with(&lease, done).await.unwrap());
    server.cli(&["SET", "leaseq:{q}:results", "no hash"]);
    // The last id is asked about in a request of its own.
    let ids: Vec<String> = (0..1000).map(|n| n.to_string()).chain(["unreadable".into()]).collect();
    for wait in [None, Some(LATE), Some(Duration::ZERO)] {
        let mut options = OutcomeOptions::new();
        options.wait = wait;
        let outcomes = queue.outcome_many(&ids, options.clone()).await.unwrap();
        let gone = |outcome: &leaseq::Result<_>| matches!(outcome, Ok(Some(Outcome::Gone)));
        assert!(outcomes[..1000].iter().all(gone), "{wait:?}: {outcomes:?}");
        outcomes[1000].as_ref().unwrap_err();
        // If there is nothing else, the call fails.
        queue.outcome_many(["unreadable"], options.clone()).await.unwrap_err();
        queue.outcome("unreadable", options).await.unwrap_err();
    }
}

type Waits = JoinSet<(usize, leaseq::Result<Option<Outcome>>)>;

/// Waits for each of the items 0 to `count` - 1, all registered.
async fn waits(queue: &WorkQueue, count: usize) -> Waits {
    let mut waits = JoinSet::new();
    for i in 0..count {
        let queue = queue.clone();
        let mut wait = Box::pin(async move {
            let options = OutcomeOptions::new().expect();
            (i, queue.outcome(i.to_string(), options).await)
        });
        // The call is pending before the next one is made.
        let early = tokio::time::timeout(Duration::ZERO, &mut wait).await;
        assert!(early.is_err(), "{early:?}");
        waits.spawn(wait);
    }
    registered(queue).await;
    waits
}

/// Returns when the calls that were made before are registered.
async fn registered(queue: &WorkQueue) {
    let gone = queue.outcome("there is none", OutcomeOptions::new()).await.unwrap();
    assert_eq!(gone, Some(Outcome::Gone));
}

async fn add(queue: &WorkQueue, count: usize, retain: Duration) {
    let items = (0..count).map(|i| Item::new("data").with_id(i.to_string()).retain(retain));
    let ids: Vec<Item> = items.collect();
    assert!(queue.add_items(ids).await.unwrap().iter().all(|added| *added));
}

async fn complete_all(queue: &WorkQueue, count: usize) {
    let mut left = count;
    while left > 0 {
        let leases = queue.lease_many(1_000, at_once()).await.unwrap();
        assert!(!leases.is_empty());
        left -= leases.len();
        let results = leases.iter().map(|_| Some("done".into()));
        let options = CompleteOptions::new().results(results);
        assert!(queue.complete_many_with(&leases, options).await.unwrap().iter().all(|done| *done));
    }
}

async fn all_end(waits: Waits) -> Vec<Option<Outcome>> {
    let ended = tokio::time::timeout(LATE, waits.join_all()).await.expect("all waits end");
    let mut ended: Vec<_> = ended.into_iter().map(|(i, end)| (i, end.unwrap())).collect();
    ended.sort_by_key(|(i, _)| *i);
    ended.into_iter().map(|(_, outcome)| outcome).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_waits_use_two_connections_and_leave_nothing() {
    const COUNT: usize = 10_000;
    let server = RedisServer::start();
    let near = client(&server.url(), 10_000).await;
    let worker = client(&server.url(), 10_000).await.queue("q").unwrap();
    assert_eq!(worker.queue_len().await.unwrap(), 0);
    let others = connections(&server);
    let queue = near.queue("q").unwrap();
    add(&worker, COUNT, ms(0)).await;
    let waits = waits(&queue, COUNT).await;
    assert_eq!(server.cli(&["ZCARD", "leaseq:{q}:awaited"]), COUNT.to_string());
    // The second one blocks. The worker's was counted before.
    let two = eventually(SOON, async || connections(&server) == others + 1);
    assert!(two.await, "{} connections", connections(&server));
    let begun = Instant::now();
    complete_all(&worker, COUNT).await;
    let outcomes = all_end(waits).await;
    println!("{COUNT} completions reached their waits in {:?}", begun.elapsed());
    assert!(outcomes.iter().all(|outcome| *outcome == completed(None)));
    // What is left of registrations lapses, the stream goes by itself, and the connection closes.
    let lapsed = async || server.cli(&["EXISTS", "leaseq:{q}:awaited"]) == "0";
    assert!(eventually(Duration::from_secs(30), lapsed).await, "a registration lasts too long");
    assert_ne!(server.cli(&["PTTL", "leaseq:{q}:endings"]), "-1");
    let closed = eventually(Duration::from_secs(30), async || connections(&server) == others);
    assert!(closed.await, "{} connections", connections(&server));
    assert!(queue.check().await.unwrap().is_sound());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_nobody_waits_on_sends_nothing_more() {
    let server = RedisServer::start();
    let worker = client(&server.url(), 10_000).await.queue("plain").unwrap();
    // Looking once registers nothing.
    let look = OutcomeOptions::new().wait(Duration::ZERO);
    worker.add_item(Item::new("data").with_id("first")).await.unwrap();
    assert_eq!(worker.outcome("first", look).await.unwrap(), None);
    let before = calls(&server);
    complete_all(&worker, 1).await;
    add(&worker, 500, ms(0)).await;
    complete_all(&worker, 500).await;
    let after = calls(&server);
    for command in ["xadd", "xread", "xrevrange", "pttl"] {
        assert_eq!(after.get(command), before.get(command), "{command}");
    }
    assert_eq!(server.cli(&["HGET", "leaseq:{plain}:meta", "format"]), "2");
    // On an extended queue nothing is reported that nobody waits for.
    let queue = client(&server.url(), 10_000).await.queue("q").unwrap();
    queue.add_item(Item::new("data").with_id("awaited")).await.unwrap();
    let short = OutcomeOptions::new().wait(ms(1));
    assert_eq!(queue.outcome("awaited", short).await.unwrap(), None);
    assert_eq!(server.cli(&["HGET", "leaseq:{q}:meta", "format"]), "2+1");
    assert!(queue.remove("awaited").await.unwrap());
    add(&queue, 500, ms(0)).await;
    complete_all(&queue, 500).await;
    assert_eq!(server.cli(&["XLEN", "leaseq:{q}:endings"]), "1");
}

/// A hundred processes have waited on the queue and stay connected. Completions that nobody waits for are made by the same
/// commands as on a queue that none of them knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_processes_that_wait_for_nothing_cost_nothing() {
    const COUNT: usize = 5_000;
    let server = RedisServer::start();
    let worker = client(&server.url(), 10_000).await;
    let (alone, known) = (worker.queue("alone").unwrap(), worker.queue("known").unwrap());
    let waits_once = async |process: &Client, worker: &WorkQueue| {
        worker.add_item(Item::new("data").with_id("once")).await.unwrap();
        let queue = process.queue(worker.name()).unwrap();
        let expect = OutcomeOptions::new().expect();
        let wait = tokio::spawn(async move { queue.outcome("once", expect).await });
        let key = format!("leaseq:{{{}}}:awaited", worker.name());
        let awaited = async || server.cli(&["EXISTS", &key]) == "1";
        assert!(eventually(SOON, awaited).await);
        assert!(worker.complete(&lease_now(worker).await).await.unwrap());
        assert_eq!(wait.await.unwrap().unwrap(), completed(None));
    };
    let mut processes = Vec::new();
    for _ in 0..100 {
        let process = client(&server.url(), 10_000).await;
        waits_once(&process, &known).await;
        processes.push(process);
    }
    waits_once(&worker, &alone).await;
    let mut costs = Vec::new();
    for queue in [&alone, &known] {
        // Clients open what they keep with their first calls.
        add(queue, COUNT, ms(0)).await;
        complete_all(queue, COUNT).await;
        add(queue, COUNT, ms(0)).await;
        let before = calls(&server);
        complete_all(queue, COUNT).await;
        let mut cost = calls(&server);
        for (command, calls) in &mut cost {
            *calls -= before.get(command).unwrap_or(&0);
        }
        // What clients send by themselves, now and then, and what this test does.
        for command in ["evalsha", "blpop", "xread", "ping", "info", "exists"] {
            cost.remove(command);
        }
        cost.retain(|_, calls| *calls > 0);
        costs.push(cost);
    }
    println!("{costs:?}");
    assert_eq!(costs[0], costs[1]);
    assert!(!costs[1].contains_key("xadd") && costs[1].len() > 3, "{costs:?}");
    drop(processes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_given_up_lapses() {
    let server = RedisServer::start();
    let near = client(&server.url(), 10_000).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 10, ms(0)).await;
    let waits = waits(&queue, 10).await;
    drop(waits);
    let lapsed = async || server.cli(&["EXISTS", "leaseq:{q}:awaited"]) == "0";
    assert!(eventually(Duration::from_secs(30), lapsed).await, "a registration lasts too long");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_is_not_shortened_for_another_client() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 10_000).await.queue("q").unwrap();
    add(&queue, 1, ms(0)).await;
    let ask = async || {
        let asked = queue.outcome("0", OutcomeOptions::new().wait(ms(1))).await.unwrap();
        assert_eq!(asked, None);
    };
    ask().await;
    let member = server.cli(&["ZRANGE", "leaseq:{q}:awaited", "0", "0"]);
    for (lasts, stays) in [(60_000, true), (300_000, false), (1_000, false)] {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let until = (now.as_millis() + lasts).to_string();
        server.cli(&["ZADD", "leaseq:{q}:awaited", &until, &member]);
        ask().await;
        let found = server.cli(&["ZSCORE", "leaseq:{q}:awaited", &member]);
        assert_eq!(found == until, stays, "{lasts}: {found}, {until}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_clients_learn_of_every_end() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 10_000).await.queue("q").unwrap();
    let worker = client(&server.url(), 10_000).await.queue("q").unwrap();
    const COUNT: usize = 3_000;
    for retain in [ms(0), LATE] {
        add(&worker, COUNT, retain).await;
        let waits = waits(&queue, COUNT).await;
        let over = AtomicBool::new(false);
        let kill = async {
            while !over.load(Ordering::Relaxed) {
                block_in_place(|| server.cli(&["CLIENT", "KILL", "TYPE", "normal"]));
                tokio::time::sleep(ms(20)).await;
            }
        };
        let work = async {
            complete_all(&worker, COUNT).await;
            over.store(true, Ordering::Relaxed);
        };
        tokio::join!(kill, work);
        let begun = Instant::now();
        let outcomes = all_end(waits).await;
        println!("the last ones learned it {:?} after the last kill", begun.elapsed());
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        // The stream had every report, so none is lost with a connection.
        let expected = completed((!retain.is_zero()).then_some("done"));
        assert!(outcomes.iter().all(|outcome| *outcome == expected));
        worker.purge(leaseq::State::Completed).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_reports_are_found_by_asking() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 10_000).await.queue("q").unwrap();
    let worker = client(&server.url(), 10_000).await.queue("q").unwrap();
    for (retain, expected) in [(LATE, completed(Some("done"))), (ms(0), Some(Outcome::Gone))] {
        worker.add_item(Item::new("data").with_id("0").retain(retain)).await.unwrap();
        let queue = queue.clone();
        let call = tokio::spawn(async move { queue.outcome("0", OutcomeOptions::new()).await });
        let awaited = async || server.cli(&["EXISTS", "leaseq:{q}:awaited"]) == "1";
        assert!(eventually(SOON, awaited).await);
        // As if the server had lost it: the step that ends the item does not know of the wait.
        server.cli(&["DEL", "leaseq:{q}:awaited"]);
        let lease = lease_now(&worker).await;
        let options = CompleteOptions::new().result("done");
        assert!(worker.complete_with(&lease, options).await.unwrap());
        let begun = Instant::now();
        let outcome = tokio::time::timeout(SOON, call).await.expect("it asks").unwrap().unwrap();
        assert_eq!(outcome, expected);
        println!("found by asking after {:?}", begun.elapsed());
        worker.remove("0").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_that_are_lost_are_asked_for_again() {
    let (server, proxy, far) = behind_proxy(10_000).await;
    let worker = client(&server.url(), 10_000).await.queue("q").unwrap();
    let queue = far.queue("q").unwrap();
    worker.add_item(Item::new("data").with_id("a").retain(LATE)).await.unwrap();
    proxy.drop_replies(is_script("await_outcomes", "q"), 1, Then::Close);
    let call = tokio::spawn(async move { queue.outcome("a", OutcomeOptions::new()).await });
    let awaited = async || server.cli(&["EXISTS", "leaseq:{q}:awaited"]) == "1";
    assert!(eventually(SOON, awaited).await);
    // It ends before the client knows from where to read.
    assert!(worker.complete(&lease_now(&worker).await).await.unwrap());
    let outcome = tokio::time::timeout(LATE, call).await.unwrap().unwrap().unwrap();
    assert_eq!(outcome, Some(Outcome::Completed { result: None, retained: true }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_loses_no_end() {
    let durable = RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
    let mut server = durable.start();
    let queue = client(&server.url(), 20_000).await.queue("q").unwrap();
    let worker = client(&server.url(), 20_000).await.queue("q").unwrap();
    const COUNT: usize = 200;
    add(&worker, COUNT, LATE).await;
    let waits = waits(&queue, COUNT).await;
    complete_all(&worker, 0).await;
    block_in_place(|| server.restart());
    complete_all(&worker, COUNT).await;
    let begun = Instant::now();
    let outcomes = all_end(waits).await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(outcomes.iter().all(|outcome| *outcome == completed(Some("done"))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failover_only_delays_it() {
    let sentinel = block_in_place(Sentinel::start);
    let open =
        async || Client::connect(&format!("{}?timeout_ms=60000", sentinel.url())).await.unwrap();
    let queue = open().await.queue("q").unwrap();
    let worker = open().await.queue("q").unwrap();
    const COUNT: usize = 100;
    add(&worker, COUNT, LATE).await;
    let master = sentinel.master().unwrap();
    let waits = waits(&queue, COUNT).await;
    block_in_place(|| {
        sentinel.node(master).is_replicated("mark");
        sentinel.failover()
    });
    complete_all(&worker, COUNT).await;
    let begun = Instant::now();
    let outcomes = all_end(waits).await;
    println!("the last ones learned it {:?} after their completion", begun.elapsed());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(outcomes.iter().all(|outcome| *outcome == completed(Some("done"))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_reports_ends_while_a_slot_moves() {
    let cluster = block_in_place(Cluster::start);
    let near = client(&cluster.url(), 20_000).await;
    let other = client(&cluster.url(), 20_000).await;
    let mut all = Vec::new();
    for i in 0..6 {
        let name = format!("q{i}");
        let worker = other.queue(&name).unwrap();
        add(&worker, 50, LATE).await;
        all.push((worker, waits(&near.queue(&name).unwrap(), 50).await));
    }
    let slot = cluster.slot_of("leaseq:{q0}:items");
    block_in_place(|| cluster.move_slot(slot, cluster.other_than(cluster.slot_owner(slot))));
    for (worker, _) in &all {
        complete_all(worker, 50).await;
    }
    for (_, waits) in all {
        let outcomes = all_end(waits).await;
        assert!(outcomes.iter().all(|outcome| *outcome == completed(Some("done"))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_reaches_its_wait_at_once() {
    let server = RedisServer::start();
    let queue = client(&server.url(), 10_000).await.queue("q").unwrap();
    let worker = client(&server.url(), 10_000).await.queue("q").unwrap();
    const OTHERS: usize = 2_000;
    let others = waits(&queue, OTHERS).await;
    let mut times = Vec::new();
    for i in 0..200 {
        let id = format!("item {i}");
        assert!(worker.add_item(Item::new("data").with_id(&id)).await.unwrap());
        let mut call = Box::pin({
            let (queue, id) = (queue.clone(), id.clone());
            async move { (queue.outcome(id, OutcomeOptions::new()).await, Instant::now()) }
        });
        assert!(tokio::time::timeout(Duration::ZERO, &mut call).await.is_err());
        let call = tokio::spawn(call);
        registered(&queue).await;
        let lease = worker.lease(wait()).await.unwrap().unwrap();
        let begun = Instant::now();
        assert!(worker.complete(&lease).await.unwrap());
        let (outcome, ended) = call.await.unwrap();
        assert_eq!(outcome.unwrap(), completed(None));
        times.push(ended.saturating_duration_since(begun));
    }
    times.sort();
    println!("median {:?}, 95 % {:?}, longest {:?}", times[100], times[190], times[199]);
    // Far less than the second after which the client asks; the machine may be busy.
    assert!(times[180] < ms(400), "{:?}", times[180]);
    drop(others);
}
