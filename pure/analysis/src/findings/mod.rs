//! What follows from a run's figures, in plain words, most important first.

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
pub(crate) use objective::{Objective, overloaded};

use crate::clusters::Clusters;
use crate::compare::{scaling_of, scaling_sentences};
use crate::curves::{Curve, iops, outstanding};
use crate::hosts::view::HostsScaling;
use crate::limits::{Direction, one_direction, surpassed};
use crate::summary::{CellSummary, Finding, OperationFigures, is_emulated};
use crate::words::{NOT_THE_BEST, counted, how_much, listed, load_name, number, sentence, span, throughput, warning};
use loadline_record::{Access, Ceiling, CellRecord, Clock, Limit, RunRecord, RunStatus};
use rises::Rise;

/// Stable codes of findings.
pub mod codes {
    /// Data read back was not what was written.
    pub const VERIFY_FAILED: &str = "verify-failed";
    /// The most random requests per second.
    pub const BEST_RANDOM_IOPS: &str = "best-random-iops";
    /// The most bytes per second.
    pub const BEST_THROUGHPUT: &str = "best-throughput";
    /// Where more requests at once stop helping.
    pub const PLATEAU: &str = "plateau";
    /// What loads that ran at the same time came to together.
    pub const RAN_TOGETHER: &str = "ran-together";
    /// What hosts that ran together came to, and which stayed behind.
    pub const HOSTS: &str = "hosts";
    /// How totals grow with the number of hosts, and whose limit their end is.
    pub const HOSTS_SCALING: &str = "hosts-scaling";
    /// What bound the best cell of a volume on which nothing was seen to level off.
    pub const BOUND_BY: &str = "bound-by";
    /// A limit that the environment declares does not hold: a load had more.
    pub const DECLARED_SURPASSED: &str = "declared-surpassed";
    /// A burst ended, and the rate fell.
    pub const BURST_ENDED: &str = "burst-ended";
    /// Requests are let through in bursts.
    pub const THROTTLED_IN_CLUSTERS: &str = "throttled-in-clusters";
    /// The device answers nothing for a time now and then.
    pub const STALLS: &str = "stalls";
    /// The load at which the latency objective is lost.
    pub const OBJECTIVE: &str = "objective";
    /// How long a single request takes.
    pub const LATENCY_ALONE: &str = "latency-alone";
    /// How long it takes to make writes durable.
    pub const FLUSH_LATENCY: &str = "flush-latency";
    /// Whether the speed depends on the number of the trial.
    pub const TREND: &str = "trend-over-trials";
    /// Something changed between trials, and rates with it.
    pub const LEVELS: &str = "levels-over-trials";
    /// Something changed while a trial went on, and its rate rose.
    pub const RATE_ROSE: &str = "rate-rose";
    /// How near a replay on real storage came to its recording.
    pub const REPLAYED: &str = "replayed-in-time";
    /// How rates grow with the disks of the run's layouts.
    pub const SCALING: &str = "scaling";
    /// Whether measurements began in the steady state, where that was asked for.
    pub const STEADY_STATE: &str = "steady-state";
    /// Data read back was what was written.
    pub const VERIFIED: &str = "verified";
    /// The tool measured itself.
    pub const TOOL: &str = "tool-alone";
    /// Part of the plan has no figures.
    pub const INCOMPLETE: &str = "incomplete";
    /// Doubts by code, with how many cells have them.
    pub const DOUBTS: &str = "doubts";

    /// Every code.
    pub const ALL: [&str; 25] = [
        VERIFY_FAILED,
        HOSTS_SCALING,
        BEST_RANDOM_IOPS,
        BEST_THROUGHPUT,
        RAN_TOGETHER,
        HOSTS,
        PLATEAU,
        BOUND_BY,
        DECLARED_SURPASSED,
        BURST_ENDED,
        THROTTLED_IN_CLUSTERS,
        STALLS,
        OBJECTIVE,
        LATENCY_ALONE,
        FLUSH_LATENCY,
        TREND,
        LEVELS,
        RATE_ROSE,
        REPLAYED,
        SCALING,
        STEADY_STATE,
        VERIFIED,
        TOOL,
        INCOMPLETE,
        DOUBTS,
    ];
}

/// Rates that reach this share of the best one are as good: trials on a quiet disk differ by as much.
const AS_GOOD: f64 = 0.98;

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
    let rises: Vec<Option<Rise>> =
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
            prefix: if record.header.volumes.len() > 1 { format!("{}: ", volume.name) } else { String::new() },
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
    rises: &'a [Option<Rise>],
    /// Names the volume where there are several.
    prefix: String,
}

