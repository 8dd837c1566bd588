use std::time::Duration;

use leaseq::{Client, Item, LeaseOptions};

#[tokio::main]
async fn main() -> leaseq::Result<()> {
    let client = Client::connect("sqlite:jobs.db").await?; // creates the file if it is missing
    let queue = client.queue("emails")?;

    queue.add_item(Item::new("hello")).await?; // id: a random UUID
    let order = Item::new("your order").with_id("order-17").priority(5);
    queue.add_item(order).await?; // false if order-17 is in the queue already

    // Leases for 30 s each; ends when there has been no item for 1 s.
    let options = LeaseOptions::new(Duration::from_secs(30)).wait(Duration::from_secs(1));
    while let Some(lease) = queue.lease(options.clone()).await? {
        println!("sending {:?}", lease.data()); // the work
        queue.complete(&lease).await?; // true for exactly one caller
    }
    client.close().await;
    Ok(())
}
