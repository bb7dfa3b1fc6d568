//! A machine without CPU time to spare: whether that held the requests, or something that counts did.

use super::caps::ASKED_APART;
use super::kinds::{SAME_RATE, alike, apart, moved, same};
use super::{Case, inferred};
use crate::curves::{PLATEAU_SPREAD, iops, outstanding, sound};
use crate::doubts::STEAL_MAX;
use crate::statistics::mean;
use crate::summary::CellSummary;
use loadline_record::{Binding, CellRecord, Evidence, Limit, MachineFact};

/// A machine busier than this has no CPU to spare.
pub(super) const CPU_BUSY_MAX: f64 = 0.95;
/// Where more of that than this is not the tool's, others keep them busy.
const OTHERS_MIN: f64 = 0.5;
/// Rates at so many depths, this factor apart, are not equal by chance.
const EQUAL_DEPTHS: usize = 3;
const EQUAL_SPAN: u64 = 4;

/// Bytes per second that differ by less are equal,
const EQUAL_BYTES: f64 = 0.01;
/// of so many loads,
const EQUAL_BYTES_LOADS: usize = 3;
/// By which power of the depth a rate grows whose requests take their own time.
const PROPORTION: std::ops::RangeInclusive<f64> = 0.9..=1.15;
/// Load threads that wait for a CPU for less of their time are not held by want of it: beside four busy loops on two CPUs, 0.45 to 0.8
/// where nothing else held them, and up to 0.25 where a throttle or a device did.
const QUEUED_LITTLE: f64 = 0.3;
/// From this share on it is worth a word.
const QUEUED_WORTH: f64 = 0.01;
/// A load thread that is busy for less of its time is no limit.
const IDLE_BELOW: f64 = 0.5;
/// CPUs that threads keep awake are wanted where some task waits for one for this share of the time.
const WANTED_MIN: f64 = 0.25;

