//! What always holds of a summary, whatever was measured: no line of it contradicts another. A rule that is broken is a defect of the judge.

mod comparison;
mod watch;

pub use comparison::{ComparisonViolation, comparison_violations};

use crate::curves::{is_like, outstanding, paced, sound};
use crate::finding::ObjectiveRule;
use crate::run_verdict::{RunVerdict, run_verdict};
use crate::summary::{CellSummary, RunSummary};
use crate::verdict_block::{
    Advised, Answered, Because, Certainty, Holder, LoadAnswers, MoreInFlight, ObjectiveFound, VerdictFigure,
    VerdictSubject, VolumeVerdict,
};
use crate::{AdvisedStep, LoadReached};
use loadline_record::{
    Clock, DoubtGrade, HistogramSnapshot, KernelThrottle, Limit, RunRecord, RunVerb, ThrottledQuantity,
    ThrottledRequests,
};
use std::collections::BTreeSet;

/// More requests in flight bring nothing worth the wait if they bring less than this,
const HARDLY_MORE: f64 = 1.1;
/// and are so many times as many.
const DEEPER: f64 = 1.25;
/// One figure, wherever it stands.
const ONE_FIGURE: f64 = 1e-9;
/// Rates of both directions are one if they differ by no more.
const ONE_RATE: f64 = 0.01;
/// A level that differs by no more from a throttle is that throttle.
const ONE_THROTTLE: f64 = 0.005;
/// Fewer served at once than this share of those in flight wait for one another.
const WAIT: f64 = 0.7;

/// A rule that a summary breaks.
#[derive(Debug, Clone, PartialEq)]
pub enum Violation {
    /// More requests in flight are advised, or said to give more, though the run shows that they do not.
    MoreAtOnce {
        /// The load that it is said of.
        cell: String,
        /// Whether the objective is broken by the lightest load already; otherwise another depth came to hardly more.
        breaks_objective: bool,
    },
    /// Two places name different limits of one load.
    TwoLimits {
        /// The load.
        cell: String,
        /// In the table.
        named: Option<Limit>,
        /// Elsewhere.
        elsewhere: Option<Limit>,
    },
    /// Two places have different figures of one load.
    TwoFigures {
        /// The load.
        cell: String,
        /// In the table.
        figure: f64,
        /// Elsewhere.
        elsewhere: f64,
    },
    /// An amount of load is said to keep or to break the objective, and its figure says otherwise.
    ObjectiveApart {
        /// The amount.
        at: String,
        /// Whether it is said to keep it.
        kept: bool,
        /// How it is answered.
        answered: Answered,
    },
    /// The exit status and the printed objective do not agree.
    StatusApart {
        /// Whether the objective is printed as broken.
        printed_broken: bool,
        /// The verdict that the exit status follows.
        status: RunVerdict,
    },
    /// A figure rests on a doubt that spoils it, and how sure the verdict is does not say so.
    DoubtUnsaid {
        /// The load.
        cell: String,
        /// How sure it is said to be.
        certainty: Certainty,
    },
    /// An inference is said to be certain.
    CertainInference {
        /// The load.
        cell: String,
    },
    /// A limit is likely though nothing known explains the load.
    LikelyUnexplained {
        /// The load.
        cell: String,
    },
    /// Both directions have one rate, and only one has a limit.
    OneDirection {
        /// The load that has it.
        limited: String,
        /// The one that has not.
        other: String,
    },
    /// A limit that was read has more of the time than what is said to be likely.
    SeenLimitUnsaid {
        /// The load.
        cell: String,
    },
    /// A limit in a file of the kernel holds a load, and the next step does not lift it; or the other way round.
    NotLifted {
        /// The load.
        cell: String,
    },
    /// Storage is said to change nothing though it is waited for.
    PassedOver {
        /// The load.
        cell: String,
        /// For this share of the time.
        waits: f64,
    },
    /// The mean lies above the percentile that stands beside the figure.
    MeanAbove {
        /// The load.
        cell: String,
    },
}

