//! What somebody may do in the console.

use std::fmt;
use std::str::FromStr;

/// The rights of a token or user. Each has those of the one before it. They add to the rights of the server's user: what
/// the server refuses to that user, it refuses here to everybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Sees everything, and changes nothing.
    View,
    /// Pauses queues, requeues, cancels and buries items, commands workers, runs schedules.
    Operate,
    /// Removes items, changes their data and the settings of queues, and mends damage.
    Administer,
}

impl Role {
    /// All roles, the one with the fewest rights first.
    pub const ALL: [Role; 3] = [Role::View, Role::Operate, Role::Administer];

    /// `view`, `operate` or `administer`.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::View => "view",
            Role::Operate => "operate",
            Role::Administer => "administer",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        let found = Role::ALL.into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no role: view, operate or administer"))
    }
}
