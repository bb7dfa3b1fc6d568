//! Loads that ran at the same time: the limit that they share, by what they took of it together.

use super::caps::{request_bytes, usual_limit};
use super::declared::REACHED;
use super::kinds::{alike, same};
use super::{Case, inferred};
use crate::curves::{iops, outstanding, paced, sound};
use crate::summary::CellSummary;
use loadline_record::{BesideFact, Binding, Ceiling, Limit, LimitShown, LoadRate, LoadShare, RunRecord};

/// Loads have together what each has alone if it differs by no more.
const SUM_AS_ALONE: f64 = 0.03;

/// What a load takes of a limit: its rate, and the most that it could have alone.
struct Share<'a> {
    cell: &'a CellSummary,
    rate: f64,
    most: f64,
}

/// What loads took of a limit together.
struct Taken {
    share: f64,
    limit_iops: f64,
    beside: Vec<LoadShare>,
    /// Of all of them.
    sum: f64,
}

impl Taken {
    fn fact(self, limit: LimitShown) -> BesideFact {
        let Self { share, limit_iops, beside, sum: all_share } = self;
        BesideFact::Together { share, limit_iops, beside, all_share, limit }
    }
}

impl Case<'_> {
    /// What bound a load that ran beside others. Of its own figures alone nothing follows: the others took of the same limit.
    pub(super) fn by_loads_beside(&self, rate: f64) -> Option<Binding> {
        let beside: Vec<usize> = self.beside().collect();
        if beside.is_empty() {
            return None;
        }
        let declared = self.record().ceilings.iter();
        let declared: Vec<&Ceiling> =
            declared.filter(|ceiling| !matches!(ceiling.limit, Limit::Latency | Limit::Arrival)).collect();
        let of_plan = declared.iter().find_map(|ceiling| {
            self.reached(rate, ceiling.iops, &beside, |other| {
                let own = self.records[other].ceilings.iter().filter(|own| own.limit == ceiling.limit);
                own.map(|own| own.iops).min_by(f64::total_cmp)
            })
            .filter(|_| self.is_shared(ceiling.limit, &beside))
            .map(|taken| {
                let (sum, limit) = (taken.sum, LimitShown::Declared(ceiling.source.clone()));
                Binding::known(ceiling.limit, Some(ceiling.iops), Some(sum), taken.fact(limit).into())
            })
        });
        if of_plan.is_some() {
            return of_plan;
        }
        let of_run = [Limit::DiskIops, Limit::DiskThroughput].into_iter().find_map(|limit| {
            let (most, by) = self.most_alone(self.index, limit)?;
            let taken =
                self.reached(rate, most, &beside, |other| self.most_alone(other, limit).map(|(most, _)| most))?;
            Some(inferred(limit, Some(most), Some(taken.sum), taken.fact(LimitShown::ByItself { load: by })))
        });
        if of_run.is_some() {
            return of_run;
        }
        let of = |other: &usize| {
            let cell = &self.cells[*other];
            LoadRate { load: name(cell).to_owned(), rate_iops: iops(cell) }
        };
        let beside = beside.iter().map(of).collect();
        if outstanding(self.cell()) == Some(1) {
            let fact = BesideFact::SingleBeside { latency_ns: 1e9 / rate, beside };
            return Some(inferred(Limit::Latency, None, None, fact));
        }
        Some(inferred(Limit::Unexplained, None, None, BesideFact::RanBeside { beside }))
    }

    /// The cells that ran at the same time on its volume, or on another one of the same machine.
    fn beside(&self) -> impl Iterator<Item = usize> {
        let ids = self.record().beside.iter();
        ids.filter_map(|load| self.records.iter().position(|record| record.id == load.cell))
    }

    /// Whether a limit is one of the machine, or these loads are on the volume that has it.
    fn is_shared(&self, limit: Limit, beside: &[usize]) -> bool {
        let of_machine = matches!(
            limit,
            Limit::VmCachedIops | Limit::VmCachedThroughput | Limit::VmUncachedIops | Limit::VmUncachedThroughput
        );
        of_machine || beside.iter().any(|other| self.cells[*other].volume == self.cell().volume)
    }

    /// What the loads took of a limit together, if that is nearly all of it.
    fn reached(&self, rate: f64, most: f64, beside: &[usize], most_of: impl Fn(usize) -> Option<f64>) -> Option<Taken> {
        let own = Share { cell: self.cell(), rate, most };
        let share = |other: &usize| {
            let cell = &self.cells[*other];
            (cell.volume == self.cell().volume).then(|| Some(Share { cell, rate: iops(cell)?, most: most_of(*other)? }))
        };
        let others: Vec<Share<'_>> = beside.iter().filter_map(share).collect::<Option<_>>()?;
        let taken = |share: &Share<'_>| share.rate / share.most;
        let sum = taken(&own) + others.iter().map(taken).sum::<f64>();
        let beside = others.iter().map(|of| LoadShare { load: name(of.cell).to_owned(), share: taken(of) }).collect();
        (sum >= REACHED).then(|| Taken { share: taken(&own), limit_iops: own.most, beside, sum })
    }

    /// The most that such a load had of a limit where it ran by itself in this run, and the load that shows it.
    fn most_alone(&self, index: usize, limit: Limit) -> Option<(f64, String)> {
        let cell = &self.cells[index];
        let is_alone = |other: &usize| self.cells[*other].beside.is_empty() && alike(cell, &self.cells[*other]);
        let alone: Vec<usize> =
            (0..self.cells.len()).filter(is_alone).filter(|other| sound(&self.cells[*other])).collect();
        let of = |other: usize| {
            let caps = self.caps[other]?;
            let bytes = request_bytes(cell);
            let most = match limit {
                Limit::DiskThroughput => caps.bytes_per_s? / bytes,
                _ => caps.iops?,
            };
            Some((most, self.cells[other].label.clone()))
        };
        alone.into_iter().find_map(of)
    }
}

