//! What a run says, as an engineer would write it down: for each volume and kind of load the limit, its evidence, what follows, and
//! what to try.

mod steps;

use crate::conclusion::{
    AdvisedStep, ClosedReached, Conclusion, DeeperWait, DepthKept, DepthObjective, KnownLimit, LimitKnown, LoadReached,
    LoadStop, Meaning, StopWay, UncertainRate,
};
use crate::curves::{PLATEAU_SPREAD, is_like, met_lasting, outstanding, paced};
use crate::device_throttle::HeldBy;
use crate::doubts::held_back;
use crate::finding::RiseSeen;
use crate::findings::OBJECTIVE_USUAL;
use crate::findings::trials::{Levels, apart};
use crate::more_in_flight::more_in_flight;
use crate::summary::{CellSummary, OperationFigures};
use crate::trials::{AS_GOOD, MET_TOLERANCE, latency_figure};
use crate::verdict_block::MoreInFlight;
use crate::words::{VOLUMES_MAX, blocks, doubts_of_rate, how_much, load_name, load_names};
use loadline_block::Operation;
use loadline_load::LatencyFigure;
use loadline_record::{Access, Binding, Ceiling, Clock, Limit, RunRecord, RunVerb, TargetKind};
pub(crate) use steps::instead_of_a_larger_range;
use steps::{advice, doubts, first, lifts, meaning};

/// A next limit no further away than this leaves next to nothing to be gained.
const NEAR: f64 = 0.05;
/// And one further away than this is out of sight.
const FAR: f64 = 3.0;
/// A rate that grows by less than this power of the depth gains little from more depth.
const LITTLE_GROWTH: f64 = 0.5;
/// A range narrower than this share of its middle adds nothing to the figure.
const NARROW: f64 = 0.02;

/// The run in a conclusion for the reads and one for the writes of each volume, or one for both where they stop alike.
pub(crate) fn conclusions(record: &RunRecord, cells: &[CellSummary]) -> Vec<Conclusion> {
    // A hunt varies one cell: what it found is told by its own table.
    if record.header.verb == RunVerb::Hunt {
        return Vec::new();
    }
    let told = record.header.volumes.iter().filter(|v| v.kind != TargetKind::Null).take(VOLUMES_MAX);
    told.flat_map(|volume| {
        let own: Vec<&CellSummary> = cells.iter().filter(|c| c.volume == volume.name).collect();
        // Loads that ran beside others had only a part of what the volume can do.
        let alone: Vec<&CellSummary> = own.iter().copied().filter(|c| c.beside.is_empty()).collect();
        VolumeConclusions { record, cells: if alone.is_empty() { own } else { alone } }.all()
    })
    .collect()
}

/// What to do about the kernel's throttle that holds the cell.
fn lifting(cell: &CellSummary) -> AdvisedStep {
    AdvisedStep::Lift { command: cell.held_by.as_ref().map(HeldBy::lifting_command).unwrap_or_default() }
}

/// The cells of one volume.
struct VolumeConclusions<'a> {
    record: &'a RunRecord,
    cells: Vec<&'a CellSummary>,
}

/// Reads, writes, or what mixes them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Reads,
    Writes,
    Mixes,
}

impl Kind {
    fn holds(self, cell: &CellSummary) -> bool {
        match self {
            Self::Reads => cell.flush.is_none() && cell.reads_only(),
            Self::Writes => cell.flush.is_none() && cell.writes_only(),
            Self::Mixes => true,
        }
    }
}

impl<'a> VolumeConclusions<'a> {
    fn all(&self) -> Vec<Conclusion> {
        let anchor = |kind| Some((kind, self.best(kind, CellSummary::iops_lasting)?));
        let mut anchors: Vec<(Kind, &CellSummary)> =
            [Kind::Reads, Kind::Writes].into_iter().filter_map(anchor).collect();
        if anchors.is_empty() {
            anchors.extend(anchor(Kind::Mixes));
        }
        let mut advised: Option<Limit> = None;
        if let [(_, reads), (_, writes)] = anchors.as_slice()
            && alike(reads, writes)
        {
            return vec![self.of_closed(Kind::Reads, &[reads, writes], &mut advised)];
        }
        if anchors.is_empty() {
            let open = || [Kind::Reads, Kind::Writes, Kind::Mixes].into_iter().find_map(|kind| self.of_open(kind));
            return self.of_others().or_else(open).into_iter().collect();
        }
        anchors.iter().map(|(kind, cell)| self.of_closed(*kind, &[*cell], &mut advised)).collect()
    }

