//! A disk with all its figures, in the form of an environment file.

use crate::mechanics::Mechanics;
use loadline_units::{ByteRate, Bytes, Duration, Iops};
use std::fmt::Write as _;

/// An unseen limit is this many times that of the other direction.
const NO_LIMIT: f64 = 1_000.0;

/// Digits of rates that are traded for each other.
const TRADED_DIGITS: f64 = 4.0;

/// The mechanism of limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Holding {
    Smooth,
    /// Depth of the bucket, ns.
    Bucket(f64),
    /// Length of the window, and how far its edges may lie from their places, ns.
    Window {
        length: f64,
        jitter: f64,
    },
}

/// The budget of reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sharing {
    /// One budget of requests, at one price.
    pub(crate) iops: bool,
    /// One budget of bytes, at one price.
    pub(crate) bytes: bool,
    /// With separate figures: one budget with two prices, or two budgets.
    pub(crate) traded: bool,
}

impl Sharing {
    /// A budget each.
    pub(crate) const APART: Self = Self { iops: false, bytes: false, traded: false };

    /// Every way, the plainest first.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let of = |(iops, bytes)| [true, false].map(|traded| Self { iops, bytes, traded });
        let ways = [(true, true), (true, false), (false, true), (false, false)].into_iter().flat_map(of);
        ways.filter(|way| !(way.traded && way.iops && way.bytes))
    }
}

/// How long requests are in service, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Service {
    pub(crate) median: f64,
    pub(crate) p99: f64,
    pub(crate) per_kib: f64,
}

/// One direction.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    pub(crate) iops: Option<f64>,
    pub(crate) bytes_per_s: Option<f64>,
    /// Requests per second during a burst, and the credits of a full bucket.
    pub(crate) burst: Option<(f64, f64)>,
    /// `None` if nothing was measured in this direction.
    pub(crate) service: Option<Service>,
}

/// A figure for reads and one for writes.
type Sides = (Option<f64>, Option<f64>);

/// A disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Disk {
    pub(crate) size_bytes: u64,
    pub(crate) read: Side,
    pub(crate) write: Side,
    pub(crate) holding: Holding,
    /// Limits delay answers instead of requests.
    pub(crate) answers: bool,
    pub(crate) sharing: Sharing,
    /// Requests in service at once.
    pub(crate) places: Option<u32>,
    /// Of a disk that spins.
    pub(crate) mechanics: Option<Mechanics>,
}

/// Rates that are traded for each other are round, so that both prices are whole numbers.
fn rounded(value: f64) -> f64 {
    let step = libm::pow(10.0, (libm::floor(libm::log10(value.max(1.0))) - TRADED_DIGITS + 1.0).max(0.0));
    libm::round(value / step) * step
}

pub(crate) fn duration(ns: f64) -> Duration {
    Duration::from_ns(libm::round(ns.max(0.0)) as u64)
}

impl Disk {
    /// Reads, or writes.
    pub(crate) const fn side(&self, reads: bool) -> &Side {
        if reads { &self.read } else { &self.write }
    }

    fn side_mut(&mut self, reads: bool) -> &mut Side {
        if reads { &mut self.read } else { &mut self.write }
    }

