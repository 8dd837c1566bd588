//! Where the queue is: a server of the demo's own, or the one that `LEASEQ_URL` names.

use leaseq_test_support::RedisServer;

use super::Error;

pub(super) struct Server {
    pub(super) url: String,
    /// The engine, for the screen.
    pub(super) engine: String,
    // Stopped when dropped.
    _private: Option<RedisServer>,
}

impl Server {
    pub(super) fn choose() -> Result<Self, Error> {
        match std::env::var("LEASEQ_URL").ok().filter(|url| !url.is_empty()) {
            Some(url) if url.starts_with("memory:") => {
                Err("LEASEQ_URL=memory: holds for one process only; the workers are others".into())
            }
            Some(url) => {
                let engine = format!("{}, by LEASEQ_URL", without_login(&url));
                Ok(Server { url, engine, _private: None })
            }
            None => {
                let server = RedisServer::start();
                let engine = format!("{}, private server", version(&server));
                Ok(Server { url: server.url(), engine, _private: Some(server) })
            }
        }
    }
}

fn version(server: &RedisServer) -> String {
    let info = server.cli(&["INFO", "server"]);
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match (field("valkey_version:"), field("redis_version:")) {
        (Some(version), _) => format!("Valkey {version}"),
        (None, version) => format!("Redis {}", version.unwrap_or("of unknown version")),
    }
}

/// The URL without user, password and options.
fn without_login(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match (url.split_once("//"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, hosts))) => format!("{scheme}//{hosts}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_shows_no_password() {
        let shown = without_login("redis://me:a@b/c@host:6379/1?password=secret");
        assert_eq!(shown, "redis://host:6379/1");
        assert_eq!(without_login("redis+unix:///run/redis.sock"), "redis+unix:///run/redis.sock");
    }
}
