//! Hostile names, queues and errors: the other queues, the log and the responses stay intact.

use std::io::Write;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use leaseq::Client;
use leaseq_test_support::{RedisServer, eventually, eventually_blocking};
use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Cleaner, SOON, command, ended, get, is_reclaimed, item, run};

/// Names that no client allows.
const NAMES: [&[u8]; 9] = [
    b"",
    b"a b",
    b"{a}",
    b"not utf-8 \xff\xc0",
    b"bad\n2026-01-01T00:00:00Z ERROR forged",
    b"quote\"}\\",
    b"\x1b[2Jred",
    b"\xc2\x9b1mA\x7f",
    &[b'x'; 4_000],
];

/// Adds a name to the list of queues.
fn add_name(server: &RedisServer, name: &[u8]) {
    server.cli(&[b"HSET".as_slice(), b"leaseq:queues", name, b"1"]);
}

/// Every line is intact: it contains nothing that starts a line or controls a terminal.
fn are_plain(lines: &[String]) {
    for line in lines {
        assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        assert!(!line.starts_with("2026-01-01"), "{line:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stray_names_disable_nothing_and_forge_no_lines() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("good").unwrap();
    queue.add_item(item("a")).await.unwrap();
    NAMES.iter().for_each(|name| add_name(&server, name));
    let json = Cleaner::start(&server.url(), &["--log-level", "debug"]);
    // In text format, where nothing else escapes.
    let mut text = command(&["--url", &server.url(), "--listen", "none", "--log-level", "debug"]);
    text.env("LEASEQ_CLEANER_LOG_FORMAT", "text");
    let text = Cleaner::spawn(text);
    json.wait_for_queues(&["good"]);
    assert!(is_reclaimed(&queue).await);
    for path in ["/healthz", "/readyz", "/queues.json", "/metrics"] {
        let (status, body) = json.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        assert!(!body.contains(|c: char| c.is_control() && c != '\n'), "{path}: {body:?}");
    }
    let told = json.json("/queues.json");
    assert_eq!(told["queues"]["good"]["ready"], 1, "{told}");
    assert_eq!(told["queues"].as_object().unwrap().len(), 1, "{told}");
    let metrics = json.get("/metrics").1;
    assert!(
        metrics.contains("leaseq_up 1") && metrics.contains("leaseq_queue_up{queue=\"good\"} 1")
    );
    assert!(metrics.contains(&format!("leaseq_skipped_names {}", NAMES.len())), "{metrics}");
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit(' ').next().unwrap();
        assert!(line.starts_with("leaseq_") && value.parse::<f64>().is_ok(), "{line}");
    }
    are_plain(&json.logs());
    for line in json.logs() {
        serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{line}"));
    }
    drop(json);
    assert!(is_reclaimed(&queue).await);
    text.wait_for_log("good");
    are_plain(&text.logs());
    // --once cleans the queues that can be cleaned.
    for mode in ["--once", "--check"] {
        let (status, out, log) = run(&["--url", &server.url(), mode]);
        assert_eq!(status, 0, "{out}{log}");
        assert!(out.contains("queue good: "), "{out}{log}");
        are_plain(&out.lines().chain(log.lines()).map(str::to_owned).collect::<Vec<_>>());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_fails_has_a_state_of_its_own() {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    for name in ["good", "damaged", "newer"] {
        client.queue(name).unwrap().add_item(item("a")).await.unwrap();
    }
    server.cli(&["SET", "leaseq:{damaged}:delayed", "x"]);
    let format = server.cli(&["HGET", "leaseq:{newer}:meta", "format"]);
    server.cli(&["HSET", "leaseq:{newer}:meta", "format", "999"]);
    let cleaner = Cleaner::start(&server.url(), &[]);
    let metrics = |sample: &str| cleaner.get("/metrics").1.lines().any(|line| line == sample);
    for sample in ["{queue=\"good\"} 1", "{queue=\"damaged\"} 0", "{queue=\"newer\"} 0"] {
        let sample = format!("leaseq_queue_up{sample}");
        assert!(eventually_blocking(SOON, || metrics(&sample)), "{sample}: {:#?}", cleaner.logs());
    }
    assert!(is_reclaimed(&client.queue("good").unwrap()).await);
    let (status, ready) = cleaner.get("/readyz");
    assert!(status == 200 && ready.contains("queue newer fails: "), "{ready}");
    let (status, told) = cleaner.get("/queues.json");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!((status, &told["queues"]["good"]["ready"]), (200, &1.into()), "{told}");
    for name in ["damaged", "newer"] {
        assert!(told["failing"][name].is_string(), "{told}");
        assert!(told["failing"]["good"].is_null(), "{told}");
    }
    // The cleaner retries with pauses, and logs the failure once for light and deep cleans.
    let errors = || {
        let metrics = cleaner.get("/metrics").1;
        let line =
            metrics.lines().find_map(|line| line.strip_prefix("leaseq_cleaner_errors_total "));
        line.unwrap().parse::<u64>().unwrap()
    };
    let before = errors();
    assert!(eventually(SOON, async || errors() > before + 2).await);
    assert!(errors() < 100, "{}", errors());
    for name in ["damaged", "newer"] {
        let lines = cleaner
            .logs()
            .iter()
            .filter(|line| line.contains("\"ERROR\"") && line.contains(&format!("queue {name}")))
            .count();
        assert!((1..=2).contains(&lines), "{name}: {:#?}", cleaner.logs());
    }
    // It recovers as soon as the queue can be cleaned.
    server.cli(&["HSET", "leaseq:{newer}:meta", "format", &format]);
    server.cli(&["DEL", "leaseq:{damaged}:delayed"]);
    for name in ["damaged", "newer"] {
        cleaner.wait_for_log(&format!("queue {name}: recovered"));
    }
}

#[test]
fn names_that_cannot_be_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    std::fs::write(&file, "queues = [\"fine\", \"a\\nb\"]\n").unwrap();
    let mut by_variable = command(&["--url", "memory:"]);
    by_variable.env("LEASEQ_CLEANER_QUEUES", "fine,a/b");
    for command in [
        command(&["--url", "memory:", "--queue", "a b"]),
        command(&["--url", "memory:", "--queue", "fine", ""]),
        command(&["--url", "memory:", "--config", file.to_str().unwrap()]),
        by_variable,
    ] {
        let (status, out, log) = ended(command);
        assert!(status == 2 && log.contains("does not match [A-Za-z0-9._-]"), "{out}{log}");
        are_plain(&log.lines().map(str::to_owned).collect::<Vec<_>>());
    }
}

/// The maximum of connections, each with requests whose responses nobody reads.
#[test]
fn clients_that_read_no_answers_do_not_keep_the_port() {
    let cleaner = Cleaner::start("memory:", &[]);
    let requests = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20);
    let begun = Instant::now();
    let streams: Vec<TcpStream> =
        (0..64).map(|_| TcpStream::connect(cleaner.address()).unwrap()).collect();
    for mut stream in &streams {
        stream.set_nonblocking(true).unwrap();
        // Until the cleaner stops reading for a moment.
        for _ in 0..3_000 {
            if stream.write(&requests).is_err() {
                break;
            }
        }
    }
    let answers = || get(cleaner.address(), "/healthz").is_some_and(|(status, _)| status == 200);
    assert!(!answers(), "all connections are in use");
    assert!(eventually_blocking(Duration::from_secs(100), answers));
    assert!(begun.elapsed() < Duration::from_secs(120), "{:?}", begun.elapsed());
}

/// A cleaner with this standard error still cleans, and still exits.
async fn cleans_with_stderr(stderr: Stdio) {
    let server = RedisServer::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    let mut command: Command = command(&["--url", &server.url(), "--listen", "none"]);
    let child = command.stderr(stderr).stdout(Stdio::null()).spawn().unwrap();
    let mut cleaner = Cleaner::of(child);
    for _ in 0..20 {
        assert!(is_reclaimed(&queue).await);
    }
    cleaner.signal(Signal::TERM);
    assert_eq!(cleaner.wait_end().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_nobody_can_write_stops_no_cleaning() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    cleans_with_stderr(full.into()).await;
    // A full pipe that nobody reads.
    let (_reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b'\n'; 1 << 16]).unwrap();
    cleans_with_stderr(writer.into()).await;
    // A closed pipe.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    cleans_with_stderr(writer.into()).await;
}
