//! The engine on Redis and Valkey: one Lua script for each operation. `core/docs/protocol.md` has
//! the keys, the scripts and the reasons.

mod address;
mod audit;
mod connection;
mod keys;
mod link;
mod record;
mod reply;
mod scripts;
mod verdict;
mod wake;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use redis::{Cmd, Value, cmd};

use self::address::Address;
use self::connection::Opener;
use self::keys::{ALL, Keys, UP_TO_DEAD, UP_TO_EXTRA, UP_TO_META, UP_TO_READY, UP_TO_WAKE};
use self::link::Link;
use self::record::{read_extra, read_record, store_id, write_record};
use self::scripts::{Script, Scripts};
use self::wake::Wake;
use super::{Complete, Engine, Extend, Fail, Leased, LeasedItem, Release, Stamp, Token, Wanted};
use crate::clean::{DeepReport, LightReport};
use crate::item::{Counts, Cursor, Item, ItemInfo, Page, State, Totals};
use crate::lease::from_ms;
use crate::name::QueueName;
use crate::options::ConnectOptions;
use crate::{Error, ErrorKind, Result};

/// Number of the storage format, kept with each queue.
const FORMAT: &str = "1";
/// Most items of each kind that one step of a light clean moves.
const LIGHT_STEP: usize = 500;

#[cfg(feature = "testing")]
pub(crate) use self::scripts::texts as script_texts;

pub(crate) struct RedisEngine {
    link: Arc<Link>,
    wake: Wake,
    namespace: String,
    timeout: Duration,
    keys: Mutex<HashMap<QueueName, Arc<Keys>>>,
}

impl RedisEngine {
    pub(crate) async fn connect(
        url: &str,
        mut options: ConnectOptions,
    ) -> Result<(RedisEngine, ConnectOptions)> {
        let address = Address::parse(url, &mut options)?;
        let opener = Opener::new(address, &options)?;
        #[cfg(feature = "testing")]
        let scripts = Scripts::new(options.patch_scripts);
        #[cfg(not(feature = "testing"))]
        let scripts = Scripts::new(None);
        let link = Arc::new(Link::new(opener, scripts, options.timeout));
        link.probe().await?;
        let engine = RedisEngine {
            wake: Wake::new(link.clone(), &options.namespace),
            link,
            namespace: options.namespace.clone(),
            timeout: options.timeout,
            keys: Mutex::default(),
        };
        Ok((engine, options))
    }

    fn keys(&self, queue: &QueueName) -> Arc<Keys> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.entry(queue.clone())
            .or_insert_with(|| Arc::new(Keys::new(&self.namespace, queue)))
            .clone()
    }

    /// For operations without a stamp.
    fn until(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Runs an operation that changes state: the keys, the stamp, then what `fill` adds.
    async fn run(
        &self,
        queue: &QueueName,
        script: Script,
        key_count: usize,
        stamp: &Stamp,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let keys = self.keys(queue);
        self.link
            .run(queue, script, stamp.until, |command| {
                command.arg(key_count).arg(keys.first(key_count));
                command.arg(&*stamp.lane).arg(stamp.number);
                fill(command);
            })
            .await
    }

    /// Runs a script that may be repeated: the keys, then what `fill` adds.
    async fn look(
        &self,
        queue: &QueueName,
        script: Script,
        key_count: usize,
        fill: impl Fn(&mut Cmd) + Send + Sync,
    ) -> Result<Value> {
        let keys = self.keys(queue);
        self.link
            .run(queue, script, self.until(), |command| {
                command.arg(key_count).arg(keys.first(key_count));
                fill(command);
            })
            .await
    }

    /// Makes the queue known to those that look for queues. It works without that, so a failure is
    /// no failure of the operation at hand; the next client that uses the queue tries again.
    async fn announce(&self, queue: &QueueName) {
        let until = Instant::now() + self.timeout.min(Duration::from_secs(1));
        // Usually it is known. Asked first, since a server that is full refuses to add it again.
        for name in ["SISMEMBER", "SADD"] {
            let mut command = cmd(name);
            command.arg(keys::queues(&self.namespace)).arg(queue.as_str());
            match self.link.command(&self.directory(), until, command).await {
                Ok(Value::Int(1)) => return,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%queue, %error, "the queue could not be put on the list of queues");
                    return;
                }
            }
        }
    }

    /// Stands for the node of a Cluster that has the set of queue names.
    fn directory(&self) -> QueueName {
        QueueName::directory()
    }
}

impl Drop for RedisEngine {
    fn drop(&mut self) {
        // Nobody is left who could close it: what listens for news ends, and its connection.
        self.link.closed.cancel();
    }
}

