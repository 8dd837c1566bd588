//! The checks of each request, in one place: the route table says what each route needs.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::access::{Access, Identity, Peer, origin};
use crate::app::App;
use crate::failure::Failure;
use crate::pages;
use crate::role::Role;

/// Refuses a request that lacks the role, or may come from elsewhere. `None`: everybody may send it.
pub(crate) async fn guard(
    State((app, needed)): State<(App, Option<Role>)>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let nobody = IpAddr::from([0, 0, 0, 0]);
    let peer = request.extensions().get::<Peer>();
    let from = peer.map_or(nobody, |Peer(peer)| peer.ip());
    let identity = identify(&app, from, request.headers()).await;
    let known = identity.is_some();
    let identity = identity.unwrap_or_else(|| Identity {
        name: String::new(),
        role: Role::View,
        from,
        session: false,
    });
    let refused = refusal(&app, needed, known, &identity, &request);
    let path = request.uri().path_and_query().map_or_else(String::new, ToString::to_string);
    let is_get = request.method() == Method::GET;
    let response = match refused {
        Some(failure) => failure.into_response(),
        None => {
            request.extensions_mut().insert(identity.clone());
            next.run(request).await
        }
    };
    let Some(failure) = response.extensions().get::<Failure>() else { return response };
    if failure.status == StatusCode::UNAUTHORIZED {
        return match &app.options.access {
            Access::Basic(_) => {
                let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"leaseq\", charset=\"UTF-8\"")];
                (StatusCode::UNAUTHORIZED, ask, "sign in to use the console\n").into_response()
            }
            Access::Link { .. } | Access::Tokens(_) if is_get => {
                pages::login::redirect(&app, &path)
            }
            _ => pages::error::page(&app, None, failure, is_get),
        };
    }
    pages::error::page(&app, known.then_some(identity), failure, is_get)
}

fn refusal(
    app: &App,
    needed: Option<Role>,
    known: bool,
    identity: &Identity,
    request: &Request<Body>,
) -> Option<Failure> {
    let headers = request.headers();
    let options = &app.options;
    if matches!(options.access, Access::NoLogin) && origin::is_forwarded(headers) {
        return Some(Failure::refused(
            "a proxy has forwarded this, and --no-login is only for this machine",
        ));
    }
    let only_local = matches!(options.access, Access::NoLogin | Access::Link { .. });
    // Where users have to sign in and no name is configured, any name is served: what a browser signs in with belongs to
    // the name for which it was given, so a page of another name that leads here (DNS rebinding) has none of it.
    match &options.public_url {
        None if only_local && !origin::is_local(headers) => {
            return Some(Failure::refused(
                "this host is not one of this machine: see --public-url",
            ));
        }
        Some(url) if !origin::is_of(headers, url) && !origin::is_local(headers) => {
            return Some(Failure::refused("this host is not the one of --public-url"));
        }
        _ => {}
    }
    if let Some(foreign) = csrf(app, request) {
        return Some(foreign);
    }
    let role = needed?;
    if !known {
        return Some(Failure::unknown());
    }
    (!identity.may(role)).then(|| {
        let own = identity.role;
        Failure::refused(format_args!("this needs the right to {role}, and yours is to {own}"))
    })
}

/// Changes come from pages of the console, or from programs that send their token themselves.
fn csrf(app: &App, request: &Request<Body>) -> Option<Failure> {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let by_token = matches!(app.options.access, Access::Tokens(_))
        && request.headers().contains_key(header::AUTHORIZATION);
    let own = || origin::is_own(request.headers(), app.options.public_url.as_ref());
    (!reads && !by_token && !own())
        .then(|| Failure::refused("this was not sent by a page of the console"))
}

async fn identify(app: &App, from: IpAddr, headers: &HeaderMap) -> Option<Identity> {
    let named = |(name, role)| Identity { name, role, from, session: false };
    let authorization = || headers.get(header::AUTHORIZATION)?.to_str().ok();
    match &app.options.access {
        Access::NoLogin => Some(named((String::new(), Role::View))),
        Access::Basic(users) => users.find(authorization()?).await.map(named),
        Access::Header(header) => header.find(from, headers).map(named),
        Access::Link { .. } => session(app, from, headers),
        Access::Tokens(tokens) => match authorization() {
            Some(value) => {
                let token = value.strip_prefix("Bearer ")?;
                tokens.find(token).map(|(name, role)| named((name.to_owned(), role)))
            }
            None => session(app, from, headers),
        },
    }
}

fn session(app: &App, from: IpAddr, headers: &HeaderMap) -> Option<Identity> {
    let (name, role) = app.sessions.find(headers)?;
    Some(Identity { name, role, from, session: true })
}
