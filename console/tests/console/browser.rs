//! The pages in a real browser; `make test-console` runs it, after it has installed what it needs. Each day another part
//! of the matrix, and all of it at night.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use leaseq_console::{Access, Role};
use leaseq_test_support::Share;
use serde_json::{Value, json};

use crate::example::{fill, meta_of, past};
use crate::support::{Engine, Served, TOKENS};

/// The pages that are visited: a name, and an address below the base path.
fn pages(few: bool) -> Value {
    let mut pages = vec![
        ("overview", "".to_owned()),
        ("workers", "workers".into()),
        ("tasks", "tasks".into()),
        ("health", "health".into()),
    ];
    let queue = if few { "empty" } else { "mail" };
    for (name, path) in [
        ("queue", ""),
        ("queue-day", "?span=day"),
        ("dead-list", "?state=dead"),
        ("delayed", "?state=delayed"),
        ("search", "?state=ready&data=nothing"),
        ("leases", "/leases"),
        ("dead", "/dead"),
        ("schedules", "/schedules"),
        ("wasted", "/wasted"),
        ("settings", "/settings"),
    ] {
        pages.push((name, format!("queues/{queue}{path}")));
    }
    if !few {
        let hostile =
            "queues/eu-west-1.tenant-4711_import.of-a-file-with-a-very-long-name.2026-11-26";
        let long = "a-very-long-id-without-a-single-space-".repeat(12);
        for (name, path) in [
            ("item", "queues/mail/item?id=order-00003".to_owned()),
            ("item-leased", "queues/mail/item?id=order-00001".to_owned()),
            ("item-edit", "queues/mail/item/edit?id=order-00003".into()),
            ("item-dead", "queues/mail/item?id=order-48210".to_owned()),
            ("item-binary", "queues/mail/item?id=order-00003&as=hex".to_owned()),
            ("hostile-queue", format!("{hostile}?state=dead")),
            ("hostile-ready", hostile.to_owned()),
            ("hostile-dead", format!("{hostile}/dead")),
            ("hostile-item", format!("{hostile}/item?id={long}")),
            (
                "hostile-script",
                format!("{hostile}/item?id=%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E"),
            ),
            ("missing", "queues/none".to_owned()),
        ] {
            pages.push((name, path));
        }
    }
    json!(pages)
}

struct Case {
    engine: usize,
    base: &'static str,
    role: Option<Role>,
    script: bool,
    few: bool,
    look: (&'static str, u32),
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: make test-console"]
async fn every_page_in_a_browser() {
    let engines = Arc::new(Engine::all());
    for engine in &*engines {
        let client = engine.client().await;
        for beat in fill(&client).await {
            let client = client.clone();
            // It is listed as long as it beats.
            tokio::spawn(async move {
                loop {
                    let _ = client.beat(&beat).await;
                    tokio::time::sleep(leaseq::options::BEAT_INTERVAL).await;
                }
            });
        }
    }
    for (queue, ready) in [("mail", 60), ("photos", 1_200)] {
        past(engines[0].server.as_ref().unwrap(), queue, ready);
        let engines = engines.clone();
        // The minute of now is like the others.
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let server = engines[0].server.as_ref().unwrap();
                for field in ["added", "leased", "completed"] {
                    server.command(&["HINCRBY", &meta_of(server, queue), field, "1"]);
                }
            }
        });
    }
    let mut cases = Vec::new();
    for engine in 0..2 {
        for base in ["", "/a/b"] {
            for role in [Some(Role::Administer), Some(Role::View), None] {
                for look in [("light", 1_280), ("dark", 1_280), ("light", 390), ("dark", 390)] {
                    cases.push(Case { engine, base, role, script: true, few: false, look });
                }
            }
        }
    }
    // Of the rest of the matrix each day another part; these always, with pictures.
    let share = Share::from_environment();
    let mut number = 0;
    cases.retain(|case| {
        number += 1;
        let plain = (case.engine, case.base, case.role) == (0, "", Some(Role::Administer));
        let shown = plain && matches!(case.look, ("light", 1_280) | ("dark", 390));
        shown || share.has(number)
    });
    cases.push(Case {
        engine: 0,
        base: "/a/b",
        role: Some(Role::Administer),
        script: false,
        few: false,
        look: ("light", 1_280),
    });
    cases.push(Case {
        engine: 0,
        base: "",
        role: Some(Role::Administer),
        script: true,
        few: true,
        look: ("light", 1_280),
    });
    let mut served: Vec<Served> = Vec::new();
    let mut consoles = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let console = engines[case.engine]
            .console_with(|options| {
                options.base = case.base.into();
                if case.role.is_none() {
                    options.access = Access::NoLogin;
                }
            })
            .await;
        let role = case.role.map_or("open", Role::as_str);
        let engine = ["redis", "sqlite"][case.engine];
        let first = at == 0;
        consoles.push(json!({
            "name": format!("{engine} {}{role}{}{}", if case.base.is_empty() { "" } else { "subpath " },
                if case.few { " few" } else { "" }, if case.script { "" } else { " noscript" }),
            "url": format!("http://{}{}/", console.address, case.base),
            "token": case.role.map(|role| TOKENS[role as usize].1),
            "javaScript": case.script,
            "pages": pages(case.few),
            "looks": [case.look],
            "pictures": (case.engine, case.base, case.role) == (0, "", Some(Role::Administer)),
            "use": first,
        }));
        served.push(console);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let argument = json!({ "folder": root.join("../build/console"), "consoles": consoles });
    let run = tokio::process::Command::new("node")
        .arg(root.join("browser/run.mjs"))
        .arg(argument.to_string())
        .status();
    assert!(run.await.unwrap().success());
}
