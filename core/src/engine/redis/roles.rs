//! Which commands the user of each role must be allowed to run.

use std::collections::BTreeSet;

use super::scripts::{Script, commands};
use crate::access::Role;
use crate::operation::Operation;

impl Role {
    fn scripts(self) -> impl Iterator<Item = Script> {
        let runs = move |operation: &Operation| operation.roles().contains(&self);
        Script::ALL.iter().copied().filter(move |script| script.operations().iter().any(runs))
    }

    /// The commands that a client of this role sends besides scripts.
    fn plain(self) -> &'static [&'static str] {
        match self {
            Role::Producer => &["hdel", "exists", "xread", "client|id", "client|unblock"],
            Role::Worker => &["hdel", "blpop", "client|id", "client|unblock"],
            Role::Cleaner => &["hdel", "hscan", "exists", "blpop", "client|id", "client|unblock"],
            Role::Monitor => &["hscan"],
            Role::Operator => &["hdel", "hscan", "xread", "client|id", "client|unblock"],
        }
    }

    /// Every command that a client of this role sends, or that its scripts run. Of them `wait` is only for
    /// clients that wait for replicas. `waitaof` is not among them: a server before Redis 7.2 would not accept
    /// a user with that right.
    pub(crate) fn commands(self) -> BTreeSet<&'static str> {
        let scripts = self.scripts().flat_map(commands);
        let always = ["info", "eval", "evalsha", "hget", "hmget", "wait"];
        always.into_iter().chain(self.plain().iter().copied()).chain(scripts).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file with the rights that the scripts and clients of this version need.
    fn users() -> String {
        let mut file = String::from("user default on >CHANGE-ME ~* &* +@all\n");
        for role in Role::ALL {
            let rights: Vec<_> = role.commands().iter().map(|name| format!("+{name}")).collect();
            file += &format!(
                "user leaseq-{} on >CHANGE-ME resetkeys ~leaseq:* resetchannels -@all {}\n",
                role.as_str(),
                rights.join(" ")
            );
        }
        file
    }

    #[test]
    fn the_file_of_users_has_the_rights_that_are_needed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/users.acl");
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(found == users(), "{path} should be:\n{}", users());
    }
}
