//! Users of each role: what a role allows works, and a missing right is named.

use leaseq::{Client, Item, SettingsChange};

use crate::support::Bench;

const USERS: &str = include_str!("../../../core/docs/users.acl");

fn rules(role: &str) -> Vec<&'static str> {
    let line = USERS.lines().find(|line| line.contains(&format!("user leaseq-{role} ")));
    line.unwrap().split(' ').skip(2).filter(|word| !word.starts_with('>')).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_role_can_do_its_work_and_is_told_what_it_lacks() {
    let mut bench = Bench::redis();
    let admin = Client::connect(&bench.url).await.unwrap().queue("q").unwrap();
    admin.configure(SettingsChange::new().events(100)).await.unwrap();
    let mut port = 0;
    for role in ["producer", "worker", "cleaner", "monitor", "operator"] {
        let server = bench.server.as_ref().unwrap();
        port = server.port();
        server.cli(&[&["ACL", "SETUSER", role, "reset", "on", ">pw"], &rules(role)[..]].concat());
    }
    // Everything that a role is for, and something that it may not do.
    let reads: [&[&str]; 14] = [
        &["queues"],
        &["status", "q"],
        &["items", "q"],
        &["show", "q", "a"],
        &["dead", "q", "--group"],
        &["leases", "q"],
        &["settings", "q"],
        &["stats", "q"],
        &["tail", "q", "--no-follow"],
        &["schedules", "q"],
        &["export", "q"],
        &["queues"],
        &["workers", "q"],
        &["items", "q", "--where", "x"],
    ];
    let changes: [&[&str]; 12] = [
        &["pause", "q"],
        &["resume", "q"],
        &["settings", "q", "max_dead=5"],
        &["requeue", "q", "--state", "dead", "-y"],
        &["bury", "q", "a"],
        &["requeue", "q", "a"],
        &["remove", "q", "a"],
        &["cancel", "q", "a"],
        &["purge", "q", "--state", "dead", "-y"],
        &["worker", "quiet", "w"],
        &["worker", "resume", "w"],
        &["drop", "q", "-y"],
    ];
    for (role, allowed, refused) in [
        ("monitor", &reads[..], &changes[..]),
        ("operator", &[&reads[..], &changes[..]].concat(), &[][..]),
        ("producer", &[&["add", "q", "x"][..], &["enqueue", "q", "job"]], &[&["items", "q"][..]]),
        ("worker", &[&["work", "q", "--burst", "--", "true"][..]], &[&["drop", "q", "-y"][..]]),
        ("cleaner", &[&["check", "q"][..], &["check", "q", "--mend"], &["status", "q"]], &[][..]),
    ] {
        admin.remove("a").await.unwrap();
        admin.add_item(Item::new("x").with_id("a")).await.unwrap();
        admin.add_item(Item::new("x").with_id("d")).await.unwrap();
        admin.bury(["d"], "x").await.unwrap();
        bench.url = format!("redis://{role}:pw@127.0.0.1:{port}/?timeout_ms=3000");
        for args in allowed {
            let run = bench.run(args);
            assert!(run.status < 2, "{role} {args:?}: {run:?}");
            assert!(!run.err.contains("lacks"), "{role} {args:?}: {run:?}");
        }
        for args in refused {
            let run = bench.run(args);
            assert_eq!(run.status, 4, "{role} {args:?}: {run:?}");
            assert!(run.err.contains("lacks +"), "{role} {args:?}: {run:?}");
        }
    }
}
