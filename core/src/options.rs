//! Every limit and default of the contract, and the options of the operations.

use std::str::FromStr;
use std::time::Duration;

use crate::{Error, Result};

/// Longest queue name, in bytes; shorter ones match `[A-Za-z0-9._-]{1,128}`.
pub const MAX_QUEUE_NAME: usize = 128;
/// Longest id, in bytes; the shortest is 1 byte.
pub const MAX_ID: usize = 512;
/// Largest data of an item unless configured otherwise, in bytes: 8 MiB.
pub const DEFAULT_MAX_DATA: usize = 8 << 20;
/// The most that [`ConnectOptions::max_data`] may allow, in bytes: 256 MiB.
pub const MAX_MAX_DATA: usize = 256 << 20;
/// Shortest lease.
pub const MIN_LEASE: Duration = Duration::from_millis(1);
/// Longest lease: 30 days.
pub const MAX_LEASE: Duration = Duration::from_secs(30 * 86_400);
/// Longest delay: 366 days.
pub const MAX_DELAY: Duration = Duration::from_secs(366 * 86_400);
/// Shortest time after which an item that nobody has leased is dead.
pub const MIN_EXPIRES_IN: Duration = Duration::from_millis(1);
/// Longest time after which an item that nobody has leased is dead: 366 days.
pub const MAX_EXPIRES_IN: Duration = Duration::from_secs(366 * 86_400);
/// Highest limit of attempts.
pub const MAX_ATTEMPTS: u32 = 65_535;
/// Highest priority; the lowest, and the default, is 0.
pub const MAX_PRIORITY: u8 = 9;
/// Limit of the items in one step of an engine. Larger batches are split.
pub const MAX_BATCH: usize = 1_000;
/// Longest error text that is kept with a failed item, in bytes. The rest is cut off.
pub const MAX_ERROR_TEXT: usize = 1_024;
/// Longest text that [`ListOptions::data_contains`](crate::ListOptions::data_contains) looks for, in bytes.
pub const MAX_SEARCHED: usize = 1_024;
/// Longest time for which an item is retained after its completion, or a unique key stays taken: 366 days.
pub const MAX_RETAIN: Duration = Duration::from_secs(366 * 86_400);
/// The most that a limit of dead or retained items may allow.
pub const MAX_KEPT: u64 = 1_000_000_000;
/// Shortest limit of the age of dead or retained items.
pub const MIN_KEPT_AGE: Duration = Duration::from_millis(1);
/// The highest rate and burst of a queue.
pub const MAX_RATE: u64 = 1_000_000;
/// Shortest period of a rate.
pub const MIN_RATE_PERIOD: Duration = Duration::from_millis(1);
/// Longest period of a rate: 31 days. Times the highest burst it is less than 2^53 ms.
pub const MAX_RATE_PERIOD: Duration = Duration::from_secs(31 * 86_400);
/// Longest cron expression, in bytes.
pub const MAX_CRON: usize = 256;
/// Shortest interval of a schedule.
pub const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Longest interval of a schedule: 366 days.
pub const MAX_INTERVAL: Duration = Duration::from_secs(366 * 86_400);
/// Longest name of a schedule or its owner, in bytes.
pub const MAX_SCHEDULE_NAME: usize = 128;
/// Limit of the data of a schedule's item, in bytes.
pub const MAX_SCHEDULE_DATA: usize = 1 << 20;
/// The most schedules of a queue, those included whose revision is kept after their removal.
pub const MAX_SCHEDULES: u64 = 1_000;
/// For how many missed ticks a schedule may add an item each.
pub const MAX_CAUGHT_UP: u32 = 1_000;
/// How many times of a rule one call computes.
pub const MAX_TICKS: usize = 1_000;
/// Shortest pause that ends by itself.
pub const MIN_PAUSE: Duration = Duration::from_millis(1);
/// Longest pause that ends by itself: 366 days.
pub const MAX_PAUSE: Duration = Duration::from_secs(366 * 86_400);
/// Longest key, in bytes.
pub const MAX_KEY: usize = 128;
/// The highest limit of the leases that the items of a key have at the same time.
pub const MAX_KEY_LIMIT: u32 = 1_000;
/// The limit of a key if neither it nor its queue has one.
pub const DEFAULT_KEY_LIMIT: u32 = 1;
/// Follow-ups of an item.
pub const MAX_FOLLOW_UPS: usize = 16;
/// Bytes of the follow-ups of an item, those that they have themselves included.
pub const MAX_FOLLOW_UPS_SIZE: usize = 64 << 10;
/// How many follow-ups lead from one to the next.
pub const MAX_FOLLOW_UP_DEPTH: usize = 16;
/// Places of a group.
pub const MAX_PLACES: u32 = 100_000;
/// How long a group stays that is not sealed, after its last change, or has ended.
pub const GROUP_LIFE: Duration = Duration::from_secs(86_400);
/// Items that a call adds if it ends an item.
pub const MAX_ADDED: usize = 999;
/// Bytes of a result that a follow-up gets.
pub const MAX_COPIED_RESULT: usize = 64 << 10;
/// Longest unique key, in bytes.
pub const MAX_UNIQUE: usize = 512;
/// Longest name of who pauses, in bytes.
pub const MAX_PAUSED_BY: usize = 128;
/// Longest reason of a pause, in bytes.
pub const MAX_PAUSE_REASON: usize = 256;
/// Longest reason of a release, in bytes.
pub const MAX_REASON: usize = 128;
/// Longest progress of an item, in bytes.
pub const MAX_PROGRESS: usize = 1_024;
/// How often a worker beats.
pub const BEAT_INTERVAL: Duration = Duration::from_secs(10);
/// How long after its last beat a worker is still listed.
pub const WORKER_LIFE: Duration = Duration::from_secs(30);
/// How long a command waits for its worker.
pub const COMMAND_LIFE: Duration = Duration::from_secs(300);
/// The most commands that wait for one worker.
pub const MAX_WORKER_COMMANDS: usize = 100;
/// The most names of workers that are quiet.
pub const MAX_QUIET_WORKERS: usize = 10_000;
/// Longest name, instance, host, language and version of a worker, in bytes.
pub const MAX_WORKER_TEXT: usize = 128;
/// The most queues and the most running items that a beat may name, each.
pub const MAX_BEAT_ENTRIES: usize = 1_000;
/// The most that a beat may take as it is stored, in bytes: 256 KiB.
pub const MAX_BEAT: usize = 256 << 10;
/// The most workers that one call looks at.
pub const MAX_WORKERS_PAGE: usize = 200;
/// The most events that a queue keeps.
pub const MAX_EVENTS: u64 = 1_000_000;
/// The most events that one call returns.
pub const MAX_EVENTS_PAGE: usize = 1_000;
/// How many events one call returns unless it says so.
pub const DEFAULT_EVENTS_PAGE: usize = 100;
/// The most replicas that [`ConnectOptions::replicas`] and [`Fsync::Replicas`] may name.
pub const MAX_REPLICAS: u32 = 10;
/// Limit of the data in one request, in bytes: 16 MiB, or a single larger item.
pub const MAX_BATCH_BYTES: usize = 16 << 20;
/// Limit of the follow-ups that one step attaches: with those that the items have, it reads and writes up to 16 MiB.
pub(crate) const MAX_ATTACHED: usize = 128;

