//! Signing in and out.

use std::sync::PoisonError;
use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use tokio::sync::Semaphore;

use super::chrome::Chrome;
use crate::access::{Access, set_cookie};
use crate::app::App;
use crate::context::read_body;
use crate::failure::Failure;
use crate::fields::Fields;
use crate::links;
use crate::role::Role;

/// How long each wrong token takes, one after the other.
const PENALTY: Duration = Duration::from_millis(300);
static PENALTIES: Semaphore = Semaphore::const_new(4);
/// The longest form, in bytes.
const MAX_FORM: usize = 4 << 10;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    chrome: Chrome,
    /// The token of the link, which the button sends: opening a link changes nothing, so a program that only looks at it
    /// does not use it up.
    token: String,
    next: String,
    wrong: bool,
    by_link: bool,
}

/// To the page for signing in, and from there to this address.
pub(crate) fn redirect(app: &App, next: &str) -> Response {
    let path = format!("/login?next={}", links::value(next));
    Redirect::to(&app.link_to(&path)).into_response()
}

pub(crate) async fn page(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Failure> {
    let query = Fields::read(request.uri().query().unwrap_or_default().as_bytes())?;
    Ok(shown(&app, &query, StatusCode::OK))
}

fn shown(app: &App, fields: &Fields, status: StatusCode) -> Response {
    let page = LoginPage {
        chrome: Chrome::new(app, None, "", "Sign in"),
        token: fields.get("token").unwrap_or_default().into(),
        next: fields.get("next").unwrap_or_default().into(),
        wrong: status != StatusCode::OK,
        by_link: matches!(app.options.access, Access::Link { .. }),
    };
    match page.render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(error) => Failure::from(error).into_response(),
    }
}

pub(crate) async fn login(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Failure> {
    let mut form = Fields::read(&read_body(request.into_body(), MAX_FORM).await?)?;
    let Some((name, role)) = check(&app, form.get("token").unwrap_or_default()) else {
        if let Ok(_permit) = PENALTIES.acquire().await {
            tokio::time::sleep(PENALTY).await;
        }
        form = Fields::read(
            format!("next={}", links::value(form.get("next").unwrap_or_default())).as_bytes(),
        )?;
        return Ok(shown(&app, &form, StatusCode::FORBIDDEN));
    };
    let secret = app.sessions.begin(&name, role);
    let cookie = set_cookie(&secret, &app.options.base, app.is_https());
    let next = form.get("next").filter(|next| is_own_path(&app, next));
    let next = next.map_or_else(|| app.link_to("/"), ToOwned::to_owned);
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to(&next)).into_response())
}

/// Who has this token. That of the link works once.
fn check(app: &App, token: &str) -> Option<(String, Role)> {
    match &app.options.access {
        Access::Tokens(tokens) => tokens.find(token).map(|(name, role)| (name.to_owned(), role)),
        Access::Link { role, .. } => {
            let mut link = app.link.lock().unwrap_or_else(PoisonError::into_inner);
            let is = |known: &str| {
                let equal = subtle::ConstantTimeEq::ct_eq(known.as_bytes(), token.as_bytes());
                bool::from(equal)
            };
            link.take_if(|known| is(known)).map(|_| ("link".to_owned(), *role))
        }
        _ => None,
    }
}

/// A page of the console, not one of another site.
fn is_own_path(app: &App, next: &str) -> bool {
    let base = format!("{}/", app.options.base);
    next.starts_with(&base)
        && !next.starts_with("//")
        && !next.contains('\\')
        && next.chars().all(|c| c.is_ascii_graphic())
}

pub(crate) async fn logout(State(app): State<App>, request: Request<Body>) -> Response {
    app.sessions.end(request.headers());
    let cookie = set_cookie("", &app.options.base, app.is_https());
    ([(header::SET_COOKIE, cookie)], Redirect::to(&app.link_to("/"))).into_response()
}
