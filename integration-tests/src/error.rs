//! The error type of the test programs.

/// Any error. The programs print it.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