/// Limit of the ids and data in a request that several calls share, in bytes: nearly 1 MiB. A server cannot be
/// configured to refuse an argument below 1 MiB (`proto-max-bulk-len`). So it can only refuse a larger item,
/// whose call has a request of its own.
pub const MAX_SHARED_BYTES: usize = (1 << 20) - 1_024;

pub(crate) fn check_duration(
    what: &str,
    value: Duration,
    min: Duration,
    max: Duration,
) -> Result<u64> {
    if value < min || value > max {
        return Err(Error::invalid(format_args!(
            "{what} of {} is not between {} and {}",
            show(value),
            show(min),
            show(max)
        )));
    }
    Ok(ms(value))
}

/// In ms, rounded up, so that nothing ends too early.
pub(crate) fn ms(duration: Duration) -> u64 {
    duration.as_nanos().div_ceil(1_000_000) as u64
}

/// A duration in the largest unit in which it is a whole number.
pub(crate) fn show(duration: Duration) -> String {
    let (secs, whole) = (duration.as_secs(), duration.subsec_nanos() == 0);
    let count = |n, unit| format!("{n} {unit}{}", if n == 1 { "" } else { "s" });
    match secs {
        1.. if whole && secs % 86_400 == 0 => count(secs / 86_400, "day"),
        1.. if whole && secs % 60 == 0 => count(secs / 60, "minute"),
        1.. if whole => format!("{secs} s"),
        _ if duration.subsec_nanos().is_multiple_of(1_000_000) => {
            format!("{} ms", duration.as_millis())
        }
        _ => format!("{duration:?}"),
    }
}

