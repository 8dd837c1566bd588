//! What has happened to an item before. A lease gives it as objects, an item as JSON that looks
//! the same.

use leaseq::{Ending, Releases, Trigger};
use napi::bindgen_prelude::{Buffer, Either, Null};
use napi_derive::napi;
use serde::Serialize;

use crate::time::ms;

/// As `Ending` of the core.
#[napi(object, object_from_js = false)]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NativeEnding {
    #[napi(ts_type = "'failed' | 'expired'")]
    pub kind: &'static str,
    /// Milliseconds since 1970.
    pub at_ms: f64,
}

/// As `Releases` of the core.
#[napi(object, object_from_js = false)]
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NativeReleases {
    pub reason: String,
    pub count: u32,
    /// Milliseconds since 1970.
    pub first_at_ms: f64,
}

pub(crate) fn endings(endings: &[Ending]) -> Vec<NativeEnding> {
    let native = |one: &Ending| NativeEnding { kind: one.kind.as_str(), at_ms: ms(one.at) };
    endings.iter().map(native).collect()
}

pub(crate) fn releases(releases: Option<&Releases>) -> Option<NativeReleases> {
    releases.map(|given| NativeReleases {
        reason: given.reason.clone(),
        count: given.count,
        first_at_ms: ms(given.first_at),
    })
}

/// As `Trigger` of the core.
#[napi(object, object_from_js = false)]
pub struct NativeTrigger {
    pub id: Buffer,
    pub result: Either<Buffer, Null>,
}

pub(crate) fn trigger(trigger: &Trigger) -> NativeTrigger {
    let result = trigger.result().map(|result| Either::A(result.to_vec().into()));
    NativeTrigger { id: trigger.id().to_vec().into(), result: result.unwrap_or(Either::B(Null)) }
}
