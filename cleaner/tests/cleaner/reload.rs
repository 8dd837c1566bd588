//! SIGHUP: a wrong configuration changes nothing.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use leaseq::{Client, WorkQueue};
use leaseq_test_support::{Port, RedisServer, eventually_blocking};
use rustix::process::Signal;

use crate::support::{Cleaner, SOON, command, get, is_reclaimed, item};

const SECRET: &str = "hidden-secret";

/// A cleaner with a configuration file that the test changes.
struct Stage {
    _folder: tempfile::TempDir,
    file: PathBuf,
    server: RedisServer,
    queue: WorkQueue,
}

impl Stage {
    async fn new() -> Stage {
        let server = RedisServer::builder().password(SECRET).start();
        let queue = queue_of(&server).await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cleaner.toml");
        Stage { _folder: folder, file, server, queue }
    }

    fn write(&self, text: &str) {
        // Replaced atomically, as a careful operator does.
        let new = self.file.with_extension("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, &self.file).unwrap();
    }

    fn good(&self) -> String {
        config(&self.server.url())
    }

    fn start(&self) -> Cleaner {
        Cleaner::spawn(command(&["--config", self.file.to_str().unwrap()]))
    }
}

async fn queue_of(server: &RedisServer) -> WorkQueue {
    let client = Client::connect(&server.url()).await.unwrap();
    let queue = client.queue("q").unwrap();
    queue.add_item(item("a")).await.unwrap();
    queue
}

fn config(url: &str) -> String {
    format!("url = {url:?}\nlisten = \"127.0.0.1:0\"\nlog_format = \"json\"\n")
}

/// Sends SIGHUP, and waits for one more log line with this text.
fn hang_up(cleaner: &Cleaner, text: &str) -> String {
    let before = cleaner.logged(text);
    cleaner.signal(Signal::HUP);
    let done = eventually_blocking(SOON, || cleaner.logged(text) > before);
    assert!(done, "no {text:?}: {:#?}", cleaner.logs());
    cleaner.logs().into_iter().rfind(|line| line.contains(text)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_mistake_ends_a_working_cleaner() {
    let stage = Stage::new().await;
    stage.write(&stage.good());
    let mut cleaner = stage.start();
    cleaner.wait_for_queues(&["q"]);
    let address = cleaner.address();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let hangs = RedisServer::start();
    hangs.pause();
    let good = stage.good();
    let port = stage.server.port();
    let url = |url: &str| config(url);
    let mistakes = [
        ("url = ".to_owned(), "line 1"),
        (format!("{good}colour = 1\n"), "unknown field"),
        (format!("{good}light_interval = \"soon\"\n"), "no duration"),
        (format!("{good}deep_interval = \"1000d\"\n"), "is not between"),
        (format!("{good}queues = [\"a b\"]\n"), "does not match"),
        (format!("{good}queues = \"redis://:{SECRET}@h\"\n"), "expected a sequence"),
        (url(&format!("redis://:other-{SECRET}@127.0.0.1:{port}/")), "refused"),
        (url(&format!("redis://127.0.0.1:{port}/?password=other-{SECRET}")), "refused"),
        (url(&format!("http://:{SECRET}@127.0.0.1/")), "unknown url scheme"),
        (url(&format!("redis://:{SECRET}@no-such-host.invalid/?timeout_ms=500")), "no-such-host"),
        (url(&format!("redis://:{SECRET}@127.0.0.1:1/?timeout_ms=500")), "127.0.0.1:1"),
        (url(&format!("{}?timeout_ms=500", hangs.url())), "not reloaded"),
        (url("rediss://127.0.0.1:1/?ca_file=/not/there.pem"), "/not/there.pem"),
        (url("sqlite:/not/there/at/all.db"), "/not/there/at/all.db"),
        (good.replace("127.0.0.1:0", &taken.local_addr().unwrap().to_string()), "in use"),
        (good.replace("127.0.0.1:0", "192.0.2.1:9470"), "192.0.2.1:9470"),
    ];
    let is_as_before = async |why: &str| {
        assert_eq!(get(address, "/healthz").map(|(status, _)| status), Some(200), "{why}");
        assert!(is_reclaimed(&stage.queue).await, "{why}: {:#?}", cleaner.logs());
    };
    for (text, why) in mistakes {
        stage.write(&text);
        let line = hang_up(&cleaner, "not reloaded");
        assert!(line.contains(why) && line.contains("\"ERROR\""), "{why}: {line}");
        is_as_before(why).await;
    }
    // No file, then a folder and an endless file in its place.
    std::fs::remove_file(&stage.file).unwrap();
    assert!(hang_up(&cleaner, "not reloaded").contains("cleaner.toml"));
    std::fs::create_dir(&stage.file).unwrap();
    assert!(hang_up(&cleaner, "not reloaded").contains("cleaner.toml"));
    std::fs::remove_dir(&stage.file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &stage.file).unwrap();
    assert!(hang_up(&cleaner, "not reloaded").contains("longer"));
    is_as_before("no file").await;
    // A correct configuration is then accepted.
    stage.write(&format!("{good}queues = [\"q\", \"new\"]\n"));
    hang_up(&cleaner, "configuration reloaded");
    cleaner.wait_for_queues(&["q", "new"]);
    assert_eq!(cleaner.address(), address, "it gave up an address that it was to keep");
    is_as_before("right").await;
    assert!(!cleaner.logs().iter().any(|line| line.contains(SECRET)), "{:#?}", cleaner.logs());
    assert_eq!(cleaner.stop().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_address_is_taken_before_the_old_one_is_left() {
    let stage = Stage::new().await;
    stage.write(&stage.good());
    let cleaner = stage.start();
    cleaner.wait_for_queues(&["q"]);
    let old = cleaner.address();
    let port = Port::reserve();
    let free = SocketAddr::from(([127, 0, 0, 1], port.number()));
    stage.write(&stage.good().replace("127.0.0.1:0", &free.to_string()));
    hang_up(&cleaner, "configuration reloaded");
    assert_eq!(cleaner.address(), free);
    cleaner.wait_for_queues(&["q"]);
    assert!(eventually_blocking(SOON, || get(old, "/healthz").is_none()));
    stage.write(&stage.good().replace("127.0.0.1:0", "none"));
    hang_up(&cleaner, "configuration reloaded");
    assert!(eventually_blocking(SOON, || get(free, "/healthz").is_none()));
    assert!(is_reclaimed(&stage.queue).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_host_on_the_same_port_is_taken_and_a_mistake_there_gives_the_old_one_back() {
    let stage = Stage::new().await;
    let port = Port::reserve();
    let free = SocketAddr::from(([127, 0, 0, 1], port.number()));
    let at = |host: &str| {
        let port = free.port();
        stage.write(&stage.good().replace("127.0.0.1:0", &format!("{host}:{port}")));
    };
    at("127.0.0.1");
    let mut cleaner = stage.start();
    cleaner.wait_for_queues(&["q"]);
    // A slow client must not delay the change.
    let mut slow = std::net::TcpStream::connect(free).unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
    let elsewhere = std::net::TcpListener::bind(("127.0.0.2", free.port())).unwrap();
    for (host, why) in [("0.0.0.0", "in use"), ("192.0.2.1", "192.0.2.1")] {
        at(host);
        let line = hang_up(&cleaner, "not reloaded");
        assert!(line.contains(why), "{line}");
        assert_eq!(cleaner.get("/healthz").0, 200, "{:#?}", cleaner.logs());
        cleaner.wait_for_queues(&["q"]);
    }
    drop(elsewhere);
    for host in ["0.0.0.0", "127.0.0.1"] {
        at(host);
        hang_up(&cleaner, "configuration reloaded");
        assert_eq!(cleaner.address().to_string(), format!("{host}:{}", free.port()));
        assert_eq!(get(free, "/healthz").map(|(status, _)| status), Some(200));
        cleaner.wait_for_queues(&["q"]);
        assert!(is_reclaimed(&stage.queue).await);
    }
    assert_eq!(cleaner.stop().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_end_with_the_last_file() {
    let stage = Stage::new().await;
    stage.write(&stage.good());
    let mut cleaner = stage.start();
    cleaner.wait_for_queues(&["q"]);
    for i in 0..50 {
        let bad = if i % 3 == 0 { "colour = 1\n" } else { "" };
        stage.write(&format!("{}queues = [\"q\", \"n{i}\"]\n{bad}", stage.good()));
        cleaner.signal(Signal::HUP);
    }
    cleaner.wait_for_queues(&["q", "n49"]);
    assert!(is_reclaimed(&stage.queue).await);
    assert_eq!(cleaner.stop().code(), Some(0));
}

/// A file that never ends.
fn make_endless(path: &Path) {
    let _ = std::fs::remove_file(path);
    let status = std::process::Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_that_hangs_holds_up_nothing() {
    let stage = Stage::new().await;
    stage.write(&stage.good());
    let mut cleaner = stage.start();
    cleaner.wait_for_queues(&["q"]);
    let hangs = RedisServer::start();
    hangs.pause();
    let hanging = config(&format!("{}?timeout_ms=60000", hangs.url()));
    // It stops neither the cleaning nor the next reload.
    for endless in [true, false] {
        if endless {
            make_endless(&stage.file);
        } else {
            stage.write(&hanging);
        }
        let before = cleaner.logged("configuration");
        cleaner.signal(Signal::HUP);
        assert!(is_reclaimed(&stage.queue).await);
        assert_eq!(cleaner.logged("configuration"), before, "{:#?}", cleaner.logs());
        let name = if endless { "one" } else { "two" };
        stage.write(&format!("{}queues = [\"q\", {name:?}]\n", stage.good()));
        hang_up(&cleaner, "configuration reloaded");
        cleaner.wait_for_queues(&["q", name]);
    }
    // Nor the exit.
    stage.write(&hanging);
    cleaner.signal(Signal::HUP);
    make_endless(&stage.file);
    cleaner.signal(Signal::HUP);
    assert_eq!(cleaner.stop().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cleaner_that_has_not_connected_yet_can_be_given_another_file() {
    let stage = Stage::new().await;
    let mut away = RedisServer::start();
    away.kill();
    stage.write(&config(&away.url()));
    let mut cleaner = stage.start();
    stage.write("colour = 1\n");
    hang_up(&cleaner, "not reloaded");
    assert_eq!((cleaner.get("/healthz").0, cleaner.get("/readyz").0), (200, 503));
    stage.write(&stage.good());
    hang_up(&cleaner, "configuration reloaded");
    cleaner.wait_for_queues(&["q"]);
    assert!(is_reclaimed(&stage.queue).await);
    assert_eq!(cleaner.stop().code(), Some(0));
}
