//! Random operations against a small model of the contract: every answer is compared.
//!
//! A failure prints its seed and the last operations; `LEASEQ_SEED` runs that seed again.

#![cfg(all(feature = "redis", feature = "sqlite", feature = "testing"))]
// A test may fail loudly.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cancel;
mod driver;
mod ends;
mod keys;
mod model;
mod outcomes;
mod settings;
mod steps;
mod successors;
#[path = "../support/mod.rs"]
mod support;

use leaseq_test_support::Share;
use rand::RngCore;
use support::*;

/// In each of the two tests, which run at the same time.
const OPERATIONS: usize = 52_000;
/// A queue is left for a new one after so many, so that each seed sees young and old queues.
const ROUND: usize = 4_000;

async fn answers_are_those_of_the_model(bench: &Bench) {
    let given = std::env::var("LEASEQ_SEED").ok();
    let given = given.map(|seed| seed.parse().expect("LEASEQ_SEED is a number"));
    let first = given.unwrap_or_else(|| rand::rng().next_u64() >> 16);
    // Random each day, so a part of them is as good as another.
    let parts = Share::from_environment().parts.get() as usize;
    let rounds = if given.is_some() { 1 } else { (OPERATIONS / ROUND).div_ceil(parts) };
    for round in 0..rounds {
        driver::run(bench, first + round as u64, ROUND).await;
    }
}

async fn answers_are_those_of_the_model_again(bench: &Bench) {
    answers_are_those_of_the_model(bench).await;
}

on_every_engine!(answers_are_those_of_the_model, answers_are_those_of_the_model_again);
