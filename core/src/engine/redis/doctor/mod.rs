//! Reading the server's settings: what they promise about durability, and what endangers it.

mod server;

use redis::cmd;

use self::server::Server;
use super::connection::Endpoint;
use super::context::Context;
use super::open_error::OpenError;
use super::opener::Opener;
use super::place::Node;
use crate::doctor::{Diagnosis, Durability};
use crate::{Error, Result};

pub(super) async fn diagnose(context: &Context) -> Result<Diagnosis> {
    let limit = context.timeout;
    tokio::time::timeout(limit, look(context)).await.unwrap_or_else(|_| {
        Err(Error::unavailable(format_args!("the servers did not answer within {limit:?}"), false))
    })
}

async fn look(context: &Context) -> Result<Diagnosis> {
    let opener = &context.manager.opener;
    let mut diagnosis = Diagnosis::new(String::new());
    if let Some(confirmation) = opener.confirmation() {
        let stored = confirmation.stored().map(|count| match count {
            0 => "local".to_owned(),
            count => count.to_string(),
        });
        let replicas = confirmation.replicas().to_string();
        let options = [("replicas", Some(replicas)), ("fsync", stored)];
        let asked = options.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
        diagnosis.settings.extend(asked);
    }
    let endpoints = match opener.seeds() {
        None => vec![Endpoint::Main],
        Some(seeds) => masters(opener, seeds, &mut diagnosis).await,
    };
    let mut failed = None;
    for endpoint in endpoints {
        let name = match &endpoint {
            Endpoint::Main => String::new(),
            endpoint => format!("{}: ", opener.describe(endpoint)),
        };
        let server = match opener.open(&endpoint).await {
            Ok(connection) => Server::read(connection).await,
            Err(OpenError::Lasting(error) | OpenError::Unconfirmable(error)) => Err(error),
            Err(OpenError::Passing(message)) => Err(Error::unavailable(message, false)),
        };
        match server {
            Ok(server) => {
                if diagnosis.engine.is_empty() {
                    diagnosis.engine = server.version();
                }
                server.judge(&name, opener, &mut diagnosis);
            }
            Err(error) => {
                diagnosis.at_most(Durability::Unknown);
                diagnosis.problem(error.to_string(), "look at that node and its log");
                failed = Some(error);
            }
        }
    }
    if let Some(error) = failed.filter(|_| diagnosis.engine.is_empty()) {
        return Err(error);
    }
    if opener.is_plain() {
        diagnosis.hint(
            "passwords and data travel unencrypted to another machine",
            "use TLS (rediss://) unless the network is trusted",
        );
    }
    diagnosis.sort();
    Ok(diagnosis)
}

/// The nodes of a Cluster that have slots; those of the URL if the nodes do not list them.
async fn masters(opener: &Opener, seeds: &[Node], diagnosis: &mut Diagnosis) -> Vec<Endpoint> {
    for seed in seeds {
        let Ok(mut connection) = opener.open(&Endpoint::Node(seed.clone())).await else { continue };
        let mut ask = cmd("CLUSTER");
        ask.arg("NODES");
        let Ok(text) = ask.query_async::<String>(&mut *connection).await else { break };
        return text.lines().filter_map(|line| master(line, &seed.0)).map(Endpoint::Node).collect();
    }
    diagnosis.hint(
        "the nodes do not tell which others there are: only those in the url were looked at",
        "run the doctor as a user with +cluster|nodes",
    );
    seeds.iter().cloned().map(Endpoint::Node).collect()
}

/// The node in a line of CLUSTER NODES, if it is a master with slots. `asked`: the host that replied.
fn master(line: &str, asked: &str) -> Option<Node> {
    // Id, address, flags, master, ping, pong, epoch, link, slots.
    let mut words = line.split(' ').skip(1);
    let (address, flags) = (words.next()?, words.next()?);
    if !flags.split(',').any(|flag| flag == "master") || words.nth(5).is_none() {
        return None;
    }
    let (host, port) = address.split(['@', ',']).next()?.rsplit_once(':')?;
    let host = if host.is_empty() { asked } else { host };
    Some((host.to_owned(), port.parse().ok().filter(|port| *port > 0)?))
}
