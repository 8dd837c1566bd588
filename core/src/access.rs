//! Roles, and the rights of their users.

/// What a client is for, which decides the rights that its user needs. `core/docs/users.acl` has them as
/// configuration of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Adds and cancels items, and waits for their ends.
    Producer,
    /// Leases items and settles them.
    Worker,
    /// Cleans, checks and counts.
    Cleaner,
    /// Counts and reads items, and changes nothing.
    Monitor,
    /// Reads, removes, requeues, cancels and purges items; pauses, resumes and drops queues.
    Operator,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 5] =
        [Role::Producer, Role::Worker, Role::Cleaner, Role::Monitor, Role::Operator];

    /// The role as a word: `producer`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Producer => "producer",
            Role::Worker => "worker",
            Role::Cleaner => "cleaner",
            Role::Monitor => "monitor",
            Role::Operator => "operator",
        }
    }
}
