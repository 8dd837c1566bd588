//! The notes of a worker: a line of JSON before it completes an item, and one after.
//!
//! A killed worker may have completed an item without a note of the answer. Its earlier note then
//! accounts for the item; see `checker.rs`.

use std::fs::File;
use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// One line of a worker's result file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Note {
    /// The work is done; the worker is about to complete the item.
    Before {
        /// The item's id.
        id: String,
        /// SHA-256 of its data, in lower-case hexadecimal digits.
        sha256: String,
    },
    /// The answer of `complete`.
    After {
        /// The item's id.
        id: String,
        /// What `complete` returned.
        completed: bool,
    },
}

impl Note {
    /// Appends the note in one write, so that a kill after the return does not lose it.
    pub fn write(&self, file: &mut File) -> Result<(), Error> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        Ok(file.write_all(&line)?)
    }

    /// Reads the notes of a file. An incomplete last line was cut off by a kill and does not count.
    pub fn read_all(text: &str) -> Result<Vec<Note>, Error> {
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_up_to_where_they_were_cut_off() {
        let notes = Note::read_all(
            "{\"id\":\"a\\\"b\",\"sha256\":\"00\"}\n{\"id\":\"a\\\"b\",\"completed\":true}\n{\"id",
        );
        let id = || String::from("a\"b");
        assert_eq!(
            notes.unwrap(),
            [
                Note::Before { id: id(), sha256: "00".into() },
                Note::After { id: id(), completed: true }
            ]
        );
        assert!(Note::read_all("").unwrap().is_empty());
        assert!(Note::read_all("nonsense\n").is_err());
    }
}
