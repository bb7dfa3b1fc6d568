//! What bound each cell, as far as the run's own figures show it (`docs/inside/how-limits-are-named.md`).

mod arriving;
mod beside;
mod both_ways;
mod caps;
mod ceilings;
mod counters;
mod course;
mod cpu;
mod declared;
mod direction;
mod durable;
mod interface;
mod kinds;
mod listing;
mod model;
mod of_model;
mod passed;
mod seen_cells;
mod single;
mod sizes;
mod thinking;
mod together;
mod turns;
mod waiting;

use crate::clusters::Clusters;
use crate::curves::{Curve, Growth, Plateau, curves, doubted, iops, met, outstanding, paced, pressed, sound};
use crate::doubts::{HeldBack, held_back, stopped_share};
use crate::stalls::stood_still;
use crate::summary::CellSummary;
use crate::trials::MET_TOLERANCE;
use crate::words::load_name;
use arriving::is_left_waiting;
use caps::{Caps, Seen, caps, explains};
pub(crate) use caps::{request_bytes, sold_limit, usual_limit};
pub(crate) use counters::exceeded_shares;
use course::passes_in_turns;
pub(crate) use course::{Course, Fall, course, fall, has_turns, level, rises};
pub(crate) use cpu::others_share;
use cpu::{has_spare_cpu, is_run_in_time};
pub(crate) use declared::surpassed;
pub(crate) use direction::{Direction, one_direction};
use kinds::{
    Kind, SAME_RATE, alike, apart, comparable, highest, kinds, larger_moves_more, moved, requests_of, same, sample,
};
pub use listing::{LimitFigure, Quantity, known_limits, limits};
use loadline_record::{
    Access, Asked, Binding, CellRecord, Clock, CourseFact, DepthRate, Doubt, DoubtCode, DoubtEvidence, Ending,
    Evidence, LevelFact, LevelShown, Limit, LoadFact, RateHeld, RunRecord, TargetKind, VolumeFacts, WaitingFact,
};
use passed::{Of, waits_evenly};
use seen_cells::{SeenCells, alike_key};
use single::{waiting_alone, waits_alone};
use std::collections::BTreeMap;
use thinking::by_think_time;
use turns::waits_for_turns;

/// From this size on disks as they are sold count bytes, B.
const LARGE_BLOCK: f64 = 131_072.0;
/// A rate that comes to this share of another has been kept.
const KEPT_MIN: f64 = 0.95;
/// A cache that answers this share holds the load; of less the misses do.
const CACHED_MOST: f64 = 0.5;
/// Slow requests of two depths are one tail if their share, and what they take, differ by no more.
const SAME_TAIL: f64 = 0.5;
/// A tool that did not run for a larger share of its time was the limit itself. With less, what else holds the rate may still do so:
/// a throttle makes up for pauses.
const STOPPED_MAX: f64 = 0.2;

