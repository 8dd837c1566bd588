//! What is broken while processes look after a schedule.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::faults) enum Breaks {
    /// Processes are killed, and others are started.
    Processes,
    /// The server is killed and started again, with every write on the disk before it is answered.
    Server,
    /// Nothing, but the clocks of two thirds of the processes are hours off.
    Clocks,
}
