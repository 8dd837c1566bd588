//! Checks before the first operation of a client on a queue.

use redis::cmd;

use super::redis_engine::RedisEngine;
use super::{acl, names, reply};
use crate::name::QueueName;
use crate::{Error, ErrorKind, Result};

/// The storage formats, kept with each queue: of a plain one, and of one that uses more.
const FORMATS: [&str; 2] = ["2", "2+1"];

/// Reads the user's rights and the storage format, and puts the list of queues right.
pub(super) async fn open_queue(engine: &RedisEngine, queue: &QueueName) -> Result<()> {
    let context = &engine.context;
    acl::learn(context, queue).await?;
    let mut command = cmd("HMGET");
    command.arg(context.keys(queue).meta()).arg(&["format", "incarnation"]);
    let [format, incarnation] = reply::array(context.command(queue, command).await?)?;
    let format = reply::optional_text(format)?;
    if let Some(format) = format.as_deref().filter(|format| !FORMATS.contains(format)) {
        return Err(Error::new(
            ErrorKind::Incompatible,
            format_args!(
                "queue {queue} has storage format {format}, this version of leaseq reads {}: \
                 upgrade the older one of the two",
                FORMATS.join(" and ")
            ),
        ));
    }
    if format.as_deref() == Some(FORMATS[1]) {
        context.keys(queue).set_extended();
    }
    // Usually the list is right: once for each client is cheap.
    let incarnation = reply::bytes(incarnation)?;
    match names::listed(context, queue, context.briefly()).await {
        Ok(listed) if listed == incarnation => {}
        Ok(_) => engine.announce(queue).await,
        Err(error) => tracing::warn!(%queue, %error, "the list of queues could not be read"),
    }
    Ok(())
}
