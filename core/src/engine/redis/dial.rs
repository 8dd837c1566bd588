//! Streams to a server: TCP, TLS over TCP, Unix sockets.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::open_error::OpenError;
use super::place::Node;
use crate::options::ConnectOptions;
use crate::{Error, Result, redact};

/// Most bytes of a file with certificates. All certificates of a system take a few hundred KiB.
const MAX_CA_FILE: u64 = 16 << 20;

/// A stream to a server.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The TLS settings of the options. They name the cryptography library: a default for the whole process
/// belongs to the program, not to a library.
pub(super) fn tls(options: &ConnectOptions) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    match &options.ca_file {
        Some(path) => {
            let shown = redact::path(&path.to_string_lossy()).to_owned();
            let wrong = |what: &dyn std::fmt::Display| {
                Error::invalid(format_args!("ca_file {shown} cannot be read: {what}"))
            };
            let text = read_file(path).map_err(|error| wrong(&error))?;
            for certificate in CertificateDer::pem_slice_iter(&text) {
                let certificate = certificate.map_err(|error| wrong(&error))?;
                roots.add(certificate).map_err(|error| wrong(&error))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"there is no certificate in it"));
            }
        }
        // Certificates of the system that cannot be read are skipped.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal(format_args!("no tls: {error}")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Reads a regular file of limited size: a pipe or a device may never end.
fn read_file(path: &Path) -> std::io::Result<Vec<u8>> {
    let found = std::fs::metadata(path)?;
    if !found.is_file() {
        return Err(std::io::Error::other("it is not a file"));
    }
    if found.len() > MAX_CA_FILE {
        return Err(std::io::Error::other(format!("it is larger than {MAX_CA_FILE} bytes")));
    }
    std::fs::read(path)
}

/// A stream over TCP.
pub(super) async fn tcp((host, port): &Node) -> Result<TcpStream, OpenError> {
    let passing =
        |error: std::io::Error| OpenError::Passing(format!("{host}:{port}: {}", shown(&error)));
    // All addresses at once: one that does not answer must not use up the time.
    let mut tries = JoinSet::new();
    for address in lookup_host((host.as_str(), *port)).await.map_err(passing)? {
        tries.spawn(TcpStream::connect(address));
    }
    let mut last = std::io::Error::other("the host has no address");
    while let Some(tried) = tries.join_next().await {
        match tried {
            Ok(Ok(stream)) => return settings(&stream).map(|()| stream).map_err(passing),
            Ok(Err(error)) => last = error,
            Err(error) => last = error.into(),
        }
    }
    Err(passing(last))
}

/// Makes the kernel report a peer that disappears.
fn settings(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(15))
        .with_interval(Duration::from_secs(5));
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(Duration::from_secs(10)))?;
    Ok(())
}

/// A stream over TLS.
pub(super) async fn encrypted(
    tls: &TlsConnector,
    node: &Node,
) -> Result<tokio_rustls::client::TlsStream<TcpStream>, OpenError> {
    let stream = tcp(node).await?;
    let (host, port) = node;
    let name = ServerName::try_from(host.clone()).map_err(|_| {
        OpenError::Lasting(Error::invalid(format_args!(
            "{host}:{port}: no certificate can be for this host"
        )))
    })?;
    tls.connect(name, stream).await.map_err(|error| {
        let reason = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        let lasting = |what: &str| {
            OpenError::Lasting(Error::invalid(format_args!("{host}:{port}: {what}: {error}")))
        };
        match reason {
            Some(rustls::Error::InvalidCertificate(_)) => {
                lasting("the server's certificate is not trusted")
            }
            Some(rustls::Error::InvalidMessage(_)) => {
                lasting("the server does not speak TLS; without TLS the url begins with redis")
            }
            _ => OpenError::Passing(format!(
                "{host}:{port}: no TLS connection: {}; without TLS the url begins with redis",
                shown(&error)
            )),
        }
    })
}

/// A stream over a Unix socket.
pub(super) async fn unix(path: &Path) -> Result<UnixStream, OpenError> {
    UnixStream::connect(path).await.map_err(|error| {
        let shown = redact::file_path(&path.to_string_lossy());
        OpenError::Passing(format!("{shown}: {error}"))
    })
}

/// The error, shortened.
fn shown(error: &std::io::Error) -> String {
    error.to_string().chars().take(300).collect()
}
