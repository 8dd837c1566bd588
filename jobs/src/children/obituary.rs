//! Why a process has ended, in words: for the error of the job that it ran.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::JobError;

/// How a process has ended.
#[derive(Debug, Clone)]
pub(super) struct Obituary {
    pub(super) status: ExitStatus,
    /// The system has killed a process of this one's control group meanwhile, for want of memory.
    pub(super) oom_killed: bool,
    /// The last lines of its standard error.
    pub(super) last_words: String,
}

impl Obituary {
    /// The error of a job that has ended with its child.
    pub(super) fn error(&self) -> JobError {
        let class = if self.ran_out_of_memory() { "OutOfMemory" } else { "ChildDied" };
        let error = JobError::with_classes([class, "ChildDied"], self.cause());
        match self.last_words.is_empty() {
            true => error,
            false => error.trace(self.last_words.clone()),
        }
    }

    fn ran_out_of_memory(&self) -> bool {
        self.oom_killed && self.status.signal() == Some(libc_kill())
    }

    /// Without what it has said.
    fn cause(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            _ if self.ran_out_of_memory() => {
                "the child was killed by the system, which ran out of memory".to_owned()
            }
            (Some(code), _) => format!("the child ended with status {code} before its answer"),
            (_, Some(signal)) => format!("the child was killed by {}", signal_name(signal)),
            _ => "the child ended before its answer".to_owned(),
        }
    }
}

/// For messages about children that ran no job.
impl fmt::Display for Obituary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => write!(f, "it ended with status {code}")?,
            (_, Some(signal)) => write!(f, "it was killed by {}", signal_name(signal))?,
            _ => write!(f, "it ended")?,
        }
        match self.last_words.lines().last() {
            Some(line) => write!(f, "; its last line: {}", printable(line)),
            None => Ok(()),
        }
    }
}

/// Without control characters; quotation marks stay as they are.
fn printable(line: &str) -> String {
    line.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

fn libc_kill() -> i32 {
    rustix::process::Signal::KILL.as_raw()
}

fn signal_name(signal: i32) -> String {
    use rustix::process::Signal;
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::SYS, "SIGSYS"),
    ];
    match known.iter().find(|(known, _)| known.as_raw() == signal) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn died(wait_status: i32, oom_killed: bool, last_words: &str) -> Obituary {
        let status = ExitStatus::from_raw(wait_status);
        Obituary { status, oom_killed, last_words: last_words.to_owned() }
    }

    #[test]
    fn an_error_says_why_the_child_has_died() {
        let text = |obituary: Obituary| obituary.error().text();
        assert_eq!(text(died(11, false, "")), "ChildDied: the child was killed by SIGSEGV");
        assert_eq!(text(died(64, false, "")), "ChildDied: the child was killed by signal 64");
        assert_eq!(
            text(died(7 << 8, true, "Traceback\nno disk")),
            "ChildDied: the child ended with status 7 before its answer\nTraceback\nno disk"
        );
        let starved = died(9, true, "").error();
        assert_eq!(starved.classes(), ["OutOfMemory", "ChildDied"]);
        let quiet = died(0, false, "").to_string();
        assert_eq!(quiet, "it ended with status 0");
        let hostile = died(9, false, "a\nno 'b': \u{1b}[31mred").to_string();
        assert_eq!(hostile, "it was killed by SIGKILL; its last line: no 'b': \\u{1b}[31mred");
    }
}
