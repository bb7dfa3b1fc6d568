//! What limits a device that others use, out of the samples of a watch (`docs/inside/watch.md`).
//!
//! Each second is put down to one cause: a limit that is known and reached, a level at which rates stop though more waits, waiting for
//! flushes or for answers, a CPU quota, a cache, or nothing at all. The cause with the most of the time is what binds.

mod above;
mod arrivals;
mod course;
mod facts;
mod findings;
mod holder;
mod level;
mod verdict;

pub(crate) use findings::{findings, waited};
pub use holder::{OtherProgram, WatchBeside, WatchHeld, WatchHolder, WatchNext, WatchStep};
pub(crate) use verdict::{conclusions, verdict, volumes};

use crate::device_throttle::HeldBy;
use crate::summary::{CauseShare, CellSummary, ProgramFigures, ThrottleUse, WatchView};
use crate::words::number;
use course::{Beside, Cause, Moment, moments, parts};
use level::{Level, joint_level, level};
use loadline_record::{
    Binding, CellRecord, Limit, ProgramSecond, RunRecord, SecondLimit, SourceLimit, ThrottledQuantity, WatchCause,
    WatchRecord, WatchTick, WatchedProgram,
};

/// A limit that holds for less of the time than this is mentioned, and binds nothing.
const BINDING_MIN: f64 = 0.1;
/// Quotas and caches are what it is from this share of the time on.
const ELSEWHERE_MIN: f64 = 0.25;

/// What a watch of one device comes to.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// What bound it.
    pub(crate) binding: Binding,
    /// For which share of the time.
    pub(crate) share: f64,
    pub(crate) held_by: Option<HeldBy>,
    pub(crate) view: WatchView,
}

/// The samples of a cell, where it was watched.
pub(crate) fn watched(cell: &CellRecord) -> Option<&WatchRecord> {
    cell.trials.last()?.watched.as_deref()
}

/// Names what bound each watched cell, after everything else of it is known.
pub(crate) fn name_watched(record: &RunRecord, cells: &mut [CellSummary]) {
    for (cell, own) in cells.iter_mut().zip(&record.cells) {
        let Some(judged) = judge(own, &record.cells) else { continue };
        cell.binding = Some(judged.binding);
        cell.binding_share = Some(judged.share);
        cell.held_by = judged.held_by;
        cell.watch = Some(judged.view);
        cell.ceilings.clone_from(&own.ceilings);
    }
}

/// A watch over time.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchCourse {
    /// What its time went to, the largest share first.
    pub causes: Vec<CauseShare>,
    /// About a second each, in their order.
    pub seconds: Vec<CourseSecond>,
}

/// About a second of a watch.
#[derive(Debug, Clone, PartialEq)]
pub struct CourseSecond {
    /// What the device counted.
    pub tick: WatchTick,
    /// What it is put down to: causes by their place, with their shares of it.
    pub causes: Vec<(usize, f64)>,
}

/// The course of a cell, one of `cells`; `None` where it was not watched.
#[must_use]
pub fn watch_course(cell: &CellRecord, cells: &[CellRecord]) -> Option<WatchCourse> {
    let watch = watched(cell)?;
    let (all, level) = attributed(cell, watch, cells);
    let shares = shares(&all);
    let place = |cause: Cause| shares.iter().position(|(of, _)| *of == cause);
    let second = |moment: &Moment| CourseSecond {
        tick: moment.tick,
        causes: moment.causes.iter().filter_map(|(cause, share)| Some((place(*cause)?, *share))).collect(),
    };
    let seconds = all.iter().map(second).collect();
    Some(WatchCourse { causes: cause_shares(&shares, watch, level.as_ref()), seconds })
}

fn cause_shares(shares: &[(Cause, f64)], watch: &WatchRecord, level: Option<&Level>) -> Vec<CauseShare> {
    let of = |(cause, share): &(Cause, f64)| CauseShare {
        cause: cause.value(watch),
        limit: cause.limit(watch, level),
        share: *share,
    };
    shares.iter().map(of).collect()
}

/// The seconds of a cell, one of `cells`, each put down to its causes, and the level at which its rate stops.
fn attributed(cell: &CellRecord, watch: &WatchRecord, cells: &[CellRecord]) -> (Vec<Moment>, Option<Level>) {
    let others = cells.iter().filter(|other| other.id != cell.id);
    let beside: Vec<Beside<'_>> = others.filter_map(Beside::of).collect();
    let mut all = moments(watch);
    let in_clusters = watch.events.as_ref().is_some_and(|events| events.clusters.is_some());
    let (parts, places) = parts(watch);
    let own = level(&parts, in_clusters);
    let level = own.or_else(|| (!beside.is_empty()).then(|| joint_level(&parts, &beside)).flatten());
    let level = level.map(|level| level.of_moments(all.len(), &places));
    course::attribute(&mut all, watch, &cell.ceilings, &beside, level.as_ref());
    (all, level)
}

