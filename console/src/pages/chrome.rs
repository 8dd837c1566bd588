//! What all pages have around them.

use std::time::SystemTime;

use crate::access::Identity;
use crate::app::App;
use crate::assets;
use crate::context::Context;
use crate::format::Moment;
use crate::notice::Notice;
use crate::role::Role;

/// What all pages have around them.
pub(crate) struct Chrome {
    pub(crate) title: String,
    /// The part of the navigation that the page belongs to.
    pub(crate) section: &'static str,
    pub(crate) base: String,
    /// Without its password.
    pub(crate) server: String,
    pub(crate) now: Moment,
    pub(crate) who: Option<Identity>,
    /// After how many seconds the page loads again by itself.
    pub(crate) refresh: Option<u32>,
    /// What a change has done.
    pub(crate) notice: Option<Notice>,
}

impl Chrome {
    pub(crate) fn new(
        app: &App,
        who: Option<Identity>,
        section: &'static str,
        title: impl Into<String>,
    ) -> Chrome {
        Chrome {
            title: title.into(),
            section,
            base: app.options.base.clone(),
            server: leaseq::redact_url(&app.options.url),
            now: Moment::new(SystemTime::now()),
            who,
            refresh: None,
            notice: None,
        }
    }

    /// Of a page that somebody who has signed in has asked for.
    pub(crate) fn of(cx: &Context, section: &'static str, title: impl Into<String>) -> Chrome {
        let notice = Notice::read(&cx.query);
        Chrome { notice, ..Chrome::new(&cx.app, Some(cx.who.clone()), section, title) }
    }

    /// The address of a file that pages load.
    pub(crate) fn asset(&self, name: &str) -> String {
        format!("{}{}", self.base, assets::path(name))
    }

    /// Whether to show what only these people may do.
    fn may(&self, role: Role) -> bool {
        self.who.as_ref().is_some_and(|who| who.may(role))
    }

    pub(crate) fn operates(&self) -> bool {
        self.may(Role::Operate)
    }

    pub(crate) fn administers(&self) -> bool {
        self.may(Role::Administer)
    }
}
