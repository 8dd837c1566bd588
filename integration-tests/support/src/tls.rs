//! A TLS server with a certificate authority of its own.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use crate::{RedisServer, RedisServerBuilder, port};

/// A [`RedisServer`] with a TLS port besides its plain one.
///
/// Its certificate is for 127.0.0.1 and localhost, from an authority that no system trusts, so clients
/// need [`ca_file`](Self::ca_file).
#[derive(Debug)]
pub struct TlsServer {
    server: RedisServer,
    files: TempDir,
}

impl TlsServer {
    /// A server with default settings, ready to answer.
    pub fn start() -> Self {
        Self::start_with(RedisServer::builder())
    }

    /// A server with these settings.
    pub fn start_with(builder: RedisServerBuilder) -> Self {
        let files = tempfile::Builder::new().prefix("leaseq-tls-").tempdir();
        let files = files.expect("a temporary directory can be made");
        write_certificates(files.path()).expect("certificates can be made");
        Self { server: builder.tls(files.path().to_owned()).start(), files }
    }

    /// `rediss://127.0.0.1:PORT/`.
    pub fn url(&self) -> String {
        self.server.url().replacen("redis:", "rediss:", 1).replacen(
            &format!(":{}/", self.server.port()),
            &format!(":{}/", self.port()),
            1,
        )
    }

    /// The TLS port.
    pub fn port(&self) -> u16 {
        self.server.port() + port::SECOND
    }

    /// The authority's certificate, PEM.
    pub fn ca_file(&self) -> PathBuf {
        self.files.path().join("ca.crt")
    }

    /// The server process, reachable without TLS.
    pub fn server(&self) -> &RedisServer {
        &self.server
    }

    /// The same, to kill or restart it.
    pub fn server_mut(&mut self) -> &mut RedisServer {
        &mut self.server
    }
}

/// Writes `ca.crt`, `redis.crt` and `redis.key`.
fn write_certificates(files: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "leaseq test authority");
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

    let key = KeyPair::generate()?;
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;

    std::fs::write(files.join("ca.crt"), authority.pem())?;
    std::fs::write(files.join("redis.crt"), certificate.pem())?;
    std::fs::write(files.join("redis.key"), key.serialize_pem())?;
    Ok(())
}
