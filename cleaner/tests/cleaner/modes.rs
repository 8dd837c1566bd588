//! The modes that end by themselves, and the configuration.

use leaseq_test_support::RedisServer;
use serde_json::Value;

use crate::support::{Place, command, ended, file_url, item, lease, ms, run};

#[tokio::test(flavor = "multi_thread")]
async fn once_cleans_check_looks_and_both_can_speak_json() {
    for place in Place::both() {
        let client = place.client().await;
        let queue = client.queue("q").unwrap();
        queue.add_item(item("a")).await.unwrap();
        let held = lease(&queue, ms(30)).await;
        // Later, so that it is not the lease that finds it due.
        queue.add_item(item("b").delay(ms(30))).await.unwrap();
        tokio::time::sleep(ms(60)).await;
        let (status, out, log) = run(&["--url", &place.url(), "--check", "--json"]);
        assert_eq!(status, 0, "{out}{log}");
        let said: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (&said["fine"], &said["queues"][0]["check"]["items"]),
            (&true.into(), &2.into())
        );
        assert_eq!(queue.counts().await.unwrap().leased, 1, "a check changes nothing");
        let (status, out, log) = run(&["--url", &place.url(), "--once", "--json"]);
        assert_eq!(status, 0, "{out}{log}");
        let said: Value = serde_json::from_str(&out).unwrap();
        let light = &said["queues"][0]["light"];
        assert_eq!((&light["promoted"], &light["expired"]), (&1.into(), &1.into()), "{said}");
        assert_eq!(queue.counts().await.unwrap().ready, 2);
        let (status, out, _) = run(&["--url", &place.url(), "--once"]);
        assert_eq!(
            (status, out.trim()),
            (0, "queue q: 0 promoted, 0 expired, 0 of them dead, 0 removed; 2 items, sound")
        );
        let (status, out, _) = run(&["--url", &place.url(), "--check", "--queue", "nothing"]);
        assert_eq!((status, out.trim()), (0, "queue nothing: 0 items, sound"));
        drop(held);
        client.close().await;
    }
}

fn doctor(url: &str) -> (i32, Value) {
    let (status, out, log) = run(&["--url", url, "--doctor", "--json"]);
    let said = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{log}"));
    (status, said)
}

fn advises(said: &Value, text: &str) -> bool {
    said["advice"].as_array().unwrap().iter().any(|advice| advice.to_string().contains(text))
}

#[test]
fn the_doctor_says_how_durable_a_server_is() {
    for (settings, durability, status, advice) in [
        (&[("--appendonly", "yes"), ("--appendfsync", "always")][..], "full", 0, "maxmemory"),
        (&[("--appendonly", "yes")], "window", 0, "appendfsync is everysec"),
        (&[("--appendonly", "yes"), ("--appendfsync", "no")], "window", 1, "appendfsync is no"),
        (
            &[
                ("--appendonly", "yes"),
                ("--appendfsync", "always"),
                ("--no-appendfsync-on-rewrite", "yes"),
            ],
            "window",
            1,
            "no-appendfsync-on-rewrite",
        ),
        (&[("--save", "60 1")], "snapshot", 1, "appendonly yes"),
        (&[], "nothing", 1, "appendonly yes"),
        (&[("--maxmemory", "1mb"), ("--appendonly", "yes")], "window", 1, "bytes are in use"),
    ] {
        let builder = RedisServer::builder().arg("--maxmemory", "0");
        let builder =
            settings.iter().fold(builder, |builder, (name, value)| builder.arg(*name, *value));
        let server = builder.start();
        let (got, said) = doctor(&server.url());
        assert_eq!((said["durability"].as_str().unwrap(), got), (durability, status), "{said:#}");
        assert!(advises(&said, advice), "{advice}: {said:#}");
        let (_, text, _) = run(&["--url", &server.url(), "--doctor"]);
        assert!(text.contains(said["meaning"].as_str().unwrap()), "{text}");
    }
    // Every client refuses a server that evicts, also --doctor, and says what to change.
    let evicts = RedisServer::builder().arg("--maxmemory-policy", "allkeys-lru").start();
    let (status, _, log) = run(&["--url", &evicts.url(), "--doctor"]);
    assert_eq!(status, 2);
    assert!(log.contains("set maxmemory-policy to noeviction"), "{log}");
}

#[test]
fn the_doctor_knows_replicas_and_users() {
    let master =
        RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always").start();
    assert_eq!(doctor(&master.url()).1["durability"], "full");
    let port = master.port().to_string();
    let replica = RedisServer::builder().arg("--replicaof", format!("127.0.0.1 {port}")).start();
    let linked = || replica.cli(&["INFO", "replication"]).contains("master_link_status:up");
    assert!(leaseq_test_support::eventually_blocking(crate::support::SOON, linked));
    let (_, said) = doctor(&master.url());
    assert!(said["durability"] == "window" && advises(&said, "may take over"), "{said:#}");
    assert!(advises(&said, "default user"));
    // Without the right to read the settings, the durability is unknown, and the report says why.
    let rules = "on >pw ~leaseq:* -@all +info +eval +evalsha";
    let mut set = vec!["ACL", "SETUSER", "blind"];
    set.extend(rules.split(' '));
    master.cli(&set);
    let (_, said) = doctor(&format!("redis://blind:pw@127.0.0.1:{port}/"));
    assert!(said["durability"] == "unknown" && advises(&said, "+config|get"), "{said:#}");
    assert!(!said.to_string().contains("pw@"));
}

