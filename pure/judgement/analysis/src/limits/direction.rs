//! Mixes of reads and writes of which one direction alone is at its limit, and the other has room.

use super::caps::request_bytes;
use super::kinds::{comparable, same, sample};
use super::{Case, inferred};
use crate::curves::{Curve, PLATEAU_SPREAD, iops, paced, sound};
use crate::finding::PlateauLimit;
use crate::summary::{CellSummary, OperationFigures};
use loadline_block::Operation;
use loadline_record::{Binding, CeilingSource, DirectionLevel, Evidence, LevelFact, Limit, ThrottledRequests};

/// The direction at its limit waits: its requests take at least so many times what those of the other take.
const WAITS: f64 = 4.0;

/// One direction of a mix at the level at which it stops alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Direction {
    /// Of reads, or of writes.
    requests: ThrottledRequests,
    /// Its rate in the mix, requests per second.
    rate: f64,
    /// At which it levels off alone, requests per second.
    level: f64,
    /// Its share of the mix's requests.
    share: f64,
    /// Mean latencies of it and of the other, ns.
    latency_ns: (f64, f64),
    /// The curve that shows the level.
    curve: usize,
}

impl Direction {
    /// The level as requests per second of the whole mix.
    fn ceiling_iops(&self) -> f64 {
        self.level / self.share
    }
    /// What a level of the mix is then a limit of.
    pub(crate) fn stops(&self, limit: Limit) -> PlateauLimit {
        let operation = match self.requests {
            ThrottledRequests::Reads => Operation::Read,
            ThrottledRequests::Writes => Operation::Write,
        };
        PlateauLimit::Direction { operation, limit, alone_iops: self.level, share: self.share }
    }
    /// What it has alone.
    pub(super) const fn alone(&self) -> DirectionLevel {
        DirectionLevel { direction: self.requests, level_iops: self.level, share: self.share }
    }
}

/// The direction of a mix that is at its own limit: it has the rate at which it levels off alone, in the same pattern and block size, and
/// its requests wait while those of the other direction do not. Under a budget that both share it would have its part of the level
/// only, and both would wait.
pub(crate) fn one_direction(cells: &[CellSummary], curves: &[Curve], index: usize) -> Option<Direction> {
    let cell = &cells[index];
    let (read, write) = (cell.read.as_ref()?, cell.write.as_ref()?);
    if cell.load.queue_depth.is_none() || paced(cell) || !sound(cell) {
        return None;
    }
    let total = read.iops + write.iops;
    let of = |own: &OperationFigures, other: &OperationFigures, alone: f64, requests| {
        let is_alone = |sample: &CellSummary| {
            comparable(sample, cell)
                && sample.load.read_ratio.to_bits() == alone.to_bits()
                && sample.load.pattern == cell.load.pattern
                && sample.load.block_bytes == cell.load.block_bytes
        };
        let (curve, level) = curves.iter().enumerate().find_map(|(place, curve)| {
            let plateau = curve.plateau.as_ref()?;
            is_alone(sample(curve, cells)).then_some((place, plateau.iops))
        })?;
        let latency_ns = (own.latency_ns.mean, other.latency_ns.mean);
        let found = same(own.iops, level, PLATEAU_SPREAD) && latency_ns.0 >= WAITS * latency_ns.1;
        let share = own.iops / total;
        found.then_some(Direction { requests, rate: own.iops, level, share, latency_ns, curve })
    };
    of(write, read, 0.0, ThrottledRequests::Writes).or_else(|| of(read, write, 1.0, ThrottledRequests::Reads))
}

impl Case<'_> {
    /// The direction of this mix that binds, and the kind of its limit.
    pub(super) fn direction(&self) -> Option<(Direction, Limit)> {
        let found = one_direction(self.cells, self.curves, self.index)?;
        let curve = &self.curves[found.curve];
        let by_caps = || {
            let first = *curve.closed.first()?;
            Some(self.caps[first]?.of(request_bytes(&self.cells[first]))?.0)
        };
        let limit = self.kinds[found.curve].as_ref().map(|kind| kind.limit).or_else(by_caps)?;
        Some((found, limit))
    }

    /// A mix that stops because one direction of it does.
    pub(super) fn by_direction(&self) -> Option<Binding> {
        let (found, limit) = self.direction()?;
        let ceiling = found.ceiling_iops();
        let fact = LevelFact::OneDirection {
            direction: found.requests,
            rate_iops: found.rate,
            level_iops: found.level,
            latency_ns: found.latency_ns.0,
            other_latency_ns: found.latency_ns.1,
            share: found.share,
            ceiling_iops: ceiling,
        };
        let evidence = Evidence::from(fact).with(self.how_it_waits());
        Some(inferred(limit, Some(ceiling), Some(iops(self.cell())? / ceiling), evidence))
    }

    /// The ceiling that the limit of one direction is for this mix.
    pub(super) fn ceiling_of_direction(&self) -> Option<(Limit, f64, CeilingSource)> {
        let (found, limit) = self.direction()?;
        Some((limit, found.ceiling_iops(), CeilingSource::Direction(found.alone())))
    }
}

