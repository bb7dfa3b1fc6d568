//! Loads that ran at the same time: the limit that they share, by what they took of it together.

use super::caps::request_bytes;
use super::kinds::alike;
use super::{Case, inferred};
use crate::curves::{iops, outstanding, sound};
use crate::summary::CellSummary;
use crate::words::{listed, number, percent, span};
use loadline_record::{Binding, Ceiling, Limit};

/// A limit is reached from this share of it on.
const REACHED: f64 = 0.95;

/// What a load takes of a limit: its rate, and the most that it could have alone.
struct Share<'a> {
    cell: &'a CellSummary,
    rate: f64,
    most: f64,
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
            .map(|(sum, words)| Binding {
                limit: ceiling.limit,
                ceiling_iops: Some(ceiling.iops),
                utilization: Some(sum),
                seen: format!("{words}: {}.", ceiling.source).into(),
                inferred: false,
                presumed: false,
                amplification: None,
            })
        });
        if of_plan.is_some() {
            return of_plan;
        }
        let of_run = [Limit::DiskIops, Limit::DiskThroughput].into_iter().find_map(|limit| {
            let (most, by) = self.most_alone(self.index, limit)?;
            let (sum, words) =
                self.reached(rate, most, &beside, |other| self.most_alone(other, limit).map(|(most, _)| most))?;
            let evidence = format!("{words}, as the loads had it that ran by themselves, such as {by}.");
            Some(inferred(limit, Some(most), Some(sum), evidence))
        });
        if of_run.is_some() {
            return of_run;
        }
        let others: Vec<String> = beside.iter().map(|other| self.in_words(*other)).collect();
        let others = listed(&others);
        if outstanding(self.cell()) == Some(1) {
            let each = span(1e9 / rate);
            let evidence = format!(
                "It has one request at a time, and one takes {each} beside {others}: how long by itself, another run shows."
            );
            return Some(inferred(Limit::Latency, None, None, evidence));
        }
        let evidence = format!(
            "Beside it ran {others}. Which limit they share does not show in their figures alone: measure each by itself as well."
        );
        Some(inferred(Limit::Unexplained, None, None, evidence))
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

    /// What the loads took of a limit together, if that is nearly all of it: the share, and words for it.
    fn reached(
        &self,
        rate: f64,
        most: f64,
        beside: &[usize],
        most_of: impl Fn(usize) -> Option<f64>,
    ) -> Option<(f64, String)> {
        let own = Share { cell: self.cell(), rate, most };
        let share = |other: &usize| {
            let cell = &self.cells[*other];
            (cell.volume == self.cell().volume).then(|| Some(Share { cell, rate: iops(cell)?, most: most_of(*other)? }))
        };
        let others: Vec<Share<'_>> = beside.iter().filter_map(share).collect::<Option<_>>()?;
        let taken = |share: &Share<'_>| share.rate / share.most;
        let sum = taken(&own) + others.iter().map(taken).sum::<f64>();
        let words: Vec<String> =
            others.iter().map(|share| format!("{} {}", name(share.cell), percent(taken(share)))).collect();
        let words = if words.is_empty() { String::new() } else { format!(", beside it {}", listed(&words)) };
        let words =
            format!("It took {} of {} IOPS{words}: {} in all", percent(taken(&own)), number(own.most), percent(sum));
        (sum >= REACHED).then_some((sum, words))
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

    /// "log at 40 a second".
    fn in_words(&self, other: usize) -> String {
        let cell = &self.cells[other];
        let rate = iops(cell).map_or_else(String::new, |rate| format!(" at {} a second", number(rate)));
        format!("{}{rate}", name(cell))
    }
}

/// What a load is called: what its label says before what runs beside it.
fn name(cell: &CellSummary) -> &str {
    let label = cell.label.split(", beside ").next().unwrap_or(&cell.label);
    label.split_once(": ").map_or(label, |(name, _)| name)
}
