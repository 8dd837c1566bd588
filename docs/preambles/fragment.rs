#[allow(unused_imports)]
use leaseq::{
    Client, CompleteOptions, ErrorKind, FailOptions, GetOptions, Item, ItemRef, KeepAlive,
    LeaseOptions, ListOptions, ReleaseOptions, Revision, State,
};
#[allow(unused_imports)]
use std::time::Duration;

#[allow(dead_code)]
async fn send(_: &[u8]) -> Result<(), String> {
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    //--- client
    //--- queue < client
    let client = Client::from_env().await?;
    let queue = client.queue("emails")?;
    //--- item < queue
    queue.add_item(Item::new("your order").with_id("order-17")).await?;
    //--- lease < item
    let lease = queue.lease(LeaseOptions::new(Duration::from_secs(30))).await?.ok_or("empty")?;
    //--- lost < lease
    queue.release(&lease, Duration::ZERO).await?;
    //--- dead < queue
    queue.add_item(Item::new("your order").with_id("order-17").max_attempts(1)).await?;
    let lease = queue.lease(LeaseOptions::new(Duration::from_secs(30))).await?.ok_or("empty")?;
    queue.fail(&lease, "no such address", Duration::ZERO).await?;
    //--- jobs
    use leaseq::ScheduleRule;
    use leaseq_jobs::{Context, Job, JobError, JobOptions, NewJob, Producer, Retry, Throttle, Worker};
    use serde::{Deserialize, Serialize};
    use serde_json::json;
    #[derive(Serialize, Deserialize)]
    struct Send {
        to: String,
        order: u64,
    }
    impl Job for Send {
        const NAME: &str = "mail.send";
        const QUEUE: &str = "mail";
    }
    struct Settings {
        from: String,
    }
    async fn deliver(_: &Send) -> Result<(), JobError> {
        Ok(())
    }
    let client = Client::from_env().await?;
    let producer = Producer::new(&client);
    //--- example
    Ok(())
}
