//! The engine on Redis and Valkey: one Lua script for each operation. `core/docs/protocol.md` has
//! the keys, the scripts and the reasons.

mod acl;
mod add;
mod address;
mod admin;
mod audit;
mod cancel;
mod channel;
mod confirmation;
mod confirmer;
mod connection;
mod connection_manager;
mod connection_pool;
mod context;
mod denied;
mod details;
mod dial;
mod doctor;
mod due;
mod endings;
mod failure;
mod follow_ups;
mod greeting;
mod key_limits;
mod keys;
mod lease;
mod list;
mod listener;
mod names;
mod notification;
mod notifier;
mod number;
mod open_error;
mod open_queue;
mod opener;
mod operations;
mod outcomes;
mod place;
mod query;
mod reads_to_end;
mod record;
mod redis_engine;
mod reply;
mod retry;
mod retry_decision;
mod roles;
mod routes;
mod schedules;
mod scripts;
mod settings;
mod settle;
mod stored_id;
mod workers;

pub(crate) use self::redis_engine::RedisEngine;
#[cfg(feature = "testing")]
pub(crate) use self::scripts::texts as script_texts;
