//! Secrets.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// A random token of 43 letters, digits, `-` and `_`: 256 bits.
pub fn new_token() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}
