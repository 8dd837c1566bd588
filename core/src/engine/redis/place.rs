//! Where a server is: the hosts and the path of its URL.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;

use crate::{Error, Result};

/// A host and a port.
pub(super) type Node = (String, u16);

/// Where the server is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Place {
    Node(Node),
    Unix(PathBuf),
    Sentinel { sentinels: Vec<Node>, master: String },
    Cluster(Vec<Node>),
}

pub(super) fn invalid(scheme: &str, what: &str) -> Error {
    Error::invalid(format_args!("{scheme} url: {what}"))
}

/// Reads where the server is, and the number of the database.
pub(super) fn read_place(scheme: &str, hosts: &str, path: &str) -> Result<(Place, i64)> {
    match scheme {
        "redis" | "rediss" => {
            let mut nodes = read_nodes(scheme, hosts, 6379)?;
            if nodes.len() != 1 {
                return Err(invalid(scheme, "it names more than one host"));
            }
            Ok((Place::Node(nodes.remove(0)), read_database(scheme, path)?))
        }
        "redis+unix" => {
            let Some(path) = decode(scheme, path)?.filter(|_| hosts.is_empty()) else {
                return Err(invalid(scheme, "it is written redis+unix:///path/to/socket"));
            };
            Ok((Place::Unix(PathBuf::from(format!("/{path}"))), 0))
        }
        "redis+sentinel" | "rediss+sentinel" => {
            let (master, db) = path.split_once('/').unwrap_or((path, ""));
            let Some(master) = decode(scheme, master)? else {
                let what = "the name of the master is missing: …//host:26379/NAME";
                return Err(invalid(scheme, what));
            };
            let sentinels = read_nodes(scheme, hosts, 26379)?;
            Ok((Place::Sentinel { sentinels, master }, read_database(scheme, db)?))
        }
        _ => {
            if read_database(scheme, path)? != 0 {
                return Err(invalid(scheme, "a cluster has database 0 only"));
            }
            Ok((Place::Cluster(read_nodes(scheme, hosts, 6379)?), 0))
        }
    }
}

pub(super) fn read_database(scheme: &str, text: &str) -> Result<i64> {
    match text {
        "" => Ok(0),
        text => text
            .parse::<u16>()
            .map(i64::from)
            .map_err(|_| invalid(scheme, "the database is not a number from 0 to 65535")),
    }
}

/// Undoes percent-encoding; `None` if the text is empty.
pub(super) fn decode(scheme: &str, text: &str) -> Result<Option<String>> {
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok((!text.is_empty()).then(|| text.into_owned())),
        Err(_) => Err(invalid(scheme, "a part of it is not utf-8")),
    }
}

fn read_nodes(scheme: &str, hosts: &str, default_port: u16) -> Result<Vec<Node>> {
    hosts.split(',').map(|host| read_node(scheme, host, default_port)).collect()
}

fn read_node(scheme: &str, text: &str, default_port: u16) -> Result<Node> {
    let wrong = || Error::invalid(format_args!("{scheme} url: a host is not written host:port"));
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
            (host, port.strip_prefix(':').unwrap_or(port))
        }
        None => text.split_once(':').unwrap_or((text, "")),
    };
    // Messages quote hosts: anything else may be part of a password.
    let is_plain = |c: u8| c.is_ascii_alphanumeric() || b"._-:%".contains(&c);
    if host.is_empty() || host.len() > 255 || !host.bytes().all(is_plain) {
        return Err(wrong());
    }
    let port = match port {
        "" => default_port,
        port => port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?,
    };
    Ok((host.to_owned(), port))
}
