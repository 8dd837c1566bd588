//! Real servers and a fault-injecting proxy for leaseq's tests, benchmarks and demo.
//!
//! Everything listens on loopback, in a directory of its own, and ends when its owning value is dropped.
//! Nothing here needs a running Redis.
//!
//! | need | use |
//! |---|---|
//! | one server, killed, restarted or frozen at will | [`RedisServer`] |
//! | lost replies, black holes, refused or broken connections | [`Proxy`] |
//! | migrating slots | [`Cluster`] |
//! | a changing master | [`Sentinel`] |
//! | `rediss://` | [`TlsServer`] |
//! | limits of memory and swap for a process | [`ControlGroup`] |
//! | the processor time of a process | [`cpu_time`] |
//! | a part of a long matrix each day | [`Share`] |
//! | a free port | [`Port`] |
//! | a response of a web server | [`http()`] |
//! | waiting without sleeping | [`eventually`] |
//! | texts with random errors | [`with_accidents`] |

#![forbid(unsafe_code)]
// Test-only code: a failed step must stop the test at once and show its line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accidents;
mod cluster;
mod control_group;
mod cpu;
mod http;
mod port;
mod proxy;
mod sentinel;
mod server;
mod server_builder;
mod share;
mod tls;
mod wait;

pub use accidents::with_accidents;
pub use cluster::Cluster;
pub use control_group::ControlGroup;
pub use cpu::cpu_time;
pub use http::http;
pub use port::Port;
pub use proxy::{Proxy, Then};
pub use sentinel::Sentinel;
pub use server::RedisServer;
pub use server_builder::RedisServerBuilder;
pub use share::Share;
pub use tls::TlsServer;
pub use wait::{eventually, eventually_blocking};
