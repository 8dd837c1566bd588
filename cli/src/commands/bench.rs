//! `bench`: measures the user's own server.

use std::time::{Duration, Instant};

use clap::Args;
use leaseq::{Client, Item, LeaseOptions, WorkQueue};
use leaseq_report::duration;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::failure::{Ended, Failure};
use crate::global::Shared;
use crate::output::Cell;
use crate::stop::Stop;

/// The lease of an item; none runs that long.
const LEASE: Duration = Duration::from_secs(600);
/// How long to wait for an item that was just added.
const WAIT: Duration = Duration::from_secs(10);
/// The largest item, in bytes.
const MAX_SIZE: u32 = 1 << 20;

#[derive(Debug, Clone, Args)]
pub(crate) struct BenchArgs {
    /// How long each measurement may take
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::read)]
    time: Duration,
    /// How many items each measurement may use
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    items: u64,
    /// The size of an item, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=i64::from(MAX_SIZE)))]
    size: u32,
    /// How many items in a call, where calls take several
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(2..=1_000))]
    batch: u16,
    /// How many callers at the same time, where there are several
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(2..=1_000))]
    callers: u16,
    /// Write CSV, with a line of headings; times in µs
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// One measurement.
struct Measurement {
    name: &'static str,
    callers: u16,
    batch: u16,
    items: u64,
    took: Duration,
    /// Of each call, in order.
    calls: Vec<Duration>,
}

impl Measurement {
    fn rate(&self) -> u64 {
        (self.items as f64 / self.took.as_secs_f64().max(1e-9)).round() as u64
    }

    /// The time within which this part of the calls ended, in µs.
    fn us(&self, part: f64) -> u64 {
        let last = self.calls.len().saturating_sub(1);
        let at = (part * self.calls.len() as f64).ceil() as usize;
        let call = self.calls.get(at.saturating_sub(1).min(last));
        call.map_or(0, |call| u64::try_from(call.as_micros()).unwrap_or(u64::MAX))
    }
}

pub(crate) async fn bench(shared: &Shared, args: BenchArgs) -> Ended {
    if args.time < Duration::from_millis(10) || args.time > Duration::from_secs(3_600) {
        return Err(Failure::usage("--time is between 10ms and 1h"));
    }
    let client = shared.client().await?;
    let queue = client.queue(&format!("leaseq-bench-{:016x}", rand::random::<u64>()))?;
    let stop = Stop::listen()?;
    let server = shared.server_name()?;
    shared.output.note(&format!("leaseq: measuring {server} with the queue {}", queue.name()));
    let bench = Bench { client, queue: &queue, args: &args };
    let measured = tokio::select! {
        measured = bench.run() => measured,
        () = stop.stopped() => Err(Failure::interrupted("interrupted")),
    };
    // Not only after success: nobody else would do it.
    let dropped = queue.drop_queue().await;
    let measured = measured?;
    if let Err(error) = dropped {
        let name = queue.name();
        return Err(Failure::from(error).hint(format_args!("drop it yourself: leaseq drop {name}")));
    }
    show(shared, &args, &measured)
}

struct Bench<'a> {
    client: &'a Client,
    queue: &'a WorkQueue,
    args: &'a BenchArgs,
}