pub(crate) fn check_lease(value: Duration) -> Result<u64> {
    check_duration("a lease", value, MIN_LEASE, MAX_LEASE)
}

/// In ms.
pub(crate) fn check_retain(value: Duration) -> Result<u64> {
    check_duration("a retention", value, Duration::ZERO, MAX_RETAIN)
}

/// In ms.
pub(crate) fn check_pause(value: Duration) -> Result<u64> {
    check_duration("a pause", value, MIN_PAUSE, MAX_PAUSE)
}

/// A limit of how many items a queue keeps. 0 is none of its values: it could be meant to be no limit.
pub(crate) fn check_kept(what: &str, most: u64) -> Result<u64> {
    if (1..=MAX_KEPT).contains(&most) {
        return Ok(most);
    }
    Err(Error::invalid(format_args!("{what} of {most} is not between 1 and {MAX_KEPT}")))
}

/// A limit of the leases of a key.
pub(crate) fn check_key_limit(limit: u32) -> Result<u32> {
    if (1..=MAX_KEY_LIMIT).contains(&limit) {
        return Ok(limit);
    }
    Err(Error::invalid(format_args!("key_limit {limit} is not between 1 and {MAX_KEY_LIMIT}")))
}

pub(crate) fn check_delay(value: Duration) -> Result<u64> {
    check_duration("a delay", value, Duration::ZERO, MAX_DELAY)
}

/// In ms.
pub(crate) fn check_expires_in(value: Duration) -> Result<u64> {
    check_duration("expires_in", value, MIN_EXPIRES_IN, MAX_EXPIRES_IN)
}

/// How a client connects. Options in the URL take precedence.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The first part of every key, `[A-Za-z0-9._-]{1,64}`. Default: `leaseq`.
    pub namespace: String,
    /// How long an operation is retried before it is [`Unavailable`](crate::ErrorKind::Unavailable):
    /// 50 ms to 10 minutes. Default: 10 s.
    pub timeout: Duration,
    /// How long opening one connection may take: 10 ms to 10 minutes. Default: 2 s.
    pub connect_timeout: Duration,
    /// Largest data of an item that this client adds, in bytes, at most [`MAX_MAX_DATA`].
    /// Default: [`DEFAULT_MAX_DATA`].
    pub max_data: usize,
    /// PEM file with the certificate authorities trusted for TLS. Default: the system's.
    pub ca_file: Option<std::path::PathBuf>,
    /// How many replicas must have a change before its call returns, at most [`MAX_REPLICAS`]. If too few
    /// have it in time, the call is [`Unavailable`](crate::ErrorKind::Unavailable) and its outcome unknown.
    /// Only on Redis and Valkey; [`connect`](crate::Client::connect_with) is `Invalid` elsewhere, and for a
    /// user without the right `+wait`. Default: 0, so a call returns when the server itself has the change.
    pub replicas: u32,
    /// Whose disks must have a change before its call returns. Needs an append-only file, Redis 7.2 or Valkey
    /// 7.2 or later, and the right `+waitaof`; otherwise `connect` is `Invalid`. Also needs `appendfsync always`
    /// or `everysec`; otherwise no disk ever has it in time. If too few have it in time,
    /// the call is [`Unavailable`](crate::ErrorKind::Unavailable) and its outcome unknown. Default: nobody's;
    /// the server's setting `appendfsync` decides.
    pub fsync: Option<Fsync>,
    /// What the embedded engine takes for the time, for tests: it decides what is due, and which leases have
    /// expired. Waits still last as long as the clock said at their start. Default: the clock of the machine. On
    /// Redis and Valkey, which have their own clock, [`connect`](crate::Client::connect_with) is `Invalid`.
    pub clock: Option<crate::Clock>,
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    pub patch_scripts: Option<fn(&str) -> String>,
}

/// Whose disks must have a change: see [`ConnectOptions::fsync`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fsync {
    /// That of the server.
    Local,
    /// That of the server and those of so many of its replicas: 1 to [`MAX_REPLICAS`].
    Replicas(u32),
}

/// Reads `local`, or a number of replicas.
impl FromStr for Fsync {
    type Err = Error;

    fn from_str(text: &str) -> Result<Fsync> {
        match (text, text.parse::<u64>()) {
            ("local", _) => Ok(Fsync::Local),
            (_, Ok(number)) => check_replicas("fsync", number, 1).map(Fsync::Replicas),
            _ => Err(Error::invalid(format_args!(
                "fsync is neither local nor a whole number from 1 to {MAX_REPLICAS}"
            ))),
        }
    }
}

