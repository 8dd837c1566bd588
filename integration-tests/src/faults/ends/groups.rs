//! Whoever makes groups: one process after the other, if they are killed meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::{Value, json};

use super::super::history::Outcome;
use super::super::load::Stage;
use super::super::rng::SeededRng;
use super::super::worker_pool::{HEALED, WorkerSlot, ask_in};
use super::history::{Fire, Group, Plan};
use super::load::{AGAIN, Load, QUEUES, follow_ups};
use crate::conformance::value::{hex, unhex};
use crate::error::Error;

/// Members are in so many queues.
const OF_MEMBERS: usize = 4;
/// Members that one call adds.
const BATCH: usize = 500;
/// How long a member stays when it is completed, so that it is not added again, in ms.
const RETAIN_MS: u64 = 3_600_000;

impl Load {
    /// Makes a group of so many members, and then small ones until it is stopped.
    pub(super) async fn group(
        self: Arc<Self>,
        slot: Arc<WorkerSlot>,
        members: usize,
        mut rng: SeededRng,
    ) -> Result<(), Error> {
        self.one_group(&slot, members, &mut rng).await?;
        while self.stage() == Stage::Load {
            let members = rng.number(1..13) as usize;
            self.one_group(&slot, members, &mut rng).await?;
            tokio::time::sleep(rng.ms(0..300)).await;
        }
        Ok(())
    }

    /// Creates a group, adds its members and seals it, whatever happens to the process that does so.
    async fn one_group(
        &self,
        slot: &WorkerSlot,
        members: usize,
        rng: &mut SeededRng,
    ) -> Result<(), Error> {
        let name = format!("group{}", self.next.fetch_add(1, Ordering::Relaxed));
        let queue = *rng.pick(&QUEUES);
        let fires = self.each_end(&name, rng);
        let dies = rng.chance(50);
        let mut all: [Vec<Value>; OF_MEMBERS] = Default::default();
        let mut names = Vec::new();
        let create = json!({ "op": "create_group", "id": hex(name.as_bytes()), "follow_ups": follow_ups(&fires) });
        let group = self.insist(slot, queue, &create).await?;
        for place in 0..members {
            let dies = dies && rng.number(0..members as u64) == 0;
            let member = format!("{name}/{place}{}", if dies { "!" } else { "" });
            let id = hex(member.as_bytes());
            let which = place % OF_MEMBERS;
            all[which].push(json!({ "id": id, "data": id, "group": group, "place": place, "retain_ms": RETAIN_MS }));
            let plan = Plan {
                queue: QUEUES[which].into(),
                added: Some(Outcome::Yes),
                limited: false,
                fires: Vec::new(),
            };
            self.history().plans.insert(member.clone(), plan);
            names.push(member);
        }
        for (queue, members) in QUEUES.iter().zip(&all) {
            for members in members.chunks(BATCH) {
                self.insist(slot, queue, &json!({ "op": "add_items", "items": members })).await?;
            }
        }
        // Whoever does not know whether it has created the group creates it again.
        if self.insist(slot, queue, &create).await? != group {
            return Err(format!("{name} was created twice").into());
        }
        let seal = json!({ "op": "seal_group", "group": group, "places": members });
        if self.insist(slot, queue, &seal).await? != true {
            return Err(format!("{name} is gone before it is sealed").into());
        }
        let fire = |(on, item): &(_, Value)| {
            let name = unhex(item["data"].as_str().unwrap_or_default())?;
            Ok(Fire { on: *on, name: String::from_utf8_lossy(&name).into_owned() })
        };
        let fires = fires.iter().map(fire).collect::<Result<_, Error>>()?;
        self.history().groups.push(Group { name, members: names, fires });
        Ok(())
    }

    /// Repeats a request, in other processes too, until it is answered.
    async fn insist(
        &self,
        slot: &WorkerSlot,
        queue: &str,
        request: &Value,
    ) -> Result<Value, Error> {
        let end = Instant::now() + HEALED;
        loop {
            if let Some(process) = slot.process().await {
                match ask_in(&process, &self.recorder, queue, request.clone()).await {
                    Some(Ok(value)) => return Ok(value),
                    Some(Err(failure)) if failure.kind == "INVALID" || Instant::now() >= end => {
                        return Err(format!("{}: {}", request["op"], failure.message).into());
                    }
                    _ => {}
                }
            }
            if Instant::now() >= end {
                return Err(format!("{} has no answer", request["op"]).into());
            }
            tokio::time::sleep(AGAIN).await;
        }
    }
}
