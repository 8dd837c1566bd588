//! Nothing but dependencies. Cargo compiles a crate anew for each set of features that a command asks
//! for, and each part asks for another. The parts that depend on this one all ask for the same, so that
//! each crate is compiled once for all of them. `make lint` says which features are missing here.
