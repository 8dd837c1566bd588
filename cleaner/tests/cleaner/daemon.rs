//! Starting, stopping, reloading the configuration, and the log.

use leaseq_test_support::{RedisServer, eventually, eventually_blocking};
use rustix::process::Signal;

use crate::support::{Cleaner, Place, SOON, command, ended, item, lease, ms, run, secs};

#[test]
fn it_ends_when_told_to_and_says_so() {
    for place in Place::both() {
        for signal in [Signal::TERM, Signal::INT] {
            let mut cleaner = Cleaner::start(&place.url(), &[]);
            cleaner.wait_ready();
            cleaner.signal(signal);
            assert_eq!(cleaner.wait_end().code(), Some(0));
            cleaner.wait_for_log("cleaner stopped");
        }
    }
}

#[test]
fn it_ends_while_the_server_is_away() {
    let mut server = RedisServer::start();
    let mut cleaner = Cleaner::start(&server.url(), &[]);
    cleaner.wait_ready();
    server.kill();
    assert!(eventually_blocking(SOON, || !cleaner.is_ready()));
    assert_eq!(cleaner.stop().code(), Some(0));
    // Also before the first connection.
    let mut cleaner = Cleaner::start(&server.url(), &[]);
    assert_eq!((cleaner.get("/healthz").0, cleaner.get("/readyz").0), (200, 503));
    assert_eq!(cleaner.stop().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn new_queues_are_found_unless_some_were_named() {
    for place in Place::both() {
        let client = place.client().await;
        let all = Cleaner::start(&place.url(), &[]);
        let some = Cleaner::start(&place.url(), &["--queue", "named", "other"]);
        for name in ["late", "named"] {
            client.queue(name).unwrap().add_item(item("a")).await.unwrap();
        }
        all.wait_for_queues(&["late", "named"]);
        some.wait_for_queues(&["named", "other"]);
        assert!(some.json("/queues.json")["queues"]["late"].is_null());
        client.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_logged_for_each_clean_that_did_something() {
    let server = RedisServer::builder().password("hidden-secret").start();
    let client = leaseq::Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a").max_attempts(1)).await.unwrap();
    let cleaner =
        Cleaner::start(&server.url(), &["--light-interval", "50ms", "--log-level", "debug"]);
    cleaner.wait_for_queues(&["q"]);
    drop(lease(&queue, ms(20)).await);
    let line = cleaner.wait_for_log("light clean");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (&line["queue"], &line["expired"], &line["died"]),
        (&"q".into(), &1.into(), &1.into())
    );
    // The cleaner has polled many times.
    let looks = || server.cli(&["INFO", "commandstats"]);
    let before = looks();
    assert!(eventually(SOON, async || looks() != before).await);
    tokio::time::sleep(secs(1)).await;
    let cleans = cleaner.logs().iter().filter(|line| line.contains("clean\"")).count();
    assert_eq!(cleans, 1, "{:#?}", cleaner.logs());
    // A wrong password is not shown either.
    assert!(!cleaner.logs().iter().any(|line| line.contains("hidden-secret")));
    let wrong = server.url().replace("hidden-secret", "other-secret");
    let (status, out, log) = run(&["--url", &wrong, "--listen", "none"]);
    assert_eq!(status, 2, "{log}");
    assert!(log.contains("refused user or password") && !(out + &log).contains("other-secret"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_reads_the_file_again() {
    let places = Place::both();
    for place in &places {
        place.client().await.queue("here").unwrap().add_item(item("a")).await.unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cleaner.toml");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let listen = "listen = \"127.0.0.1:0\"\nlog_format = \"json\"\n";
    write(&format!("url = {:?}\n{listen}", places[0].url()));
    let mut cleaner = Cleaner::spawn(command(&["--config", file.to_str().unwrap()]));
    cleaner.wait_for_queues(&["here"]);
    // A wrong configuration changes nothing.
    write("url = 7\n");
    cleaner.signal(Signal::HUP);
    cleaner.wait_for_log("not reloaded");
    cleaner.wait_for_queues(&["here"]);
    // Another server with another queue.
    write(&format!("url = {:?}\nqueues = [\"there\"]\n{listen}", places[1].url()));
    cleaner.signal(Signal::HUP);
    cleaner.wait_for_log("configuration reloaded");
    cleaner.wait_for_queues(&["there"]);
    let queues = cleaner.json("/queues.json");
    assert!(queues["queues"]["here"].is_null(), "{queues}");
    assert_eq!(cleaner.stop().code(), Some(0));
}

#[test]
fn a_second_one_on_the_machine_goes_without_http_unless_an_address_was_named() {
    let server = RedisServer::start();
    let first = Cleaner::start(&server.url(), &[]);
    let taken = first.address().to_string();
    let (status, _, log) = run(&["--url", &server.url(), "--listen", &taken]);
    assert_eq!(status, 2);
    assert!(log.contains(&taken), "{log}");
    // Two cleaners on the default address: both run, whoever has it.
    let own = || {
        let mut command = command(&["--url", &server.url(), "--log-format", "json"]);
        command.env_remove("LEASEQ_CLEANER_LISTEN");
        Cleaner::spawn(command)
    };
    let (_one, two) = (own(), own());
    two.wait_for_log("\"listen\":\"none\"");
    let mut nowhere = command(&["--url", "sqlite:/nowhere/at/all.db", "--listen", "none"]);
    nowhere.env("LEASEQ_CLEANER_LOG_FORMAT", "json");
    assert_eq!(ended(nowhere).0, 2);
}

#[test]
fn systemd_is_told() {
    let server = RedisServer::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let told = || {
        let mut buffer = [0; 512];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let mut start =
        command(&["--url", &server.url(), "--listen", "127.0.0.1:0", "--log-format", "json"]);
    start.env("NOTIFY_SOCKET", &path);
    let mut cleaner = Cleaner::spawn(start);
    assert!(told().contains("READY=1"));
    cleaner.signal(Signal::HUP);
    let reloading = told();
    assert!(reloading.contains("RELOADING=1") && reloading.contains("MONOTONIC_USEC="));
    assert!(told().contains("READY=1"));
    assert_eq!(cleaner.stop().code(), Some(0));
    assert!(told().contains("STOPPING=1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn it_ends_whatever_hangs() {
    // A server that hangs during the start and during the work.
    let server = RedisServer::start();
    let mut works = Cleaner::start(&server.url(), &[]);
    works.wait_ready();
    server.pause();
    let mut starts = Cleaner::start(&server.url(), &[]);
    assert!(eventually_blocking(SOON, || !works.is_ready()));
    assert!(!starts.is_ready());
    assert_eq!((works.stop().code(), starts.stop().code()), (Some(0), Some(0)));
    // A process stopped in a write keeps the lock.
    let folder = tempfile::tempdir().unwrap();
    let place = Place::File(folder);
    let client = place.client().await;
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let mut works = Cleaner::start(&place.url(), &["--light-interval", "10ms"]);
    works.wait_for_queues(&["q"]);
    let held = lease(&queue, ms(50)).await;
    client.close().await;
    let Place::File(folder) = &place else { unreachable!() };
    let lock = std::fs::File::open(folder.path().join("queue.db-lock")).unwrap();
    lock.lock().unwrap();
    drop(held);
    let mut starts = Cleaner::start(&place.url(), &[]);
    // One cleaner has to write now; the other opens the file.
    tokio::time::sleep(ms(300)).await;
    assert_eq!(works.get("/healthz").0, 200);
    assert_eq!((works.stop().code(), starts.stop().code()), (Some(0), Some(0)));
}