fn check_replicas(what: &str, number: u64, least: u32) -> Result<u32> {
    let wrong = || {
        Error::invalid(format_args!("{what} of {number} is not between {least} and {MAX_REPLICAS}"))
    };
    u32::try_from(number)
        .ok()
        .filter(|number| (least..=MAX_REPLICAS).contains(number))
        .ok_or_else(wrong)
}

fn is_namespace(text: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

impl Default for ConnectOptions {
    fn default() -> Self {
        ConnectOptions {
            namespace: "leaseq".into(),
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(2),
            max_data: DEFAULT_MAX_DATA,
            ca_file: None,
            replicas: 0,
            fsync: None,
            clock: None,
            #[cfg(feature = "testing")]
            patch_scripts: None,
        }
    }
}

impl ConnectOptions {
    pub(crate) fn validate(&self) -> Result<()> {
        if !is_namespace(&self.namespace) {
            let shown: String = self.namespace.chars().take(64 + 1).collect();
            return Err(Error::invalid(format_args!(
                "namespace {shown:?} does not match [A-Za-z0-9._-]{{1,64}}"
            )));
        }
        let most = Duration::from_secs(600);
        check_duration("a timeout", self.timeout, Duration::from_millis(50), most)?;
        check_duration("a connect timeout", self.connect_timeout, Duration::from_millis(10), most)?;
        if self.max_data == 0 || self.max_data > MAX_MAX_DATA {
            return Err(Error::invalid(format_args!(
                "max_data of {} bytes is not between 1 and {MAX_MAX_DATA}",
                self.max_data
            )));
        }
        check_replicas("replicas", self.replicas.into(), 0)?;
        if let Some(Fsync::Replicas(count)) = self.fsync {
            check_replicas("fsync", count.into(), 1)?;
        }
        Ok(())
    }

    /// Sets an option from a URL's query. False if there is no such option. Error messages do not quote the
    /// value, which may be part of a password, unless it is a number.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let number = || {
            value.parse::<u64>().map_err(|_| {
                Error::invalid(format_args!("option {name} is not a whole number below 2^64"))
            })
        };
        match name {
            "namespace" if !is_namespace(value) => {
                return Err(Error::invalid("option namespace does not match [A-Za-z0-9._-]{1,64}"));
            }
            "namespace" => self.namespace = value.into(),
            "timeout_ms" => self.timeout = Duration::from_millis(number()?),
            "connect_timeout_ms" => self.connect_timeout = Duration::from_millis(number()?),
            "max_data" => self.max_data = usize::try_from(number()?).unwrap_or(usize::MAX),
            "ca_file" => self.ca_file = Some(value.into()),
            "replicas" => self.replicas = check_replicas(name, number()?, 0)?,
            "fsync" => self.fsync = Some(value.parse()?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// How [`WorkQueue::lease`](crate::WorkQueue::lease) leases.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LeaseOptions {
    /// How long the lease lasts: 1 ms to 30 days.
    pub duration: Duration,
    /// How long to wait for an item. `None`: until there is one. Zero: not at all.
    pub wait: Option<Duration>,
    /// Extends the lease in the background. Default: no.
    pub keep_alive: Option<KeepAlive>,
}

impl LeaseOptions {
    /// A lease of this duration that waits until there is an item.
    pub fn new(duration: Duration) -> Self {
        LeaseOptions { duration, wait: None, keep_alive: None }
    }

    /// Waits no longer than this. Zero: returns at once.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Extends the lease in the background until it is settled, dropped or lost.
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.keep_alive = Some(keep_alive);
        self
    }

    pub(crate) fn validate(&self) -> Result<u64> {
        if let Some(limit) = self.keep_alive.as_ref().and_then(|keep| keep.limit)
            && limit < self.duration
        {
            return Err(Error::invalid(format_args!(
                "a keep-alive limit of {limit:?} is shorter than the lease of {:?}",
                self.duration
            )));
        }
        check_lease(self.duration)
    }
}

/// Background extension of a lease: whenever a third of its duration has passed, it is extended to the full
/// duration again.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct KeepAlive {
    /// Stops extending this long after the lease was granted. Default: never.
    pub limit: Option<Duration>,
}

impl KeepAlive {
    /// Without a limit.
    pub fn new() -> Self {
        KeepAlive::default()
    }

    /// Stops extending this long after the lease was granted.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }
}
