//! What bound each cell, as far as the run's own figures show it (`docs/how-limits-are-named.md`).

use crate::curves::{Curve, Growth, curves, doubted, iops, met, outstanding, paced, sound};
use crate::doubts::depth_reached;
use crate::summary::{Binding, Ceiling, CellSummary, Limit};
use crate::words::{block, number, percent, span, throughput};
use loadline_record::{CellRecord, DoubtCode, RunRecord, TargetKind, VolumeFacts};

/// An open loop, or a rate ceiling, is met within this.
const MET_TOLERANCE: f64 = 0.01;
/// A machine busier than this has no CPU to spare.
const CPU_BUSY_MAX: f64 = 0.95;
/// Two levels are one limit if they differ by no more than this.
const SAME_LEVEL: f64 = 0.05;
/// A rate of bytes that was not seen to level off itself must be closer than that to pass for the same limit.
const SAME_RATE: f64 = 0.02;
/// Block sizes must differ by this factor to tell a limit on requests from one on bytes.
const BLOCKS_APART: f64 = 2.0;

/// Names what bound each cell and gives the ceilings that follow from plateaus and from the latency of a single request.
/// Returns the curves that it found.
pub(crate) fn name_limits(record: &RunRecord, cells: &mut [CellSummary]) -> Vec<Curve> {
    let curves = curves(&record.cells, cells);
    let kinds: Vec<Option<Kind>> = (0..curves.len()).map(|c| kind(&curves, c, cells)).collect();
    let named: Vec<_> = (0..cells.len())
        .map(|index| {
            let volume = record.header.volumes.iter().find(|v| v.name == cells[index].volume);
            let own = curves.iter().position(|c| c.closed.contains(&index) || c.open.contains(&index));
            let case = Case { cells, index, volume, record: &record.cells[index], curves: &curves, kinds: &kinds, own };
            (case.binding(), case.ceilings())
        })
        .collect();
    for (cell, (binding, ceilings)) in cells.iter_mut().zip(named) {
        cell.binding = binding;
        cell.ceilings = ceilings;
    }
    curves
}

/// What a plateau is a limit of, with another curve that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    limit: Limit,
    witness: usize,
}

fn same(a: f64, b: f64, tolerance: f64) -> bool {
    a > 0.0 && b > 0.0 && (a / b - 1.0).abs() <= tolerance
}

/// The first cell of a curve stands for what all share.
fn sample<'a>(curve: &Curve, cells: &'a [CellSummary]) -> &'a CellSummary {
    let first = curve.closed.first().or(curve.open.first()).expect("a curve has a cell");
    &cells[*first]
}

fn apart(a: &CellSummary, b: &CellSummary) -> bool {
    let (a, b) = (a.load.block_bytes as f64, b.load.block_bytes as f64);
    a / b >= BLOCKS_APART || b / a >= BLOCKS_APART
}

/// Reads with reads, writes with writes, on one volume.
fn alike(a: &CellSummary, b: &CellSummary) -> bool {
    a.volume == b.volume
        && a.load.read_ratio.to_bits() == b.load.read_ratio.to_bits()
        && a.load.buffered == b.load.buffered
        && a.flush.is_some() == b.flush.is_some()
}

/// Equal requests per second at two block sizes show a limit on requests; equal bytes per second one on bytes. Where the
/// page cache took part, a level shows nothing of the disk.
fn kind(curves: &[Curve], curve: usize, cells: &[CellSummary]) -> Option<Kind> {
    let own = curves[curve].plateau.as_ref()?;
    let first = sample(&curves[curve], cells);
    if doubted(first, DoubtCode::Buffered) {
        return None;
    }
    let others = || {
        curves.iter().enumerate().filter(move |(index, other)| {
            let cell = sample(other, cells);
            *index != curve && alike(first, cell) && apart(first, cell)
        })
    };
    let requests = others().find(|(_, other)| {
        let pattern = &sample(other, cells).load.pattern;
        *pattern == first.load.pattern && other.plateau.as_ref().is_some_and(|p| same(p.iops, own.iops, SAME_LEVEL))
    });
    let bytes = others().find(|(_, other)| match &other.plateau {
        Some(p) => same(p.bytes_per_s, own.bytes_per_s, SAME_LEVEL),
        None => highest(other, cells).is_some_and(|i| same(moved(&cells[i]), own.bytes_per_s, SAME_RATE)),
    });
    requests
        .map(|(witness, _)| Kind { limit: Limit::DiskIops, witness })
        .or(bytes.map(|(witness, _)| Kind { limit: Limit::DiskThroughput, witness }))
}

/// The deepest cell of a curve without a plateau, if its rate may be at a limit: several requests at once, and no growth in
/// proportion to the depth.
fn highest(curve: &Curve, cells: &[CellSummary]) -> Option<usize> {
    let deepest = *curve.closed.last()?;
    let grows = curve.growth(cells, deepest).is_some_and(Growth::proportional);
    (outstanding(&cells[deepest])? > 1 && !grows && sound(&cells[deepest])).then_some(deepest)
}

fn moved(cell: &CellSummary) -> f64 {
    cell.total.as_ref().map_or(0.0, |t| t.throughput_bytes_per_s)
}

