//! Users that an authenticating proxy names.

use std::collections::HashMap;
use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::role::Role;

/// The longest name of a user, in bytes.
const MAX_NAME: usize = 256;

/// A header with the name of the user, from proxies that are trusted to set or to remove it.
#[derive(Debug, Clone)]
pub struct UserHeader {
    /// The header, for example `X-Forwarded-User`.
    pub name: HeaderName,
    /// The addresses of the proxies. Requests from others are refused.
    pub trusted: Vec<IpNet>,
    /// The roles of users.
    pub roles: HashMap<String, Role>,
    /// The role of everybody else whom the proxy lets through. `None`: they are refused.
    pub default: Option<Role>,
}

impl UserHeader {
    pub(crate) fn find(&self, from: IpAddr, headers: &HeaderMap) -> Option<(String, Role)> {
        if !self.trusted.iter().any(|network| network.contains(&from.to_canonical())) {
            return None;
        }
        let mut values = headers.get_all(&self.name).iter();
        // Two of them: one may be the client's.
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let user = value.to_str().ok()?.trim();
        if user.is_empty() || user.len() > MAX_NAME {
            return None;
        }
        let role = self.roles.get(user).copied().or(self.default)?;
        Some((user.to_owned(), role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_trusted_proxy_names_the_user() {
        let header = UserHeader {
            name: HeaderName::from_static("x-user"),
            trusted: vec!["10.1.0.0/16".parse().unwrap(), "::1/128".parse().unwrap()],
            roles: [("ada".into(), Role::Administer)].into(),
            default: Some(Role::View),
        };
        let with = |users: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for user in users {
                headers.append("x-user", user.parse().unwrap());
            }
            headers
        };
        let proxy = "10.1.2.3".parse().unwrap();
        let ada = Some(("ada".to_owned(), Role::Administer));
        assert_eq!(header.find(proxy, &with(&["ada"])), ada);
        assert_eq!(header.find("::ffff:10.1.2.3".parse().unwrap(), &with(&["ada"])), ada);
        assert_eq!(header.find(proxy, &with(&["bob"])), Some(("bob".into(), Role::View)));
        assert_eq!(header.find("10.2.0.1".parse().unwrap(), &with(&["ada"])), None);
        for wrong in [&[][..], &[""], &["ada", "bob"]] {
            assert_eq!(header.find(proxy, &with(wrong)), None);
        }
        let strict = UserHeader { default: None, ..header };
        assert_eq!(strict.find(proxy, &with(&["bob"])), None);
    }
}
