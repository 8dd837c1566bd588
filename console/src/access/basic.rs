//! Users with passwords, from a file, and HTTP basic authentication.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tokio::sync::Semaphore;

use super::tokens::{Hashed, lines};
use crate::role::Role;

/// How many passwords are checked at the same time: each takes a core for a tenth of a second or more.
const CHECKED_TOGETHER: usize = 2;
/// How many right passwords are remembered, so that a page does not cost a check for each of its files.
const REMEMBERED: usize = 1_000;

/// Users with their passwords and roles.
#[derive(Clone)]
pub struct BasicUsers {
    users: Arc<HashMap<String, (String, Role)>>,
    right: Arc<Mutex<HashMap<Hashed, String>>>,
    checks: Arc<Semaphore>,
}

impl fmt::Debug for BasicUsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.users.keys()).finish()
    }
}

impl BasicUsers {
    /// The user and the role of an `Authorization` header.
    pub(crate) async fn find(&self, header: &str) -> Option<(String, Role)> {
        let (scheme, coded) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let plain = String::from_utf8(BASE64_STANDARD.decode(coded.trim()).ok()?).ok()?;
        let (user, password) = plain.split_once(':')?;
        let (hash, role) = self.users.get(user)?.clone();
        let key = Hashed::new(&plain);
        let known = |right: &HashMap<Hashed, String>| right.contains_key(&key);
        if known(&self.right.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Some((user.to_owned(), role));
        }
        let _permit = self.checks.acquire().await.ok()?;
        let password = password.to_owned();
        let check = move || bcrypt::verify(password, &hash).unwrap_or(false);
        if !tokio::task::spawn_blocking(check).await.ok()? {
            return None;
        }
        let mut right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
        if right.len() >= REMEMBERED {
            right.clear();
        }
        right.insert(key, user.to_owned());
        Some((user.to_owned(), role))
    }
}

/// Reads a file of lines `USER:HASH:ROLE`, where `USER:HASH` is what `htpasswd -nB USER` writes (bcrypt). Empty lines and
/// those that begin with `#` are ignored.
impl FromStr for BasicUsers {
    type Err = String;

    fn from_str(text: &str) -> Result<BasicUsers, String> {
        let mut users = HashMap::new();
        for (number, line) in lines(text) {
            let wrong = |why: &str| format!("line {number}: {why}");
            let parts: Vec<&str> = line.split(':').collect();
            let [user, hash, role] = parts[..] else { return Err(wrong("not USER:HASH:ROLE")) };
            let role =
                role.parse().map_err(|_| wrong("the role is not view, operate or administer"))?;
            if hash.parse::<bcrypt::HashParts>().is_err() {
                return Err(wrong("the password is not hashed with bcrypt: see htpasswd -nB"));
            }
            if user.is_empty() || users.insert(user.to_owned(), (hash.to_owned(), role)).is_some() {
                return Err(wrong("the user is empty, or that of another line"));
            }
        }
        if users.is_empty() {
            return Err("there is no user".into());
        }
        Ok(BasicUsers {
            users: Arc::new(users),
            right: Arc::default(),
            checks: Arc::new(Semaphore::new(CHECKED_TOGETHER)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> String {
        format!("Basic {}", BASE64_STANDARD.encode(text))
    }

    #[tokio::test]
    async fn users_are_found_by_their_passwords() {
        let hash = bcrypt::hash("right:horse", 4).unwrap();
        let users: BasicUsers = format!("# people\nada:{hash}:operate\n").parse().unwrap();
        for _ in 0..2 {
            let found = users.find(&header("ada:right:horse")).await;
            assert_eq!(found, Some(("ada".into(), Role::Operate)));
        }
        for wrong in ["ada:wrong", "ada:", "bob:right:horse", "ada", ""] {
            assert_eq!(users.find(&header(wrong)).await, None, "{wrong}");
        }
        for wrong in ["", "Bearer x", "Basic", "Basic !", "Basic /w=="] {
            assert_eq!(users.find(wrong).await, None, "{wrong}");
        }
    }

    #[test]
    fn plain_passwords_are_refused() {
        for wrong in ["ada:secret:view", "ada:secret", "", "ada:$2y$05$short:view"] {
            let error = wrong.parse::<BasicUsers>().unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
