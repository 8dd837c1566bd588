//! The pages in a real browser; `make test-console` runs it, after it has installed what it needs. Each day another part
//! of the matrix, and all of it at night.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::{
    Beat, Client, Item, LeaseOptions, Measured, RunningItem, Schedule, ScheduleRule, WorkerId,
};
use leaseq_console::{Access, Role};
use leaseq_test_support::{RedisServer, Share};
use serde_json::{Value, json};

use crate::hostile::TEXTS;
use crate::support::{Engine, Served, TOKENS, bury};

/// Fills the queues of the pictures.
async fn fill(client: &Client) -> [Beat; 2] {
    let mail = client.queue("mail").unwrap();
    for n in 0..7 {
        let id = format!("order-{:05}", 48_210 + n * 37);
        let error = match n % 3 {
            0 => {
                "connect to smtp.example.com:587: connection refused after 3012 ms\n  at deliver (mail.rs:88)"
            }
            1 => "550 5.1.1 mailbox of customer 7718 is unavailable",
            _ => "the template welcome has no field \"name\"",
        };
        bury(&mail, &id, r#"{"to":"ada@example.com"}"#, error).await;
    }
    let data = |n: u32| {
        format!(
            "{{\"v\":1,\"job\":\"mail.send\",\"args\":{{\"to\":\"customer-{n}@example.com\",\"order\":{n},\"total\":12345678901234567890,\"lines\":[{{\"sku\":\"A-17\",\"count\":2}},{{\"sku\":\"B-3\",\"count\":1}}]}},\"meta\":{{\"traceparent\":\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\"}}}}"
        )
    };
    let item = |n: u32| {
        let item = Item::new(data(n)).with_id(format!("order-{n:05}"));
        match n % 5 {
            0 => item.delay(Duration::from_secs(60 * u64::from(n % 90) + 30)),
            1 => item.priority(5).max_attempts(10),
            2 => item.key(format!("tenant-{}", n % 4)),
            _ => item,
        }
    };
    mail.add_items((0..140).map(item)).await.unwrap();
    let lease = |s| LeaseOptions::new(Duration::from_secs(s)).wait(Duration::ZERO);
    let held = mail.lease_many(6, lease(300)).await.unwrap();
    let failed = mail.lease(lease(300)).await.unwrap().unwrap();
    mail.fail(&failed, "connect to smtp.example.com:587: timed out after 10 s", Duration::ZERO)
        .await
        .unwrap();
    let mut beat = Beat::new(WorkerId::new("mailer").with_instance("a1"));
    (beat.host, beat.slots, beat.queues) =
        ("worker-3.example.com".into(), 8, vec!["mail".into(), "photos".into()]);
    beat.memory = Some(187 << 20);
    beat.running.extend(held.iter().take(4).zip([12_u64, 47, 190, 271]).map(|(lease, elapsed)| {
        RunningItem {
            queue: "mail".into(),
            id: bytes::Bytes::copy_from_slice(lease.id()),
            elapsed: Duration::from_secs(elapsed),
            deadline: lease.deadline(),
        }
    }));
    for n in 1..400_u64 {
        beat.run.record(n * n * 40);
        beat.lease_use.record((n * n) % 900);
    }
    beat.lease_use.record_many(1_200, 9);
    client.beat(&beat).await.unwrap();
    let mut quiet = Beat::new(WorkerId::new("thumbnailer").with_instance("b2"));
    (quiet.host, quiet.slots, quiet.queues, quiet.throttled) =
        ("worker-4.example.com".into(), 2, vec!["photos".into()], true);
    quiet.language = "python".into();
    client.beat(&quiet).await.unwrap();
    client.quiet_worker("thumbnailer").await.unwrap();
    let measured = Measured {
        lease_use: beat.lease_use.clone(),
        run: beat.run.clone(),
        waiting: beat.run.clone(),
    };
    mail.record_history(&measured).await.unwrap();
    for (name, rule) in [
        ("daily report", ScheduleRule::cron("30 4 * * *", "Europe/Berlin").unwrap()),
        ("refresh", ScheduleRule::every(Duration::from_secs(300)).unwrap()),
    ] {
        mail.put_schedule(Schedule::new(name, rule, Item::new("x")).owner("shop").revision(7))
            .await
            .unwrap();
    }
    mail.run_now("refresh").await.unwrap();
    let photos = client.queue("photos").unwrap();
    photos.add_items((0..1_250).map(|n| Item::new(vec![n as u8; 200]))).await.unwrap();
    photos.pause().await.unwrap();
    photos.record_history(&Measured::default()).await.unwrap();
    client.queue("empty").unwrap().pause().await.unwrap();
    client.queue("empty").unwrap().resume().await.unwrap();
    let hostile = client
        .queue("hostile-and-a-very-long-name.of-a-queue_that-somebody-has-generated.0123456789")
        .unwrap();
    for text in TEXTS {
        bury(&hostile, text, text, text).await;
        hostile
            .add_item(Item::new(text).with_id([text.as_bytes(), &[0xff; 40]].concat()))
            .await
            .unwrap();
    }
    let long = "a-very-long-id-without-a-single-space-".repeat(12);
    bury(&hostile, &long, &"long ".repeat(20_000), &"an error without an end ".repeat(40)).await;
    [beat, quiet]
}

/// Writes a past for a queue, as Redis keeps it: the minutes of a day, and the hours of a month.
pub(crate) fn past(server: &RedisServer, queue: &str, ready: u64) {
    let key = server.cli(&["KEYS", &format!("*{{{queue}}}*history")]);
    let key = key.trim();
    assert!(!key.is_empty() && !key.contains('\n'), "{key:?}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    for (letter, width, count) in [("m", 60_000, 1_440), ("h", 3_600_000, 744)] {
        let first = now / width + 1 - count;
        let mut totals = [0_u64; 10];
        for index in first..=now / width {
            let at = index * width + 400;
            // A day has its waves, and one hour its trouble.
            let day = (at % 86_400_000) as f64 / 86_400_000.0 * std::f64::consts::TAU;
            let busy = 1.3
                + day.sin()
                + 0.25 * (index as f64 * 0.7).sin()
                + 0.2 * (index as f64 * 1.9).cos();
            let trouble = (index % 45 < 4) as u64;
            let each = (busy * 40.0 * width as f64 / 60_000.0) as u64;
            for (total, more) in totals.iter_mut().zip([
                each,
                each,
                each - each * trouble / 5,
                each * trouble / 12,
                each * trouble / 8,
            ]) {
                *total += more;
            }
            let totals: Vec<_> = totals.iter().map(u64::to_string).collect();
            let ready = ready + (busy * 12.0) as u64 + trouble * 60;
            let numbers = format!("{at} {} {ready} 28 {} 7 0", totals.join(" "), 3 + index % 4);
            let slow = 1 + 3 * trouble;
            let times = format!(
                "{at} {}:9 {}:1;{}:50 {}:9 {}:2;300:40",
                80_000 * slow,
                300_000 * slow,
                12_000,
                30_000 * slow,
                90_000 * slow
            );
            let slot = index % count;
            server.command(&[
                "HSET",
                key,
                &format!("{letter}{slot}"),
                &numbers,
                &format!("{letter}{slot}+"),
                &times,
            ]);
        }
    }
}

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
            "queues/hostile-and-a-very-long-name.of-a-queue_that-somebody-has-generated.0123456789";
        let long = "a-very-long-id-without-a-single-space-".repeat(12);
        for (name, path) in [
            ("item", "queues/mail/item?id=order-00003".to_owned()),
            ("item-leased", "queues/mail/item?id=order-00001".to_owned()),
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
    let engines = Engine::all();
    for engine in &engines {
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
