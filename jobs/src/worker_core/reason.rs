//! Why a task is to stop.

/// Why a task is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Reason {
    /// Somebody has cancelled the job.
    User = 1,
    /// Its time is over.
    Timeout = 2,
    /// The worker is ending, and the grace period is over.
    Shutdown = 3,
    /// The lease is lost: another worker may have the job.
    Lost = 4,
}

impl Reason {
    /// As a word: `user`, `timeout`, `shutdown` or `lost`.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::User => "user",
            Reason::Timeout => "timeout",
            Reason::Shutdown => "shutdown",
            Reason::Lost => "lost",
        }
    }

    pub(super) fn from_number(number: u8) -> Option<Reason> {
        [Reason::User, Reason::Timeout, Reason::Shutdown, Reason::Lost]
            .into_iter()
            .find(|reason| *reason as u8 == number)
    }
}
