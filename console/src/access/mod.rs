//! Who may do what: how people sign in, and the checks of each request.

mod basic;
mod header;
pub(crate) mod origin;
mod sessions;
mod tokens;

use std::net::{IpAddr, SocketAddr};

use leaseq::fit_text;
use leaseq::options::MAX_PAUSED_BY;

pub use self::basic::BasicUsers;
pub use self::header::UserHeader;
pub(crate) use self::sessions::{Sessions, set_cookie};
pub use self::tokens::Tokens;
use crate::role::Role;

/// How people show who they are.
#[derive(Debug)]
pub enum Access {
    /// Everybody may look, nobody may change anything. Only for loopback addresses: requests for other hosts, and those
    /// that a proxy has forwarded, are refused.
    NoLogin,
    /// Whoever opens the link with this token first. It works once.
    Link {
        /// The token; [`new_token`](crate::new_token) makes one.
        token: String,
        /// The rights that it gives.
        role: Role,
    },
    /// Whoever has one of these tokens.
    Tokens(Tokens),
    /// Users with passwords, by HTTP basic authentication.
    Basic(BasicUsers),
    /// The user that a proxy names.
    Header(UserHeader),
}

/// The address of the sender of a request, among its extensions.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Who sent a request.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// For people and the audit; empty: nobody has signed in.
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) from: IpAddr,
    /// Signed in by a cookie, so that signing out makes sense.
    pub(crate) session: bool,
}

impl Identity {
    pub(crate) fn may(&self, role: Role) -> bool {
        self.role >= role
    }

    /// Who pauses, for those who see the pause.
    pub(crate) fn pauses_as(&self) -> String {
        let name = fit_text(&self.name, MAX_PAUSED_BY);
        if name.is_empty() { "the console".into() } else { name }
    }

    /// The error of the items that this user buries.
    pub(crate) fn bury_reason(&self) -> String {
        match &*self.name {
            "" => "buried in the console".into(),
            name => format!("buried in the console by {name}"),
        }
    }
}