#[async_trait]
impl Engine for RedisEngine {
    async fn open_queue(&self, queue: &QueueName) -> Result<()> {
        let mut command = cmd("HGET");
        command.arg(self.keys(queue).meta()).arg("format");
        let found = reply::optional_text(self.link.command(queue, self.until(), command).await?)?;
        match found {
            None => Ok(()),
            // Known already, unless the set of names was lost: once for each client is cheap.
            Some(format) if format == FORMAT => {
                self.announce(queue).await;
                Ok(())
            }
            Some(format) => Err(Error::new(
                ErrorKind::Incompatible,
                format_args!(
                    "queue {queue} has storage format {format}, this version of leaseq reads \
                     {FORMAT}: upgrade the older one of the two"
                ),
            )),
        }
    }

    async fn add(&self, queue: &QueueName, items: &[Item], stamp: &Stamp) -> Result<Vec<bool>> {
        // Of items with the same id in one batch only the first can be added.
        let mut seen = HashSet::with_capacity(items.len());
        let first: Vec<&Item> = items.iter().filter(|item| seen.insert(&item.id)).collect();
        let stored: Vec<(Vec<u8>, Vec<u8>)> = first
            .iter()
            .map(|item| {
                let id = store_id(&item.id);
                let record = write_record(&id, &item.data);
                (id, record)
            })
            .collect();
        let highest = first.iter().map(|item| item.priority).max().unwrap_or(0);
        let key_count = UP_TO_READY + highest as usize;
        let reply = self
            .run(queue, Script::Add, key_count, stamp, |command| {
                command.arg(stored.len());
                for (id, record) in &stored {
                    command.arg(id).arg(record);
                }
                for (i, item) in first.iter().enumerate() {
                    let max_attempts = item.max_attempts.unwrap_or(0);
                    if item.priority > 0 || !item.delay.is_zero() || max_attempts > 0 {
                        command
                            .arg(i + 1)
                            .arg(item.priority)
                            .arg(item.delay_ms())
                            .arg(max_attempts);
                    }
                }
            })
            .await?;
        let answers = reply::text(reply)?;
        if answers.ends_with('n') {
            self.announce(queue).await;
        }
        let mut answers = reply::bools(answers.trim_end_matches('n'), first.len())?.into_iter();
        if first.len() == items.len() {
            return Ok(answers.collect());
        }
        let mut seen = HashSet::new();
        let mut answer =
            |item: &Item| seen.insert(item.id.clone()) && answers.next().unwrap_or(false);
        Ok(items.iter().map(&mut answer).collect())
    }

    async fn lease(
        &self,
        queue: &QueueName,
        wanted: &[Wanted],
        patience: Duration,
        stamp: &Stamp,
    ) -> Result<Leased> {
        let reply = self
            .run(queue, Script::Lease, ALL, stamp, |command| {
                command.arg(patience.as_millis() as u64);
                for group in wanted {
                    command.arg(group.count).arg(group.duration_ms);
                }
                if wanted.is_empty() {
                    command.arg(0).arg(0);
                }
            })
            .await?;
        let [now, look_in, numbers, records, extras] = reply::array(reply)?;
        let now: u64 = reply::number(now)?;
        let look_in: i64 = reply::number(look_in)?;
        let mut extras = reply::list(extras)?.into_iter();
        let mut durations =
            wanted.iter().flat_map(|group| std::iter::repeat_n(group.duration_ms, group.count));
        let mut items = Vec::new();
        let mut unreadable = None;
        for (number, record) in reply::list(numbers)?.into_iter().zip(reply::list(records)?) {
            let extra = extras.next().map(reply::bytes).transpose()?.unwrap_or_default();
            let duration_ms = durations.next().unwrap_or(0);
            let record = reply::bytes(record)?;
            if record.is_empty() {
                continue;
            }
            let number = reply::number(number)?;
            // One that cannot be read must not keep the others from their caller.
            let Some((id, data)) = read_record(record) else {
                unreadable = Some(number);
                continue;
            };
            let extra = read_extra(&extra);
            items.push(LeasedItem {
                token: Token { number, delivery: extra.deliveries },
                id,
                data,
                priority: extra.priority,
                max_attempts: extra.max_attempts,
                failures: extra.failures,
                expiries: extra.expiries,
                last_error: extra.error,
                duration_ms,
                deadline_ms: now + duration_ms,
            });
        }
        if let Some(number) = unreadable {
            let error = bad_record(queue, number);
            tracing::warn!(%error, "an item was leased to nobody");
            if items.is_empty() {
                return Err(error);
            }
        }
        let look_in = u64::try_from(look_in).ok().map(Duration::from_millis);
        Ok(Leased { items, look_in })
    }