impl Case<'_> {
    /// The machine has no CPU left although the load threads themselves had time to spare (otherwise it was the generator), and
    /// the same level was reached neither with CPU to spare nor in bursts, which want of CPU does not make.
    pub(super) fn by_cpu(&self) -> Option<Binding> {
        let busy = used(self.record())?;
        let at_level = self.plateau().map_or(&[][..], |p| &p.cells);
        let is_at_level = at_level.contains(&self.index);
        // A single request takes its time, whatever that is made of; and what is counted out waits for its turn, not for a CPU.
        // Only what comes in bursts is counted below a rate that the same requests have had. At a level that want of CPU alone would
        // explain, neither a single request nor an offer that was not met shows more than the level does.
        let in_turns = self.clustered[self.index].is_some();
        let is_counted = self.seen[self.index].as_ref().is_some_and(|seen| {
            seen.shows_rate && !(is_at_level && seen.unmet_alone) && (in_turns || !self.is_outdone())
        });
        if is_counted || (outstanding(self.cell()) == Some(1) && !is_at_level) {
            return None;
        }
        let spare = |i: &usize| has_spare_cpu(&self.records[*i]);
        if is_at_level
            && at_level.iter().any(|i| spare(i) || self.clustered[*i].is_some() || self.had_as_much_in_time(*i))
        {
            return None;
        }
        if self.has_equal_bytes() || self.grows_beside_others() || self.hardly_waits_for_cpu() {
            return None;
        }
        // Want of CPU slows both directions of a mix.
        if self.by_direction().is_some() {
            return None;
        }
        // Others take now more of the CPUs and now less.
        let is_limit = |binding: Binding| binding.limit != Limit::Unexplained;
        if self.equal_depths().is_some() && self.by_plateau(iops(self.cell())?).is_some_and(is_limit) {
            return None;
        }
        let tool_share = others_share(self.record()).map(|others| 1.0 - others);
        let queued = queued(self.record()).filter(|share| *share >= QUEUED_WORTH);
        let taken: Vec<f64> = self.record().trials.iter().filter_map(|t| Some(t.surroundings.machine?.steal)).collect();
        let taken = mean(&taken).filter(|share| *share > STEAL_MAX);
        let evidence = Evidence::from(MachineFact::CpuBusy { busy_share: busy, tool_share })
            .with(queued.map(|share| MachineFact::NoCpu { share }))
            .with(taken.map(|share| MachineFact::CpuTaken { share }));
        Some(inferred(Limit::Cpu, None, None, evidence))
    }

    /// Whether the figures themselves show what holds the load, however busy the machine is: equal bytes over sizes, a rate in proportion
    /// to the depth, the turns of a throttle, or load threads that hardly waited for a CPU though another thread of the tool did.
    pub(super) fn is_told_by_data(&self) -> bool {
        let is_quota = self.record().trials.iter().any(|trial| {
            trial.surroundings.stops.is_some_and(|stops| stops.throttled_ns.is_some_and(|ns| ns >= stops.total_ns / 2))
        });
        let runs_in_time = !is_quota && self.hardly_waits_for_cpu();
        let in_turns = self.clustered[self.index].is_some();
        let is_steady = self.course().is_some_and(|course| course.steady);
        in_turns || is_steady || runs_in_time || self.has_equal_bytes() || self.grows_beside_others()
    }

    /// Whether another size of the same requests moves as many bytes a second, though more or fewer are outstanding: want of CPU does not
    /// make them equal to a hundredth.
    fn has_equal_bytes(&self) -> bool {
        let cell = self.cell();
        let at_once = |cell: &CellSummary| outstanding(cell).map(|depth| depth as f64 * cell.load.block_bytes as f64);
        let Some(own) = at_once(cell) else { return false };
        let equal: Vec<&CellSummary> = (self.cells.iter())
            .filter(|other| alike(cell, other) && sound(other) && same(moved(other), moved(cell), EQUAL_BYTES))
            .collect();
        let differs = |other: &&&CellSummary| {
            apart(cell, other) && at_once(other).is_some_and(|of| of / own >= ASKED_APART || own / of >= ASKED_APART)
        };
        equal.len() >= EQUAL_BYTES_LOADS && equal.iter().any(|other| differs(&other))
    }

    /// Whether others keep the CPUs busy, the load threads hardly wait for one, and more requests at once bring as many more: each takes
    /// its own time.
    fn grows_beside_others(&self) -> bool {
        let others = others_share(self.record()).is_some_and(|others| others > OTHERS_MIN);
        let growth = self.own.and_then(|own| self.curves[own].growth(self.cells, self.index));
        let own_time = growth.is_some_and(|growth| PROPORTION.contains(&growth.power()));
        others && own_time && queued(self.record()).is_none_or(|share| share <= QUEUED_LITTLE)
    }

    /// Whether another cell had the same rate, though its load threads hardly waited for a CPU: these lost nothing by waiting.
    fn had_as_much_in_time(&self, other: usize) -> bool {
        let rates = iops(self.cell()).zip(iops(&self.cells[other]));
        other != self.index
            && is_run_in_time(&self.records[other])
            && rates.is_some_and(|(own, other)| same(own, other, SAME_RATE))
    }

    /// Whether the load threads had a CPU mostly when they were ready to run, and idle time besides.
    fn hardly_waits_for_cpu(&self) -> bool {
        let threads = || self.record().trials.iter().flat_map(|trial| &trial.surroundings.threads);
        threads().all(|thread| thread.busy <= IDLE_BELOW) && is_run_in_time(self.record())
    }

    /// Of a cell on a level that was reached while others kept the CPUs busy: the depths at which the rates are equal, where there are
    /// so many, and so far apart, that want of CPU would have left them apart.
    fn equal_depths(&self) -> Option<usize> {
        others_share(self.record()).filter(|others| *others > OTHERS_MIN)?;
        let plateau = self.plateau().filter(|plateau| plateau.cells.contains(&self.index))?;
        let is_busy = |i: &usize| machine_busy(&self.records[*i]).is_some_and(|busy| busy > CPU_BUSY_MAX);
        if !plateau.cells.iter().all(is_busy) {
            return None;
        }
        let closed = plateau.cells.iter().map(|i| &self.cells[*i]).filter(|cell| cell.load.queue_depth.is_some());
        let at: Vec<(u64, f64)> = closed.filter_map(|cell| Some((outstanding(cell)?, cell.iops_lasting()?))).collect();
        let mut depths: Vec<u64> = at.iter().map(|(depth, _)| *depth).collect();
        depths.dedup();
        let wide = depths.last()? / depths.first()? >= EQUAL_SPAN;
        let equal = at.iter().all(|(_, rate)| same(*rate, plateau.iops, SAME_RATE));
        (depths.len() >= EQUAL_DEPTHS && wide && equal).then_some(depths.len())
    }

    /// That the CPUs were busy while a level was reached, and why they are not what binds.
    pub(super) fn busy_meanwhile(&self) -> Option<MachineFact> {
        let depths = self.equal_depths()? as u64;
        let (busy_share, others) = (machine_busy(self.record())?, others_share(self.record())?);
        Some(MachineFact::CpuBusyMeanwhile { busy_share, tool_share: 1.0 - others, depths })
    }

    /// Whether requests of the same kind and size had more in another cell than a level's spread.
    fn is_outdone(&self) -> bool {
        let cell = self.cell();
        let most = iops(cell).unwrap_or(0.0) * (1.0 + PLATEAU_SPREAD);
        self.cells.iter().any(|other| {
            let same_load = alike(cell, other)
                && cell.load.pattern == other.load.pattern
                && cell.load.block_bytes == other.load.block_bytes;
            same_load && sound(other) && iops(other).is_some_and(|rate| rate > most)
        })
    }
}

