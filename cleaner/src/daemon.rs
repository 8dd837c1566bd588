//! Starting, stopping and reloading the configuration.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use leaseq::{Backoff, Client};
use sd_notify::NotifyState;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Settings;
use crate::flags::Flags;
use crate::http::Server;
use crate::overview::Overview;
use crate::queues;
use crate::shared::pause;
use crate::signals::{Signals, Told};
use crate::state::Place;

/// Longest pause between attempts to connect for the first time.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Time for the current step to finish at shutdown. A step that is cut off is repeated by the next
/// clean.
const GRACE: Duration = Duration::from_secs(3);
/// Limit for a reload.
const RELOAD_TIME: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs until SIGTERM or SIGINT.
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
                return Err("the cleaning ended unexpectedly".into());
            }
            told = signals.next() => match told {
                Told::Stop => break,
                Told::Reload => {
                    notify(&reloading());
                    // Restarts a reload that is still in progress.
                    reload = Some(Box::pin(prepare(flags.clone())));
                }
            },
            prepared = finished(&mut reload) => {
                reload = None;
                match apply(prepared, &mut http, &overview).await {
                    Ok((settings, client)) => {
                        cleaning.stop().await;
                        log_settings(&settings, &http, "configuration reloaded");
                        cleaning = Cleaning::start(settings, Some(client), &overview);
                    }
                    Err(error) => tracing::error!(%error, "configuration not reloaded"),
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

/// Reads the configuration and connects; an error changes nothing.
async fn prepare(flags: Flags) -> Result<(Settings, Client), Failure> {
    let prepared = async {
        // On a separate thread: the file may be a pipe that never ends.
        let settings = tokio::task::spawn_blocking(move || Settings::load(&flags)).await??;
        let client = Client::connect(&settings.url).await?;
        Ok((settings, client))
    };
    let late = format!("neither read nor connected within {RELOAD_TIME:?}");
    tokio::time::timeout(RELOAD_TIME, prepared).await.unwrap_or_else(|_| Err(late.into()))
}

/// Moves to the new address: the last step that can fail.
async fn apply(
    prepared: Result<(Settings, Client), Failure>,
    http: &mut Server,
    overview: &Arc<Overview>,
) -> Result<(Settings, Client), Failure> {
    let (settings, client) = prepared?;
    http.move_to(&settings.listen, overview.clone()).await?;
    Ok((settings, client))
}

/// The cleaning tasks of one configuration.
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
            tracing::warn!("stopped a clean that did not end within {GRACE:?}");
            self.task.abort();
        }
    }
}

/// Connects, and retries while the server is away. `None`: `stop` was cancelled. Permanent problems
/// are errors.
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
        pause(backoff.pause(), stop).await;
    }
}

/// Notifies systemd, if it started this process.
fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::debug!(%error, "could not notify systemd");
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
    use leaseq_test_support::Port;

    use super::*;
    use crate::config::Listen;

    fn settings(listen: Listen) -> Settings {
        let flags = Flags::parse_from(["cleaner", "--url", "memory:"]);
        Settings { listen, ..Settings::load(&flags).unwrap() }
    }

    #[tokio::test]
    async fn the_default_address_is_taken_from_the_own_server_on_all_hosts() {
        let overview = Arc::new(Overview::new());
        let port = Port::reserve();
        let all = Listen::At(SocketAddr::from(([0, 0, 0, 0], port.number())));
        let mut http = Server::start(&all, overview.clone()).await.unwrap();
        let default = SocketAddr::from(([127, 0, 0, 1], port.number()));
        let client = Client::connect("memory:").await.unwrap();
        let prepared = Ok((settings(Listen::IfFree(default)), client));
        apply(prepared, &mut http, &overview).await.unwrap();
        assert_eq!(http.shown(), default.to_string());
        tokio::net::TcpStream::connect(default).await.unwrap();
        http.stop().await;
    }
}
