//! The engine of a run, with the servers, proxies and disks that faults need.

use std::path::PathBuf;

use leaseq_test_support::{Cluster, Proxy, RedisServer, RedisServerBuilder, Sentinel, TlsServer};

use super::disk::Disk;
use crate::conformance::clock::Clock;
use crate::conformance::engines::VALKEY;
use crate::error::Error;

/// What a fault needs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Setup {
    /// Settings of the servers.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// Clients connect through a proxy.
    pub(super) proxy: bool,
    /// The clock can be set.
    pub(super) clock: bool,
    /// Data is on a small disk of this many MiB.
    pub(super) disk_mib: Option<u32>,
    /// Each master of a Cluster has a replica.
    pub(super) replicas: bool,
    /// Clients wait until a replica has their changes.
    pub(super) confirmed: bool,
}

/// Names of all engines, in the order of the table.
pub(super) const ENGINES: [&str; 7] =
    ["memory", "sqlite", "redis", "valkey", "tls", "cluster", "sentinel"];

/// Whether each process has a queue of its own on this engine.
pub(super) fn is_private(engine: &str) -> bool {
    engine == "memory"
}

pub(super) enum Servers {
    One(RedisServer),
    Tls(TlsServer),
    Cluster(Cluster),
    Sentinel(Sentinel),
    File(PathBuf),
    Memory,
}

// In the order in which they are dropped.
pub(super) struct Place {
    pub(super) proxy: Option<Proxy>,
    pub(super) servers: Servers,
    pub(super) clock: Option<Clock>,
    pub(super) disk: Option<Disk>,
    /// Clients wait until a replica has their changes.
    pub(super) confirmed: bool,
    _folder: tempfile::TempDir,
}

impl Place {
    /// Starts the servers; returns the reason if this machine cannot provide them.
    pub(super) fn start(engine: &str, setup: &Setup) -> Result<Result<Self, String>, Error> {
        let folder = tempfile::Builder::new().prefix("leaseq-faults-").tempdir()?;
        let clock = setup.clock.then(|| Clock::new(folder.path())).transpose()?;
        if let Some(clock) = &clock {
            clock.run_ahead(AHEAD_MS)?;
        }
        let disk = match setup.disk_mib.map(Disk::mount).transpose() {
            Ok(disk) => disk,
            Err(why) => return Ok(Err(why.to_string())),
        };
        let mut builder = RedisServer::builder().arg("--appendonly", "no");
        for (name, value) in clock.iter().flat_map(Clock::environment) {
            builder = builder.env(name, value);
        }
        for (name, value) in setup.settings {
            builder = builder.arg(*name, *value);
        }
        if let Some(disk) = &disk {
            builder = builder.arg("--dir", disk.folder().display().to_string());
        }
        let servers = match engine {
            "memory" => Servers::Memory,
            "sqlite" => {
                let folder = disk.as_ref().map_or(folder.path(), Disk::folder);
                Servers::File(folder.join("queue.db"))
            }
            "redis" => Servers::One(builder.start()),
            "valkey" => match std::env::var_os(VALKEY) {
                Some(binary) => Servers::One(builder.binary(binary).start()),
                None => return Ok(Err(format!("{VALKEY} names no server"))),
            },
            "tls" => Servers::Tls(TlsServer::start_with(builder)),
            "cluster" => Servers::Cluster(cluster(setup, builder)),
            "sentinel" => Servers::Sentinel(Sentinel::start_with(1, builder)),
            _ => return Err(format!("unknown engine {engine}: known are {ENGINES:?}").into()),
        };
        let proxy = match (&servers, setup.proxy) {
            (Servers::One(server), true) => Some(Proxy::start_blocking(server.port())),
            (Servers::Tls(server), true) => Some(Proxy::start_opaque(server.port())),
            (_, true) => return Err(format!("no proxy in front of {engine}").into()),
            _ => None,
        };
        let confirmed = setup.confirmed;
        Ok(Ok(Place { proxy, servers, clock, disk, confirmed, _folder: folder }))
    }

    /// The URL for clients, up to the options.
    pub(super) fn url(&self) -> String {
        let proxy = self.proxy.as_ref().map(Proxy::url);
        let url = match &self.servers {
            Servers::One(server) => format!("{}?", proxy.unwrap_or_else(|| server.url())),
            Servers::Tls(server) => {
                let url = proxy.map(|url| url.replacen("redis:", "rediss:", 1));
                let url = url.unwrap_or_else(|| server.url());
                format!("{url}?ca_file={}&", server.ca_file().display())
            }
            Servers::Cluster(cluster) => format!("{}?", cluster.url()),
            Servers::Sentinel(set) => format!("{}?", set.url()),
            Servers::File(path) => format!("sqlite:{}?", path.display()),
            Servers::Memory => "memory:?".into(),
        };
        if self.confirmed { url + "replicas=1&" } else { url }
    }

    /// The one server.
    pub(super) fn server(&mut self) -> Result<&mut RedisServer, Error> {
        match &mut self.servers {
            Servers::One(server) => Ok(server),
            Servers::Tls(server) => Ok(server.server_mut()),
            _ => Err("there is not one server".into()),
        }
    }

    pub(super) fn cluster(&mut self) -> Result<&mut Cluster, Error> {
        match &mut self.servers {
            Servers::Cluster(cluster) => Ok(cluster),
            _ => Err("there is no cluster".into()),
        }
    }

    /// Every server that clients may be redirected to.
    pub(super) fn all(&self) -> Vec<&RedisServer> {
        match &self.servers {
            Servers::One(server) => vec![server],
            Servers::Tls(server) => vec![server.server()],
            Servers::Cluster(cluster) => {
                cluster.ports().iter().map(|port| cluster.node(*port)).collect()
            }
            Servers::Sentinel(set) => set.ports().iter().map(|port| set.node(*port)).collect(),
            Servers::File(_) | Servers::Memory => Vec::new(),
        }
    }
}

/// The start of a settable clock, late enough that it can be set back.
pub(super) const AHEAD_MS: i64 = 86_400_000;

fn cluster(setup: &Setup, builder: RedisServerBuilder) -> Cluster {
    if setup.replicas {
        Cluster::start_with_replicas(builder)
    } else {
        Cluster::start_with(builder)
    }
}
