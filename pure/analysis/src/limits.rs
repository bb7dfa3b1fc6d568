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
            let evidence = format!("Of {} requests a second {what}, {} were completed.", number(asked), number(rate));
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
        let (tool, all) = self
            .record
            .trials
            .iter()
            .filter_map(|t| Some((&t.surroundings, t.surroundings.machine?)))
            .fold((0.0, 0.0), |(tool, all), (s, machine)| {
                (tool + (s.tool_user_ns + s.tool_system_ns) as f64, all + s.elapsed_ns as f64 * f64::from(machine.cpus))
            });
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
                let same =
                    if limit == Limit::DiskIops { "as many requests a second" } else { "as many bytes a second" };
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
            "The rate grows less than the depth does, and has not levelled off within the depths measured.".to_owned()
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
        let mut lowest = |limit, iops: f64, source| match ceilings.iter_mut().find(|c: &&mut Ceiling| c.limit == limit)
        {
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

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, golden, open, run};
    use crate::summarize;
    use crate::summary::{Binding, Limit, RunSummary};
    use loadline_record::{CellRecord, Doubt, DoubtCode, RunRecord, TargetKind};

    const KIB: u64 = 1 << 10;

    fn sweep(reads: f64, block: u64, depths: &[u32]) -> Vec<CellRecord> {
        depths.iter().map(|d| cell(closed("random", reads, block, *d), &ExampleDisk::default(), &[1.0])).collect()
    }
    fn bindings(record: &RunRecord) -> Vec<Binding> {
        summarize(record).cells.into_iter().map(|c| c.binding.expect("measured")).collect()
    }
    fn limits(record: &RunRecord) -> Vec<Limit> {
        bindings(record).iter().map(|b| b.limit).collect()
    }
    fn doubt(record: &mut RunRecord, index: usize, code: DoubtCode) {
        record.cells[index].trials[0].doubts = vec![Doubt { code, detail: "As seen.".to_owned() }];
    }

    #[test]
    fn two_block_sizes_tell_requests_from_bytes() {
        use Limit::{DiskIops, DiskThroughput, Latency};
        let mut cells = sweep(1.0, 4 * KIB, &[1, 4, 8, 32]);
        cells.extend(sweep(1.0, 16 * KIB, &[8, 32]));
        cells.extend(sweep(1.0, 256 * KIB, &[8, 32]));
        cells.extend(sweep(1.0, 1024 * KIB, &[8, 32]));
        let record = run(cells);
        assert_eq!(
            limits(&record),
            [
                Latency,
                Latency,
                DiskIops,
                DiskIops,
                DiskIops,
                DiskIops,
                DiskThroughput,
                DiskThroughput,
                DiskThroughput,
                DiskThroughput
            ]
        );
        let bindings = bindings(&record);
        let at_32 = &bindings[3];
        assert!((at_32.ceiling_iops.unwrap() - 5_000.0).abs() < 10.0 && at_32.inferred);
        assert!((at_32.utilization.unwrap() - 1.0).abs() < 0.01);
        assert!(
            at_32.evidence.contains("from 8 outstanding on") && at_32.evidence.contains("16 KiB"),
            "{}",
            at_32.evidence
        );
    }

    #[test]
    fn one_block_size_names_the_level_and_no_limit() {
        let bindings = bindings(&run(sweep(1.0, 8 * KIB, &[1, 8, 16, 32])));
        assert_eq!(bindings[3].limit, Limit::Unexplained);
        assert!((bindings[3].ceiling_iops.unwrap() - 5_000.0).abs() < 10.0);
        assert!(bindings[3].evidence.contains("cannot be told"), "{}", bindings[3].evidence);
    }

    #[test]
    fn growth_in_proportion_to_depth_is_latency() {
        let bindings = bindings(&run(sweep(0.0, 4 * KIB, &[2, 4])));
        for (binding, depth) in bindings.iter().zip([2, 4]) {
            assert_eq!(binding.limit, Limit::Latency);
            assert!(binding.evidence.starts_with(&format!("{depth} outstanding at 1.00 ms")), "{}", binding.evidence);
        }
        let record = run(sweep(0.0, 4 * KIB, &[4]));
        assert_eq!(limits(&record), [Limit::Unexplained]);
    }

    #[test]
    fn an_open_loop_that_is_met_is_bound_by_nothing_and_an_overloaded_one_shows_the_plateau() {
        let disk = ExampleDisk::default();
        let mut cells = sweep(1.0, 4 * KIB, &[1, 32]);
        cells.extend([2_500.0, 5_500.0].map(|r| cell(open("random", 1.0, 4 * KIB, r), &disk, &[1.0])));
        let bindings = bindings(&run(cells));
        assert_eq!(
            bindings.iter().map(|b| b.limit).collect::<Vec<_>>(),
            [Limit::Latency, Limit::Unexplained, Limit::Arrival, Limit::Unexplained]
        );
        for on_plateau in [&bindings[1], &bindings[3]] {
            assert!(on_plateau.evidence.contains("levels off at 5,00"), "{}", on_plateau.evidence);
        }
        let alone = run(vec![cell(open("random", 1.0, 4 * KIB, 10_000.0), &disk, &[1.0])]);
        assert!(self::bindings(&alone)[0].evidence.contains("50 % of the offered load"));
    }

    #[test]
    fn a_rate_ceiling_that_is_met_is_the_loads_own() {
        let mut record = run(sweep(1.0, 4 * KIB, &[1]));
        record.cells[0].load.rate_iops = Some(1_000.0);
        assert_eq!(limits(&record), [Limit::Arrival]);
        record.cells[0].load.rate_iops = Some(2_000.0);
        assert_eq!(limits(&record), [Limit::Unexplained]);
    }

    #[test]
    fn the_tool_and_the_cache_come_before_the_disk() {
        let mut record = run([sweep(1.0, 4 * KIB, &[8, 32]), sweep(1.0, 8 * KIB, &[8, 32])].concat());
        assert_eq!(limits(&record), [Limit::DiskIops; 4]);
        doubt(&mut record, 0, DoubtCode::CachedReads);
        doubt(&mut record, 1, DoubtCode::GeneratorBound);
        assert_eq!(limits(&record)[..2], [Limit::Cache, Limit::Generator]);
        // Without them nothing shows that the other block size has the same level.
        assert_eq!(limits(&record)[2..], [Limit::Unexplained; 2]);
        record.header.volumes[0].kind = TargetKind::Null;
        assert_eq!(limits(&record), [Limit::Generator; 4]);
    }

    #[test]
    fn a_machine_without_cpu_to_spare_is_named() {
        let mut record = run(sweep(1.0, 4 * KIB, &[4]));
        let surroundings = &mut record.cells[0].trials[0].surroundings;
        surroundings.machine.as_mut().unwrap().busy = 0.98;
        let bindings = bindings(&record);
        assert_eq!(bindings[0].limit, Limit::Cpu);
        // 4.5 s of 60 s x 4 CPUs x 98 %.
        assert!(bindings[0].evidence.contains("98 % busy, 1.9 % of it"), "{}", bindings[0].evidence);
    }

    #[test]
    fn a_level_held_before_the_device_or_in_the_page_cache_is_not_the_disks() {
        let both = || run([sweep(0.0, 4 * KIB, &[8, 32]), sweep(0.0, 8 * KIB, &[8, 32])].concat());
        let mut throttled = both();
        for cell in &mut throttled.cells {
            cell.trials[0].surroundings.devices[0].queue_ms = 100;
        }
        let bindings = bindings(&throttled);
        assert!(bindings.iter().all(|b| b.limit == Limit::Unexplained && b.evidence.contains("lies before it")));
        let mut buffered = both();
        (0..4).for_each(|i| doubt(&mut buffered, i, DoubtCode::Buffered));
        assert_eq!(limits(&buffered), [Limit::Unexplained; 4]);
    }

    #[test]
    fn crystaldiskmark_rows_show_a_limit_on_bytes() {
        // 128 KiB x 32 moves what 1 MiB x 1 and x 8 level off at.
        let disk = ExampleDisk { latency_ns: 4e6, ..ExampleDisk::default() };
        let row = |block, depth| cell(closed("sequential", 1.0, block, depth), &disk, &[1.0]);
        let record = run(vec![row(1024 * KIB, 1), row(1024 * KIB, 8), row(128 * KIB, 32)]);
        assert_eq!(limits(&record), [Limit::DiskThroughput; 3]);
        let other = ExampleDisk { bytes_per_s: 150e6, ..disk };
        let mut apart = record.clone();
        apart.cells[2] = cell(closed("sequential", 1.0, 128 * KIB, 32), &other, &[1.0]);
        assert_eq!(limits(&apart), [Limit::Unexplained; 3]);
    }

    #[test]
    fn cells_that_differ_in_more_than_depth_are_no_curve() {
        let mut record = run(sweep(1.0, 4 * KIB, &[16, 32]));
        let spec =
            |theta: u32| serde_json::json!({"pattern": {"random": {"zipf": theta}}, "arrival": theta, "trials": theta});
        for (cell, theta) in record.cells.iter_mut().zip([500, 500]) {
            cell.spec = spec(theta);
        }
        assert!(bindings(&record)[1].evidence.contains("levels off"));
        record.cells[1].spec = spec(1_200);
        assert!(bindings(&record)[1].evidence.contains("one depth alone"));
    }

    #[test]
    fn every_ceiling_is_put_beside_the_cell_lowest_first() {
        let summary: RunSummary = summarize(&golden());
        let of = |label: &str| summary.cells.iter().find(|c| c.label == label).unwrap();
        let shallow = &of("random read 4 KiB, depth 2").ceilings;
        let limits: Vec<Limit> = shallow.iter().map(|c| c.limit).collect();
        assert_eq!(limits, [Limit::Latency, Limit::DiskIops]);
        assert!((shallow[0].iops - 2_000.0).abs() < 10.0 && (shallow[1].iops - 5_000.0).abs() < 10.0);
        // Measured at 16 KiB at most: nothing is said of 1 MiB.
        assert!(of("random read 1024 KiB, depth 8").ceilings.iter().all(|c| c.limit != Limit::DiskIops));
        for cell in &summary.cells {
            assert!(cell.ceilings.is_sorted_by(|a, b| a.iops <= b.iops));
        }
    }
}
