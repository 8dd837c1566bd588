//! Files and folders that are not as they should be: a clear error, and nothing is touched.

use std::fs;
use std::path::{Path, PathBuf};

use leaseq::{Client, Error, ErrorKind};
use rusqlite::Connection;

use crate::support::{Immutable, Mount, Place, assert_sound, at_once, item, queue, url};

async fn refused(path: &Path) -> Error {
    let error = Client::connect(&url(path)).await.unwrap_err();
    println!("{error}");
    error
}

#[tokio::test]
async fn a_path_that_leads_nowhere_is_invalid() {
    let place = Place::new();
    for path in [place.folder().join("missing/queue.db"), place.folder().to_owned()] {
        let error = refused(&path).await;
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

/// Neither is anything made beside it.
#[tokio::test]
async fn what_is_no_file_is_invalid_and_left_alone() {
    let place = Place::new();
    let folder = place.folder();
    let pipe = folder.join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    let socket = folder.join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let device = folder.join("device");
    std::os::unix::fs::symlink("/dev/null", &device).unwrap();
    fs::create_dir(folder.join("folder")).unwrap();
    let names = || {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        files.collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    for path in [pipe, socket, device, folder.join("folder")] {
        let error = refused(&path).await;
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
    assert_eq!(names(), before);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_invalid_and_left_as_it_is() {
    let place = Place::new();
    for content in ["x", "hello", &"no database\n".repeat(1_000)] {
        fs::write(place.file(), content).unwrap();
        assert_eq!(refused(&place.file()).await.kind(), ErrorKind::Invalid);
        assert_eq!(fs::read_to_string(place.file()).unwrap(), content);
    }
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let place = Place::new();
    fs::write(place.file(), "").unwrap();
    assert!(place.queue().await.add_item(item("a")).await.unwrap());
}

#[tokio::test]
async fn a_database_of_another_program_is_invalid_and_left_as_it_is() {
    for mark in ["", "PRAGMA application_id = 7; PRAGMA user_version = 1;"] {
        let place = Place::new();
        let connection = Connection::open(place.file()).unwrap();
        connection.execute_batch(&format!("CREATE TABLE theirs (x); {mark}")).unwrap();
        drop(connection);
        let before = fs::read(place.file()).unwrap();
        let error = refused(&place.file()).await;
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(fs::read(place.file()).unwrap(), before);
    }
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_incompatible() {
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_item(item("a")).await.unwrap();
    drop(queue);
    let connection = Connection::open(place.file()).unwrap();
    connection.execute_batch("PRAGMA user_version = 3").unwrap();
    let error = refused(&place.file()).await;
    assert_eq!(error.kind(), ErrorKind::Incompatible);
    assert!(error.to_string().contains("format 3"), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_invalid() {
    let place = Place::new();
    place.queue().await.add_item(item("a")).await.unwrap();
    let Some(_immutable) = Immutable::make(&place.file()) else { return };
    let error = refused(&place.file()).await;
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("cannot be written"), "{error}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_invalid() {
    let Some(mount) = Mount::new("2m") else { return };
    let file = mount.folder().join("queue.db");
    let queue = queue(&url(&file)).await;
    queue.add_item(item("a")).await.unwrap();
    queue_closed(queue, &file).await;
    mount.remount("ro");
    for file in [file, mount.folder().join("new.db")] {
        let error = refused(&file).await;
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let told = ["ead-only file system", "cannot be opened"];
        assert!(told.iter().any(|text| error.to_string().contains(text)), "{error}");
    }
}

/// The connection ends a moment after the last handle.
async fn queue_closed(queue: leaseq::WorkQueue, file: &Path) {
    drop(queue);
    let wal = PathBuf::from(format!("{}-wal", file.display()));
    crate::support::until("closed", || async { !wal.exists() }).await;
}

#[tokio::test]
async fn a_file_that_is_removed_or_replaced_in_use_is_unavailable() {
    for replace in [false, true] {
        let place = Place::new();
        let queue = place.queue().await;
        queue.add_item(item("a")).await.unwrap();
        queue.add_item(item("b")).await.unwrap();
        let lease = queue.lease(at_once()).await.unwrap().unwrap();
        for name in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            fs::rename(place.folder().join(name), place.folder().join(format!("old-{name}")))
                .unwrap();
        }
        if replace {
            place.queue().await.add_item(item("other")).await.unwrap();
        }
        let errors = [
            queue.add_item(item("c")).await.unwrap_err(),
            queue.complete(&lease).await.unwrap_err(),
            queue.lease(at_once()).await.unwrap_err(),
            queue.counts().await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(!error.outcome_unknown(), "{error}");
            assert!(error.to_string().contains("removed or replaced"), "{error}");
        }
        // A new client sees what is there now.
        let counts = place.queue().await.counts().await.unwrap();
        assert_eq!(counts.ready, u64::from(replace));
    }
}

#[tokio::test]
async fn a_log_that_is_removed_in_use_is_unavailable() {
    // What is written to it from then on nobody else would ever see.
    let place = Place::new();
    let queue = place.queue().await;
    queue.add_item(item("a")).await.unwrap();
    fs::remove_file(place.folder().join("queue.db-wal")).unwrap();
    let error = queue.add_item(item("b")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(!error.outcome_unknown(), "{error}");
}

#[tokio::test]
async fn a_turn_file_that_is_removed_in_use_does_no_harm() {
    let place = Place::new();
    let (first, second) = (place.queue().await, place.queue().await);
    fs::remove_file(place.folder().join("queue.db-lock")).unwrap();
    let third = place.queue().await;
    let add = |queue: leaseq::WorkQueue, name: &'static str| {
        tokio::spawn(async move {
            for n in 0..50 {
                assert!(queue.add_item(item(format!("{name}{n}"))).await.unwrap());
            }
        })
    };
    for task in [add(first.clone(), "a"), add(second, "b"), add(third, "c")] {
        task.await.unwrap();
    }
    assert_eq!(first.counts().await.unwrap().ready, 150);
    assert_sound(&first).await;
}
