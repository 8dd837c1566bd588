//! Calls that return when a replica has their changes (`replicas=1`), and what becomes of them when it has not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{Client, ErrorKind, Item, State};
use leaseq_test_support::{Proxy, RedisServer, Then, TlsServer, eventually};
use tokio::task::JoinSet;

use crate::pair::{Pair, confirmed, servers};
use crate::support::{
    LONG, SOON, add, at_once, calls, client, connections, is_script, lease_now, ms, sound, wait,
    waiting, warm_up,
};

#[tokio::test]
async fn a_call_returns_when_the_replica_has_the_change() {
    let pair = Pair::start();
    let queue = pair.client(10_000).await.queue("q").unwrap();
    for i in 0..200 {
        assert!(queue.add_item(Item::new("data").with_id(i.to_string())).await.unwrap());
        assert!(pair.has("q", &i.to_string()), "item {i}");
    }
    let lease = lease_now(&queue).await;
    assert_eq!(pair.replica.cli(&["ZCARD", "leaseq:{q}:leased"]), "1");
    assert!(queue.complete(&lease).await.unwrap());
    assert!(!pair.has("q", "0"));
    assert!(queue.drop_queue().await.unwrap());
    assert_eq!(pair.replica.cli(&["EXISTS", "leaseq:{q}:items"]), "0");
    // No WAIT for calls that only read.
    let waits = calls(&pair.master)["wait"];
    queue.counts().await.unwrap();
    assert_eq!(queue.get("1").await.unwrap(), None);
    assert_eq!(calls(&pair.master)["wait"], waits);
}

#[tokio::test]
async fn a_client_that_asks_for_nothing_neither_waits_nor_connects_twice() {
    let server = RedisServer::start();
    let client = client(&server.url(), 10_000).await;
    warm_up(&client).await;
    assert!(!calls(&server).contains_key("wait"));
    assert_eq!(connections(&server), 1);
}

#[tokio::test]
async fn without_a_replica_the_outcome_of_every_change_is_unknown() {
    let pair = Pair::start();
    let queue = pair.client(10_000).await.queue("q").unwrap();
    add(&queue, 8).await;
    let mut leases = queue.lease_many(6, at_once()).await.unwrap().into_iter();
    let mut lease = || leases.next().unwrap();
    let (first, second, third, fourth) = (lease(), lease(), lease(), lease());
    // Each has called it before. The last two ask for the answer in the background when they have given up, and
    // other calls of the same client would wait behind that.
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(pair.client(500).await.queue("q").unwrap());
        clients.last().unwrap().resume().await.unwrap();
    }
    let hurried = &clients[0];
    pair.replica.pause();
    let errors = [
        hurried.add_item(Item::new("data").with_id("new")).await.unwrap_err(),
        hurried.complete(&first).await.unwrap_err(),
        hurried.extend(&second, LONG).await.unwrap_err(),
        hurried.release(&third, Duration::ZERO).await.unwrap_err(),
        hurried.fail(&fourth, "x", Duration::ZERO).await.unwrap_err(),
        hurried.remove("7").await.unwrap_err(),
        hurried.requeue(["7"]).await.unwrap_err(),
        hurried.purge(State::Delayed).await.unwrap_err(),
        hurried.light_clean().await.unwrap_err(),
        hurried.pause().await.unwrap_err(),
        clients[1].lease(at_once()).await.unwrap_err(),
        clients[2].complete_and_lease([&first], 1, at_once()).await.unwrap_err(),
    ];
    for (i, error) in errors.into_iter().enumerate() {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{i}: {error}");
        assert!(error.outcome_unknown(), "{i}: {error}");
    }
    pair.replica.resume();
    // Repeating them shows that each was executed once.
    assert!(!queue.add_item(Item::new("data").with_id("new")).await.unwrap());
    assert!(!queue.complete(&first).await.unwrap());
    assert_eq!(queue.get("7").await.unwrap(), None);
    assert_eq!(queue.get("new").await.unwrap().unwrap().state, State::Ready);
    queue.resume().await.unwrap();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.totals.added, counts.totals.completed, counts.totals.failed), (9, 1, 1));
    sound(&queue).await;
}

