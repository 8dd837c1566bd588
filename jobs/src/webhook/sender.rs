//! Sending webhooks.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use leaseq::{Error, Result};
use serde_json::Value;

use super::address::{Resolver, is_public};
use super::signature::signature;
use crate::{Context, JobError};

/// The longest pause that a receiver may ask for.
const MAX_PAUSE: Duration = Duration::from_secs(3600);

/// Sends [webhooks](crate::Webhook), signed with a secret that the receiver knows as well. The headers are those of
/// [Standard Webhooks](https://www.standardwebhooks.com): `webhook-id`, which stays the same when it is sent again,
/// `webhook-timestamp` and `webhook-signature`. Clones share connections.
#[derive(Clone)]
pub struct WebhookSender {
    secret: Arc<[u8]>,
    allow_private: bool,
    client: Client<HttpsConnector<HttpConnector<Resolver>>, Full<Bytes>>,
}

impl fmt::Debug for WebhookSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSender")
            .field("allow_private", &self.allow_private)
            .finish_non_exhaustive()
    }
}

impl WebhookSender {
    /// A sender with this secret, at least 16 bytes, to hosts of the public internet.
    ///
    /// # Errors
    /// `Invalid` for a shorter secret, or if the machine has no certificates of authorities.
    pub fn new(secret: impl AsRef<[u8]>) -> Result<Self> {
        WebhookSender::with(secret.as_ref(), false)
    }

    /// A sender that also connects to private addresses, such as those of this machine and its network.
    ///
    /// # Errors
    /// As for [`new`](WebhookSender::new).
    pub fn allow_private(secret: impl AsRef<[u8]>) -> Result<Self> {
        WebhookSender::with(secret.as_ref(), true)
    }

    fn with(secret: &[u8], allow_private: bool) -> Result<Self> {
        if secret.len() < 16 {
            let length = secret.len();
            return Err(Error::invalid(format_args!(
                "a secret of {length} bytes; the least is 16"
            )));
        }
        let mut connector = HttpConnector::new_with_resolver(Resolver { allow_private });
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|error| Error::invalid(format_args!("certificates: {error}")))?
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(WebhookSender { secret: secret.into(), allow_private, client })
    }

    /// Sends it once.
    pub(super) async fn send(
        &self,
        url: &str,
        body: &Value,
        job: &Context,
    ) -> Result<(), JobError> {
        let uri = self.check(url).map_err(JobError::bury)?;
        let body = serde_json::to_vec(body)?;
        let id = job.id().escape_ascii().to_string();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let request = Request::post(uri)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("leaseq/", env!("CARGO_PKG_VERSION")))
            .header("webhook-id", &id)
            .header("webhook-timestamp", since.as_secs())
            .header("webhook-signature", signature(&self.secret, &id, since.as_secs(), &body))
            .body(Full::new(Bytes::from(body)))?;
        tokio::select! {
            response = self.client.request(request) => {
                let response = response?;
                judge(response.status(), response.headers())
            }
            reason = job.cancelled() => Err(JobError::new("Stopped", reason.as_str())),
        }
    }

    /// The URL may have a secret in it, so no error shows more than its host.
    fn check(&self, url: &str) -> Result<Uri, String> {
        let uri: Uri = url.parse().map_err(|error| format!("the url cannot be read: {error}"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("the url is neither http nor https".into());
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err("the url names a user".into());
        }
        let host = uri.host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        if !self.allow_private && address.is_ok_and(|address| !is_public(address)) {
            return Err(format!("{host} is no public address"));
        }
        Ok(uri)
    }
}

/// What an answer means.
fn judge(status: StatusCode, headers: &HeaderMap) -> Result<(), JobError> {
    if status.is_success() {
        return Ok(());
    }
    let answer = format!("the answer is {}", status.as_u16());
    if status == StatusCode::GONE {
        return Err(JobError::bury(answer));
    }
    let pause = headers.get(RETRY_AFTER).and_then(|pause| pause.to_str().ok()?.parse().ok());
    match pause.map(Duration::from_secs) {
        Some(pause) => Err(JobError::retry_after(pause.min(MAX_PAUSE), answer)),
        None => Err(JobError::new("HttpStatus", answer)),
    }
}
