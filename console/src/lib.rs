//! The web console of leaseq: looks into queues and changes them, in a browser.
//!
//! A [`Console`] is an axum `Router`, and [`serve`] serves it. Its pages are made on the server from templates
//! and work without JavaScript. [`Options`] says which server it shows, and [`Access`] who may use it.

#![forbid(unsafe_code)]

mod access;
mod actions;
mod app;
mod assets;
mod audit;
mod budget;
mod cache;
mod checks;
mod context;
mod failure;
mod fields;
mod filter;
mod format;
mod guard;
mod headers;
mod json;
mod links;
mod notice;
mod numbers;
mod pages;
mod past;
mod reads;
mod redact;
mod role;
mod routes;
mod series;
mod serve;
mod tasks;
mod token;

pub use access::{Access, BasicUsers, Peer, Tokens, UserHeader};
pub use app::Options;
pub use audit::Audit;
pub use role::Role;
pub use routes::{ROUTES, Route};
pub use serve::{Console, serve};
pub use token::new_token;
