//! A worker of the demo, in Rust. `src/demo/worker.rs` describes its input.

use std::fs::{File, OpenOptions};
use std::time::Duration;

use leaseq::{Client, Lease, LeaseOptions, WorkQueue};
use leaseq_conformance::demo::note::Note;
use leaseq_conformance::error::Error;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [queue, results, lease_ms, batch] = args.as_slice() else {
        return Err("usage: demo-worker-rust QUEUE RESULTS LEASE_MS BATCH".into());
    };
    let client = Client::from_env().await?;
    let mut worker = Worker {
        queue: client.queue(queue)?,
        results: OpenOptions::new().create(true).append(true).open(results)?,
        lease: LeaseOptions::new(Duration::from_millis(lease_ms.parse()?)),
        batch: batch.parse()?,
    };
    let (orders, mut next) = mpsc::unbounded_channel();
    std::thread::spawn(move || read_orders(&orders));
    worker.follow(&mut next).await?;
    client.close().await;
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Rest,
    Go,
    Hold,
    Quit,
}

/// Reads until the end of the input, which `follow` treats as `quit`.
fn read_orders(orders: &mpsc::UnboundedSender<Order>) {
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let order = match line.as_str() {
            "rest" => Order::Rest,
            "go" => Order::Go,
            "hold" => Order::Hold,
            _ => Order::Quit,
        };
        if orders.send(order).is_err() {
            return;
        }
    }
}

struct Worker {
    queue: WorkQueue,
    results: File,
    lease: LeaseOptions,
    batch: usize,
}

impl Worker {
    async fn follow(&mut self, orders: &mut mpsc::UnboundedReceiver<Order>) -> Result<(), Error> {
        let mut order = Order::Rest;
        loop {
            match order {
                Order::Rest => {
                    println!("resting");
                    order = orders.recv().await.unwrap_or(Order::Quit);
                }
                Order::Go => {
                    // Dropping a lease call here strands no item.
                    let leases = tokio::select! {
                        biased;
                        next = orders.recv() => {
                            order = next.unwrap_or(Order::Quit);
                            continue;
                        }
                        leases = self.queue.lease_many(self.batch, self.lease.clone()) => leases?,
                    };
                    self.work_on(&leases).await?;
                }
                Order::Hold => {
                    let leases = self.queue.lease_many(self.batch, self.lease.clone()).await?;
                    let (others, held) = leases.split_at(leases.len() / 2);
                    println!("holding {}", held.len());
                    self.work_on(others).await?;
                    println!("quiet");
                    order = orders.recv().await.unwrap_or(Order::Quit);
                    self.work_on(held).await?;
                }
                Order::Quit => return Ok(()),
            }
        }
    }

    async fn work_on(&mut self, leases: &[Lease]) -> Result<(), Error> {
        for lease in leases {
            let id = lease.id_str().ok_or("an id is not text")?.to_owned();
            let sha256 = format!("{:x}", Sha256::digest(lease.data()));
            Note::Before { id: id.clone(), sha256 }.write(&mut self.results)?;
            let completed = self.queue.complete(lease).await?;
            Note::After { id, completed }.write(&mut self.results)?;
        }
        Ok(())
    }
}
