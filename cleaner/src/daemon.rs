//! Starting, stopping and reading the configuration again.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use leaseq::{Backoff, Client};
use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::{Flags, Settings};
use crate::http::Server;
use crate::overview::Overview;
use crate::queues;
use crate::signals::{Signals, Told};
use crate::state::Place;

/// The longest pause between attempts to reach a server for the first time.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// What a step in hand gets when the cleaning stops. What is cut off then is done by the next.
const GRACE: Duration = Duration::from_secs(3);
/// How long a reload may take, whatever the file or the server does.
const RELOAD_TIME: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs until it is told to stop.
pub(crate) async fn run(flags: Flags, settings: Settings) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let overview = Arc::new(Overview::new());
    let mut http = Server::start(&settings.listen, overview.clone()).await?;
    log_settings(&settings, &http, "cleaner started");
    let mut cleaning = Cleaning::start(settings, None, &overview);
    notify(&[NotifyState::Ready]);
    let mut reload: Option<Reload> = None;
    loop {
        tokio::select! {
            ended = &mut cleaning.task => {
                ended??;
                return Err("the cleaning ended by itself".into());
            }
            told = signals.next() => match told {
                Told::Stop => break,
                Told::Reload => {
                    notify(&reloading());
                    // One that is still being read begins anew.
                    reload = Some(Box::pin(prepare(flags.clone())));
                }
            },
            prepared = finished(&mut reload) => {
                reload = None;
                match apply(prepared, &mut http, &overview).await {
                    Ok((settings, client)) => {
                        cleaning.stop().await;
                        log_settings(&settings, &http, "the configuration was read again");
                        cleaning = Cleaning::start(settings, Some(client), &overview);
                    }
                    Err(error) => tracing::error!(%error, "the configuration stays as it was"),
                }
                notify(&[NotifyState::Ready]);
            }
        }
    }
    notify(&[NotifyState::Stopping]);
    cleaning.stop().await;
    http.stop().await;
    tracing::info!("cleaner stopped");
    Ok(())
}

fn log_settings(settings: &Settings, http: &Server, message: &str) {
    let (url, listen) = (leaseq::redact_url(&settings.url), http.shown());
    tracing::info!(url, listen, version = env!("CARGO_PKG_VERSION"), "{message}");
}

type Reload = Pin<Box<dyn Future<Output = Result<(Settings, Client), Failure>> + Send>>;

async fn finished(reload: &mut Option<Reload>) -> Result<(Settings, Client), Failure> {
    match reload {
        Some(reload) => reload.await,
        None => std::future::pending().await,
    }
}

/// Reads the configuration again, and connects. Whatever is wrong, nothing has changed.
async fn prepare(flags: Flags) -> Result<(Settings, Client), Failure> {
    let prepared = async {
        // On a thread of its own: what is named as the file may never end.
        let settings = tokio::task::spawn_blocking(move || Settings::load(&flags)).await??;
        let client = Client::connect(&settings.url).await?;
        Ok((settings, client))
    };
    let late = format!("neither read nor connected within {RELOAD_TIME:?}");
    tokio::time::timeout(RELOAD_TIME, prepared).await.unwrap_or_else(|_| Err(late.into()))
}

/// Moves to the new address, the last step that can fail.
async fn apply(
    prepared: Result<(Settings, Client), Failure>,
    http: &mut Server,
    overview: &Arc<Overview>,
) -> Result<(Settings, Client), Failure> {
    let (settings, client) = prepared?;
    http.move_to(&settings.listen, overview.clone()).await?;
    Ok((settings, client))
}

/// The cleaning with one configuration.
struct Cleaning {
    stop: CancellationToken,
    task: JoinHandle<leaseq::Result<()>>,
}

impl Cleaning {
    fn start(settings: Settings, client: Option<Client>, overview: &Arc<Overview>) -> Cleaning {
        overview.reset();
        let stop = CancellationToken::new();
        let (overview, stopped) = (overview.clone(), stop.clone());
        let task = tokio::spawn(async move {
            let client = match client {
                Some(client) => client,
                None => match connect(&settings, &overview, &stopped).await? {
                    Some(client) => client,
                    None => return Ok(()),
                },
            };
            overview.set_client(client.clone());
            queues::clean(client, Arc::new(settings), overview, stopped).await;
            Ok(())
        });
        Cleaning { stop, task }
    }

    async fn stop(mut self) {
        self.stop.cancel();
        if tokio::time::timeout(GRACE, &mut self.task).await.is_err() {
            tracing::warn!("a clean did not end within {GRACE:?} and was cut off");
            self.task.abort();
        }
    }
}

/// Connects, however long the server is away; `None`: it was told to stop meanwhile. What will not
/// pass by itself is an error.
async fn connect(
    settings: &Settings,
    overview: &Overview,
    stop: &CancellationToken,
) -> leaseq::Result<Option<Client>> {
    let mut backoff = Backoff::up_to(MAX_PAUSE);
    loop {
        let connected = tokio::select! {
            connected = Client::connect(&settings.url) => connected,
            () = stop.cancelled() => return Ok(None),
        };
        match connected {
            Ok(client) => {
                overview.succeeds(&Place::Server);
                return Ok(Some(client));
            }
            Err(error) if error.kind().is_retryable() => overview.fails(&Place::Server, &error),
            Err(error) => return Err(error),
        }
        queues::pause(backoff.pause(), stop).await;
    }
}

/// Tells systemd, if it wants to know.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "systemd was not told");
    }
}

fn reloading() -> Vec<NotifyState<'static>> {
    let mut states = vec![NotifyState::Reloading];
    states.extend(NotifyState::monotonic_usec_now().ok());
    states
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use clap::Parser;

    use super::*;
    use crate::config::Listen;

    fn settings(listen: Listen) -> Settings {
        let flags = Flags::parse_from(["cleaner", "--url", "memory:"]);
        Settings { listen, ..Settings::load(&flags).unwrap() }
    }

    #[tokio::test]
    async fn the_default_address_is_taken_from_the_own_server_on_all_hosts() {
        let overview = Arc::new(Overview::new());
        let all = Listen::At("0.0.0.0:0".parse().unwrap());
        let mut http = Server::start(&all, overview.clone()).await.unwrap();
        let port = http.shown().parse::<SocketAddr>().unwrap().port();
        let default = SocketAddr::from(([127, 0, 0, 1], port));
        let client = Client::connect("memory:").await.unwrap();
        let prepared = Ok((settings(Listen::IfFree(default)), client));
        apply(prepared, &mut http, &overview).await.unwrap();
        assert_eq!(http.shown(), default.to_string());
        tokio::net::TcpStream::connect(default).await.unwrap();
        http.stop().await;
    }
}
