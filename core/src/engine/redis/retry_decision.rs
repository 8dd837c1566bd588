//! What an error of the server or the network says about the operation.

use redis::{ErrorKind as RedisErrorKind, RedisError};

use super::place::Node;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RetryDecision {
    /// It was not executed: back off and retry.
    NotExecuted { reconnect: bool },
    /// It may have been executed: reconnect and retry the same operation.
    Unknown,
    /// It was executed, and too few replicas or disks have it: back off and retry the same operation.
    Unconfirmed,
    /// The server, or the rights of the user, do not let it be confirmed.
    Unconfirmable { executed: bool },
    /// The server does not know the script: send its text.
    LoadScript,
    /// The queue is extended: send the extended variant of the script. Nothing was executed.
    Extended,
    /// Another node of the cluster has the queue. An empty host means the one that was asked.
    Moved(Node),
    /// Another node of the cluster has the queue for the next request only.
    Ask(Node),
    /// A later operation of the same lane was executed instead.
    Superseded,
    /// The queue has another storage format. Nothing was executed.
    OtherFormat,
    /// An argument is larger than the server accepts. Nothing was executed.
    TooLarge,
    /// The user may not run the command, or touch its keys. Nothing was executed.
    Denied,
    /// Retrying would not help. The operation may have stopped half-way.
    PartiallyApplied,
}

impl RetryDecision {
    /// Whether the next attempt goes out without a pause.
    pub(super) fn retries_at_once(&self) -> bool {
        matches!(
            self,
            RetryDecision::LoadScript
                | RetryDecision::Extended
                | RetryDecision::Moved(_)
                | RetryDecision::Ask(_)
        )
    }

    /// Whether the connection cannot be used any more.
    pub(super) fn needs_new_connection(&self) -> bool {
        matches!(
            self,
            RetryDecision::Unknown
                | RetryDecision::TooLarge
                | RetryDecision::NotExecuted { reconnect: true }
        )
    }
}

/// The error for people, without the arguments that some servers quote.
pub(super) fn shown(error: &RedisError) -> String {
    let text = error.to_string();
    let text = text.split("with args beginning with").next().unwrap_or_default();
    text.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The decision on an error.
pub(super) fn retry_decision(error: &RedisError) -> RetryDecision {
    let not_executed = RetryDecision::NotExecuted { reconnect: false };
    // The second part is the slot.
    if let Some((address, _)) = error.redirect_node() {
        let node = address
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
        return match node {
            Some(node) if error.code() == Some("ASK") => RetryDecision::Ask(node),
            Some(node) => RetryDecision::Moved(node),
            None => not_executed,
        };
    }
    let Some(code) = error.code() else {
        return match error.kind() {
            RedisErrorKind::Client => not_executed,
            RedisErrorKind::AuthenticationFailed => RetryDecision::NotExecuted { reconnect: true },
            RedisErrorKind::UnexpectedReturnType => RetryDecision::PartiallyApplied,
            _ => RetryDecision::Unknown,
        };
    };
    let detail = error.detail().unwrap_or("");
    // A command inside a script failed: what the script wrote before stays.
    let inside = detail.contains("@user_script") || detail.contains("non local key");
    match code {
        _ if inside => RetryDecision::PartiallyApplied,
        "NOSCRIPT" => RetryDecision::LoadScript,
        "SUPERSEDED" => RetryDecision::Superseded,
        "EXTENDED" => RetryDecision::Extended,
        "FORMAT" => RetryDecision::OtherFormat,
        "READONLY" | "NOAUTH" => RetryDecision::NotExecuted { reconnect: true },
        "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "OOM" | "MISCONF"
        | "NOREPLICAS" | "BUSY" => not_executed,
        "NOPERM" => RetryDecision::Denied,
        "UNBLOCKED" => RetryDecision::Unknown,
        // Said before the argument has come in. The connection is closed then.
        "ERR" if detail.contains("invalid bulk length") => RetryDecision::TooLarge,
        _ if detail.contains("max number of clients") => {
            RetryDecision::NotExecuted { reconnect: true }
        }
        _ => RetryDecision::PartiallyApplied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::make_extension_error;

    fn server(code: &str, detail: &str) -> RetryDecision {
        retry_decision(&make_extension_error(code.into(), Some(detail.into())))
    }

    #[test]
    fn redirections_name_a_node() {
        let moved = |detail| match redis::parse_redis_value(detail) {
            Ok(value) => value.extract_error().map_err(|error| retry_decision(&error)),
            Err(error) => Err(retry_decision(&error)),
        };
        let node = |host: &str| (host.to_owned(), 7000);
        let asked = moved(b"-ASK 12 10.0.0.1:7000\r\n").unwrap_err();
        assert_eq!(asked, RetryDecision::Ask(node("10.0.0.1")));
        for (text, host) in
            [(&b"-MOVED 12 ::1:7000\r\n"[..], "::1"), (&b"-MOVED 12 :7000\r\n"[..], "")]
        {
            assert_eq!(moved(text).unwrap_err(), RetryDecision::Moved(node(host)));
        }
        let nonsense = moved(b"-MOVED 12 nowhere\r\n").unwrap_err();
        assert_eq!(nonsense, RetryDecision::NotExecuted { reconnect: false });
    }

    #[test]
    fn errors_fall_into_the_three_classes() {
        assert_eq!(server("OOM", "used memory"), RetryDecision::NotExecuted { reconnect: false });
        assert_eq!(server("READONLY", "replica"), RetryDecision::NotExecuted { reconnect: true });
        assert_eq!(server("UNBLOCKED", "x"), RetryDecision::Unknown);
        assert_eq!(
            server("NOPERM", "no permissions to run the 'x' command"),
            RetryDecision::Denied
        );
        assert_eq!(
            server("NOPERM", "x script: 1, on @user_script:3."),
            RetryDecision::PartiallyApplied
        );
        assert_eq!(
            server("WRONGTYPE", "x script: 1, on @user_script:3."),
            RetryDecision::PartiallyApplied
        );
        assert_eq!(
            server("READONLY", "x script: 1, on @user_script:3."),
            RetryDecision::PartiallyApplied
        );
        assert_eq!(server("SUPERSEDED", "x"), RetryDecision::Superseded);
        let too_large = "Protocol error: invalid bulk length";
        assert_eq!(server("ERR", too_large), RetryDecision::TooLarge);
        let io = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(retry_decision(&io.into()), RetryDecision::Unknown);
    }
}
