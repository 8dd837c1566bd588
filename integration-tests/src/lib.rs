//! Tests of the contract: scenarios, faults and the demo.

#![forbid(unsafe_code)]

pub mod conformance;
pub mod demo;
pub mod faults;
mod share;
