//! A load in a few words, as tables and reports have it.

use crate::spec::{Arrival, Distribution, FlushCadence, FlushMethod, LoadSpec, Pattern, Walk};
use loadline_units::{Duration, Ratio};

/// Sizes of a mix that a label names one by one.
const SIZES_NAMED_MAX: usize = 12;

impl LoadSpec {
    /// The load's name in its plan, if it has one, before what it does.
    #[must_use]
    pub fn label(&self) -> String {
        self.name.as_ref().map_or_else(|| self.to_string(), |name| format!("{name}: {self}"))
    }
}

impl std::fmt::Display for LoadSpec {
    /// For people: "random read 4 KiB, depth 32".
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pattern = match &self.pattern {
            Pattern::Random(Distribution::Uniform) => "random".to_owned(),
            Pattern::Random(Distribution::Permutation) => "random (each block once)".to_owned(),
            Pattern::Random(Distribution::Covering) => "random (each byte once)".to_owned(),
            Pattern::Random(Distribution::Zipf { theta_milli }) => {
                format!("random (zipf {})", f64::from(*theta_milli) / 1e3)
            }
            Pattern::Random(Distribution::HotCold { requests, blocks }) => format!("random ({requests} to {blocks})"),
            Pattern::Random(Distribution::Pareto { h_milli }) => {
                format!("random (pareto {})", f64::from(*h_milli) / 1e3)
            }
            Pattern::Random(Distribution::Normal { deviation }) => format!("random (normal {deviation})"),
            Pattern::Random(Distribution::Zoned { zones }) => {
                let zones: Vec<String> =
                    zones.iter().map(|zone| format!("{} to {}", zone.requests, zone.blocks)).collect();
                format!("random (zones {})", zones.join(", "))
            }
            Pattern::Sequential { stride: None } => "sequential".to_owned(),
            Pattern::Sequential { stride: Some(stride) } => match self.walk {
                Walk::Onward => format!("sequential (stride {stride})"),
                Walk::Again => format!("sequential (stride {stride}, the same blocks again)"),
                Walk::Back => format!("backward sequential (stride {stride})"),
            },
        };
        let what = match (self.trims, self.reads) {
            (Ratio::ONE, _) => "trim".to_owned(),
            (_, Ratio::ONE) => "read".to_owned(),
            (_, Ratio::ZERO) => "write".to_owned(),
            (_, reads) => format!("{reads} read"),
        };
        let sizes: Vec<String> = self.blocks.iter().map(|b| b.size.to_string()).collect();
        match sizes.as_slice() {
            [first, .., last] if sizes.len() > SIZES_NAMED_MAX => write!(f, "{pattern} {what} {first} to {last}")?,
            sizes => write!(f, "{pattern} {what} {}", sizes.join(" + "))?,
        }
        match &self.arrival {
            Arrival::Closed { queue_depth, rate_max, think_time } => {
                write!(f, ", depth {queue_depth}")?;
                if self.threads > 1 {
                    let over = if self.overlap { " over the same blocks" } else { "" };
                    write!(f, " x {} threads{over}", self.threads)?;
                }
                if let Some(rate) = rate_max {
                    write!(f, ", at most {rate}")?;
                }
                if *think_time != Duration::ZERO {
                    write!(f, ", think {think_time}")?;
                }
            }
            Arrival::Constant { rate } => write!(f, ", {rate} constant")?,
            Arrival::Poisson { rate } => write!(f, ", {rate} Poisson")?,
        }
        // Rates are those of all threads together.
        if self.threads > 1 && !matches!(self.arrival, Arrival::Closed { .. }) {
            write!(f, " over {} threads", self.threads)?;
        }
        if self.files > 1 {
            let turns = if self.in_turn.is_some() { " in turn" } else { "" };
            write!(f, ", {} files{turns}", self.files)?;
        }
        if self.continued != Ratio::ZERO {
            write!(f, ", {} going on from the last", self.continued)?;
        }
        if let Some(zones) = self.zones {
            write!(f, ", zones of {} and gaps of {}", zones.size, zones.skip)?;
        }
        if let Some(staggered) = self.staggered {
            write!(f, ", {} apart", staggered.step)?;
        }
        if let Some(share) = self.size_share {
            write!(f, ", over {share} of the target")?;
        }
        match self.flush {
            Some(FlushCadence { every, how: FlushMethod::Fdatasync }) => write!(f, ", fdatasync every {every}")?,
            Some(FlushCadence { every, how: FlushMethod::Fua }) => write!(f, ", FUA every {every}")?,
            None => {}
        }
        if self.end_flush {
            write!(f, ", flushed at the end")?;
        }
        if self.trims != Ratio::ZERO && self.trims != Ratio::ONE {
            write!(f, ", {} trim", self.trims)?;
        }
        if self.buffered {
            write!(f, ", buffered")?;
        }
        Ok(())
    }
}
