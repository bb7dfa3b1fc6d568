//! The demand: a series of intervals.

use crate::error::DemandError;
use loadline_record::{BYTES_PER_S_MAX, REQUESTS_PER_S_MAX, SecondLimit, SourceLimit};
use serde::Serialize;

/// The longest interval and the longest latency, s: a year.
const LONGEST_S: f64 = 366.0 * 86_400.0;
/// The highest share of time that is printed, of several devices together.
const BUSY_MAX: f64 = 1_000.0;

/// What was asked of storage over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Demand {
    /// Where it is from: "iostat", "a stored run".
    pub source: String,
    /// The devices that it adds up.
    pub devices: Vec<String>,
    /// In the order of time.
    pub intervals: Vec<DemandInterval>,
    /// What the reader had to assume or leave out, one sentence each.
    pub notes: Vec<String>,
}

/// The mean rates of one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DemandInterval {
    /// Its length in seconds: rates are means over it.
    pub length_s: f64,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub write_bytes_per_s: f64,
    /// Requests in flight on average; `None` if the source does not say.
    pub in_flight: Option<f64>,
    /// Mean latency, ns; `None` if the source does not say, or nothing was asked.
    pub latency_ns: Option<f64>,
    /// Why the source could not do more; `None` if nothing says so.
    pub at_limit: Option<AtLimit>,
    /// The share of it for which that was so; `None`: all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_part: Option<f64>,
    /// The share of it in which at least one request was in flight; `None` if the source does not say.
    #[serde(skip)]
    pub busy: Option<f64>,
    /// What its rates come to with the mean sizes that the source prints beside them, bytes per second; `None` if it prints none.
    #[serde(skip)]
    pub sized_bytes_per_s: Option<f64>,
}

/// Why an interval's rates are only a lower bound of the demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AtLimit {
    /// A counter of the provider says that a limit was reached.
    Reported,
    /// A control group asked for all that a throttle of the kernel allows.
    Throttled,
    /// The kernel's queue of the device was full.
    Queue,
    /// The CPU quota of the application ran out.
    Quota,
    /// A memory limit left the application's page cache too little.
    Memory,
    /// Many intervals have the same highest rate, and requests queue in them.
    LevelRequests,
    /// The same for bytes per second.
    LevelBytes,
    /// The queue was never empty: the application always waits for the storage.
    AlwaysQueued,
    /// Most intervals have the same highest rate, and nothing queues at the device: a limit before it, or an application that asks
    /// the same at all times.
    LevelBeforeDevice,
}

impl From<SecondLimit> for AtLimit {
    fn from(limit: SecondLimit) -> Self {
        match limit {
            SecondLimit::Throttle(_) => Self::Throttled,
            SecondLimit::Exceeded => Self::Reported,
            SecondLimit::Queue => Self::Queue,
            SecondLimit::Quota(_) => Self::Quota,
            SecondLimit::Memory(_) => Self::Memory,
        }
    }
}

impl From<&SourceLimit> for AtLimit {
    fn from(limit: &SourceLimit) -> Self {
        match limit {
            SourceLimit::Throttle { .. } => Self::Throttled,
            SourceLimit::Exceeded { .. } => Self::Reported,
            SourceLimit::Queue { .. } => Self::Queue,
            SourceLimit::Quota { .. } => Self::Quota,
            SourceLimit::Memory { .. } => Self::Memory,
        }
    }
}