/// Names what bound each cell and gives the ceilings that follow from plateaus and from the latency of a single request.
/// Returns the curves that it found.
pub(crate) fn name_limits(
    record: &RunRecord,
    cells: &mut [CellSummary],
    clustered: &mut [Option<Clusters>],
) -> Vec<Curve> {
    let curves = curves(&record.cells, cells);
    leave_out_tails(&curves, cells, clustered);
    let clustered = &*clustered;
    let kinds = kinds(&curves, cells, clustered);
    let courses = courses(record, cells);
    let seen = SeenCells::of(cells, seen(record, cells, clustered, &courses, &curves));
    let of = Of { cells, records: &record.cells, courses: &courses, seen: &seen };
    let caps = caps(of);
    let own_curves = own_curves(&curves, cells.len());
    let named: Vec<_> = (0..cells.len())
        .map(|index| {
            let volume = record.header.volumes.iter().find(|v| v.name == cells[index].volume);
            let own = own_curves[index];
            let records = &record.cells;
            // A model that answers in real time knows it, too.
            let is_modelled = records[index].trials.iter().any(|trial| trial.model.is_some());
            if record.header.clock == Clock::Virtual || is_modelled {
                let told = model::binding(&record.cells[index]);
                // The model counts only the time that requests take.
                let own = told
                    .as_ref()
                    .filter(|b| b.limit == Limit::Latency)
                    .and_then(|_| by_think_time(&cells[index], None));
                let own = own.map(|binding| Binding { inferred: false, ..binding });
                return (own.or(told), model::ceilings(&record.cells[index]));
            }
            let case = Case {
                cells,
                index,
                volume,
                records,
                curves: &curves,
                kinds: &kinds,
                own,
                clustered,
                courses: &courses,
                seen: &seen,
                caps: &caps,
            };
            let binding = case.binding();
            let ceilings = case.ceilings(binding.as_ref());
            (binding, ceilings)
        })
        .collect();
    for (cell, (binding, ceilings)) in cells.iter_mut().zip(named) {
        cell.binding = binding;
        cell.ceilings = ceilings;
    }
    if record.header.clock == Clock::Real {
        interface::in_common(record, cells);
        together::sums_as_alone(record, cells);
        both_ways::one_limit_in_both(cells, &curves);
    }
    curves
}

/// Slow requests of which each depth has the same share, and whose rate grows with the depth, are a tail of latencies: a throttle would make
/// more of them wait, and let no more through.
fn leave_out_tails(curves: &[Curve], cells: &[CellSummary], clustered: &mut [Option<Clusters>]) {
    let found = clustered.to_vec();
    let is_same = |a: usize, b: usize| {
        found[a]
            .as_ref()
            .zip(found[b].as_ref())
            .is_some_and(|(a, b)| same(a.slow_share, b.slow_share, SAME_TAIL) && same(a.slow_ns, b.slow_ns, SAME_TAIL))
    };
    for curve in curves {
        for index in &curve.closed {
            let beyond = curve.growth_beyond(cells, *index).is_some_and(Growth::proportional);
            let up_to = curve.growth(cells, *index).filter(|growth| growth.to == *index && growth.proportional());
            if beyond || up_to.is_some_and(|growth| is_same(growth.from, growth.to)) {
                clustered[*index] = None;
            }
        }
    }
}

/// The place of each cell's curve, if it is on one.
fn own_curves(curves: &[Curve], cells: usize) -> Vec<Option<usize>> {
    let mut own = vec![None; cells];
    for (place, curve) in curves.iter().enumerate() {
        for index in curve.closed.iter().chain(&curve.open) {
            own[*index].get_or_insert(place);
        }
    }
    own
}

/// How the rate of each cell went. A fall is none where a load of the same kind and size that began later kept the rate from before
/// it: what was spent would not have been there for that one, so the fall was something that passed.
pub(crate) fn courses(record: &RunRecord, cells: &[CellSummary]) -> Vec<Option<Course>> {
    let found: Vec<Option<Course>> = record.cells.iter().map(course).collect();
    let began = |index: usize| record.cells[index].trials.iter().map(|trial| trial.started_unix_s);
    let key = |index: usize| (alike_key(&cells[index]), cells[index].load.block_bytes);
    // Of each kind and size: the cells that kept their rate, by their beginnings, with the most that any from there on kept.
    let mut kept: BTreeMap<_, Vec<(u64, f64)>> = BTreeMap::new();
    for (index, course) in found.iter().enumerate() {
        let kept_rate = course.as_ref().filter(|course| course.falls.is_empty());
        if let (Some(course), Some(begun)) = (kept_rate, began(index).min()) {
            kept.entry(key(index)).or_default().push((begun, course.sustained));
        }
    }
    for kept in kept.values_mut() {
        kept.sort_by_key(|(begun, _)| *begun);
        let mut most = f64::NEG_INFINITY;
        for (_, sustained) in kept.iter_mut().rev() {
            most = most.max(*sustained);
            *sustained = most;
        }
    }
    let is_contradicted = |own: usize, rate: f64| {
        let (Some(kept), Some(last)) = (kept.get(&key(own)), began(own).max()) else { return false };
        let later = kept.partition_point(|(begun, _)| *begun <= last);
        kept.get(later).is_some_and(|(_, most)| *most >= rate * KEPT_MIN)
    };
    let revised = |own: usize| {
        let course = found[own].clone()?;
        let passed = course.fall().is_some_and(|fall| is_contradicted(own, fall.before));
        if passed { Course::without_fall(&record.cells[own]) } else { Some(course) }
    };
    (0..cells.len()).map(revised).collect()
}

