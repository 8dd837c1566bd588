//! The items of the demo: the files of the source tree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// The largest data of an item, in bytes; larger files are skipped.
const MAX_FILE: u64 = leaseq::options::DEFAULT_MAX_DATA as u64;
/// Folders that are not part of the sources, for trees without git.
const SKIPPED_DIRECTORIES: [&str; 6] =
    ["target", "build", ".git", ".venv", "node_modules", "__pycache__"];

/// One file: an item's id and data.
pub(super) struct File {
    pub(super) path: String,
    pub(super) data: Vec<u8>,
}

/// The files, and how many were skipped: over 8 MiB, or with a path that cannot be an id.
pub(super) struct Files {
    pub(super) files: Vec<File>,
    pub(super) skipped: usize,
}

/// Reads every regular file of the source tree.
pub(super) fn read(root: &Path) -> Result<Files, Error> {
    let mut files = Vec::new();
    let mut skipped = 0;
    for path in list(root)? {
        let full = root.join(&path);
        // Git also lists deleted files, symbolic links and directories.
        let Ok(kind) = fs::symlink_metadata(&full) else { continue };
        if !kind.is_file() {
            continue;
        }
        match path.to_str() {
            Some(path) if kind.len() <= MAX_FILE && path.len() <= leaseq::options::MAX_ID => {
                files.push(File { path: path.to_owned(), data: fs::read(&full)? });
            }
            _ => skipped += 1,
        }
    }
    Ok(Files { files, skipped })
}

fn list(root: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    if let Some(paths) = list_git(root) {
        return Ok(paths);
    }
    let mut paths = BTreeSet::new();
    walk(root, Path::new(""), &mut paths)?;
    Ok(paths)
}

/// `None` if this is no git checkout, or git is not installed.
fn list_git(root: &Path) -> Option<BTreeSet<PathBuf>> {
    use std::os::unix::ffi::OsStrExt;

    if !root.join(".git").exists() {
        return None;
    }
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|listed| listed.status.success())?;
    let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Some(names.map(|name| std::ffi::OsStr::from_bytes(name).into()).collect())
}

fn walk(root: &Path, below: &Path, paths: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            paths.insert(path);
        } else if SKIPPED_DIRECTORIES.iter().all(|name| entry.file_name() != *name) {
            walk(root, &path, paths)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_the_sources_are_walked() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["a", "src/b", "target/c", "src/node_modules/d"] {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        fs::File::create(dir.path().join("big")).unwrap().set_len(MAX_FILE + 1).unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();

        let read = read(dir.path()).unwrap();
        let paths: Vec<&str> = read.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a", "src/b"]);
        assert_eq!(read.skipped, 1);
    }
}
