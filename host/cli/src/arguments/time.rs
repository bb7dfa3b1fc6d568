//! The options for a part of what was watched.

use clap::Args;
use loadline_runs::watch::TypedRange;
use loadline_units::TypedTime;

/// From when to when.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct TimeArguments {
    /// Only what was watched from then on, in UTC: 03:10 (the latest that was watched), or "2026-11-28 03:10". Of a recorder, its hours
    /// that hold it
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<TypedTime>,
    /// Only what was watched before then
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<TypedTime>,
}

impl TimeArguments {
    /// What was typed; `None`: nothing.
    pub(crate) fn range(self) -> Option<TypedRange> {
        let Self { since, until } = self;
        (since.is_some() || until.is_some()).then_some(TypedRange { since, until })
    }
}
