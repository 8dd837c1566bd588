//! Limits of the envelope.

/// The version that this crate writes, and the newest that it reads.
pub(super) const VERSION: u64 = 1;
/// Longest name of a job, in bytes.
pub(super) const MAX_NAME: usize = 128;
/// The largest integer, and the smallest with the opposite sign, that every language reads exactly.
pub(super) const MAX_INTEGER: u64 = 1 << 53;
/// How deep arrays and objects may be nested in the arguments.
pub(super) const MAX_DEPTH: usize = 64;
