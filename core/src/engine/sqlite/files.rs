//! The files beside the database, and whether they are still the ones that were opened.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The file that writers take turns with, beside the database. The database file itself must not be
/// opened a second time: closing that would drop SQLite's locks on it.
pub(super) fn open_turn(path: &Path) -> Result<File> {
    let name = beside(path, "-turn");
    // Reading is enough for a lock, and possible where another user has made the file.
    File::open(&name)
        .or_else(|_| File::options().create(true).truncate(false).write(true).open(&name))
        .map_err(|error| unusable(&name, &error))
}

pub(super) fn unusable(path: &Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind;
    let message = format!("{}: {error}", path.display());
    // Invalid is what stays as it is until somebody changes it.
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

/// Device and number of a file.
pub(super) type Identity = (u64, u64);

pub(super) fn identities(path: &Path) -> Option<[Identity; 2]> {
    // SQLite keeps the same log for as long as anybody has the database open.
    Some([identity(path)?, identity(&beside(path, "-wal"))?])
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Which file stands at this path.
fn identity(path: &Path) -> Option<Identity> {
    let found = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = found;
        Some((0, 0))
    }
}
