//! The demo reports correctly, in a file of its own and on a given URL.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use leaseq_test_support::{RedisServer, eventually_blocking, http};

fn demo() -> Command {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_demo")).with_file_name("leaseq");
    if !program.exists() {
        let mut build = Command::new(env!("CARGO"));
        assert!(build.args(["build", "-q", "-p", "leaseq-cli"]).status().unwrap().success());
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo"));
    command.env_remove("LEASEQ_URL").env_remove("REDIS_URL");
    command
}

fn demo_at(url: &str) -> Output {
    demo().env("LEASEQ_URL", url).output().unwrap()
}

/// The output of a successful demo.
fn screen(output: Output) -> String {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (screen, errors) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{}\n{screen}\n{errors}", output.status);
    assert!(
        screen.contains("\nnothing lost, one completion each, all digests right\n"),
        "{screen}"
    );
    for name in ["items", "completions", "killed", "stopped", "jobs", "expiries", "time", "engine"]
    {
        assert!(screen.lines().any(|line| line.trim().starts_with(name)), "{name}: {screen}");
    }
    assert_eq!(number(&screen, "completions"), number(&screen, "items"), "{screen}");
    assert!(number(&screen, "expiries") >= 2, "{screen}");
    assert!(number(&screen, "jobs") >= 10 && !screen.contains(" 0 retried"), "{screen}");
    screen
}

/// The first number in the line that begins with this word.
fn number(screen: &str, word: &str) -> u64 {
    let line = screen.lines().find_map(|line| line.trim().strip_prefix(word)).unwrap();
    let digits = |c: char| c.is_ascii_digit();
    let from = &line[line.find(digits).unwrap()..];
    from[..from.find(|c| !digits(c)).unwrap_or(from.len())].parse().unwrap()
}

#[test]
fn it_succeeds_without_a_server_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let output = demo().env("TMPDIR", temporary.path()).output().unwrap();
    let screen = screen(output);
    assert!(screen.contains("embedded SQLite, one file, synchronous=full\n"), "{screen}");
    assert_eq!(temporary.path().read_dir().unwrap().count(), 0);
    let next: Vec<&str> = screen.lines().skip_while(|line| *line != "try next:").skip(1).collect();
    assert_eq!(next.len(), 3, "{screen}");
    std::fs::create_dir(temporary.path().join("build")).unwrap();
    for (command, expected) in next.iter().zip(["\n", "greetings\t1\t", "hello, queue"]) {
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", command]).current_dir(temporary.path()).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && out.contains(expected), "{command}: {out}");
    }
}

#[test]
fn it_shows_itself_in_a_console_while_it_runs() {
    let mut demo =
        demo().arg("--console").stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines().map(Result::unwrap);
    let link = lines.next().unwrap().replace("the console is at http://", "");
    let (address, path) = link.split_once('/').unwrap();
    let queue = lines.next().unwrap().replace("the queue is ", "");
    let get = |path: &str| http(address, &format!("GET {path}"), "", "");
    assert!(get(&format!("/{path}")).contains("<form"), "a link only asks");
    assert!(get("/").starts_with("HTTP/1.1 303"), "nobody looks without a login");
    assert!(queue.starts_with("demo-"), "{queue}");
    let token = path.split_once("token=").unwrap().1;
    let signed_in = http(address, "POST /login", "", &format!("token={token}"));
    let set = signed_in.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let cookie = set.unwrap_or_else(|| panic!("{signed_in}")).split(';').next().unwrap();
    let see =
        |path: &str| http(address, &format!("GET {path}"), &format!("cookie: {cookie}\r\n"), "");
    // The demo says which queue it will fill.
    let path = format!("/queues/{queue}");
    let is_there = || see(&path).starts_with("HTTP/1.1 200");
    assert!(eventually_blocking(Duration::from_secs(20), is_there), "{}", see(&path));
    // The counts change while the workers run.
    let numbers =
        || see(&format!("/queues/{queue}/numbers")).split_once("\r\n\r\n").unwrap().1.to_owned();
    let first = numbers();
    assert!(first.contains("\"ready\""), "{first}");
    let live = eventually_blocking(Duration::from_secs(20), || numbers() != first);
    assert!(live, "always {first}");
    // It goes on without anybody who looks.
    let rest: Vec<String> = lines.collect();
    assert!(demo.wait().unwrap().success(), "{rest:?}");
    assert!(TcpStream::connect(address).is_err(), "the console has ended");
}

#[test]
fn it_uses_a_file_that_it_is_given_and_leaves_no_items_there() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?synchronous=normal", folder.path().join("given.db").display());
    let screen = screen(demo_at(&url));
    assert!(screen.contains(&format!("{url}, by LEASEQ_URL")), "{screen}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = leaseq::Client::connect(&url).await.unwrap();
        let queues = client.queues().await.unwrap();
        assert_eq!(queues.len(), 1, "{queues:?}");
        let counts = client.queue(&queues[0]).unwrap().counts().await.unwrap();
        assert_eq!(counts.ready + counts.delayed + counts.leased + counts.dead, 0, "{counts:?}");
        client.close().await;
    });
}

#[test]
fn it_uses_a_server_that_it_is_given_and_leaves_no_items_there() {
    let server = RedisServer::builder().password("secret").start();
    let screen = screen(demo_at(&server.url()));
    let shown = format!("redis://***@127.0.0.1:{}/, by LEASEQ_URL", server.port());
    assert!(screen.contains(&shown), "{screen}");
    assert!(!screen.contains("secret"), "{screen}");
    let keys = server.cli(&["KEYS", "*"]);
    for key in keys.lines() {
        let small = ["leaseq:queues", ":meta", ":lanes"].iter().any(|end| key.ends_with(end));
        // Wake tokens may be left: a client that ends puts back the token that it took.
        let wake = || server.cli(&["LRANGE", key, "0", "-1"]);
        let tokens = key.ends_with(":wake") && wake().lines().all(|token| token == "1");
        assert!(small || tokens, "left behind: {keys}");
    }
}

#[test]
fn it_shows_no_password_of_a_url_that_is_wrong() {
    for url in [
        "redis://user:hunter2@127.0.0.1:1/",
        "redis://user:hun/ter2hunter2@127.0.0.1:1/",
        "redis://127.0.0.1:1/?pasword=hunter2",
        "redis://127.0.0.1:1/?user=u&password=hunter2",
        "redis://user:hunter2",
        "user:hunter2@127.0.0.1:1",
    ] {
        let output = demo().env("LEASEQ_URL", url).env("RUST_LOG", "trace").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        for shown in [output.stdout, output.stderr] {
            let shown = String::from_utf8(shown).unwrap();
            assert!(!shown.contains("hunter2"), "{url}: {shown}");
        }
    }
}

#[test]
fn it_fails_where_several_processes_cannot_meet() {
    for (url, why) in
        [("redis://127.0.0.1:1/", "did not come to an end"), ("memory:", "one process only")]
    {
        let output = demo_at(url);
        assert_eq!(output.status.code(), Some(1));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(why), "{url}: {errors}");
    }
}
