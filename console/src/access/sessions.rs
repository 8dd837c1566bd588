//! Cookies of people who have signed in.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

use super::tokens::Hashed;
use crate::role::Role;
use crate::token::new_token;

/// The name of the cookie.
const COOKIE: &str = "leaseq_console";
/// How long a cookie is good for.
const LIFE: Duration = Duration::from_secs(12 * 3_600);
/// The most sessions; the oldest ends for a further one.
const MAX_SESSIONS: usize = 1_000;

#[derive(Debug, Clone)]
struct Session {
    name: String,
    role: Role,
    ends: Instant,
}

/// The sessions of this process: they end with it.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<HashMap<Hashed, Session>>);

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<Hashed, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session. Returns the secret of its cookie.
    pub(crate) fn begin(&self, name: &str, role: Role) -> String {
        let secret = new_token();
        let now = Instant::now();
        let mut sessions = self.lock();
        sessions.retain(|_, session| session.ends > now);
        if sessions.len() >= MAX_SESSIONS
            && let Some((oldest, _)) = sessions.iter().min_by_key(|(_, session)| session.ends)
        {
            let oldest = *oldest;
            sessions.remove(&oldest);
        }
        let session = Session { name: name.into(), role, ends: now + LIFE };
        sessions.insert(Hashed::new(&secret), session);
        secret
    }

    /// Who has signed in with this cookie.
    pub(crate) fn find(&self, headers: &HeaderMap) -> Option<(String, Role)> {
        let key = Hashed::new(cookie(headers)?);
        let session = self.lock().get(&key).cloned()?;
        (session.ends > Instant::now()).then_some((session.name, session.role))
    }

    pub(crate) fn end(&self, headers: &HeaderMap) {
        if let Some(secret) = cookie(headers) {
            self.lock().remove(&Hashed::new(secret));
        }
    }
}

/// What sets the cookie; an empty secret deletes it.
pub(crate) fn set_cookie(secret: &str, base: &str, https: bool) -> String {
    let path = if base.is_empty() { "/" } else { base };
    let age = if secret.is_empty() { 0 } else { LIFE.as_secs() };
    let secure = if https { "; Secure" } else { "" };
    format!("{COOKIE}={secret}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}
