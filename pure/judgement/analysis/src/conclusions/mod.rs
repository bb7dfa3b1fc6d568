//! What a run says, as an engineer would write it down: for each volume and kind of load the limit, its evidence, what follows, and
//! what to try. Every printed form shows these sentences.

mod words;

use crate::curves::{PLATEAU_SPREAD, is_like, met_lasting, outstanding, paced};
use crate::doubts::held_back;
use crate::finding::RiseSeen;
use crate::findings::OBJECTIVE_USUAL;
use crate::findings::trials::{Levels, apart};
use crate::summary::{CellSummary, Conclusion, Consequence, LastingFigures, OperationFigures, Stop};
use crate::trials::{AS_GOOD, MET_TOLERANCE, latency_figure};
use crate::verdict_block::HeldBy;
use crate::words::{VOLUMES_MAX, blocks, counted, load_name, load_names, number, percent, sentence, span, throughput};
use crate::words::{doubts_of_rate, how_much};
use loadline_load::LatencyFigure;
use loadline_record::{Access, Binding, Ceiling, Clock, Limit, RunRecord, RunVerb, TargetKind};
use loadline_units::Duration;
pub(crate) use words::instead_of_a_larger_range;
use words::{Advice, advice, doubts, first, levels_words, lift, meaning, rise_words, what_binds};

/// A next limit no further away than this leaves next to nothing to be gained.
const NEAR: f64 = 0.05;
/// And one further away than this is out of sight.
const FAR: f64 = 3.0;
/// A rate that grows by less than this power of the depth gains little from more depth.
const LITTLE_GROWTH: f64 = 0.5;
/// A range narrower than this share of its middle adds nothing to the figure.
const NARROW: f64 = 0.02;
/// What helps where neither depth nor a limit does.
const FASTER: &str =
    "a disk that answers faster or serves more at once (no head that seeks), or fewer and larger requests";