    async fn complete(
        &self,
        queue: &QueueName,
        leases: &[Complete],
        stamp: &Stamp,
    ) -> Result<Vec<bool>> {
        let reply = self
            .run(queue, Script::Complete, UP_TO_DEAD, stamp, |command| {
                command.arg(leases.len());
                for lease in leases {
                    command
                        .arg(lease.token.number)
                        .arg(store_id(&lease.id))
                        .arg(lease.token.delivery);
                }
                for (i, _) in leases.iter().enumerate().filter(|(_, lease)| lease.strict) {
                    command.arg(i + 1);
                }
            })
            .await?;
        reply::bools(&reply::text(reply)?, leases.len())
    }

    async fn extend(
        &self,
        queue: &QueueName,
        leases: &[Extend],
        stamp: &Stamp,
    ) -> Result<Vec<Option<u64>>> {
        let reply = self
            .run(queue, Script::Extend, UP_TO_EXTRA, stamp, |command| {
                for lease in leases {
                    command
                        .arg(lease.token.number)
                        .arg(lease.token.delivery)
                        .arg(lease.duration_ms);
                }
            })
            .await?;
        let answers = reply::text(reply)?;
        reply::same_length(answers.split(' ').map(|deadline| deadline.parse().ok()), leases.len())
    }

    async fn release(
        &self,
        queue: &QueueName,
        leases: &[Release],
        stamp: &Stamp,
    ) -> Result<Vec<bool>> {
        let reply = self
            .run(queue, Script::Release, ALL, stamp, |command| {
                for lease in leases {
                    command.arg(lease.token.number).arg(lease.token.delivery).arg(lease.delay_ms);
                }
            })
            .await?;
        reply::bools(&reply::text(reply)?, leases.len())
    }

    async fn fail(
        &self,
        queue: &QueueName,
        leases: &[Fail],
        stamp: &Stamp,
    ) -> Result<Vec<Option<State>>> {
        let reply = self
            .run(queue, Script::Fail, ALL, stamp, |command| {
                for lease in leases {
                    command.arg(lease.token.number).arg(lease.token.delivery);
                    command.arg(lease.delay_ms).arg(&lease.error);
                }
            })
            .await?;
        let answers = reply::text(reply)?;
        let states = answers.bytes().zip(leases).map(|(answer, lease)| match answer {
            b'0' => None,
            b'2' => Some(State::Dead),
            _ if lease.delay_ms > 0 => Some(State::Delayed),
            _ => Some(State::Ready),
        });
        reply::same_length(states, leases.len())
    }

    async fn remove(&self, queue: &QueueName, ids: &[Bytes], stamp: &Stamp) -> Result<Vec<bool>> {
        let reply = self
            .run(queue, Script::Remove, UP_TO_DEAD, stamp, |command| {
                for id in ids {
                    command.arg(store_id(id));
                }
            })
            .await?;
        reply::bools(&reply::text(reply)?, ids.len())
    }

    async fn requeue(&self, queue: &QueueName, ids: &[Bytes], stamp: &Stamp) -> Result<Vec<bool>> {
        let reply = self
            .run(queue, Script::Requeue, ALL, stamp, |command| {
                for id in ids {
                    command.arg(store_id(id));
                }
            })
            .await?;
        reply::bools(&reply::text(reply)?, ids.len())
    }

    async fn purge(
        &self,
        queue: &QueueName,
        state: State,
        limit: u64,
        stamp: &Stamp,
    ) -> Result<(u64, u64)> {
        let reply = self
            .run(queue, Script::Purge, ALL, stamp, |command| {
                command.arg(state.as_str()).arg(limit);
            })
            .await?;
        let [removed, seen] = reply::numbers(&reply::text(reply)?)?;
        Ok((removed, seen))
    }

    async fn light_clean(&self, queue: &QueueName, stamp: &Stamp) -> Result<(LightReport, bool)> {
        let reply = self
            .run(queue, Script::LightClean, ALL, stamp, |command| {
                command.arg(LIGHT_STEP);
            })
            .await?;
        let [promoted, expired, died, next]: [i64; 4] = reply::numbers(&reply::text(reply)?)?;
        let report = LightReport {
            promoted: promoted as u64,
            expired: expired as u64,
            died: died as u64,
            next_in: u64::try_from(next).ok().map(Duration::from_millis),
        };
        let more = promoted.max(expired) >= LIGHT_STEP as i64;
        Ok((report, more))
    }

    async fn audit(&self, queue: &QueueName, mend: bool) -> Result<DeepReport> {
        audit::Audit::new(self, queue, mend).run().await
    }

    async fn set_paused(&self, queue: &QueueName, paused: bool) -> Result<()> {
        if paused {
            self.look(queue, Script::Pause, UP_TO_META, |_| ()).await?;
        } else {
            self.look(queue, Script::Resume, UP_TO_WAKE, |_| ()).await?;
        }
        Ok(())
    }

