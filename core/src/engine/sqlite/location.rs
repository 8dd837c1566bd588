//! Where the database is, and whether a file can be relied on there.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use super::files::{shown, unusable};
use crate::options::ConnectOptions;
use crate::{Error, Result, redact};

/// Where the database is and how it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Location {
    /// `None`: in memory, private to the client.
    pub(super) path: Option<PathBuf>,
    /// Wait for the disk at every commit.
    pub(super) full: bool,
}

impl Location {
    pub(super) fn parse(url: &str, options: &mut ConnectOptions) -> Result<Location> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let path = match scheme {
            "memory" if path.is_empty() => None,
            "memory" => {
                return Err(Error::invalid("memory url: it is written memory: and no more"));
            }
            _ => Some(read_path(path)?),
        };
        let mut location = Location { path, full: true };
        // Options of servers are refused: one without an effect would seem to have one.
        let known = match location.path {
            Some(_) => &["synchronous", "timeout_ms", "max_data"][..],
            None => &["timeout_ms", "max_data"][..],
        };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if !known.contains(&name.as_ref()) {
                return Err(Error::invalid(format_args!(
                    "{scheme} url: unknown option {}: known are {}",
                    redact::option_name(query, &name),
                    known.join(", ")
                )));
            }
            match (name.as_ref(), value.as_ref()) {
                ("synchronous", "full") => location.full = true,
                ("synchronous", "normal") => location.full = false,
                // The message does not quote the value, which may be part of a password.
                ("synchronous", _) => {
                    return Err(Error::invalid(format_args!(
                        "{scheme} url: synchronous is neither full nor normal"
                    )));
                }
                (name, value) => {
                    options.set(name, value)?;
                }
            }
        }
        options.validate()?;
        refuse_server_options(scheme, options, known)?;
        Ok(location)
    }

    pub(super) fn describe(&self) -> String {
        self.path.as_ref().map_or_else(|| "memory".into(), |path| shown(path))
    }

    /// The error for a file that was removed or replaced, which would accept items that nobody ever sees.
    pub(super) fn replaced(&self) -> Error {
        Error::unavailable(
            format_args!(
                "{}: the file was removed or replaced while it was in use, or this process has \
                 opened it with another copy of SQLite",
                self.describe()
            ),
            false,
        )
    }
}

fn read_path(text: &str) -> Result<PathBuf> {
    let text = text.strip_prefix("//").unwrap_or(text);
    let path = percent_decode_str(text)
        .decode_utf8()
        .map_err(|_| Error::invalid("sqlite url: the path is not utf-8"))?;
    if path.is_empty() || path.contains('\0') {
        return Err(Error::invalid("sqlite url: it is written sqlite:path/to/file.db"));
    }
    // SQLite would not take these for the name of a file.
    if path == ":memory:" || path.starts_with("file:") {
        return Err(Error::invalid(
            "sqlite url: it is written sqlite:path/to/file.db, or memory: for a database in memory",
        ));
    }
    Ok(PathBuf::from(path.as_ref()))
}

