//! Every limit that a run knows: those that its environment declares, and those that its figures show, with intervals.

use super::caps::{Caps, Seen, caps, explains, latency_ns, request_bytes, waits};
use super::direction::{Direction, one_direction};
use super::passed::Of;
use super::seen_cells::SeenCells;
use super::{Course, Fall, courses};
use crate::clusters::{Clusters, clusters};
use crate::curves::{curves, doubted, outstanding, paced, sound};
use crate::statistics::{Interval, NORMAL_95, mean, mean_over_trials, median};
use crate::summarize::summarize;
use crate::summary::CellSummary;
use crate::words::load_name;
use loadline_record::{
    Ceiling, Clock, DoubtCode, Limit, LimitSource, LoadsShown, RunRecord, ThrottledQuantity, ThrottledRequests,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a figure of a limit measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Requests per second.
    RequestsPerS,
    /// Bytes per second.
    BytesPerS,
    /// The size of requests from which on bytes rather than requests bind.
    BreakPointBytes,
    /// What a request takes where nothing waits, ns.
    LatencyNs,
    /// Length of the window over which requests are counted, ns.
    WindowNs,
    /// Requests per second while a burst lasts.
    BurstRequestsPerS,
    /// How long the load lasted when the burst was spent, ns.
    BurstNs,
}

/// One figure of a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitFigure {
    /// The volume.
    pub volume: String,
    /// The loads for which it holds: "random reads".
    pub loads: String,
    /// Their share of reads.
    pub read_ratio: f64,
    /// Its name.
    pub limit: Limit,
    /// What the value is.
    pub quantity: Quantity,
    /// The value in that unit.
    pub value: f64,
    /// Lower end of its 95 % interval; `null` where there is too little to tell.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether it follows from the data rather than from an environment.
    pub inferred: bool,
    /// Whether the data tell requests from bytes; otherwise the kind is what is usual for disks as they are sold.
    pub told: bool,
    /// Where it comes from.
    pub source: LimitSource,
    /// Ids of the cells that show it.
    pub cells: Vec<String>,
}

impl LimitFigure {
    /// One that was told, not inferred, as the loads of `cell` have it.
    pub(super) fn told(
        cell: &CellSummary,
        limit: Limit,
        (quantity, value): (Quantity, f64),
        source: LimitSource,
        cells: Vec<String>,
    ) -> Self {
        Self {
            volume: cell.volume.clone(),
            loads: cell.label.clone(),
            read_ratio: cell.load.read_ratio,
            limit,
            quantity,
            value,
            low: None,
            high: None,
            inferred: false,
            told: true,
            source,
            cells,
        }
    }
}

/// What a run knows of its limits: of a prediction those of the model, which are known and not inferred; else as [`limits`].
#[must_use]
pub fn known_limits(record: &RunRecord) -> Vec<LimitFigure> {
    let with_model = || record.cells.iter().flat_map(|cell| &cell.trials).any(|trial| trial.model.is_some());
    let cells = summarize(record).cells;
    if record.header.clock == Clock::Real && !with_model() {
        return with_throttles(limits_shown(record, &cells), &cells);
    }
    super::of_model::limits(&cells)
}

/// The same with the kernel's throttles that loads ran into. What those loads show is the throttle, and no limit besides.
fn with_throttles(figures: Vec<LimitFigure>, cells: &[CellSummary]) -> Vec<LimitFigure> {
    let mut known: Vec<LimitFigure> = Vec::new();
    for (cell, held) in cells.iter().filter_map(|cell| Some((cell, cell.held_by.as_ref()?))) {
        let source = LimitSource::Throttle { file: held.limit.file.clone() };
        let (limit, quantity) = match held.limit.counts {
            ThrottledQuantity::Requests => (Limit::DiskIops, Quantity::RequestsPerS),
            ThrottledQuantity::Bytes => (Limit::DiskThroughput, Quantity::BytesPerS),
        };
        let loads = match held.limit.requests {
            ThrottledRequests::Reads => "all reads",
            ThrottledRequests::Writes => "all writes",
        };
        let is_same = |other: &&mut LimitFigure| {
            other.volume == cell.volume && other.source == source && other.loads == loads && other.quantity == quantity
        };
        if let Some(other) = known.iter_mut().find(is_same) {
            other.cells.push(cell.id.clone());
            continue;
        }
        let value = held.limit.per_s as f64 * f64::from(held.devices);
        let figure = LimitFigure::told(cell, limit, (quantity, value), source, vec![cell.id.clone()]);
        known.push(LimitFigure { loads: loads.to_owned(), ..figure });
    }
    let is_held = |id: &String| cells.iter().any(|cell| cell.id == *id && cell.held_by.is_some());
    let shows_a_throttle = |figure: &LimitFigure| {
        let is_rate = matches!(figure.quantity, Quantity::RequestsPerS | Quantity::BytesPerS);
        is_rate && figure.inferred && figure.cells.iter().any(is_held)
    };
    known.extend(figures.into_iter().filter(|figure| !shows_a_throttle(figure)));
    known
}

