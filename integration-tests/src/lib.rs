//! The judge of the contract.

#![forbid(unsafe_code)]

pub mod demo;