    /// The cell with the largest figure, or the least demanding one of those as good; one that is not in doubt, if there is one.
    fn best(&self, kind: Kind, figure: fn(&CellSummary) -> Option<f64>) -> Option<&'a CellSummary> {
        let among =
            || self.cells.iter().copied().filter(|c| kind.holds(c) && !paced(c) && c.load.queue_depth.is_some());
        let clean: Vec<&CellSummary> = among().filter(|c| doubts_of_rate(c).is_empty()).collect();
        let all: Vec<&CellSummary> = if clean.is_empty() { among().collect() } else { clean };
        let figure = |c: &CellSummary| figure(c).filter(|f| f.is_finite());
        let most = all.iter().filter_map(|c| figure(c)).max_by(f64::total_cmp).filter(|m| *m > 0.0)?;
        let demand = |c: &&CellSummary| (outstanding(c), c.load.block_bytes, c.load.pattern != Access::Random);
        let good: Vec<&CellSummary> =
            all.into_iter().filter(|c| figure(c).is_some_and(|f| f >= most * AS_GOOD)).collect();
        // Of those that come to the same for good, those with the most before.
        let bursts = |c: &CellSummary| c.lasting.as_ref().map_or(0.0, |lasting| lasting.iops_before);
        let burst = good.iter().map(|c| bursts(c)).max_by(f64::total_cmp)?;
        good.into_iter().filter(|c| bursts(c) >= burst * AS_GOOD).min_by_key(demand)
    }

    /// Limit, evidence, consequence, next step of closed loops of one kind, or of reads with the writes that stop alike.
    fn of_closed(&self, kind: Kind, cells: &[&CellSummary], advised: &mut Option<Limit>) -> Conclusion {
        let (cell, is_alone) = (cells[0], cells.len() == 1);
        let levels = self.levels(cell);
        let rise = self.rise(cell);
        let reached = ClosedReached {
            loads: load_names(cells),
            rate: cell.level_rate(),
            levels: rise.as_ref().map(|rise| rise.levels.len()).or_else(|| levels.as_ref().map(|_| 2)),
            at: how_much(cell),
            is_onwards: false,
            stop: None,
        };
        let Some(binding) = &cell.binding else {
            return self.conclusion(cell, LoadReached::Closed(Box::new(reached)), Vec::new(), None);
        };
        let deeper = self.deepest_like(cell);
        let little = (binding.limit == Limit::Latency).then(|| self.little_growth(cell)).flatten();
        let vain = more_in_flight(self.record, self.cells.iter().copied(), cell).filter(|more| !more.may_help());
        // The evidence of latency tells it itself.
        let more = self.more_by_arrivals(cell).filter(|_| binding.limit != Limit::Latency || !binding.inferred);
        let of_disk = matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput);
        let held = cell.held_by.as_ref().filter(|_| of_disk);
        let way = match binding.limit {
            Limit::Latency if little.is_some() && deeper.is_some() => StopWay::Binds,
            Limit::Latency if matches!(vain, Some(MoreInFlight::HardlyMore { .. })) => StopWay::Binds,
            Limit::Latency => StopWay::NotYet,
            Limit::Unexplained => StopWay::Unexplained,
            // What another load went beyond for as long as it was measured stops nothing.
            _ if more.is_some() && !of_disk => StopWay::BindsHere,
            _ => match held {
                Some(held) => StopWay::Throttled(held.clone()),
                None if binding.presumed => StopWay::Presumably,
                None => StopWay::Binds,
            },
        };
        let stop = LoadStop { limit: binding.limit, known: self.known(binding), way };
        let reached = ClosedReached { is_onwards: deeper.is_some(), stop: Some(stop), ..reached };
        let is_little = little.is_some() || vain.is_some();
        let own = self.record.cells.iter().find(|c| c.id == cell.id).filter(|_| cell.lasting.is_none());
        let mut meant: Vec<Meaning> = levels
            .map(|levels| Meaning::TrialsOnTwoLevels(levels.seen()))
            .or_else(|| apart(own?, self.record.header.clock))
            .into_iter()
            .collect();
        meant.extend(rise.map(Meaning::Rose));
        meant.extend(little.or_else(|| meaning(cell, binding.limit)));
        meant.extend(more);
        meant.extend(self.range(cell, deeper));
        meant.extend(self.consequence(cell, deeper));
        meant.extend(self.in_bytes(kind, cell, is_alone));
        let foretold = cell.lasting.as_ref().filter(|_| binding.limit != Limit::BurstExhausted);
        match foretold {
            Some(lasting) => meant.push(Meaning::LeftOnceSpent { iops: lasting.iops }),
            None => meant.extend(after(self.record, cell, binding)),
        }
        meant.extend(doubts(self.record, cell));
        let above = self.held_above(cell).filter(|_| of_disk && held.is_none());
        meant.extend(above.map(|cell| Meaning::HeldAbove { at: how_much(cell) }));
        let what_to_do = match () {
            () if is_little => AdvisedStep::Faster,
            () if foretold.is_some() && binding.limit != Limit::Cache => {
                advice(self.record, cell, Limit::BurstExhausted, binding.inferred)
            }
            () if held.is_some() => lifting(cell),
            () if above.is_some() && binding.inferred => AdvisedStep::FindWhoHolds,
            () => {
                let alone = advice(self.record, cell, binding.limit, binding.inferred);
                let follower =
                    follower(self.record, cell, binding).filter(|(_, share)| *share <= NEAR && foretold.is_none());
                match follower.filter(|(next, _)| lifts(next.limit)) {
                    Some((next, _)) => {
                        AdvisedStep::AndLift { step: Box::new(alone), limit: next.limit, iops: next.iops }
                    }
                    None => alone,
                }
            }
        };
        // Reads and writes have throttles of their own, and each is lifted by itself.
        let next = (held.is_some() || *advised != Some(binding.limit)).then_some(what_to_do);
        *advised = Some(binding.limit);
        self.conclusion(cell, LoadReached::Closed(Box::new(reached)), meant, next)
    }

    /// The same of open loops, where there is nothing else: up to which rate what was offered was met, and what stopped the rest.
    fn of_open(&self, kind: Kind) -> Option<Conclusion> {
        let offered = |c: &&CellSummary| c.offered_iops.map(|rate| rate as u64);
        let open = || {
            self.cells
                .iter()
                .copied()
                .filter(|c| kind.holds(c) && !c.is_of_others())
                .filter(|c| c.load.queue_depth.is_none() && met_lasting(c).is_some())
        };
        let kept = open().filter(|c| is_served(c)).max_by_key(offered);
        let above = |c: &&CellSummary| kept.is_none_or(|k| offered(c) > offered(&k));
        let lost = open().filter(|c| !is_served(c)).filter(above).min_by_key(offered);
        let cell = lost.or(kept)?;
        let (load, up_to) = (load_name(cell), kept.map(how_much));
        let Some(lost) = lost else {
            let meant = doubts(self.record, cell).into_iter().collect();
            let next = advice(self.record, cell, Limit::Arrival, false);
            return Some(self.conclusion(cell, LoadReached::Served { load, up_to: up_to? }, meant, Some(next)));
        };
        let of = |binding: &Binding| KnownLimit { limit: binding.limit, known: self.known(binding) };
        let stop = lost.binding.as_ref().map(of);
        let reached = LoadReached::Overloaded { load, up_to, at: how_much(lost), rate: lost.level_rate(), stop };
        let mut meant = vec![Meaning::Backlog];
        meant.extend(lost.binding.as_ref().and_then(|b| meaning(lost, b.limit)));
        meant.extend(doubts(self.record, lost));
        let next = lost.binding.as_ref().map(|b| advice(self.record, lost, b.limit, b.inferred));
        Some(self.conclusion(lost, reached, meant, next))
    }

    /// The same of requests that came when others had wanted them: there is no level, and no more or less can be offered.
    fn of_others(&self) -> Option<Conclusion> {
        let cell = self.cells.iter().copied().find(|c| c.is_of_others() && c.offered_iops.is_some())?;
        let binding = cell.binding.as_ref()?;
        let operations = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
        let (limit, held) = (binding.limit, !matches!(binding.limit, Limit::Arrival | Limit::Latency));
        let reached = LoadReached::OfOthers {
            load: load_name(cell),
            at: how_much(cell),
            mean_ns: latency(cell, LatencyFigure::Mean)?,
            max_ns: operations().map(|of| of.latency_ns.max).max()?,
            is_mixed: operations().count() > 1,
            limit,
            known: self.known(binding),
        };
        let mut meant: Vec<Meaning> = meaning(cell, limit).filter(|_| held).into_iter().collect();
        meant.extend(doubts(self.record, cell));
        let next = held
            .then(|| advice(self.record, cell, binding.limit, binding.inferred))
            .filter(|_| binding.limit != Limit::Unexplained);
        Some(self.conclusion(cell, reached, meant, next))
    }

    fn conclusion(
        &self,
        cell: &CellSummary,
        reached: LoadReached,
        means: Vec<Meaning>,
        next: Option<AdvisedStep>,
    ) -> Conclusion {
        let binding = cell.binding.as_ref();
        let between = self.levels(cell).map(|_| AdvisedStep::FindChangeBetween);
        let changed = between.or_else(|| self.rise(cell).map(|_| AdvisedStep::FindChangeWithin));
        let first = changed.or_else(|| first(cell, self.record.header.clock));
        Conclusion {
            volume: cell.volume.clone(),
            cell: cell.id.clone(),
            limit: binding.map(|b| b.limit),
            reached,
            seen: binding.map(|b| b.seen.clone()).unwrap_or_default(),
            means,
            steps: first.into_iter().chain(next).collect(),
            takes_ns: None,
            commands: Vec::new(),
        }
    }

    /// The two levels of the cell's trials, where something changed between them.
    fn levels(&self, cell: &CellSummary) -> Option<Levels<'a>> {
        let own = self.record.cells.iter().find(|c| c.id == cell.id)?;
        Levels::of(own, self.record.header.clock, Levels::tested(self.record)).filter(|_| cell.lasting.is_none())
    }

    /// How the cell's rate rose while it was measured.
    fn rise(&self, cell: &CellSummary) -> Option<RiseSeen> {
        cell.rise(self.record.cells.iter().find(|c| c.id == cell.id)?, self.record.header.clock)
    }

    /// How the limit is known.
    fn known(&self, binding: &Binding) -> LimitKnown {
        match self.record.header.clock {
            Clock::Virtual => LimitKnown::Predicted,
            Clock::Real if binding.presumed => LimitKnown::Presumed,
            Clock::Real if binding.inferred => LimitKnown::Inferred,
            Clock::Real if self.record.header.environment.is_some() => LimitKnown::Declared,
            Clock::Real => LimitKnown::Counted,
        }
    }

    /// What a prediction may come out as, by what is not known exactly: the level where most is outstanding, and where it is first
    /// reached, where that is not as well known.
    fn range(&self, cell: &CellSummary, deeper: Option<&CellSummary>) -> Option<Meaning> {
        if self.record.header.clock != Clock::Virtual {
            return None;
        }
        let ends = |c: &CellSummary| c.total.as_ref().and_then(|t| t.iops_low.zip(t.iops_high));
        let (low, high) = ends(cell)?;
        let slack = NARROW * cell.iops_lasting()?;
        let differs = |(deep_low, deep_high): &(f64, f64)| (deep_low - low).abs().max((deep_high - high).abs()) > slack;
        let rate = |(low_iops, high_iops), at: &CellSummary| UncertainRate { low_iops, high_iops, at: how_much(at) };
        let deepest = deeper.and_then(|deep| Some(rate(ends(deep).filter(differs)?, deep)));
        (high - low > slack).then(|| Meaning::Uncertain { here: rate((low, high), cell), deepest })
    }

    /// The same load with the most outstanding, where that is more.
    fn deepest_like(&self, cell: &CellSummary) -> Option<&'a CellSummary> {
        self.alike(cell).filter(|c| outstanding(c) > outstanding(cell)).max_by_key(|c| outstanding(c))
    }

    fn alike<'b>(&'b self, cell: &'b CellSummary) -> impl Iterator<Item = &'a CellSummary> + 'b {
        let same = move |c: &&CellSummary| is_like(c, cell) && c.load.queue_depth.is_some() && !paced(c);
        self.cells.iter().copied().filter(same)
    }

    /// What the same requests came to where they arrived by themselves, if that was clearly more.
    fn more_by_arrivals(&self, cell: &CellSummary) -> Option<Meaning> {
        let arriving =
            self.cells.iter().copied().filter(|c| c.load.queue_depth.is_none() && doubts_of_rate(c).is_empty());
        let like = arriving.filter(|c| is_like(c, cell));
        let most = like.max_by(|a, b| a.iops_lasting().unwrap_or(0.0).total_cmp(&b.iops_lasting().unwrap_or(0.0)))?;
        let rate = most
            .iops_lasting()
            .filter(|rate| cell.iops_lasting().is_some_and(|own| *rate > own * (1.0 + PLATEAU_SPREAD)))?;
        Some(Meaning::MoreByArrivals { at: how_much(most), iops: rate })
    }

    /// The shallowest cell of this load whose requests are kept above the device.
    fn held_above(&self, cell: &CellSummary) -> Option<&'a CellSummary> {
        let volume = self.record.header.volumes.iter().find(|v| v.name == cell.volume)?;
        let held = |c: &&CellSummary| {
            let record = self.record.cells.iter().find(|r| r.id == c.id);
            record.is_some_and(|r| r.trials.iter().any(|t| held_back(&r.load.figures(), t, volume).is_some()))
        };
        self.alike(cell).filter(held).min_by_key(|c| outstanding(c))
    }

    /// Where more depth brings little: a head that seeks serves one request after the other, however many wait. The best cell may be
    /// the shallowest; then what the deeper ones got tells.
    fn little_growth(&self, cell: &CellSummary) -> Option<Meaning> {
        let depth = |c: &CellSummary| outstanding(c).map(|o| o as f64);
        if let Some(deep) = self.deepest_like(cell) {
            let (deeper, faster) =
                (depth(deep)? / depth(cell)?, deep.iops_lasting()? / cell.iops_lasting().filter(|rate| *rate > 0.0)?);
            let little = libm::log(faster) < LITTLE_GROWTH * libm::log(deeper);
            return little.then(|| Meaning::DeeperBringsNothing { times: deeper, at: how_much(cell) });
        }
        let shallow = self.alike(cell).filter(|c| outstanding(c) < outstanding(cell)).min_by_key(|c| outstanding(c))?;
        let (deeper, faster) =
            (depth(cell)? / depth(shallow)?, cell.iops_lasting()? / shallow.iops_lasting().filter(|rate| *rate > 0.0)?);
        let little = libm::log(faster) < LITTLE_GROWTH * libm::log(deeper);
        little.then(|| Meaning::DeeperBringsLittle { times: deeper, faster, at: how_much(shallow) })
    }

    /// What more requests at once do, and up to which the objective is kept.
    fn consequence(&self, cell: &CellSummary, deeper: Option<&CellSummary>) -> Option<Meaning> {
        let (figure, limit_ns) = self.objective(cell);
        // What a tool did not tell is neither kept nor missed.
        let mut row: Vec<&CellSummary> = self.alike(cell).filter(|c| latency(c, figure).is_some()).collect();
        row.sort_by_key(|c| outstanding(c));
        let kept = |c: &&&CellSummary| latency(c, figure).is_some_and(|l| l <= limit_ns as f64);
        // A depth that a deeper one keeps is not where it is lost.
        let deepest_kept = row.iter().rfind(kept);
        let kept_all = deepest_kept.is_some_and(|c| outstanding(c) == row.last().and_then(|l| outstanding(l)));
        let kept = match deepest_kept {
            _ if row.len() < 2 => None,
            _ if kept_all => Some(DepthKept::Everywhere),
            Some(c) => Some(DepthKept::UpTo(how_much(c))),
            None => Some(DepthKept::Nowhere),
        };
        let objective = kept.map(|kept| DepthObjective { figure, limit_ns, kept });
        let added =
            deeper.and_then(|d| Some(DeeperWait { mean_ns: latency(d, LatencyFigure::Mean)?, at: how_much(d) }));
        (added.is_some() || objective.is_some()).then_some(Meaning::DeeperAdds { added, objective })
    }

    fn objective(&self, cell: &CellSummary) -> (LatencyFigure, u64) {
        let record = self.record.cells.iter().find(|c| c.id == cell.id);
        record
            .and_then(|r| self.record.objective_of(r))
            .map_or(OBJECTIVE_USUAL, |objective| (objective.of, objective.limit.as_ns()))
    }

    /// The most bytes, where another block size moves more and something else stops it.
    fn in_bytes(&self, kind: Kind, cell: &CellSummary, is_alone: bool) -> Option<Meaning> {
        let moved = CellSummary::throughput_lasting;
        let most = self.best(kind, moved)?;
        if most.load.block_bytes <= cell.load.block_bytes || moved(most)? < moved(cell)? * (1.0 + PLATEAU_SPREAD) {
            return None;
        }
        let operation = match (kind, is_alone) {
            (Kind::Reads, true) => Some(Operation::Read),
            (Kind::Writes, true) => Some(Operation::Write),
            _ => None,
        };
        let (block, limit) = (blocks(most), most.binding.as_ref().map(|binding| binding.limit));
        Some(Meaning::InBytes { rate: most.level_rate(), block, operation, limit })
    }
}