impl VolumeView<'_> {
    fn finding(&self, code: &str, text: &str, cells: &[usize]) -> Finding {
        let mut ids: Vec<String> = Vec::new();
        for id in cells.iter().map(|i| &self.cells[*i].id) {
            if !ids.contains(id) {
                ids.push(id.clone());
            }
        }
        let text = if self.prefix.is_empty() { sentence(text) } else { format!("{}{text}", self.prefix) };
        Finding { code: code.to_owned(), text, cells: ids }
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
        let parts: Vec<String> = best
            .iter()
            .map(|(i, rate)| {
                let cell = &self.cells[*i];
                let (name, much, warning) = (load_name(cell), how_much(cell), warning(cell));
                let apart = bursts::apart(cell, number).or_else(|| self.rises[*i].as_ref()?.apart(1.0, number));
                let (rate, then) = apart.unwrap_or_else(|| (number(*rate), String::new()));
                format!("{rate} {name} a second{then} ({much}{warning})")
            })
            .collect();
        let cells: Vec<usize> = best.iter().map(|(i, _)| *i).collect();
        (!parts.is_empty())
            .then(|| self.finding(codes::BEST_RANDOM_IOPS, &format!("delivers up to {}.", listed(&parts)), &cells))
    }

    /// What an application came to: nobody looked for the most there is.
    fn came_to(&self) -> Option<Finding> {
        let of_others: Vec<usize> = self.own.iter().copied().filter(|i| self.cells[*i].is_of_others()).collect();
        let parts: Vec<String> = (of_others.iter())
            .filter_map(|i| {
                let cell = &self.cells[*i];
                let (iops, bytes) = (cell.iops_lasting()?, cell.throughput_lasting()?);
                let (name, much, warning) = (load_name(cell), how_much(cell), warning(cell));
                Some(format!("{} IOPS and {} with {name} ({much}{warning})", number(iops), throughput(bytes)))
            })
            .collect();
        (!parts.is_empty()).then(|| {
            self.finding(codes::BEST_THROUGHPUT, &format!("came on average to {}.", listed(&parts)), &of_others)
        })
    }

    fn best_throughput(&self) -> Option<Finding> {
        let best = self.best_by_kind(
            |c| !c.is_of_others() && (c.trim.is_none() || c.read.is_some() || c.write.is_some()),
            CellSummary::throughput_lasting,
        );
        if best.is_empty() {
            return self.came_to();
        }
        let parts: Vec<String> = best
            .iter()
            .map(|(i, rate)| {
                let cell = &self.cells[*i];
                let rose = || self.rises[*i].as_ref()?.apart(rate / cell.iops_lasting()?, throughput);
                let apart = bursts::apart_in_bytes(cell).or_else(rose);
                let (rate, then) = apart.unwrap_or_else(|| (throughput(*rate), String::new()));
                format!("{rate}{then} with {} ({}{})", load_name(cell), how_much(cell), warning(cell))
            })
            .collect();
        let cells: Vec<usize> = best.iter().map(|(i, _)| *i).collect();
        (!parts.is_empty())
            .then(|| self.finding(codes::BEST_THROUGHPUT, &format!("highest throughput: {}.", listed(&parts)), &cells))
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
        let text = format!(
            "{} had {} IOPS ({}), {:.1} times what the environment declares: {} at {} IOPS ({}) does not hold here.",
            load_name(&self.cells[*i]),
            number(*rate),
            how_much(&self.cells[*i]),
            rate / ceiling.iops,
            ceiling.limit.name(),
            number(ceiling.iops),
            ceiling.source
        );
        let cells: Vec<usize> = passed.iter().map(|(i, ..)| *i).collect();
        Some(self.finding(codes::DECLARED_SURPASSED, &text, &cells))
    }

    /// What bound the best cell; what was seen of that stands in the cell's binding.
    fn bound_by(&self) -> Option<Finding> {
        let random =
            self.best_by_kind(|c| c.load.pattern == Access::Random && c.flush.is_none(), CellSummary::iops_lasting);
        let (i, _) = *random.first().or(self.best_by_kind(|_| true, CellSummary::throughput_lasting).first())?;
        let (cell, binding) = (&self.cells[i], self.cells[i].binding.as_ref()?);
        let by = match binding.limit {
            Limit::Unexplained => "what stops them is unexplained".to_owned(),
            limit => format!("they are bound by {}", limit.name()),
        };
        let text = format!("{} at {}: {by}.", load_name(cell), how_much(cell));
        Some(self.finding(codes::BOUND_BY, &text, &[i]))
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
        let others = match seen.len() - 1 {
            0 => String::new(),
            1 => " 1 other cell shows the same.".to_owned(),
            n => format!(" {} show the same.", counted(n, "other cell")),
        };
        // A throttle holds the rate at one level; a cache that answers most requests has the same two clusters and does not.
        let at_limit =
            curves.iter().filter_map(|c| c.plateau.as_ref()).any(|p| p.cells.iter().any(|i| cells.contains(i)));
        let how = if at_limit {
            "requests are let through in bursts, as a throttle does"
        } else {
            "requests are let through in bursts, as a throttle does, or a cache answers all but a few"
        };
        let text = format!(
            "{how}: of {} at {} {}.{others}",
            load_name(&self.cells[first]),
            how_much(&self.cells[first]),
            clusters.words()
        );
        Some(self.finding(codes::THROTTLED_IN_CLUSTERS, &text, &cells))
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
        let parts: Vec<String> = chosen
            .iter()
            .map(|(i, f)| {
                let cell = &self.cells[*i];
                let latency = &f.latency_ns;
                let p99 = latency.p99.map_or_else(String::new, |p99| format!(", p99 {}", span(p99 as f64)));
                let figures = format!("{}{p99}", self.mean_of(*i, f));
                // Another load may follow, to which it does not belong.
                let warning = match warning(cell).strip_prefix("; ") {
                    Some(doubts) => format!(" ({doubts})"),
                    None => String::new(),
                };
                format!("{} take {figures}{warning}", load_name(cell))
            })
            .collect();
        let cells: Vec<usize> = chosen.iter().map(|(i, _)| *i).collect();
        (!parts.is_empty())
            .then(|| self.finding(codes::LATENCY_ALONE, &format!("one request at a time, {}.", listed(&parts)), &cells))
    }

    /// A mean, with the median beside it where the latencies lie in two clusters: their mean is the latency of no request.
    fn mean_of(&self, cell: usize, figures: &OperationFigures) -> String {
        let latency = &figures.latency_ns;
        let median = match &self.clustered[cell] {
            Some(clusters) => {
                format!(" (half at most {})", span(latency.p50.map_or(clusters.median_ns, |p50| p50 as f64)))
            }
            None => String::new(),
        };
        format!("{} on average{median}", span(latency.mean))
    }

    fn tool_alone(&self) -> Option<Finding> {
        // What asks for no more says nothing of what the tool can do.
        let asks_for_no_more = |c: &CellSummary| c.binding.as_ref().is_some_and(|b| b.limit == Limit::Arrival);
        let i = self.best(|c| !asks_for_no_more(c), iops)?;
        let text = format!(
            "the tool by itself, without storage, does {} requests a second ({}).",
            number(iops(&self.cells[i])?),
            self.cells[i].label
        );
        Some(self.finding(codes::TOOL, &text, &[i]))
    }
}

