//! Programs outside the tree, built as users build them with the installed files.

use std::path::Path;
use std::process::Command;

use crate::installed::{Engine, HERE, STRICT, compile, prefix, succeed};
use crate::talk::Talk;

/// Uses the library, and defines a function whose name also exists in SQLite.
const CONSUMER: &str = r#"
#include <leaseq.h>
#include <stdio.h>
#include <string.h>
int sqlite3_open(const char *name, void **database);
int sqlite3_open(const char *name, void **database) { (void)name; *database = NULL; return 4711; }
int main(void) {
    leaseq_client *client = NULL;
    leaseq_queue *queue = NULL;
    void *mine = NULL;
    bool added = false;
    if (leaseq_connect("memory:", &client, NULL) != LEASEQ_OK) return 1;
    if (leaseq_client_queue(client, "q", &queue, NULL) != LEASEQ_OK) return 2;
    if (leaseq_queue_add_item(queue, "x", 1, NULL, &added, NULL) != LEASEQ_OK || !added) return 3;
    if (sqlite3_open("x", &mine) != 4711) return 4;
    leaseq_queue_free(&queue);
    leaseq_client_close(client, NULL);
    leaseq_client_free(&client);
    printf("version %s\n", leaseq_version());
    return 0;
}
"#;

/// Whether the program links the shared library.
fn is_shared(program: &Path) -> bool {
    succeed(Command::new("readelf").arg("-d").arg(program)).contains("[libleaseq.so.1]")
}

fn runs(program: &Path, lib: &Path) {
    let printed = succeed(Command::new(program).env("LD_LIBRARY_PATH", lib));
    assert_eq!(printed, format!("version {}\n", env!("CARGO_PKG_VERSION")));
}

fn with_pkg_config(prefix: &Path, libdir: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.c"), CONSUMER).unwrap();
    let lib = prefix.join(libdir);
    for (package, shared) in [("leaseq", true), ("leaseq-static", false)] {
        let command = format!("cc main.c -o {package} $(pkg-config --cflags --libs {package})");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(&folder);
        succeed(shell.env("PKG_CONFIG_PATH", lib.join("pkgconfig")));
        let program = folder.path().join(package);
        assert_eq!(is_shared(&program), shared, "{package}");
        runs(&program, &lib);
    }
    let mut version = Command::new("pkg-config");
    version.args(["--modversion", "leaseq"]).env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
    assert_eq!(succeed(&mut version).trim(), env!("CARGO_PKG_VERSION"));
}

#[test]
fn pkg_config_finds_both_libraries() {
    with_pkg_config(prefix(), "lib");
}

#[test]
fn another_place_for_libraries_is_found_too_and_a_staged_prefix_can_be_moved() {
    let stage = tempfile::tempdir().unwrap();
    let libdir = "lib/x86_64-linux-gnu";
    let mut make = Command::new("make");
    make.args(["-s", "-C", HERE, "-C", "..", "install-c", "PROFILE=dev", "PREFIX=/opt/leaseq"]);
    make.arg(format!("DESTDIR={}", stage.path().display())).arg(format!("LIBDIR={libdir}"));
    succeed(&mut make);
    let moved = stage.path().join("moved");
    std::fs::rename(stage.path().join("opt/leaseq"), &moved).unwrap();
    with_pkg_config(&moved, libdir);
    with_cmake(&moved, libdir);
}

const CMAKE: &str = "
cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(leaseq 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared leaseq::leaseq)
add_executable(static main.c)
target_link_libraries(static leaseq::static)
";

fn with_cmake(prefix: &Path, libdir: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.c"), CONSUMER).unwrap();
    std::fs::write(folder.path().join("CMakeLists.txt"), CMAKE).unwrap();
    let build = folder.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(folder.path()).arg("-B").arg(&build);
    configure.arg(format!("-DCMAKE_LIBRARY_ARCHITECTURE={}", libdir.trim_start_matches("lib/")));
    succeed(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    succeed(Command::new("cmake").arg("--build").arg(&build).env_remove("MAKEFLAGS"));
    for (name, shared) in [("shared", true), ("static", false)] {
        assert_eq!(is_shared(&build.join(name)), shared, "{name}");
        runs(&build.join(name), &prefix.join(libdir));
    }
}

#[test]
fn cmake_finds_both_libraries() {
    with_cmake(prefix(), "lib");
}

#[test]
fn cmake_refuses_a_version_with_another_interface() {
    let folder = tempfile::tempdir().unwrap();
    let other = CMAKE.replace("leaseq 0.1", "leaseq 0.2");
    std::fs::write(folder.path().join("CMakeLists.txt"), other).unwrap();
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(folder.path()).arg("-B").arg(folder.path().join("build"));
    configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix().display()));
    assert!(!configure.output().unwrap().status.success());
}

