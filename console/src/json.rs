//! Answers for the scripts of pages.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::failure::Failure;

/// JSON with a tag. A browser that has it already gets only the head.
pub(crate) fn json(cx: &Context, value: &impl Serialize) -> Result<Response, Failure> {
    tagged(cx, &written(value)?)
}

/// The same for what costs questions: all viewers of a page share it, if the key says what is on the page.
pub(crate) async fn shared<T: Serialize>(
    cx: &Context,
    key: String,
    read: impl Future<Output = Result<T, Failure>>,
) -> Result<Response, Failure> {
    let ask = async { Ok(written(&read.await?)?.into()) };
    tagged(cx, &cx.app.caches.drawn.get(&key, ask).await?)
}

fn written(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map_err(|error| Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error))
}

fn tagged(cx: &Context, body: &str) -> Result<Response, Failure> {
    let hash = Sha256::digest(body);
    let tag: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let known = cx.known_tags.split(',').any(|known| known.trim().trim_start_matches("W/") == tag);
    let mut response = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => ([(header::CONTENT_TYPE, "application/json")], body.to_owned()).into_response(),
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    // It may be kept, and must be asked for each time.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("cookie, authorization"));
    Ok(response)
}