/// The share of the machine's CPU time in use, where hardly any is left. Waiting awake is use where some task waited for a CPU meanwhile.
fn used(record: &CellRecord) -> Option<f64> {
    let busy = machine_busy(record)?;
    let wanted: Vec<f64> = (record.trials.iter())
        .filter_map(|trial| {
            let waited_us = trial.surroundings.pressure.as_ref()?.cpu_some_us as f64;
            Some(waited_us * 1e3 / trial.surroundings.elapsed_ns.max(1) as f64)
        })
        .collect();
    let is_wanted = mean(&wanted).is_some_and(|share| share >= WANTED_MIN);
    let used = if is_wanted { machine_taken(record)?.min(1.0) } else { busy };
    (used > CPU_BUSY_MAX).then_some(used)
}

/// The share of their time in which load threads were ready to run and had no CPU, mean over all.
fn queued(record: &CellRecord) -> Option<f64> {
    let all = record.trials.iter().flat_map(|trial| &trial.surroundings.threads);
    mean(&all.map(|thread| thread.queued).collect::<Option<Vec<f64>>>()?)
}

/// Whether the kernel tells that load threads hardly waited for a CPU.
pub(super) fn is_run_in_time(record: &CellRecord) -> bool {
    queued(record).is_some_and(|share| share <= QUEUED_LITTLE)
}

/// Whether the machine had CPU time to spare, what load threads waited awake counted as used.
pub(super) fn has_spare_cpu(record: &CellRecord) -> bool {
    machine_taken(record).is_none_or(|taken| taken <= CPU_BUSY_MAX)
}

/// The share of the machine's CPU time that was not idle, with what load threads spent waiting awake.
fn machine_taken(record: &CellRecord) -> Option<f64> {
    let taken = record.trials.iter().filter_map(|trial| {
        let machine = trial.surroundings.machine?;
        let awake: f64 = trial.surroundings.threads.iter().map(|thread| thread.spun).sum();
        Some(machine.busy + awake / f64::from(machine.cpus.max(1)))
    });
    mean(&taken.collect::<Vec<f64>>())
}

/// The share of the machine's CPU time in use, mean over trials.
pub(super) fn machine_busy(record: &CellRecord) -> Option<f64> {
    let busy: Vec<f64> = record.trials.iter().filter_map(|t| Some(t.surroundings.machine?.busy)).collect();
    mean(&busy)
}

/// Of the CPU time in which the machine was busy, the share that was not the tool's.
pub(crate) fn others_share(record: &CellRecord) -> Option<f64> {
    let busy = machine_busy(record).filter(|busy| *busy > 0.0)?;
    let known = record.trials.iter().filter_map(|t| Some((&t.surroundings, t.surroundings.machine?)));
    let (tool, all) = known.fold((0.0, 0.0), |(tool, all), (s, machine)| {
        (tool + (s.tool_user_ns + s.tool_system_ns) as f64, all + s.elapsed_ns as f64 * f64::from(machine.cpus))
    });
    (all > 0.0).then(|| 1.0 - (tool / all / busy).min(1.0))
}
