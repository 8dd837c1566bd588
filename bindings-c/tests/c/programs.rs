//! Runs the programs in `tests/programs` on every engine, plain and under sanitizers and valgrind.

use std::process::Command;

use leaseq_test_support::Share;

use crate::installed::{Engine, HERE, Place, compile, prefix, succeed};

fn run(program: &str, engine: Engine) {
    watched(program, engine, &[], |_, command| Command::new(command));
}

/// Compiles a program with these flags, runs it under the command `by`, and asserts that it checked
/// something.
fn watched(
    program: &str,
    engine: Engine,
    flags: &[&str],
    by: impl FnOnce(&Place, &std::path::Path) -> Command,
) {
    let place = engine.place();
    let path = compile(place.folder.path(), &format!("tests/programs/{program}.c"), flags);
    let mut command = by(&place, &path);
    let printed = succeed(command.env("LEASEQ_URL", &place.url).current_dir(&place.folder));
    let checks = printed.trim().strip_suffix(" checks").map(str::parse::<u32>);
    assert!(matches!(checks, Some(Ok(10..))), "{printed}");
}

/// AddressSanitizer (which also finds leaks) and UndefinedBehaviorSanitizer.
fn sanitized(program: &str, engine: Engine) {
    let flags = ["-fsanitize=address,undefined", "-fno-sanitize-recover"];
    watched(program, engine, &flags, |_, path| {
        let mut command = Command::new(path);
        command.env("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0");
        command
    });
}

fn valgrind(program: &str, engine: Engine) {
    watched(program, engine, &[], |_, path| {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--fair-sched=yes"]);
        command.args(["--show-leak-kinds=definite,indirect,possible"]);
        command.args(["--errors-for-leak-kinds=definite,indirect,possible"]);
        command.arg(format!("--suppressions={HERE}/tests/valgrind.supp"));
        command.arg(path);
        command
    });
}

/// Makes a test for each program and engine. Programs `in_turn` run on one day each.
macro_rules! programs {
    ($run:ident: $($name:ident $program:literal $engine:ident;)*) => {$(
        #[test]
        fn $name() {
            $run($program, Engine::$engine);
        }
    )*};
    (in_turn $run:ident: $($name:ident $program:literal $engine:ident;)*) => {$(
        #[test]
        fn $name() {
            if Share::from_environment().has_named(concat!(module_path!(), "::", stringify!($name))) {
                $run($program, Engine::$engine);
            }
        }
    )*};
}

mod plain {
    use super::*;

    programs! { run:
        operations_in_memory "operations" Memory;
        operations_in_a_file "operations" File;
        operations_on_redis "operations" Redis;
        hostile_in_memory "hostile" Memory;
        hostile_in_a_file "hostile" File;
        hostile_on_redis "hostile" Redis;
        cancelled_in_a_file "cancelled" File;
        chains_in_memory "chains" Memory;
        chains_on_redis "chains" Redis;
        children_in_memory "children" Memory;
        children_in_a_file "children" File;
        children_on_redis "children" Redis;
        cancelled_on_redis "cancelled" Redis;
        follow_ups_in_memory "follow_ups" Memory;
        follow_ups_on_redis "follow_ups" Redis;
        groups_in_memory "groups" Memory;
        groups_on_redis "groups" Redis;
        history_in_memory "history" Memory;
        history_in_a_file "history" File;
        history_on_redis "history" Redis;
        jobs_in_memory "jobs" Memory;
        jobs_in_a_file "jobs" File;
        jobs_on_redis "jobs" Redis;
        results_in_memory "results" Memory;
        results_in_a_file "results" File;
        results_on_redis "results" Redis;
        settings_in_memory "settings" Memory;
        settings_in_a_file "settings" File;
        settings_on_redis "settings" Redis;
        turns_in_memory "turns" Memory;
        turns_in_a_file "turns" File;
        turns_on_redis "turns" Redis;
        waiting_in_memory "waiting" Memory;
        waiting_in_a_file "waiting" File;
        waiting_on_redis "waiting" Redis;
        threads_in_memory "threads" Memory;
        threads_in_a_file "threads" File;
        threads_on_redis "threads" Redis;
        errors_in_memory "errors" Memory;
        errors_on_redis "errors" Redis;
        sequences_in_a_file "sequences" File;
        sequences_on_redis "sequences" Redis;
        fork_in_memory "fork" Memory;
        fork_in_a_file "fork" File;
        fork_on_redis "fork" Redis;
    }
}

