//! Names of queues.

use std::fmt;
use std::sync::Arc;

use crate::options::MAX_QUEUE_NAME;
use crate::{Error, Result};

/// A valid queue name: `[A-Za-z0-9._-]{1,128}`, so that it can stand in a key's hash tag.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueueName(Arc<str>);

impl QueueName {
    /// `Invalid` for any other name.
    pub fn new(name: &str) -> Result<Self> {
        let allowed = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
        if name.is_empty() || name.len() > MAX_QUEUE_NAME || !name.bytes().all(allowed) {
            let shown: String = name.chars().take(MAX_QUEUE_NAME + 1).collect();
            return Err(Error::invalid(format_args!(
                "queue name {shown:?} does not match [A-Za-z0-9._-]{{1,{MAX_QUEUE_NAME}}}"
            )));
        }
        Ok(QueueName(name.into()))
    }

    /// A name that is checked later.
    pub(crate) fn unchecked(name: &str) -> Self {
        QueueName(name.into())
    }

    /// No queue can have this name: it stands for the list of all queues where a name is needed.
    #[cfg(feature = "redis")]
    pub(crate) fn directory() -> Self {
        QueueName("(all queues)".into())
    }

    /// No queue can have this name: it stands for the registry of workers where a name is needed.
    #[cfg(feature = "redis")]
    pub(crate) fn registry() -> Self {
        QueueName("(workers)".into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which queues there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueNames {
    /// Their names, sorted.
    pub names: Vec<String>,
    /// How many entries of the list of queues are no names of queues. Something else has written them.
    pub skipped: u64,
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn only_plain_names_pass() {
        for good in ["a", "A-z_0.9", &"x".repeat(128)] {
            assert!(QueueName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "{a}", "a/b", "ä", "a:b", "a\0", &"x".repeat(129)] {
            assert_eq!(QueueName::new(bad).unwrap_err().kind(), ErrorKind::Invalid, "{bad}");
        }
    }
}
