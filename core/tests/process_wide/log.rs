//! No secret reaches a log, at any level, of this crate or of those that it uses.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{Client, Item, LeaseOptions};
use leaseq_test_support::{RedisServer, TlsServer, eventually};
use tracing_subscriber::filter::LevelFilter;

const RIGHT: &str = "correct-horse";
const WRONG: &str = "hunter2-hunter2";

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

async fn work(url: &str) {
    let client = Client::connect(url).await.unwrap();
    let queue = client.queue("q").unwrap();
    let options = LeaseOptions::new(Duration::from_secs(10));
    let waiting = {
        let (queue, options) = (queue.clone(), options.clone());
        tokio::spawn(async move { queue.lease(options).await })
    };
    assert!(queue.add_item(Item::new("data")).await.unwrap());
    let lease = waiting.await.unwrap().unwrap().unwrap();
    assert!(queue.complete(&lease).await.unwrap());
    let found = client.doctor().await.unwrap();
    assert!(!format!("{found:?} {client:?} {queue:?}").contains(RIGHT));
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_password_is_logged() {
    let log = Log::default();
    let writer = {
        let log = log.clone();
        move || log.clone()
    };
    tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_writer(writer).init();

    let mut server = RedisServer::builder().password(RIGHT).start();
    let tls = TlsServer::start_with(RedisServer::builder().password(RIGHT));
    let place = format!("127.0.0.1:{}", server.port());
    let ca_file = tls.ca_file().display().to_string();
    for url in [
        server.url(),
        format!("redis://{place}/1?password={RIGHT}"),
        format!("redis://default:{}@{place}", RIGHT.replace('-', "%2D")),
        format!("{}?ca_file={ca_file}", tls.url()),
    ] {
        work(&url).await;
    }
    let mut errors = String::new();
    for url in [
        format!("redis://:{WRONG}@{place}/"),
        format!("redis://{place}/?password={WRONG}"),
        format!("redis://{place}/?pasword={WRONG}"),
        format!("redis://u:{WRONG}/x@{place}/"),
        format!("redis://u:{WRONG}"),
        format!("u:{WRONG}@{place}"),
        format!("rediss://:{WRONG}@{place}/?connect_timeout_ms=200"),
        format!("redis+cluster://:{WRONG}@{place},{place}"),
        format!("redis+sentinel://:{WRONG}@{place}/main"),
    ] {
        let error = Client::connect(&url).await.unwrap_err();
        errors += &format!("{error} {error:?}\n");
    }
    // A password that is changed, and a server that goes away.
    let client = Client::connect(&format!("{}?timeout_ms=1000", server.url())).await.unwrap();
    let queue = client.queue("q").unwrap();
    let waiting = {
        let queue = queue.clone();
        tokio::spawn(async move { queue.lease(LeaseOptions::new(Duration::from_secs(10))).await })
    };
    let blocks = async || server.cli(&["CLIENT", "LIST"]).contains("cmd=blpop");
    assert!(eventually(Duration::from_secs(10), blocks).await);
    let mut admin = server.connection();
    let mut change = redis::pipe();
    change.cmd("CONFIG").arg(&["SET", "requirepass", "other"]).ignore();
    change.cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]).ignore();
    change.query::<()>(&mut admin).unwrap();
    errors += &format!("{}\n", queue.counts().await.unwrap_err());
    server.kill();
    errors += &format!("{}\n", queue.counts().await.unwrap_err());
    if let Err(error) = waiting.await.unwrap() {
        errors += &format!("{error}\n");
    }
    client.close().await;

    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(log.contains("leaseq"), "nothing was logged: {log}");
    for text in [&log, &errors] {
        for secret in [RIGHT, WRONG, &RIGHT.replace('-', "%2D")] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}