/// Every rule that a summary breaks.
#[must_use]
pub fn violations(record: &RunRecord, summary: &RunSummary) -> Vec<Violation> {
    let Some(verdict) = &summary.verdict else { return Vec::new() };
    let rules = Rules { record, summary };
    let mut found: Vec<Violation> = Vec::new();
    for volume in &verdict.volumes {
        let Some(cell) = rules.cell(&volume.cell) else { continue };
        found.extend(rules.more_at_once(volume, cell));
        found.extend(Rules::one_limit(volume, cell));
        found.extend(rules.sure(volume, cell));
        found.extend(rules.throttle_unsaid(volume, cell));
        found.extend(volume.gives.iter().filter_map(|figure| rules.figure(figure)));
    }
    if rules.is_watch() {
        found.extend(watch::violations(record, summary));
    }
    found.extend(rules.conclusions());
    found.extend(rules.objective());
    found.extend(rules.both_directions());
    found
}

/// Fails where a summary breaks a rule. Of made-up runs that have two loads of one id nothing can be said.
///
/// # Panics
///
/// Where a rule is broken.
pub fn assert_kept(record: &RunRecord, summary: &RunSummary) {
    let ids: BTreeSet<&str> = summary.cells.iter().map(|cell| &*cell.id).collect();
    if ids.len() == summary.cells.len() {
        assert_eq!(violations(record, summary), [], "{:#?}", summary.verdict);
    }
}

struct Rules<'a> {
    record: &'a RunRecord,
    summary: &'a RunSummary,
}

