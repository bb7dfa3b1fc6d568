//! What follows from a run's figures, most important first.

mod bursts;
mod doubts;
mod durable;
mod hosts;
mod objective;
mod plateaus;
mod replays;
pub(crate) mod rises;
pub(crate) mod stalls;
mod together;
pub(crate) mod trials;

pub(crate) use durable::{FLUSHES_MIN, flushes};
pub use objective::OBJECTIVE_USUAL;
pub(crate) use objective::overloaded;

use crate::clusters::Clusters;
use crate::compare::scaling_of;
use crate::curves::{Curve, iops, outstanding};
use crate::finding::{
    AloneLatency, CameTo, Finding, FindingCode, FindingSeen, InFlight, LoadAt, MostOf, RateCourse, RiseSeen,
};
use crate::hosts::view::HostsScaling;
use crate::limits::{Direction, one_direction, surpassed};
use crate::summary::{CellSummary, OperationFigures, is_emulated};
use crate::trials::AS_GOOD;
use crate::words::{NOT_THE_BEST, doubts_of_rate, how_much, load_name};
use loadline_record::{Access, Ceiling, CellRecord, Clock, Limit, Rate, RunRecord, RunStatus};

/// So many have a finding each; further ones share one.
const TOLD_ONE_BY_ONE: usize = 6;

/// All findings of a run. On each volume the first three tell what it sustains, what stops it and where the latency objective is
/// lost.
pub(crate) fn findings(
    record: &RunRecord,
    cells: &[CellSummary],
    curves: &[Curve],
    clustered: &[Option<Clusters>],
    hosts_scaling: &[HostsScaling],
) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(trials::verify_failed(record));
    found.extend(hosts::grown(hosts_scaling));
    let directions: Vec<Option<Direction>> =
        (0..cells.len()).map(|index| one_direction(cells, curves, index)).collect();
    let rises: Vec<Option<RiseSeen>> =
        record.cells.iter().zip(cells).map(|(own, cell)| cell.rise(own, record.header.clock)).collect();
    for volume in &record.header.volumes {
        let own: Vec<usize> = (0..cells.len()).filter(|i| cells[*i].volume == volume.name).collect();
        // What a volume can do, loads show that had it for themselves, if there are any.
        let alone: Vec<usize> = own.iter().copied().filter(|i| cells[*i].beside.is_empty()).collect();
        let own = if alone.is_empty() { own } else { alone };
        let view = VolumeView {
            cells,
            own: &own,
            clustered,
            directions: &directions,
            rises: &rises,
            volume: name_among(record, &volume.name),
        };
        if volume.kind == loadline_record::TargetKind::Null {
            found.extend(view.tool_alone());
            continue;
        }
        let curves: Vec<&Curve> =
            curves.iter().filter(|c| c.closed.iter().chain(&c.open).any(|i| own.contains(i))).collect();
        found.extend(trials::levels(&view, record));
        found.extend(rises::told(&view));
        let mut best = view.best_random_iops().into_iter().chain(view.best_throughput());
        let mut plateaus = plateaus::plateaus(&view, &curves).into_iter();
        found.extend(best.next());
        found.extend(plateaus.next().or_else(|| view.bound_by()));
        found.extend(view.declared_surpassed(record));
        found.extend(bursts::ended(&view, record));
        found.extend(objective::objectives(&view, record, &curves));
        found.extend(best);
        found.extend(plateaus);
        found.extend(view.throttled_in_clusters(&curves));
        found.extend(stalls::told(&view, record));
        found.extend(view.latency_alone());
        found.extend(durable::told(&view, record));
        found.extend(trials::trends(&view, record));
    }
    found.extend(hosts::told(cells, hosts_scaling));
    found.extend(together::told(cells));
    found.extend(replays::told(record));
    found.extend(scaling(record));
    found.extend(trials::steady_state(record));
    found.extend(trials::verified(record));
    found.extend(incomplete(record, cells));
    found.extend(doubts::summary(&record.cells, cells));
    found
}