#[tokio::test]
async fn calls_that_wait_for_a_replica_end_by_their_deadline_and_reads_wait_behind_none() {
    let pair = Pair::start();
    let near = pair.client(1_500).await;
    let queues: Vec<_> = (0..20).map(|i| near.queue(&format!("q{i}")).unwrap()).collect();
    for queue in &queues {
        add(queue, 1).await;
    }
    pair.replica.pause();
    let begin = Instant::now();
    let mut adding = JoinSet::new();
    for queue in &queues {
        let queue = queue.clone();
        adding.spawn(async move { queue.add_item(Item::new("data")).await });
    }
    while !adding.is_empty() {
        let read = Instant::now();
        queues[0].counts().await.unwrap();
        assert!(read.elapsed() < ms(500), "{:?}", read.elapsed());
        if let Ok(added) = tokio::time::timeout(ms(20), adding.join_next()).await {
            let error = added.unwrap().unwrap().unwrap_err();
            // Those that had to wait until earlier ones are confirmed were not sent.
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            let took = begin.elapsed();
            assert!(took >= ms(1_490) && took < ms(2_700), "{took:?}");
        }
    }
    pair.replica.resume();
    for queue in &queues {
        assert!(queue.add_item(Item::new("data").with_id("new")).await.unwrap());
        sound(queue).await;
    }
}

#[tokio::test]
async fn the_error_names_how_many_replicas_have_it() {
    let pair = Pair::start();
    let queue = pair.client(2_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    pair.replica.pause();
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert!(error.to_string().contains("0 of 1 replicas have it"), "{error}");
    assert!(error.outcome_unknown(), "{error}");
    pair.replica.resume();

    // A server that never had one.
    let alone = RedisServer::start();
    let queue = confirmed(&alone.url(), 2_000).await.queue("q").unwrap();
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert!(error.to_string().contains("0 of 1 replicas have it"), "{error}");
}

/// The call is executed, waits in vain, is repeated under its lane, and gets the first answer in the end.
#[tokio::test]
async fn a_call_that_waits_for_a_stopped_replica_gets_its_first_answer_when_it_continues() {
    let pair = Pair::start();
    let queue = pair.client(20_000).await.queue("q").unwrap();
    add(&queue, 2).await;
    let lease = lease_now(&queue).await;
    pair.replica.pause();
    let before = calls(&pair.master)["wait"];
    let adding = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_item(Item::new("data").with_id("new")).await }
    });
    let completing = tokio::spawn({
        let queue = queue.clone();
        async move { queue.complete(&lease).await }
    });
    let leasing = tokio::spawn({
        let queue = queue.clone();
        async move { queue.lease(at_once()).await }
    });
    let repeated = eventually(SOON, async || calls(&pair.master)["wait"] >= before + 3);
    assert!(repeated.await, "it was not repeated");
    assert!(!adding.is_finished() && !completing.is_finished() && !leasing.is_finished());
    pair.replica.resume();
    assert!(adding.await.unwrap().unwrap());
    assert!(pair.has("q", "new"));
    assert!(completing.await.unwrap().unwrap());
    assert_eq!(leasing.await.unwrap().unwrap().unwrap().attempt(), 1);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.leased), (1, 1));
    assert_eq!((counts.totals.added, counts.totals.completed, counts.totals.leased), (3, 1, 2));
    sound(&queue).await;
}

/// The reply is lost while the replica is stopped. The script answers the retry, on a new connection, from its
/// lane. That answer is not given before the replica has the first execution.
#[tokio::test]
async fn an_answer_from_a_lane_waits_for_the_replica_too() {
    for server in servers() {
        answered_from_a_lane(Pair::start_with(server)).await;
    }
}

