//! What an error of the server or the network says about the operation.

use redis::{ErrorKind as RedisErrorKind, RedisError};

use super::address::Node;

#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// It was not executed: back off and retry.
    NotExecuted { reconnect: bool },
    /// It may have been executed: reconnect and retry the same operation.
    Unknown,
    /// The server does not know the script: send its text.
    Teach,
    /// Another node of the cluster has the queue.
    Moved(Node),
    /// Another node of the cluster has the queue for this once.
    Ask(Node),
    /// A later operation of the same lane was executed, and this one not.
    Overtaken,
    /// Retrying would not help. It may have stopped half-way.
    Torn,
}

/// The verdict on an error.
pub(super) fn verdict(error: &RedisError) -> Verdict {
    let not_executed = Verdict::NotExecuted { reconnect: false };
    if let Some((host, port)) = error.redirect_node() {
        let node = (host.to_owned(), port);
        return if error.code() == Some("ASK") { Verdict::Ask(node) } else { Verdict::Moved(node) };
    }
    let Some(code) = error.code() else {
        return match error.kind() {
            RedisErrorKind::Client => not_executed,
            RedisErrorKind::AuthenticationFailed => Verdict::NotExecuted { reconnect: true },
            RedisErrorKind::UnexpectedReturnType => Verdict::Torn,
            _ => Verdict::Unknown,
        };
    };
    let detail = error.detail().unwrap_or("");
    // Raised by a command inside a script: what it did before stays.
    let inside = detail.contains("@user_script") || detail.contains("non local key");
    match code {
        _ if inside => Verdict::Torn,
        "NOSCRIPT" => Verdict::Teach,
        "OVERTAKEN" => Verdict::Overtaken,
        "READONLY" | "NOAUTH" => Verdict::NotExecuted { reconnect: true },
        "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "OOM" | "MISCONF"
        | "NOREPLICAS" | "BUSY" | "NOPERM" => not_executed,
        "UNBLOCKED" => Verdict::Unknown,
        _ if detail.contains("max number of clients") => Verdict::NotExecuted { reconnect: true },
        _ => Verdict::Torn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::make_extension_error;

    fn server(code: &str, detail: &str) -> Verdict {
        verdict(&make_extension_error(code.into(), Some(detail.into())))
    }

    #[test]
    fn errors_fall_into_the_three_classes() {
        assert_eq!(server("OOM", "used memory"), Verdict::NotExecuted { reconnect: false });
        assert_eq!(server("READONLY", "replica"), Verdict::NotExecuted { reconnect: true });
        assert_eq!(server("UNBLOCKED", "x"), Verdict::Unknown);
        assert_eq!(server("WRONGTYPE", "x script: 1, on @user_script:3."), Verdict::Torn);
        assert_eq!(server("READONLY", "x script: 1, on @user_script:3."), Verdict::Torn);
        assert_eq!(server("OVERTAKEN", "x"), Verdict::Overtaken);
        let io = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(verdict(&io.into()), Verdict::Unknown);
    }
}
