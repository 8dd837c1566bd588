//! Lets the kernel report writes to the write-ahead log, so that the thread need not poll for them. Only Linux
//! can do this. Elsewhere, and when the user has no watches left, the thread polls.

#[cfg(target_os = "linux")]
pub(super) use self::linux::WalWatcher;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io::{ErrorKind, Read, Result};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init, remove_watch};

    /// A thread waits for the reports until this is dropped.
    pub(crate) struct WalWatcher {
        events: Arc<File>,
        ended: Arc<AtomicBool>,
        path: PathBuf,
        /// A watch that reports nothing but its own end.
        end: i32,
    }

    impl WalWatcher {
        /// `report` runs at least once for each change that [`watch_once`](WalWatcher::watch_once) waits for.
        pub(crate) fn start(path: &Path, report: impl Fn() + Send + 'static) -> Result<WalWatcher> {
            let events = Arc::new(File::from(init(CreateFlags::CLOEXEC)?));
            let end = add_watch(&*events, "/", WatchFlags::DELETE_SELF)?;
            let ended = Arc::new(AtomicBool::new(false));
            let (reports, over) = (events.clone(), ended.clone());
            let named = thread::Builder::new().name("leaseq-watch".into());
            named.spawn(move || {
                let mut buffer = [0; 512];
                loop {
                    match (&*reports).read(&mut buffer) {
                        Ok(length) if length > 0 && !over.load(Ordering::Acquire) => report(),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        _ => return,
                    }
                }
            })?;
            Ok(WalWatcher { events, ended, path: path.to_owned(), end })
        }

        /// Lets the kernel report the next write to the file, and only that one, so that many writes cost no
        /// more than one. False: it will report nothing.
        pub(crate) fn watch_once(&self) -> bool {
            let once = WatchFlags::MODIFY | WatchFlags::ONESHOT;
            add_watch(&*self.events, &self.path, once).is_ok()
        }
    }

    impl Drop for WalWatcher {
        /// The end of a watch is reported too, which wakes the thread.
        fn drop(&mut self) {
            self.ended.store(true, Ordering::Release);
            let _ = remove_watch(&*self.events, self.end);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) enum WalWatcher {}

#[cfg(not(target_os = "linux"))]
impl WalWatcher {
    pub(super) fn start(
        _: &std::path::Path,
        _: impl Fn() + Send + 'static,
    ) -> std::io::Result<WalWatcher> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(super) fn watch_once(&self) -> bool {
        match *self {}
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn each_watch_reports_once_and_the_thread_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (sender, reports) = channel();
        let watcher = WalWatcher::start(&path, move || sender.send(()).unwrap()).unwrap();
        assert!(!watcher.watch_once(), "there is no file yet");
        let mut file = std::fs::File::create(&path).unwrap();
        for _ in 0..3 {
            assert!(watcher.watch_once());
            file.write_all(b"frame").unwrap();
            reports.recv_timeout(PATIENCE).unwrap();
            // Further reports belong to the same write.
            while reports.recv_timeout(Duration::from_millis(50)).is_ok() {}
            file.write_all(b"frame").unwrap();
            let nothing = reports.recv_timeout(Duration::from_millis(50));
            assert_eq!(nothing, Err(RecvTimeoutError::Timeout), "it watched only once");
        }
        drop(watcher);
        assert_eq!(reports.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
    }
}
