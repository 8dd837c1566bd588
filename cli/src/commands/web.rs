//! `web`: serves the web console.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use leaseq_console::{Access, Audit, Console, Options, Role, UserHeader};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::failure::{Ended, Failure};
use crate::global::Shared;
use crate::stop::Stop;

#[derive(Debug, Args)]
#[command(after_help = "\
Who may use it:
  by default               whoever opens the printed link first; only on this machine
  --no-login               everybody, who may only look; only on this machine, and through no proxy
  --token-file FILE        lines of NAME ROLE TOKEN
  --basic-file FILE        lines of USER:HASH:ROLE; htpasswd -nB USER writes USER:HASH
  --user-header NAME       users that a proxy has authenticated; needs --trusted-proxy
Roles are view, operate (pause, requeue, cancel, bury, workers, schedules) and administer (remove, edit, settings,
mend). They add to the rights of the server's user: the best read-only console connects as a user who may only read,
see core/docs/users.acl.

Examples: leaseq web
          leaseq web --listen 0.0.0.0:8686 --token-file /etc/leaseq/tokens --public-url https://queues.example.com/")]
pub(crate) struct WebArgs {
    /// The address to listen on; port 0 chooses one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8686")]
    listen: SocketAddr,
    /// The path of the console, such as /queues, if a proxy serves others at the same address
    #[arg(long, value_name = "PATH", default_value = "")]
    base_path: String,
    /// What browsers open, if there is a proxy: https://queues.example.com/
    #[arg(long, value_name = "URL")]
    public_url: Option<url::Url>,
    /// No login: everybody on this machine may look, and nobody may change anything
    #[arg(long, group = "access")]
    no_login: bool,
    /// Tokens, one on each line: NAME ROLE TOKEN
    #[arg(long, value_name = "FILE", group = "access")]
    token_file: Option<PathBuf>,
    /// Users, one on each line: USER:HASH:ROLE
    #[arg(long, value_name = "FILE", group = "access")]
    basic_file: Option<PathBuf>,
    /// The header in which a proxy names the user
    #[arg(long, value_name = "NAME", group = "access", requires = "trusted_proxy")]
    user_header: Option<String>,
    /// The addresses of that proxy: 10.1.0.5/32. May be repeated
    #[arg(long, value_name = "CIDR", requires = "user_header")]
    trusted_proxy: Vec<String>,
    /// The role of a user that the proxy names: ada=administer. May be repeated
    #[arg(long, value_name = "USER=ROLE", requires = "user_header")]
    user_role: Vec<String>,
    /// The role of the link, or of users whom --user-role does not name [default: administer for the link; other users
    /// are refused]
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Hide these parts of data, results and errors: /card/number, /*/password; of jobs: /args/password. May be repeated
    #[arg(long, value_name = "POINTER")]
    redact: Vec<String>,
    /// Append a line of JSON for each change to this file [default: standard error]
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
}

pub(crate) async fn web(shared: &Shared, args: WebArgs) -> Ended {
    let url = shared.url()?;
    let mut link = None;
    let access = access(&args, &mut link)?;
    let mut options = Options::new(url, access);
    options.base = args.base_path.trim_end_matches('/').to_owned();
    options.public_url = args.public_url.clone();
    options.redact = args.redact;
    options.audit = Some(match &args.audit_log {
        Some(path) => {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            Audit::new(file.map_err(|error| wrong(path, &error))?)
        }
        None => Audit::new(std::io::stderr()),
    });
    let base = options.base.clone();
    let console = Console::new(options).map_err(Failure::usage)?;
    let listener = TcpListener::bind(args.listen).await;
    let listener = listener
        .map_err(|error| Failure::usage(format_args!("listen on {}: {error}", args.listen)))?;
    let address = listener.local_addr()?;
    match console.connect().await {
        Ok(()) => {}
        Err((why, true)) => shared.output.note(&format!("leaseq: {why}; the console waits for it")),
        Err((why, false)) => return Err(Failure::usage(why)),
    }
    let public = match &args.public_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{address}{base}"),
    };
    let query = link.map_or_else(String::new, |token| format!("login?token={token}"));
    shared.output.line(&format!("the console is at {public}/{query}"))?;
    let stop = CancellationToken::new();
    let signals = Stop::listen()?;
    let serving = tokio::spawn(leaseq_console::serve(console, listener, stop.clone()));
    signals.stopped().await;
    stop.cancel();
    let _ = serving.await;
    Ok(0)
}

fn wrong(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format_args!("{}: {why}", path.display()))
}

fn read<T: FromStr<Err = String>>(path: &Path) -> Result<T, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| wrong(path, &error))?;
    text.parse().map_err(|error: String| wrong(path, &error))
}

fn access(args: &WebArgs, link: &mut Option<String>) -> Result<Access, Failure> {
    let role = args.role.as_deref().map(Role::from_str).transpose().map_err(Failure::usage)?;
    let restricted = args.no_login || args.token_file.is_some() || args.basic_file.is_some();
    if role.is_some() && restricted {
        return Err(Failure::usage("--role is for the link, and for --user-header"));
    }
    if let Some(path) = &args.token_file {
        return Ok(Access::Tokens(read(path)?));
    }
    if let Some(path) = &args.basic_file {
        return Ok(Access::Basic(read(path)?));
    }
    if let Some(name) = &args.user_header {
        let wrong = |what: &str| Failure::usage(format_args!("{what:?} cannot be read"));
        let trusted = args.trusted_proxy.iter().map(|text| text.parse().map_err(|_| wrong(text)));
        let mut roles = HashMap::new();
        for text in &args.user_role {
            let (user, role) = text.rsplit_once('=').ok_or_else(|| wrong(text))?;
            roles.insert(user.to_owned(), role.parse().map_err(Failure::usage)?);
        }
        return Ok(Access::Header(UserHeader {
            name: name.parse().map_err(|_| wrong(name))?,
            trusted: trusted.collect::<Result<_, _>>()?,
            roles,
            default: role,
        }));
    }
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(format_args!("others can reach {}", args.listen.ip())).hint(
            "give --token-file, --basic-file, or --user-header with --trusted-proxy, or listen on 127.0.0.1",
        ));
    }
    if args.no_login {
        return Ok(Access::NoLogin);
    }
    let token = leaseq_console::new_token();
    *link = Some(token.clone());
    Ok(Access::Link { token, role: role.unwrap_or(Role::Administer) })
}