/// One cell with all that may say something about it.
struct Case<'a> {
    cells: &'a [CellSummary],
    index: usize,
    volume: Option<&'a VolumeFacts>,
    records: &'a [CellRecord],
    curves: &'a [Curve],
    kinds: &'a [Option<Kind>],
    own: Option<usize>,
    clustered: &'a [Option<Clusters>],
    courses: &'a [Option<Course>],
    seen: &'a SeenCells,
    caps: &'a [Option<Caps>],
}

/// What each cell shows by itself.
fn seen(
    record: &RunRecord,
    cells: &[CellSummary],
    clustered: &[Option<Clusters>],
    courses: &[Option<Course>],
    curves: &[Curve],
) -> Vec<Option<Seen>> {
    let level: Vec<usize> = curves.iter().filter_map(|c| c.plateau.as_ref()).flat_map(|p| p.cells.clone()).collect();
    // The deepest that hardly had more than the one before it.
    let flat = |curve: &Curve| {
        let deepest = *curve.closed.last()?;
        curve.growth(cells, deepest).filter(|growth| growth.flat() && growth.to == deepest).map(|_| deepest)
    };
    let deepest: Vec<usize> = curves.iter().filter_map(flat).collect();
    (0..cells.len())
        .map(|index| {
            let (cell, course) = (&cells[index], courses[index].as_ref()?);
            // What others leave of a limit shows no limit.
            if !cell.beside.is_empty() {
                return None;
            }
            let volume = record.header.volumes.iter().find(|v| v.name == cell.volume);
            let is_closed = cell.load.queue_depth.is_some();
            let is_free = has_spare_cpu(&record.cells[index]) || is_run_in_time(&record.cells[index]);
            let held = || {
                let trials = record.cells[index].trials.iter();
                trials
                    .filter_map(|t| Some((t, volume?)))
                    .any(|(t, v)| held_back(&record.cells[index].load.figures(), t, v).is_some())
            };
            let left = cell.load.queue_depth.is_none() && is_left_waiting(&record.cells[index]);
            let unmet = met(cell).is_some_and(|share| share < 1.0 - MET_TOLERANCE || left);
            let met = met(cell).is_some() && !unmet;
            let spins = cell.load.pattern == Access::Random
                && !level.contains(&index)
                && volume.is_some_and(|volume| volume.devices.iter().any(|device| device.rotational == Some(true)));
            let in_turns = is_run_in_time(&record.cells[index]) && passes_in_turns(&record.cells[index]);
            let is_held = is_free && held();
            // A throttle's turn may pass fewer than wait for it; that it is none of the device the kernel's counters show.
            let by_turns = clustered[index].is_some() || in_turns || (is_held && has_turns(&record.cells[index]));
            let shows_rate = by_turns || (is_closed && course.steady && !spins);
            let shown = shows_rate || is_held;
            let turns = !spins && !level.contains(&index) && waits_for_turns(&record.cells[index]);
            let is_waiting = turns || waits_alone(cell);
            let stalls = !shown && !unmet && is_waiting;
            Some(Seen {
                sustained: course.sustained,
                interval: course.interval,
                counted: shown || unmet || stalls,
                clustered: clustered[index].is_some(),
                by_turns,
                shows_rate: shows_rate || unmet || (is_closed && !paced(cell) && is_free && waits_evenly(cell)),
                at_level: level.contains(&index) || deepest.contains(&index),
                in_plateau: level.contains(&index),
                unmet_alone: unmet && !shown && !is_waiting,
                stalls,
                turns,
                met,
                spins,
            })
        })
        .collect()
}