/// Of some cells, by their places, the one with the largest `figure`, or the least demanding of those that come as near to it as
/// trials come to each other; `None` where none has the figure.
#[must_use]
pub fn best_cell(
    cells: &[CellSummary],
    candidates: &[usize],
    figure: fn(&CellSummary) -> Option<f64>,
) -> Option<usize> {
    let figures =
        candidates.iter().filter_map(|i| Some((*i, figure(&cells[*i]).filter(|f| f.is_finite() && *f > 0.0)?)));
    let figures: Vec<(usize, f64)> = figures.collect();
    let most = figures.iter().map(|f| f.1).max_by(f64::total_cmp)?;
    // Of those that come to the same for good, those with the most before.
    let figures: Vec<(usize, f64)> = figures.into_iter().filter(|f| f.1 >= most * AS_GOOD).collect();
    let bursts = |i: usize| cells[i].lasting.as_ref().map_or(0.0, |lasting| lasting.iops_before);
    let burst = figures.iter().map(|f| bursts(f.0)).max_by(f64::total_cmp)?;
    let demand = |i: usize| (outstanding(&cells[i]).unwrap_or(u64::MAX), cells[i].load.block_bytes);
    figures.into_iter().map(|f| f.0).filter(|i| bursts(*i) >= burst * AS_GOOD).min_by_key(|i| demand(*i))
}

/// The cells of one volume.
pub(crate) struct VolumeView<'a> {
    cells: &'a [CellSummary],
    own: &'a [usize],
    /// By cell of the run.
    clustered: &'a [Option<Clusters>],
    /// Of mixes, by cell of the run: the direction whose limit stops them.
    directions: &'a [Option<Direction>],
    /// By cell of the run.
    rises: &'a [Option<RiseSeen>],
    /// Its name, where there are several.
    volume: Option<String>,
}

