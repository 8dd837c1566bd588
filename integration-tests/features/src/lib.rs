//! This crate has only dependencies. Cargo compiles a crate again for each set of features that a command
//! requests, and each part requests another set. All parts that depend on this crate request the same set,
//! so each crate is compiled once for all of them. `make lint` reports features that are missing here.
