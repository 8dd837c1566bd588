//! Who must have a change before its caller gets the answer: replicas, and disks.

use std::time::Duration;

use redis::{Cmd, RedisError, RedisResult, Value, cmd, from_redis_value};

use super::failure::Failure;
use super::retry_decision::{RetryDecision, shown};
use crate::options::{ConnectOptions, Fsync};

/// What a client asks for. A client that asks for nothing has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Confirmation {
    /// How many replicas must have received a change.
    replicas: u32,
    fsync: Option<Fsync>,
}

/// A command that waits for what its own connection has written before.
#[derive(Clone, Copy)]
enum Wait {
    /// Until so many replicas have received it (`WAIT`).
    Received(u32),
    /// Until it is on the server's disk and on those of so many replicas (`WAITAOF`).
    Stored(u32),
}

impl Confirmation {
    pub(super) fn of(options: &ConnectOptions) -> Option<Self> {
        let ConnectOptions { replicas, fsync, .. } = *options;
        (replicas > 0 || fsync.is_some()).then_some(Confirmation { replicas, fsync })
    }

    /// How many replicas have every change that was confirmed.
    pub(super) fn replicas(self) -> u32 {
        self.replicas.max(self.stored().unwrap_or(0))
    }

    /// On the disks of how many replicas a confirmed change is, besides that of the server; `None`: on no disk.
    pub(super) fn stored(self) -> Option<u32> {
        self.fsync.map(|fsync| match fsync {
            Fsync::Local => 0,
            Fsync::Replicas(count) => count,
        })
    }

    /// How much longer than everything else disks may take: servers may write to them, and replicas report that,
    /// once a second.
    pub(super) fn disk_time(self) -> Duration {
        if self.fsync.is_some() { Duration::from_millis(1_500) } else { Duration::ZERO }
    }

    /// The commands that wait, as the server's list of rights names them.
    pub(super) fn rights(self) -> impl Iterator<Item = &'static str> {
        self.waits().map(Wait::name)
    }

    /// The commands that wait until it is confirmed, all together for this long at most.
    pub(super) fn commands(self, limit: Duration) -> Vec<Cmd> {
        let waits: Vec<Wait> = self.waits().collect();
        // 0 would mean without a limit.
        let ms = (limit.as_millis() as u64 / waits.len() as u64).max(1);
        waits.into_iter().map(|wait| wait.command(wait.count(), ms)).collect()
    }

    /// Says whether it is confirmed, by the replies to [`commands`](Self::commands).
    pub(super) fn judge(
        self,
        replies: impl Iterator<Item = RedisResult<Value>>,
        limit: Duration,
    ) -> Result<(), Failure> {
        for (wait, reply) in self.waits().zip(replies) {
            let lacks = match reply.and_then(|reply| wait.lacks(reply)) {
                Ok(None) => continue,
                Ok(Some(lacks)) => lacks,
                Err(error) => return Err(wait.failure(&error)),
            };
            let message = format!("after {} ms {lacks}", limit.as_millis());
            return Err(Failure::new(RetryDecision::Unconfirmed, message));
        }
        Ok(())
    }

    /// The same commands, which return at once, to find out whether the server knows and allows them.
    pub(super) fn probes(self) -> [Option<Cmd>; 2] {
        let mut probes = self.waits().map(|wait| wait.command(0, 1));
        [probes.next(), probes.next()]
    }

    /// Says why the server cannot confirm anything, by the replies to [`probes`](Self::probes).
    pub(super) fn refusal(self, replies: [RedisResult<Value>; 2]) -> Option<String> {
        let mut refusals = self.waits().zip(replies);
        refusals.find_map(|(wait, reply)| wait.refusal(&reply.err()?))
    }

    fn waits(self) -> impl Iterator<Item = Wait> {
        let stored = self.stored();
        // What is on a replica's disk was received by it.
        let received = Some(self.replicas).filter(|count| *count > stored.unwrap_or(0));
        received.map(Wait::Received).into_iter().chain(stored.map(Wait::Stored))
    }
}

