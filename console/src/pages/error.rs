//! What went wrong.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use leaseq_report::escaped;

use super::chrome::Chrome;
use crate::access::Identity;
use crate::app::App;
use crate::context::Context;
use crate::failure::Failure;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    chrome: Chrome,
    message: String,
    retry: bool,
}

/// The page of a failure. Those who have not signed in learn neither the server nor the queues.
/// `again`: the page can be loaded again by itself, because it changes nothing.
pub(crate) fn page(app: &App, who: Option<Identity>, failure: &Failure, again: bool) -> Response {
    let retry = failure.retry && again;
    let title = match failure.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::UNAUTHORIZED => "Sign in",
        StatusCode::BAD_REQUEST => "That does not work",
        StatusCode::CONFLICT => "Something has changed",
        StatusCode::SERVICE_UNAVAILABLE => "The server does not answer",
        _ => "Something went wrong",
    };
    let mut chrome = Chrome::new(app, who, "", title);
    if retry {
        chrome.refresh = Some(3);
    }
    let message = escaped(&failure.message).into_owned();
    let page = ErrorPage { chrome, message, retry };
    match page.render() {
        Ok(html) => (failure.status, Html(html)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

pub(crate) async fn missing(_: Context) -> Failure {
    Failure::missing("there is no such page")
}
