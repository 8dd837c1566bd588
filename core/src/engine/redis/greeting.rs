//! The first requests on a connection: logging in, choosing the database, checking the server.

use redis::{Cmd, RedisError, Value, cmd};

use super::address::Address;
use super::confirmation::Confirmation;
use super::connection::Connection;
use super::open_error::{OpenError, is_busy, open_error};
use super::retry_decision::shown;
use crate::{Error, ErrorKind, Result};

/// Logs in, chooses the database and checks the server, all in one round trip. `confirmation`: what the server
/// must be able to wait for.
pub(super) async fn greet(
    address: &Address,
    confirmation: Option<Confirmation>,
    connection: Connection,
    at: &str,
) -> Result<Connection, OpenError> {
    let login = address.password.as_ref().map(|password| {
        let mut command = cmd("AUTH");
        command.arg(address.user.as_ref()).arg(password);
        command
    });
    let select = (address.db != 0).then(|| {
        let mut command = cmd("SELECT");
        command.arg(address.db);
        command
    });
    // For `CLIENT LIST`. Old servers do not know the command.
    let name = |key: &str, value: &str| {
        let mut command = cmd("CLIENT");
        command.arg("SETINFO").arg(key).arg(value);
        Some(command)
    };
    let send = async |command: Option<Cmd>| match command {
        Some(command) => connection.clone().send_packed_command(&command).await?.extract_error(),
        None => Ok(Value::Nil),
    };
    let [first, second] = confirmation.map(Confirmation::probes).unwrap_or_default();
    // In this order, but not as one pipeline: its error would hide the reply to the first command.
    let (login, select, info, _, _, first, second) = tokio::join!(
        biased;
        send(login),
        send(select),
        send(Some(cmd("INFO"))),
        send(name("LIB-NAME", "leaseq")),
        send(name("LIB-VER", env!("CARGO_PKG_VERSION"))),
        send(first),
        send(second),
    );
    login.map_err(|error| refused_login(at, &error))?;
    select.map_err(|error| refused_database(address.db, at, &error))?;
    let info = info.map_err(|error| match error.code() {
        Some("NOPERM") => OpenError::Lasting(Error::new(
            ErrorKind::Incompatible,
            format_args!(
                "{at}: the user may not run INFO, so the server's version and \
                 maxmemory-policy cannot be checked; grant +info"
            ),
        )),
        _ => open_error(at, &error),
    })?;
    let info: String = redis::from_redis_value(info)
        .map_err(|_| OpenError::Passing(format!("{at}: the answer to INFO is no text")))?;
    check_server(at, &info, address.seeds().is_some())?;
    match confirmation.and_then(|asked| asked.refusal([first, second])) {
        Some(refusal) => {
            Err(OpenError::Unconfirmable(Error::invalid(format_args!("{at}: {refusal}"))))
        }
        None => Ok(connection),
    }
}

fn refused_database(db: i64, at: &str, error: &RedisError) -> OpenError {
    match open_error(at, error) {
        OpenError::Passing(_) if !is_busy(error) => OpenError::Lasting(Error::invalid(
            format_args!("{at}: database {db} cannot be used: {}", shown(error)),
        )),
        other => other,
    }
}

/// The server's message is not shown: it may quote what it was sent.
fn refused_login(at: &str, error: &RedisError) -> OpenError {
    match is_busy(error) {
        true => open_error(at, error),
        false => OpenError::Lasting(Error::invalid(format_args!(
            "{at}: the server refused user or password"
        ))),
    }
}

fn check_server(at: &str, info: &str, cluster: bool) -> Result<(), OpenError> {
    let field = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let incompatible =
        |message: String| Err(OpenError::Lasting(Error::new(ErrorKind::Incompatible, message)));
    let (name, version, least) = match field("valkey_version") {
        Some(version) => ("Valkey", version, (7, 2)),
        None => ("Redis", field("redis_version").unwrap_or("0"), (7, 0)),
    };
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < least {
        return incompatible(format!(
            "{at}: {name} {version} is too old: upgrade to Redis 7.0 or Valkey 7.2 or newer"
        ));
    }
    if let Some(policy) = field("maxmemory_policy").filter(|policy| *policy != "noeviction") {
        return incompatible(format!(
            "{at}: with maxmemory-policy {policy} the server throws items away when its memory \
             is full: set maxmemory-policy to noeviction"
        ));
    }
    if !cluster && field("cluster_enabled") == Some("1") {
        return Err(OpenError::Lasting(Error::invalid(format!(
            "{at}: the server is part of a cluster: connect with redis+cluster://"
        ))));
    }
    match field("role") {
        Some("master") | None => Ok(()),
        Some(role) if field("loading") == Some("1") => {
            Err(OpenError::Passing(format!("{at}: a {role} that is loading its data")))
        }
        // In a cluster, a replica redirects to its master.
        Some(_) if cluster => Ok(()),
        Some(role) => {
            Err(OpenError::Passing(format!("{at}: the server is a {role}, not a master")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(info: &str) -> Option<Error> {
        match check_server("h:1", info, false) {
            Err(OpenError::Lasting(error)) => Some(error),
            _ => None,
        }
    }

    #[test]
    fn old_and_evicting_servers_are_refused_with_what_to_change() {
        let info = |version: &str, policy: &str| {
            format!("{version}\r\nmaxmemory_policy:{policy}\r\nrole:master\r\n")
        };
        for good in ["redis_version:7.0.0", "redis_version:8.2.1", "valkey_version:7.2.0"] {
            assert!(check_server("h:1", &info(good, "noeviction"), false).is_ok(), "{good}");
        }
        for old in ["redis_version:6.2.14", "redis_version:7.2.4\r\nvalkey_version:7.1.0"] {
            let error = refused(&info(old, "noeviction")).unwrap();
            assert_eq!(error.kind(), ErrorKind::Incompatible);
            assert!(error.to_string().contains("upgrade"), "{error}");
        }
        for policy in ["allkeys-lru", "volatile-ttl"] {
            let error = refused(&info("redis_version:7.0.0", policy)).unwrap();
            assert_eq!(error.kind(), ErrorKind::Incompatible);
            assert!(error.to_string().contains("set maxmemory-policy to noeviction"), "{error}");
        }
    }
}
