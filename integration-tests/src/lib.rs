//! The checker of the contract.

#![forbid(unsafe_code)]

pub mod conformance;
pub mod demo;
pub mod faults;
mod share;
