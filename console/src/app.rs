//! What all requests share.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leaseq::{Client, ConnectOptions};
use tokio::sync::Mutex;
use url::Url;

use crate::access::{Access, Sessions};
use crate::audit::Audit;
use crate::cache::Caches;
use crate::checks::Checks;
use crate::failure::Failure;
use crate::redact::Redaction;
use crate::tasks::Tasks;

/// How long a request waits for the server.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3);

/// After a failure to connect, how long nobody tries again.
const RETRY: Duration = Duration::from_secs(1);

/// How the console is served, and to whom.
#[derive(Debug)]
pub struct Options {
    /// The server: `redis://…`, `sqlite:…`. It is shown without its password.
    pub url: String,
    /// Who may use the console.
    pub access: Access,
    /// The path of the console, such as `/queues`. Empty: the root.
    pub base: String,
    /// The address that browsers use, if a proxy is between. `None`: what they ask for.
    pub public_url: Option<Url>,
    /// Parts of data, results and errors that nobody sees: JSON pointers.
    pub redact: Vec<String>,
    /// Where a line goes for each change. `None`: nowhere.
    pub audit: Option<Audit>,
}

impl Options {
    /// The console of this server at the root.
    pub fn new(url: impl Into<String>, access: Access) -> Options {
        let url = url.into();
        Options {
            url,
            access,
            base: String::new(),
            public_url: None,
            redact: Vec::new(),
            audit: None,
        }
    }
}

/// What all requests share. Clones are the same.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) options: Options,
    pub(crate) redaction: Arc<Redaction>,
    pub(crate) sessions: Sessions,
    pub(crate) caches: Arc<Caches>,
    pub(crate) tasks: Tasks,
    pub(crate) checks: Checks,
    /// The token of the link, until somebody has used it.
    pub(crate) link: std::sync::Mutex<Option<String>>,
    /// Locked while histories are read for whoever looks next.
    pub(crate) reading: Arc<Mutex<()>>,
    client: Mutex<Connection>,
}

#[derive(Default)]
struct Connection {
    client: Option<Client>,
    /// Why there is none, and since when: those who wait meanwhile do not each try it again.
    failed: Option<(Instant, Failure)>,
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// # Errors
    /// If the base path, or a pointer to redact, is none.
    pub(crate) fn new(options: Options) -> Result<App, String> {
        let base = &options.base;
        let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
        let is_path = base.starts_with('/') && !base.ends_with('/') && base.chars().all(plain);
        if !base.is_empty()
            && (!is_path || base.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")))
        {
            return Err(format!(
                "{base:?} is no base path: write /queues, with letters, digits and -_.~/"
            ));
        }
        let redaction = Redaction::new(&options.redact)?;
        let link = match &options.access {
            Access::Link { token, .. } => Some(token.clone()),
            _ => None,
        };
        Ok(App(Arc::new(Inner {
            redaction: Arc::new(redaction),
            options,
            sessions: Sessions::default(),
            caches: Arc::default(),
            tasks: Tasks::default(),
            checks: Checks::default(),
            link: std::sync::Mutex::new(link),
            reading: Arc::default(),
            client: Mutex::default(),
        })))
    }

    /// The client. The first call connects; after a failure, the next one tries again.
    pub(crate) async fn client(&self) -> Result<Client, Failure> {
        let mut connection = self.client.lock().await;
        if let Some(client) = &connection.client {
            return Ok(client.clone());
        }
        if let Some((at, failure)) = &connection.failed
            && at.elapsed() < RETRY
        {
            return Err(failure.clone());
        }
        let mut options = ConnectOptions::default();
        options.timeout = TIMEOUT;
        match Client::connect_with(&self.options.url, options).await {
            Ok(client) => Ok(connection.client.insert(client).clone()),
            Err(error) => {
                let failure = Failure::from(error);
                connection.failed = Some((Instant::now(), failure.clone()));
                Err(failure)
            }
        }
    }

    pub(crate) async fn close(&self) {
        self.tasks.stop_all();
        if let Some(client) = self.client.lock().await.client.take() {
            client.close().await;
        }
    }

    /// The address of a page, which begins with `/`.
    pub(crate) fn link_to(&self, path: &str) -> String {
        format!("{}{path}", self.options.base)
    }

    pub(crate) fn is_https(&self) -> bool {
        self.options.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }
}
