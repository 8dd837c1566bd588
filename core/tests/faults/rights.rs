//! The access-control file: its rights are sufficient, each of them is necessary, and a missing right is
//! reported before a script needs it.

use std::io::Write;
use std::sync::{Arc, Mutex};

use leaseq::{Client, ErrorKind, LeaseOptions, Role, State};
use leaseq_test_support::{RedisServer, eventually};

use crate::pair::Pair;
use crate::support::{SOON, ms, sound};

const USERS: &str = include_str!("../../docs/users.acl");

/// The name, and the rules without the password.
fn user(line: &str) -> (&str, Vec<&str>) {
    let mut words = line.split(' ').skip(1);
    (words.next().unwrap(), words.filter(|word| !word.starts_with('>')).collect())
}

fn role(role: Role) -> (&'static str, Vec<&'static str>) {
    let name = format!("leaseq-{}", role.as_str());
    USERS.lines().map(user).find(|(user, _)| *user == name).unwrap()
}

fn grant(server: &RedisServer, user: &str, rules: &[&str]) -> String {
    server.cli(&[&["ACL", "SETUSER", user, "reset", ">pw"], rules].concat());
    format!("redis://{user}:pw@127.0.0.1:{}/?timeout_ms=2000", server.port())
}

#[test]
fn a_server_accepts_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("users.acl");
    std::fs::write(&path, USERS).unwrap();
    let server = RedisServer::builder()
        .password("CHANGE-ME")
        .arg("--aclfile", path.to_str().unwrap())
        .start();
    let users = server.cli(&["ACL", "USERS"]);
    assert!(Role::ALL.iter().all(|role| users.contains(role.as_str())), "{users}");
}

