//! Reading the URL of a server.

use url::form_urlencoded;

use super::place::{Node, Place, decode, invalid, read_database, read_place};
use crate::options::ConnectOptions;
use crate::{Error, Result, redact};

/// The parts of a URL. `Debug` is not derived, because one may be a password.
#[derive(Clone, PartialEq)]
pub(super) struct Address {
    pub(super) place: Place,
    pub(super) tls: bool,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) db: i64,
}

impl Address {
    /// Reads the URL, and sets the options of its query in `options`. Messages quote no part of the URL
    /// that may be a password.
    pub(super) fn parse(url: &str, options: &mut ConnectOptions) -> Result<Address> {
        let (scheme, rest) = url.split_once(':').unwrap_or((url, ""));
        let invalid = |what| invalid(scheme, what);
        let Some(rest) = rest.strip_prefix("//") else {
            return Err(invalid("// is missing after the scheme"));
        };
        let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // The password may have an unescaped `/`, `?` or `#`: what follows may be part of it.
        if after.contains('@') {
            return Err(invalid(
                "it has an @ behind a /, ? or #: these are written %40, %2F, %3F and %23 in a user, \
                 password or option",
            ));
        }
        if after.contains('#') {
            return Err(invalid("a fragment (#…) has no meaning; write %23 for a # in a password"));
        }
        let (path, query) = after.split_once('?').unwrap_or((after, ""));
        let path = path.strip_prefix('/').unwrap_or(path);
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        // Hosts stand in messages, and the rest of a password would be taken for one.
        if authority.contains(',') && login.contains('@') {
            return Err(invalid(
                "one user and password are for all hosts, before the first; an @ in them is written %40",
            ));
        }
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let (place, db) = read_place(scheme, hosts, path)?;
        let mut address = Address {
            place,
            tls: scheme.starts_with("rediss"),
            user: decode(scheme, user)?,
            password: decode(scheme, password)?,
            db,
        };
        address.read_query(scheme, query, options)?;
        if options.ca_file.is_some() && !address.tls {
            return Err(invalid("ca_file is for TLS: write rediss, or leave it out"));
        }
        if address.user.is_some() && address.password.is_none() {
            return Err(invalid(
                "it names a user without a password; a password alone is written :password@host",
            ));
        }
        options.validate()?;
        Ok(address)
    }

