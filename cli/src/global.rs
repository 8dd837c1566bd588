//! What all commands share: the server, and how to write.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use leaseq::{Client, Role, WorkQueue};
use tokio::sync::OnceCell;

use crate::context::Contexts;
use crate::failure::Failure;
use crate::output::Output;

/// When to use colour.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

/// Options of every command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The server: redis://host:6379/0, rediss://…, sqlite:jobs.db … [default: LEASEQ_URL, else the current context,
    /// else REDIS_URL]. Other users see the command line: put a password into the environment or a context
    #[arg(long, global = true, value_name = "URL")]
    url: Option<String>,
    /// The server of this context, see `leaseq context` [default: LEASEQ_CONTEXT]
    #[arg(long, global = true, value_name = "NAME", conflicts_with = "url")]
    context: Option<String>,
    /// Write JSON, also errors
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Write tables as on a terminal, also into a pipe
    #[arg(long, global = true, conflicts_with = "json")]
    table: bool,
    /// Use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: When,
}

/// A server, and where its name comes from.
#[derive(Debug)]
struct Server {
    url: String,
    context: Option<String>,
}

/// What all commands share.
#[derive(Debug)]
pub(crate) struct Shared {
    global: Global,
    pub(crate) output: Output,
    client: OnceCell<Client>,
}

impl Shared {
    pub(crate) fn new(global: Global) -> Shared {
        let color = match global.color {
            When::Auto => None,
            When::Always => Some(true),
            When::Never => Some(false),
        };
        let output = Output::new(global.json, global.table, color);
        Shared { global, output, client: OnceCell::new() }
    }

    fn server(&self) -> Result<Server, Failure> {
        let set = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let plain = |url| Ok(Server { url, context: None });
        let named = |name: String| {
            let url = Contexts::load()?.url(&name)?;
            Ok(Server { url, context: Some(name) })
        };
        if let Some(url) = &self.global.url {
            return plain(url.clone());
        }
        if let Some(name) = &self.global.context {
            return named(name.clone());
        }
        if let Some(url) = set("LEASEQ_URL") {
            return plain(url);
        }
        if let Some(name) = set("LEASEQ_CONTEXT").or(Contexts::load()?.current) {
            return named(name);
        }
        set("REDIS_URL").map_or_else(
            || {
                Err(Failure::usage("no server").hint(
                    "give --url redis://… or sqlite:…, set LEASEQ_URL, or make a context: \
                     leaseq context add NAME URL",
                ))
            },
            plain,
        )
    }

    /// The server for people, without passwords.
    pub(crate) fn server_name(&self) -> Result<String, Failure> {
        let Server { url, context } = self.server()?;
        let url = leaseq::redact_url(&url);
        Ok(match context {
            Some(context) => format!("{url} (context {context})"),
            None => url,
        })
    }

    pub(crate) fn url(&self) -> Result<String, Failure> {
        self.server().map(|server| server.url)
    }

    pub(crate) async fn client(&self) -> Result<&Client, Failure> {
        let connect = async || Ok(Client::connect(&self.server()?.url).await?);
        self.client.get_or_try_init(connect).await
    }

    pub(crate) async fn queue(&self, name: &str) -> Result<WorkQueue, Failure> {
        Ok(self.client().await?.queue(name)?)
    }

    /// The named queues, or all. One that is named must exist.
    pub(crate) async fn names(&self, named: &[String]) -> Result<Vec<String>, Failure> {
        if named.is_empty() {
            return Ok(self.client().await?.queues().await?);
        }
        for name in named {
            self.existing(name).await?;
        }
        Ok(named.to_vec())
    }

    /// A queue that exists. A mistyped name would look like an empty queue.
    pub(crate) async fn existing(&self, name: &str) -> Result<WorkQueue, Failure> {
        let queue = self.queue(name).await?;
        // Who may not list the queues may look at one.
        let names = self.client().await?.queues().await.ok();
        if names.is_some_and(|names| !names.iter().any(|known| known == name)) {
            return Err(Failure::no(format_args!("there is no queue {name}"))
                .hint("leaseq queues lists them"));
        }
        Ok(queue)
    }

    pub(crate) async fn close(&self) {
        if let Some(client) = self.client.get() {
            client.close().await;
        }
    }

    /// Names the rights that the user lacks for this role, if that is the cause.
    pub(crate) async fn explained(
        &self,
        failure: Failure,
        role: Option<Role>,
        queue: Option<&str>,
    ) -> Failure {
        let (Some(role), Some(client), true) = (role, self.client.get(), failure.is_invalid())
        else {
            return failure;
        };
        let missing = match client.queue(queue.unwrap_or("leaseq")) {
            Ok(queue) => queue.missing_rights(role).await.unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        if missing.is_empty() { failure } else { failure.lacks(role.as_str(), &missing) }
    }

    /// Whether somebody can answer a question.
    pub(crate) fn can_ask(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}