impl DemandInterval {
    /// Reads and writes per second.
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }
    /// Bytes per second, read and written.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s + self.write_bytes_per_s
    }
    /// The share of it in which the source could not do more.
    #[must_use]
    pub fn limited_share(&self) -> f64 {
        self.at_limit.map_or(0.0, |_| self.limited_part.unwrap_or(1.0))
    }
    /// The mean size of a read; `None` without reads or bytes.
    #[must_use]
    pub fn read_size(&self) -> Option<f64> {
        mean(self.read_bytes_per_s, self.reads_per_s)
    }
    /// The mean size of a write; `None` without writes or bytes.
    #[must_use]
    pub fn write_size(&self) -> Option<f64> {
        mean(self.write_bytes_per_s, self.writes_per_s)
    }

    /// A figure that no storage has, with its unit: a counter that ran over, or a fault of the file.
    pub(crate) fn impossible(&self) -> Option<(f64, &'static str)> {
        let figures = [
            (Some(self.reads_per_s), REQUESTS_PER_S_MAX, "reads/s"),
            (Some(self.writes_per_s), REQUESTS_PER_S_MAX, "writes/s"),
            (Some(self.read_bytes_per_s), BYTES_PER_S_MAX, "B/s read"),
            (Some(self.write_bytes_per_s), BYTES_PER_S_MAX, "B/s written"),
            (self.in_flight, REQUESTS_PER_S_MAX, "requests in flight"),
            (self.latency_ns, LONGEST_S * 1e9, "ns of latency"),
            (self.busy, BUSY_MAX, "of its time in use"),
        ];
        let wrong = |(figure, most, unit): (Option<f64>, f64, &'static str)| {
            figure.filter(|figure| !(0.0..=most).contains(figure)).map(|figure| (figure, unit))
        };
        figures.into_iter().find_map(wrong)
    }
    /// The same, its length included.
    fn impossible_at_all(&self) -> Option<(f64, &'static str)> {
        let is_long = self.length_s > 0.0 && self.length_s <= LONGEST_S;
        if is_long { self.impossible() } else { Some((self.length_s, "s of length")) }
    }

    /// The sum with another device's interval of the same time. In flight adds up; latency is the mean over requests.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let latency = match (self.latency_ns, other.latency_ns) {
            (Some(one), Some(two)) => {
                let (a, b) = (self.requests_per_s(), other.requests_per_s());
                if a + b > 0.0 { Some((one * a + two * b) / (a + b)) } else { Some(one.max(two)) }
            }
            (one, two) => one.or(two),
        };
        let in_flight = match (self.in_flight, other.in_flight) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        let both =
            |own: Option<f64>, other: Option<f64>, of: fn(f64, f64) -> f64| own.zip(other).map(|(a, b)| of(a, b));
        Self {
            length_s: self.length_s.max(other.length_s),
            reads_per_s: self.reads_per_s + other.reads_per_s,
            writes_per_s: self.writes_per_s + other.writes_per_s,
            read_bytes_per_s: self.read_bytes_per_s + other.read_bytes_per_s,
            write_bytes_per_s: self.write_bytes_per_s + other.write_bytes_per_s,
            in_flight,
            latency_ns: latency,
            at_limit: self.at_limit.or(other.at_limit),
            limited_part: Some(self.limited_share().max(other.limited_share())),
            // The one that is busier: how their times overlap is not known.
            busy: both(self.busy, other.busy, f64::max),
            sized_bytes_per_s: both(self.sized_bytes_per_s, other.sized_bytes_per_s, |a, b| a + b),
        }
    }
}

fn mean(bytes: f64, count: f64) -> Option<f64> {
    (bytes > 0.0 && count > 0.0).then(|| bytes / count)
}

impl Demand {
    /// Leaves out the intervals that have a figure which no storage has, with a note of the first.
    ///
    /// # Errors
    /// No other is left.
    pub(crate) fn leave_out_impossible(&mut self, source_name: &str) -> Result<(), DemandError> {
        let first =
            self.intervals.iter().enumerate().find_map(|(place, one)| Some((place + 1, one.impossible_at_all()?)));
        let Some((place, (figure, unit))) = first else { return Ok(()) };
        let all = self.intervals.len();
        self.intervals.retain(|one| one.impossible_at_all().is_none());
        let left_out = all - self.intervals.len();
        let what = format!("interval {place} of {all} has {figure:.3e} {unit}, which cannot be");
        if self.intervals.is_empty() {
            let source_name = source_name.to_owned();
            return Err(DemandError::Impossible { source_name, what });
        }
        self.notes.push(match left_out {
            1 => format!("{what}: it is left out"),
            2 => format!("{what}: it is left out, and so is another like it"),
            several => format!("{what}: it is left out, and so are {} others like it", several - 1),
        });
        Ok(())
    }
    /// The time that it covers, in seconds.
    #[must_use]
    pub fn length_s(&self) -> f64 {
        self.intervals.iter().map(|interval| interval.length_s).sum()
    }
    /// The share of its time in which the source could not do more.
    #[must_use]
    pub fn limited_share(&self) -> f64 {
        let limited: f64 = self.intervals.iter().map(|one| one.limited_share() * one.length_s).sum();
        let all = self.length_s();
        if all > 0.0 { limited / all } else { 0.0 }
    }
    /// The most frequent reason for which the source could not do more, by time.
    #[must_use]
    pub fn limited_by(&self) -> Option<AtLimit> {
        let all = [
            AtLimit::Reported,
            AtLimit::Throttled,
            AtLimit::Queue,
            AtLimit::Quota,
            AtLimit::Memory,
            AtLimit::LevelRequests,
            AtLimit::LevelBytes,
            AtLimit::AlwaysQueued,
            AtLimit::LevelBeforeDevice,
        ];
        let time = |reason: &AtLimit| -> f64 {
            let own = self.intervals.iter().filter(|one| one.at_limit == Some(*reason));
            own.map(|one| one.limited_share() * one.length_s).sum()
        };
        all.into_iter().filter(|reason| time(reason) > 0.0).max_by(|a, b| time(a).total_cmp(&time(b)))
    }
}