/// Every limit of the run: the declared ones, then the inferred ones, by volume and kind of load. Of a prediction, too, they are what its
/// figures show, as those of a measurement would.
#[must_use]
pub fn limits(record: &RunRecord) -> Vec<LimitFigure> {
    limits_shown(record, &summarize(record).cells)
}

fn limits_shown(record: &RunRecord, cells: &[CellSummary]) -> Vec<LimitFigure> {
    let clustered: Vec<Option<Clusters>> = record.cells.iter().map(clusters).collect();
    let courses = courses(record, cells);
    let curves = curves(&record.cells, cells);
    let mut seen = super::seen(record, cells, &clustered, &courses, &curves);
    // What the machine or a cache above made of a load says nothing of the disk's limits.
    for (seen, cell) in seen.iter_mut().zip(cells) {
        seen.take_if(|_| cell.binding.as_ref().is_some_and(|bound| is_above_the_disk(bound.limit)));
    }
    let seen = SeenCells::of(cells, seen);
    let directions = (0..cells.len()).map(|index| one_direction(cells, &curves, index)).collect();
    let caps = caps(Of { cells, records: &record.cells, courses: &courses, seen: &seen });
    let all = All { record, cells, clustered: &clustered, courses: &courses, seen: &seen, caps, directions };
    let mut figures = all.declared();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for (index, cell) in cells.iter().enumerate() {
        // An application on a model shows nothing of limits that the model does not know.
        let modelled = record.cells[index].trials.iter().any(|trial| trial.model.is_some());
        let modelled = modelled && record.header.clock == Clock::Real;
        if !modelled && cell.total.is_some() && done.insert(all.seen.of_kind(index)[0]) {
            all.of_kind(index, &mut figures);
        }
    }
    for LimitFigure { value, low, high, .. } in &mut figures {
        // Trials that differ widely make intervals that reach below nothing. The median of several loads may lie outside of the mean of
        // their intervals, and what a load settled at outside of that of its seconds.
        *low = low.map(|low| low.max(0.0).min(*value));
        *high = high.map(|high| high.max(*value));
    }
    figures
}

/// A ceiling of a load as a figure: of those on bytes, bytes per second.
pub(super) fn figure(ceiling: &Ceiling, cell: &CellSummary) -> (Quantity, f64) {
    match ceiling.limit {
        Limit::DiskThroughput | Limit::VmCachedThroughput | Limit::VmUncachedThroughput => {
            (Quantity::BytesPerS, ceiling.iops * request_bytes(cell))
        }
        _ => (Quantity::RequestsPerS, ceiling.iops),
    }
}

/// Whether a load so bound did not come as far as the disk's limits.
const fn is_above_the_disk(limit: Limit) -> bool {
    matches!(limit, Limit::Cpu | Limit::Generator | Limit::Cache)
}

/// "random reads".
pub(super) fn kind_name(cell: &CellSummary) -> String {
    let ratio = cell.load.read_ratio;
    let what = if ratio >= 1.0 {
        "reads".to_owned()
    } else if ratio <= 0.0 {
        "writes".to_owned()
    } else {
        format!("requests, {} reads", crate::words::percent(ratio))
    };
    format!("{} {what}", cell.load.pattern)
}

struct All<'a> {
    record: &'a RunRecord,
    cells: &'a [CellSummary],
    clustered: &'a [Option<Clusters>],
    courses: &'a [Option<Course>],
    seen: &'a SeenCells,
    caps: Vec<Option<Caps>>,
    /// Of mixes: the direction whose limit stops them.
    directions: Vec<Option<Direction>>,
}