    fn read_query(
        &mut self,
        scheme: &str,
        query: &str,
        options: &mut ConnectOptions,
    ) -> Result<()> {
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "db" if matches!(self.place, Place::Unix(_)) => {
                    self.db = read_database(scheme, &value)?;
                }
                "user" => self.user = Some(value.into_owned()),
                "password" => self.password = Some(value.into_owned()),
                name if options.set(name, &value)? => {}
                name => {
                    return Err(Error::invalid(format_args!(
                        "{scheme} url: unknown option {}: known are {}",
                        redact::option_name(query, name),
                        self.options()
                    )));
                }
            }
        }
        Ok(())
    }

    /// The nodes to ask first, if the server is a cluster.
    pub(super) fn seeds(&self) -> Option<&[Node]> {
        match &self.place {
            Place::Cluster(seeds) => Some(seeds),
            _ => None,
        }
    }

    /// The options that such a URL may have.
    fn options(&self) -> String {
        let mut known = String::from(
            "namespace, timeout_ms, connect_timeout_ms, max_data, replicas, fsync, user, password",
        );
        if self.tls {
            known += ", ca_file";
        }
        if matches!(self.place, Place::Unix(_)) {
            known += ", db";
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, Fsync};

    fn parse(url: &str) -> Result<(Address, ConnectOptions)> {
        let mut options = ConnectOptions::default();
        Ok((Address::parse(url, &mut options)?, options))
    }

    fn node(host: &str, port: u16) -> Node {
        (host.into(), port)
    }

    #[test]
    fn every_form_is_read() {
        let (address, options) =
            parse("redis://me:p%40ss@[::1]:7000/3?timeout_ms=1500&namespace=x&replicas=2&fsync=1")
                .unwrap();
        assert_eq!(address.place, Place::Node(node("::1", 7000)));
        assert_eq!(address.user.as_deref(), Some("me"));
        assert_eq!(address.password.as_deref(), Some("p@ss"));
        assert_eq!((address.db, address.tls), (3, false));
        assert_eq!((options.namespace.as_str(), options.timeout.as_millis()), ("x", 1500));
        assert_eq!((options.replicas, options.fsync), (2, Some(Fsync::Replicas(1))));
        assert_eq!(parse("redis://h?fsync=local").unwrap().1.fsync, Some(Fsync::Local));
        assert_eq!(parse("redis://h?replicas=0").unwrap().1.replicas, 0);

        assert_eq!(parse("redis://h").unwrap().0.place, Place::Node(node("h", 6379)));
        assert!(parse("rediss://h").unwrap().0.tls);
        let unix = parse("redis+unix:///run/redis.sock?db=2").unwrap().0;
        assert_eq!((unix.place, unix.db), (Place::Unix("/run/redis.sock".into()), 2));
        assert_eq!(
            parse("redis+sentinel://a,b:5/main/4").unwrap().0.place,
            Place::Sentinel {
                sentinels: vec![node("a", 26379), node("b", 5)],
                master: "main".into()
            }
        );
        assert_eq!(
            parse("redis+cluster://a:1,b:2").unwrap().0.place,
            Place::Cluster(vec![node("a", 1), node("b", 2)])
        );
    }

    #[test]
    fn bad_urls_are_invalid_and_show_no_password() {
        for url in [
            "redis:",
            "redis://",
            "redis://user:hunter2@",
            "redis://user:hunter2@h:port/",
            "redis://user:hunter2@h:0",
            "redis://user:hunter2@h/x",
            "redis://user:hunter2@a,b",
            "redis://user:hunter2@h?colour=1",
            "redis://user:hunter2@h?timeout_ms=soon",
            "redis://user:hunter2@h?timeout_ms=1",
            "redis://user:hunter2@h?namespace=%7B",
            "redis://user:hunter2@h#insecure",
            "redis+unix://host/path",
            "redis+unix://",
            "redis+sentinel://h",
            "redis+cluster://h/1",
            "redis+cluster://",
        ] {
            let error = parse(url).err().unwrap_or_else(|| panic!("{url}"));
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn how_many_replicas_has_limits_which_the_message_names() {
        for (option, named) in [
            ("replicas=11", ["replicas of 11", "0 and 10"]),
            ("replicas=99999", ["replicas of 99999", "0 and 10"]),
            ("replicas=-1", ["replicas", "whole number"]),
            ("replicas=all", ["replicas", "whole number"]),
            ("fsync=0", ["fsync of 0", "1 and 10"]),
            ("fsync=11", ["fsync of 11", "1 and 10"]),
            ("fsync=yes", ["fsync", "neither local nor a whole number from 1 to 10"]),
            ("fsync=", ["fsync", "neither local nor a whole number from 1 to 10"]),
        ] {
            let error = parse(&format!("redis://h?{option}")).err().expect(option);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{option}");
            let message = error.to_string();
            assert!(named.iter().all(|part| message.contains(part)), "{option}: {message}");
        }
        let mut options = ConnectOptions { replicas: 11, ..ConnectOptions::default() };
        let error = Address::parse("redis://h", &mut options).err().unwrap();
        assert!(error.to_string().contains("replicas of 11 is not between 0 and 10"), "{error}");
        let mut options =
            ConnectOptions { fsync: Some(Fsync::Replicas(0)), ..ConnectOptions::default() };
        let error = Address::parse("redis://h", &mut options).err().unwrap();
        assert!(error.to_string().contains("fsync of 0 is not between 1 and 10"), "{error}");
    }

    #[test]
    fn passwords_that_were_not_encoded_are_not_shown() {
        for url in [
            "redis://user:hunter2/x@h",
            "redis://user:hunter2?x@h",
            "redis://user:x/hunter2@h",
            "redis://user:x@y/hunter2@h",
            "redis+cluster://user:x?hunter2=y@h,i",
            "redis+sentinel://user:x/hunter2/y@h/main",
        ] {
            let error = parse(url).err().unwrap_or_else(|| panic!("{url}"));
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn urls_with_accidents_are_read_or_invalid_and_show_no_password() {
        let urls = [
            "redis://user:hunter2@h:6379/0?timeout_ms=1500&namespace=x",
            "rediss://user:hunter2@[::1]:6379/3?ca_file=/etc/ca.pem&max_data=9",
            "redis+unix:///run/redis.sock?db=2&user=u&password=p&fsync=local",
            "redis+sentinel://user:hunter2@a,b:5/main/4?connect_timeout_ms=50",
            "redis+cluster://user:hunter2@a:1,b:2?replicas=1&fsync=2",
        ];
        leaseq_test_support::with_accidents(&urls, 50_000, |url| {
            let Err(error) = parse(url) else { return };
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url:?}");
            let shown = error.to_string();
            // As long as it stands where a password does, and nowhere else.
            let is_password = url.matches("hunter2").count() == 1
                && url.split_once("://user:hunter2").is_some_and(|(_, after)| after.contains('@'));
            assert!(!is_password || !shown.contains("hunter2"), "{url:?}: {shown}");
        });
    }
}
