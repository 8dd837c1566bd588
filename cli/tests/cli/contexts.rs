//! Contexts, and which server is used.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Bench, finish};

fn without_url(bench: &Bench, args: &[&str]) -> std::process::Command {
    let mut command = bench.command(args);
    command.env_remove("LEASEQ_URL");
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_names_a_server_and_hides_its_password() {
    let (bench, other) = (Bench::sqlite(), Bench::sqlite());
    bench.queue("here").await.add_item(leaseq::Item::new("x")).await.unwrap();
    other.queue("there").await.add_item(leaseq::Item::new("x")).await.unwrap();
    let run = |args: &[&str]| finish(&mut without_url(&bench, args), b"");
    assert_eq!(run(&["queues"]).status, 2);
    assert!(run(&["queues"]).err.contains("leaseq context add"));
    assert_eq!(run(&["context", "ls"]).status, 1);
    run(&["context", "add", "here", &bench.url]).ok();
    run(&["context", "add", "there", &other.url]).ok();
    let mut secret = without_url(&bench, &["context", "add", "secret", "-"]);
    finish(
        secret.stdin(std::process::Stdio::piped()),
        b"redis://me:hunter2@127.0.0.1:1/?timeout_ms=100\n",
    )
    .ok();
    assert_eq!(run(&["queues"]).ok().out, "here\n");
    assert_eq!(run(&["queues", "--context", "there"]).ok().out, "there\n");
    run(&["context", "use", "there"]).ok();
    assert_eq!(run(&["queues"]).ok().out, "there\n");
    // The environment wins over the current context, and an option over both.
    assert_eq!(bench.run(&["queues"]).ok().out, "here\n");
    assert_eq!(bench.run(&["queues", "--context", "there"]).ok().out, "there\n");
    assert_eq!(run(&["queues", "--url", &bench.url]).ok().out, "here\n");
    let file = bench.folder.path().join(".config/leaseq/contexts.toml");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    for args in
        [&["context", "ls"][..], &["context", "ls", "--json"], &["queues", "--context", "secret"]]
    {
        let run = run(args);
        assert!(!format!("{run:?}").contains("hunter2"), "{run:?}");
    }
    assert!(run(&["context", "ls"]).out.contains("*\tthere\tsqlite:"));
    run(&["context", "rm", "there"]).ok();
    assert_eq!(run(&["queues"]).status, 2, "there is no current context");
    for wrong in [
        &["context", "use", "there"][..],
        &["context", "add", "a b", "sqlite:x"],
        &["context", "add", "x", "nothing"],
    ] {
        assert_eq!(run(wrong).status, 2, "{wrong:?}");
    }
    std::fs::write(&file, "url = redis://me:hunter2@host").unwrap();
    let broken = run(&["queues"]);
    assert!(broken.status == 2 && !broken.err.contains("hunter2"), "{broken:?}");
}

#[test]
fn wrong_usage_is_an_error_without_secrets() {
    let bench = Bench::sqlite();
    let run = bench.run(&["--url", "redis://me:hunter2@127.0.0.1:1/?timeout_ms=100", "queue"]);
    assert!(run.status == 2 && !run.err.contains("hunter2"), "{run:?}");
    let run = bench.run(&["redis://me:hunter2@127.0.0.1", "--json"]);
    assert_eq!(run.error()["status"], 2);
    assert!(!run.err.contains("hunter2"), "{run:?}");
    for topic in [
        &["help"][..],
        &["help", "exit-codes"],
        &["help", "environment"],
        &["help", "formatting"],
        &["help", "context", "add"],
        &["completion", "bash"],
        &["man"],
    ] {
        assert!(!bench.run(topic).ok().out.is_empty());
    }
    bench.run(&["man", "pages"]).ok();
    assert!(bench.folder.path().join("pages/leaseq-requeue.1").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn colour_is_used_only_if_it_is_wanted() {
    let bench = Bench::sqlite();
    let queue = bench.queue("q").await;
    queue.add_item(leaseq::Item::new("x")).await.unwrap();
    queue.pause().await.unwrap();
    let colored = |args: &[&str]| bench.run(args).ok().out.contains('\x1b');
    assert!(!colored(&["status", "--table"]));
    assert!(colored(&["status", "--table", "--color", "always"]));
    let terminal = |name: &str, value: &str| {
        let status = format!("{} status", env!("CARGO_BIN_EXE_leaseq"));
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &status, "/dev/null"]).env("LEASEQ_URL", &bench.url);
        script.env("TERM", "xterm").env_remove("NO_COLOR").env(name, value);
        finish(&mut script, b"").ok().out
    };
    assert!(terminal("A", "1").contains("\x1b["));
    assert!(!terminal("NO_COLOR", "1").contains("\x1b["));
    assert!(!terminal("TERM", "dumb").contains("\x1b["));
}