impl CellSummary {
    /// How the rate of a measured cell rose and stayed, its record given; `None` where something else is said of what lasts.
    pub(crate) fn rise(&self, own: &CellRecord, clock: Clock) -> Option<Rise> {
        Rise::of(own, clock).filter(|_| self.lasting.is_none())
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

/// So many requests outstanding, in the words of the plan: its depth, where every cell has one thread.
fn at_depth(view: &VolumeView<'_>, curve: &Curve, outstanding: u64) -> String {
    let outstanding = number(outstanding as f64);
    if curve.closed.iter().all(|i| view.cells[*i].load.threads == 1) {
        format!("depth {outstanding}")
    } else {
        format!("{outstanding} outstanding")
    }
}

/// What more disks bring, where the volumes of the run are layouts of different numbers of them.
fn scaling(record: &RunRecord) -> Option<Finding> {
    if record.header.volumes.len() < 2 {
        return None;
    }
    let scaling = scaling_of(&[record])?.scaling?;
    let cells = scaling.cells.iter().map(|cell| cell.baseline_id.clone()).collect();
    Some(Finding { code: codes::SCALING.to_owned(), text: scaling_sentences(&scaling).join(" "), cells })
}

fn incomplete(record: &RunRecord, cells: &[CellSummary]) -> Option<Finding> {
    if record.status == RunStatus::Unfinished && is_emulated(&record.header.verb, record.header.clock) {
        let text = if cells.is_empty() {
            "The emulation goes on, or was killed: nothing had been asked of it when its record was last kept."
        } else {
            "The emulation goes on, or was killed: these are its figures when they were last kept."
        };
        return Some(Finding { code: codes::INCOMPLETE.to_owned(), text: text.to_owned(), cells: Vec::new() });
    }
    let empty: Vec<String> = cells.iter().filter(|c| c.total.is_none()).map(|c| c.id.clone()).collect();
    let wanted: usize = record.cells.iter().map(|c| c.trials_planned as usize).sum();
    let done: usize = record.cells.iter().map(|c| c.trials.len()).sum();
    let state = match record.status {
        RunStatus::Finished if empty.is_empty() => return None,
        RunStatus::Finished => "finished",
        RunStatus::Unfinished => "not finished",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Failed => "ended by an error",
    };
    let without =
        if empty.is_empty() { String::new() } else { format!(", {} without figures", counted(empty.len(), "cell")) };
    let text = format!("The run is {state}: {} of {} done{without}.", number(done as f64), counted(wanted, "trial"));
    Some(Finding { code: codes::INCOMPLETE.to_owned(), text, cells: empty })
}

#[cfg(test)]
mod tests;
