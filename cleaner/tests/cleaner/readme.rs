//! Runs the commands of the book's pages on operating and security.

use std::process::{Command, Stdio};

use leaseq_test_support::{Port, RedisServer};

use crate::support::command;

const PAGES: [&str; 2] =
    [include_str!("../../../docs/operating.md"), include_str!("../../../docs/security.md")];

/// The commands of the pages, block by block.
fn blocks() -> Vec<&'static str> {
    let of_page = |page: &'static str| page.split("```sh\n").skip(1);
    PAGES.into_iter().flat_map(of_page).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn its_commands_work_word_for_word() {
    let blocks = blocks();
    assert!(blocks.len() >= 3);
    // Not run: the test uses the binary that cargo has built.
    let install = "cargo install --locked --path leaseq/cleaner\n";
    assert!(blocks[0].starts_with(install), "{}", blocks[0]);
    let folder = tempfile::tempdir().unwrap();
    let server = RedisServer::start();
    let port = Port::reserve();
    let free = format!("127.0.0.1:{}", port.number());
    let commands = blocks.concat().replace(install, "");
    // Ports are replaced: other programs may use them on this machine.
    let commands = commands.replace("redis://127.0.0.1/", &server.url());
    let commands = commands.replace("127.0.0.1:9470", &free);
    let commands = commands.replace("redis-cli", &format!("redis-cli -p {}", server.port()));
    let users = concat!(env!("CARGO_MANIFEST_DIR"), "/../core/docs/users.acl");
    let commands = commands.replace("leaseq/core/docs/users.acl", users);
    let binary = command(&[]).get_program().to_owned();
    let folder_of_binary = std::path::Path::new(&binary).parent().unwrap().display().to_string();
    let path = format!("{folder_of_binary}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", &commands]).current_dir(folder.path());
    shell.env("PATH", path).env("LEASEQ_CLEANER_LISTEN", free);
    shell.env_remove("LEASEQ_URL").env_remove("REDIS_URL");
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, log) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{commands}\n{out}\n{log}");
    for said in ["durability: full", "no queues", "ready", "\"queues\"", "leaseq_up 1", "+blpop"] {
        assert!(out.contains(said), "{said} is not in\n{out}\n{log}");
    }
    assert!(log.contains("cleaner stopped"), "{log}");
}
