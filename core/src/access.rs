//! Rights of the user that a client logs in as.

/// What a client is for, and so which rights its user needs. `core/docs/users.acl` has them as the
/// server's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Role {
    /// Adds items.
    Producer,
    /// Leases items and settles them.
    Worker,
    /// Cleans, checks and counts.
    Cleaner,
    /// Counts, looks at items, and changes nothing.
    Monitor,
    /// Looks at items, removes, requeues and purges them, pauses, resumes and drops queues.
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
