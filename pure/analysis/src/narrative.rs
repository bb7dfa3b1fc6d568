//! What a run says, as an engineer would write it down: for each volume and kind of load the limit, its evidence, what follows, and what to try.

use crate::curves::{iops, outstanding, paced};
use crate::findings::{how_much, warning};
use crate::summary::{CellSummary, OperationFigures, RunSummary};
use crate::words::{block, load_name, number, percent, sentence, span, throughput};
use loadline_record::{Ceiling, Limit, RunRecord, TargetKind};
use loadline_units::Duration;

/// Volumes that are told of at most; of more, tables and comparisons tell better.
const VOLUMES_MAX: usize = 8;
/// Rates that come as near to the best are as good: trials on a quiet disk differ by as much.
const AS_GOOD: f64 = 0.98;
/// Reads and writes whose rates differ by less are told together.
const ALIKE: f64 = 0.05;
/// Latency that counts where no objective is set: database vendors' 20 ms on average.
const USUAL_NS: u64 = 20_000_000;
/// A next limit no further away than this leaves next to nothing to be gained.
const NEAR: f64 = 0.05;

/// What is said of one kind of load on one volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// The volume's name; `None` where the run has only one.
    pub volume: Option<String>,
    /// Limit, evidence, consequence, next step.
    pub text: String,
}

/// The run in a paragraph for the reads and one for the writes of each volume, or one for both where they stop alike.
#[must_use]
pub fn narrative(record: &RunRecord, summary: &RunSummary) -> Vec<Paragraph> {
    let volumes = &summary.run.volumes;
    let told = volumes.iter().filter(|v| v.kind != TargetKind::Null).take(VOLUMES_MAX);
    told.flat_map(|volume| {
        let cells: Vec<&CellSummary> = summary.cells.iter().filter(|c| c.volume == volume.name).collect();
        let named = (volumes.len() > 1).then(|| volume.name.clone());
        let texts = Told { record, cells }.texts().into_iter();
        texts.map(move |text| Paragraph { volume: named.clone(), text })
    })
    .collect()
}

/// The cells of one volume.
struct Told<'a> {
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
        let pure = cell.trim.is_none() && cell.flush.is_none();
        match self {
            Self::Reads => pure && cell.read.is_some() && cell.write.is_none(),
            Self::Writes => pure && cell.write.is_some() && cell.read.is_none(),
            Self::Mixes => true,
        }
    }
}

impl<'a> Told<'a> {
    fn texts(&self) -> Vec<String> {
        let anchor = |kind| Some((kind, self.best(kind, iops)?));
        let mut anchors: Vec<(Kind, &CellSummary)> =
            [Kind::Reads, Kind::Writes].into_iter().filter_map(anchor).collect();
        if anchors.is_empty() {
            anchors.extend(anchor(Kind::Mixes));
        }
        let mut texts = Vec::new();
        let mut advised: Option<Limit> = None;
        if let [(_, reads), (_, writes)] = anchors.as_slice()
            && alike(reads, writes)
        {
            texts.push(self.story(Kind::Reads, reads, " and writes", &mut advised).join(" "));
        } else {
            for (kind, cell) in &anchors {
                texts.push(self.story(*kind, cell, "", &mut advised).join(" "));
            }
        }
        texts.retain(|text| !text.is_empty());
        texts
    }

