//! Signing in, and requests from elsewhere.

use std::collections::HashMap;

use base64::Engine as _;
use leaseq::Item;
use leaseq_console::{Access, Role, UserHeader, new_token};

use crate::http::Request;
use crate::support::{Engine, TOKENS};

#[tokio::test(flavor = "multi_thread")]
async fn a_link_works_once() {
    let engine = Engine::sqlite();
    let token = new_token();
    let access = Access::Link { token: token.clone(), role: Role::Operate };
    let console = engine.console_with(|options| options.access = access).await;
    let page = Request::get(&format!("/login?token={token}"));
    for _ in 0..2 {
        // Looking at it changes nothing.
        console.send(page.clone()).await.has(200, "Open the console");
    }
    let wrong = console.send(Request::post("/login", &[("token", &new_token())])).await;
    wrong.has(403, "has been used, or is wrong");
    assert_eq!(wrong.cookie(), None);
    let foreign = Request::foreign_post("/login", &[("token", &token)])
        .header("Origin", "http://evil.example");
    console.send(foreign).await.has(403, "not sent by a page");
    let right =
        console.send(Request::post("/login", &[("token", &token), ("next", "/?find=x")])).await;
    assert_eq!((right.status, right.header("location")), (303, Some("/?find=x")), "{right:?}");
    let set = right.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/;"] {
        assert!(set.contains(part), "{set}");
    }
    let cookie = right.cookie().unwrap();
    let page = console.send(Request::get("/").header("Cookie", cookie)).await;
    page.has(200, "link · operate");
    console.send(Request::post("/login", &[("token", &token)])).await.has(403, "has been used");
    let out = console.send(Request::post("/logout", &[]).header("Cookie", cookie)).await;
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"), "{out:?}");
    assert_eq!(console.send(Request::get("/").header("Cookie", cookie)).await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_in_leads_to_pages_of_the_console_only() {
    let engine = Engine::sqlite();
    let console = engine.console_with(|options| options.base = "/q".into()).await;
    for next in [
        "//evil.example",
        "http://evil.example",
        "/other",
        "/q/\\evil",
        "/q",
        "/q/\r\nX: y",
        "javascript:0",
    ] {
        let form = [("token", TOKENS[0].1), ("next", next)];
        let answer = console.send(Request::post("/q/login", &form)).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/q/")), "{next}");
        assert!(answer.header("set-cookie").unwrap().contains("Path=/q;"), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_login_only_this_machine_may_look() {
    let engine = Engine::sqlite();
    let queue = engine.queue("mail").await;
    queue.add_item(Item::new("hello")).await.unwrap();
    let console = engine.console_with(|options| options.access = Access::NoLogin).await;
    console.send(Request::get("/")).await.has(200, "mail");
    let local = Request::get("/").header("Host", "localhost:1234");
    console.send(local).await.has(200, "mail");
    for host in ["evil.example", "192.168.0.1", "localhost.evil.example"] {
        let request = Request::get("/").header("Host", host);
        console.send(request).await.has(403, "not one of this machine");
    }
    for header in ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host"] {
        let request = Request::get("/").header(header, "10.0.0.1");
        console.send(request).await.has(403, "a proxy has forwarded this");
    }
    let pause = Request::post("/queues/mail/pause", &[]);
    console.send(pause).await.has(403, "this needs the right to operate");
    assert!(!queue.settings().await.unwrap().paused);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_name_is_configured_no_other_is_served() {
    let engine = Engine::sqlite();
    engine.queue("mail").await.add_item(Item::new("hello")).await.unwrap();
    let url = "https://queues.example.com/".parse().unwrap();
    let console = engine.console_with(|options| options.public_url = Some(url)).await;
    for (status, host) in [
        (200, "queues.example.com"),
        (200, "127.0.0.1:8686"),
        (200, "10.0.0.1"),
        (403, "evil.example"),
        (403, "queues.example.com.evil.example"),
    ] {
        let request = Request::get("/").header("Host", host);
        let answer = console.send_as(Role::View, request).await;
        assert_eq!(answer.status, status, "{host}: {answer:?}");
        let login = console.send(Request::get("/login").header("Host", host)).await;
        assert_eq!(login.status, status, "{host}: {login:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_need_an_origin_that_is_the_own() {
    let engine = Engine::sqlite();
    let queue = engine.queue("mail").await;
    queue.add_item(Item::new("hello")).await.unwrap();
    let console = engine.console().await;
    let login = console.send(Request::post("/login", &[("token", TOKENS[1].1)])).await;
    let cookie = login.cookie().unwrap();
    let pause = || Request::foreign_post("/queues/mail/pause", &[]).header("Cookie", cookie);
    let own = format!("http://{}", console.address);
    for (name, value) in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Sec-Fetch-Site", "none"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Referer", own.as_str()),
    ] {
        console.send(pause().header(name, value)).await.has(403, "not sent by a page");
    }
    let both = pause().header("Sec-Fetch-Site", "cross-site").header("Origin", &own);
    console.send(both).await.has(403, "not sent by a page");
    assert!(!queue.settings().await.unwrap().paused);
    assert_eq!(console.send(pause().header("Origin", &own)).await.status, 303);
    assert!(queue.settings().await.unwrap().paused);
    // A program sends its token itself, which no foreign page knows.
    for (kind, body) in [("application/json", r#"{"for":"1h"}"#), ("text/plain", "for=1h")] {
        let wrong = Request::body("/queues/mail/resume", kind, body);
        console.send_as(Role::Operate, wrong).await.has(415, "this is no form");
    }
    assert!(queue.settings().await.unwrap().paused);
    let program = Request::foreign_post("/queues/mail/resume", &[]);
    assert_eq!(console.send_as(Role::Operate, program).await.status, 303);
    assert!(!queue.settings().await.unwrap().paused);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_sign_in_with_passwords() {
    let engine = Engine::sqlite();
    let hash = bcrypt::hash("a password", 4).unwrap();
    let users = format!("ada:{hash}:view").parse().unwrap();
    let console = engine.console_with(|options| options.access = Access::Basic(users)).await;
    let coded = |text: &str| format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(text));
    let asked = console.send(Request::get("/")).await;
    assert_eq!(asked.status, 401);
    assert!(asked.header("www-authenticate").unwrap().starts_with("Basic "), "{asked:?}");
    let right = Request::get("/").header("Authorization", &coded("ada:a password"));
    console.send(right).await.has(200, "ada · view");
    let wrong = Request::get("/").header("Authorization", &coded("ada:another"));
    assert_eq!(console.send(wrong).await.status, 401);
    // Browsers send passwords with foreign requests too.
    let foreign =
        Request::foreign_post("/logout", &[]).header("Authorization", &coded("ada:a password"));
    console.send(foreign).await.has(403, "not sent by a page");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_names_the_user() {
    let engine = Engine::sqlite();
    let header = |trusted: &str| {
        Access::Header(UserHeader {
            name: "x-user".parse().unwrap(),
            trusted: vec![trusted.parse().unwrap()],
            roles: HashMap::from([("ada".into(), Role::Administer)]),
            default: Some(Role::View),
        })
    };
    let console = engine.console_with(|options| options.access = header("127.0.0.0/8")).await;
    console.send(Request::get("/").header("X-User", "ada")).await.has(200, "ada · administer");
    console.send(Request::get("/").header("X-User", "bob")).await.has(200, "bob · view");
    console.send(Request::get("/")).await.has(401, "Sign in");
    let console = engine.console_with(|options| options.access = header("10.0.0.0/8")).await;
    console.send(Request::get("/").header("X-User", "ada")).await.has(401, "Sign in");
}
