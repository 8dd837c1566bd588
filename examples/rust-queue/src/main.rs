//! The command line of the task queue.

use std::time::Duration;

use clap::{Parser, Subcommand};
use example_rust_queue::{Charge, Checksum, Report, requeue_dead, stats, worker};
use leaseq::{Client, Result};
use leaseq_jobs::{NewJob, Producer};

/// A task queue with a thread pool.
#[derive(Parser)]
struct Arguments {
    /// The queue's engine: a file, or redis://…
    #[arg(long, env = "LEASEQ_URL", default_value = "sqlite:rust-queue.db")]
    url: String,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Add a few tasks: at once, later, with retries
    Add,
    /// Run tasks until SIGTERM
    Work {
        /// How many at the same time
        #[arg(long, default_value_t = 4)]
        threads: usize,
        /// End when there is nothing more to do
        #[arg(long)]
        burst: bool,
    },
    /// Show how many tasks are in which state
    Stats,
    /// Give dead tasks another run
    Requeue,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let client = Client::connect(&arguments.url).await?;
    match arguments.command {
        Command::Add => add(&client).await?,
        Command::Work { threads, burst } => {
            let worker = worker(&client, threads)?;
            let worker = if burst { worker.burst() } else { worker };
            worker.run_process().await
        }
        Command::Stats => print!("{}", stats(&client).await?),
        Command::Requeue => println!("{} requeued", requeue_dead(&client).await?),
    }
    client.close().await;
    Ok(())
}

async fn add(client: &Client) -> Result<()> {
    let producer = Producer::new(client);
    let texts = (1..=10).map(|number| Checksum { text: number.to_string() });
    producer.enqueue_many(texts).await?;
    let charge =
        |customer: &str, order, failures| Charge { customer: customer.into(), order, failures };
    producer.enqueue(charge("ada", 1, 0)).await?;
    producer.enqueue(charge("ada", 2, 1)).await?; // not beside the first one, and retried once
    producer.enqueue(charge("nobody", 3, 0)).await?; // dead at once
    let later = NewJob::new(Report { name: "later".into() }).delay(Duration::from_secs(2));
    producer.enqueue(later).await?;
    print!("{}", stats(client).await?);
    Ok(())
}
