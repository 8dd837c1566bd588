//! What a handler gets: who asks, what for, and the way to the queues.

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use bytes::Bytes;
use leaseq::WorkQueue;

use crate::access::Identity;
use crate::app::{App, TIMEOUT};
use crate::failure::Failure;
use crate::fields::Fields;
use crate::links;

/// The largest form, in bytes: data of an item that is edited, as it is encoded.
const MAX_FORM: usize = 8 << 20;
/// The content type of forms.
const FORM: &str = "application/x-www-form-urlencoded";

/// A request that the guard has let through.
pub(crate) struct Context {
    pub(crate) app: App,
    pub(crate) who: Identity,
    pub(crate) query: Fields,
    pub(crate) form: Fields,
    /// The tags of what the browser has already.
    pub(crate) known_tags: String,
    params: Vec<(String, String)>,
}

impl FromRequest<App> for Context {
    type Rejection = Failure;

    async fn from_request(request: Request<Body>, app: &App) -> Result<Context, Failure> {
        let (mut parts, body) = request.into_parts();
        let params = RawPathParams::from_request_parts(&mut parts, app).await;
        let params = params.map_err(|_| Failure::missing("there is no such page"))?;
        let params = params.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let who = parts.extensions.get::<Identity>().cloned().ok_or_else(Failure::unknown)?;
        let form = read_body(body, MAX_FORM).await?;
        // Its fields would be missing, and "for an hour" would be for ever.
        if !form.is_empty() {
            check_form(&parts.headers)?;
        }
        Ok(Context {
            app: app.clone(),
            who,
            query: Fields::read(parts.uri.query().unwrap_or_default().as_bytes())?,
            form: Fields::read(&form)?,
            known_tags: known_tags(&parts.headers),
            params: params.collect(),
        })
    }
}

/// All of a body, in bounded time.
pub(crate) async fn read_body(body: Body, most: usize) -> Result<Bytes, Failure> {
    // Nobody waits for what it announces.
    if body.size_hint().lower() <= most as u64 {
        let reading = axum::body::to_bytes(body, most);
        if let Ok(Ok(bytes)) = tokio::time::timeout(10 * TIMEOUT, reading).await {
            return Ok(bytes);
        }
    }
    let status = StatusCode::PAYLOAD_TOO_LARGE;
    Err(Failure::new(status, "the form is too large, or too slow"))
}

fn check_form(headers: &HeaderMap) -> Result<(), Failure> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(FORM) {
        return Ok(());
    }
    let kind: String = kind.chars().take(100).collect();
    let text = format_args!("this is no form: its content type is {kind:?}, not {FORM}");
    Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
}

fn known_tags(headers: &HeaderMap) -> String {
    let tags = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    tags.unwrap_or_default().to_owned()
}

impl Context {
    /// A part of the path; empty if the route has none of this name.
    pub(crate) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The queue of the path, which must exist: a mistyped name would look like an empty queue.
    pub(crate) async fn queue(&self) -> Result<WorkQueue, Failure> {
        let name = links::queue_of(self.param("queue"));
        let queue = self.app.client().await?.queue(name)?;
        // A name that is not among those of a moment ago may be new.
        let is_known = self.knows(name).await? || {
            self.app.caches.names.forget(&());
            self.knows(name).await?
        };
        match is_known {
            true => Ok(queue),
            false => Err(Failure::missing(format_args!("there is no queue {name}"))),
        }
    }

    async fn knows(&self, name: &str) -> Result<bool, Failure> {
        match self.app.names().await {
            Ok(names) => Ok(names.binary_search_by(|known| known.as_str().cmp(name)).is_ok()),
            Err(failure) if failure.retry => Err(failure),
            // Who may not list the queues may look at one.
            Err(_) => Ok(true),
        }
    }

    /// A page.
    pub(crate) fn html(&self, page: &impl askama::Template) -> Result<Response, Failure> {
        Ok(Html(page.render()?).into_response())
    }

    /// Another page, after a change.
    pub(crate) fn to(&self, path: &str) -> Response {
        Redirect::to(&self.app.link_to(path)).into_response()
    }

    /// Notes a change. What pages show is old now.
    pub(crate) fn audit(&self, action: &str, queue: &str, mut what: serde_json::Value) {
        self.app.caches.counts.forget(&queue.to_owned());
        self.app.caches.drawn.clear();
        if let Some(audit) = &self.app.options.audit {
            what["queue"] = queue.into();
            audit.write(&self.who, action, what);
        }
    }
}