/// What the samples of a cell come to, one of `cells`; `None` where it was not watched.
pub(crate) fn judge(cell: &CellRecord, cells: &[CellRecord]) -> Option<Judged> {
    let watch = watched(cell)?;
    let (all, level) = attributed(cell, watch, cells);
    let shares = shares(&all);
    let cause = binding_cause(&shares);
    let share = shares.iter().find(|(of, _)| *of == cause).map_or(0.0, |(_, share)| *share);
    let device = cell.volume.as_str();
    let standing = match cause {
        Cause::Throttle(place) => Some(SecondLimit::Throttle(place)),
        Cause::Queue => Some(SecondLimit::Queue),
        Cause::Quota(place) => Some(SecondLimit::Quota(place)),
        Cause::Memory(place) => Some(SecondLimit::Memory(place)),
        Cause::Swap => watch.principal().map(SecondLimit::Memory),
        _ => None,
    };
    let standing = standing.and_then(|limit| watch.limit_of(limit, device));
    let held_by = match &standing {
        Some(SourceLimit::Throttle { limit, .. }) => {
            Some(HeldBy { device: device.to_owned(), devices: 1, limit: limit.clone() })
        }
        _ => None,
    };
    let level = level.as_ref();
    let binding = facts::Seen { cell, watch, all: &all, cause, share, level }.binding();
    let view = WatchView { standing, ..view(watch, &all, &shares, level, &binding, cells.len() == 1) };
    Some(Judged { binding, share, held_by, view })
}

/// How much of the time each cause had, the largest first.
fn shares(all: &[Moment]) -> Vec<(Cause, f64)> {
    let length: f64 = all.iter().map(|moment| moment.seconds).sum();
    let mut shares: Vec<(Cause, f64)> = Vec::new();
    for moment in all {
        for (cause, part) in &moment.causes {
            let part = part * moment.seconds / length.max(1e-9);
            match shares.iter_mut().find(|(of, _)| of == cause) {
                Some((_, sum)) => *sum += part,
                None => shares.push((*cause, part)),
            }
        }
    }
    for (_, share) in &mut shares {
        *share = share.min(1.0);
    }
    shares.sort_by(|(a, one), (b, other)| other.total_cmp(one).then_with(|| a.cmp(b)));
    shares
}

/// The cause with the most time. Limits, quotas and caches come before a device that waits for work as soon as they have enough of it;
/// answers and flushes together take half of what both have.
fn binding_cause(shares: &[(Cause, f64)]) -> Cause {
    let of = |is: fn(Cause) -> bool| shares.iter().filter(|(cause, _)| is(*cause)).map(|(_, share)| share).sum::<f64>();
    let waiting = of(|cause| matches!(cause, Cause::Flush | Cause::Answers | Cause::Memory(_) | Cause::Swap));
    let idle = of(|cause| matches!(cause, Cause::Nothing | Cause::Application(..)));
    let enough = |(cause, share): &&(Cause, f64)| match cause {
        Cause::Throttle(_) | Cause::Exceeded(_) | Cause::Declared(_) | Cause::Queue | Cause::Level | Cause::Burst => {
            *share >= BINDING_MIN
        }
        Cause::Quota(_) | Cause::Processors | Cause::Cache(_) => *share >= ELSEWHERE_MIN,
        Cause::Flush | Cause::Answers | Cause::Memory(_) | Cause::Swap => waiting >= idle,
        Cause::Nothing | Cause::Application(..) => false,
    };
    // Else the device waits for work, and what its program does instead is named if that has more of the time than nothing has.
    let instead = || shares.iter().find(|(cause, _)| matches!(cause, Cause::Nothing | Cause::Application(..)));
    shares.iter().find(enough).or_else(instead).map_or(Cause::Nothing, |(cause, _)| *cause)
}