#[cfg(test)]
mod tests {
    use super::PlateauLimit;
    use crate::FindingSeen;
    use crate::example::{ExampleDisk, cell, closed, latencies, run};
    use crate::words::{about, shows};
    use crate::{Quantity, RunSummary, limits, summarize};
    use loadline_block::Operation;
    use loadline_record::{
        CeilingSource, CellRecord, DirectionLevel, Fact, LevelFact, Limit, LimitSource, RunRecord, ThrottledRequests,
    };

    const DEPTHS: [u32; 3] = [1, 8, 32];

    /// A mix of 70 % reads that completes so many writes a second, each direction with its mean latency in ns.
    fn mix(depth: u32, writes: f64, read_ns: f64, write_ns: f64) -> CellRecord {
        let disk = ExampleDisk { iops: writes / 0.3, latency_ns: 1e5, ..ExampleDisk::default() };
        let mut cell = cell(closed("random", 0.7, 4 << 10, depth), &disk, &[1.0]);
        for (operation, ns) in [(Operation::Read, read_ns), (Operation::Write, write_ns)] {
            let record = cell.trials[0].operations.get_mut(&operation).unwrap();
            record.latency = latencies(record.count, ns);
        }
        cell
    }

    /// Writes held to 500 a second by themselves, reads to nothing, and mixes as `of` makes them for a depth.
    fn mixed(of: impl Fn(u32) -> CellRecord) -> RunRecord {
        let held = ExampleDisk { iops: 500.0, latency_ns: 1e5, ..ExampleDisk::default() };
        let free = ExampleDisk { iops: 1e6, latency_ns: 1e5, ..ExampleDisk::default() };
        let alone = |reads: f64, block: u64, disk: ExampleDisk| {
            DEPTHS.map(|depth| cell(closed("random", reads, block, depth), &disk, &[1.0]))
        };
        run([alone(0.0, 4 << 10, held), alone(0.0, 16 << 10, held), alone(1.0, 4 << 10, free), DEPTHS.map(of)].concat())
    }
    fn of_mixes(summary: &RunSummary) -> &[crate::CellSummary] {
        &summary.cells[9..]
    }

    #[test]
    fn a_mix_that_its_writes_stop_is_told_to_be_bound_by_them() {
        let record = mixed(|depth| mix(depth, 500.0, 7e4, f64::from(depth) * 2e6));
        let summary = summarize(&record);
        for cell in of_mixes(&summary) {
            let binding = cell.binding.as_ref().unwrap();
            assert_eq!(binding.limit, Limit::DiskIops, "{binding:?}");
            let of_writes = |direction, level: f64| direction == ThrottledRequests::Writes && about(level, 500.0, 0.1);
            assert!(
                shows!(binding, Fact::Level(LevelFact::OneDirection { direction, level_iops, .. })
                    if of_writes(*direction, *level_iops)),
                "{binding:?}"
            );
            assert!((binding.ceiling_iops.unwrap() - 1_667.0).abs() < 5.0, "{binding:?}");
            let ceilings: Vec<&CeilingSource> =
                cell.ceilings.iter().filter(|c| c.limit == Limit::DiskIops).map(|c| &c.source).collect();
            let [CeilingSource::Direction(DirectionLevel { share, .. })] = &ceilings[..] else {
                panic!("{ceilings:?}")
            };
            assert!(about(*share, 0.3, 0.1), "{ceilings:?}");
        }
        let of_mix = |found: &crate::Finding| match &found.seen {
            FindingSeen::LevelsOff(level) if level.loads.contains("70 % reads") => Some(level.limit),
            _ => None,
        };
        let limit = summary.findings.iter().find_map(of_mix).expect("it levels off");
        let Some(PlateauLimit::Direction { operation, limit, alone_iops, share }) = limit else { panic!("{limit:?}") };
        assert_eq!((operation, limit), (Operation::Write, Limit::DiskIops));
        assert!((alone_iops - 500.0).abs() < 1.0 && (share - 0.3).abs() < 1e-3, "{alone_iops} {share}");
        let figures = limits(&record);
        let of_mix = figures.iter().find(|f| f.quantity == Quantity::RequestsPerS && f.loads.contains("70 % reads"));
        let source = &of_mix.unwrap().source;
        let LimitSource::LevelOf { direction: Some(found), .. } = source else { panic!("{source:?}") };
        assert!(found.direction == ThrottledRequests::Writes && about(found.level_iops, 500.0, 0.1), "{source:?}");
    }

    #[test]
    fn a_budget_that_both_share_is_no_limit_of_writes() {
        // The mix stops at 500 requests, of which 150 are writes; and one in which both wait.
        for record in [
            mixed(|depth| mix(depth, 150.0, f64::from(depth) * 2e6, f64::from(depth) * 2e6)),
            mixed(|depth| mix(depth, 500.0, f64::from(depth) * 6e5, f64::from(depth) * 6e5)),
        ] {
            for cell in of_mixes(&summarize(&record)) {
                let binding = cell.binding.as_ref().unwrap();
                assert!(!shows!(binding, Fact::Level(LevelFact::OneDirection { .. })), "{binding:?}");
            }
        }
    }
}