/// Options of servers are refused in code as well.
fn refuse_server_options(scheme: &str, options: &ConnectOptions, known: &[&str]) -> Result<()> {
    let is_set = [
        ("namespace", options.namespace != ConnectOptions::default().namespace),
        ("ca_file", options.ca_file.is_some()),
        ("replicas", options.replicas > 0),
        ("fsync", options.fsync.is_some()),
    ];
    match is_set.iter().find(|(_, is_set)| *is_set) {
        Some((name, _)) => Err(Error::invalid(format_args!(
            "{scheme}: {name} is for servers: known are {}",
            known.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Refuses places that cannot hold a database, before any file is created beside it: everything but regular
/// files, and network file systems.
pub(super) fn check_place(path: &Path) -> Result<()> {
    let what = match std::fs::metadata(path) {
        // SQLite takes it for an empty file.
        Ok(found) if found.is_file() && found.len() == 1 => {
            return Err(Error::invalid(format_args!(
                "{}: it has one byte, and is no database",
                shown(path)
            )));
        }
        Ok(found) if found.is_file() => return check_file_system(path),
        Ok(found) if found.is_dir() => "a folder",
        Ok(_) => "a device, a pipe or a socket",
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return check_file_system(path);
        }
        Err(error) => return Err(unusable(path, &error)),
    };
    Err(Error::invalid(format_args!("{}: it is {what}, not a file", shown(path))))
}

/// Refuses network file systems: their locks do not keep two writers apart.
fn check_file_system(path: &Path) -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        const REMOTE: [(i64, &str); 7] = [
            (0x6969, "NFS"),
            (0x517B, "SMB"),
            (0xFF53_4D42, "CIFS"),
            (0xFE53_4D42, "SMB2"),
            (0x5346_414F, "AFS"),
            (0x00C3_6400, "Ceph"),
            (0x0102_1997, "9P"),
        ];
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Ok(found) = rustix::fs::statfs(folder.unwrap_or(Path::new("."))) {
            // Its type differs between platforms.
            #[allow(clippy::unnecessary_cast)]
            let kind = found.f_type as i64 & 0xFFFF_FFFF;
            if let Some((_, name)) = REMOTE.iter().find(|(magic, _)| *magic == kind) {
                return Err(Error::invalid(format_args!(
                    "{}: the file is on a network file system ({name}), where locks cannot be \
                     relied on: put it on a local disk",
                    shown(path)
                )));
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Fsync};

    fn parse(url: &str) -> Result<Location> {
        Location::parse(url, &mut ConnectOptions::default())
    }

    #[test]
    fn urls_are_read() {
        let path = |url| parse(url).unwrap().path.unwrap();
        assert_eq!(path("sqlite:a/b%20c.db"), Path::new("a/b c.db"));
        assert_eq!(path("sqlite:/abs.db"), Path::new("/abs.db"));
        assert_eq!(path("sqlite:///abs.db"), Path::new("/abs.db"));
        assert!(parse("sqlite:a.db").unwrap().full);
        assert!(!parse("sqlite:a.db?synchronous=normal").unwrap().full);
        assert_eq!(parse("memory:").unwrap().path, None);
    }

    #[test]
    fn bad_urls_are_invalid() {
        for url in [
            "sqlite:",
            "sqlite:?synchronous=full",
            "sqlite:a?synchronous=off",
            "sqlite:a?x=1",
            "sqlite:a?timeout_ms=0",
            "memory:x",
            "memory:?ca_file=x",
            "sqlite::memory:",
            "sqlite://:memory:",
            "sqlite:file:a.db",
            "sqlite:%00",
            "sqlite:%ff",
        ] {
            assert_eq!(parse(url).unwrap_err().kind(), ErrorKind::Invalid, "{url}");
        }
    }

    #[test]
    fn an_option_that_the_engine_does_not_have_is_named_and_so_are_those_it_has() {
        for (scheme, known) in [
            ("sqlite:a.db", "synchronous, timeout_ms, max_data"),
            ("memory:", "timeout_ms, max_data"),
        ] {
            for option in
                ["namespace", "connect_timeout_ms", "ca_file", "replicas", "fsync", "colour"]
            {
                let error = parse(&format!("{scheme}?timeout_ms=50&{option}=1")).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid, "{scheme} {option}");
                let message = error.to_string();
                assert!(message.contains(option) && message.contains(known), "{message}");
            }
        }
        assert!(parse("memory:?synchronous=full").is_err());
        assert!(parse("sqlite:a?synchronous=normal&timeout_ms=50&max_data=1").is_ok());
        assert!(parse("memory:?timeout_ms=50&max_data=1").is_ok());
    }

    #[test]
    fn options_of_servers_are_invalid_in_code_too() {
        for url in ["sqlite:a.db", "memory:"] {
            let namespace =
                ConnectOptions { namespace: "secret".into(), ..ConnectOptions::default() };
            let ca_file =
                ConnectOptions { ca_file: Some("/secret.pem".into()), ..ConnectOptions::default() };
            let replicas = ConnectOptions { replicas: 1, ..ConnectOptions::default() };
            let fsync = ConnectOptions { fsync: Some(Fsync::Local), ..ConnectOptions::default() };
            for (name, mut options) in [
                ("namespace", namespace),
                ("ca_file", ca_file),
                ("replicas", replicas),
                ("fsync", fsync),
            ] {
                let error = Location::parse(url, &mut options).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid, "{url} {name}");
                let message = error.to_string();
                assert!(message.contains(name) && !message.contains("secret"), "{message}");
            }
            let mut default =
                ConnectOptions { namespace: "leaseq".into(), ..ConnectOptions::default() };
            assert!(Location::parse(url, &mut default).is_ok(), "{url}: the default, said aloud");
        }
    }

    #[test]
    fn messages_show_no_secrets_and_no_control_characters() {
        for url in [
            "sqlite:a.db?synchronous=hunter2",
            "sqlite:a.db?hunter2",
            "sqlite:a.db?hunter2%21@host=1",
            "memory:?p%C3%A4ss&hunter2",
            "sqlite:a.db?timeout_ms=hunter2",
        ] {
            let message = parse(url).unwrap_err().to_string();
            assert!(!message.contains("hunter2"), "{url}: {message}");
        }
        let named = parse("sqlite:/a%0a%1b[31m%E2%80%AE.db").unwrap().describe();
        assert_eq!(named, "/a\\n\\u{1b}[31m\\u{202e}.db");
    }

    #[test]
    fn urls_with_accidents_are_read_or_invalid() {
        let urls = [
            "sqlite:a.db?synchronous=normal&timeout_ms=100",
            "sqlite:///var/lib/a%20b.db?max_data=9",
            "memory:?timeout_ms=10000",
        ];
        leaseq_test_support::with_accidents(&urls, 50_000, |url| {
            if let Err(error) = parse(url) {
                assert_eq!(error.kind(), ErrorKind::Invalid, "{url:?}");
            }
        });
    }
}