mod address_sanitizer {
    use super::*;

    programs! { in_turn sanitized:
        operations_in_a_file "operations" File;
        operations_on_redis "operations" Redis;
        hostile_in_memory "hostile" Memory;
        hostile_on_redis "hostile" Redis;
        chains_in_memory "chains" Memory;
        children_in_memory "children" Memory;
        follow_ups_in_memory "follow_ups" Memory;
        groups_in_memory "groups" Memory;
        history_in_memory "history" Memory;
        history_on_redis "history" Redis;
        jobs_in_memory "jobs" Memory;
        jobs_on_redis "jobs" Redis;
        results_in_memory "results" Memory;
        results_on_redis "results" Redis;
        settings_in_memory "settings" Memory;
        turns_in_memory "turns" Memory;
        turns_on_redis "turns" Redis;
        waiting_in_memory "waiting" Memory;
        waiting_on_redis "waiting" Redis;
        threads_in_memory "threads" Memory;
        threads_on_redis "threads" Redis;
        errors_on_redis "errors" Redis;
        sequences_in_memory "sequences" Memory;
        sequences_on_redis "sequences" Redis;
    }
}

mod valgrind {
    use super::*;

    programs! { in_turn valgrind:
        operations_in_memory "operations" Memory;
        operations_on_redis "operations" Redis;
        hostile_in_memory "hostile" Memory;
        hostile_on_redis "hostile" Redis;
        history_in_memory "history" Memory;
        history_on_redis "history" Redis;
        jobs_in_memory "jobs" Memory;
        jobs_on_redis "jobs" Redis;
        results_in_memory "results" Memory;
        results_on_redis "results" Redis;
        turns_in_memory "turns" Memory;
        turns_on_redis "turns" Redis;
        waiting_in_memory "waiting" Memory;
        waiting_on_redis "waiting" Redis;
        threads_in_memory "threads" Memory;
        errors_on_redis "errors" Redis;
    }
}

/// The library is not instrumented: ThreadSanitizer sees only the program's own accesses, and
/// memory shared with the library through calls of the C library.
mod thread_sanitizer {
    use super::*;

    fn watched_threads(program: &str, engine: Engine) {
        let flags = ["-fsanitize=thread"];
        watched(program, engine, &flags, |_, path| {
            let mut command = Command::new(path);
            let options = format!("suppressions={HERE}/tests/tsan.supp:halt_on_error=1");
            command.env("TSAN_OPTIONS", options);
            command
        });
    }

    programs! { in_turn watched_threads:
        threads_in_memory "threads" Memory;
        threads_on_redis "threads" Redis;
        waiting_on_redis "waiting" Redis;
    }
}

#[test]
fn only_the_librarys_own_names_are_exported() {
    for (flags, file) in [("-D", "libleaseq.so"), ("-g", "libleaseq.a")] {
        let mut nm = Command::new("nm");
        nm.args([flags, "--defined-only", "-P"]).arg(prefix().join("lib").join(file));
        let printed = succeed(&mut nm);
        let names: Vec<&str> =
            printed.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name).collect();
        let own = names.iter().filter(|name| name.starts_with("leaseq_")).count();
        assert!(own > 100, "{file}: {own}");
        let other: Vec<_> = names.iter().filter(|name| !name.starts_with("leaseq_")).collect();
        let archive = other.iter().all(|name| name.starts_with("libleaseq.a["));
        assert!(other.is_empty() || archive, "{file}: {other:?}");
    }
}
