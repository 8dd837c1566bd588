//! The operations that change items in the queue: convert the arguments, call the core, convert the
//! answer.

use leaseq::{Item, ItemRef, Revision};
use napi::Result;
use napi::bindgen_prelude::{Array, Either};
use napi_derive::napi;

use crate::failure::Failure;
use crate::input::{self, Data, bytes};
use crate::item;
use crate::queue::NativeQueue;
use crate::wire::{Answer, Outcome};

#[napi]
impl NativeQueue {
    /// `generations`: for each id the one that its item must have; empty for any. Answers with 0 or 1
    /// for each.
    #[napi]
    pub fn remove(
        &self,
        call: u32,
        ids: Vec<Either<String, &[u8]>>,
        generations: Vec<Option<String>>,
    ) {
        self.call(call, Ok(items(&ids, generations)), |queue, items| async move {
            many(queue.remove_many(items).await)
        });
    }

    /// As `remove`.
    #[napi]
    pub fn requeue(
        &self,
        call: u32,
        ids: Vec<Either<String, &[u8]>>,
        generations: Vec<Option<String>>,
    ) {
        self.call(call, Ok(items(&ids, generations)), |queue, items| async move {
            many(queue.requeue(items).await)
        });
    }

    /// As `remove`. An empty error is none.
    #[napi]
    pub fn bury(
        &self,
        call: u32,
        ids: Vec<Either<String, &[u8]>>,
        error: String,
        generations: Vec<Option<String>>,
    ) {
        self.call(call, Ok(items(&ids, generations)), |queue, items| async move {
            many(queue.bury(items, &error).await)
        });
    }

    /// As `remove`.
    #[napi]
    pub fn cancel(
        &self,
        call: u32,
        ids: Vec<Either<String, &[u8]>>,
        generations: Vec<Option<String>>,
    ) {
        self.call(call, Ok(items(&ids, generations)), |queue, items| async move {
            many(queue.cancel_many(items).await)
        });
    }

    /// As `remove`. `follow_ups`: one for each id, as `item::follow_ups` reads them.
    #[napi]
    pub fn attach(
        &self,
        call: u32,
        ids: Vec<Either<String, &[u8]>>,
        #[napi(ts_arg_type = "unknown[]")] follow_ups: Array<'_>,
        generations: Vec<Option<String>>,
    ) -> Result<()> {
        let follow_ups = item::follow_ups(Some(&follow_ups))?;
        let all =
            follow_ups.map(|all| items(&ids, generations).into_iter().zip(all).collect::<Vec<_>>());
        self.call(call, all, |queue, all| async move { many(queue.attach_many(all).await) });
        Ok(())
    }

    /// For each item: id, generation, and then data, priority, delay, when it is due, and limit of
    /// attempts, as far as they change. Answers with 0 or 1 for each.
    #[napi]
    pub fn revise(
        &self,
        call: u32,
        #[napi(ts_arg_type = "unknown[]")] fields: Array<'_>,
    ) -> Result<()> {
        let revisions = revisions(&fields)?;
        self.call(call, revisions, |queue, revisions| async move {
            many(queue.revise_many(revisions).await)
        });
        Ok(())
    }
}

fn many(answers: leaseq::Result<Vec<bool>>) -> Answer {
    Ok(Outcome::Many(answers?.into_iter().map(f64::from).collect()))
}

fn items(ids: &[Data<'_>], generations: Vec<Option<String>>) -> Vec<ItemRef> {
    let generations = generations.into_iter().chain(std::iter::repeat(None));
    let items = ids.iter().map(|id| ItemRef::new(bytes(id)));
    items
        .zip(generations)
        .map(|(item, one)| one.into_iter().fold(item, ItemRef::if_generation))
        .collect()
}

type Revisions = std::result::Result<Vec<(ItemRef, Revision)>, Failure>;

fn revisions(fields: &Array<'_>) -> Result<Revisions> {
    let number = |place| Ok::<_, napi::Error>(fields.get::<Option<f64>>(place)?.flatten());
    let mut revisions = Vec::new();
    for first in (0..fields.len()).step_by(7) {
        let id = fields.get::<Data<'_>>(first)?;
        let id = id.ok_or_else(|| napi::Error::from_reason("a revision has no id"))?;
        let generation = fields.get::<Option<String>>(first + 1)?.flatten();
        let item = generation.into_iter().fold(ItemRef::new(bytes(&id)), ItemRef::if_generation);
        let mut revision = Revision::new();
        if let Some(data) = fields.get::<Option<Data<'_>>>(first + 2)?.flatten() {
            revision = revision.data(bytes(&data));
        }
        let (priority, attempts) = (number(first + 3)?, number(first + 6)?);
        let (delay, due_at) = (number(first + 4)?, number(first + 5)?);
        let shown = Item::new([]).with_id(bytes(&id));
        match input::changes(&shown, priority, delay, due_at, attempts) {
            Ok(options) => revisions.push((item, options.revise(revision))),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    Ok(Ok(revisions))
}
