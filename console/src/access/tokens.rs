//! Tokens of users, from a file.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::role::Role;

/// The shortest token, in bytes. A token of [`new_token`](crate::new_token) has 43.
const MIN_TOKEN: usize = 20;

/// The hash of a secret, so that comparing takes the same time for every wrong one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hashed([u8; 32]);

impl Hashed {
    pub(crate) fn new(secret: &str) -> Hashed {
        Hashed(Sha256::digest(secret.as_bytes()).into())
    }

    pub(crate) fn is(&self, other: &Hashed) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.0[..], &other.0[..]).into()
    }
}

/// Tokens, each with a name and a role.
#[derive(Clone)]
pub struct Tokens(Vec<(Hashed, String, Role)>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(_, name, role)| (name, role))).finish()
    }
}

impl Tokens {
    /// The name and the role of this token.
    pub(crate) fn find(&self, token: &str) -> Option<(&str, Role)> {
        let hashed = Hashed::new(token);
        // All of them, so that the time tells nothing.
        let found: Vec<_> = self.0.iter().filter(|(known, ..)| known.is(&hashed)).collect();
        found.first().map(|(_, name, role)| (name.as_str(), *role))
    }
}

/// Reads a file of lines `NAME ROLE TOKEN`. Empty lines and those that begin with `#` are ignored.
impl FromStr for Tokens {
    type Err = String;

    fn from_str(text: &str) -> Result<Tokens, String> {
        let mut tokens: Vec<(Hashed, String, Role)> = Vec::new();
        for (number, line) in lines(text) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Does not quote the line: it has a secret.
            let wrong = |why: &str| format!("line {number}: {why}");
            let [name, role, token] = words[..] else { return Err(wrong("not NAME ROLE TOKEN")) };
            let role =
                role.parse().map_err(|_| wrong("the role is not view, operate or administer"))?;
            if token.len() < MIN_TOKEN {
                return Err(wrong("the token has fewer than 20 bytes"));
            }
            let hashed = Hashed::new(token);
            if tokens.iter().any(|(known, ..)| known.is(&hashed)) {
                return Err(wrong("the token is that of another line"));
            }
            tokens.push((hashed, name.into(), role));
        }
        if tokens.is_empty() {
            return Err("there is no token".into());
        }
        Ok(Tokens(tokens))
    }
}

/// The lines that say something, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_from_a_file() {
        let file = "# people\n\n ada administer aaaaaaaaaaaaaaaaaaaaaaaa\nbob view bbbbbbbbbbbbbbbbbbbbbbbb\n";
        let tokens: Tokens = file.parse().unwrap();
        assert_eq!(tokens.find("aaaaaaaaaaaaaaaaaaaaaaaa"), Some(("ada", Role::Administer)));
        assert_eq!(tokens.find("bbbbbbbbbbbbbbbbbbbbbbbb"), Some(("bob", Role::View)));
        assert_eq!(tokens.find("bbbbbbbbbbbbbbbbbbbbbbb"), None);
        assert!(!format!("{tokens:?}").contains("aaaa"));
    }

    #[test]
    fn wrong_files_are_refused_without_their_secrets() {
        for wrong in [
            "",
            "# nobody",
            "ada administer short",
            "ada root aaaaaaaaaaaaaaaaaaaaaaaa",
            "administer aaaaaaaaaaaaaaaaaaaaaaaa",
            "a view aaaaaaaaaaaaaaaaaaaaaaaa\nb view aaaaaaaaaaaaaaaaaaaaaaaa",
        ] {
            let error = wrong.parse::<Tokens>().unwrap_err();
            assert!(!error.contains("aaaa") && !error.contains("short"), "{error}");
        }
    }
}