impl All<'_> {
    /// Each ceiling once, for the first load that has it.
    fn declared(&self) -> Vec<LimitFigure> {
        let mut figures: Vec<LimitFigure> = Vec::new();
        for (record, cell) in self.record.cells.iter().zip(self.cells) {
            for ceiling in record.ceilings.iter().filter(|c| !matches!(c.limit, Limit::Latency | Limit::Arrival)) {
                let source = LimitSource::Declared { source: ceiling.source.clone() };
                if figures.iter().any(|f| f.volume == cell.volume && f.source == source) {
                    continue;
                }
                let (quantity, value) = figure(ceiling, cell);
                let of = vec![cell.id.clone()];
                figures.push(LimitFigure::told(cell, ceiling.limit, (quantity, value), source, of));
            }
        }
        figures
    }

    /// The limits of the loads that are like cell `first`.
    fn of_kind(&self, first: usize, figures: &mut Vec<LimitFigure>) {
        let cells = self.cells;
        let usable = |i: &usize| {
            sound(&cells[*i])
                && !paced(&cells[*i])
                && !doubted(&cells[*i], DoubtCode::Buffered)
                && self.seen[*i].is_some()
        };
        let kind: Vec<usize> = self.seen.of_kind(first).iter().copied().filter(usable).collect();
        let base = LimitFigure {
            volume: cells[first].volume.clone(),
            loads: kind_name(&cells[first]),
            read_ratio: cells[first].load.read_ratio,
            limit: Limit::Latency,
            quantity: Quantity::LatencyNs,
            value: 0.0,
            low: None,
            high: None,
            inferred: true,
            told: true,
            source: LimitSource::MeanOf { load: cells[first].label.clone() },
            cells: Vec::new(),
        };
        self.own_time(&kind, &base, figures);
        let waiting = kind.iter().copied().find(|i| {
            let bound = cells[*i].binding.as_ref();
            waits(cells, self.seen, *i) || bound.is_some_and(|b| b.limit != Limit::Latency && b.ceiling_iops.is_some())
        });
        if let Some(caps) = waiting.and_then(|i| self.caps[i]) {
            self.rates(&kind, caps, &base, figures);
        }
        self.bursts(&kind, &base, figures);
        self.windows(&kind, &base, figures);
    }

    /// What single requests take.
    fn own_time(&self, kind: &[usize], base: &LimitFigure, figures: &mut Vec<LimitFigure>) {
        let least = kind.iter().filter_map(|i| outstanding(&self.cells[*i])).min();
        // Where those wait already, what deeper queues take is no time of the device either.
        let free = kind.iter().filter(|i| outstanding(&self.cells[**i]) == least && !waits(self.cells, self.seen, **i));
        let shallowest = free.min_by_key(|i| self.cells[**i].load.block_bytes);
        let Some((index, value)) = shallowest.and_then(|i| Some((*i, latency_ns(&self.cells[*i])?))) else {
            return;
        };
        let cell = &self.cells[index];
        let of_one = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().find_map(|of| of.latency_interval_ns);
        let interval = of_one.and_then(|of| of.mean_low.zip(of.mean_high)).or_else(|| {
            // A closed loop takes what is outstanding over its rate: as well as the one is known, the other is.
            let Seen { sustained, interval, .. } = self.seen[index].as_ref()?;
            let rate = interval.filter(|of| of.low > 0.0)?;
            Some((value * sustained / rate.high, value * sustained / rate.low))
        });
        figures.push(LimitFigure {
            value,
            low: interval.map(|of| of.0),
            high: interval.map(|of| of.1),
            source: LimitSource::MeanOf { load: cell.label.clone() },
            cells: vec![cell.id.clone()],
            ..base.clone()
        });
    }

    fn rates(&self, kind: &[usize], caps: Caps, base: &LimitFigure, figures: &mut Vec<LimitFigure>) {
        let begun = figures.len();
        let limits = [(Limit::DiskIops, caps.iops), (Limit::DiskThroughput, caps.bytes_per_s)];
        for (limit, value) in limits {
            let Some(value) = value else { continue };
            let is_bytes = limit == Limit::DiskThroughput;
            let scale = |i: usize| if is_bytes { request_bytes(&self.cells[i]) } else { 1.0 };
            let at: Vec<usize> = kind
                .iter()
                .copied()
                .filter(|i| {
                    let rate = self.seen[*i].as_ref().map_or(0.0, |seen| seen.sustained);
                    let binds = caps.of(request_bytes(&self.cells[*i])).is_some_and(|(of, _)| of == limit);
                    binds && explains(rate, value / scale(*i), false)
                })
                .collect();
            let intervals: Vec<Interval> = at
                .iter()
                .filter_map(|i| {
                    let interval = self.seen[*i].as_ref()?.interval?;
                    Some(Interval { low: interval.low * scale(*i), high: interval.high * scale(*i) })
                })
                .collect();
            let rates: Vec<f64> =
                at.iter().filter_map(|i| Some(self.seen[*i].as_ref()?.sustained * scale(*i))).collect();
            // Where no load tells how well its own rate is known, they are taken as trials of one level.
            let of_loads = mean_over_trials(&rates).and_then(|level| level.interval);
            let least = |of: fn(&Interval) -> f64| {
                mean(&intervals.iter().map(of).collect::<Vec<_>>()).or_else(|| Some(of(&of_loads?)))
            };
            let names: Vec<String> = at.iter().map(|i| self.cells[*i].label.clone()).collect();
            let is_interface =
                |i: &usize| self.cells[*i].binding.as_ref().is_some_and(|binding| binding.limit == Limit::Interface);
            let limit = if at.iter().any(is_interface) { Limit::Interface } else { limit };
            figures.push(LimitFigure {
                limit,
                quantity: if is_bytes { Quantity::BytesPerS } else { Quantity::RequestsPerS },
                value: median(&rates).unwrap_or(value),
                low: least(|i| i.low),
                high: least(|i| i.high),
                told: caps.told,
                source: LimitSource::LevelOf {
                    loads: LoadsShown::of(&names),
                    direction: at.iter().find_map(|i| self.directions[*i].as_ref()).map(Direction::alone),
                    presumed: !caps.told,
                },
                cells: at.iter().map(|i| self.cells[*i].id.clone()).collect(),
                ..base.clone()
            });
        }
        if let ([iops, bytes], true) = (&figures[begun..], caps.told) {
            let ends = bytes.low.zip(bytes.high).zip(iops.low.zip(iops.high)).filter(|(_, iops)| iops.0 > 0.0);
            figures.push(LimitFigure {
                limit: Limit::DiskThroughput,
                quantity: Quantity::BreakPointBytes,
                value: bytes.value / iops.value,
                low: ends.map(|(bytes, iops)| bytes.0 / iops.1),
                high: ends.map(|(bytes, iops)| bytes.1 / iops.0),
                source: LimitSource::BreakPoint { bytes_per_s: bytes.value, rate_iops: iops.value },
                ..base.clone()
            });
        }
    }

    /// By the load that went fastest before its burst was spent: others may have asked for less than a burst allows.
    fn bursts(&self, kind: &[usize], base: &LimitFigure, figures: &mut Vec<LimitFigure>) {
        let found = kind.iter().filter_map(|i| Some((*i, self.courses[*i].as_ref()?.fall().filter(Fall::is_burst)?)));
        let fastest = found.max_by(|a, b| a.1.before.total_cmp(&b.1.before));
        let Some((index, fall)) = fastest else { return };
        let cell = &self.cells[index];
        let source = LimitSource::Fell {
            load: load_name(cell),
            block_bytes: cell.load.block_bytes,
            before_iops: fall.before,
            after_iops: fall.after,
        };
        let of = |quantity, value, interval: Option<Interval>| LimitFigure {
            limit: Limit::BurstExhausted,
            quantity,
            value,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            source: source.clone(),
            cells: vec![cell.id.clone()],
            ..base.clone()
        };
        figures.push(of(Quantity::BurstRequestsPerS, fall.before, fall.before_interval));
        figures.push(of(Quantity::BurstNs, fall.at_ns, fall.at_interval_ns));
    }

    /// In a window of length `w` a rate `r` lets `r w` requests through, of which those outstanding waited for it: their share is
    /// `outstanding / (r w)`.
    fn windows(&self, kind: &[usize], base: &LimitFigure, figures: &mut Vec<LimitFigure>) {
        // How many were slow is known as a count of events is, by its square root: windows are more regular than that, never less.
        let lengths: Vec<(usize, f64, f64)> = kind
            .iter()
            .filter_map(|i| {
                let clusters = self.clustered[*i].as_ref()?;
                let rate = self.seen[*i].as_ref()?.sustained;
                let depth = outstanding(&self.cells[*i])? as f64;
                let half = NORMAL_95 / libm::sqrt(clusters.slow as f64);
                Some((*i, depth / (clusters.slow_share * rate) * 1e9, half))
            })
            .collect();
        let all: Vec<f64> = lengths.iter().map(|l| l.1).collect();
        let Some(value) = median(&all) else { return };
        let (least, most) = all.iter().fold((f64::MAX, 0f64), |(least, most), ns| (least.min(*ns), most.max(*ns)));
        let ends = |of: fn(&(usize, f64, f64)) -> f64| mean(&lengths.iter().map(of).collect::<Vec<_>>());
        let (low, high) = (ends(|l| l.1 / (1.0 + l.2)), ends(|l| l.1 * (1.0 + l.2)));
        figures.push(LimitFigure {
            limit: Limit::DiskIops,
            quantity: Quantity::WindowNs,
            value,
            low: low.map(|low| low.min(value)),
            high: high.map(|high| high.max(value)),
            source: LimitSource::Windows { loads: all.len() as u64, least_ns: least, most_ns: most },
            cells: lengths.iter().map(|(i, ..)| self.cells[*i].id.clone()).collect(),
            ..base.clone()
        });
    }
}