/// One cell with all that may say something about it.
struct Case<'a> {
    cells: &'a [CellSummary],
    index: usize,
    volume: Option<&'a VolumeFacts>,
    record: &'a CellRecord,
    curves: &'a [Curve],
    kinds: &'a [Option<Kind>],
    own: Option<usize>,
}

impl Case<'_> {
    fn cell(&self) -> &CellSummary {
        &self.cells[self.index]
    }

    fn binding(&self) -> Option<Binding> {
        let rate = iops(self.cell())?;
        Some(
            self.by_generator()
                .or_else(|| self.by_arrival(rate))
                .or_else(|| self.by_cache())
                .or_else(|| self.by_cpu())
                .or_else(|| self.by_plateau(rate))
                .or_else(|| self.by_level_of_another_block(rate))
                .or_else(|| self.by_latency(rate))
                .unwrap_or_else(|| self.unexplained()),
        )
    }

    fn by_generator(&self) -> Option<Binding> {
        let evidence = if self.volume.is_some_and(|v| v.kind == TargetKind::Null) {
            "The target is nothing at all: the tool measured itself.".to_owned()
        } else {
            self.cell().doubts.iter().find(|d| d.code == DoubtCode::GeneratorBound)?.detail.clone()
        };
        Some(inferred(Limit::Generator, None, None, evidence))
    }

    fn by_arrival(&self, rate: f64) -> Option<Binding> {
        let cell = self.cell();
        let (asked, what) = match cell.load.queue_depth {
            None => (cell.offered_iops?, "offered"),
            Some(_) => (cell.load.rate_iops?, "allowed by the load's own ceiling"),
        };
        let share = rate / asked;
        ((share - 1.0).abs() <= MET_TOLERANCE).then(|| {
            let evidence =
                format!("Of {} requests a second {what}, {} were completed.", number(asked), number(rate));
            inferred(Limit::Arrival, Some(asked), Some(share), evidence)
        })
    }

    fn by_cache(&self) -> Option<Binding> {
        let doubt = self.cell().doubts.iter().find(|d| d.code == DoubtCode::CachedReads)?;
        Some(inferred(Limit::Cache, None, None, doubt.detail.clone()))
    }

    /// The machine has no CPU left although the load threads themselves had time to spare (otherwise it was the generator).
    fn by_cpu(&self) -> Option<Binding> {
        let machines: Vec<_> = self.record.trials.iter().filter_map(|t| t.surroundings.machine).collect();
        let busy = crate::statistics::mean(&machines.iter().map(|m| m.busy).collect::<Vec<_>>())?;
        let (tool, all) = self.record.trials.iter().filter_map(|t| Some((&t.surroundings, t.surroundings.machine?))).fold(
            (0.0, 0.0),
            |(tool, all), (s, machine)| {
                (tool + (s.tool_user_ns + s.tool_system_ns) as f64, all + s.elapsed_ns as f64 * f64::from(machine.cpus))
            },
        );
        (busy > CPU_BUSY_MAX).then(|| {
            let evidence = format!(
                "The machine's CPUs were {} busy, {} of it with the tool itself; no load thread was at its limit.",
                percent(busy),
                if all > 0.0 { percent((tool / all / busy).min(1.0)) } else { "an unknown part".to_owned() }
            );
            inferred(Limit::Cpu, None, None, evidence)
        })
    }

    fn by_plateau(&self, rate: f64) -> Option<Binding> {
        let own = self.own?;
        let plateau = self.curves[own].plateau.as_ref().filter(|p| p.cells.contains(&self.index))?;
        let level = format!(
            "The rate levels off at {} IOPS ({}) from {} outstanding on",
            number(plateau.iops),
            throughput(plateau.bytes_per_s),
            number(plateau.from as f64)
        );
        let held_back = self
            .volume
            .is_some_and(|v| self.record.trials.iter().any(|t| depth_reached(&self.record.load, t, v) == Some(false)));
        let (limit, evidence) = match self.kinds[own] {
            _ if doubted(self.cell(), DoubtCode::Buffered) => {
                (Limit::Unexplained, format!("{level}, with the page cache taking part: that need not be the disk's."))
            }
            _ if held_back => (
                Limit::Unexplained,
                format!("{level}, but few requests reached the device at a time: what holds them back lies before it."),
            ),
            Some(Kind { limit, witness }) => {
                let other = &self.curves[witness];
                let same = if limit == Limit::DiskIops { "as many requests a second" } else { "as many bytes a second" };
                let size = block(sample(other, self.cells).load.block_bytes);
                (limit, format!("{level}, with {same} as {size} requests."))
            }
            None => (
                Limit::Unexplained,
                format!(
                    "{level}. Whether requests or bytes are limited cannot be told: no other block size levels off at \
                     the same rate."
                ),
            ),
        };
        Some(inferred(limit, Some(plateau.iops), Some(rate / plateau.iops), evidence))
    }

    /// The deepest cell of a block size that moves as many bytes per second as those at which another size levels off.
    fn by_level_of_another_block(&self, rate: f64) -> Option<Binding> {
        let own = &self.curves[self.own?];
        let cell = self.cell();
        if own.plateau.is_some() || highest(own, self.cells) != Some(self.index) || doubted(cell, DoubtCode::Buffered) {
            return None;
        }
        let (plateau, witness) = self.curves.iter().find_map(|curve| {
            let plateau = curve.plateau.as_ref()?;
            let other = sample(curve, self.cells);
            let shows = alike(cell, other) && apart(cell, other) && same(plateau.bytes_per_s, moved(cell), SAME_RATE);
            shows.then_some((plateau, other))
        })?;
        let ceiling = rate * plateau.bytes_per_s / moved(cell);
        let evidence = format!(
            "It moves {}, the rate at which {} {} requests level off ({}).",
            throughput(moved(cell)),
            witness.load.pattern,
            block(witness.load.block_bytes),
            throughput(plateau.bytes_per_s)
        );
        Some(inferred(Limit::DiskThroughput, Some(ceiling), Some(rate / ceiling), evidence))
    }

    fn by_latency(&self, rate: f64) -> Option<Binding> {
        let cell = self.cell();
        let depth = outstanding(cell).filter(|_| !paced(cell))?;
        let ceiling = self.latency_ceiling();
        let each = format!("{} outstanding at {} each", number(depth as f64), span(depth as f64 / rate * 1e9));
        if depth == 1 {
            let evidence = format!("{each} make {} IOPS; nothing else was waiting.", number(rate));
            return Some(inferred(Limit::Latency, ceiling, ceiling.map(|c| rate / c), evidence));
        }
        let growth = self.curves[self.own?].growth(self.cells, self.index).filter(|g| g.proportional())?;
        let (from, to) = (&self.cells[growth.from], &self.cells[growth.to]);
        let evidence = format!(
            "{each}: the rate still grows with the depth, from {} IOPS at {} to {} at {}.",
            number(iops(from)?),
            number(outstanding(from)? as f64),
            number(iops(to)?),
            number(outstanding(to)? as f64)
        );
        Some(inferred(Limit::Latency, ceiling, ceiling.map(|c| rate / c), evidence))
    }

    fn unexplained(&self) -> Binding {
        let cell = self.cell();
        let evidence = if let Some(share) = met(cell) {
            format!("Only {} of the offered load was completed, and no other cell shows why.", percent(share))
        } else if paced(cell) {
            "The load waits by its own will, and stays below its ceiling.".to_owned()
        } else if self.own.is_some_and(|own| self.curves[own].closed.len() > 1) {
            "The rate neither grows with the depth nor has levelled off within the depths measured.".to_owned()
        } else {
            "It was measured at one depth alone: twice and half the depth would tell.".to_owned()
        };
        inferred(Limit::Unexplained, None, None, evidence)
    }

    /// Requests outstanding over the latency of a single one (Little's law), where that was measured.
    fn latency_ceiling(&self) -> Option<f64> {
        let alone = self.curves[self.own?].alone(self.cells)?;
        let depth = outstanding(self.cell())?;
        Some(depth as f64 * iops(&self.cells[alone])?)
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        let cell = self.cell();
        let Some(total) = &cell.total else { return Vec::new() };
        let mut ceilings: Vec<Ceiling> = Vec::new();
        let mut lowest = |limit, iops: f64, source| match ceilings.iter_mut().find(|c: &&mut Ceiling| c.limit == limit) {
            Some(known) if known.iops <= iops => {}
            Some(known) => *known = Ceiling { limit, iops, source },
            None => ceilings.push(Ceiling { limit, iops, source }),
        };
        if let Some(iops) = self.latency_ceiling().filter(|_| sound(cell)) {
            lowest(Limit::Latency, iops, "inferred: requests outstanding over the latency of a single one".to_owned());
        }
        for (curve, kind) in self.curves.iter().zip(self.kinds) {
            let (Some(plateau), Some(kind)) = (&curve.plateau, kind) else { continue };
            let other = sample(curve, self.cells);
            if !alike(cell, other) || total.iops <= 0.0 {
                continue;
            }
            let source = format!(
                "inferred: {} {} requests level off from {} outstanding on",
                other.load.pattern,
                block(other.load.block_bytes),
                number(plateau.from as f64)
            );
            match kind.limit {
                Limit::DiskThroughput => {
                    let bytes_per_request = total.throughput_bytes_per_s / total.iops;
                    if bytes_per_request > 0.0 {
                        lowest(Limit::DiskThroughput, plateau.bytes_per_s / bytes_per_request, source);
                    }
                }
                // Larger requests may count as several: what was seen holds up to the size at which it was seen.
                _ if cell.load.block_bytes <= other.load.block_bytes && cell.load.pattern == other.load.pattern => {
                    lowest(kind.limit, plateau.iops, source);
                }
                _ => {}
            }
        }
        ceilings.sort_by(|a, b| a.iops.total_cmp(&b.iops));
        ceilings
    }
}

fn inferred(limit: Limit, ceiling_iops: Option<f64>, utilization: Option<f64>, evidence: String) -> Binding {
    Binding { limit, ceiling_iops, utilization, evidence, inferred: true }
}
