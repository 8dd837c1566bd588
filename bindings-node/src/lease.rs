//! Leases that JavaScript holds.

use std::sync::Arc;

use leaseq::Lease;
use napi::bindgen_prelude::{Buffer, Either, Null, ObjectFinalize};
use napi::{Env, Result};
use napi_derive::napi;

use crate::held::Held;
use crate::history::{self, NativeEnding, NativeReleases, NativeTrigger};
use crate::time::ms;

/// Leases that came together, by number; dropped together when JavaScript has forgotten them all.
/// A lease that is extended in the background has one for itself: being forgotten ends that.
#[napi(custom_finalize)]
pub struct Leases {
    held: Vec<Held>,
    bytes: i64,
}

impl Leases {
    pub(crate) fn new(held: Vec<Held>, env: &Env) -> Result<Self> {
        let bytes = held.iter().map(|held| held.lease.data().len() as i64 + 512).sum();
        // Tells the garbage collector how much memory depends on this object.
        env.adjust_external_memory(bytes)?;
        Ok(Leases { held, bytes })
    }

    pub(crate) fn get(&self, index: u32) -> Result<&Arc<Lease>> {
        let held = self.held.get(index as usize);
        held.map(|held| &held.lease).ok_or_else(|| napi::Error::from_reason("no such lease"))
    }
}

impl ObjectFinalize for Leases {
    fn finalize(self, env: Env) -> Result<()> {
        env.adjust_external_memory(-self.bytes)?;
        Ok(())
    }
}

#[napi]
impl Leases {
    /// The id as it is.
    #[napi]
    pub fn id(&self, index: u32) -> Result<Buffer> {
        Ok(self.get(index)?.id().to_vec().into())
    }

    /// The whole data, as a copy.
    #[napi]
    pub fn data(&self, index: u32) -> Result<Buffer> {
        Ok(self.get(index)?.data().to_vec().into())
    }

    /// 0 for no limit.
    #[napi]
    pub fn max_attempts(&self, index: u32) -> Result<u32> {
        Ok(self.get(index)?.max_attempts().unwrap_or(0))
    }

    #[napi]
    pub fn failures(&self, index: u32) -> Result<u32> {
        Ok(self.get(index)?.failures())
    }

    #[napi]
    pub fn expiries(&self, index: u32) -> Result<u32> {
        Ok(self.get(index)?.expiries())
    }

    /// As it is; null if there is none.
    #[napi]
    pub fn key(&self, index: u32) -> Result<Either<Buffer, Null>> {
        let key = self.get(index)?.key();
        Ok(key.map_or(Either::B(Null), |key| Either::A(key.to_vec().into())))
    }

    #[napi]
    pub fn priority(&self, index: u32) -> Result<u8> {
        Ok(self.get(index)?.priority())
    }

    #[napi]
    pub fn last_error(&self, index: u32) -> Result<&str> {
        Ok(self.get(index)?.last_error())
    }

    #[napi]
    pub fn endings(&self, index: u32) -> Result<Vec<NativeEnding>> {
        Ok(history::endings(self.get(index)?.endings()))
    }

    /// Null if there was none.
    #[napi]
    pub fn releases(&self, index: u32) -> Result<Option<NativeReleases>> {
        Ok(history::releases(self.get(index)?.releases()))
    }

    /// Null if it is no follow-up that has one.
    #[napi]
    pub fn trigger(&self, index: u32) -> Result<Option<NativeTrigger>> {
        Ok(self.get(index)?.trigger().map(history::trigger))
    }

    #[napi]
    pub fn generation(&self, index: u32) -> Result<f64> {
        Ok(self.get(index)?.generation() as f64)
    }

    /// Milliseconds.
    #[napi]
    pub fn waited(&self, index: u32) -> Result<f64> {
        Ok(self.get(index)?.waited().as_millis() as f64)
    }

    /// Milliseconds since 1970.
    #[napi]
    pub fn deadline(&self, index: u32) -> Result<f64> {
        Ok(ms(self.get(index)?.deadline()))
    }

    /// Milliseconds.
    #[napi]
    pub fn remaining(&self, index: u32) -> Result<f64> {
        Ok(self.get(index)?.remaining().as_secs_f64() * 1e3)
    }

    #[napi]
    pub fn is_lost(&self, index: u32) -> Result<bool> {
        Ok(self.get(index)?.is_lost())
    }

    #[napi]
    pub fn is_settled(&self, index: u32) -> Result<bool> {
        Ok(self.get(index)?.is_settled())
    }

    /// From the first call on the client asks the server.
    #[napi]
    pub fn is_cancelled(&self, index: u32) -> Result<bool> {
        Ok(self.get(index)?.is_cancelled())
    }

    /// Null if that is unknown.
    #[napi]
    pub fn completed(&self, index: u32) -> Result<Either<bool, Null>> {
        Ok(self.get(index)?.completed().map_or(Either::B(Null), Either::A))
    }
}