async fn answered_from_a_lane(pair: Pair) {
    let proxy = Proxy::start(pair.master.port()).await;
    let near = confirmed(&proxy.url(), 20_000).await;
    warm_up(&near).await;
    let queue = near.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = Arc::new(lease_now(&queue).await);
    let mut lost = 0;
    for (operation, id) in [("add", "new"), ("complete", "0")] {
        let before = pair.has("q", id);
        pair.replica.pause();
        proxy.drop_replies(is_script(operation, "q"), 1, Then::Close);
        let calling = tokio::spawn({
            let (queue, lease) = (queue.clone(), lease.clone());
            async move {
                match operation {
                    "add" => queue.add_item(Item::new("data").with_id("new")).await,
                    _ => queue.complete(&lease).await,
                }
            }
        });
        lost += 1;
        assert!(proxy.wait_for_dropped(lost, SOON).await);
        // It is repeated at once, and on Redis 7.2 and later WAIT would not wait for another connection's write.
        tokio::time::sleep(ms(600)).await;
        assert!(!calling.is_finished(), "{operation}: the replica does not have it");
        pair.replica.resume();
        assert!(calling.await.unwrap().unwrap(), "{operation}");
        assert_ne!(pair.has("q", id), before, "{operation}");
    }
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.totals.added, counts.totals.completed), (2, 1));
    sound(&queue).await;
}

/// Somebody else has just done it, and the replica does not have that yet.
#[tokio::test]
async fn an_answer_that_nothing_was_to_be_done_waits_for_the_replica_too() {
    for server in servers() {
        nothing_to_be_done(Pair::start_with(server)).await;
    }
}

async fn nothing_to_be_done(pair: Pair) {
    let plain = client(&pair.master.url(), 10_000).await;
    let [plain, gone] = ["q", "gone"].map(|name| plain.queue(name).unwrap());
    add(&plain, 2).await;
    add(&gone, 1).await;
    plain.pause().await.unwrap();
    // Opened, but nothing was written on its connection for changes.
    let near = pair.client(1_000).await;
    let [queue, gone_too] = ["q", "gone"].map(|name| near.queue(name).unwrap());
    queue.counts().await.unwrap();
    gone_too.counts().await.unwrap();
    pair.replica.pause();
    plain.resume().await.unwrap();
    assert!(gone.drop_queue().await.unwrap());
    plain.add_item(Item::new("data").with_id("new")).await.unwrap();
    for error in [
        queue.resume().await.unwrap_err(),
        gone_too.drop_queue().await.unwrap_err(),
        queue.add_item(Item::new("data").with_id("new")).await.unwrap_err(),
        queue.requeue(["new"]).await.unwrap_err(),
        queue.purge(State::Dead).await.unwrap_err(),
        queue.light_clean().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.outcome_unknown(), "{error}");
    }
    pair.replica.resume();
    queue.resume().await.unwrap();
    assert!(!gone_too.drop_queue().await.unwrap());
    assert!(!queue.add_item(Item::new("data").with_id("new")).await.unwrap());
    assert!(pair.has("q", "new"));
    assert_eq!(pair.replica.cli(&["EXISTS", "leaseq:{gone}:meta"]), "0", "nothing is left of it");
    sound(&queue).await;
}

#[tokio::test]
async fn calls_that_wait_at_the_same_time_share_one_wait() {
    const QUEUES: usize = 40;
    const EACH: usize = 10;
    let pair = Pair::start();
    let proxy = Proxy::start(pair.master.port()).await;
    let near = confirmed(&proxy.url(), 10_000).await;
    warm_up(&near).await;
    proxy.delay(ms(2));
    let (scripts, waits) = (proxy.commands_named("EVALSHA"), proxy.commands_named("WAIT"));
    let mut adding = JoinSet::new();
    for i in 0..QUEUES {
        let queue = near.queue(&format!("q{i}")).unwrap();
        adding.spawn(async move {
            for _ in 0..EACH {
                assert!(queue.add_item(Item::new("data")).await.unwrap());
            }
        });
    }
    adding.join_all().await;
    let scripts = proxy.commands_named("EVALSHA") - scripts;
    let waits = proxy.commands_named("WAIT") - waits;
    println!("{waits} times WAIT for {scripts} scripts");
    assert!(scripts >= (QUEUES * EACH) as u64 && waits < scripts / 4, "{waits} for {scripts}");
}

