//! Opening one connection.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, cmd};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::address::Address;
use super::confirmation::Confirmation;
use super::connection::{Connection, Endpoint};
use super::dial::{self, Stream};
use super::greeting::greet;
use super::open_error::{OpenError, open_error};
use super::place::{Node, Place};
use super::reads_to_end::ReadsToEnd;
use crate::options::ConnectOptions;
use crate::{Result, redact};

/// A message names at most so many servers.
const NAMED: usize = 3;

/// Opens connections, all alike.
pub(super) struct Opener {
    address: Address,
    confirmation: Option<Confirmation>,
    connect_timeout: Duration,
    tls: Option<TlsConnector>,
}

impl Opener {
    pub(super) fn new(address: Address, options: &ConnectOptions) -> Result<Self> {
        let tls = if address.tls { Some(dial::tls(options)?) } else { None };
        let confirmation = Confirmation::of(options);
        Ok(Opener { address, confirmation, connect_timeout: options.connect_timeout, tls })
    }

    /// What the client's changes wait for.
    pub(super) fn confirmation(&self) -> Option<Confirmation> {
        self.confirmation
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    /// Nodes to ask first, if the server is a cluster.
    pub(super) fn seeds(&self) -> Option<&[Node]> {
        self.address.seeds()
    }

    /// Whether connections choose a database other than the first.
    pub(super) fn selects(&self) -> bool {
        self.address.db != 0
    }

    /// Whether another server may take over.
    pub(super) fn fails_over(&self) -> bool {
        matches!(self.address.place, Place::Sentinel { .. } | Place::Cluster(_))
    }

    /// Whether connections log in without a password.
    pub(super) fn is_anonymous(&self) -> bool {
        self.address.password.is_none()
    }

    /// Whether connections cross a network without encryption.
    pub(super) fn is_plain(&self) -> bool {
        let near = |(host, _): &Node| matches!(&**host, "localhost" | "127.0.0.1" | "::1");
        let far = match &self.address.place {
            Place::Node(node) => !near(node),
            Place::Unix(_) => false,
            Place::Sentinel { sentinels: nodes, .. } | Place::Cluster(nodes) => {
                !nodes.iter().all(near)
            }
        };
        far && !self.address.tls
    }

    /// Where the server is, for people; never with a password.
    pub(super) fn describe(&self, endpoint: &Endpoint) -> String {
        match (endpoint, &self.address.place) {
            (Endpoint::Node((host, port)), _) | (Endpoint::Main, Place::Node((host, port))) => {
                format!("{host}:{port}")
            }
            (Endpoint::Main, Place::Unix(path)) => redact::file_path(&path.to_string_lossy()),
            (Endpoint::Main, Place::Sentinel { master, .. }) => format!("master {master}"),
            (Endpoint::Main, Place::Cluster(_)) => "cluster".into(),
        }
    }

    /// The servers of the URL, for people: the first ones. Never with a password.
    pub(super) fn servers(&self) -> String {
        let (Place::Sentinel { sentinels: nodes, .. } | Place::Cluster(nodes)) =
            &self.address.place
        else {
            return self.describe(&Endpoint::Main);
        };
        let shown = nodes.iter().take(NAMED).map(|(host, port)| format!("{host}:{port}"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        match nodes.len().saturating_sub(NAMED) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    }

    /// Opens a connection, logs in and checks the server. Takes at most the connect time-out, and with
    /// Sentinel the same again for each sentinel that does not answer.
    pub(super) async fn open(&self, endpoint: &Endpoint) -> Result<Connection, OpenError> {
        let node = match (endpoint, &self.address.place) {
            (Endpoint::Node(node), _) | (Endpoint::Main, Place::Node(node)) => node.clone(),
            (Endpoint::Main, Place::Unix(path)) => {
                let dialled = async {
                    let connection = self.begin(dial::unix(path).await?, endpoint).await?;
                    let at = self.describe(endpoint);
                    greet(&self.address, self.confirmation, connection, &at).await
                };
                return self.in_time(dialled, endpoint).await;
            }
            (Endpoint::Main, Place::Sentinel { sentinels, master }) => {
                self.find_master(sentinels, master).await?
            }
            (Endpoint::Main, Place::Cluster(seeds)) => match seeds.first() {
                Some(node) => node.clone(),
                None => return Err(OpenError::Passing("no node is known".into())),
            },
        };
        let endpoint = Endpoint::Node(node.clone());
        let dialled = async {
            let connection = self.dial(&node).await?;
            greet(&self.address, self.confirmation, connection, &self.describe(&endpoint)).await
        };
        self.in_time(dialled, &endpoint).await
    }

    async fn in_time<T>(
        &self,
        opening: impl Future<Output = Result<T, OpenError>>,
        endpoint: &Endpoint,
    ) -> Result<T, OpenError> {
        timeout(self.connect_timeout, opening).await.unwrap_or_else(|_| {
            let hint = if self.tls.is_some() { "; does it speak TLS?" } else { "" };
            Err(OpenError::Passing(format!(
                "{}: no answer while connecting, for {:?}{hint}",
                self.describe(endpoint),
                self.connect_timeout
            )))
        })
    }

    /// Opens a connection without logging in.
    async fn dial(&self, node: &Node) -> Result<Connection, OpenError> {
        let endpoint = Endpoint::Node(node.clone());
        match &self.tls {
            Some(tls) => self.begin(dial::encrypted(tls, node).await?, &endpoint).await,
            None => self.begin(dial::tcp(node).await?, &endpoint).await,
        }
    }

    async fn begin(
        &self,
        stream: impl Stream + 'static,
        endpoint: &Endpoint,
    ) -> Result<Connection, OpenError> {
        // Nothing is sent yet. The connection manager limits the time of each request.
        let login = RedisConnectionInfo::default().set_skip_set_lib_name();
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let stream = ReadsToEnd::new(stream);
        let (requests, driver) = MultiplexedConnection::new_with_config(&login, stream, config)
            .await
            .map_err(|error| open_error(&self.describe(endpoint), &error))?;
        Ok(Connection::new(requests, driver))
    }

    async fn find_master(&self, sentinels: &[Node], master: &str) -> Result<Node, OpenError> {
        let mut last = OpenError::Passing("no sentinel is known".into());
        for sentinel in sentinels {
            let endpoint = Endpoint::Node(sentinel.clone());
            let asked = async {
                let mut connection = self.dial(sentinel).await?;
                let mut ask = cmd("SENTINEL");
                ask.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
                ask.query_async::<Option<(String, u16)>>(&mut *connection)
                    .await
                    .map_err(|error| open_error(&self.describe(&endpoint), &error))
            };
            last = match self.in_time(asked, &endpoint).await {
                Ok(Some(node)) => return Ok(node),
                Ok(None) => OpenError::Passing(format!("no sentinel knows master {master:?}")),
                Err(error) => error,
            };
        }
        Err(last)
    }
}