impl Wait {
    fn name(self) -> &'static str {
        match self {
            Wait::Received(_) => "wait",
            Wait::Stored(_) => "waitaof",
        }
    }

    fn count(self) -> u32 {
        let (Wait::Received(count) | Wait::Stored(count)) = self;
        count
    }

    fn command(self, replicas: u32, ms: u64) -> Cmd {
        let mut command = match self {
            Wait::Received(_) => cmd("WAIT"),
            Wait::Stored(_) => {
                let mut command = cmd("WAITAOF");
                command.arg(1);
                command
            }
        };
        command.arg(replicas).arg(ms);
        command
    }

    /// What is not confirmed, by the reply; `None`: all is.
    fn lacks(self, reply: Value) -> RedisResult<Option<String>> {
        Ok(match self {
            Wait::Received(wanted) => {
                let found: u64 = from_redis_value(reply)?;
                (found < wanted.into()).then(|| format!("{found} of {wanted} replicas have it"))
            }
            Wait::Stored(wanted) => {
                let (local, found): (u64, u64) = from_redis_value(reply)?;
                let on_disks = || format!("{found} of {wanted} replicas have it on their disks");
                match local {
                    0 => Some("the server does not have it on its disk".into()),
                    _ => (found < wanted.into()).then(on_disks),
                }
            }
        })
    }

    /// The failure after everything before the command was executed.
    fn failure(self, error: &RedisError) -> Failure {
        match self.refusal(error) {
            Some(refusal) => Failure::new(RetryDecision::Unconfirmable { executed: true }, refusal),
            // Such as a master that has become a replica meanwhile.
            None => Failure::new(RetryDecision::Unknown, shown(error)),
        }
    }

    /// What somebody must change before the server executes the command at all.
    fn refusal(self, error: &RedisError) -> Option<String> {
        let name = self.name();
        let option = match self {
            Wait::Received(_) => "replicas",
            Wait::Stored(_) => "fsync",
        };
        let detail = error.detail().unwrap_or("");
        match error.code() {
            Some("NOPERM") => Some(format!(
                "the user may not run {name}, which option {option} needs; grant +{name}"
            )),
            _ if detail.contains("unknown command") => Some(format!(
                "the server does not know {name}, which option {option} needs; Redis 7.2 and Valkey \
                 7.2 or newer do"
            )),
            _ if detail.contains("appendonly is disabled") => Some(format!(
                "option {option} needs an append-only file: set appendonly to yes on the server"
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::make_extension_error;

    fn confirmation(replicas: u32, fsync: Option<Fsync>) -> Option<Confirmation> {
        let options = ConnectOptions { replicas, fsync, ..ConnectOptions::default() };
        Confirmation::of(&options)
    }

    fn sent(replicas: u32, fsync: Option<Fsync>) -> Vec<String> {
        let commands = confirmation(replicas, fsync).unwrap().commands(Duration::from_secs(1));
        let text = |command: &Cmd| String::from_utf8(command.get_packed_command()).unwrap();
        let words = |text: String| {
            let words = text.split("\r\n").filter(|word| !word.starts_with(['$', '*']));
            words.collect::<Vec<_>>().join(" ").trim().to_owned()
        };
        commands.iter().map(text).map(words).collect()
    }

    #[test]
    fn only_what_is_asked_for_is_waited_for() {
        assert_eq!(confirmation(0, None), None);
        assert_eq!(sent(2, None), ["WAIT 2 1000"]);
        assert_eq!(sent(0, Some(Fsync::Local)), ["WAITAOF 1 0 1000"]);
        assert_eq!(sent(2, Some(Fsync::Local)), ["WAIT 2 500", "WAITAOF 1 0 500"]);
        assert_eq!(sent(2, Some(Fsync::Replicas(1))), ["WAIT 2 500", "WAITAOF 1 1 500"]);
        assert_eq!(sent(1, Some(Fsync::Replicas(1))), ["WAITAOF 1 1 1000"]);
        let short = confirmation(1, None).unwrap().commands(Duration::ZERO);
        assert!(
            short[0].get_packed_command().ends_with(b"1\r\n1\r\n$1\r\n1\r\n"),
            "never for ever"
        );
    }

    #[test]
    fn too_few_confirmations_are_counted_and_errors_classified() {
        let asked = confirmation(2, Some(Fsync::Replicas(1))).unwrap();
        let judge = |received: u64, local: u64, stored: u64| {
            let stored = Value::Array(vec![Value::Int(local as i64), Value::Int(stored as i64)]);
            let replies = [Ok(Value::Int(received as i64)), Ok(stored)];
            asked.judge(replies.into_iter(), Duration::from_millis(7))
        };
        assert!(judge(2, 1, 1).is_ok() && judge(3, 1, 2).is_ok());
        for (lacking, message) in [
            (judge(1, 1, 1), "after 7 ms 1 of 2 replicas have it"),
            (judge(2, 0, 1), "after 7 ms the server does not have it on its disk"),
            (judge(2, 1, 0), "after 7 ms 0 of 1 replicas have it on their disks"),
        ] {
            let failure = lacking.unwrap_err();
            assert_eq!(failure.decision, RetryDecision::Unconfirmed);
            assert_eq!(failure.message, message);
        }
        let error = |code: &str, detail: &str| {
            let error = make_extension_error(code.into(), Some(detail.into()));
            let asked = confirmation(0, Some(Fsync::Local)).unwrap();
            asked.judge([Err(error)].into_iter(), Duration::ZERO).unwrap_err()
        };
        for (code, detail, named) in [
            ("NOPERM", "this user has no permissions to run the 'waitaof' command", "+waitaof"),
            ("ERR", "unknown command 'WAITAOF', with args beginning with: '1' ", "Redis 7.2"),
            (
                "ERR",
                "WAITAOF cannot be used when numlocal is set but appendonly is disabled.",
                "appendonly to yes",
            ),
        ] {
            let failure = error(code, detail);
            assert_eq!(failure.decision, RetryDecision::Unconfirmable { executed: true });
            assert!(failure.message.contains(named), "{}", failure.message);
        }
        for (code, detail) in [
            ("ERR", "WAITAOF cannot be used with replica instances."),
            ("UNBLOCKED", "force unblock from blocking operation"),
        ] {
            assert_eq!(error(code, detail).decision, RetryDecision::Unknown);
        }
    }
}