/// Loads that had together what each of them had by itself: they share a limit, and that one held each alone as well.
pub(super) fn sums_as_alone(record: &RunRecord, cells: &mut [CellSummary]) {
    for index in 0..cells.len() {
        if let Some(found) = SumAsAlone::of(record, cells, index) {
            found.name(cells);
        }
    }
}

/// Loads that ran together, with their cells by themselves.
struct SumAsAlone {
    together: usize,
    alone: Vec<usize>,
    sum_iops: f64,
    limit: Limit,
    fact: BesideFact,
}

impl SumAsAlone {
    fn of(record: &RunRecord, cells: &[CellSummary], index: usize) -> Option<Self> {
        let of_ids = |id: &str| record.cells.iter().position(|cell| cell.id == id);
        let beside: Vec<usize> =
            record.cells[index].beside.iter().map(|load| of_ids(&load.cell)).collect::<Option<_>>()?;
        let unnamed = cells[index].binding.as_ref().is_some_and(|of| of.limit == Limit::Unexplained && of.inferred);
        if beside.is_empty() || !unnamed {
            return None;
        }
        let all: Vec<usize> = beside.iter().copied().chain([index]).collect();
        let alone: Vec<usize> = all.iter().map(|own| by_itself(cells, *own)).collect::<Option<_>>()?;
        let sum_iops = all.iter().map(|own| iops(&cells[*own])).sum::<Option<f64>>()?;
        let is_sum = |own: &usize| iops(&cells[*own]).is_some_and(|rate| same(rate, sum_iops, SUM_AS_ALONE));
        if !alone.iter().all(is_sum) {
            return None;
        }
        let is_elsewhere = all.iter().any(|own| cells[*own].volume != cells[index].volume);
        let limit = if is_elsewhere { Limit::Interface } else { usual_limit(sum_iops, request_bytes(&cells[index])) };
        let rate = |own: &usize| LoadRate { load: name(&cells[*own]).to_owned(), rate_iops: iops(&cells[*own]) };
        let beside = beside.iter().map(rate).collect();
        let fact = BesideFact::SumAsAlone { sum_iops, alone_iops: iops(&cells[*alone.last()?])?, beside };
        Some(Self { together: index, alone, sum_iops, limit, fact })
    }

    fn name(self, cells: &mut [CellSummary]) {
        let Self { together, alone, sum_iops, limit, fact } = self;
        let presumed = limit != Limit::Interface;
        let of = |share: f64| Binding { presumed, ..inferred(limit, Some(sum_iops), Some(share), fact.clone()) };
        let share = iops(&cells[together]).unwrap_or(0.0) / sum_iops;
        cells[together].binding = Some(of(share));
        for own in alone {
            let is_open = |binding: &Binding| {
                let is_open = matches!(
                    binding.limit,
                    Limit::Latency | Limit::Parallelism | Limit::Unexplained | Limit::DiskIops | Limit::DiskThroughput
                );
                is_open && binding.inferred
            };
            if cells[own].binding.as_ref().is_some_and(is_open) {
                cells[own].binding = Some(of(1.0));
            }
        }
    }
}

/// The cell in which a load that ran beside others ran by itself, if several of its requests were outstanding.
fn by_itself(cells: &[CellSummary], index: usize) -> Option<usize> {
    let own = &cells[index];
    (0..cells.len()).find(|other| {
        let other = &cells[*other];
        other.beside.is_empty()
            && alike(own, other)
            && other.load == own.load
            && outstanding(other).is_some_and(|depth| depth > 1)
            && !paced(other)
            && sound(other)
    })
}

/// What a load is called: what its label says before what runs beside it.
fn name(cell: &CellSummary) -> &str {
    let label = cell.label.split(", beside ").next().unwrap_or(&cell.label);
    label.split_once(": ").map_or(label, |(name, _)| name)
}