#[tokio::test]
async fn the_rights_of_a_role_are_sufficient() {
    let server = RedisServer::start();
    let clients = async |wanted: Role| {
        let (user, rules) = role(wanted);
        let client = Client::connect(&grant(&server, user, &rules)).await.unwrap();
        let queue = client.queue("q").unwrap();
        let missing = queue.missing_rights(wanted).await.unwrap();
        assert!(missing.is_empty(), "{user}: {missing:?}");
        (client, queue)
    };
    let (producer, adds) = clients(Role::Producer).await;
    let (worker, works) = clients(Role::Worker).await;
    let (cleaner, cleans) = clients(Role::Cleaner).await;
    let (monitor, looks) = clients(Role::Monitor).await;
    let (operator, operates) = clients(Role::Operator).await;
    for i in 0..7u8 {
        let item = leaseq::Item::new([i]).with_id([b'a' + i]).max_attempts(2).priority(i);
        assert!(adds.add_item(item.delay(ms(u64::from(i / 6)))).await.unwrap());
    }
    let waits = LeaseOptions::new(ms(60_000)).wait(ms(5_000));
    let held = works.lease_many(5, waits.clone()).await.unwrap();
    assert!(works.complete(&held[0]).await.unwrap());
    works.extend(&held[1], ms(90_000)).await.unwrap();
    works.set_progress(&held[1], "half").await.unwrap();
    works.release(&held[1], ms(0)).await.unwrap();
    works.fail(&held[2], "x", ms(1)).await.unwrap();
    let retained = leaseq::Item::new("r").with_id("r").unique("k").unique_for(ms(1)).priority(9);
    assert!(adds.add_item(retained.clone().retain(ms(1)).replace()).await.unwrap());
    assert!(adds.add_item(retained.retain(ms(60_000)).replace()).await.unwrap());
    let lease = works.lease(waits.clone()).await.unwrap().unwrap();
    let result = leaseq::CompleteOptions::new().result("done");
    assert!(works.complete_with(&lease, result).await.unwrap());
    assert!(adds.add_item(leaseq::Item::new("c").with_id("c1").priority(9)).await.unwrap());
    let marked = works.lease(waits.clone()).await.unwrap().unwrap();
    assert!(adds.cancel("c1").await.unwrap() && operates.cancel("c1").await.unwrap());
    assert!(marked.cancelled().await);
    assert_eq!(works.fail(&marked, "", ms(0)).await.unwrap(), State::Cancelled);
    let short = works.lease(LeaseOptions::new(ms(1))).await.unwrap().unwrap();
    assert!(cleans.wait_until_due(ms(5_000)).await.unwrap());
    cleans.light_clean().await.unwrap();
    assert!(
        cleans.check().await.unwrap().is_sound() && cleans.deep_clean().await.unwrap().is_sound()
    );
    cleans.deep_clean_if_due(ms(1)).await.unwrap();
    assert_eq!(cleaner.queues().await.unwrap(), ["q"]);
    assert!(looks.get(short.id()).await.unwrap().is_some());
    for state in State::ALL {
        looks.list(state, None, 10).await.unwrap();
    }
    assert_eq!(
        (monitor.queues().await.unwrap().len(), looks.counts().await.unwrap().leased),
        (1, 2)
    );
    let settings = leaseq::SettingsChange::new().max_dead(5);
    let settings = operates.configure(settings).await.unwrap().unwrap();
    assert_eq!(operates.settings().await.unwrap(), settings);
    assert_eq!(looks.settings().await.unwrap(), settings);
    operates.pause_with(leaseq::PauseOptions::new().duration(ms(60_000))).await.unwrap();
    operates.pause().await.unwrap();
    operates.resume().await.unwrap();
    operates.requeue([b"a"]).await.unwrap();
    operates.bury([b"a"], "").await.unwrap();
    operates.revise(b"a", leaseq::Revision::new().data("new")).await.unwrap();
    assert!(operates.remove(short.id()).await.unwrap());
    assert_eq!(operates.purge(State::Leased).await.unwrap(), 2);
    assert!(works.record_history(&leaseq::Measured::default()).await.unwrap());
    assert!(cleans.record_history(&leaseq::Measured::default()).await.unwrap());
    for sees in [&looks, &operates] {
        assert_eq!(sees.history(leaseq::HistoryKind::Hours).await.unwrap().len(), 1);
        assert!(sees.events(leaseq::EventsOptions::new()).await.unwrap().events.is_empty());
    }
    let id = leaseq::WorkerId::new("w");
    worker.beat(&leaseq::Beat::new(id.clone())).await.unwrap();
    operator.quiet_worker("w").await.unwrap();
    assert!(operator.command_worker(&id, &leaseq::WorkerAction::Stop).await.unwrap());
    for sees in [&monitor, &operator] {
        let page = sees.workers(leaseq::WorkersOptions::new()).await.unwrap();
        assert!(page.workers[0].quiet && page.workers[0].commands.len() == 1);
    }
    operator.resume_worker("w").await.unwrap();
    worker.leave(&id).await.unwrap();
    // Waiting for ends, and looking.
    adds.add_item(leaseq::Item::new("o").with_id("o")).await.unwrap();
    let outcome = leaseq::OutcomeOptions::new();
    assert_eq!(looks.outcome("o", outcome.clone().wait(ms(0))).await.unwrap(), None);
    for waits in [adds.clone(), operates.clone()] {
        adds.add_item(leaseq::Item::new("o").with_id("o")).await.unwrap();
        let outcome = outcome.clone();
        let waiting = tokio::spawn(async move { waits.outcome("o", outcome).await });
        assert!(adds.cancel("o").await.unwrap());
        let end = waiting.await.unwrap().unwrap().unwrap();
        assert!(matches!(end.as_str(), "cancelled" | "gone"), "{end:?}");
    }
    // A waiting call, and a call that wakes it.
    operates.purge(State::Ready).await.unwrap();
    let waiting = tokio::spawn(async move { works.lease(waits).await });
    adds.add_item(leaseq::Item::new("late")).await.unwrap();
    assert!(waiting.await.unwrap().unwrap().is_some());
    sound(&looks_as_admin(&server).await).await;
    for client in [producer, worker, cleaner, monitor, operator] {
        client.close().await;
    }
    let denied = server.cli(&["ACL", "LOG"]);
    assert!(!denied.contains("command"), "something was refused:\n{denied}");
}

