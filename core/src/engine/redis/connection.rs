//! Opening one connection, and refusing servers that cannot keep the promises.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{
    AsyncConnectionConfig, ConnectionAddr, ErrorKind as RedisErrorKind, RedisConnectionInfo,
    RedisError, TlsCertificates, cmd,
};

use super::address::{Address, Node, Place};
use crate::options::ConnectOptions;
use crate::{Error, ErrorKind, Result};

/// Which server to open a connection to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Spot {
    /// The one server, or the master that the sentinels name.
    Main,
    /// A node of a cluster.
    Node(Node),
}

/// Why no connection could be opened.
#[derive(Debug)]
pub(super) enum OpenError {
    /// May be different in a moment.
    Passing(String),
    /// Will not change by itself.
    Lasting(Error),
}

/// Opens connections, all alike.
pub(super) struct Opener {
    address: Address,
    connect_timeout: Duration,
    certificates: Option<Vec<u8>>,
}

impl Opener {
    pub(super) fn new(address: Address, options: &ConnectOptions) -> Result<Self> {
        let certificates = match &options.ca_file {
            Some(path) => Some(std::fs::read(path).map_err(|error| {
                Error::invalid(format_args!("ca_file {} cannot be read: {error}", path.display()))
            })?),
            None => None,
        };
        if address.tls {
            // Without a process-wide provider the first TLS connection would panic. If the program
            // has set one already, that one is used.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        Ok(Opener { address, connect_timeout: options.connect_timeout, certificates })
    }

    /// Nodes to ask first, if the server is a cluster.
    pub(super) fn seeds(&self) -> Option<&[Node]> {
        match &self.address.place {
            Place::Cluster(seeds) => Some(seeds),
            _ => None,
        }
    }

    /// Whether connections choose a database other than the first.
    pub(super) fn selects(&self) -> bool {
        self.address.db != 0
    }

    /// Whether another server may take over.
    pub(super) fn fails_over(&self) -> bool {
        matches!(self.address.place, Place::Sentinel { .. } | Place::Cluster(_))
    }

    /// Whether it logs in without a password.
    pub(super) fn is_anonymous(&self) -> bool {
        self.address.password.is_none()
    }

    /// Whether a network is crossed without encryption.
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
    pub(super) fn describe(&self, spot: &Spot) -> String {
        match (spot, &self.address.place) {
            (Spot::Node((host, port)), _) | (Spot::Main, Place::Node((host, port))) => {
                format!("{host}:{port}")
            }
            (Spot::Main, Place::Unix(path)) => path.display().to_string(),
            (Spot::Main, Place::Sentinel { master, .. }) => format!("master {master}"),
            (Spot::Main, Place::Cluster(_)) => "cluster".into(),
        }
    }

    /// A connection to a server that was checked.
    pub(super) async fn open(&self, spot: &Spot) -> Result<MultiplexedConnection, OpenError> {
        let where_ = self.describe(spot);
        let mut connection = match (spot, &self.address.place) {
            (Spot::Node(node), _) => self.dial_node(node).await?,
            (Spot::Main, Place::Node(node)) => self.dial_node(node).await?,
            (Spot::Main, Place::Unix(path)) => {
                self.dial(ConnectionAddr::Unix(path.clone()), self.login()).await?
            }
            (Spot::Main, Place::Sentinel { sentinels, master }) => {
                let node = self.find_master(sentinels, master).await?;
                self.dial_node(&node).await?
            }
            (Spot::Main, Place::Cluster(seeds)) => match seeds.first() {
                Some(node) => self.dial_node(node).await?,
                None => return Err(OpenError::Passing("no node is known".into())),
            },
        };
        let info: String = match tokio::time::timeout(
            self.connect_timeout,
            cmd("INFO").query_async(&mut connection),
        )
        .await
        {
            Ok(Ok(info)) => info,
            Ok(Err(error)) if error.code() == Some("NOPERM") => {
                return Err(OpenError::Lasting(Error::new(
                    ErrorKind::Incompatible,
                    format_args!(
                        "{where_}: the user may not run INFO, so the server's version and \
                             maxmemory-policy cannot be checked; grant +info"
                    ),
                )));
            }
            Ok(Err(error)) => return Err(opening(&where_, &error)),
            Err(_) => return Err(OpenError::Passing(format!("{where_}: no answer to INFO"))),
        };
        check_server(&where_, &info, self.seeds().is_some())?;
        Ok(connection)
    }

    async fn dial_node(&self, node: &Node) -> Result<MultiplexedConnection, OpenError> {
        self.dial(self.tcp(node), self.login()).await
    }

    fn tcp(&self, (host, port): &Node) -> ConnectionAddr {
        if self.address.tls {
            ConnectionAddr::TcpTls {
                host: host.clone(),
                port: *port,
                insecure: false,
                tls_params: None,
            }
        } else {
            ConnectionAddr::Tcp(host.clone(), *port)
        }
    }

    fn login(&self) -> RedisConnectionInfo {
        let mut login = RedisConnectionInfo::default()
            .set_db(self.address.db)
            .set_lib_name("leaseq", env!("CARGO_PKG_VERSION"));
        if let Some(user) = &self.address.user {
            login = login.set_username(user);
        }
        if let Some(password) = &self.address.password {
            login = login.set_password(password);
        }
        login
    }

    async fn dial(
        &self,
        address: ConnectionAddr,
        login: RedisConnectionInfo,
    ) -> Result<MultiplexedConnection, OpenError> {
        let where_ = address.to_string();
        // A peer that vanishes without a word is noticed by the kernel, too.
        let keepalive = socket2::TcpKeepalive::new()
            .with_time(Duration::from_secs(15))
            .with_interval(Duration::from_secs(5));
        let tcp = TcpSettings::default()
            .set_nodelay(true)
            .set_keepalive(keepalive)
            .set_user_timeout(Duration::from_secs(10));
        let info = redis::IntoConnectionInfo::into_connection_info(address)
            .map_err(|error| opening(&where_, &error))?
            .set_redis_settings(login)
            .set_tcp_settings(tcp);
        let client = if self.address.tls {
            let certificates =
                TlsCertificates { client_tls: None, root_cert: self.certificates.clone() };
            redis::Client::build_with_tls(info, certificates)
        } else {
            redis::Client::open(info)
        }
        .map_err(|error| opening(&where_, &error))?;
        // Time limits on answers are set for each request, by `link.rs`.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_timeout))
            .set_response_timeout(None);
        let dialled = client.get_multiplexed_async_connection_with_config(&config);
        // The library's own limit does not cover every step of a TLS handshake and login.
        match tokio::time::timeout(self.connect_timeout * 2, dialled).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(opening(&where_, &error)),
            Err(_) => Err(OpenError::Passing(format!("{where_}: connecting takes too long"))),
        }
    }

