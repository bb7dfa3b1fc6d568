//! The options of `merge`.

use super::Printing;
use clap::Args;
use loadline_units::Duration;
use std::path::PathBuf;
use std::str::FromStr;

/// `merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Runs of the same plan that hosts made at the same time: ids, names, a file of `export --as record` (.json), or a store (.db)
    /// whose last run it is. A host has its own name unless one stands before the run
    #[arg(required = true, value_name = "[HOST=]RUN")]
    pub(crate) runs: Vec<String>,
    /// How far the wall clock of a host is ahead of the common time; negative if it is behind
    #[arg(long, value_name = "HOST=TIME", allow_hyphen_values = true)]
    pub(crate) clock_offset: Vec<ClockAhead>,
    /// A file of `loadline clock compare`: clocks of the hosts before and after the runs. May be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) clocks: Vec<PathBuf>,
    /// What to call the run; by default the plan's name with the number of hosts
    #[arg(long, value_parser = super::name, value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) printing: Printing,
}

/// How far a host's clock is ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClockAhead {
    pub(crate) host: String,
    pub(crate) offset_ns: i64,
}

impl FromStr for ClockAhead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || "write HOST=TIME, as in node2=1.5ms or node3=-20us".to_owned();
        let (host, time) = text.rsplit_once('=').ok_or_else(wanted)?;
        let (is_behind, time) = match time.trim().strip_prefix('-') {
            Some(time) => (true, time),
            None => (false, time.trim().trim_start_matches('+')),
        };
        let span = time.parse::<Duration>().map_err(|error| error.to_string())?;
        let ahead = i64::try_from(span.as_ns()).map_err(|_| wanted())?;
        Ok(Self { host: host.to_owned(), offset_ns: if is_behind { -ahead } else { ahead } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_has_a_sign_and_a_unit() {
        let of = |text: &str| text.parse::<ClockAhead>().map(|ahead| (ahead.host, ahead.offset_ns));
        assert_eq!(of("a=1.5 ms"), Ok(("a".to_owned(), 1_500_000)));
        assert_eq!(of("b=-20us"), Ok(("b".to_owned(), -20_000)));
        assert!(of("b").is_err() && of("b=20").is_err());
    }
}
