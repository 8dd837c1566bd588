//! The route table: each route asks for its role, and for a page of the console as the sender of changes.

use leaseq::Item;
use leaseq_console::{ROUTES, Role};

use crate::http::Request;
use crate::support::Engine;

/// Whoever adds a route decides here who may use it.
const EXPECTED: &str = include_str!("../routes.txt");

#[test]
fn the_table_is_the_one_that_was_decided() {
    let line = |route: &leaseq_console::Route| {
        format!(
            "{:<5} {:<11} {}",
            route.method,
            route.role.map_or("everybody", Role::as_str),
            route.path
        )
    };
    let lines: Vec<_> = ROUTES.iter().map(line).collect();
    assert_eq!(lines.join("\n"), EXPECTED.trim_end());
}

fn path(path: &str) -> String {
    let path = path.replace("{queue}", "mail").replace("{hash}", "x").replace("{name}", "x");
    path.replace("{id}", "1").replace("{action}", "requeue")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_route_asks_for_its_role() {
    let engine = Engine::sqlite();
    engine.queue("mail").await.add_item(Item::new("hello")).await.unwrap();
    let console = engine.console_with(|options| options.base = "/a/b".into()).await;
    for route in ROUTES {
        let path = format!("/a/b{}", path(route.path));
        let request = || match route.method {
            "GET" => Request::get(&path),
            _ => Request::post(&path, &[]),
        };
        let answer = console.send(request()).await;
        let known = route.role.is_none() || matches!(answer.status, 303 | 401);
        assert!(known, "{path}: {answer:?}");
        if answer.status == 303 && route.role.is_some() {
            assert!(
                answer.header("location").unwrap().starts_with("/a/b/login?next="),
                "{answer:?}"
            );
        }
        for role in Role::ALL {
            let Some(needed) = route.role else { continue };
            let answer = console.send_as(role, request()).await;
            assert_eq!(answer.status == 403, role < needed, "{path} as {role}: {answer:?}");
            assert_ne!(answer.status, 500, "{path}: {answer:?}");
        }
        if route.method == "POST" {
            let foreign = Request::foreign_post(&path, &[]).header("Sec-Fetch-Site", "cross-site");
            console.send(foreign).await.has(403, "not sent by a page of the console");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_and_paths_are_refused() {
    let engine = Engine::sqlite();
    let console = engine.console_with(|options| options.base = "/a/b".into()).await;
    for path in
        ["/", "/a", "/a/b/nothing", "/a/b/queues", "/A/B/", "/a/b/../b/", "/a/b//", "/login"]
    {
        assert_eq!(console.send(Request::get(path)).await.status, 303, "{path}");
        let answer = console.send_as(Role::Administer, Request::get(path)).await;
        answer.has(404, "there is no such page");
    }
    let moved = console.send_as(Role::View, Request::get("/a/b")).await;
    assert_eq!((moved.status, moved.header("location")), (308, Some("/a/b/")));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_the_headers() {
    let engine = Engine::sqlite();
    let console = engine.console().await;
    for path in ["/", "/login", "/nothing", "/queues/none", "/assets/x/app.css"] {
        for answer in [console.get(path).await, console.send(Request::get(path)).await] {
            let policy = answer.header("content-security-policy").unwrap();
            assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
            assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
            assert_eq!(answer.header("x-frame-options"), Some("DENY"));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
    let page = console.get("/").await;
    let css = page.body.split('"').find(|part| part.ends_with("app.css")).unwrap();
    let css = console.send(Request::get(css)).await;
    assert_eq!(css.header("content-type"), Some("text/css; charset=utf-8"));
    assert!(css.header("cache-control").unwrap().contains("immutable"), "{css:?}");
}