impl VolumeView<'_> {
    fn finding(&self, code: FindingCode, seen: FindingSeen, cells: &[usize]) -> Finding {
        let mut ids: Vec<String> = Vec::new();
        for id in cells.iter().map(|i| &self.cells[*i].id) {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        Finding { code, volume: self.volume.clone(), seen, cells: ids }
    }

    /// The cell of `among` with the largest `figure`, or the least demanding one of those that come as near to it as trials come
    /// to each other; one with a disqualifying doubt only if there is no other.
    fn best(&self, among: impl Fn(&CellSummary) -> bool, figure: fn(&CellSummary) -> Option<f64>) -> Option<usize> {
        let clean = |i: &usize| !NOT_THE_BEST.iter().any(|code| crate::curves::doubted(&self.cells[*i], *code));
        let all: Vec<usize> = self.own.iter().copied().filter(|i| among(&self.cells[*i])).collect();
        let best_of = |candidates: Vec<usize>| best_cell(self.cells, &candidates, figure);
        best_of(all.iter().copied().filter(|i| clean(i)).collect()).or_else(|| best_of(all))
    }

    /// The best cell of reads alone and of writes alone; of mixes only where there is neither.
    fn best_by_kind(
        &self,
        among: impl Fn(&CellSummary) -> bool,
        figure: fn(&CellSummary) -> Option<f64>,
    ) -> Vec<(usize, f64)> {
        let pure: Vec<usize> = [CellSummary::reads_only, CellSummary::writes_only]
            .into_iter()
            .filter_map(|kind| self.best(|c| among(c) && kind(c), figure))
            .collect();
        // A mix that has more than either alone is the most that there is.
        let of = |i: &usize| figure(&self.cells[*i]).unwrap_or(0.0);
        let most = pure.iter().map(of).fold(0.0, f64::max);
        let all = self.best(&among, figure).filter(|i| !pure.contains(i) && of(i) > most);
        let best: Vec<usize> = pure.into_iter().chain(all).collect();
        best.into_iter().filter_map(|i| Some((i, figure(&self.cells[i])?))).collect()
    }

    fn best_random_iops(&self) -> Option<Finding> {
        let best =
            self.best_by_kind(|c| c.load.pattern == Access::Random && c.flush.is_none(), CellSummary::iops_lasting);
        let course = |i: usize, rate: f64| {
            let fell = bursts::fall(&self.cells[i]);
            fell.or_else(|| self.rises[i].as_ref()?.last(1.0, Rate::Iops))
                .unwrap_or(RateCourse::Even { rate: Rate::Iops(rate) })
        };
        self.most(FindingCode::BestRandomIops, &best, |loads| FindingSeen::MostRequests { loads }, course)
    }

    fn most(
        &self,
        code: FindingCode,
        best: &[(usize, f64)],
        seen: fn(Vec<MostOf>) -> FindingSeen,
        course: impl Fn(usize, f64) -> RateCourse,
    ) -> Option<Finding> {
        let of = |(i, rate): &(usize, f64)| {
            let cell = &self.cells[*i];
            MostOf { load: LoadAt::of(cell), rate: course(*i, *rate), doubts: doubts_of_rate(cell) }
        };
        let cells: Vec<usize> = best.iter().map(|(i, _)| *i).collect();
        (!best.is_empty()).then(|| self.finding(code, seen(best.iter().map(of).collect()), &cells))
    }

    /// What an application came to: nobody looked for the most there is.
    fn came_to(&self) -> Option<Finding> {
        let of_others: Vec<usize> = self.own.iter().copied().filter(|i| self.cells[*i].is_of_others()).collect();
        let came = |i: &usize| {
            let cell = &self.cells[*i];
            let (iops, bytes_per_s) = (cell.iops_lasting()?, cell.throughput_lasting()?);
            Some(CameTo { load: LoadAt::of(cell), iops, bytes_per_s, doubts: doubts_of_rate(cell) })
        };
        let loads: Vec<CameTo> = of_others.iter().filter_map(came).collect();
        (!loads.is_empty())
            .then(|| self.finding(FindingCode::BestThroughput, FindingSeen::OfApplications { loads }, &of_others))
    }

    fn best_throughput(&self) -> Option<Finding> {
        let best = self.best_by_kind(
            |c| !c.is_of_others() && (c.trim.is_none() || c.read.is_some() || c.write.is_some()),
            CellSummary::throughput_lasting,
        );
        if best.is_empty() {
            return self.came_to();
        }
        let course = |i: usize, rate: f64| {
            let cell = &self.cells[i];
            let rose = || self.rises[i].as_ref()?.last(rate / cell.iops_lasting()?, Rate::BytesPerS);
            let even = RateCourse::Even { rate: Rate::BytesPerS(rate) };
            bursts::fall_in_bytes(cell).or_else(rose).unwrap_or(even)
        };
        self.most(FindingCode::BestThroughput, &best, |loads| FindingSeen::MostBytes { loads }, course)
    }

    /// The declared limit that was surpassed by most, with the loads that had more than it. What a cache or the null target answers
    /// passes no limit of the disk.
    fn declared_surpassed(&self, record: &RunRecord) -> Option<Finding> {
        let sound = |cell: &CellSummary| {
            let binding = cell.binding.as_ref().map(|binding| binding.limit);
            crate::curves::sound(cell) && !matches!(binding, Some(Limit::Cache | Limit::Generator))
        };
        let own = self.own.iter().copied().filter(|i| sound(&self.cells[*i]));
        let passed: Vec<(usize, f64, &Ceiling)> = own
            .filter_map(|i| {
                let rate = self.cells[i].iops_lasting()?;
                Some((i, rate, surpassed(&record.cells[i].ceilings, rate)?))
            })
            .collect();
        let share = |(_, rate, ceiling): &(usize, f64, &Ceiling)| rate / ceiling.iops;
        let (i, rate, ceiling) = passed.iter().rev().max_by(|a, b| share(a).total_cmp(&share(b)))?;
        let seen = FindingSeen::DeclaredSurpassed {
            load: LoadAt::of(&self.cells[*i]),
            iops: *rate,
            ceiling: (*ceiling).clone(),
        };
        let cells: Vec<usize> = passed.iter().map(|(i, ..)| *i).collect();
        Some(self.finding(FindingCode::DeclaredSurpassed, seen, &cells))
    }

    /// What bound the best cell; what was seen of that stands in the cell's binding.
    fn bound_by(&self) -> Option<Finding> {
        let random =
            self.best_by_kind(|c| c.load.pattern == Access::Random && c.flush.is_none(), CellSummary::iops_lasting);
        let (i, _) = *random.first().or(self.best_by_kind(|_| true, CellSummary::throughput_lasting).first())?;
        let (cell, binding) = (&self.cells[i], self.cells[i].binding.as_ref()?);
        let seen = FindingSeen::BoundBy { load: LoadAt::of(cell), limit: binding.limit };
        Some(self.finding(FindingCode::BoundBy, seen, &[i]))
    }

    /// The shallowest cell whose requests are let through in bursts, and how many others are like it.
    fn throttled_in_clusters(&self, curves: &[&Curve]) -> Option<Finding> {
        let mut seen: Vec<(usize, &Clusters)> =
            self.own.iter().filter_map(|i| Some((*i, self.clustered[*i].as_ref()?))).collect();
        // A burst and what came after it are two clusters too, one after the other.
        seen.retain(|(i, _)| self.cells[*i].lasting.as_ref().is_none_or(|lasting| lasting.before_ns.is_none()));
        seen.sort_by_key(|(i, _)| (plateaus::importance(&self.cells[*i]), outstanding(&self.cells[*i])));
        let (first, clusters) = *seen.first()?;
        let cells: Vec<usize> = seen.iter().map(|(i, _)| *i).collect();
        // A throttle holds the rate at one level; a cache that answers most requests has the same two clusters and does not.
        let is_level =
            curves.iter().filter_map(|c| c.plateau.as_ref()).any(|p| p.cells.iter().any(|i| cells.contains(i)));
        let load = LoadAt::of(&self.cells[first]);
        let seen = FindingSeen::InClusters { load, clusters: *clusters, is_level, others: cells.len() - 1 };
        Some(self.finding(FindingCode::ThrottledInClusters, seen, &cells))
    }

    /// One request at a time: random if there is any, of the smallest block.
    fn latency_alone(&self) -> Option<Finding> {
        let alone: Vec<usize> = self
            .own
            .iter()
            .copied()
            .filter(|i| outstanding(&self.cells[*i]) == Some(1) && !crate::curves::paced(&self.cells[*i]))
            .filter(|i| self.cells[*i].total.is_some() && self.cells[*i].flush.is_none())
            .filter(|i| self.cells[*i].beside.is_empty())
            .collect();
        let order = |i: &usize| (self.cells[*i].load.pattern != Access::Random, self.cells[*i].load.block_bytes);
        let chosen: Vec<(usize, &OperationFigures)> =
            [(CellSummary::reads_only as fn(&_) -> bool, 0), (CellSummary::writes_only, 1)]
                .into_iter()
                .filter_map(|(kind, which)| {
                    let i = alone.iter().copied().filter(|i| kind(&self.cells[*i])).min_by_key(order)?;
                    let cell = &self.cells[i];
                    Some((i, if which == 0 { cell.read.as_ref()? } else { cell.write.as_ref()? }))
                })
                .collect();
        let alone = |(i, figures): &(usize, &OperationFigures)| AloneLatency {
            load: load_name(&self.cells[*i]),
            mean_ns: figures.latency_ns.mean,
            half_ns: self.half_of(*i, figures),
            p99_ns: figures.latency_ns.p99,
            doubts: doubts_of_rate(&self.cells[*i]),
        };
        let loads: Vec<AloneLatency> = chosen.iter().map(alone).collect();
        let cells: Vec<usize> = chosen.iter().map(|(i, _)| *i).collect();
        (!loads.is_empty()).then(|| self.finding(FindingCode::LatencyAlone, FindingSeen::Alone { loads }, &cells))
    }

    /// The median where the latencies lie in two clusters: their mean is the latency of no request.
    fn half_of(&self, cell: usize, figures: &OperationFigures) -> Option<f64> {
        let clusters = self.clustered[cell].as_ref()?;
        Some(figures.latency_ns.p50.map_or(clusters.median_ns, |p50| p50 as f64))
    }

    fn tool_alone(&self) -> Option<Finding> {
        // What asks for no more says nothing of what the tool can do.
        let asks_for_no_more = |c: &CellSummary| c.binding.as_ref().is_some_and(|b| b.limit == Limit::Arrival);
        let i = self.best(|c| !asks_for_no_more(c), iops)?;
        let seen = FindingSeen::Tool { iops: iops(&self.cells[i])?, label: self.cells[i].label.clone() };
        Some(self.finding(FindingCode::ToolAlone, seen, &[i]))
    }
}