#[test]
fn the_examples_work_together() {
    let place = Engine::Redis.place();
    let program = |source: &str| {
        let mut command = Command::new(compile(place.folder.path(), source, &[]));
        command.arg("examples").env("LEASEQ_URL", &place.url);
        command
    };
    let mut producer = Talk::start(&mut program("examples/producer.c"));
    let mut worker = Talk::start(&mut program("examples/worker.c"));
    producer.tell("one");
    producer.tell("two");
    producer.ends_well();
    worker.says("attempt 1: one");
    worker.says("attempt 1: two");
    // It waits or is about to wait: either way it exits at once.
    worker.terminate();
    worker.ends_well();

    let mut event_loop = Talk::start(&mut program("examples/event_loop.c"));
    event_loop.tell("hello");
    event_loop.says("told: hello");
    let mut producer = Talk::start(&mut program("examples/producer.c"));
    producer.tell("three");
    producer.ends_well();
    event_loop.says("work: three");
    event_loop.ends_well();

    let printed = succeed(&mut program("examples/worker_cpp.cpp"));
    assert_eq!(printed, "working on your order\nworking on hello\nworking on goodbye\n");
    let printed = succeed(&mut program("tests/programs/turns.cpp"));
    assert_eq!(printed, "a b done done c done ");
    let printed = succeed(&mut program("tests/programs/history.cpp"));
    assert_eq!(printed, "failed expired \"no ink\" 2\nnone\nINVALID dead\n");
    let printed = succeed(&mut program("tests/programs/keys.cpp"));
    assert_eq!(printed, "a a b none 212 101 1\n");
    let printed = succeed(&mut program("tests/programs/schedules.cpp"));
    assert_eq!(printed, SCHEDULES);
    let printed = succeed(&mut program("tests/programs/jobs.cpp"));
    assert!(printed.ends_with(" checks\n"), "{printed}");
    let printed = succeed(&mut program("tests/programs/results.cpp"));
    let kept = "c completed \"1\"\nd completed \"nothing\"\ne completed \"\"\n";
    assert_eq!(
        printed,
        format!("101\n1\nb completed \"fine\"\n{kept}1\nf none \"nothing\"\nfine 1\n0\n0111\n")
    );
}

#[test]
fn the_worker_of_the_demo_does_as_it_is_told() {
    let place = Engine::File.place();
    let folder = place.folder.path();
    let add = |count: u32| {
        let lines: String = (0..count).map(|i| format!("item {i}\n")).collect();
        let mut producer = Command::new(compile(folder, "examples/producer.c", &[]));
        producer.arg("demo").env("LEASEQ_URL", &place.url);
        let mut producer = Talk::start(&mut producer);
        producer.tell(lines.trim());
        producer.ends_well();
    };
    let worker = compile(folder, "../integration-tests/testees/c/demo_worker.c", &[]);
    let results = folder.join("results");
    let mut command = Command::new(worker);
    command.arg("demo").arg(&results).args(["30000", "8"]).env("LEASEQ_URL", &place.url);
    let mut worker = Talk::start(&mut command);
    worker.says("resting");
    worker.tell("hold");
    add(8);
    let holding = worker.line();
    assert!(holding.starts_with("holding ") && holding != "holding 0", "{holding}");
    worker.says("quiet");
    worker.tell("go");
    let notes = || std::fs::read_to_string(&results).unwrap_or_default();
    let completed = || notes().matches("\"completed\":true").count() >= 8;
    let patience = std::time::Duration::from_secs(20);
    assert!(leaseq_test_support::eventually_blocking(patience, completed), "{}", notes());
    worker.tell("rest");
    worker.says("resting");
    worker.tell("quit");
    worker.ends_well();
    let digest = "f5201cf555e7b13e0dc1d8c025407e0d2d96eb5728d49be67c29becdc1ee44ba"; // by sha256sum
    assert!(notes().contains(&format!("\"sha256\":\"{digest}\"}}\n")), "{}", notes());
}

#[test]
fn the_benchmark_works() {
    let folder = tempfile::tempdir().unwrap();
    let mut compiler = Command::new("sh");
    let (lib, strict) = (prefix().join("lib"), STRICT.join(" "));
    let include = prefix().join("include");
    compiler.args([
        "-c",
        &format!(
            "cc {strict} -O2 -I{} bench/*.c -o {}/bench -L{} -lleaseq",
            include.display(),
            folder.path().display(),
            lib.display()
        ),
    ]);
    succeed(compiler.current_dir(HERE));
    let json = folder.path().join("bench.json");
    let mut bench = Command::new(folder.path().join("bench"));
    bench.args(["--quick", "--peers", "--json"]).arg(&json).env("LD_LIBRARY_PATH", &lib);
    let printed = succeed(&mut bench);
    assert!(printed.contains("leaseq, batches of 500 / beanstalkd: add"), "{printed}");
    let figures = std::fs::read_to_string(json).unwrap();
    assert_eq!(figures.matches("\"target\": \"5\"").count(), 16, "{figures}");
    assert_eq!(figures.matches("\"target\": \"13\"").count(), 5, "{figures}");
}

/// What `schedules.cpp` prints.
const SCHEDULES: &str = r#"111
report 0 9 * * mon-fri Europe/Berlin "yesterday" 3 5 7 8 3 9 11 customer 10 owner "app" 2 missed 5 010100
""
hourly report 000
2
11110000
3 hourly@
1ada sends twice
100
1800259200000 1800345600000 10
1 the interval of a schedule of 99 ms is not between 100 ms and 366 days
1 the name of a schedule "" has 0 bytes, not between 1 and 128
1 the name of a schedule has a NUL
1 the cron expression "* * *" has 3 fields, not 5 or 6
1 there is no time zone "Nowhere"
1 the zone has a NUL
1 the cron expression has a NUL
1 the owner has a NUL
1 the grace of -1 ms is negative
1 schedule "s": 1001 missed ticks are not between 1 and 1000
1 priority 10 is not between 0 and 9
1 the owner "" has 0 bytes, not between 1 and 128
1 two schedules are named "hourly"
1 the name of a schedule has a NUL
1 who pauses has a NUL
1 the reason of a pause has 257 bytes, which is over the limit of 256
1 1001 times are more than 1000
1 the time of -5 ms is before 1970
0
"#;
