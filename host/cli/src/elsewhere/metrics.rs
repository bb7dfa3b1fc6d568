//! `--metrics`: counters for Prometheus, which Linux serves.

use crate::arguments::MetricsArguments;
use crate::failure::Usage;
use loadline_exported::Dialect;
use std::convert::Infallible;
use std::marker::PhantomData;

/// A page of counters: none.
pub(crate) struct MetricsPage<T>(Infallible, PhantomData<T>);

impl MetricsArguments {
    /// Refuses the page that was asked for.
    ///
    /// # Errors
    /// One was asked for.
    pub(crate) fn page<T>(&self, _: T, _: fn(&T, Dialect) -> String) -> anyhow::Result<Option<MetricsPage<T>>> {
        if self.metrics.is_some() {
            let why =
                "--metrics serves counters on Linux alone: leave it out, or export a stored run with --as openmetrics";
            return Err(Usage(why.to_owned()).into());
        }
        Ok(None)
    }
}

impl<T> MetricsPage<T> {
    pub(crate) fn url(&self) -> String {
        match self.0 {}
    }

    pub(crate) fn change(&self, _: impl FnOnce(&mut T)) {
        match self.0 {}
    }
}
