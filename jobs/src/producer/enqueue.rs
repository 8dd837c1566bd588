//! The producer, and what is done around every enqueue.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use leaseq::{Client, Item, Result};

use super::{JobRef, NewJob};

/// Adds jobs. Clones are cheap.
#[derive(Clone)]
pub struct Producer {
    pub(super) client: Client,
    middleware: Vec<Arc<dyn EnqueueMiddleware>>,
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").finish_non_exhaustive()
    }
}

/// Something that is done around every enqueue, such as attaching the context of a trace.
#[async_trait]
pub trait EnqueueMiddleware: Send + Sync + 'static {
    /// Adds these jobs by [`next.run(jobs)`](EnqueueNext::run), and returns what that has returned. Jobs may be changed
    /// before, with [`NewJob::meta`] and the other methods.
    async fn enqueue(&self, jobs: Vec<NewJob>, next: EnqueueNext<'_>) -> Result<Vec<JobRef>>;
}

/// The middleware behind the current one, and the queue behind the last.
pub struct EnqueueNext<'a> {
    producer: &'a Producer,
    rest: &'a [Arc<dyn EnqueueMiddleware>],
}

impl fmt::Debug for EnqueueNext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnqueueNext").field("rest", &self.rest.len()).finish()
    }
}

impl EnqueueNext<'_> {
    /// Goes on.
    ///
    /// # Errors
    /// As for [`Producer::enqueue_many`].
    pub async fn run(self, jobs: Vec<NewJob>) -> Result<Vec<JobRef>> {
        match self.rest.split_first() {
            Some((first, rest)) => {
                first.enqueue(jobs, EnqueueNext { producer: self.producer, rest }).await
            }
            None => self.producer.add(jobs).await,
        }
    }
}

impl Producer {
    /// A producer for queues of this client.
    pub fn new(client: &Client) -> Self {
        Producer { client: client.clone(), middleware: Vec::new() }
    }

    /// Does this around every enqueue. The first middleware is the outermost.
    pub fn middleware(mut self, middleware: impl EnqueueMiddleware) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Adds a job: a value of a [`Job`](crate::Job) type, or a [`NewJob`], which has options.
    ///
    /// # Errors
    /// `Invalid` for arguments with NaN, infinite numbers, integers beyond 2^53, more than 64 levels, or that are no JSON
    /// object, and for options outside their limits. Otherwise as for [`leaseq::WorkQueue::add_item`].
    pub async fn enqueue(&self, job: impl Into<NewJob>) -> Result<JobRef> {
        let mut added = self.enqueue_many([job]).await?;
        added.pop().ok_or_else(|| leaseq::Error::invalid("a middleware has dropped the job"))
    }

    /// Adds many jobs; the references are in their order. The jobs of a queue are added in batches of up to 1,000, each
    /// of which is one atomic step.
    ///
    /// # Errors
    /// As for [`enqueue`](Producer::enqueue): if any job is invalid, none is added. After another error, some may have
    /// been added.
    pub async fn enqueue_many(
        &self,
        jobs: impl IntoIterator<Item = impl Into<NewJob>>,
    ) -> Result<Vec<JobRef>> {
        let jobs = jobs.into_iter().map(Into::into).collect();
        EnqueueNext { producer: self, rest: &self.middleware }.run(jobs).await
    }

    async fn add(&self, jobs: Vec<NewJob>) -> Result<Vec<JobRef>> {
        // For each queue the items, and the places of their references.
        let mut by_queue: BTreeMap<String, (Vec<Item>, Vec<usize>)> = BTreeMap::new();
        let count = jobs.len();
        for (place, job) in jobs.into_iter().enumerate() {
            let (queue, item) = job.into_item()?;
            self.client.queue(&queue)?.accepts(&item)?;
            let (items, places) = by_queue.entry(queue).or_default();
            items.push(item);
            places.push(place);
        }
        let mut refs: Vec<Option<JobRef>> = (0..count).map(|_| None).collect();
        for (name, (items, places)) in by_queue {
            let queue = self.client.queue(&name)?;
            let ids: Vec<_> = items.iter().map(|item| item.id().to_vec()).collect();
            let added = queue.add_items(items).await?;
            for ((place, id), added) in places.into_iter().zip(ids).zip(added) {
                refs[place] = Some(JobRef::new(queue.clone(), id, added));
            }
        }
        Ok(refs.into_iter().flatten().collect())
    }
}
