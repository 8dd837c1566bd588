//! The files beside the database, and whether they are still the ones that were opened.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::{Error, redact};

/// The path for messages, without control characters and secrets.
pub(super) fn shown(path: &Path) -> String {
    redact::file_path(&path.to_string_lossy())
}

pub(super) fn unusable(path: &Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind;
    let message = format!("{}: {error}", shown(path));
    // These stay until somebody changes something.
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::InvalidFilename => Error::invalid(message),
        _ => Error::unavailable(message, false),
    }
}

/// Device and inode of a file.
pub(super) type Identity = (u64, u64);

/// Which files are at the path of the database, and at that of its write-ahead log.
pub(super) fn identities(path: &Path, wal: &Path) -> Option<[Identity; 2]> {
    // SQLite keeps the same log while a process has the database open.
    Some([identity(path)?, identity(wal)?])
}

pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Which file is at this path. Does not ask for its times: after that, the next write updates them, and a
/// commit has to wait for this too.
pub(super) fn identity(path: &Path) -> Option<Identity> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxFlags, makedev, statx};
        // Some containers forbid this call, with various errors; the usual one works there.
        if let Ok(found) = statx(CWD, path, AtFlags::empty(), StatxFlags::INO) {
            let device = makedev(found.stx_dev_major, found.stx_dev_minor);
            return Some((device, found.stx_ino));
        }
    }
    std::fs::metadata(path).ok().map(|found| identity_of(&found))
}

pub(super) fn identity_of(found: &Metadata) -> Identity {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (found.dev(), found.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        (0, 0)
    }
}