    /// The cell with the largest figure, or the least demanding one of those as good; one that is not in doubt, if there is one.
    fn best(&self, kind: Kind, figure: fn(&CellSummary) -> Option<f64>) -> Option<&'a CellSummary> {
        let among =
            || self.cells.iter().copied().filter(|c| kind.holds(c) && !paced(c) && c.load.queue_depth.is_some());
        let clean: Vec<&CellSummary> = among().filter(|c| warning(c).is_empty()).collect();
        let all: Vec<&CellSummary> = if clean.is_empty() { among().collect() } else { clean };
        let figure = |c: &CellSummary| figure(c).filter(|f| f.is_finite());
        let most = all.iter().filter_map(|c| figure(c)).max_by(f64::total_cmp).filter(|m| *m > 0.0)?;
        let demand = |c: &&CellSummary| (outstanding(c), c.load.block_bytes, c.load.pattern != "random");
        all.into_iter().filter(|c| figure(c).is_some_and(|f| f >= most * AS_GOOD)).min_by_key(demand)
    }

    /// Limit, evidence, consequence, next step of one kind of load.
    fn story(&self, kind: Kind, cell: &CellSummary, also: &str, advised: &mut Option<Limit>) -> Vec<String> {
        let Some((rate, total)) =
            iops(cell).zip(cell.total.as_ref()).filter(|(r, t)| r.is_finite() && t.throughput_bytes_per_s.is_finite())
        else {
            return Vec::new();
        };
        let name = sentence(&format!("{}{also}", load_name(cell)));
        let level = format!("{} IOPS ({})", number(rate), throughput(total.throughput_bytes_per_s));
        let Some(binding) = &cell.binding else {
            return vec![format!("{name} reach {level} at {}.", how_much(cell))];
        };
        let deeper = self.deepest_like(cell);
        let mut told = vec![match binding.limit {
            Limit::Latency => {
                format!("{name} reach {level} at {}, and no limit stops them there (latency).", how_much(cell))
            }
            Limit::Unexplained => {
                format!(
                    "{name} stop at {level} from {} on, and no known limit explains it (unexplained).",
                    how_much(cell)
                )
            }
            limit => {
                let from = if deeper.is_some() {
                    format!(" from {} on", how_much(cell))
                } else {
                    format!(" at {}", how_much(cell))
                };
                let shown_by_others = binding.inferred && matches!(limit, Limit::DiskIops | Limit::DiskThroughput);
                let inferred = if shown_by_others { ", as the other cells show" } else { "" };
                format!("{name} stop at {level}{from}: {} ({}){inferred}.", what_binds(limit), limit.name())
            }
        }];
        if let Some(evidence) = Some(binding.evidence.trim()).filter(|e| !e.is_empty()) {
            told.push(format!("{}.", sentence(evidence).trim_end_matches('.')));
        }
        told.extend(self.consequence(cell, deeper));
        told.extend(self.in_bytes(kind, cell, also));
        let next = next_ceiling(cell, binding.limit);
        if *advised != Some(binding.limit) {
            told.push(format!("Next: {}.", advice(binding.limit)));
        }
        *advised = Some(binding.limit);
        if let Some((next, share)) = next.map(|n| (n, n.iops / binding.ceiling_iops.unwrap_or(rate) - 1.0)) {
            told.push(if share <= NEAR {
                format!(
                    "That alone gains next to nothing: {} follows at {} IOPS, {} above.",
                    next.limit.name(),
                    number(next.iops),
                    percent(share.max(0.0))
                )
            } else {
                format!(
                    "Beyond it {} follows at {} IOPS, {} above.",
                    next.limit.name(),
                    number(next.iops),
                    percent(share)
                )
            });
        }
        told
    }

    /// The same load with the most outstanding, where that is more.
    fn deepest_like(&self, cell: &CellSummary) -> Option<&'a CellSummary> {
        self.alike(cell).filter(|c| outstanding(c) > outstanding(cell)).max_by_key(|c| outstanding(c))
    }

    fn alike<'b>(&'b self, cell: &'b CellSummary) -> impl Iterator<Item = &'a CellSummary> + 'b {
        let same = move |c: &&CellSummary| {
            c.load.pattern == cell.load.pattern
                && c.load.read_ratio.to_bits() == cell.load.read_ratio.to_bits()
                && c.load.block_bytes == cell.load.block_bytes
                && c.load.buffered == cell.load.buffered
                && c.flush.is_some() == cell.flush.is_some()
                && c.load.queue_depth.is_some()
                && !paced(c)
        };
        self.cells.iter().copied().filter(same)
    }

    /// What more requests at once do, and up to which the objective is kept.
    fn consequence(&self, cell: &CellSummary, deeper: Option<&CellSummary>) -> Option<String> {
        let (figure, limit_ns) = self.objective(cell);
        let mut row: Vec<&CellSummary> = self.alike(cell).collect();
        row.sort_by_key(|c| outstanding(c));
        let kept = |c: &&&CellSummary| latency(c, &figure).is_some_and(|l| l <= limit_ns as f64);
        let rule = format!("{}{}", Duration::from_ns(limit_ns), figure_words(&figure));
        let deepest_kept = row.iter().take_while(kept).last();
        let kept_all = deepest_kept.is_some_and(|c| outstanding(c) == row.last().and_then(|l| outstanding(l)));
        let rule = match deepest_kept {
            _ if row.len() < 2 => None,
            _ if kept_all => Some(format!("{rule} is kept at every depth measured")),
            Some(c) => Some(format!("{rule} is kept up to {}", how_much(c))),
            None => Some(format!("{rule} is missed at every depth measured")),
        };
        let added = deeper.and_then(|d| {
            let mean = latency(d, "mean")?;
            Some(format!("more at once only adds waiting, {} on average at {}", span(mean), how_much(d)))
        });
        let parts: Vec<String> = added.into_iter().chain(rule).collect();
        (!parts.is_empty()).then(|| format!("{}.", sentence(&parts.join("; "))))
    }

    fn objective(&self, cell: &CellSummary) -> (String, u64) {
        let record = self.record.cells.iter().find(|c| c.id == cell.id);
        record.and_then(|r| r.load.objective.clone()).unwrap_or_else(|| ("mean".to_owned(), USUAL_NS))
    }

    /// The most bytes, where another block size moves more and something else stops it.
    fn in_bytes(&self, kind: Kind, cell: &CellSummary, also: &str) -> Option<String> {
        let moved = |c: &CellSummary| c.total.as_ref().map(|t| t.throughput_bytes_per_s);
        let most = self.best(kind, moved)?;
        if most.load.block_bytes <= cell.load.block_bytes || moved(most)? < moved(cell)? * (1.0 + ALIKE) {
            return None;
        }
        let by = most.binding.as_ref().map_or_else(String::new, |b| match b.limit {
            Limit::Unexplained => ", where what stops them is unexplained".to_owned(),
            Limit::Latency => ", where only latency bounds them".to_owned(),
            limit => format!(", where {} ({})", what_binds(limit), limit.name()),
        });
        let what = match (kind, also.is_empty()) {
            (Kind::Reads, true) => "reads",
            (Kind::Writes, true) => "writes",
            _ => "requests",
        };
        Some(format!(
            "In bytes the most is {} with {} {what}{by}.",
            throughput(moved(most)?),
            block(most.load.block_bytes)
        ))
    }
}

