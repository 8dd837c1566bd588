//! News from the kernel that a file was written to, so that nobody has to look for it again and again.
//! Linux has them. Elsewhere, and where a user has no more watches, there is nothing to do but to look.

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

    /// A thread of its own waits for the news, until this is dropped.
    pub(crate) struct WalWatcher {
        events: Arc<File>,
        ended: Arc<AtomicBool>,
        path: PathBuf,
        /// A watch that never has news, but that it ends.
        life: i32,
    }

    impl WalWatcher {
        /// `tell`: once or more often when what was asked for has happened.
        pub(crate) fn start(path: &Path, tell: impl Fn() + Send + 'static) -> Result<WalWatcher> {
            let events = Arc::new(File::from(init(CreateFlags::CLOEXEC)?));
            let life = add_watch(&*events, "/", WatchFlags::DELETE_SELF)?;
            let ended = Arc::new(AtomicBool::new(false));
            let (news, over) = (events.clone(), ended.clone());
            let named = thread::Builder::new().name("leaseq-watch".into());
            named.spawn(move || {
                let mut buffer = [0; 512];
                loop {
                    match (&*news).read(&mut buffer) {
                        Ok(length) if length > 0 && !over.load(Ordering::Acquire) => tell(),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        _ => return,
                    }
                }
            })?;
            Ok(WalWatcher { events, ended, path: path.to_owned(), life })
        }

        /// Asks for news of the next write to the file, of one only: many writes cost no more than one.
        /// False: there will be none.
        pub(crate) fn ask(&self) -> bool {
            let once = WatchFlags::MODIFY | WatchFlags::ONESHOT;
            add_watch(&*self.events, &self.path, once).is_ok()
        }
    }

    impl Drop for WalWatcher {
        /// That something is no longer watched is news as well: it wakes the thread.
        fn drop(&mut self) {
            self.ended.store(true, Ordering::Release);
            let _ = remove_watch(&*self.events, self.life);
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

    pub(super) fn ask(&self) -> bool {
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
    fn each_question_is_answered_once_and_the_thread_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (told, news) = channel();
        let watch = WalWatcher::start(&path, move || told.send(()).unwrap()).unwrap();
        assert!(!watch.ask(), "there is no file yet");
        let mut file = std::fs::File::create(&path).unwrap();
        for _ in 0..3 {
            assert!(watch.ask());
            file.write_all(b"frame").unwrap();
            news.recv_timeout(PATIENCE).unwrap();
            // What else there is to read belongs to the same news.
            while news.recv_timeout(Duration::from_millis(50)).is_ok() {}
            file.write_all(b"frame").unwrap();
            let nothing = news.recv_timeout(Duration::from_millis(50));
            assert_eq!(nothing, Err(RecvTimeoutError::Timeout), "nobody asked");
        }
        drop(watch);
        assert_eq!(news.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
    }
}