    /// Whether the other one differs in figures alone.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let has = |side: &Side| (side.iops.is_some(), side.bytes_per_s.is_some(), side.burst.is_some());
        let kind = |disk: &Self| (disk.holding, disk.answers, disk.sharing, disk.places);
        let kinds = |disk: &Self| (has(&disk.read), has(&disk.write), disk.mechanics.is_some());
        kind(self) == kind(other) && kinds(self) == kinds(other)
    }

    /// The same with another service of one direction.
    pub(crate) fn with_service(&self, reads: bool, service: Service) -> Self {
        let mut disk = self.clone();
        disk.side_mut(reads).service = Some(service);
        disk
    }

    /// The same without data of one direction: the other one stands for both.
    pub(crate) fn without(&self, reads: bool) -> Self {
        let mut disk = Self { sharing: Sharing { iops: true, bytes: true, traded: false }, ..self.clone() };
        *disk.side_mut(reads) = Side { iops: None, bytes_per_s: None, burst: None, service: None };
        disk
    }

    /// The same with bursts that save less.
    pub(crate) fn with_credits(&self, share: f64) -> Self {
        let of =
            |side: &Side| Side { burst: side.burst.map(|(rate, credits)| (rate, credits * share)), ..side.clone() };
        Self { read: of(&self.read), write: of(&self.write), ..self.clone() }
    }

    /// Whether anything is counted.
    pub(crate) fn limited(&self) -> bool {
        [&self.read, &self.write].into_iter().any(|side| side.iops.is_some() || side.bytes_per_s.is_some())
    }

    /// The text of one disk of volume `name`.
    pub(crate) fn toml(&self, name: &str) -> String {
        let mut text = format!("[[volume.{name}.disks]]\nsize = \"{}\"\n", Bytes::new(self.size_bytes.max(512)));
        if let Some(places) = self.places {
            let _ = writeln!(text, "parallelism = {{ requests = {places} }}");
        }
        let limit = self.limit();
        if !limit.is_empty() {
            let _ = write!(text, "[volume.{name}.disks.limit]\n{limit}");
        }
        for (operation, service) in [("read", self.read.service), ("write", self.write.service)] {
            let Some(service) = service else { continue };
            let median = duration(service.median.max(1.0));
            let _ = writeln!(
                text,
                "[volume.{name}.disks.latency.{operation}]\nmedian = \"{median}\"\np99 = \"{}\"\nper_kib = \"{}\"",
                duration(service.p99).max(median),
                duration(service.per_kib)
            );
        }
        if let Some(mechanics) = self.mechanics {
            text += &mechanics.toml(&format!("volume.{name}.disks"));
        }
        text
    }

    fn limit(&self) -> String {
        let whole = |value: f64| if self.sharing.traded { rounded(value) } else { libm::round(value) } as u64;
        let iops = |value: f64| Iops::per_second(whole(value)).map(|rate| rate.to_string());
        let bytes = |value: f64| ByteRate::per_second(whole(value)).map(|rate| rate.to_string());
        let (mut text, mut is_split) = (String::new(), false);
        let burst = self.read.burst.or(self.write.burst);
        let mut line = |key: &str, is_one: bool, (read, write): Sides, print: &dyn Fn(f64) -> Option<String>| {
            let is_one = is_one || burst.is_some();
            let Some(least) = [read, write].into_iter().flatten().min_by(f64::total_cmp) else { return };
            is_split |= !is_one;
            // An environment gives both directions or none: one without a limit gets one that nothing reaches.
            let of = |side: Option<f64>| print(side.unwrap_or(least * NO_LIMIT)).unwrap_or_default();
            let value = if is_one {
                let both = f64::midpoint(read.unwrap_or(least), write.or(read).unwrap_or(least));
                format!("\"{}\"", print(both).unwrap_or_default())
            } else {
                format!("{{ read = \"{}\", write = \"{}\" }}", of(read), of(write))
            };
            let _ = writeln!(text, "{key} = {value}");
        };
        line("iops", self.sharing.iops, (self.read.iops, self.write.iops), &iops);
        line("throughput", self.sharing.bytes, (self.read.bytes_per_s, self.write.bytes_per_s), &bytes);
        if text.is_empty() {
            return text;
        }
        if let Some((rate, credits)) = burst {
            let rate = iops(rate).unwrap_or_default();
            let _ = writeln!(text, "burst = {{ iops = \"{rate}\", iops_credits = {} }}", libm::round(credits) as u64);
        }
        if self.sharing.traded && is_split {
            text += "reads_and_writes = \"traded\"\n";
        }
        if self.answers {
            text += "holds = \"answers\"\n";
        }
        let _ = match self.holding {
            Holding::Smooth => writeln!(text, "enforcement = \"smooth\""),
            Holding::Bucket(depth) => writeln!(text, "enforcement = {{ bucket = \"{}\" }}", duration(depth)),
            Holding::Window { length, jitter } => {
                let jitter = if jitter > 0.0 { format!(", jitter = \"{}\"", duration(jitter)) } else { String::new() };
                writeln!(text, "enforcement = {{ window = \"{}\"{jitter} }}", duration(length))
            }
        };
        text
    }
}
