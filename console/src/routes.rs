//! The routes, each with the role that it needs. There is no other list: the router is made from this one, and every
//! check of roles happens in the guard.

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, get, post};

use crate::app::App;
use crate::guard::guard;
use crate::role::Role;
use crate::{actions, assets, headers, pages};

/// A route of the console.
#[derive(Clone, Copy)]
pub struct Route {
    /// `GET` or `POST`. `GET` changes nothing.
    pub method: &'static str,
    /// The path below the base path, as axum writes it.
    pub path: &'static str,
    /// `None`: for everybody.
    pub role: Option<Role>,
    handler: fn() -> MethodRouter<App>,
}

const fn reads(
    path: &'static str,
    role: Option<Role>,
    handler: fn() -> MethodRouter<App>,
) -> Route {
    Route { method: "GET", path, role, handler }
}

const fn changes(
    path: &'static str,
    role: Option<Role>,
    handler: fn() -> MethodRouter<App>,
) -> Route {
    Route { method: "POST", path, role, handler }
}

const VIEW: Option<Role> = Some(Role::View);
const OPERATE: Option<Role> = Some(Role::Operate);
const ADMINISTER: Option<Role> = Some(Role::Administer);

/// All routes.
pub const ROUTES: &[Route] = &[
    reads("/assets/{hash}/{name}", None, || get(assets::file)),
    reads("/login", None, || get(pages::login::page)),
    changes("/login", None, || post(pages::login::login)),
    changes("/logout", None, || post(pages::login::logout)),
    reads("/", VIEW, || get(pages::overview::page)),
    reads("/numbers", VIEW, || get(pages::numbers::overview)),
    reads("/history", VIEW, || get(pages::history::overview)),
    reads("/queues/{queue}", VIEW, || get(pages::queue::page)),
    reads("/queues/{queue}/numbers", VIEW, || get(pages::numbers::queue)),
    reads("/queues/{queue}/history", VIEW, || get(pages::history::queue)),
    reads("/queues/{queue}/item", VIEW, || get(pages::item::page)),
    reads("/queues/{queue}/item/data", VIEW, || get(pages::item::data)),
    reads("/queues/{queue}/item/edit", ADMINISTER, || get(actions::edit::page)),
    changes("/queues/{queue}/item/edit", ADMINISTER, || post(actions::edit::save)),
    changes("/queues/{queue}/items/requeue", OPERATE, || post(actions::items::requeue)),
    changes("/queues/{queue}/items/cancel", OPERATE, || post(actions::items::cancel)),
    changes("/queues/{queue}/items/bury", OPERATE, || post(actions::items::bury)),
    changes("/queues/{queue}/items/remove", ADMINISTER, || post(actions::items::remove)),
    changes("/queues/{queue}/bulk/requeue", OPERATE, || post(pages::tasks::requeue)),
    changes("/queues/{queue}/bulk/cancel", OPERATE, || post(pages::tasks::cancel)),
    changes("/queues/{queue}/bulk/bury", OPERATE, || post(pages::tasks::bury)),
    changes("/queues/{queue}/bulk/remove", ADMINISTER, || post(pages::tasks::remove)),
    reads("/tasks", VIEW, || get(pages::tasks::list)),
    reads("/tasks/now", VIEW, || get(pages::tasks::list_now)),
    reads("/tasks/{id}", VIEW, || get(pages::tasks::page)),
    reads("/tasks/{id}/now", VIEW, || get(pages::tasks::now)),
    changes("/tasks/{id}/start", OPERATE, || post(pages::tasks::start)),
    changes("/tasks/{id}/remove", ADMINISTER, || post(pages::tasks::start_removing)),
    changes("/tasks/{id}/stop", OPERATE, || post(pages::tasks::stop)),
    reads("/queues/{queue}/leases", VIEW, || get(pages::leases::page)),
    reads("/queues/{queue}/leases/now", VIEW, || get(pages::leases::now)),
    reads("/queues/{queue}/dead", VIEW, || get(pages::dead::page)),
    reads("/queues/{queue}/wasted", VIEW, || get(pages::wasted::page)),
    reads("/queues/{queue}/schedules", VIEW, || get(pages::schedules::page)),
    changes("/queues/{queue}/schedules/run", OPERATE, || post(pages::schedules::run)),
    changes("/queues/{queue}/schedules/pause", OPERATE, || post(pages::schedules::pause)),
    changes("/queues/{queue}/schedules/resume", OPERATE, || post(pages::schedules::resume)),
    reads("/queues/{queue}/settings", VIEW, || get(pages::settings::page)),
    changes("/queues/{queue}/settings", ADMINISTER, || post(pages::settings::save)),
    reads("/workers", VIEW, || get(pages::workers::page)),
    reads("/workers/now", VIEW, || get(pages::workers::now)),
    changes("/workers/quiet", OPERATE, || post(pages::workers::quiet)),
    changes("/workers/resume", OPERATE, || post(pages::workers::resume)),
    changes("/workers/stop", OPERATE, || post(pages::workers::stop)),
    changes("/workers/cancel", OPERATE, || post(pages::workers::cancel)),
    reads("/health", VIEW, || get(pages::health::page)),
    reads("/health/now", VIEW, || get(pages::health::now)),
    changes("/queues/{queue}/check", ADMINISTER, || post(pages::health::check)),
    changes("/queues/{queue}/mend", ADMINISTER, || post(pages::health::mend)),
    changes("/queues/{queue}/pause", OPERATE, || post(actions::queue::pause)),
    changes("/queues/{queue}/resume", OPERATE, || post(actions::queue::resume)),
];

/// The console as a router. Requests must carry the address of their sender, `Peer`.
pub(crate) fn router(app: &App) -> Router {
    let base = &app.options.base;
    let mut router = Router::new();
    for route in ROUTES {
        let guard = from_fn_with_state((app.clone(), route.role), guard);
        router = router.route(&format!("{base}{}", route.path), (route.handler)().layer(guard));
    }
    let unknown = from_fn_with_state((app.clone(), VIEW), guard);
    let missing = get(pages::error::missing).post(pages::error::missing).layer(unknown);
    router = router.fallback_service(missing.with_state(app.clone()));
    if !base.is_empty() {
        router = router.route(base, get(pages::overview::redirect));
    }
    router.layer(from_fn(headers::add)).with_state(app.clone())
}
