//! A connection, and which server it is for.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use tokio_util::task::AbortOnDropHandle;

use super::place::Node;

/// A connection, shared by its clones. It closes with the last of them.
#[derive(Clone)]
pub(super) struct Connection {
    requests: MultiplexedConnection,
    _driver: Arc<AbortOnDropHandle<()>>,
}

impl Connection {
    /// `driver` writes the requests and reads the replies.
    pub(super) fn new(
        requests: MultiplexedConnection,
        driver: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        let driver = Arc::new(AbortOnDropHandle::new(tokio::spawn(driver)));
        Connection { requests, _driver: driver }
    }
}

impl Deref for Connection {
    type Target = MultiplexedConnection;

    fn deref(&self) -> &MultiplexedConnection {
        &self.requests
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut MultiplexedConnection {
        &mut self.requests
    }
}

/// Which server to open a connection to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Endpoint {
    /// The one server, or the master that the sentinels name.
    Main,
    /// A node of a cluster.
    Node(Node),
}