impl Bench<'_> {
    /// Each measurement leaves the items that the next one needs.
    async fn run(&self) -> Result<Vec<Measurement>, Failure> {
        let BenchArgs { batch, callers, .. } = *self.args;
        // The first call of each kind also sends its script.
        self.queue.add_items([self.item(), self.item()]).await?;
        let warm = self.queue.lease_many(2, LeaseOptions::new(LEASE)).await?;
        self.queue.complete_many(&warm).await?;
        let mut all = Vec::new();
        all.push(
            self.measure("add", 1, 1, async |queue, _| add(queue, self.items(1)).await).await?,
        );
        all.push(
            self.measure("lease and complete", 1, 1, async |queue, _| work(queue, 1).await).await?,
        );
        self.empty().await?;
        all.push(
            self.measure("add", 1, batch, async |queue, most| add(queue, self.items(most)).await)
                .await?,
        );
        all.push(
            self.measure("lease and complete", 1, batch, async |queue, most| {
                work(queue, most).await
            })
            .await?,
        );
        self.empty().await?;
        all.push(self.together(callers).await?);
        self.empty().await?;
        all.push(self.wake().await?);
        Ok(all)
    }

    fn item(&self) -> Item {
        item(self.args.size)
    }

    /// Each has an id of its own.
    fn items(&self, count: usize) -> Vec<Item> {
        (0..count).map(|_| self.item()).collect()
    }

    /// Repeats a call, which returns its number of items; 0: there are none left.
    async fn measure(
        &self,
        name: &'static str,
        callers: u16,
        batch: u16,
        call: impl AsyncFn(&WorkQueue, usize) -> Result<u64, Failure>,
    ) -> Result<Measurement, Failure> {
        let begun = Instant::now();
        let (mut calls, mut items) = (Vec::new(), 0);
        while items < self.args.items && begun.elapsed() < self.args.time {
            let most = u64::from(batch).min(self.args.items - items);
            let start = Instant::now();
            match call(self.queue, most as usize).await? {
                0 => break,
                count => items += count,
            }
            calls.push(start.elapsed());
        }
        let took = begun.elapsed();
        calls.sort_unstable();
        Ok(Measurement { name, callers, batch, items, took, calls })
    }

    /// Items that callers add, lease and complete at the same time.
    async fn together(&self, callers: u16) -> Result<Measurement, Failure> {
        let begun = Instant::now();
        let (until, share) = (begun + self.args.time, self.args.items.div_ceil(callers.into()));
        let mut tasks = JoinSet::new();
        for _ in 0..callers {
            let (queue, size) = (self.client.queue(self.queue.name())?, self.args.size);
            tasks.spawn(async move {
                let mut calls = Vec::new();
                while (calls.len() as u64) < share && Instant::now() < until {
                    let start = Instant::now();
                    add(&queue, vec![item(size)]).await?;
                    work(&queue, 1).await?;
                    calls.push(start.elapsed());
                }
                Ok::<_, Failure>(calls)
            });
        }
        let mut calls = Vec::new();
        while let Some(ended) = tasks.join_next().await {
            let ended = ended.map_err(|_| Failure::usage("a defect has ended a caller"))?;
            calls.extend(ended?);
        }
        let took = begun.elapsed();
        calls.sort_unstable();
        let items = calls.len() as u64;
        Ok(Measurement { name: "add, lease and complete", callers, batch: 1, items, took, calls })
    }

    /// The time from an add until the call that has waited for it returns.
    async fn wake(&self) -> Result<Measurement, Failure> {
        let waiting = self.client.queue(self.queue.name())?;
        self.measure("add until a waiting call has it", 2, 1, async |queue, _| {
            let options = LeaseOptions::new(LEASE).wait(WAIT);
            let lease = waiting.lease(options);
            let item = self.item();
            // The lease is polled first, so it waits before the item comes.
            let (lease, added) = tokio::join!(biased; lease, queue.add_item(item));
            added?;
            match lease? {
                Some(lease) => Ok(u64::from(queue.complete(&lease).await?)),
                None => Ok(0),
            }
        })
        .await
    }

    async fn empty(&self) -> Result<(), Failure> {
        for state in [leaseq::State::Ready, leaseq::State::Leased] {
            self.queue.purge(state).await?;
        }
        Ok(())
    }
}

fn item(size: u32) -> Item {
    Item::new(vec![b'x'; size as usize])
}

async fn add(queue: &WorkQueue, items: Vec<Item>) -> Result<u64, Failure> {
    let added = queue.add_items(items).await?;
    Ok(added.iter().filter(|added| **added).count() as u64)
}

async fn work(queue: &WorkQueue, most: usize) -> Result<u64, Failure> {
    let options = LeaseOptions::new(LEASE).wait(Duration::ZERO);
    let leases = queue.lease_many(most, options).await?;
    Ok(queue.complete_many(&leases).await?.iter().filter(|first| **first).count() as u64)
}

const HEADINGS: [&str; 8] = ["CALL", "CALLERS", "BATCH", "ITEMS", "ITEMS/S", "P50", "P99", "MAX"];
const FIELDS: &str =
    "call,callers,batch,items,seconds,items_per_second,p50_us,p90_us,p99_us,max_us";

fn show(shared: &Shared, args: &BenchArgs, measured: &[Measurement]) -> Ended {
    let output = &shared.output;
    if output.json {
        let values: Vec<_> = measured.iter().map(value).collect();
        output.document(&json!({ "size": args.size, "measurements": values }))?;
    } else if args.csv {
        output.line(FIELDS)?;
        for m in measured {
            output.line(&fields(m).join(","))?;
        }
    } else if output.table {
        let rows: Vec<_> = measured.iter().map(row).collect();
        output.rows(&HEADINGS, &rows)?;
    } else {
        for m in measured {
            output.line(&fields(m).join("\t"))?;
        }
    }
    Ok(0)
}

fn fields(m: &Measurement) -> Vec<String> {
    // The name has a comma.
    let name = m.name.replace(',', "");
    let mut fields = vec![name, m.callers.to_string(), m.batch.to_string(), m.items.to_string()];
    fields.push(format!("{:.3}", m.took.as_secs_f64()));
    fields.push(m.rate().to_string());
    fields.extend([0.5, 0.9, 0.99, 1.0].map(|part| m.us(part).to_string()));
    fields
}

fn row(m: &Measurement) -> Vec<Cell> {
    let time = |part| Cell::word(format!("{:.2} ms", m.us(part) as f64 / 1_000.0));
    vec![
        Cell::word(m.name),
        Cell::Number(m.callers.into()),
        Cell::Number(m.batch.into()),
        Cell::Number(m.items),
        Cell::Number(m.rate()),
        time(0.5),
        time(0.99),
        time(1.0),
    ]
}

fn value(m: &Measurement) -> Value {
    json!({
        "call": m.name,
        "callers": m.callers,
        "batch": m.batch,
        "items": m.items,
        "seconds": m.took.as_secs_f64(),
        "items_per_second": m.rate(),
        "p50_us": m.us(0.5),
        "p90_us": m.us(0.9),
        "p99_us": m.us(0.99),
        "max_us": m.us(1.0),
    })
}