/// Calls that are made without waiting for the answers of earlier ones are executed in their order.
#[tokio::test]
async fn calls_keep_their_order() {
    const ROUNDS: usize = 300;
    let pair = Pair::start();
    let queue = pair.client(10_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    let mut done = JoinSet::new();
    for i in 0..ROUNDS {
        let id = format!("x{}", i % 7);
        let mut adding = Box::pin({
            let (queue, id) = (queue.clone(), id.clone());
            async move { queue.add_item(Item::new("data").with_id(id)).await }
        });
        // Made when first polled.
        let early = tokio::time::timeout(Duration::ZERO, &mut adding).await;
        let mut removing = Box::pin({
            let queue = queue.clone();
            async move { queue.remove(id).await }
        });
        let gone = tokio::time::timeout(Duration::ZERO, &mut removing).await;
        done.spawn(async move {
            let added = match early {
                Ok(added) => added,
                Err(_) => adding.await,
            };
            let removed = match gone {
                Ok(removed) => removed,
                Err(_) => removing.await,
            };
            (added.unwrap(), removed.unwrap())
        });
    }
    assert!(done.join_all().await.into_iter().all(|pair| pair == (true, true)));
    assert_eq!(queue.counts().await.unwrap().ready, 1);
    sound(&queue).await;
}

#[tokio::test]
async fn a_waiting_worker_gets_items_and_survives_its_connections() {
    let pair = Pair::start();
    let near = pair.client(10_000).await;
    warm_up(&near).await;
    let queue = near.queue("idle").unwrap();
    for _ in 0..3 {
        let call = waiting(&queue, wait()).await;
        pair.master.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        assert!(queue.add_item(Item::new("data")).await.unwrap());
        let lease = tokio::time::timeout(SOON, call).await.expect("it wakes").unwrap();
        assert!(queue.complete(&lease.unwrap().unwrap()).await.unwrap());
    }
}

/// What it has written, and the replica has not, is lost or not: the caller is told nothing before that is known.
#[tokio::test]
async fn a_master_that_becomes_a_replica_while_a_call_waits_answers_nothing() {
    let pair = Pair::start();
    let queue = pair.client(20_000).await.queue("q").unwrap();
    add(&queue, 1).await;
    pair.replica.pause();
    let before = calls(&pair.master)["wait"];
    let adding = tokio::spawn({
        let queue = queue.clone();
        async move { queue.add_item(Item::new("data").with_id("new")).await }
    });
    assert!(eventually(SOON, async || calls(&pair.master)["wait"] > before).await);
    // A replica of nobody keeps its data.
    pair.master.cli(&["REPLICAOF", "127.0.0.1", "1"]);
    tokio::time::sleep(ms(300)).await;
    pair.master.cli(&["REPLICAOF", "NO", "ONE"]);
    assert!(!adding.is_finished());
    pair.replica.resume();
    assert!(adding.await.unwrap().unwrap());
    assert!(pair.has("q", "new"));
    assert_eq!(queue.counts().await.unwrap().totals.added, 2);
    sound(&queue).await;
}

/// As with a master that is cut off, and does not know that there is another one by now.
#[tokio::test]
async fn a_master_whose_replica_has_left_confirms_nothing_and_is_looked_for_anew() {
    let pair = Pair::start();
    let proxy = Proxy::start(pair.master.port()).await;
    let queue = confirmed(&proxy.url(), 1_500).await.queue("q").unwrap();
    add(&queue, 1).await;
    let opened = proxy.connections_opened();
    pair.replica.cli(&["REPLICAOF", "NO", "ONE"]);
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Unavailable, true), "{error}");
    // With Sentinel, each new connection goes to the master that they name by then.
    assert!(proxy.connections_opened() > opened);
}

#[tokio::test]
async fn a_server_that_hangs_means_unavailable_by_the_deadline() {
    let pair = Pair::start();
    let queue = pair.client(1_500).await.queue("q").unwrap();
    add(&queue, 1).await;
    let lease = lease_now(&queue).await;
    pair.master.pause();
    let begin = Instant::now();
    let errors =
        tokio::join!(async { queue.add_item(Item::new("data")).await.unwrap_err() }, async {
            queue.complete(&lease).await.unwrap_err()
        },);
    let took = begin.elapsed();
    pair.master.resume();
    assert!(took >= ms(1_490) && took < ms(2_700), "{took:?}");
    for error in [errors.0, errors.1] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.outcome_unknown(), "{error}");
    }
    queue.complete(&lease).await.unwrap();
    assert_eq!(queue.get(lease.id()).await.unwrap(), None);
    sound(&queue).await;
}