impl Rules<'_> {
    fn cell(&self, id: &str) -> Option<&CellSummary> {
        self.summary.cells.iter().find(|cell| cell.id == id)
    }

    fn is_watch(&self) -> bool {
        self.record.header.verb == RunVerb::Watch
    }

    /// Why more requests in flight than a load has do not help, if the run shows that.
    fn in_vain(&self, cell: &CellSummary) -> Option<Violation> {
        let depth = outstanding(cell)?;
        let mut row: Vec<&CellSummary> = self.summary.cells.iter().collect();
        row.retain(|of| is_like(of, cell) && of.beside.is_empty() && !paced(of) && outstanding(of).is_some());
        row.sort_by_key(|of| outstanding(of));
        let load = |of: &CellSummary| {
            let of = self.record.cells.iter().find(|known| known.id == of.id && known.volume == of.volume);
            of.map(|of| of.load.figures())
        };
        let broken = |of: &&CellSummary| ObjectiveRule::of(&load(of)?).kept(of).map(|kept| !kept);
        let breaks_objective = row.first().and_then(broken).unwrap_or(false);
        let rate = cell.iops_lasting()?;
        let rates = row.iter().filter(|of| sound(of)).filter_map(|of| Some((outstanding(of)?, of.iops_lasting()?)));
        let deeper: Vec<f64> =
            rates.filter(|(of, _)| *of as f64 >= depth as f64 * DEEPER).map(|(_, rate)| rate).collect();
        let hardly = !deeper.is_empty() && deeper.iter().all(|of| *of < rate * HARDLY_MORE);
        (breaks_objective || hardly).then(|| Violation::MoreAtOnce { cell: cell.id.clone(), breaks_objective })
    }

    fn more_at_once(&self, volume: &VolumeVerdict, cell: &CellSummary) -> Option<Violation> {
        let advised = matches!(volume.next, Some(Advised::Move { limit: Limit::Latency, .. }));
        let said = matches!(&volume.held_by, Holder::Limit(held) if held.more.is_some_and(MoreInFlight::may_help));
        self.in_vain(cell).filter(|_| advised || said)
    }

    fn one_limit(volume: &VolumeVerdict, cell: &CellSummary) -> Vec<Violation> {
        let named = cell.binding.as_ref().map(|binding| binding.limit);
        let mut found = Vec::new();
        let mut apart = |elsewhere: Option<Limit>| {
            if elsewhere != named {
                found.push(Violation::TwoLimits { cell: cell.id.clone(), named, elsewhere });
            }
        };
        match &volume.held_by {
            Holder::Limit(held) => {
                apart(volume.limit);
                apart(Some(held.limit));
            }
            Holder::Throttles { throttles, .. } => {
                let has_own = cell.held_by.as_ref().is_some_and(|own| throttles.contains(own));
                if !has_own {
                    apart(None);
                }
            }
            _ => {}
        }
        found
    }

    fn sure(&self, volume: &VolumeVerdict, cell: &CellSummary) -> Option<Violation> {
        let id = cell.id.clone();
        let is_spoiled = cell.doubts.iter().any(|doubt| doubt.code.grade() == DoubtGrade::Spoils);
        let of_cell = matches!(volume.held_by, Holder::Limit(_));
        let inferred = cell.binding.as_ref().is_some_and(|binding| binding.inferred);
        let by_model = matches!(volume.because, Because::Model) || self.record.header.clock == Clock::Virtual;
        match volume.certainty {
            Certainty::Likely if is_spoiled && of_cell && !self.is_watch() => {
                Some(Violation::DoubtUnsaid { cell: id, certainty: volume.certainty })
            }
            Certainty::Certain if of_cell && inferred && !by_model => Some(Violation::CertainInference { cell: id }),
            Certainty::Likely if of_cell && volume.limit == Some(Limit::Unexplained) => {
                Some(Violation::LikelyUnexplained { cell: id })
            }
            _ => None,
        }
    }

    /// What is likely excludes the limits that were read: an inferred one has not the figure of a throttle that is not named.
    fn throttle_unsaid(&self, volume: &VolumeVerdict, cell: &CellSummary) -> Option<Violation> {
        let binding = cell.binding.as_ref().filter(|binding| binding.inferred && cell.held_by.is_none())?;
        let is_likely = volume.certainty == Certainty::Likely && matches!(volume.held_by, Holder::Limit(_));
        let ceiling = binding.ceiling_iops.filter(|_| is_likely && binding.limit == Limit::DiskIops)?;
        let facts = self.record.header.volumes.iter().find(|facts| facts.name == cell.volume)?;
        let has_it = |limit: &KernelThrottle| {
            let is_met = match limit.requests {
                ThrottledRequests::Reads => cell.reads_only(),
                ThrottledRequests::Writes => cell.writes_only(),
            };
            let is_same = (ceiling / limit.per_s.max(1) as f64 - 1.0).abs() <= ONE_THROTTLE;
            is_met && is_same && limit.counts == ThrottledQuantity::Requests
        };
        let found = facts.devices.iter().flat_map(|device| &device.throttles).any(has_it);
        found.then(|| Violation::SeenLimitUnsaid { cell: cell.id.clone() })
    }

    fn figure(&self, figure: &VerdictFigure) -> Option<Violation> {
        let cell = self.cell(&figure.cell)?;
        let own = match figure.what {
            VerdictSubject::SmallReads | VerdictSubject::SmallWrites | VerdictSubject::Requests => cell.iops_lasting(),
            VerdictSubject::LargeReads | VerdictSubject::LargeWrites => cell.throughput_lasting(),
            _ => None,
        };
        let apart = own.filter(|own| (own - figure.value).abs() > ONE_FIGURE * own.abs() && !self.is_watch());
        if let Some(own) = apart {
            return Some(Violation::TwoFigures { cell: cell.id.clone(), figure: own, elsewhere: figure.value });
        }
        let above = |latency: &HistogramSnapshot| {
            latency.p99_9.is_some() && latency.p99.is_some_and(|p99| latency.mean > p99 as f64)
        };
        let of_rate = [&cell.read, &cell.write].into_iter().flatten().any(|of| above(&of.latency_ns));
        let is_rate = !figure.what.is_latency() && figure.p99_ns.is_some() && cell.lasting.is_none();
        (is_rate && of_rate && figure.p99_9_ns.is_none()).then(|| Violation::MeanAbove { cell: cell.id.clone() })
    }

    fn conclusions(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        for one in &self.summary.conclusions {
            let Some(cell) = self.cell(&one.cell) else { continue };
            let named = cell.binding.as_ref().map(|binding| binding.limit);
            if !matches!(one.reached, LoadReached::Hosts { .. }) && one.limit != named {
                found.push(Violation::TwoLimits { cell: cell.id.clone(), named, elsewhere: one.limit });
            }
            let more = |step: &AdvisedStep| matches!(step, AdvisedStep::MoveLimit { limit: Limit::Latency, .. });
            if one.steps.iter().any(more) {
                found.extend(self.in_vain(cell));
            }
        }
        found
    }

    fn objective(&self) -> Vec<Violation> {
        let verdict = self.summary.verdict.as_ref();
        let Some(objective) = verdict.and_then(|verdict| verdict.objective.as_ref()) else { return Vec::new() };
        let limit_ns = objective.rule.limit_ns as f64;
        let agrees = |of: &LoadAnswers, kept: bool| match of.answered {
            Answered::After(ns) => (ns <= limit_ns) == kept,
            Answered::NotInTime | Answered::InDraws { .. } => !kept,
            // What is not known is neither kept nor missed.
            Answered::Unknown => false,
        };
        let apart = |of: &LoadAnswers, kept: bool| {
            let violation = || Violation::ObjectiveApart { at: of.at.clone(), kept, answered: of.answered };
            (!agrees(of, kept)).then(violation)
        };
        let mut found: Vec<Violation> = match &objective.found {
            ObjectiveFound::Everywhere { at, latency_ns, .. } => {
                let of = LoadAnswers { at: at.clone(), answered: Answered::After(*latency_ns) };
                apart(&of, true).into_iter().collect()
            }
            ObjectiveFound::UpTo { kept, broken, .. } => {
                apart(kept, true).into_iter().chain(apart(broken, false)).collect()
            }
            ObjectiveFound::Broken { lightest, heavier, .. } => {
                let heavier = heavier.as_ref().and_then(|heavier| apart(heavier, true));
                apart(lightest, false).into_iter().chain(heavier).collect()
            }
        };
        let printed_broken = matches!(objective.found, ObjectiveFound::Broken { .. });
        let status = run_verdict(self.record);
        let all_have_it = self.record.cells.iter().all(|cell| cell.load.figures().objective.is_some());
        let is_other = matches!(status, RunVerdict::WrongData);
        if all_have_it && !is_other && printed_broken != (status == RunVerdict::Broken) {
            found.push(Violation::StatusApart { printed_broken, status });
        }
        found
    }

    /// Reads and writes that come to one rate at one depth, though each waits, have one limit.
    fn both_directions(&self) -> Vec<Violation> {
        let cells = &self.summary.cells;
        let is_disk = |cell: &CellSummary| {
            cell.binding.as_ref().is_some_and(|binding| {
                binding.inferred && matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput)
            })
        };
        let is_open = |cell: &CellSummary| {
            cell.binding.as_ref().is_some_and(|binding| {
                binding.inferred && matches!(binding.limit, Limit::Latency | Limit::Parallelism | Limit::Unexplained)
            })
        };
        let is_plain = |cell: &CellSummary| {
            cell.flush.is_none() && cell.beside.is_empty() && !paced(cell) && sound(cell) && !cell.load.buffered
        };
        let waits = |cell: &CellSummary| {
            let alone = cells.iter().find(|of| is_like(of, cell) && outstanding(of) == Some(1) && !paced(of));
            let most = alone.and_then(CellSummary::iops_lasting).zip(outstanding(cell));
            let rate = cell.iops_lasting().unwrap_or(0.0);
            most.is_some_and(|(single, depth)| depth > 1 && rate < single * depth as f64 * WAIT)
        };
        let is_mirror = |a: &CellSummary, b: &CellSummary| {
            let opposite = (a.reads_only() && b.writes_only()) || (a.writes_only() && b.reads_only());
            let same = (&a.load.pattern, a.load.block_bytes, outstanding(a))
                == (&b.load.pattern, b.load.block_bytes, outstanding(b));
            opposite && same && a.volume == b.volume
        };
        let one_rate = |a: &CellSummary, b: &CellSummary| {
            let level = a.binding.as_ref().and_then(|binding| binding.ceiling_iops);
            level.zip(b.iops_lasting()).is_some_and(|(level, rate)| (rate / level - 1.0).abs() <= ONE_RATE)
        };
        // A level that more of the same requests go beyond is none.
        let is_most = |a: &CellSummary, b: &CellSummary| {
            let level = a.binding.as_ref().and_then(|binding| binding.ceiling_iops).unwrap_or(0.0);
            let like = cells.iter().filter(|of| is_like(of, b) && !paced(of) && outstanding(of).is_some());
            like.filter_map(CellSummary::iops_lasting).all(|rate| rate <= level * HARDLY_MORE)
        };
        if self.record.header.clock == Clock::Virtual || self.is_watch() {
            return Vec::new();
        }
        let pairs = cells.iter().flat_map(|a| cells.iter().map(move |b| (a, b)));
        let broken = pairs.filter(|(a, b)| {
            let is_pair = is_mirror(a, b) && is_plain(a) && is_plain(b);
            is_pair && is_disk(a) && is_open(b) && waits(b) && one_rate(a, b) && is_most(a, b)
        });
        broken.map(|(a, b)| Violation::OneDirection { limited: a.id.clone(), other: b.id.clone() }).collect()
    }
}
