//! Settings of a queue, and pausing it.

use redis::{Cmd, Value};

use super::redis_engine::RedisEngine;
use super::scripts::Script;
use super::{number, reply};
use crate::Result;
use crate::engine::RequestId;
use crate::name::QueueName;
use crate::pause::{Pause, Paused};
use crate::settings::{Configure, Setting, Settings, Stored};

pub(super) async fn set_paused(
    engine: &RedisEngine,
    queue: &QueueName,
    pause: &Pause,
    request_id: &RequestId,
) -> Result<()> {
    let Pause::Begin { duration_ms, note } = pause else {
        engine.run(queue, Script::Resume, request_id, |_| ()).await?;
        return Ok(());
    };
    let fill = |command: &mut Cmd| {
        let duration = duration_ms.unwrap_or(0);
        command.arg(&number::salt(request_id)[..]).arg(duration).arg(note.text());
    };
    engine.run(queue, Script::Pause, request_id, fill).await?;
    // The queue may be new.
    engine.announce(queue).await;
    Ok(())
}

pub(super) async fn configure(
    engine: &RedisEngine,
    queue: &QueueName,
    change: &Configure,
    request_id: &RequestId,
) -> Result<Option<Settings>> {
    let fill = |command: &mut Cmd| {
        command.arg(&number::salt(request_id)[..]);
        match change.revision {
            Some(revision) => command.arg(revision),
            None => command.arg(""),
        };
        for (setting, value) in &change.changes {
            command.arg(setting.name()).arg(value);
        }
    };
    let reply = text(engine.run(queue, Script::Configure, request_id, fill).await?)?;
    let Some((answer, shown)) = reply.split_once(' ') else { return Ok(None) };
    if answer == "n" {
        engine.announce(queue).await;
    }
    let (settings, stored) = read(shown)?;
    if stored != Stored::default() {
        engine.context.keys(queue).set_extended();
    }
    Ok(Some(settings))
}

pub(super) async fn settings(engine: &RedisEngine, queue: &QueueName) -> Result<Settings> {
    let reply = engine.query(queue, Script::Settings, |_| ()).await?;
    Ok(read(&text(reply)?)?.0)
}

/// The note of a pause that was damaged may be any bytes.
fn text(reply: Value) -> Result<String> {
    Ok(String::from_utf8_lossy(&reply::bytes(reply)?).into_owned())
}

/// Reads what `scripts/parts/pack_settings.lua` shows.
fn read(shown: &str) -> Result<(Settings, Stored)> {
    let unexpected = || reply::unexpected(shown);
    let (shown, note) = shown.split_once('\n').unwrap_or((shown, ""));
    let mut words = shown.split(' ');
    let mut number = || words.next().and_then(|word| word.parse::<i64>().ok());
    let (Some(revision), Some(paused), Some(opens)) = (number(), number(), number()) else {
        return Err(unexpected());
    };
    let paused = match paused {
        -1 => Paused::UntilResumed,
        0 => Paused::No,
        until => Paused::Until(until as u64),
    };
    let mut stored = Stored::default();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(unexpected)?;
        // A setting that this version does not know is left out.
        if let Some(setting) = Setting::ALL.into_iter().find(|known| known.name() == name) {
            stored.set(setting, value.parse().map_err(|_| unexpected())?);
        }
    }
    let opens = u64::try_from(opens).ok().filter(|at| *at > 0);
    Ok((Settings::new(stored, revision as u64, paused, note, opens), stored))
}