impl CellSummary {
    /// How the rate of a measured cell rose and stayed, its record given; `None` where something else is said of what lasts.
    pub(crate) fn rise(&self, own: &CellRecord, clock: Clock) -> Option<RiseSeen> {
        RiseSeen::of(own, clock).filter(|_| self.lasting.is_none())
    }
    /// Whether it reads alone.
    #[must_use]
    pub fn reads_only(&self) -> bool {
        self.load.read_ratio >= 1.0 && self.trim.is_none() && (self.read.is_some() || self.is_unanswered())
    }
    /// Whether it writes alone.
    #[must_use]
    pub fn writes_only(&self) -> bool {
        self.load.read_ratio <= 0.0 && self.trim.is_none() && (self.write.is_some() || self.is_unanswered())
    }
    /// Whether others made the requests, an application or what was recorded of one.
    pub(crate) fn is_of_others(&self) -> bool {
        self.load.arrival.is_of_others()
    }
    /// Whether all that was completed had been due before the measured time: an overload whose requests have no latency yet.
    fn is_unanswered(&self) -> bool {
        let answered = [&self.read, &self.write, &self.trim, &self.flush].into_iter().flatten().next();
        answered.is_none() && self.total.as_ref().is_some_and(|total| total.iops > 0.0)
    }
}

