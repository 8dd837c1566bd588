//! Hooks for this project's own tests.

/// Name and text of every script, as sent to the server.
#[cfg(feature = "redis")]
pub fn scripts() -> &'static [(&'static str, &'static str)] {
    crate::engine::redis::script_texts()
}
