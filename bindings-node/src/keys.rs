//! The limits of keys.

use leaseq::options::MAX_KEY_LIMIT;
use napi::bindgen_prelude::Either;
use napi_derive::napi;

use crate::failure::Failure;
use crate::input::whole;
use crate::queue::{NativeQueue, copied};
use crate::wire::Outcome;

#[napi]
impl NativeQueue {
    /// `limits`: for each key; null: that of the queue. Answers with nothing.
    #[napi]
    pub fn set_key_limits(
        &self,
        call: u32,
        keys: Vec<Either<String, &[u8]>>,
        limits: Vec<Option<f64>>,
    ) {
        let limits = limits.into_iter().map(|limit| limit.map(key_limit).transpose());
        let limits = limits.collect::<Result<Vec<_>, Failure>>();
        let limits = limits.map(|limits| copied(&keys).into_iter().zip(limits).collect::<Vec<_>>());
        self.call(call, limits, |queue, limits| async move {
            queue.set_key_limits(limits).await?;
            Ok(Outcome::Done)
        });
    }

    /// Answers with three numbers for each key: the limit, 1 if that is its own, and how many are leased.
    #[napi]
    pub fn get_keys(&self, call: u32, keys: Vec<Either<String, &[u8]>>) {
        self.call(call, Ok(copied(&keys)), |queue, keys| async move {
            let found = queue.get_keys(keys).await?;
            let numbers =
                |key: &leaseq::KeyInfo| [key.limit.into(), key.own_limit.into(), key.leased as f64];
            Ok(Outcome::Many(found.iter().flat_map(numbers).collect()))
        });
    }
}

fn key_limit(limit: f64) -> Result<u32, Failure> {
    whole("key_limit", limit, &format!("a whole number between 1 and {MAX_KEY_LIMIT}"))
}
