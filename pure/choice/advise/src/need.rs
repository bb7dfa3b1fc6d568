//! The need: what storage must do, in numbers or as a recorded demand, and what else a choice must keep to.

use loadline_catalog::Architecture;
use loadline_demand::Demand;
use loadline_emulation::Trace;
use loadline_units::{Bytes, Duration, Growth, Ratio};
use loadline_workload::{LatencyFigure, Objective};
use std::sync::Arc;

/// The share of scenarios in which an advised choice meets the need, by default.
pub const SURE_DEFAULT: Ratio = Ratio::percent(95);
/// The share of time in which a recorded demand is to be met, by default.
pub const TIME_MET_DEFAULT: Ratio = Ratio::percent(100);
/// The system's disk, by default: what images of Linux need at most.
pub const OS_DISK_DEFAULT: Bytes = Bytes::gib(32);
/// Disks of a volume at most, by default.
pub const DISKS_DEFAULT: u32 = 32;

/// In the place of a region: every one that there are prices of.
pub const EVERY_REGION: &str = "all";

/// What storage must do.
#[derive(Debug, Clone, PartialEq)]
pub struct Need {
    /// For people.
    pub name: String,
    /// What is asked.
    pub asked: Asked,
    /// The recorded requests themselves, if there is a trace: the rows say what these would meet.
    pub trace: Option<Arc<Trace>>,
    /// Whether requests follow one another on the volume.
    pub sequential: bool,
    /// The latency to keep; `None`: any.
    pub objective: Option<Objective>,
    /// Whether the trace's requests are to come at least as fast as they did, each after the answer that it waited for.
    pub keeps_pace: bool,
    /// The bytes that it must hold.
    pub size: Bytes,
    /// How much more it is to be at the end: of requests and of bytes alike.
    pub growth: Growth,
    /// The bytes that nearly all reads fall on, for the host's cache; `None`: not known, and then no cache is looked at.
    pub hot: Option<Bytes>,
    /// What a choice must keep to.
    pub wanted: Wanted,
    /// The share of scenarios in which it must meet the need.
    pub sure: Ratio,
    /// The share of a recorded time in which it must be met.
    pub time_met: Ratio,
}

/// What is asked of storage.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The same at all times.
    Steady(Rates),
    /// A recorded time.
    Recorded(Demand),
}

/// Rates of reads and writes, with their sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes of a read.
    pub read_size: f64,
    /// Bytes of a write.
    pub write_size: f64,
}

/// What a choice must keep to.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Providers to look at; empty for all.
    pub providers: Vec<String>,
    /// Where prices are from, in any writing, or [`EVERY_REGION`]; empty: for each provider the region with most prices.
    pub regions: Vec<String>,
    /// Of which architecture machines must be; `None` for any.
    pub architecture: Option<Architecture>,
    /// Processors at least.
    pub vcpus: Option<u32>,
    /// Memory at least. Machines without a known memory are left out then.
    pub memory: Option<Bytes>,
    /// Parts of machines' names, of which one must be there; empty for any.
    pub machines: Vec<String>,
    /// Parts of disks' names, of which one must be there; empty for any.
    pub disks: Vec<String>,
    /// Disks at most.
    pub disks_max: u32,
    /// The system's disk; `None`: not to be bought.
    pub os_disk: Option<Bytes>,
    /// Whether machines whose processors run on credits may be advised.
    pub cpu_credits: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self {
            providers: Vec::new(),
            regions: Vec::new(),
            architecture: None,
            vcpus: None,
            memory: None,
            machines: Vec::new(),
            disks: Vec::new(),
            disks_max: DISKS_DEFAULT,
            os_disk: Some(OS_DISK_DEFAULT),
            cpu_credits: true,
        }
    }
}

impl Rates {
    /// Reads and writes per second.
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }
    /// Bytes per second.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.reads_per_s * self.read_size + self.writes_per_s * self.write_size
    }
    /// The share of reads.
    #[must_use]
    pub fn read_share(&self) -> f64 {
        let all = self.requests_per_s();
        if all > 0.0 { self.reads_per_s / all } else { 0.0 }
    }
    /// The mean size of a request.
    #[must_use]
    pub fn size(&self) -> f64 {
        let all = self.requests_per_s();
        if all > 0.0 { self.bytes_per_s() / all } else { 0.0 }
    }
    /// So many times the requests.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self { reads_per_s: self.reads_per_s * factor, writes_per_s: self.writes_per_s * factor, ..*self }
    }
}

impl Need {
    /// A steady need in numbers; everything else as by default.
    #[must_use]
    pub fn steady(name: &str, rates: Rates, size: Bytes) -> Self {
        Self {
            name: name.to_owned(),
            asked: Asked::Steady(rates),
            trace: None,
            sequential: false,
            objective: None,
            size,
            growth: Growth::ZERO,
            hot: None,
            wanted: Wanted::default(),
            sure: SURE_DEFAULT,
            keeps_pace: false,
            time_met: TIME_MET_DEFAULT,
        }
    }

    /// The bytes that it must hold at the end.
    #[must_use]
    pub fn size_in_the_end(&self) -> Bytes {
        Bytes::new(self.size.get().saturating_add(self.growth.of(self.size.get())))
    }

    /// The factor of growth.
    #[must_use]
    pub fn growth_factor(&self) -> f64 {
        1.0 + self.growth.as_f64()
    }

    /// The latency to keep in words: "p99 of 10 ms".
    #[must_use]
    pub fn objective_text(&self) -> Option<String> {
        self.objective.map(objective_words)
    }

    /// The latency to keep, ns.
    #[must_use]
    pub fn objective_ns(&self) -> Option<u64> {
        self.objective.map(|found| Duration::as_ns(found.limit))
    }
}

/// A latency to keep in words: "p99 of 10 ms".
#[must_use]
pub fn objective_words(objective: Objective) -> String {
    match objective.of {
        LatencyFigure::Mean => format!("a mean of {}", limit_words(objective.limit)),
        other => format!("{} of {}", other.words(), limit_words(objective.limit)),
    }
}

/// A latency as it was typed, in the unit that suits it: "10 ms", "1.95 ms".
#[must_use]
pub fn limit_words(limit: Duration) -> String {
    let exact = limit.to_string();
    let value = exact.split(' ').next().and_then(|number| number.parse::<u64>().ok());
    if value.is_some_and(|value| value >= 1_000) { limit.human() } else { exact }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_printed_in_the_unit_that_suits_it() {
        let words = |us: u64| limit_words(Duration::from_us(us));
        assert_eq!([words(10_000), words(1_950), words(500)], ["10 ms", "1.95 ms", "500 us"]);
    }
}