/// Whether reads and writes stop at the same rate for the same reason.
fn alike(a: &CellSummary, b: &CellSummary) -> bool {
    let limit = |c: &CellSummary| c.binding.as_ref().map(|b| b.limit);
    let near = iops(a).zip(iops(b)).is_some_and(|(a, b)| b > 0.0 && (a / b - 1.0).abs() <= ALIKE);
    near && a.load.pattern == b.load.pattern && a.load.block_bytes == b.load.block_bytes && limit(a) == limit(b)
}

/// The lowest ceiling above the binding one that neither more requests at once nor, of a VM, another size of it lifts as well.
fn next_ceiling(cell: &CellSummary, binding: Limit) -> Option<&Ceiling> {
    let rate = iops(cell)?;
    let others = cell.ceilings.iter().filter(|c| {
        c.limit != Limit::Latency && c.limit != binding && !(of_vm(c.limit) && of_vm(binding)) && c.iops >= rate
    });
    others.min_by(|a, b| a.iops.total_cmp(&b.iops))
}

const fn of_vm(limit: Limit) -> bool {
    matches!(
        limit,
        Limit::VmCachedIops | Limit::VmCachedThroughput | Limit::VmUncachedIops | Limit::VmUncachedThroughput
    )
}

/// A latency figure over all operations, the worst of them, ns.
fn latency(cell: &CellSummary, figure: &str) -> Option<f64> {
    let of = |o: &OperationFigures| {
        let l = &o.latency_ns;
        match figure {
            "p50" => l.p50 as f64,
            "p90" => l.p90 as f64,
            "p95" => l.p95 as f64,
            "p99" => l.p99 as f64,
            "p99_9" => l.p99_9 as f64,
            _ => l.mean,
        }
    };
    let all = [&cell.read, &cell.write, &cell.trim].into_iter().flatten().map(of);
    all.filter(|l| l.is_finite()).max_by(f64::total_cmp)
}

fn figure_words(figure: &str) -> String {
    if figure == "mean" { " on average".to_owned() } else { format!(" at {}", figure.replace('_', ".")) }
}

