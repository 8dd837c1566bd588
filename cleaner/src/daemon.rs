//! Starting, stopping and reading the configuration again.

use std::sync::Arc;
use std::time::Duration;

use leaseq::Client;
use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

use crate::config::{Flags, Settings, without_password};
use crate::once::may_pass;
use crate::overview::Overview;
use crate::signals::{Signals, Told};
use crate::{http, queues};

/// Between attempts to reach a server for the first time.
const PAUSE: Duration = Duration::from_secs(1);

type Failure = Box<dyn std::error::Error>;

/// Runs until it is told to stop.
pub(crate) async fn run(flags: Flags, mut settings: Settings) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let overview = Arc::new(Overview::new());
    loop {
        let stop = CancellationToken::new();
        let guard = stop.clone().drop_guard();
        let listener = http::bind(&settings.listen).await?;
        let address = listener.as_ref().and_then(|listener| listener.local_addr().ok());
        let server = listener
            .map(|listener| tokio::spawn(http::serve(listener, overview.clone(), stop.clone())));
        let url = without_password(&settings.url);
        let listen = address.map_or_else(|| "none".into(), |address| address.to_string());
        tracing::info!(url, listen, version = env!("CARGO_PKG_VERSION"), "cleaner started");
        notify(&[NotifyState::Ready]);
        let next = work(&settings, &flags, &overview, &mut signals, &stop).await;
        drop(guard);
        overview.set_client(None);
        if let Some(server) = server {
            let _ = server.await;
        }
        match next? {
            Some(new) => settings = new,
            None => {
                tracing::info!("cleaner stopped");
                return Ok(());
            }
        }
    }
}

/// Until the next settings come; `None`: it is to stop.
async fn work(
    settings: &Settings,
    flags: &Flags,
    overview: &Arc<Overview>,
    signals: &mut Signals,
    stop: &CancellationToken,
) -> Result<Option<Settings>, Failure> {
    let working = async {
        let client = connect(settings, overview, stop).await?;
        if let Some(client) = client {
            overview.set_client(Some(client.clone()));
            queues::clean(client, settings, overview.clone(), stop.clone()).await;
        }
        Ok::<(), leaseq::Error>(())
    };
    tokio::pin!(working);
    loop {
        let told = tokio::select! {
            ended = &mut working => return Err(ended.err().map_or_else(|| "it ended by itself".into(), Into::into)),
            told = signals.next() => told,
        };
        let next = match told {
            Told::Stop => {
                notify(&[NotifyState::Stopping]);
                None
            }
            Told::Reload => {
                notify(&reloading());
                match Settings::load(flags) {
                    Ok(new) => {
                        tracing::info!("the configuration was read again");
                        Some(new)
                    }
                    Err(error) => {
                        tracing::error!(%error, "the configuration stays as it was");
                        notify(&[NotifyState::Ready]);
                        continue;
                    }
                }
            }
        };
        stop.cancel();
        working.await?;
        return Ok(next);
    }
}

/// Connects, however long the server is away; `None`: it was told to stop meanwhile. What will not
/// pass by itself is an error.
async fn connect(
    settings: &Settings,
    overview: &Overview,
    stop: &CancellationToken,
) -> leaseq::Result<Option<Client>> {
    loop {
        let error = tokio::select! {
            connected = Client::connect(&settings.url) => match connected {
                Ok(client) => {
                    if overview.well("server") {
                        tracing::info!("server: all is well again");
                    }
                    return Ok(Some(client));
                }
                Err(error) => error,
            },
            () = stop.cancelled() => return Ok(None),
        };
        if !may_pass(&error) {
            return Err(error);
        }
        let known = overview.in_trouble("server");
        if overview.trouble("server", &error.to_string(), true) && !known {
            tracing::error!(%error, "server");
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = stop.cancelled() => return Ok(None),
        }
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
