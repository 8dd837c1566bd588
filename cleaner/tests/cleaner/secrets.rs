//! No output contains a password, whatever the form and the place of the URL.

use std::process::Command;

use leaseq_test_support::{RedisServer, eventually_blocking};
use rustix::process::Signal;

use crate::support::{Cleaner, SOON, command, ended};

const SECRET: &str = "hunter2";

/// URLs with the secret in every place, most of them invalid. No server listens on port 1.
const URLS: [&str; 22] = [
    "redis://:hunter2@127.0.0.1:1/?timeout_ms=50",
    "redis://user:hunter2@127.0.0.1:1/?timeout_ms=50",
    "redis://hunter2@127.0.0.1:1/?timeout_ms=50",
    "redis://127.0.0.1:1/?password=hunter2&timeout_ms=50",
    "redis://127.0.0.1:1/?timeout_ms=50&%70assword=hunter2",
    "redis://127.0.0.1:1/?pasword=hunter2",
    "redis://127.0.0.1:1/?timeout_ms=hunter2",
    "redis://127.0.0.1:1/hunter2",
    "redis://127.0.0.1:1/#hunter2",
    "redis://user:hu/nter2:hunter2@127.0.0.1:1/",
    "redis://user:?hunter2@127.0.0.1:1/",
    "redis://user:#hunter2@127.0.0.1:1/",
    "redis://user:@hunter2@127.0.0.1:1/?timeout_ms=50",
    "redis://user:hunter2",
    "redis:user:hunter2@127.0.0.1:1",
    "user:hunter2@127.0.0.1:1",
    "hunter2@127.0.0.1:1",
    "http://user:hunter2@127.0.0.1:1/",
    "rediss://user:hunter2@127.0.0.1:1/?ca_file=/not/there.pem&timeout_ms=50",
    "redis+sentinel://127.0.0.1:1,user:hunter2@127.0.0.1:1/m?timeout_ms=50",
    "redis+cluster://user:hunter2@127.0.0.1:1?timeout_ms=50",
    "redis://user:hunter2%0aline@127.0.0.1:1/?timeout_ms=50",
];

fn says_nothing(what: &str, output: &str) {
    assert!(!output.contains(SECRET), "{what}: {output}");
}