    async fn counts(&self, queue: &QueueName) -> Result<Counts> {
        let reply = self.look(queue, Script::Counts, ALL, |_| ()).await?;
        let numbers = reply::list(reply)?;
        let numbers: Vec<i64> = numbers.into_iter().map(reply::number).collect::<Result<_>>()?;
        let Ok(numbers) = <[i64; 22]>::try_from(numbers) else {
            return Err(reply::unexpected("counts"));
        };
        let [leased, delayed, dead, paused, age, rest @ ..] = numbers.map(|n| n.max(-1));
        let n = |i: usize| rest[i].max(0) as u64;
        let ready_by_priority: [u64; 10] = std::array::from_fn(n);
        Ok(Counts {
            ready: ready_by_priority.iter().sum(),
            ready_by_priority,
            delayed: delayed.max(0) as u64,
            leased: leased.max(0) as u64,
            dead: dead.max(0) as u64,
            oldest_ready: u64::try_from(age).ok().map(Duration::from_millis),
            paused: paused == 1,
            totals: Totals {
                added: n(10),
                leased: n(11),
                completed: n(12),
                expired: n(13),
                failed: n(14),
                died: n(15),
                removed: n(16),
            },
        })
    }

    async fn get(&self, queue: &QueueName, id: &[u8]) -> Result<Option<ItemInfo>> {
        let id = store_id(id);
        let reply = self
            .look(queue, Script::Get, UP_TO_DEAD, |command| {
                command.arg(&id);
            })
            .await?;
        let parts = reply::list(reply)?;
        if parts.is_empty() {
            return Ok(None);
        }
        let Ok([_now, number, record, extra, state, score]) = <[Value; 6]>::try_from(parts) else {
            return Err(reply::unexpected("get"));
        };
        let state = reply::text(state)?;
        let state = State::ALL.into_iter().find(|known| known.as_str() == state);
        let state = state.ok_or_else(|| reply::unexpected("state"))?;
        item_info(queue, state, number, record, extra, score).map(Some)
    }

    async fn list(
        &self,
        queue: &QueueName,
        state: State,
        cursor: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page> {
        let (from, after) = cursor.map_or(("", ""), |cursor| (&cursor.0, &cursor.1));
        let reply = self
            .look(queue, Script::List, ALL, |command| {
                command.arg(state.as_str()).arg(limit).arg(from).arg(after);
            })
            .await?;
        let mut parts = reply::list(reply)?.into_iter();
        let (Some(_now), Some(from), Some(after)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(reply::unexpected("list"));
        };
        let (from, after) = (reply::text(from)?, reply::text(after)?);
        let mut items = Vec::new();
        while let (Some(number), Some(record), Some(extra), Some(score)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        {
            items.push(item_info(queue, state, number, record, extra, score)?);
        }
        Ok(Page { items, cursor: (!from.is_empty()).then_some(Cursor(from, after)) })
    }

    async fn queues(&self) -> Result<Vec<String>> {
        let mut command = cmd("SMEMBERS");
        command.arg(keys::queues(&self.namespace));
        let reply = self.link.command(&self.directory(), self.until(), command).await?;
        reply::list(reply)?.into_iter().map(reply::text).collect()
    }

    async fn wait(&self, queue: &QueueName) {
        self.wake.wait(queue).await;
    }

    async fn retire(&self, queue: &QueueName, lanes: &[Arc<str>]) -> Result<()> {
        for chunk in lanes.chunks(500) {
            let mut command = cmd("HDEL");
            command.arg(self.keys(queue).lanes());
            for lane in chunk {
                command.arg(&**lane);
            }
            // Short, so that closing does not hang on a server that is gone.
            let until = Instant::now() + self.timeout.min(Duration::from_secs(1));
            self.link.command(queue, until, command).await?;
        }
        Ok(())
    }

    async fn close(&self) {
        self.link.close().await;
    }
}

fn bad_record(queue: &QueueName, number: u64) -> Error {
    Error::internal(format_args!("queue {queue}, item number {number}: cannot be read; run check"))
}

fn item_info(
    queue: &QueueName,
    state: State,
    number: Value,
    record: Value,
    extra: Value,
    score: Value,
) -> Result<ItemInfo> {
    let number = reply::number(number)?;
    let (id, data) = read_record(reply::bytes(record)?).ok_or_else(|| bad_record(queue, number))?;
    let extra = read_extra(&reply::bytes(extra)?);
    Ok(ItemInfo {
        id,
        data,
        state,
        priority: extra.priority,
        max_attempts: extra.max_attempts,
        failures: extra.failures,
        expiries: extra.expiries,
        last_error: extra.error,
        added_at: from_ms(record::added_at_ms(number)),
        at: reply::text(score)?.parse::<f64>().ok().map(|ms| from_ms(ms.max(0.0) as u64)),
    })
}