async fn looks_as_admin(server: &RedisServer) -> leaseq::WorkQueue {
    Client::connect(&server.url()).await.unwrap().queue("q").unwrap()
}

#[tokio::test]
async fn each_right_is_necessary_and_named_when_missing() {
    let server = RedisServer::start();
    // So that `wait` is necessary too.
    let grant = |user: &str, rules: &[&str]| grant(&server, user, rules) + "&replicas=1";
    for wanted in Role::ALL {
        let (user, rules) = role(wanted);
        for right in rules.iter().filter(|rule| rule.starts_with('+')) {
            let without: Vec<&str> = rules.iter().copied().filter(|rule| rule != right).collect();
            let url = grant(user, &without);
            match Client::connect(&url).await {
                Err(error) => assert!(error.to_string().contains(right), "{user} {right}: {error}"),
                Ok(client) => {
                    let missing = client.queue("q").unwrap().missing_rights(wanted).await.unwrap();
                    assert_eq!(missing, [*right], "{user}");
                }
            }
        }
        // Needed only on another database, or in a Cluster.
        let other = grant(user, &rules).replace("/?", "/1?");
        let missing = match Client::connect(&other).await {
            Err(error) => error.to_string(),
            Ok(client) => client.queue("q").unwrap().missing_rights(wanted).await.unwrap().concat(),
        };
        assert!(missing.contains("select"), "{missing}");
        // Keys outside of the namespace.
        let others: Vec<&str> = rules.iter().copied().filter(|rule| *rule != "~leaseq:*").collect();
        let url = grant(user, &[&others[..], &["~other:*"]].concat());
        let client = Client::connect(&url).await.unwrap();
        let missing = client.queue("q").unwrap().missing_rights(wanted).await.unwrap();
        assert!(missing.contains(&"~leaseq:*".to_owned()), "{user}: {missing:?}");
    }
}

#[tokio::test]
async fn a_script_with_missing_rights_does_not_begin() {
    let server = RedisServer::start();
    let admin = looks_as_admin(&server).await;
    admin.add_item(leaseq::Item::new("x").with_id("a")).await.unwrap();
    let (user, rules) = role(Role::Producer);
    let others = ["+eval", "+evalsha", "+hmget"];
    for right in ["+hset", "+zadd", "+lpush", "+hrandfield"].into_iter().chain(others) {
        let without: Vec<&str> = rules.iter().copied().filter(|rule| *rule != right).collect();
        let client = Client::connect(&grant(&server, user, &without)).await.unwrap();
        let queue = client.queue("q").unwrap();
        let error = queue.add_item(leaseq::Item::new("x").with_id("b")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(right), "{error}");
        assert!(admin.get("b").await.unwrap().is_none());
        sound(&admin).await;
        // Once the right is granted, the same client continues.
        grant(&server, user, &rules);
        assert!(queue.add_item(leaseq::Item::new("x").with_id(right)).await.unwrap());
    }
    assert_eq!(admin.counts().await.unwrap().ready, 8);
}

/// The queue becomes extended while the client uses it, whose user may run the plain scripts only.
#[tokio::test]
async fn a_right_that_only_extended_queues_need_is_named_before_it_is_needed() {
    let server = RedisServer::start();
    let admin = looks_as_admin(&server).await;
    let (user, rules) = role(Role::Producer);
    let without: Vec<&str> = rules.iter().copied().filter(|rule| *rule != "+zrem").collect();
    let client = Client::connect(&grant(&server, user, &without)).await.unwrap();
    let queue = client.queue("q").unwrap();
    assert!(queue.add_item(leaseq::Item::new("x").with_id("a")).await.unwrap());
    admin.add_item(leaseq::Item::new("x").with_id("b").retain(ms(60_000))).await.unwrap();
    for _ in 0..2 {
        let error = queue.add_item(leaseq::Item::new("x").with_id("c")).await.unwrap_err();
        assert_eq!((error.kind(), error.outcome_unknown()), (ErrorKind::Invalid, false), "{error}");
        assert!(error.to_string().contains("+zrem"), "{error}");
    }
    assert!(admin.get("c").await.unwrap().is_none());
    sound(&admin).await;
    grant(&server, user, &rules);
    assert!(queue.add_item(leaseq::Item::new("x").with_id("c")).await.unwrap());
}