impl Case<'_> {
    fn cell(&self) -> &CellSummary {
        &self.cells[self.index]
    }
    fn record(&self) -> &CellRecord {
        &self.records[self.index]
    }
    fn plateau(&self) -> Option<&Plateau> {
        self.curves[self.own?].plateau.as_ref()
    }
    fn course(&self) -> Option<&Course> {
        self.courses[self.index].as_ref()
    }

    /// What bound the cell; declared limits that it surpassed are told of, whatever it was.
    fn binding(&self) -> Option<Binding> {
        let mut binding = self.of_memory(self.beside_others(self.amplified(self.named()?)));
        if let Some(changes) = self.changes().filter(|_| binding.inferred) {
            binding.seen.push(changes);
        }
        let is_above = matches!(binding.limit, Limit::Cache | Limit::Generator);
        if binding.inferred
            && !is_above
            && let Some(passed) = self.passed_declared()
        {
            binding.seen.push(passed);
        }
        let is_disk = matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput);
        let is_lower = self.declared().all(|ceiling| binding.ceiling_iops.is_some_and(|own| own < ceiling.iops));
        if binding.inferred
            && is_disk
            && is_lower
            && let Some(below) = self.below_declared()
        {
            binding.seen.push(below);
        }
        Some(binding)
    }

    /// A disk's limit on a load whose data lay in memory below the device is presumed, unless something counts its requests.
    fn of_memory(&self, binding: Binding) -> Binding {
        let is_disk = matches!(binding.limit, Limit::DiskIops | Limit::DiskThroughput);
        let is_counted = self.seen[self.index].as_ref().is_some_and(|seen| seen.counted && !seen.stalls);
        if !is_disk || !binding.inferred || is_counted || !doubted(self.cell(), DoubtCode::CachedBelow) {
            return binding;
        }
        Binding { presumed: true, seen: binding.seen.clone().and(WaitingFact::InMemoryBelow), ..binding }
    }

    fn named(&self) -> Option<Binding> {
        let rate = iops(self.cell())?;
        Some(
            self.by_arrival(rate)
                .or_else(|| self.by_thinking_alone())
                .or_else(|| self.by_nothing_below())
                .or_else(|| self.by_ending())
                .or_else(|| self.by_cache().filter(|_| !self.waits_for_flushes()))
                .or_else(|| self.by_generator().filter(|_| !self.waits_for_flushes()))
                .or_else(|| self.by_counters(rate))
                .or_else(|| self.by_declared())
                .or_else(|| self.by_cpu())
                .or_else(|| self.by_loads_beside(rate))
                .or_else(|| self.by_burst())
                .or_else(|| self.by_thinking())
                .or_else(|| self.by_own_pauses())
                .or_else(|| self.by_direction())
                .or_else(|| self.by_flush().filter(|_| !self.comes_in_turns()))
                .or_else(|| self.by_others())
                .or_else(|| self.by_plateau(rate))
                .or_else(|| self.by_level_of_another_load(rate))
                .or_else(|| self.by_equal_sizes(rate))
                .or_else(|| self.by_both_directions(rate))
                .or_else(|| self.by_getting_faster())
                .or_else(|| self.by_large_transfers(rate))
                .or_else(|| self.by_latency(rate))
                .or_else(|| self.by_waiting())
                .or_else(|| self.by_own_turns())
                .or_else(|| self.by_own_time(rate))
                .or_else(|| self.by_even_rate())
                .or_else(|| self.by_flush())
                .unwrap_or_else(|| self.unexplained()),
        )
    }

    fn by_nothing_below(&self) -> Option<Binding> {
        let is_null = self.volume.is_some_and(|v| v.kind == TargetKind::Null);
        is_null.then(|| inferred(Limit::Generator, None, None, LoadFact::NullTarget))
    }

    /// Errors ended each trial: where the storage stops was not seen.
    fn by_ending(&self) -> Option<Binding> {
        let trials = &self.record().trials;
        let failure = |ending: &Ending| match ending {
            Ending::Failed(detail) | Ending::Hung(detail) => Some(detail.clone()),
            Ending::Complete | Ending::Interrupted => None,
        };
        let all_failed = !trials.is_empty() && trials.iter().all(|trial| failure(&trial.ending).is_some());
        let detail = trials.iter().find_map(|trial| failure(&trial.ending)).filter(|_| all_failed)?;
        Some(inferred(Limit::Unexplained, None, None, LoadFact::Failed { detail }))
    }

    fn by_generator(&self) -> Option<Binding> {
        let stopped: Vec<f64> = self.record().trials.iter().filter_map(stopped_share).collect();
        let code = match crate::statistics::mean(&stopped) {
            Some(share) if share > STOPPED_MAX && !self.is_told_by_data() => DoubtCode::ToolStopped,
            _ => DoubtCode::GeneratorBound,
        };
        let doubt = self.cell().doubts.iter().find(|d| d.code == code)?;
        Some(inferred(Limit::Generator, None, None, LoadFact::Doubted { doubt: doubt.clone() }))
    }

    fn by_arrival(&self, rate: f64) -> Option<Binding> {
        let cell = self.cell();
        let (asked, fact): (_, fn(Asked) -> LoadFact) = match cell.load.queue_depth {
            None => (cell.offered_iops?, LoadFact::Offered),
            Some(_) => (cell.load.rate_iops?, LoadFact::OwnCeiling),
        };
        let share = rate / asked;
        let left = cell.load.queue_depth.is_none() && is_left_waiting(self.record());
        // Tools that draw their arrivals come to more than their ceiling.
        let is_own_ceiling = cell.load.queue_depth.is_some() && share > 1.0;
        let met =
            ((share - 1.0).abs() <= MET_TOLERANCE || is_own_ceiling) && !left && !self.is_held_by_declared(asked, rate);
        met.then(|| {
            inferred(Limit::Arrival, Some(asked), Some(share), fact(Asked { asked_iops: asked, completed_iops: rate }))
        })
    }

    fn by_cache(&self) -> Option<Binding> {
        let doubt = self.cell().doubts.iter().find(|doubt| doubt.code == DoubtCode::CachedReads);
        let Some(doubt) = doubt.filter(|doubt| cached_share(doubt) >= CACHED_MOST) else {
            return self.by_page_cache();
        };
        Some(inferred(Limit::Cache, None, None, LoadFact::Doubted { doubt: doubt.clone() }))
    }

    fn by_plateau(&self, rate: f64) -> Option<Binding> {
        let (own, plateau) = (self.own?, self.plateau()?);
        let offered = self.cell().offered_iops.filter(|_| pressed(self.record(), self.cell(), plateau.iops));
        if !plateau.cells.contains(&self.index) && offered.is_none() {
            return None;
        }
        let level = |shown| {
            Evidence::from(LevelFact::Plateau {
                rate_iops: plateau.iops,
                bytes_per_s: plateau.bytes_per_s,
                from_depth: plateau.from,
                offered: offered.map(|asked_iops| Asked { asked_iops, completed_iops: rate }),
                shown,
            })
        };
        let (limit, presumed, evidence) = match &self.kinds[own] {
            _ if doubted(self.cell(), DoubtCode::Buffered) => (Limit::Unexplained, false, level(LevelShown::PageCache)),
            Some(Kind { limit, shown }) => (*limit, false, level(LevelShown::Kind(shown.clone()))),
            None => match self.caps_of(plateau.iops).filter(|found| self.is_level_of(plateau.iops, found.ceiling)) {
                Some(found) if found.presumed && self.whole_places(plateau.iops).is_some() => {
                    return self
                        .whole_places(plateau.iops)
                        .map(|places| self.so_many_at_once(level(LevelShown::Alone), plateau.iops, rate, places));
                }
                Some(found) => (found.limit, found.presumed, level(LevelShown::Alone).and(found.fact)),
                None if self.is_in_turns() => {
                    let limit = usual_limit(plateau.iops, request_bytes(self.cell()));
                    (limit, true, level(LevelShown::Turns))
                }
                None if self.moves_large_blocks() => {
                    let presumption = self.presumption(Limit::DiskThroughput, plateau.iops);
                    (Limit::DiskThroughput, true, level(LevelShown::Alone).and(presumption))
                }
                None => (Limit::Unexplained, false, level(LevelShown::Alone).and(self.why_no_kind(plateau.iops))),
            },
        };
        let busy = self.busy_meanwhile().filter(|_| limit != Limit::Unexplained);
        let evidence = evidence.with(busy).with(self.how_it_waits());
        let binding = inferred(limit, Some(plateau.iops), Some(rate / plateau.iops), evidence);
        Some(Binding { presumed, ..binding })
    }

    /// Whether its requests are so large that disks as they are sold count its bytes, and none that are larger move more.
    fn moves_large_blocks(&self) -> bool {
        let (cell, rate) = (self.cell(), iops(self.cell()).unwrap_or_default());
        let is_large =
            request_bytes(cell) >= LARGE_BLOCK && usual_limit(rate, request_bytes(cell)) == Limit::DiskThroughput;
        is_large && larger_moves_more(self.cells, cell, rate).is_none()
    }

    /// Large requests of which more at once brought hardly more, at the two depths that were measured: the bytes of the disk, or of the
    /// way to it.
    fn by_large_transfers(&self, rate: f64) -> Option<Binding> {
        let growth = self.curves[self.own?].growth(self.cells, self.index).filter(|growth| growth.flat())?;
        let is_apt = self.moves_large_blocks() && growth.to == self.index && sound(self.cell()) && !paced(self.cell());
        if !is_apt || doubted(self.cell(), DoubtCode::Buffered) {
            return None;
        }
        let evidence = Evidence::from(LevelFact::Plateau {
            rate_iops: rate,
            bytes_per_s: moved(self.cell()),
            from_depth: outstanding(&self.cells[growth.from])?,
            offered: None,
            shown: LevelShown::Alone,
        });
        let evidence = evidence.and(self.presumption(Limit::DiskThroughput, rate)).with(self.how_it_waits());
        Some(Binding { presumed: true, ..inferred(Limit::DiskThroughput, Some(rate), Some(1.0), evidence) })
    }

    /// Whether the cell, or another on its level, shows the turns of a throttle by its latencies.
    fn is_in_turns(&self) -> bool {
        let in_turns = |index: &usize| self.clustered[*index].is_some();
        let level = self.plateau().filter(|plateau| plateau.cells.contains(&self.index));
        in_turns(&self.index) || level.is_some_and(|plateau| plateau.cells.iter().any(in_turns))
    }

    /// Whether a level is that of a limit of its kind of load. What is presumed must come to it: where other sizes deny it there is none.
    fn is_level_of(&self, level: f64, allowed: f64) -> bool {
        let told = self.caps[self.index].is_some_and(|caps| caps.told);
        explains(level, allowed, told)
    }

    /// What is missing to tell requests from bytes.
    fn why_no_kind(&self, level: f64) -> LevelFact {
        larger_moves_more(self.cells, self.cell(), level).map_or(LevelFact::NoOtherSize, |more| {
            LevelFact::LargerMoveMore { load: load_name(more), bytes_per_s: moved(more) }
        })
    }

    /// Where requests wait and in what manner, where that was seen.
    fn how_it_waits(&self) -> Vec<WaitingFact> {
        let held = self
            .volume
            .and_then(|v| self.record().trials.iter().find_map(|t| held_back(&self.record().load.figures(), t, v)));
        let held = held.map(|held| {
            let HeldBack { outstanding, at_devices, devices } = held;
            WaitingFact::KeptAbove { outstanding, at_devices, devices }
        });
        let clusters = self.clustered[self.index].as_ref().map(|clusters| {
            let Clusters { median_ns, slow_share, slow_ns, .. } = *clusters;
            WaitingFact::InBursts { median_ns, slow_share, slow_ns }
        });
        held.into_iter().chain(clusters).collect()
    }

    /// The deepest cell of a load that runs into the level of another: as many requests, or bytes, per second.
    fn by_level_of_another_load(&self, rate: f64) -> Option<Binding> {
        let own = &self.curves[self.own?];
        let cell = self.cell();
        highest(own, self.cells, self.clustered).filter(|i| *i == self.index)?;
        let (limit, ceiling, fact) = self.curves.iter().zip(self.kinds).find_map(|(curve, kind)| {
            let plateau = curve.plateau.as_ref()?;
            let other = sample(curve, self.cells);
            let known = kind.as_ref().map(|k| k.limit);
            let (requests, bytes) =
                (same(plateau.iops, rate, SAME_RATE), same(plateau.bytes_per_s, moved(cell), SAME_RATE));
            let witness = requests_of(other, cell);
            if doubted(other, DoubtCode::Buffered) {
                None
            } else if alike(cell, other) && apart(cell, other) && bytes && known != Some(Limit::DiskIops) {
                let (own, level) = (moved(cell), plateau.bytes_per_s);
                let fact = LevelFact::BytesOfLevel { bytes_per_s: own, load: witness, level_bytes_per_s: level };
                Some((Limit::DiskThroughput, rate * level / own, fact))
            } else if alike(cell, other) && apart(cell, other) && requests && known != Some(Limit::DiskThroughput) {
                let (load, level_iops) = (witness, plateau.iops);
                let fact = LevelFact::RequestsOfLevel { rate_iops: rate, load, level_iops, shown: None };
                Some((Limit::DiskIops, level_iops, fact))
            } else if comparable(cell, other) && cell.load.block_bytes == other.load.block_bytes && requests {
                let (load, level_iops) = (load_name(other), plateau.iops);
                let shown = Some(kind.as_ref()?.shown.clone());
                Some((known?, level_iops, LevelFact::RequestsOfLevel { rate_iops: rate, load, level_iops, shown }))
            } else {
                None
            }
        })?;
        let evidence = Evidence::from(fact).with(self.how_it_waits());
        Some(inferred(limit, Some(ceiling), Some(rate / ceiling), evidence))
    }

    fn by_latency(&self, rate: f64) -> Option<Binding> {
        let cell = self.cell();
        let depth = outstanding(cell).filter(|_| !paced(cell))?;
        let ceiling = self.latency_ceiling();
        let growth = self.curves[self.own?].growth(self.cells, self.index);
        let latency_ns = depth as f64 / rate * 1e9;
        let at = |index: usize| {
            let cell = &self.cells[index];
            Some(DepthRate { depth: outstanding(cell)?, rate_iops: iops(cell)? })
        };
        // Where more requests at once are not answered faster, or single ones wait for a throttle's turn, it is not their latency.
        let counted = self.seen[self.index].as_ref().is_some_and(|seen| seen.counted);
        let turns = waits_alone(cell) || self.seen[self.index].as_ref().is_some_and(|seen| seen.turns);
        let own_latency = growth.map_or(!counted, |g| if turns { g.proportional() } else { !g.flat() });
        if depth == 1 && own_latency {
            let deeper = match growth {
                Some(growth) => Some(at(growth.to)?),
                None => None,
            };
            let fact = LoadFact::SingleRequests { latency_ns, rate_iops: rate, deeper };
            let evidence = Evidence::from(fact).with(self.share_of_turn(latency_ns));
            return Some(inferred(Limit::Latency, ceiling, ceiling.map(|c| rate / c), evidence));
        }
        // Most of the time of such requests is a throttle's.
        let growth = growth.filter(|g| g.proportional() && self.clustered[self.index].is_none())?;
        let evidence = LoadFact::GrowsWithDepth { depth, latency_ns, from: at(growth.from)?, to: at(growth.to)? };
        Some(inferred(Limit::Latency, ceiling, ceiling.map(|c| rate / c), evidence))
    }

    fn unexplained(&self) -> Binding {
        let cell = self.cell();
        let why = if let Some(share) = met(cell) {
            LoadFact::UnmetWithoutCause { share }
        } else if paced(cell) {
            LoadFact::Paced
        } else if self.own.is_some_and(|own| self.curves[own].closed.len() > 1) {
            LoadFact::GrowsLess
        } else {
            LoadFact::OneDepth
        };
        let few = waiting_alone(cell).map(|(mean_ns, median_ns)| WaitingFact::FewWait { mean_ns, median_ns });
        let evidence = Evidence::default()
            .with(few)
            .and(why)
            .with(self.stood_still())
            .with(self.below_declared())
            .with(self.how_it_waits());
        inferred(Limit::Unexplained, None, None, evidence)
    }

    /// That the device stood still meanwhile, and what of it a load lacks that has a rate of its own.
    fn stood_still(&self) -> Option<CourseFact> {
        let share = stood_still(self.record()).filter(|_| self.clustered[self.index].is_none())?;
        let cell = self.cell();
        let lacks = cell.load.rate_iops.or(cell.offered_iops).zip(iops(cell)).map(|(asked, rate)| 1.0 - rate / asked);
        Some(CourseFact::StoodStill { share, lacks_share: lacks.filter(|lacks| *lacks > 0.0) })
    }

    /// That the rate changed while the load went on.
    fn changes(&self) -> Option<CourseFact> {
        let course = self.course()?;
        if course.rise.len() > 1 {
            let held = |level: &course::Level| RateHeld { rate_iops: level.iops, length_ns: level.length_ns as u64 };
            return Some(CourseFact::Rose { levels: course.rise.iter().map(held).collect() });
        }
        let early = course.falls.first().filter(|fall| !fall.is_burst())?;
        Some(CourseFact::BeganHigher { at_ns: early.at_ns as u64, before_iops: early.before, after_iops: early.after })
    }

    /// Requests outstanding over the latency of a single one (Little's law), where that was measured and is not the wait for
    /// a limit.
    fn latency_ceiling(&self) -> Option<f64> {
        let own = &self.curves[self.own?];
        let waits = |i: usize| {
            self.plateau().is_some_and(|p| p.cells.contains(&i))
                || own.growth(self.cells, i).map_or(self.clustered[i].is_some(), Growth::flat)
                || waits_alone(&self.cells[i])
        };
        let alone = own.alone(self.cells).filter(|i| !waits(*i))?;
        let depth = outstanding(self.cell())?;
        Some(depth as f64 * iops(&self.cells[alone])?)
    }
}

/// The share of the bytes that a cache answered, by a doubt about it; all where that is not known.
fn cached_share(doubt: &Doubt) -> f64 {
    match &doubt.seen {
        DoubtEvidence::MovedLess { bytes, .. } if bytes.asked_bytes > 0 => {
            1.0 - bytes.moved_bytes as f64 / bytes.asked_bytes as f64
        }
        DoubtEvidence::Resident { share } => *share,
        _ => 1.0,
    }
}

fn inferred(
    limit: Limit,
    ceiling_iops: Option<f64>,
    utilization: Option<f64>,
    evidence: impl Into<Evidence>,
) -> Binding {
    let seen = evidence.into();
    Binding { limit, ceiling_iops, utilization, seen, inferred: true, presumed: false, amplification: None }
}

#[cfg(test)]
mod tests;
