//! Which engine a URL names.

use std::sync::Arc;

use super::interface::Engine;
#[cfg(feature = "redis")]
use super::redis::RedisEngine;
#[cfg(feature = "sqlite")]
use super::sqlite::SqliteEngine;
use crate::options::ConnectOptions;
use crate::{Error, Result, redact};

/// Opens the engine that the URL names. Returns it with the options, as changed by the URL.
pub(crate) async fn connect(
    url: &str,
    options: ConnectOptions,
) -> Result<(Arc<dyn Engine>, ConnectOptions)> {
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        #[cfg(feature = "redis")]
        "redis" | "rediss" | "redis+unix" | "redis+sentinel" | "rediss+sentinel"
        | "redis+cluster" | "rediss+cluster" => {
            if options.clock.is_some() {
                return Err(Error::invalid("a clock for a server, which has its own"));
            }
            let (engine, options) = RedisEngine::connect(url, options).await?;
            Ok((Arc::new(engine), options))
        }
        #[cfg(not(feature = "redis"))]
        "redis" | "rediss" | "redis+unix" | "redis+sentinel" | "rediss+sentinel"
        | "redis+cluster" | "rediss+cluster" => {
            let _ = options;
            Err(Error::invalid(
                "this build of leaseq has no redis engine: enable its feature `redis`",
            ))
        }
        #[cfg(feature = "sqlite")]
        "sqlite" | "memory" => {
            let (engine, options) = SqliteEngine::connect(url, options).await?;
            Ok((Arc::new(engine), options))
        }
        #[cfg(not(feature = "sqlite"))]
        "sqlite" | "memory" => {
            let _ = options;
            Err(Error::invalid(
                "this build of leaseq has no embedded engine: enable its feature `sqlite`",
            ))
        }
        // The rest is not quoted: what is not a URL may be a password.
        _ => Err(Error::invalid(format_args!(
            "unknown url scheme{}: known are redis, rediss, redis+unix, redis+sentinel, \
             rediss+sentinel, redis+cluster, rediss+cluster, sqlite, memory",
            redact::scheme(url).map(|scheme| format!(" {scheme:?}")).unwrap_or_default()
        ))),
    }
}

#[cfg(all(test, not(all(feature = "redis", feature = "sqlite"))))]
mod tests {
    use crate::{Client, ErrorKind};

    #[tokio::test]
    async fn an_engine_that_was_left_out_is_invalid_and_named() {
        let urls = [
            (cfg!(feature = "redis"), "redis://localhost/", "`redis`"),
            (cfg!(feature = "sqlite"), "sqlite:queue.db", "`sqlite`"),
            (cfg!(feature = "sqlite"), "memory:", "`sqlite`"),
        ];
        for (_, url, feature) in urls.into_iter().filter(|(there, _, _)| !there) {
            let error = Client::connect(url).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(feature), "{error}");
        }
    }
}
