//! Groups of a queue.

use leaseq::options::MAX_PLACES;
use leaseq::{Group, GroupInfo, NewGroup, PlaceState};
use napi::Result;
use napi::bindgen_prelude::{Array, Either};
use napi_derive::napi;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{self, Data, bytes, whole};
use crate::item;
use crate::queue::NativeQueue;
use crate::time::ms;
use crate::wire::Outcome;

fn group(queue: &str, id: &Data<'_>, generation: &str) -> std::result::Result<Group, Failure> {
    Ok(Group::new(queue, bytes(id), generation)?)
}

fn about(info: &GroupInfo) -> Value {
    json!({
        "generation": info.group.generation(),
        "places": info.places,
        "ended": info.ended,
        "completed": info.completed,
        "hasEnded": info.has_ended,
        "changedAtMs": ms(info.changed),
    })
}

#[napi]
impl NativeQueue {
    /// `follow_ups`: as `item::follow_ups` reads them. Answers with the generation of the group.
    #[napi]
    pub fn create_group(
        &self,
        call: u32,
        id: Either<String, &[u8]>,
        #[napi(ts_arg_type = "unknown[]")] follow_ups: Array<'_>,
    ) -> Result<()> {
        let new = NewGroup::new(bytes(&id));
        let new = item::follow_ups(Some(&follow_ups))?
            .map(|follow_ups| follow_ups.into_iter().fold(new, NewGroup::follow_up));
        self.call(call, new, |queue, new| async move {
            Ok(Outcome::Json(queue.create_group(new).await?.generation().into()))
        });
        Ok(())
    }

    /// Answers with a boolean.
    #[napi]
    pub fn seal_group(
        &self,
        call: u32,
        queue: String,
        id: Either<String, &[u8]>,
        generation: String,
        places: f64,
    ) {
        let given = group(&queue, &id, &generation).and_then(|group| {
            let limits = format!("a whole number between 1 and {MAX_PLACES}");
            Ok((group, whole("a number of places,", places, &limits)?))
        });
        self.call(call, given, |queue, (group, places)| async move {
            Ok(Outcome::Bool(queue.seal_group(&group, places).await?))
        });
    }

    /// Answers with a boolean.
    #[napi]
    pub fn cancel_group(
        &self,
        call: u32,
        queue: String,
        id: Either<String, &[u8]>,
        generation: String,
    ) {
        self.call(call, group(&queue, &id, &generation), |queue, group| async move {
            Ok(Outcome::Bool(queue.cancel_group(&group).await?))
        });
    }

    /// Answers with a boolean.
    #[napi]
    pub fn remove_group(
        &self,
        call: u32,
        queue: String,
        id: Either<String, &[u8]>,
        generation: String,
    ) {
        self.call(call, group(&queue, &id, &generation), |queue, group| async move {
            Ok(Outcome::Bool(queue.remove_group(&group).await?))
        });
    }

    /// Answers with a group, or null.
    #[napi]
    pub fn group(&self, call: u32, id: Either<String, &[u8]>) {
        self.call(call, Ok(bytes(&id).to_vec()), |queue, id| async move {
            let found = queue.group(id).await?;
            Ok(Outcome::Json(found.as_ref().map_or(Value::Null, about)))
        });
    }

    /// Answers with how it has ended and the group, which is null if it is gone, or with null; can be cancelled.
    #[napi]
    pub fn group_outcome(
        &self,
        call: u32,
        id: Either<String, &[u8]>,
        wait_ms: Option<f64>,
        expect: bool,
    ) {
        let options = match input::outcome_options(wait_ms, expect) {
            Ok(options) => options,
            Err(failure) => return self.refuse(call, failure),
        };
        let (queue, id) = (self.queue.clone(), bytes(&id).to_vec());
        self.submissions.wait(call, async move {
            let ended = queue.group_outcome(id, options).await?;
            let end =
                ended.map(|end| json!({ "kind": end.as_str(), "info": end.info().map(about) }));
            Ok(Outcome::Json(end.unwrap_or_default()))
        });
    }

    /// Answers with a number for each place: 0 open, 1 ended, 2 completed.
    #[napi]
    pub fn group_places(
        &self,
        call: u32,
        queue: String,
        id: Either<String, &[u8]>,
        generation: String,
        first: f64,
    ) {
        let given = group(&queue, &id, &generation)
            .and_then(|group| Ok((group, whole("first:", first, "a whole number, 0 or more")?)));
        self.call(call, given, |queue, (group, first)| async move {
            let states = queue.group_places(&group, first).await?;
            let number = |state| match state {
                PlaceState::Open => 0.0,
                PlaceState::Ended => 1.0,
                PlaceState::Completed => 2.0,
            };
            Ok(Outcome::Many(states.into_iter().map(number).collect()))
        });
    }
}