fn what_binds(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops => "the disk's requests per second bind",
        Limit::DiskThroughput => "the disk's bytes per second bind",
        Limit::VmUncachedIops => "the VM's uncached requests per second bind, not the disks",
        Limit::VmUncachedThroughput => "the VM's uncached bytes per second bind, not the disks",
        Limit::VmCachedIops => "the VM's cached requests per second bind",
        Limit::VmCachedThroughput => "the VM's cached bytes per second bind",
        Limit::BurstExhausted => "the burst is spent and the baseline binds",
        Limit::Cache => "a cache answers, and this is its speed, not the disk's",
        Limit::Latency => "each waits only for the one before it",
        Limit::Arrival => "the load asked for no more",
        Limit::Cpu => "the machine's CPUs bind",
        Limit::Generator => "loadline itself binds, not the storage",
        Limit::Interface => "the interface between machine and devices binds",
        Limit::Unexplained => "nothing known binds",
    }
}

/// What would move this limit, and what would not.
fn advice(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops => "fewer and larger requests, a disk with more requests per second, or more disks in a stripe",
        Limit::DiskThroughput => {
            "a disk with more bytes per second, or more disks in a stripe; larger requests do not help"
        }
        Limit::VmUncachedIops | Limit::VmUncachedThroughput => {
            "a larger VM size; faster disks, or more of them, would change nothing"
        }
        Limit::VmCachedIops | Limit::VmCachedThroughput => {
            "a larger VM size, or the host's cache off where the disks by themselves allow more"
        }
        Limit::BurstExhausted => "plan with the rate after the burst, or take a disk whose baseline is high enough",
        Limit::Cache => "measure a range larger than the cache before counting on this rate",
        Limit::Latency => "ask for more at once (deeper queues, more threads) before buying anything",
        Limit::Arrival => "offer more, to see where it stops",
        Limit::Cpu => "a machine with more or faster CPUs, or larger requests",
        Limit::Generator => "more load threads, or a larger machine to measure from",
        Limit::Interface => "devices on another interface",
        Limit::Unexplained => "vary one factor at a time (loadline hunt) to see what moves it",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::summarize;

    fn sweep(read_ratio: f64) -> Vec<loadline_record::CellRecord> {
        let disk = ExampleDisk::default();
        [1, 4, 16, 64, 256]
            .map(|depth| cell(closed("random", read_ratio, 4 << 10, depth), &disk, &[1.0, 1.0, 1.0]))
            .into()
    }

    fn text(cells: Vec<loadline_record::CellRecord>) -> String {
        let record = run(cells);
        let told = narrative(&record, &summarize(&record));
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].volume, None);
        told[0].text.clone()
    }

    #[test]
    fn limit_evidence_consequence_and_next_step_stand_in_this_order() {
        let mut cells = sweep(1.0);
        cells.push(cell(closed("random", 1.0, 8 << 10, 64), &ExampleDisk::default(), &[1.0, 1.0, 1.0]));
        cells.push(cell(closed("random", 1.0, 8 << 10, 128), &ExampleDisk::default(), &[1.0, 1.0, 1.0]));
        let text = text(cells);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is not in {text:?}"));
        assert!(place("stop at") < place("(disk-iops)"));
        assert!(place("(disk-iops)") < place("More at once only adds waiting"));
        assert!(place("only adds waiting") < place("Next: fewer and larger requests"));
        assert!(place("20 ms on average is kept up to depth 64") > 0);
    }

    #[test]
    fn a_load_that_nothing_stops_is_told_to_ask_for_more() {
        let disk = ExampleDisk::default();
        let cells = [1, 2].map(|depth| cell(closed("random", 1.0, 4 << 10, depth), &disk, &[1.0, 1.0, 1.0]));
        let text = text(cells.into());
        assert!(text.contains("no limit stops them there") && text.contains("ask for more at once"), "{text}");
    }

    #[test]
    fn reads_and_writes_that_stop_alike_are_told_once() {
        let mut cells = sweep(1.0);
        cells.extend(sweep(0.0));
        let text = text(cells);
        assert_eq!(text.matches("stop at").count(), 1, "{text}");
        assert!(text.starts_with("Random 4 KiB reads and writes"), "{text}");
    }
}