#[test]
fn the_doctor_knows_files() {
    let folder = tempfile::tempdir().unwrap();
    let url = file_url(folder.path());
    let (status, said) = doctor(&url);
    assert_eq!((status, &said["durability"]), (0, &"full".into()), "{said:#}");
    let (status, said) = doctor(&format!("{url}?synchronous=normal"));
    assert_eq!((status, &said["durability"]), (0, &"window".into()));
    let (status, said) = doctor("memory:");
    assert_eq!((status, &said["durability"]), (1, &"nothing".into()));
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(folder.path().join("queue.db"), open).unwrap();
    let (status, said) = doctor(&url);
    assert!(status == 1 && advises(&said, "chmod"), "{said:#}");
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    std::fs::write(
        &file,
        "url = \"redis://u:file-secret@file/\"\nqueues = [\"a\", \"b\"]\nlight_interval = \"2s\"\n\
         deep_interval = \"1h\"\nlisten = \"none\"\nlog_format = \"json\"\n",
    )
    .unwrap();
    let shown = |set: &dyn Fn(&mut std::process::Command)| -> toml::Table {
        let mut command = command(&["--print-config", "--config", file.to_str().unwrap()]);
        set(&mut command);
        let (status, out, log) = ended(command);
        assert_eq!(status, 0, "{log}");
        assert!(!out.contains("secret"), "{out}");
        out.parse().unwrap()
    };
    let text = |table: &toml::Table, key: &str| table[key].as_str().unwrap().to_owned();
    let by_file = shown(&|_| ());
    assert_eq!(text(&by_file, "url"), "redis://***@file/");
    assert_eq!(by_file["queues"].as_array().unwrap().len(), 2);
    assert_eq!(
        (text(&by_file, "light_interval"), text(&by_file, "listen")),
        ("2s".into(), "none".into())
    );
    let by_environment = |command: &mut std::process::Command| {
        command.env("LEASEQ_URL", "redis://:env-secret@env/").env("LEASEQ_CLEANER_QUEUES", "c,d,e");
        command.env("LEASEQ_CLEANER_LIGHT_INTERVAL", "3s").env("REDIS_URL", "redis://other/");
    };
    let both = shown(&by_environment);
    assert_eq!(
        (text(&both, "url"), text(&both, "light_interval")),
        ("redis://***@env/".into(), "3s".into())
    );
    assert_eq!(
        (both["queues"].as_array().unwrap().len(), text(&both, "deep_interval")),
        (3, "1h".into())
    );
    let all = shown(&|command| {
        by_environment(command);
        command.args(["--url", "sqlite:x.db", "--light-interval", "4s", "--queue", "f"]);
    });
    assert_eq!(
        (text(&all, "url"), text(&all, "light_interval")),
        ("sqlite:x.db".into(), "4s".into())
    );
    assert_eq!(all["queues"].as_array().unwrap().len(), 1);
}

#[test]
fn a_bad_configuration_is_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    for (text, what) in [
        ("url = \"memory:\"\ncolour = 1\n", "line 2: unknown field `colour`"),
        ("url = \"memory:\"\nlight_interval = \"1\"\n", "light_interval"),
        ("url = \"memory:\"\nlight_interval = \"2h\"\n", "2h is not between 10ms and 1h"),
        ("url = \"memory:\"\ndeep_interval = \"0s\"\n", "deep_interval"),
        ("url = \"memory:\"\nlisten = \"here\"\n", "neither an address with port"),
        ("", "no url"),
        ("url = \"redis://:top-secret@h/\nqueues = 3", "c.toml: line 1"),
    ] {
        std::fs::write(&file, text).unwrap();
        let (status, _, log) = run(&["--print-config", "--config", file.to_str().unwrap()]);
        assert!(status == 2 && log.contains(what) && !log.contains("secret"), "{what}: {log}");
    }
    for (args, what) in [
        (&["--url", "memory:", "--once", "--check"][..], "cannot be used with"),
        (&["--url", "http://x", "--check"], "unknown url scheme"),
        (&["--url", "memory:", "--check", "--queue", "a b"], "does not match"),
        (&["--config", "/not/there.toml"], "/not/there.toml"),
        (&["--url", "redis://127.0.0.1:1/?timeout_ms=50", "--check"], "127.0.0.1:1"),
    ] {
        let (status, _, log) = run(args);
        assert!(status == 2 && log.contains(what), "{args:?}: {log}");
    }
}
