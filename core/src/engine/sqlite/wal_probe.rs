//! Whether another process may have written, by the size and time of the write-ahead log. This takes one system
//! call. SQLite's own answer takes locks, and is needed only when these have changed.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::files::{Identity, beside, identity_of};

/// A time that is a multiple of this may come from a file system with coarse times, which several writes share.
/// The times of other file systems are at most this far apart.
const TICK: Duration = Duration::from_millis(10);
/// A write becomes visible to others only after it has reached the disk. Until then SQLite must be asked again.
/// A writer that takes longer than this is found by the regular checks.
const SETTLES_IN: Duration = Duration::from_secs(2);

/// The write-ahead log of a database, as it was at the last check.
pub(super) struct WalProbe {
    path: PathBuf,
    seen: Option<State>,
}

#[derive(PartialEq, Eq)]
struct State {
    file: Identity,
    size: u64,
    written: SystemTime,
}

impl WalProbe {
    pub(super) fn new(database: &Path) -> WalProbe {
        WalProbe { path: beside(database, "-wal"), seen: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// False only if nobody has written since the last call, nor shortly before it.
    pub(super) fn may_have_changed(&mut self) -> bool {
        let now = State::of(&self.path).filter(State::has_settled);
        let same = now.is_some() && now == self.seen;
        self.seen = now;
        !same
    }
}

impl State {
    fn of(path: &Path) -> Option<State> {
        let found = std::fs::metadata(path).ok()?;
        let (file, size) = (identity_of(&found), found.len());
        Some(State { file, size, written: found.modified().ok()? })
    }

    fn has_settled(&self) -> bool {
        let since = self.written.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let fine = !since.as_nanos().is_multiple_of(TICK.as_nanos());
        // A time in the future comes from a clock that was set back.
        fine && self.written.elapsed().is_ok_and(|age| age > SETTLES_IN)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// Writes a frame, with this time.
    fn write(path: &Path, written: SystemTime) {
        let mut file = File::options().create(true).append(true).open(path).unwrap();
        file.write_all(b"frame").unwrap();
        file.set_modified(written).unwrap();
    }

    #[test]
    fn each_write_is_noticed_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = WalProbe::new(&folder.path().join("queue.db"));
        let path = folder.path().join("queue.db-wal");
        assert!(log.may_have_changed() && log.may_have_changed(), "there is no log yet");
        let long_ago = SystemTime::now() - Duration::from_nanos(60_000_000_001);
        for n in 0..3 {
            write(&path, long_ago + Duration::from_nanos(n * 1_000_003));
            assert!(log.may_have_changed());
            assert!(!log.may_have_changed());
        }
        // A new size is enough.
        let times = std::fs::metadata(&path).unwrap().modified().unwrap();
        write(&path, times);
        assert!(log.may_have_changed() && !log.may_have_changed());
    }

    #[test]
    fn unreliable_times_are_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = WalProbe::new(&folder.path().join("queue.db"));
        let path = folder.path().join("queue.db-wal");
        let now = SystemTime::now();
        let (soon, second) =
            (Duration::from_secs(60), SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        let just_now = now - Duration::from_nanos(1_000_000_001);
        for written in [now + soon, second, just_now] {
            write(&path, written);
            assert!(log.may_have_changed() && log.may_have_changed(), "{written:?}");
        }
    }
}
