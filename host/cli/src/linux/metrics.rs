//! `--metrics`: counters for Prometheus, over HTTP to this machine alone.

use crate::arguments::MetricsArguments;
use crate::failure::Usage;
use loadline_exported::Dialect;
use loadline_http::{ListenError, Page, Server};
use std::net::ToSocketAddrs as _;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the page is, and it is all that there is.
const PATHS: [&str; 2] = ["/metrics", "/"];

impl MetricsArguments {
    /// The page of these counters, where one was asked for.
    ///
    /// # Errors
    /// The address cannot be served.
    pub(crate) fn page<T: Send + 'static>(
        &self,
        counters: T,
        text: fn(&T, Dialect) -> String,
    ) -> anyhow::Result<Option<MetricsPage<T>>> {
        self.metrics.as_deref().map(|typed| MetricsPage::open(typed, counters, text)).transpose()
    }
}

/// A page of counters that others read while they change.
pub(crate) struct MetricsPage<T> {
    counters: Arc<Mutex<T>>,
    server: Server,
}

impl<T: Send + 'static> MetricsPage<T> {
    /// Serves counters at the address that was typed; `text` makes the page of them.
    fn open(typed: &str, counters: T, text: fn(&T, Dialect) -> String) -> anyhow::Result<Self> {
        let usage = |why: String| Usage(format!("--metrics {typed}: {why}"));
        let mut found = typed
            .to_socket_addrs()
            .map_err(|error| usage(format!("{error}; write an address with its port, such as 127.0.0.1:9100")))?;
        let address = found.next().ok_or_else(|| usage("it names no address".to_owned()))?;
        let counters = Arc::new(Mutex::new(counters));
        let shown = Arc::clone(&counters);
        let server = Server::listen(address, move |request| {
            let dialect = Dialect::accepted(&request.accept);
            let body = || text(&shown.lock().unwrap_or_else(PoisonError::into_inner), dialect);
            PATHS.contains(&&*request.path).then(|| Page { kind: dialect.content_type(), body: body() })
        });
        let server = server.map_err(|error| match error {
            ListenError::NotLoopback(_) => usage(error.to_string()).into(),
            error @ ListenError::System { .. } => anyhow::Error::new(error).context("--metrics"),
        })?;
        Ok(Self { counters, server })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.server.address(), PATHS[0])
    }

    /// Changes the counters.
    pub(crate) fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
