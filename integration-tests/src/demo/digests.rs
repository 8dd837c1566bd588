//! The expected digests, computed by a program that is independent of this project.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::files::File;
use crate::error::Error;

/// Arguments of one call of the program.
const CHUNK: usize = 500;

/// The SHA-256 of each file by its path, computed by `sha256sum`. The program reads copies of the added
/// data, so that editing a file meanwhile causes no error.
pub(super) fn expected(files: &[File]) -> Result<BTreeMap<String, String>, Error> {
    let copies = tempfile::Builder::new().prefix("leaseq-demo-copies-").tempdir()?;
    for (i, file) in files.iter().enumerate() {
        fs::write(copies.path().join(i.to_string()), &file.data)?;
    }
    let names: Vec<String> = (0..files.len()).map(|i| i.to_string()).collect();
    let mut digests = BTreeMap::new();
    for chunk in names.chunks(CHUNK) {
        let output = Command::new("sha256sum")
            .args(chunk)
            .current_dir(copies.path())
            .output()
            .map_err(|error| format!("cannot run sha256sum: {error}"))?;
        for line in String::from_utf8(output.stdout)?.lines() {
            // A line has the digest, two separators and the name.
            let (digest, name) =
                line.split_once(' ').ok_or_else(|| format!("sha256sum says {line:?}"))?;
            let i: usize = name.trim_start_matches([' ', '*']).parse()?;
            let file = files.get(i).ok_or_else(|| format!("sha256sum says {line:?}"))?;
            digests.insert(file.path.clone(), digest.to_owned());
        }
    }
    if digests.len() != files.len() {
        let message = format!("sha256sum gave {} digests for {} files", digests.len(), files.len());
        return Err(message.into());
    }
    Ok(digests)
}
