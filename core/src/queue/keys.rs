//! The limits of keys.

use bytes::Bytes;

use super::work_queue::WorkQueue;
use crate::engine::{KeyLimit, RequestId};
use crate::item::{KeyInfo, check_key};
use crate::options::{MAX_BATCH, check_key_limit};
use crate::{Error, Result};

impl WorkQueue {
    /// Gives keys limits of their own, 1 to 1,000: so many of its items are leased at the same time. `None`: that of the
    /// queue again. Makes the queue if there is none. Up to 1,000 keys change in one atomic step. The last limit counts
    /// if a key is named twice. A limit stays when no item has its key any more.
    ///
    /// A lower limit takes no lease away: until enough of them have ended, the key gets none.
    ///
    /// # Errors
    /// `Invalid` for a key outside 1 to 128 bytes or a limit outside 1 to 1,000; nothing is changed then. Else see
    /// [`WorkQueue`].
    pub async fn set_key_limits<K: AsRef<[u8]>>(
        &self,
        limits: impl IntoIterator<Item = (K, Option<u32>)>,
    ) -> Result<()> {
        let limit = |(key, limit): (K, Option<u32>)| {
            check_key(key.as_ref())?;
            let limit = limit.map(check_key_limit).transpose()?;
            Ok(KeyLimit { key: Bytes::copy_from_slice(key.as_ref()), limit })
        };
        let limits = limits.into_iter().map(limit).collect::<Result<Vec<KeyLimit>>>()?;
        let dispatch = &self.dispatch;
        let (engine, queue) = (&dispatch.context.engine, &dispatch.queue);
        for step in limits.chunks(MAX_BATCH) {
            let until = dispatch.open().await?;
            let set = async |id: &RequestId| engine.set_key_limits(queue, step, id).await;
            dispatch.change(dispatch.lanes.run(until, set)).await?;
        }
        Ok(())
    }

    /// The limits of keys, and how many items of each are leased now; the answers stand in the order of the keys. It works
    /// in steps of up to 1,000 keys.
    ///
    /// # Errors
    /// `Invalid` for a key outside 1 to 128 bytes; else see [`WorkQueue`].
    pub async fn get_keys<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<KeyInfo>> {
        let key = |key: K| check_key(key.as_ref()).map(|()| Bytes::copy_from_slice(key.as_ref()));
        let keys = keys.into_iter().map(key).collect::<Result<Vec<Bytes>>>()?;
        let dispatch = &self.dispatch;
        dispatch.open().await?;
        let mut found = Vec::with_capacity(keys.len());
        for step in keys.chunks(MAX_BATCH) {
            let part =
                dispatch.look(dispatch.context.engine.get_keys(&dispatch.queue, step)).await?;
            if part.len() != step.len() {
                return Err(Error::internal("the engine gave no answer"));
            }
            found.extend(part);
        }
        Ok(found)
    }
}
