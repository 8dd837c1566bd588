//! How a handler fails.

use std::any::type_name;
use std::fmt;
use std::time::Duration;

/// The error of a handler: class names, by which [`Retry`](crate::Retry) decides, a message, and what it wants to
/// happen next.
///
/// Every `std::error::Error` converts into one: its class is the name of its type, and the message includes the
/// causes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    classes: Vec<String>,
    message: String,
    trace: Option<String>,
    policy: Policy,
}

/// What happens to a job whose handler has ended with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// As the retry rules of the job say.
    #[default]
    Retry,
    /// It is retried after this delay, if it has an attempt left, whatever its class.
    RetryAfter(Duration),
    /// It has nothing more to do: it ends as completed, without a result.
    Discard,
    /// It is dead, whatever attempts it has left.
    Bury,
    /// It runs again after this delay, and this attempt does not count.
    Snooze(Duration),
}

impl JobError {
    /// An error of this class.
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        JobError::with_classes([class], message)
    }

    /// An error with the names of its class and of its superclasses, the most specific first.
    pub fn with_classes(
        classes: impl IntoIterator<Item = impl Into<String>>,
        message: impl Into<String>,
    ) -> Self {
        JobError {
            classes: classes.into_iter().map(Into::into).collect(),
            message: message.into(),
            trace: None,
            policy: Policy::Retry,
        }
    }

    /// An error of any type that can be shown, such as `anyhow::Error`: `.map_err(JobError::other)?`. Its class is the
    /// name of its type.
    pub fn other<E: fmt::Display>(error: E) -> Self {
        // The alternate form of error types that collect causes shows them all.
        JobError::new(class_of::<E>(), format!("{error:#}"))
    }

    /// Retries after this delay, if the job has an attempt left.
    pub fn retry_after(delay: Duration, message: impl Into<String>) -> Self {
        JobError::new("RetryAfter", message).policy(Policy::RetryAfter(delay))
    }

    /// Ends the job as completed, without a result: there is nothing more to do.
    pub fn discard(message: impl Into<String>) -> Self {
        JobError::new("Discard", message).policy(Policy::Discard)
    }

    /// Makes the job dead, whatever attempts it has left.
    pub fn bury(message: impl Into<String>) -> Self {
        JobError::new("Bury", message).policy(Policy::Bury)
    }

    /// Runs the job again after this delay, without using an attempt.
    pub fn snooze(delay: Duration) -> Self {
        JobError::new("Snooze", "").policy(Policy::Snooze(delay))
    }

    /// What happens next instead of a retry by the rules.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Adds where it came from, of which as much is kept as fits behind the message.
    pub fn trace(mut self, trace: impl Into<String>) -> Self {
        self.trace = Some(trace.into());
        self
    }

    /// The class names, the most specific first.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What becomes of its job.
    pub fn wants(&self) -> Policy {
        self.policy
    }

    /// Puts a class in front, such as `Timeout` if the error is the consequence of one.
    pub(crate) fn caused_by(mut self, class: &str, message: &str) -> Self {
        self.classes.insert(0, class.to_owned());
        self.message = format!("{message}: {}", self.message);
        self
    }

    /// The text that is kept with the item.
    pub(crate) fn text(&self) -> String {
        match &self.trace {
            Some(trace) => format!("{self}\n{trace}"),
            None => self.to_string(),
        }
    }
}

/// `Class: message`.
impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.classes.first(), self.message.as_str()) {
            (Some(class), "") => f.write_str(class),
            (Some(class), message) => write!(f, "{class}: {message}"),
            (None, message) => f.write_str(message),
        }
    }
}

impl<E: std::error::Error> From<E> for JobError {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            // Some errors repeat their cause.
            if !message.ends_with(&cause_text) {
                message = format!("{message}: {cause_text}");
            }
            source = cause.source();
        }
        JobError::new(class_of::<E>(), message)
    }
}

/// The name of a type without its path and parameters.
pub(crate) fn class_of<E: ?Sized>() -> &'static str {
    let name = type_name::<E>().split('<').next().unwrap_or_default();
    name.rsplit("::").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("sending failed")]
    struct SendFailed(#[source] std::io::Error);

    #[test]
    fn an_error_becomes_its_class_and_a_message_with_its_causes() {
        let error = JobError::from(SendFailed(std::io::Error::other("connection reset")));
        assert_eq!(error.classes(), ["SendFailed"]);
        assert_eq!(error.to_string(), "SendFailed: sending failed: connection reset");
        assert_eq!(error.trace("at line 7").text().lines().last(), Some("at line 7"));
        assert_eq!(class_of::<Vec<std::io::Error>>(), "Vec");
    }
}
