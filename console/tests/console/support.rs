//! Consoles on real servers.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leaseq::{Client, FailOptions, Item, LeaseOptions, WorkQueue};
use leaseq_console::{Access, Audit, Console, Options, Role};
use leaseq_test_support::RedisServer;
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::http::{Answer, Request};

/// Tokens of one user for each role.
pub(crate) const TOKENS: [(Role, &str); 3] = [
    (Role::View, "view-token-of-many-letters"),
    (Role::Operate, "operate-token-of-many-letters"),
    (Role::Administer, "administer-token-of-many-letters"),
];

/// An engine.
pub(crate) struct Engine {
    pub(crate) url: String,
    pub(crate) server: Option<RedisServer>,
    _folder: TempDir,
}

impl Engine {
    pub(crate) fn redis() -> Engine {
        let server = RedisServer::start();
        let url = server.url();
        Engine { url, server: Some(server), _folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn sqlite() -> Engine {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("queue.db").display());
        Engine { url, server: None, _folder: folder }
    }

    /// One of each.
    pub(crate) fn all() -> [Engine; 2] {
        [Engine::redis(), Engine::sqlite()]
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.url).await.unwrap()
    }

    pub(crate) async fn queue(&self, name: &str) -> WorkQueue {
        self.client().await.queue(name).unwrap()
    }

    /// A console to which each token of [`TOKENS`] gives its role.
    pub(crate) async fn console(&self) -> Served {
        self.console_with(|_| ()).await
    }

    pub(crate) async fn console_with(&self, change: impl FnOnce(&mut Options)) -> Served {
        let lines = TOKENS.map(|(role, token)| format!("{role}-user {role} {token}"));
        let access = Access::Tokens(lines.join("\n").parse().unwrap());
        let lines = Lines::default();
        let mut options = Options::new(&self.url, access);
        options.audit = Some(Audit::new(lines.clone()));
        change(&mut options);
        let base = options.base.clone();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(leaseq_console::serve(Console::new(options).unwrap(), listener, stop.clone()));
        Served { address, base, audit: lines, _stop: stop.drop_guard() }
    }
}

/// A console that is served.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) base: String,
    pub(crate) audit: Lines,
    _stop: DropGuard,
}

impl Served {
    pub(crate) async fn send(&self, request: Request) -> Answer {
        request.send(self.address).await
    }

    /// With the token of this role.
    pub(crate) async fn send_as(&self, role: Role, request: Request) -> Answer {
        let (_, token) = TOKENS[role as usize];
        self.send(request.header("Authorization", &format!("Bearer {token}"))).await
    }

    /// A page, for somebody who may do everything.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send_as(Role::Administer, Request::get(&format!("{}{path}", self.base))).await
    }

    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Answer {
        self.send_as(Role::Administer, Request::post(&format!("{}{path}", self.base), form)).await
    }
}

/// The audit.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Lines {
    pub(crate) fn all(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Makes an item dead, with this error.
pub(crate) async fn bury(queue: &WorkQueue, id: &str, data: &str, error: &str) {
    queue.add_item(Item::new(data).with_id(id).priority(9)).await.unwrap();
    let options = LeaseOptions::new(Duration::from_secs(60)).wait(Duration::ZERO);
    let lease = queue.lease(options).await.unwrap().unwrap();
    assert_eq!(lease.id(), id.as_bytes());
    queue.fail_with(&lease, error, FailOptions::new().dead()).await.unwrap();
}
