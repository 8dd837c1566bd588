//! A test that runs as a process of its own.

use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

/// A process that is killed in the end.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    /// Runs an ignored test of this program, one that does the work of a process, in a process.
    pub(crate) fn start(test: &str, environment: &[(&str, &str)]) -> Process {
        // A process that finds no test of the name succeeds.
        static TESTS: LazyLock<String> = LazyLock::new(|| {
            let mut list = Command::new(std::env::current_exe().unwrap());
            let list = list.args(["--list", "--ignored", "--format", "terse"]).output().unwrap();
            String::from_utf8(list.stdout).unwrap()
        });
        let listed = format!("{test}: test");
        assert!(TESTS.lines().any(|line| line == listed), "{test} is no ignored test");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
        command.envs(environment.iter().copied());
        Process(command.stdout(Stdio::null()).spawn().unwrap())
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// True if it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