/// Runs a command to its end, with SIGTERM if it does not end by itself.
fn outputs(what: &str, mut command: Command) {
    let child = command.args(["--listen", "none"]).stdout(std::process::Stdio::piped());
    let child = child.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let (done, is_done) = std::sync::mpsc::channel();
    let stopper = std::thread::spawn(move || {
        if is_done.recv_timeout(std::time::Duration::from_millis(1_000)).is_err() {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
    });
    let output = child.wait_with_output().unwrap();
    let _ = done.send(());
    stopper.join().unwrap();
    for bytes in [output.stdout, output.stderr] {
        says_nothing(what, &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn no_mode_prints_a_secret() {
    for url in URLS {
        for mode in ["--print-config", "--check", "--once", "--doctor", "--help"] {
            let (_, out, log) = ended(command(&["--url", url, mode]));
            says_nothing(&format!("{url} {mode}"), &(out + &log));
        }
    }
    for url in ["memory:", "redis://127.0.0.1:1/?password=hunter2"] {
        let mut help = command(&["--help"]);
        for name in ["LEASEQ_URL", "LEASEQ_CLEANER_LISTEN", "LEASEQ_CLEANER_CONFIG"] {
            help.env(name, if url == "memory:" { "redis://:hunter2@h" } else { url });
        }
        let (status, out, log) = ended(help);
        assert_eq!(status, 0);
        says_nothing("--help", &(out + &log));
    }
}

#[test]
fn no_daemon_logs_a_secret() {
    for url in URLS {
        for level in ["error", "debug"] {
            let mut command = command(&["--log-level", level]);
            command.env("LEASEQ_URL", url).env("RUST_LOG", "trace");
            outputs(url, command);
        }
    }
}

#[test]
fn no_message_about_a_mistake_quotes_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    let path = file.to_str().unwrap();
    let url = "redis://user:hunter2@h/";
    for args in [
        vec![url],
        vec!["--ulr", url],
        vec!["--ulr=redis://user:hunter2@h/"],
        vec!["--url", "memory:", "--once=redis://user:hunter2@h/"],
        vec!["--url", "memory:", "--listen", url, "--check"],
        vec!["--url", "memory:", "--queue", url, "--check"],
        vec!["--url", "memory:", "--light-interval", url, "--check"],
        vec!["--url", "memory:", "--log-level", url, "--check"],
        vec!["--url", url, "--log-format", url, "--check"],
        vec!["--config", url, "--check"],
        vec!["--url", url, "--nothing"],
        vec!["--url", "h?password=hunter2", "h?password=hunter2"],
    ] {
        let (status, out, log) = ended(command(&args));
        assert_eq!(status, 2, "{args:?}");
        says_nothing(&format!("{args:?}"), &(out + &log));
    }
    for name in ["LISTEN", "QUEUES", "LIGHT_INTERVAL", "LOG_LEVEL", "CONFIG"] {
        let mut command = command(&["--url", "memory:", "--check"]);
        command.env(format!("LEASEQ_CLEANER_{name}"), url);
        let (status, out, log) = ended(command);
        assert_eq!(status, 2, "{name}");
        says_nothing(name, &(out + &log));
    }
    for text in [
        "queues = 'redis://user:hunter2@h'",
        "queues = ['redis://user:hunter2@h']",
        "listen = 'redis://user:hunter2@h'",
        "light_interval = 'redis://user:hunter2@h'",
        "log_level = 'redis://user:hunter2@h'",
        "log_format = 'redis://user:hun hunter2 ter2@h'",
        "'redis://user:hunter2@h' = 1",
        "url = 'redis://user:hunter2@h",
        "url = ['redis://user:hunter2@h']",
        "url = 'redis://user:hunter2@h'\nurl = 'redis://user:hunter2@h'",
        "url 'redis://user:hunter2@h'",
        "url = redis://user:hunter2@h",
    ] {
        std::fs::write(&file, text).unwrap();
        let (status, out, log) = ended(command(&["--config", path, "--check"]));
        assert_eq!(status, 2, "{text}: {log}");
        says_nothing(text, &(out + &log));
    }
}

#[test]
fn neither_logs_nor_answers_of_a_cleaner_that_works_have_one() {
    let mut server = RedisServer::builder().password(SECRET).start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    let rest = "listen = \"127.0.0.1:0\"\nlog_format = \"json\"\nlog_level = \"debug\"\n";
    let good = format!("redis://127.0.0.1:{}/?timeout_ms=2000&password={SECRET}", server.port());
    std::fs::write(&file, format!("url = {good:?}\n{rest}")).unwrap();
    let mut cleaner = Cleaner::spawn(command(&["--config", file.to_str().unwrap()]));
    cleaner.wait_ready();
    let ask = || {
        for path in ["/healthz", "/readyz", "/metrics", "/queues.json", "/config", "/"] {
            says_nothing(path, &cleaner.get(path).1);
        }
    };
    ask();
    for (i, url) in URLS.iter().enumerate() {
        std::fs::write(&file, format!("url = {url:?}\n{rest}")).unwrap();
        cleaner.signal(Signal::HUP);
        let refused = || cleaner.logged("not reloaded") > i;
        assert!(eventually_blocking(SOON, refused), "{url}: {:#?}", cleaner.logs());
    }
    server.kill();
    assert!(eventually_blocking(SOON, || !cleaner.is_ready()));
    ask();
    assert_eq!(cleaner.stop().code(), Some(0));
    says_nothing("the log", &cleaner.logs().join("\n"));
}
