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
    /// Another node of the cluster has the queue. An empty host is the one that was asked.
    Moved(Node),
    /// Another node of the cluster has the queue for this once.
    Ask(Node),
    /// A later operation of the same lane was executed, and this one not.
    Overtaken,
    /// The queue has another storage format. Nothing was executed.
    OtherFormat,
    /// One of its arguments is larger than the server takes. Nothing was executed.
    TooLarge,
    /// The user may not run the command, or touch its keys. Nothing was executed.
    Denied,
    /// Retrying would not help. It may have stopped half-way.
    Torn,
}

/// The error for people. A server may repeat arguments that it was sent: these are cut off.
pub(super) fn shown(error: &RedisError) -> String {
    let text = error.to_string();
    let text = text.split("with args beginning with").next().unwrap_or_default();
    text.chars().take(300).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The verdict on an error.
pub(super) fn verdict(error: &RedisError) -> Verdict {
    let not_executed = Verdict::NotExecuted { reconnect: false };
    // The second part is the slot.
    if let Some((address, _)) = error.redirect_node() {
        let node = address
            .rsplit_once(':')
            .and_then(|(host, port)| Some((host.to_owned(), port.parse().ok()?)));
        return match node {
            Some(node) if error.code() == Some("ASK") => Verdict::Ask(node),
            Some(node) => Verdict::Moved(node),
            None => not_executed,
        };
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
        "FORMAT" => Verdict::OtherFormat,
        "READONLY" | "NOAUTH" => Verdict::NotExecuted { reconnect: true },
        "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "OOM" | "MISCONF"
        | "NOREPLICAS" | "BUSY" => not_executed,
        "NOPERM" => Verdict::Denied,
        "UNBLOCKED" => Verdict::Unknown,
        // Said before the argument has come in. The connection is closed then.
        "ERR" if detail.contains("invalid bulk length") => Verdict::TooLarge,
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
    fn redirections_name_a_node() {
        let moved = |detail| match redis::parse_redis_value(detail) {
            Ok(value) => value.extract_error().map_err(|error| verdict(&error)),
            Err(error) => Err(verdict(&error)),
        };
        let node = |host: &str| (host.to_owned(), 7000);
        let asked = moved(b"-ASK 12 10.0.0.1:7000\r\n").unwrap_err();
        assert_eq!(asked, Verdict::Ask(node("10.0.0.1")));
        for (text, host) in
            [(&b"-MOVED 12 ::1:7000\r\n"[..], "::1"), (&b"-MOVED 12 :7000\r\n"[..], "")]
        {
            assert_eq!(moved(text).unwrap_err(), Verdict::Moved(node(host)));
        }
        let nonsense = moved(b"-MOVED 12 nowhere\r\n").unwrap_err();
        assert_eq!(nonsense, Verdict::NotExecuted { reconnect: false });
    }

    #[test]
    fn errors_fall_into_the_three_classes() {
        assert_eq!(server("OOM", "used memory"), Verdict::NotExecuted { reconnect: false });
        assert_eq!(server("READONLY", "replica"), Verdict::NotExecuted { reconnect: true });
        assert_eq!(server("UNBLOCKED", "x"), Verdict::Unknown);
        assert_eq!(server("NOPERM", "no permissions to run the 'x' command"), Verdict::Denied);
        assert_eq!(server("NOPERM", "x script: 1, on @user_script:3."), Verdict::Torn);
        assert_eq!(server("WRONGTYPE", "x script: 1, on @user_script:3."), Verdict::Torn);
        assert_eq!(server("READONLY", "x script: 1, on @user_script:3."), Verdict::Torn);
        assert_eq!(server("OVERTAKEN", "x"), Verdict::Overtaken);
        let too_large = "Protocol error: invalid bulk length";
        assert_eq!(server("ERR", too_large), Verdict::TooLarge);
        let io = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert_eq!(verdict(&io.into()), Verdict::Unknown);
    }
}