/// Where requests are kept above the device.
const WHO_HOLDS: &str = "look first for what keeps requests above the device: a throttle of the kernel (io.max or blkio of the cgroup), \
    a queue limit or the file system; lifting that costs nothing. If it is meant, fewer and larger requests, or a higher limit";

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
fn lifting(cell: &CellSummary) -> String {
    let command = cell.held_by.as_ref().map(HeldBy::lifting_command).unwrap_or_default();
    format!("if this limit is not meant, lift it; that costs nothing: {command}")
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
        let name = sentence(&load_names(cells));
        let levels = self.levels(cell);
        let rise = self.rise(cell);
        let of = rise.as_ref().map(|rise| rise.levels.len()).or_else(|| levels.as_ref().map(|_| 2));
        let level = match of {
            None => level(cell),
            Some(2) => format!("{}, the mean of two levels,", level(cell)),
            Some(more) => format!("{}, the mean of {},", level(cell), counted(more, "level")),
        };
        let Some(binding) = &cell.binding else {
            let text = format!("{name} reach {level} at {}; what stops them is not known.", how_much(cell));
            return self.conclusion(cell, text, &[], None);
        };
        let deeper = self.deepest_like(cell);
        let from =
            if deeper.is_some() { format!("from {} on", how_much(cell)) } else { format!("at {}", how_much(cell)) };
        let code = self.code(binding);
        let little = (binding.limit == Limit::Latency).then(|| self.little_growth(cell)).flatten();
        // The evidence of latency tells it itself.
        let more = self.more_by_arrivals(cell).filter(|_| binding.limit != Limit::Latency || !binding.inferred);
        let of_disk = matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput);
        let held = cell.held_by.as_ref().filter(|_| of_disk);
        let text = match binding.limit {
            Limit::Latency if little.is_some() && deeper.is_some() => {
                format!("{name} stop at {level} {from}: {} {code}.", what_binds(Limit::Latency))
            }
            Limit::Latency => {
                format!("{name} reach {level} at {}, and no limit stops them there {code}.", how_much(cell))
            }
            Limit::Unexplained => {
                format!("{name} reach {level} {from}, and no known limit explains why not more {code}.")
            }
            // What another load went beyond for as long as it was measured stops nothing.
            limit if more.is_some() && !of_disk => {
                format!("{name} reach {level} {from}: {} {code}.", what_binds(limit))
            }
            limit => {
                let presumably = if binding.presumed { "presumably " } else { "" };
                let binds = held.map_or_else(|| format!("{presumably}{}", what_binds(limit)), HeldBy::sentence);
                format!("{name} stop at {level} {from}: {binds} {code}.")
            }
        };
        let own = self.record.cells.iter().find(|c| c.id == cell.id).filter(|_| cell.lasting.is_none());
        let mut meant: Vec<String> = levels
            .map(|levels| format!("Its trials had {}: something changed between them.", levels_words(levels.seen())))
            .or_else(|| apart(own?, self.record.header.clock))
            .into_iter()
            .collect();
        meant
            .extend(rise.map(|rise| format!("It had {}: something changed while it was measured.", rise_words(&rise))));
        meant.extend(little.clone().or_else(|| meaning(cell, binding.limit).map(str::to_owned)));
        meant.extend(more);
        meant.extend(self.range(cell, deeper));
        meant.extend(self.consequence(cell, deeper));
        meant.extend(self.in_bytes(kind, cell, is_alone));
        let foretold = cell.lasting.as_ref().filter(|_| binding.limit != Limit::BurstExhausted);
        match foretold {
            Some(lasting) => meant.push(format!(
                "Once what was saved up is spent, {} IOPS are left, which is what to plan with.",
                number(lasting.iops)
            )),
            None => meant.extend(after(self.record, cell, binding)),
        }
        meant.extend(doubts(self.record, cell));
        let above = self.held_above(cell).filter(|_| of_disk && held.is_none());
        meant.extend(above.map(|cell| {
            format!("At {} most requests wait above the device: the limit need not be the device's.", how_much(cell))
        }));
        let what_to_do = match little {
            Some(_) => FASTER.into(),
            None if foretold.is_some() && binding.limit != Limit::Cache => {
                advice(self.record, cell, Limit::BurstExhausted, binding.inferred)
            }
            None if held.is_some() => Advice::from(&*lifting(cell)),
            None if above.is_some() && binding.inferred => WHO_HOLDS.into(),
            None => {
                let alone = advice(self.record, cell, binding.limit, binding.inferred);
                let follower =
                    follower(self.record, cell, binding).filter(|(_, share)| *share <= NEAR && foretold.is_none());
                match follower.and_then(|(next, _)| lift(next)) {
                    Some(more) => alone.and(&more),
                    None => alone,
                }
            }
        };
        // Reads and writes have throttles of their own, and each is lifted by itself.
        let next = (held.is_some() || *advised != Some(binding.limit)).then_some(what_to_do);
        *advised = Some(binding.limit);
        self.conclusion(cell, text, &meant, next)
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
        let name = sentence(&load_name(cell));
        let up_to = kept.map(|k| format!("{name} are all served up to {}", how_much(k)));
        let Some(lost) = lost else {
            let text = format!("{}, the most that was offered (arrival).", up_to?);
            let doubted: Vec<String> = doubts(self.record, cell).into_iter().collect();
            let next = advice(self.record, cell, Limit::Arrival, false);
            return Some(self.conclusion(cell, text, &doubted, Some(next)));
        };
        let done = format!("of {}, {} are completed", how_much(lost), level(lost));
        let (by, code) = match &lost.binding {
            Some(binding) => (what_binds(binding.limit), format!(" {}", self.code(binding))),
            None => ("what stops them is not known", String::new()),
        };
        let text = match up_to {
            Some(up_to) => format!("{up_to}; {done}: {by}{code}."),
            None => format!("{name}: {done}: {by}{code}."),
        };
        let mut meant = vec!["What is not completed waits, and the longer the load lasts the longer.".to_owned()];
        meant.extend(lost.binding.as_ref().and_then(|b| meaning(lost, b.limit)).map(str::to_owned));
        meant.extend(doubts(self.record, lost));
        let next = lost.binding.as_ref().map(|b| advice(self.record, lost, b.limit, b.inferred));
        Some(self.conclusion(lost, text, &meant, next))
    }

    /// The same of requests that came when others had wanted them: there is no level, and no more or less can be offered.
    fn of_others(&self) -> Option<Conclusion> {
        let cell = self.cells.iter().copied().find(|c| c.is_of_others() && c.offered_iops.is_some())?;
        let binding = cell.binding.as_ref()?;
        let operations = || [&cell.read, &cell.write, &cell.trim].into_iter().flatten();
        let (name, much) = (sentence(&load_name(cell)), how_much(cell));
        let mean = span(latency(cell, LatencyFigure::Mean)?);
        let slowest = span(operations().map(|of| of.latency_ns.max).max()? as f64);
        let answered = match operations().count() {
            1 => format!("after {mean} on average and {slowest} at most"),
            _ => format!("within {mean} on average, whatever they are, and {slowest} at most"),
        };
        let (by, held) = match binding.limit {
            Limit::Arrival => ("for most of the time there is nothing to do", false),
            Limit::Latency => ("no limit holds most of them", false),
            limit => (what_binds(limit), true),
        };
        let text = format!("{name}, {much}, are answered {answered}: {by} {}.", self.code(binding));
        let mut meant: Vec<String> =
            meaning(cell, binding.limit).filter(|_| held).map(str::to_owned).into_iter().collect();
        meant.extend(doubts(self.record, cell));
        let next = held
            .then(|| advice(self.record, cell, binding.limit, binding.inferred))
            .filter(|_| binding.limit != Limit::Unexplained);
        Some(self.conclusion(cell, text, &meant, next))
    }

    fn conclusion(&self, cell: &CellSummary, text: String, meant: &[String], next: Option<Advice>) -> Conclusion {
        let binding = cell.binding.as_ref();
        let between = self.levels(cell).map(|_| "First find out what changed between the trials, and measure again");
        let within = "First find out what changed while it was measured, and measure again";
        let changed = between.or_else(|| self.rise(cell).map(|_| within));
        let first = changed.map(Advice::from).or_else(|| first(cell, self.record.header.clock));
        let steps: Vec<Advice> = first.into_iter().chain(next).collect();
        let sentences: Vec<String> = steps.iter().map(Advice::sentence).collect();
        Conclusion {
            volume: cell.volume.clone(),
            cell: cell.id.clone(),
            limit: binding.map(|b| b.limit),
            text: Stop::Written(text),
            seen: binding.map(|b| b.seen.clone()).unwrap_or_default(),
            consequence: (!meant.is_empty()).then(|| Consequence::Written(meant.join(" "))),
            next: (!steps.is_empty()).then(|| sentences.join(" ").into()),
            next_measurements: steps.iter().filter_map(|step| step.measurement).collect(),
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

    /// The limit's code, and how it is known: "(disk-iops, inferred)".
    fn code(&self, binding: &Binding) -> String {
        let known = match self.record.header.clock {
            Clock::Virtual => "predicted",
            Clock::Real if binding.presumed => "presumed",
            Clock::Real if binding.inferred => "inferred",
            Clock::Real if self.record.header.environment.is_some() => "declared",
            Clock::Real => "counted by the device",
        };
        format!("({}, {known})", binding.limit.name())
    }

    /// What a prediction may come out as, by what is not known exactly: the level where most is outstanding, and where it is first
    /// reached, where that is not as well known.
    fn range(&self, cell: &CellSummary, deeper: Option<&CellSummary>) -> Option<String> {
        if self.record.header.clock != Clock::Virtual {
            return None;
        }
        let ends = |c: &CellSummary| c.total.as_ref().and_then(|t| t.iops_low.zip(t.iops_high));
        let (low, high) = ends(cell)?;
        let slack = NARROW * cell.iops_lasting()?;
        let differs = |(deep_low, deep_high): &(f64, f64)| (deep_low - low).abs().max((deep_high - high).abs()) > slack;
        let told =
            |(low, high), at: &CellSummary| format!("{} to {} IOPS at {}", number(low), number(high), how_much(at));
        let whole = deeper.and_then(|deep| Some((deep, ends(deep).filter(differs)?)));
        match whole {
            _ if high - low <= slack => None,
            Some((deep, ends)) => Some(format!(
                "By what is not known exactly it may be {}, and {}.",
                told(ends, deep),
                told((low, high), cell)
            )),
            None => Some(format!("By what is not known exactly it may be {}.", told((low, high), cell))),
        }
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
    fn more_by_arrivals(&self, cell: &CellSummary) -> Option<String> {
        let arriving =
            self.cells.iter().copied().filter(|c| c.load.queue_depth.is_none() && doubts_of_rate(c).is_empty());
        let like = arriving.filter(|c| is_like(c, cell));
        let most = like.max_by(|a, b| a.iops_lasting().unwrap_or(0.0).total_cmp(&b.iops_lasting().unwrap_or(0.0)))?;
        let rate = most
            .iops_lasting()
            .filter(|rate| cell.iops_lasting().is_some_and(|own| *rate > own * (1.0 + PLATEAU_SPREAD)))?;
        Some(format!("At {} the same requests came to {} IOPS.", how_much(most), number(rate)))
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
    fn little_growth(&self, cell: &CellSummary) -> Option<String> {
        let depth = |c: &CellSummary| outstanding(c).map(|o| o as f64);
        if let Some(deep) = self.deepest_like(cell) {
            let (deeper, faster) =
                (depth(deep)? / depth(cell)?, deep.iops_lasting()? / cell.iops_lasting().filter(|rate| *rate > 0.0)?);
            let little = libm::log(faster) < LITTLE_GROWTH * libm::log(deeper);
            return little.then(|| {
                format!(
                    "{} times as many at once brought no more than {}: they are served one after the other, and more depth brings nothing.",
                    number(deeper),
                    how_much(cell)
                )
            });
        }
        let shallow = self.alike(cell).filter(|c| outstanding(c) < outstanding(cell)).min_by_key(|c| outstanding(c))?;
        let (deeper, faster) =
            (depth(cell)? / depth(shallow)?, cell.iops_lasting()? / shallow.iops_lasting().filter(|rate| *rate > 0.0)?);
        let little = libm::log(faster) < LITTLE_GROWTH * libm::log(deeper);
        little.then(|| {
            format!(
                "{} times as many at once brought {faster:.1} times the rate of {}: still more at once would bring little.",
                number(deeper),
                how_much(shallow)
            )
        })
    }

    /// What more requests at once do, and up to which the objective is kept.
    fn consequence(&self, cell: &CellSummary, deeper: Option<&CellSummary>) -> Option<String> {
        let (figure, limit_ns) = self.objective(cell);
        let mut row: Vec<&CellSummary> = self.alike(cell).collect();
        row.sort_by_key(|c| outstanding(c));
        let kept = |c: &&&CellSummary| latency(c, figure).is_some_and(|l| l <= limit_ns as f64);
        let rule = format!("{}{}", Duration::from_ns(limit_ns), figure_words(figure));
        // A depth that a deeper one keeps is not where it is lost.
        let deepest_kept = row.iter().rfind(kept);
        let kept_all = deepest_kept.is_some_and(|c| outstanding(c) == row.last().and_then(|l| outstanding(l)));
        let rule = match deepest_kept {
            _ if row.len() < 2 => None,
            _ if kept_all => Some(format!("{rule} is kept at every depth tried")),
            Some(c) => Some(format!("{rule} is kept up to {}", how_much(c))),
            None => Some(format!("{rule} is missed at every depth tried")),
        };
        let added = deeper.and_then(|d| {
            let mean = latency(d, LatencyFigure::Mean)?;
            Some(format!("more at once only adds waiting, {} on average at {}", span(mean), how_much(d)))
        });
        let parts: Vec<String> = added.into_iter().chain(rule).collect();
        (!parts.is_empty()).then(|| format!("{}.", sentence(&parts.join("; "))))
    }

    fn objective(&self, cell: &CellSummary) -> (LatencyFigure, u64) {
        let record = self.record.cells.iter().find(|c| c.id == cell.id);
        record
            .and_then(|r| self.record.objective_of(r))
            .map_or(OBJECTIVE_USUAL, |objective| (objective.of, objective.limit.as_ns()))
    }

    /// The most bytes, where another block size moves more and something else stops it.
    fn in_bytes(&self, kind: Kind, cell: &CellSummary, is_alone: bool) -> Option<String> {
        let moved = CellSummary::throughput_lasting;
        let most = self.best(kind, moved)?;
        if most.load.block_bytes <= cell.load.block_bytes || moved(most)? < moved(cell)? * (1.0 + PLATEAU_SPREAD) {
            return None;
        }
        let by = most.binding.as_ref().map_or_else(String::new, |b| match b.limit {
            Limit::Unexplained => ", where what stops them is unexplained".to_owned(),
            Limit::Latency => ", where only latency bounds them".to_owned(),
            limit => format!(", where {} ({})", what_binds(limit), limit.name()),
        });
        let what = match (kind, is_alone) {
            (Kind::Reads, true) => "reads",
            (Kind::Writes, true) => "writes",
            _ => "requests",
        };
        Some(format!(
            "In bytes the most is {} with {} {what}{by}.",
            most.lasting.as_ref().map_or_else(|| throughput(moved(most).unwrap_or(0.0)), LastingFigures::both_in_bytes),
            blocks(most)
        ))
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

fn figure_words(figure: LatencyFigure) -> String {
    if figure == LatencyFigure::Mean { " on average".to_owned() } else { format!(" at {}", figure.words()) }
}

/// The lowest ceiling above the one that binds, and by what share it is above; above the rate, where other volumes take their part of
/// what the machine allows.
fn follower<'a>(record: &RunRecord, cell: &'a CellSummary, binding: &Binding) -> Option<(&'a Ceiling, f64)> {
    let next = next_ceiling(record, cell, binding.limit)?;
    let alone = !of_vm(binding.limit) || cell.prediction.as_ref().is_none_or(|view| view.beside.is_empty());
    let share = next.iops / binding.ceiling_iops.filter(|_| alone).or(cell.iops_lasting())? - 1.0;
    Some((next, share.max(0.0)))
}

/// The same in a sentence, unless it is out of sight.
fn after(record: &RunRecord, cell: &CellSummary, binding: &Binding) -> Option<String> {
    let (next, share) = follower(record, cell, binding).filter(|(_, share)| *share <= FAR)?;
    let above = format!("{} follows at {} IOPS, {} above", next.limit.name(), number(next.iops), percent(share));
    Some(if share <= NEAR {
        format!("Lifting it alone gains next to nothing: {above}.")
    } else {
        format!("Beyond it {above}.")
    })
}

/// The cell's rate, in requests and in bytes; across a burst's end, what was before and what lasts.
fn level(cell: &CellSummary) -> String {
    if let Some(lasting) = &cell.lasting {
        return lasting.both();
    }
    let total = cell.total.as_ref();
    total.map_or_else(String::new, |t| format!("{} IOPS ({})", number(t.iops), throughput(t.throughput_bytes_per_s)))
}

#[cfg(test)]
mod tests;
