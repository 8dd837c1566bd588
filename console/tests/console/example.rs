//! Queues with something of everything, for pictures and measurements.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use leaseq::{
    Beat, Client, Item, LeaseOptions, Measured, RunningItem, Schedule, ScheduleRule, WorkerId,
};
use leaseq_test_support::RedisServer;

use crate::hostile::TEXTS;
use crate::support::bury;

/// Fills the queues of the pictures.
pub(crate) async fn fill(client: &Client) -> [Beat; 2] {
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
        .queue("eu-west-1.tenant-4711_import.of-a-file-with-a-very-long-name.2026-11-26")
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

/// The key in which Redis keeps the totals of a queue.
pub(crate) fn meta_of(server: &RedisServer, queue: &str) -> String {
    server.cli(&["KEYS", &format!("*{{{queue}}}*meta")]).trim().to_owned()
}

/// Writes a past for a queue, as Redis keeps it: the minutes of a day, and the hours of a month.
pub(crate) fn past(server: &RedisServer, queue: &str, ready: u64) {
    let key = server.cli(&["KEYS", &format!("*{{{queue}}}*history")]);
    let key = key.trim();
    assert!(!key.is_empty() && !key.contains('\n'), "{key:?}");
    let meta = meta_of(server, queue);
    // A day has its waves, and one hour its trouble.
    let busy = |index: u64, width: u64| {
        let day = (index * width % 86_400_000) as f64 / 86_400_000.0 * std::f64::consts::TAU;
        1.3 + day.sin() + 0.25 * (index as f64 * 0.7).sin() + 0.2 * (index as f64 * 1.9).cos()
    };
    let trouble = |index: u64| (index % 45 < 4) as u64;
    // What was added, leased, completed, expired, and failed.
    let changes = |index: u64, width: u64| {
        let (each, trouble) =
            ((busy(index, width) * width as f64 / 1_500.0) as u64, trouble(index));
        [each, each, each - each * trouble / 5, each * trouble / 12, each * trouble / 8]
    };
    // Both kinds of rows end with the totals that the queue has now.
    let ends = [4_194_304, 4_194_304, 4_108_117, 35_004, 51_183];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    for (letter, width, count) in [("m", 60_000, 1_440), ("h", 3_600_000, 744)] {
        let mut totals = ends;
        for index in (0..count).map(|ago| now / width - ago) {
            let at = index * width + 400;
            let (busy, trouble) = (busy(index, width), trouble(index));
            let all: Vec<_> = totals.iter().map(u64::to_string).collect();
            let ready = ready + (busy * 12.0) as u64 + trouble * 60;
            let all = all.join(" ");
            let numbers = format!("{at} {all} 0 0 0 0 0 {ready} 28 {} 7 0", 3 + index % 4);
            let slow = 1 + 3 * trouble;
            let times = format!(
                "{at} {}:9 {}:1;{}:50 {}:9 {}:2;120:9 240:16 310:11 450:5 620:3 880:1 {}:1",
                80_000 * slow,
                300_000 * slow,
                12_000,
                30_000 * slow,
                90_000 * slow,
                700 + 400 * trouble
            );
            let row = format!("{letter}{}", index % count);
            server.command(&["HSET", key, &row, &numbers, &format!("{row}+"), &times]);
            for (total, change) in totals.iter_mut().zip(changes(index, width)) {
                *total -= change;
            }
        }
    }
    // And in this minute, one a second.
    let fields = ["added", "leased", "completed", "expired", "failed"];
    for (at, (field, end)) in fields.iter().zip(ends).enumerate() {
        let end = if at < 3 { end + now % 60_000 / 1_000 } else { end };
        server.command(&["HSET", &meta, field, &end.to_string()]);
    }
}
