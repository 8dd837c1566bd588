//! The bytes of a batch of calls, which are in one buffer.

use bytes::Bytes;
use napi::Result;

/// Splits the bytes of a batch into parts.
pub(crate) struct Parts {
    bytes: Bytes,
    /// The lengths exceed the bytes.
    missing: bool,
}

impl Parts {
    /// A copy of these bytes.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Parts { bytes: Bytes::copy_from_slice(bytes), missing: false }
    }

    pub(crate) fn next(&mut self, length: u32) -> Bytes {
        let length = length as usize;
        self.missing |= length > self.bytes.len();
        self.bytes.split_to(length.min(self.bytes.len()))
    }

    /// Whether there was as much as was asked for, and no more. `rest`: numbers that are no call.
    pub(crate) fn check(&self, rest: &[u32]) -> Result<()> {
        if self.missing || !self.bytes.is_empty() || !rest.is_empty() {
            return Err(napi::Error::from_reason("the lengths do not add up"));
        }
        Ok(())
    }
}