    async fn find_master(&self, sentinels: &[Node], master: &str) -> Result<Node, OpenError> {
        let mut last = OpenError::Passing("no sentinel is known".into());
        for sentinel in sentinels {
            let mut connection =
                match self.dial(self.tcp(sentinel), RedisConnectionInfo::default()).await {
                    Ok(connection) => connection,
                    Err(error) => {
                        last = error;
                        continue;
                    }
                };
            let mut ask = cmd("SENTINEL");
            ask.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
            let answer = ask.query_async::<Option<(String, u16)>>(&mut connection);
            last = match tokio::time::timeout(self.connect_timeout, answer).await {
                Ok(Ok(Some(node))) => return Ok(node),
                Ok(Ok(None)) => OpenError::Passing(format!("no sentinel knows master {master:?}")),
                Ok(Err(error)) => opening(&self.tcp(sentinel).to_string(), &error),
                Err(_) => OpenError::Passing(format!("{}: no answer", self.tcp(sentinel))),
            };
        }
        Err(last)
    }
}

/// What an error while opening means.
fn opening(where_: &str, error: &RedisError) -> OpenError {
    let message = format!("{where_}: {error}");
    let wrong_login = matches!(error.kind(), RedisErrorKind::AuthenticationFailed)
        || matches!(error.code(), Some("WRONGPASS" | "NOAUTH"));
    if wrong_login {
        let message = format!("{where_}: the server refused user or password");
        OpenError::Lasting(Error::invalid(message))
    } else if matches!(error.kind(), RedisErrorKind::InvalidClientConfig) {
        OpenError::Lasting(Error::invalid(message))
    } else {
        OpenError::Passing(message)
    }
}

fn check_server(where_: &str, info: &str, cluster: bool) -> Result<(), OpenError> {
    let field = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let incompatible =
        |message: String| Err(OpenError::Lasting(Error::new(ErrorKind::Incompatible, message)));
    let (name, version, least) = match field("valkey_version") {
        Some(version) => ("Valkey", version, (7, 2)),
        None => ("Redis", field("redis_version").unwrap_or("0"), (7, 0)),
    };
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < least {
        return incompatible(format!(
            "{where_}: {name} {version} is too old: upgrade to Redis 7.0 or Valkey 7.2 or newer"
        ));
    }
    if let Some(policy) = field("maxmemory_policy").filter(|policy| *policy != "noeviction") {
        return incompatible(format!(
            "{where_}: with maxmemory-policy {policy} the server throws items away when its memory \
             is full: set maxmemory-policy to noeviction"
        ));
    }
    if !cluster && field("cluster_enabled") == Some("1") {
        return Err(OpenError::Lasting(Error::invalid(format!(
            "{where_}: the server is part of a cluster: connect with redis+cluster://"
        ))));
    }
    match field("role") {
        Some("master") | None => Ok(()),
        Some(role) if field("loading") == Some("1") => {
            Err(OpenError::Passing(format!("{where_}: a {role} that is loading its data")))
        }
        // In a cluster, a replica sends us on to its master.
        Some(_) if cluster => Ok(()),
        Some(role) => {
            Err(OpenError::Passing(format!("{where_}: the server is a {role}, not a master")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(info: &str) -> Option<Error> {
        match check_server("h:1", info, false) {
            Err(OpenError::Lasting(error)) => Some(error),
            _ => None,
        }
    }

    #[test]
    fn old_and_evicting_servers_are_refused_with_what_to_change() {
        let info = |version: &str, policy: &str| {
            format!("{version}\r\nmaxmemory_policy:{policy}\r\nrole:master\r\n")
        };
        for good in ["redis_version:7.0.0", "redis_version:8.2.1", "valkey_version:7.2.0"] {
            assert!(check_server("h:1", &info(good, "noeviction"), false).is_ok(), "{good}");
        }
        for old in ["redis_version:6.2.14", "redis_version:7.2.4\r\nvalkey_version:7.1.0"] {
            let error = refused(&info(old, "noeviction")).unwrap();
            assert_eq!(error.kind(), ErrorKind::Incompatible);
            assert!(error.to_string().contains("upgrade"), "{error}");
        }
        for policy in ["allkeys-lru", "volatile-ttl"] {
            let error = refused(&info("redis_version:7.0.0", policy)).unwrap();
            assert_eq!(error.kind(), ErrorKind::Incompatible);
            assert!(error.to_string().contains("set maxmemory-policy to noeviction"), "{error}");
        }
    }
}