fn view(
    watch: &WatchRecord,
    all: &[Moment],
    shares: &[(Cause, f64)],
    level: Option<&Level>,
    binding: &Binding,
    is_alone: bool,
) -> WatchView {
    let length = facts::length_s(all);
    let mean = |of: fn(&Moment) -> f64| all.iter().map(|moment| of(moment) * moment.seconds).sum::<f64>() / length;
    let throttles = watch.throttles.iter().map(|throttle| {
        let asked = throttle.asked.as_ref().map(|asked| asked.iter().sum::<u64>() as f64 / length);
        ThrottleUse { limit: throttle.limit.clone(), asked_per_s: asked }
    });
    let device = all.iter().map(|moment| moment.tick).reduce(WatchTick::joined).unwrap_or_default();
    let programs = watch.programs.iter().enumerate().map(|(place, program)| {
        let sum = facts::sum(program);
        ProgramFigures {
            name: program.name.clone(),
            pid: program.pid,
            processes: program.processes,
            named: watch.subject == Some(place),
            read_bytes_per_s: sum.read_bytes as f64 / length,
            write_bytes_per_s: sum.write_bytes as f64 / length,
            cpus: sum.cpu_us as f64 / 1e6 / length,
            share: share_of_device(program, sum, watch, device),
        }
    });
    let (arrivals, outstanding) = arrivals::arrivals(watch, all);
    let throttled_share =
        shares.iter().filter(|(cause, _)| matches!(cause, Cause::Throttle(_))).map(|(_, share)| share).sum();
    let causes = cause_shares(shares, watch, level);
    let gain = findings::gain(outstanding, &causes, Some(binding.limit));
    let most = all.last().and_then(|moment| moment.causes.iter().max_by(|(_, a), (_, b)| a.total_cmp(b)));
    WatchView {
        standing: None,
        cause_last: most.map(|(cause, _)| cause.value(watch)),
        causes,
        busy_share: mean(|moment| moment.busy),
        outstanding,
        arrivals,
        gain,
        throttles: throttles.collect(),
        programs: programs.collect(),
        hidden: watch.hidden,
        watching_cpu_share: watch.cost.share(),
        events_seen: watch.events.as_ref().map(|events| events.requests),
        events_lost: watch.events.as_ref().map(|events| events.lost),
        askers: watch.events.as_ref().map_or_else(Vec::new, |events| events.askers.clone()),
        clusters: watch.events.as_ref().and_then(|events| events.clusters),
        events_cpu_share: watch
            .events
            .as_ref()
            .map(|events| events.cpu_us as f64 / watch.cost.elapsed_us.max(1) as f64),
        above_device: above::wait_above(watch, all, throttled_share, is_alone),
    }
}

/// How much of a device's bytes a program moved: by its own counters if it uses no other storage, else by the kernel's events. Bytes of
/// programs that use several devices cannot be put down to one.
fn share_of_device(
    program: &WatchedProgram,
    sum: ProgramSecond,
    watch: &WatchRecord,
    device: WatchTick,
) -> Option<f64> {
    let (read, written) = if program.only_here == Some(true) {
        (sum.read_bytes, sum.write_bytes)
    } else {
        let asker = watch.events.as_ref()?.askers.iter().find(|asker| asker.name == program.name)?;
        (asker.read_bytes, asker.write_bytes)
    };
    let own = read.min(device.read_bytes) + written.min(device.write_bytes);
    (device.bytes() > 0).then(|| own as f64 / device.bytes() as f64)
}

impl Cause {
    /// As summaries have it.
    fn value(self, watch: &WatchRecord) -> WatchCause {
        let program = |place: usize| watch.programs[place].name.clone();
        match self {
            Self::Throttle(place) => WatchCause::Throttle { throttle: watch.throttles[place].limit.clone() },
            Self::Exceeded(limit) => WatchCause::CountedExcess { limit },
            Self::Declared(limit) => WatchCause::DeclaredLimit { limit },
            Self::Queue => watch.queue.clone().map_or(WatchCause::Level, |queue| WatchCause::Queue { queue }),
            Self::Memory(place) => WatchCause::Memory { program: program(place) },
            Self::Swap => WatchCause::Swap,
            Self::Level => WatchCause::Level,
            Self::Burst => WatchCause::LevelAfterBurst,
            Self::Flush => WatchCause::Flushes,
            Self::Answers => WatchCause::Answers,
            Self::Quota(place) => WatchCause::Quota { program: program(place) },
            Self::Processors => WatchCause::Processors,
            Self::Cache(place) => WatchCause::PageCache { program: program(place) },
            Self::Application(place, at) => WatchCause::Application { program: program(place), at },
            Self::Nothing => WatchCause::NoWork,
        }
    }
    /// The limit that it is, where it is one of storage.
    fn limit(self, watch: &WatchRecord, level: Option<&Level>) -> Option<Limit> {
        match self {
            Self::Throttle(place) => Some(match watch.throttles[place].limit.counts {
                ThrottledQuantity::Requests => Limit::DiskIops,
                ThrottledQuantity::Bytes => Limit::DiskThroughput,
            }),
            Self::Exceeded(limit) | Self::Declared(limit) => Some(limit),
            Self::Queue => Some(Limit::Parallelism),
            Self::Level => level.map(|level| level.limit),
            Self::Burst => Some(Limit::BurstExhausted),
            Self::Flush => Some(Limit::Flush),
            Self::Answers => Some(Limit::Latency),
            Self::Quota(_) | Self::Processors => Some(Limit::Cpu),
            Self::Memory(_) | Self::Swap => Some(Limit::Memory),
            Self::Cache(_) => Some(Limit::Cache),
            Self::Nothing | Self::Application(..) => Some(Limit::Arrival),
        }
    }
}

/// "3.2 requests", "12 requests".
fn waiting(outstanding: f64) -> String {
    match outstanding {
        few if few < 9.95 => format!("{few:.1} requests"),
        many => format!("{} requests", number(many)),
    }
}

#[cfg(test)]
mod tests;
