//! The place of the queue: a file of the demo's own, or the URL in `LEASEQ_URL`.

use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::error::Error;

/// Characters that a path in a URL must not contain.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%').add(b'?').add(b'#');

pub(super) struct Place {
    pub(super) url: String,
    /// The engine, for the screen.
    pub(super) engine: String,
}

impl Place {
    /// `folder`: for the file, unless another place is given.
    pub(super) fn choose(folder: &Path) -> Result<Self, Error> {
        match std::env::var("LEASEQ_URL").ok().filter(|url| !url.is_empty()) {
            Some(url) if url.starts_with("memory:") => {
                Err("LEASEQ_URL=memory: holds for one process only; the workers are others".into())
            }
            Some(url) => {
                Ok(Place { engine: format!("{}, by LEASEQ_URL", leaseq::redact_url(&url)), url })
            }
            None => {
                let file = folder.join("queue.db");
                let path = file.to_str().ok_or("the path of the temporary folder is no text")?;
                Ok(Place {
                    url: format!("sqlite:{}?synchronous=full", utf8_percent_encode(path, ESCAPED)),
                    engine: "embedded SQLite, one file, synchronous=full".into(),
                })
            }
        }
    }
}
