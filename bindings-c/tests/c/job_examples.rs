//! The examples of workers, as users build them.

use std::process::Command;

use crate::installed::{Engine, Place, compile, succeed};
use crate::talk::Talk;

fn program(place: &Place, source: &str) -> Command {
    let mut command = Command::new(compile(place.folder.path(), source, &[]));
    command.arg("examples").env("LEASEQ_URL", &place.url);
    command
}

fn enqueue(place: &Place, name: &str, args: &str) {
    succeed(program(place, "examples/jobs_producer.c").args([name, args]));
}

#[test]
fn a_pool_runs_functions_until_it_is_told_to_end() {
    let place = Engine::Redis.place();
    let mut pool = Talk::start(&mut program(&place, "examples/jobs_pool.c"));
    enqueue(&place, "welcome", r#"{"to":"ada"}"#);
    pool.says(r#"welcome, {"to":"ada"}"#);
    enqueue(&place, "flaky", "{}");
    pool.says("after TooBusy: at the first attempt");
    pool.terminate();
    pool.ends_well();
}

#[test]
fn an_event_loop_runs_jobs_beside_its_input() {
    let place = Engine::File.place();
    let mut event_loop = Talk::start(&mut program(&place, "examples/jobs_event_loop.c"));
    event_loop.tell("hello");
    event_loop.says("told: hello");
    for to in ["ada", "bob"] {
        let args = format!(r#"{{"to":"{to}"}}"#);
        enqueue(&place, "welcome", &args);
        event_loop.says(&format!("welcome, {args}"));
    }
    event_loop.ends_well();
}

#[test]
fn handlers_in_cpp_return_and_throw() {
    let place = Engine::Memory.place();
    let printed = succeed(&mut program(&place, "examples/jobs_cpp.cpp"));
    assert_eq!(printed, "attempt 2, after TooBusy: try again\nsum: 3\n");
}

#[test]
fn a_child_that_aborts_harms_no_other_job() {
    let place = Engine::File.place();
    let printed = succeed(&mut program(&place, "examples/jobs_children.cpp"));
    let died = "ChildDied: the child was killed by SIGABRT";
    assert_eq!(printed, format!("cat.png: \"small\"\nbroken.png: {died}\ndog.png: \"small\"\n"));
}

#[test]
fn the_worker_of_the_demo_with_a_handler_does_as_it_is_told() {
    let place = Engine::File.place();
    let folder = place.folder.path();
    let root = format!("-DROOT=\"{}\"", folder.display());
    let source = "../integration-tests/testees/c/demo_handler.c";
    let worker = compile(folder, source, &[&root, "-Wl,--no-as-needed", "-lcjson"]);
    std::fs::write(folder.join("a file"), "item 0").unwrap();
    let mut producer = Command::new(compile(folder, "examples/jobs_producer.c", &[]));
    producer.args(["demo.jobs", "demo.digest", r#"{"path":"a file","failures":1}"#]);
    succeed(producer.env("LEASEQ_URL", &place.url));
    let results = folder.join("results");
    let mut command = Command::new(worker);
    command.arg("demo").arg(&results).args(["30000", "8"]).env("LEASEQ_URL", &place.url);
    let mut worker = Talk::start(&mut command);
    worker.says("resting");
    worker.tell("go");
    let notes = || std::fs::read_to_string(&results).unwrap_or_default();
    let completed = || notes().contains("{\"id\":\"a file\",\"completed\":true}\n");
    let patience = std::time::Duration::from_secs(20);
    assert!(leaseq_test_support::eventually_blocking(patience, completed), "{}", notes());
    worker.tell("rest");
    worker.says("resting");
    worker.tell("quit");
    worker.ends_well();
    let digest = "f5201cf555e7b13e0dc1d8c025407e0d2d96eb5728d49be67c29becdc1ee44ba"; // by sha256sum
    assert!(notes().contains(&format!("\"sha256\":\"{digest}\"}}\n")), "{}", notes());
}