/// Whether an open loop got what it asked for, and what bound it says so: of one that asks for a little more than a limit lets through
/// nearly all is completed too, and the rest waits.
fn is_served(cell: &CellSummary) -> bool {
    let is_held =
        cell.binding.as_ref().is_some_and(|binding| !matches!(binding.limit, Limit::Arrival | Limit::Latency));
    met_lasting(cell).is_some_and(|share| share >= 1.0 - MET_TOLERANCE) && !is_held
}

/// Whether reads and writes stop at the same rate for the same reason.
fn alike(a: &CellSummary, b: &CellSummary) -> bool {
    let limit = |c: &CellSummary| c.binding.as_ref().map(|b| b.limit);
    let near =
        a.iops_lasting().zip(b.iops_lasting()).is_some_and(|(a, b)| b > 0.0 && (a / b - 1.0).abs() <= PLATEAU_SPREAD);
    near && a.identity.is_like_apart_from_reads(&b.identity) && limit(a) == limit(b)
}

/// The lowest ceiling above the binding one that neither more requests at once nor, of a VM, another size of it lifts as well. How far
/// away a budget is of which others take their part at the same time is not known.
fn next_ceiling<'a>(record: &RunRecord, cell: &'a CellSummary, binding: Limit) -> Option<&'a Ceiling> {
    let rate = cell.iops_lasting()?;
    // What held the load before its credits were spent is what is gone.
    let gone = cell.lasting.as_ref().filter(|_| binding == Limit::BurstExhausted).map(|lasting| lasting.iops_before);
    let is_gone = |c: &Ceiling| gone.is_some_and(|before| (c.iops / before - 1.0).abs() <= PLATEAU_SPREAD);
    let others = cell.ceilings.iter().filter(|c| {
        !is_gone(c)
            && !is_shared(record, cell, c.limit)
            && c.limit != Limit::Latency
            && c.limit != binding
            && !(of_vm(c.limit) && of_vm(binding))
            && c.iops >= rate
    });
    others.min_by(|a, b| a.iops.total_cmp(&b.iops))
}

