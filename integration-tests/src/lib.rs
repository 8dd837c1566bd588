//! The judge of the contract.
