//! leaseq for C and C++. The interface is described in `include/leaseq.h`, which is made from
//! these files; it begins with the conventions that all functions follow.
//!
//! Each function does the same three things: it checks its pointers ([`pointer`]), calls the core,
//! and hands out a result or an error ([`guard`]).

// Exports are reached by their names alone.
#![allow(unreachable_pub)]
// The names are those of the header.
#![allow(non_camel_case_types)]
// What a caller must keep to stands once, in the conventions at the top of the header.
#![allow(clippy::missing_safety_doc)]

mod add;
mod both;
mod clean;
mod client;
mod error;
mod fork;
mod guard;
mod info;
mod lease;
mod look;
mod operate;
mod options;
mod pointer;
mod queue;
mod settle;
mod signals;
mod version;
mod waiter;
mod waits;