/// Whether a volume that was loaded at the same time has the same limit of the VM on its way.
fn is_shared(record: &RunRecord, cell: &CellSummary, limit: Limit) -> bool {
    let beside = cell.prediction.as_ref().map_or(&[][..], |view| &view.beside);
    let others = record.cells.iter().filter(|other| beside.contains(&other.volume));
    let mut ceilings = others
        .flat_map(|other| &other.trials)
        .filter_map(|trial| trial.model.as_ref())
        .flat_map(|model| &model.ceilings);
    of_vm(limit) && ceilings.any(|ceiling| ceiling.limit == limit)
}

const fn of_vm(limit: Limit) -> bool {
    matches!(
        limit,
        Limit::VmCachedIops | Limit::VmCachedThroughput | Limit::VmUncachedIops | Limit::VmUncachedThroughput
    )
}

/// A latency figure over all operations, the worst of them, ns; after a burst, where there was one.
fn latency(cell: &CellSummary, figure: LatencyFigure) -> Option<f64> {
    if let Some(lasting) = &cell.lasting {
        return lasting.latency_ns.figure(figure);
    }
    let of = |o: &OperationFigures| latency_figure(&o.latency_ns, figure);
    let all = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().filter_map(of);
    all.filter(|l| l.is_finite()).max_by(f64::total_cmp)
}

/// The lowest ceiling above the one that binds, and by what share it is above; above the rate, where other volumes take their part of
/// what the machine allows.
fn follower<'a>(record: &RunRecord, cell: &'a CellSummary, binding: &Binding) -> Option<(&'a Ceiling, f64)> {
    let next = next_ceiling(record, cell, binding.limit)?;
    let alone = !of_vm(binding.limit) || cell.prediction.as_ref().is_none_or(|view| view.beside.is_empty());
    let share = next.iops / binding.ceiling_iops.filter(|_| alone).or(cell.iops_lasting())? - 1.0;
    Some((next, share.max(0.0)))
}

/// The same, unless it is out of sight.
fn after(record: &RunRecord, cell: &CellSummary, binding: &Binding) -> Option<Meaning> {
    let (next, above) = follower(record, cell, binding).filter(|(_, share)| *share <= FAR)?;
    Some(Meaning::Follows { limit: next.limit, iops: next.iops, above, is_near: above <= NEAR })
}

#[cfg(test)]
mod tests;