/// So many requests in flight, as the plan has them: its depth, where every cell has one thread.
fn in_flight(view: &VolumeView<'_>, curve: &Curve, requests: u64) -> InFlight {
    let is_depth = curve.closed.iter().all(|i| view.cells[*i].load.threads == 1);
    InFlight { requests, is_depth, as_planned: None }
}

/// A volume's name, where the run has several.
fn name_among(record: &RunRecord, volume: &str) -> Option<String> {
    (record.header.volumes.len() > 1).then(|| volume.to_owned())
}

impl LoadAt {
    /// Of a cell.
    pub(crate) fn of(cell: &CellSummary) -> Self {
        Self { load: load_name(cell), at: how_much(cell) }
    }
}

/// What more disks bring, where the volumes of the run are layouts of different numbers of them.
fn scaling(record: &RunRecord) -> Option<Finding> {
    if record.header.volumes.len() < 2 {
        return None;
    }
    let scaling = scaling_of(&[record])?.scaling?;
    let cells = scaling.cells.iter().map(|cell| cell.baseline_id.clone()).collect();
    let seen = FindingSeen::Disks(Box::new(scaling));
    Some(Finding { code: FindingCode::Scaling, volume: None, seen, cells })
}

fn incomplete(record: &RunRecord, cells: &[CellSummary]) -> Option<Finding> {
    if record.status == RunStatus::Unfinished && is_emulated(&record.header.verb, record.header.clock) {
        let seen = FindingSeen::EmulationGoesOn { is_asked: !cells.is_empty() };
        return Some(Finding { code: FindingCode::Incomplete, volume: None, seen, cells: Vec::new() });
    }
    let empty: Vec<String> = cells.iter().filter(|c| c.total.is_none()).map(|c| c.id.clone()).collect();
    if record.status == RunStatus::Finished && empty.is_empty() {
        return None;
    }
    let seen = FindingSeen::Incomplete {
        status: record.status,
        trials_done: record.cells.iter().map(|c| c.trials.len()).sum(),
        trials: record.cells.iter().map(|c| c.trials_planned as usize).sum(),
        cells_empty: empty.len(),
    };
    Some(Finding { code: FindingCode::Incomplete, volume: None, seen, cells: empty })
}