#[tokio::test]
async fn an_item_that_the_server_refuses_as_too_large_is_still_invalid() {
    let pair = Pair::start_with(RedisServer::builder().arg("--proto-max-bulk-len", "1mb"));
    let near = pair.client(5_000).await;
    warm_up(&near).await;
    let [queue, other] = ["q", "other"].map(|name| near.queue(name).unwrap());
    queue.counts().await.unwrap();
    other.counts().await.unwrap();
    let (large, small) = tokio::join!(
        queue.add_item(Item::new(vec![0; 2 << 20])),
        other.add_item(Item::new("data")),
    );
    assert!(small.unwrap());
    let error = large.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("proto-max-bulk-len"), "{error}");
    assert_eq!(queue.counts().await.unwrap().ready, 0);
}

#[tokio::test]
async fn it_works_over_tls_and_a_unix_socket() {
    let tls = TlsServer::start_with(RedisServer::builder().unix_socket(true));
    let of = format!("127.0.0.1 {}", tls.server().port());
    let replica = RedisServer::builder().arg("--replicaof", of).start();
    let up = async || tls.server().is_replicated("mark");
    assert!(eventually(LONG, up).await, "no replica:\n{}", replica.log());
    let socket = tls.server().unix_socket();
    for url in [
        format!("{}?ca_file={}&replicas=1", tls.url(), tls.ca_file().display()),
        format!("redis+unix://{}?db=2&replicas=1", socket.display()),
    ] {
        let queue = Client::connect(&url).await.unwrap().queue("q").unwrap();
        add(&queue, 2).await;
        assert!(queue.complete(&lease_now(&queue).await).await.unwrap());
        let waits = calls(tls.server())["wait"];
        add(&queue, 0).await;
        assert!(waits > 0, "{url}");
    }
}

#[tokio::test]
async fn a_missing_right_is_invalid_and_named() {
    let pair = Pair::start();
    let grant = |rules: &[&str]| {
        let rules = [&["ACL", "SETUSER", "few", "reset", "on", ">pw", "~leaseq:*", "+@all"], rules];
        pair.master.cli(&rules.concat());
    };
    let url = format!("redis://few:pw@127.0.0.1:{}/?replicas=1", pair.master.port());
    grant(&["-wait"]);
    let error = Client::connect(&url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("grant +wait") && !error.outcome_unknown(), "{error}");
    // Without the option nobody needs it.
    Client::connect(&url.replace("replicas=1", "replicas=0")).await.unwrap();

    grant(&[]);
    let queue = Client::connect(&url).await.unwrap().queue("q").unwrap();
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    pair.master.cli(&["ACL", "SETUSER", "few", "-wait"]);
    let begin = Instant::now();
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("grant +wait"), "{error}");
    assert!(error.outcome_unknown(), "it was executed: {error}");
    // The next call does not even begin.
    let error = queue.add_item(Item::new("data")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("grant +wait") && !error.outcome_unknown(), "{error}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    pair.master.cli(&["ACL", "SETUSER", "few", "+wait"]);
    assert!(queue.add_item(Item::new("data")).await.unwrap());
}

#[tokio::test]
async fn the_doctor_says_what_is_waited_for() {
    let pair = Pair::start();
    let finds = |diagnosis: &leaseq::Diagnosis, text: &str| {
        diagnosis.advice.iter().any(|advice| advice.found.contains(text))
    };
    let plain = client(&pair.master.url(), 5_000).await.doctor().await.unwrap();
    assert!(finds(&plain, "replication is asynchronous"), "{plain:?}");
    assert!(!plain.settings.contains_key("replicas"));
    let near = pair.client(5_000).await.doctor().await.unwrap();
    assert_eq!(near.settings["replicas"], "1");
    assert!(!finds(&near, "take over"), "{near:?}");
    let url = format!("{}?replicas=2", pair.master.url());
    let more = Client::connect(&url).await.unwrap().doctor().await.unwrap();
    let problem = more.advice.iter().find(|advice| advice.found.contains("1 replicas"));
    assert!(problem.is_some_and(|advice| advice.problem), "{more:?}");
}
