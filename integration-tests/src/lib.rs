//! Tests of the contract: scenarios, faults and the demo.

#![forbid(unsafe_code)]

pub mod conformance;
pub mod demo;
pub mod error;
pub mod faults;
mod share;