#[tokio::test]
async fn a_right_that_is_taken_away_is_named_at_once() {
    let server = RedisServer::start();
    let (user, rules) = role(Role::Producer);
    let url = grant(&server, user, &rules).replace("timeout_ms=2000", "timeout_ms=20000");
    let queue = Client::connect(&url).await.unwrap().queue("q").unwrap();
    assert!(queue.add_item(leaseq::Item::new("x")).await.unwrap());
    server.cli(&["ACL", "SETUSER", user, "-evalsha"]);
    let begun = std::time::Instant::now();
    let error = queue.add_item(leaseq::Item::new("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(!error.outcome_unknown(), "{error}");
    assert!(error.to_string().contains("grant +evalsha"), "{error}");
    assert!(begun.elapsed() < ms(10_000), "{:?}", begun.elapsed());
    server.cli(&["ACL", "SETUSER", user, "+evalsha"]);
    assert!(queue.add_item(leaseq::Item::new("x")).await.unwrap());
}

#[tokio::test]
async fn the_right_to_wait_for_replicas_is_named_when_missing() {
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
    assert!(queue.add_item(leaseq::Item::new("data")).await.unwrap());
    pair.master.cli(&["ACL", "SETUSER", "few", "-wait"]);
    let begin = std::time::Instant::now();
    let error = queue.add_item(leaseq::Item::new("data")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("grant +wait"), "{error}");
    assert!(error.outcome_unknown(), "it was executed: {error}");
    // The next call does not even begin.
    let error = queue.add_item(leaseq::Item::new("data")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("grant +wait") && !error.outcome_unknown(), "{error}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    pair.master.cli(&["ACL", "SETUSER", "few", "+wait"]);
    assert!(queue.add_item(leaseq::Item::new("data")).await.unwrap());
}

#[tokio::test]
async fn a_user_that_may_not_listen_is_refused_or_warned_about() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let server = RedisServer::start();
    let admin = looks_as_admin(&server).await;
    let (user, rules) = role(Role::Producer);
    let without = |right: &str| -> Vec<&str> {
        rules.iter().copied().filter(|rule| *rule != right).collect()
    };
    let open = async |right: &str| {
        Client::connect(&grant(&server, user, &without(right))).await.unwrap().queue("q").unwrap()
    };
    assert!(admin.add_item(leaseq::Item::new("x").with_id("a")).await.unwrap());
    let options = leaseq::OutcomeOptions::new();
    let error = open("+xread").await.outcome("a", options.clone()).await.unwrap_err();
    assert!(error.to_string().contains("grant +xread"), "{error}");
    let queue = open("+client|id").await;
    let wait = tokio::spawn(async move { queue.outcome("a", options).await });
    let warned = async || log.text().contains("the user may not wait for notifications");
    assert!(eventually(SOON, warned).await, "{}", log.text());
    // It learns of the end when it asks: the answer brings the report.
    let lease = admin.lease(LeaseOptions::new(ms(60_000))).await.unwrap().unwrap();
    assert!(admin.complete(&lease).await.unwrap());
    let ended = tokio::time::timeout(SOON, wait).await.unwrap().unwrap().unwrap();
    assert_eq!(ended, Some(leaseq::Outcome::Completed { result: None, retained: false }));
    assert_eq!(log.text().matches("may not wait for notifications").count(), 1);
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
