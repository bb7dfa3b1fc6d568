//! The table that every form prints: one row for a cell, and one below it for each operation of a mix.

use crate::console::Style;
use crate::doubts::{self, DoubtGroup};
use crate::figures::{self, MISSING, plain};
use crate::table::{self, Field, Table};
use crate::words::how_long;
use loadline_analysis::{
    CellSummary, LastingFigures, LatencyRange, Limit, OperationFigures, RunInfo, RunSummary, best_cell,
};
use loadline_block::Operation;
use loadline_record::{Clock, DoubtCode, DoubtGrade, HistogramSnapshot, RunStatus, RunVerb, Step};
use std::collections::BTreeSet;

/// One row.
pub(crate) struct Row<'a> {
    /// Index of the cell in the summary.
    pub(crate) index: usize,
    /// The cell.
    pub(crate) cell: &'a CellSummary,
    /// `None` for the cell itself, else one operation of it, or a step of an application.
    pub(crate) part: Option<Step>,
    /// Requests per second.
    pub(crate) iops: Option<f64>,
    /// Bytes per second.
    pub(crate) throughput_bytes_per_s: Option<f64>,
    /// Latency.
    pub(crate) latency: RowLatency<'a>,
    /// Its uncertainty range, for a prediction.
    pub(crate) latency_range: Option<LatencyRange>,
    /// "†1,3", or nothing.
    pub(crate) mark: String,
}

/// A row's latency.
#[derive(Clone, Copy)]
pub(crate) enum RowLatency<'a> {
    /// These figures.
    Known(&'a HistogramSnapshot),
    /// The rows below have it, by operation.
    ByOperation,
    /// Not known.
    Missing,
}

/// A cell's operations that move data, with their figures.
pub(crate) fn transfers(cell: &CellSummary) -> Vec<(Operation, &OperationFigures)> {
    [(Operation::Read, &cell.read), (Operation::Write, &cell.write), (Operation::Trim, &cell.trim)]
        .into_iter()
        .filter_map(|(operation, figures)| Some((operation, figures.as_ref()?)))
        .collect()
}

/// Every row of a run.
pub(crate) fn rows<'a>(summary: &'a RunSummary, groups: &[DoubtGroup]) -> Vec<Row<'a>> {
    summary.cells.iter().enumerate().flat_map(|(index, cell)| cell_rows(index, cell, groups)).collect()
}

/// The rows of one cell: its own, then those of its operations if there are several.
pub(crate) fn cell_rows<'a>(index: usize, cell: &'a CellSummary, groups: &[DoubtGroup]) -> Vec<Row<'a>> {
    let transfers = transfers(cell);
    let total = cell.total.as_ref();
    let latency = match transfers.as_slice() {
        [(_, figures)] => RowLatency::Known(&figures.latency_ns),
        [] => RowLatency::Missing,
        _ => RowLatency::ByOperation,
    };
    let own = Row {
        index,
        cell,
        part: None,
        iops: total.map(|t| t.iops),
        throughput_bytes_per_s: total.map(|t| t.throughput_bytes_per_s),
        latency,
        latency_range: match transfers.as_slice() {
            [(_, figures)] => figures.latency_range_ns,
            _ => None,
        },
        mark: doubts::mark(groups, index),
    };
    let mut rows = vec![own];
    let parts = if transfers.len() > 1 { transfers } else { Vec::new() };
    for (operation, figures) in parts.into_iter().chain(cell.flush.as_ref().map(|f| (Operation::Flush, f))) {
        rows.push(Row {
            index,
            cell,
            part: Some(Step::Operation(operation)),
            iops: Some(figures.iops),
            // Beside reads and writes, neither moves any.
            throughput_bytes_per_s: matches!(operation, Operation::Read | Operation::Write)
                .then_some(figures.throughput_bytes_per_s),
            latency: RowLatency::Known(&figures.latency_ns),
            latency_range: figures.latency_range_ns,
            mark: String::new(),
        });
    }
    rows.extend(cell.steps.iter().map(|step| Row {
        index,
        cell,
        part: Some(Step::Named(step.name.clone())),
        iops: Some(step.figures.iops),
        throughput_bytes_per_s: Some(step.figures.throughput_bytes_per_s).filter(|bytes| *bytes > 0.0),
        latency: RowLatency::Known(&step.figures.latency_ns),
        latency_range: None,
        mark: String::new(),
    }));
    rows
}

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// The volume's name.
    Volume,
    /// The load.
    Load,
    /// Marks of doubts.
    Doubts,
    /// Arrivals per second that an open loop wanted.
    Offered,
    /// Requests per second.
    Iops,
    /// Its 95 % interval, if measured.
    Interval,
    /// Its uncertainty range, if predicted.
    Range,
    /// Bytes per second.
    Throughput,
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// The median's uncertainty range.
    P50Range,
    /// 99th percentile.
    P99,
    /// Its uncertainty range.
    P99Range,
    /// 99.9th percentile.
    P999,
    /// 99.99th percentile.
    P9999,
    /// Largest latency.
    Max,
    /// Where only means over short times are known: the largest of them.
    HighestMean,
    /// Failed requests.
    Errors,
    /// The binding limit.
    Binding,
}

impl Column {
    /// Every column, from left to right.
    const ALL: [Self; 19] = [
        Self::Volume,
        Self::Load,
        Self::Doubts,
        Self::Offered,
        Self::Iops,
        Self::Interval,
        Self::Range,
        Self::Throughput,
        Self::Mean,
        Self::P50,
        Self::P50Range,
        Self::P99,
        Self::P99Range,
        Self::P999,
        Self::P9999,
        Self::Max,
        Self::HighestMean,
        Self::Errors,
        Self::Binding,
    ];

    /// The columns that have something to say about this run.
    pub(crate) fn wanted(summary: &RunSummary) -> Vec<Self> {
        let cells = &summary.cells;
        let any = |test: &dyn Fn(&CellSummary) -> bool| cells.iter().any(test);
        Self::ALL
            .into_iter()
            .filter(|column| match column {
                Self::Volume => cells.iter().any(|c| c.volume != cells[0].volume),
                Self::Doubts => any(&|c| !c.doubts.is_empty()),
                Self::Offered => any(&|c| c.offered_iops.is_some()),
                Self::Interval | Self::Range => {
                    let predicted = summary.run.clock == Clock::Virtual;
                    let has_own = (*column == Self::Range) == predicted;
                    has_own && any(&|c| c.total.as_ref().and_then(figures::interval).is_some())
                }
                Self::P50Range | Self::P99Range => {
                    any(&|c| transfers(c).iter().any(|(_, figures)| figures.latency_range_ns.is_some()))
                }
                Self::Max => cells.is_empty() || any(&|c| !c.has_only_means()),
                Self::HighestMean => any(&CellSummary::has_only_means),
                Self::Errors => any(&|c| c.errors > 0),
                Self::Binding => any(&|c| c.binding.is_some()),
                _ => true,
            })
            .collect()
    }
    /// The heading, with the unit if the figures have none.
    pub(crate) const fn heading(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::Load => "load",
            Self::Doubts => "†",
            Self::Offered => "offered/s",
            Self::Iops => "IOPS",
            Self::Interval => "95 %",
            Self::Range => "range",
            Self::Throughput => "MB/s",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P50Range => "p50 range",
            Self::P99 => "p99",
            Self::P99Range => "p99 range",
            Self::P999 => "p99.9",
            Self::P9999 => "p99.99",
            Self::Max => "max",
            Self::HighestMean => "highest mean",
            Self::Errors => "errors",
            Self::Binding => "bound by",
        }
    }
    /// The meaning of an interval; `None` for other columns.
    pub(crate) const fn interval_words(self) -> Option<&'static str> {
        match self {
            Self::Interval => Some("the confidence interval of the mean IOPS, over trials or within one"),
            Self::Range => Some("that of the IOPS over what the model is uncertain about, no confidence interval"),
            _ => None,
        }
    }
    /// Whether it contains words, not numbers.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Volume | Self::Load | Self::Doubts | Self::Binding)
    }
    /// Whether it is a latency, whose unit differs from row to row.
    pub(crate) const fn is_latency(self) -> bool {
        matches!(self, Self::Mean | Self::P50 | Self::P99 | Self::P999 | Self::P9999 | Self::Max | Self::HighestMean)
    }
}

/// From when latencies count.
pub(crate) fn latency_counts(summary: &RunSummary) -> String {
    match &summary.run.imported {
        Some(from) => format!("Latency is what {} calls so.", plain(&from.tool_and_version())),
        None if summary.run.is_emulated() => "Latency is the model's, from when a request arrived.".to_owned(),
        None => "Latency counts from when the load wanted the request.".to_owned(),
    }
}

/// How large a volume is, as far as it is known.
pub(crate) fn size(volume: &loadline_record::VolumeFacts) -> String {
    volume.size_bytes.map_or_else(|| "size unknown".to_owned(), |bytes| loadline_units::Bytes::new(bytes).human())
}

/// The place of a volume.
pub(crate) fn place(volume: &loadline_record::VolumeFacts) -> String {
    plain(volume.place())
}

/// How a volume is reached, in words.
pub(crate) fn way(volume: &loadline_record::VolumeFacts) -> &'static str {
    match (volume.kind, volume.direct) {
        (loadline_record::TargetKind::Modelled, _) => "a model",
        (loadline_record::TargetKind::Null, _) => "no storage: measures the tool",
        (loadline_record::TargetKind::Nbd, _) => "over NBD",
        (_, true) => "direct I/O",
        (_, false) => "through the page cache",
    }
}

/// Columns of a terminal that go first when the line is too short.
const EXPENDABLE: [Column; 9] = [
    Column::P9999,
    Column::Max,
    Column::HighestMean,
    Column::P50,
    Column::P999,
    Column::Binding,
    Column::Interval,
    Column::Range,
    Column::Offered,
];

/// Likewise of a prediction with ranges: percentiles and their ranges stay longest.
const EXPENDABLE_PREDICTED: [Column; 9] = [
    Column::P9999,
    Column::Max,
    Column::P999,
    Column::Mean,
    Column::Binding,
    Column::Offered,
    Column::P50Range,
    Column::P50,
    Column::P99Range,
];
/// Optional columns are dropped before the label column becomes narrower than this.
const LABEL_WIDTH_WANTED: usize = 38;
/// Spaces behind a missing latency: as many as a space and a unit take.
const MISSING_FILL: usize = 3;

/// Every row of a run in these columns; the rows of a cell's parts have the mark before their names.
pub(crate) fn table(columns: &[Column], summary: &RunSummary, groups: &[DoubtGroup], part_mark: &str) -> Table {
    // The uncertainty range is worth more of a line than the far tail.
    let has_ranges = columns.iter().any(|column| matches!(column, Column::P50Range | Column::P99Range));
    let expendable = if has_ranges { EXPENDABLE_PREDICTED } else { EXPENDABLE };
    let printed = |column: &Column| {
        let heading = column.heading();
        let of = if column.is_text() {
            table::Column::words(heading, heading)
        } else {
            table::Column::numbers(heading, heading)
        };
        let order = expendable.iter().rev().position(|other| other == column).map_or(0, |place| place + 1);
        let of = of.expendable(order as u8);
        if *column == Column::Load { of.wrapped(LABEL_WIDTH_WANTED, 2) } else { of }
    };
    let mut table = Table::new(&columns.iter().map(printed).collect::<Vec<_>>());
    for row in rows(summary, groups) {
        table.push(columns.iter().map(|column| row.field(*column, part_mark)).collect());
    }
    table
}

impl Row<'_> {
    fn field(&self, column: Column, part_mark: &str) -> Field {
        let text = self.text(column);
        let is_part = self.part.is_some();
        // The numbers of latencies are aligned: most units take two characters.
        let fill = match self.latency_ns(column) {
            _ if !column.is_latency() || text.is_empty() => 0,
            Some(ns) if figures::latency_parts(ns).1 == "s" => 1,
            Some(_) => 0,
            None => MISSING_FILL,
        };
        let text = if is_part && column == Column::Load { format!("{part_mark}{text}") } else { text };
        Field::text(text).filled(fill).styled(match column {
            Column::Doubts => Style::Yellow,
            Column::Errors if self.cell.errors > 0 => Style::Red,
            _ if is_part => Style::Dim,
            _ => Style::Plain,
        })
    }
    /// The row's text in a column; empty if the column does not apply.
    pub(crate) fn text(&self, column: Column) -> String {
        let own = self.part.is_none();
        let or_missing = |text: Option<String>| text.unwrap_or_else(|| MISSING.to_owned());
        match column {
            Column::Load => match &self.part {
                None => plain(&self.cell.label),
                Some(step) => plain(step.name()),
            },
            Column::Iops => or_missing(self.iops.map(figures::iops)),
            Column::Throughput => match self.part {
                Some(Step::Operation(Operation::Flush)) => String::new(),
                _ => or_missing(self.throughput_bytes_per_s.map(figures::megabytes)),
            },
            _ if column.is_latency() => match (self.latency, self.latency_ns(column)) {
                (RowLatency::ByOperation, _) => String::new(),
                (_, ns) => or_missing(ns.map(figures::latency)),
            },
            Column::P50Range => {
                self.latency_range.map_or_else(String::new, |range| figures::span(range.p50_low, range.p50_high))
            }
            Column::P99Range => {
                self.latency_range.map_or_else(String::new, |range| figures::span(range.p99_low, range.p99_high))
            }
            _ if !own => String::new(),
            Column::Volume => plain(&self.cell.volume),
            Column::Doubts => self.mark.clone(),
            // Only an open loop has arrivals of its own.
            Column::Offered if self.cell.load.queue_depth.is_some() => String::new(),
            Column::Offered => or_missing(self.cell.offered_iops.map(figures::iops)),
            Column::Interval | Column::Range => or_missing(self.cell.total.as_ref().and_then(figures::interval)),
            Column::Errors => figures::count(self.cell.errors),
            _ => or_missing(self.cell.binding.as_ref().map(|b| {
                let inferred = if b.inferred { " (inferred)" } else { "" };
                format!("{}{inferred}", limit_name(b.limit))
            })),
        }
    }
    /// The latency in a latency column, ns.
    pub(crate) fn latency_ns(&self, column: Column) -> Option<f64> {
        let RowLatency::Known(snapshot) = self.latency else { return None };
        Some(match column {
            Column::Mean => snapshot.mean,
            Column::P50 => snapshot.p50? as f64,
            Column::P99 => snapshot.p99? as f64,
            Column::P999 => snapshot.p99_9? as f64,
            Column::P9999 => snapshot.p99_99? as f64,
            Column::Max if !self.cell.has_only_means() => snapshot.max as f64,
            Column::HighestMean if self.cell.has_only_means() => snapshot.max as f64,
            _ => return None,
        })
    }
}

/// The limit's name as in the JSON form.
pub(crate) const fn limit_name(limit: Limit) -> &'static str {
    match limit {
        Limit::DiskIops => "disk-iops",
        Limit::DiskThroughput => "disk-throughput",
        Limit::VmUncachedIops => "vm-uncached-iops",
        Limit::VmUncachedThroughput => "vm-uncached-throughput",
        Limit::VmCachedIops => "vm-cached-iops",
        Limit::VmCachedThroughput => "vm-cached-throughput",
        Limit::BurstExhausted => "burst-exhausted",
        Limit::Cache => "cache",
        Limit::Memory => "memory",
        Limit::Latency => "latency",
        Limit::Arrival => "arrival",
        Limit::Cpu => "cpu",
        Limit::Generator => "generator",
        Limit::Interface => "interface",
        Limit::Parallelism => "parallelism",
        Limit::Flush => "flush",
        Limit::Unexplained => "unexplained",
    }
}

/// How far the run has come, in a word or two; `None` when there is nothing to warn of.
pub(crate) fn status_warning(run: &RunInfo) -> Option<&'static str> {
    match run.status {
        RunStatus::Finished => None,
        RunStatus::Unfinished if run.is_emulated() => Some("unfinished: its emulation goes on, or was killed"),
        RunStatus::Unfinished if run.verb == RunVerb::Watch => {
            Some("unfinished: its hour goes on, or its recorder was killed")
        }
        RunStatus::Interrupted if run.verb == RunVerb::Watch => Some("interrupted: its recorder was stopped"),
        RunStatus::Unfinished => Some("unfinished: some cells are still missing"),
        RunStatus::Interrupted => Some("interrupted: some cells may be missing"),
        RunStatus::Failed => Some("failed: what was finished before is here"),
    }
}

/// A rate across a burst's end: the rate while credits lasted, and the lasting one. The mean of both is neither.
fn apart(lasting: &LastingFigures, rates: (f64, f64), text: fn(f64) -> String, unit: &str) -> String {
    format!("{} {unit} {}, then {} {unit}", text(rates.0), how_long(lasting.before_ns), text(rates.1))
}

/// Whether a doubt is about the cell's rate; of far percentiles too few requests say nothing of it.
pub(crate) fn doubts_the_rate(cell: &CellSummary) -> bool {
    cell.doubts.iter().any(|doubt| doubt.code != DoubtCode::FewSamples)
}

/// Whether a doubt says that the cell's rate is not the storage's. A condition or a note beside it leaves the rate as it is.
fn spoils_the_rate(cell: &CellSummary) -> bool {
    cell.doubts.iter().any(|doubt| doubt.code.grade() == DoubtGrade::Spoils)
}

/// The best result of the run in one sentence, for the least demanding load near the most. Cells whose rate
/// no doubt spoils go first, since a spoiled best is no best. Conditions of those named are named, too.
pub(crate) fn verdict(summary: &RunSummary) -> String {
    let measured = summary.cells.iter().filter(|c| c.total.as_ref().is_some_and(|t| t.iops.is_finite())).count();
    if measured == 0 {
        return "No cell has a figure yet.".to_owned();
    }
    let doubted = summary.cells.iter().filter(|c| spoils_the_rate(c)).count();
    let trusted = summary.cells.iter().any(|c| !spoils_the_rate(c) && c.total.is_some());
    let others = summary.cells.iter().any(|c| !c.doubts.is_empty());
    // The rule is that of the findings on the most, among loads that they would compare, so that both name one cell.
    let best = |figure: fn(&CellSummary) -> Option<f64>, is_like: fn(&CellSummary, &CellSummary) -> bool| {
        let cells = &summary.cells;
        let value = |i: &usize| figure(&cells[*i]).filter(|v| v.is_finite());
        let all = (0..cells.len()).filter(|i| value(i).is_some() && (!trusted || !spoils_the_rate(&cells[*i])));
        let all: Vec<usize> = all.collect();
        let most = *all.iter().max_by(|a, b| value(a).unwrap_or(0.0).total_cmp(&value(b).unwrap_or(0.0)))?;
        let like: Vec<usize> = all.into_iter().filter(|i| is_like(&cells[*i], &cells[most])).collect();
        let best = best_cell(cells, &like, figure).unwrap_or(most);
        Some((value(&best)?, &cells[best]))
    };
    let like_in_bytes = |a: &CellSummary, b: &CellSummary| {
        (&a.volume, a.reads_only(), a.writes_only()) == (&b.volume, b.reads_only(), b.writes_only())
    };
    let like_in_requests = |a: &CellSummary, b: &CellSummary| {
        (&a.volume, a.reads_only(), a.writes_only(), &a.load.pattern, a.flush.is_some())
            == (&b.volume, b.reads_only(), b.writes_only(), &b.load.pattern, b.flush.is_some())
    };
    let several = summary.cells.iter().any(|c| c.volume != summary.cells[0].volume);
    let name = |c: &CellSummary| {
        if several { format!("{}: {}", plain(&c.volume), plain(&c.label)) } else { plain(&c.label) }
    };
    let (bytes, requests) =
        (best(CellSummary::throughput_lasting, like_in_bytes), best(CellSummary::iops_lasting, like_in_requests));
    // Printed once if both are of one cell.
    let same = bytes.zip(requests).is_some_and(|(a, b)| std::ptr::eq(a.1, b.1) && a.1.lasting.is_none());
    let mut parts = Vec::new();
    if let Some((bytes, cell)) = bytes {
        let figure = match &cell.lasting {
            Some(lasting) => {
                let rates = (lasting.bytes_per_s_before, lasting.throughput_bytes_per_s);
                apart(lasting, rates, figures::megabytes, "MB/s")
            }
            None => format!("{} MB/s", figures::megabytes(bytes)),
        };
        parts.push(if same { figure } else { format!("{figure} ({})", name(cell)) });
    }
    if let Some((iops, cell)) = requests {
        let figure = match &cell.lasting {
            Some(lasting) => apart(lasting, (lasting.iops_before, lasting.iops), figures::iops, "IOPS"),
            None => format!("{} IOPS", figures::iops(iops)),
        };
        parts.push(format!("{figure} ({})", name(cell)));
    }
    let told = bytes.iter().chain(&requests).flat_map(|(_, cell)| &cell.doubts);
    let codes: BTreeSet<DoubtCode> = told.map(|doubt| doubt.code).collect();
    let verb = match summary.run.clock {
        Clock::Virtual => "Predicted",
        Clock::Real if summary.run.is_emulated() => "Emulated",
        Clock::Real => "Measured",
    };
    let codes: Vec<&str> = codes.iter().filter(|c| **c != DoubtCode::FewSamples).map(|c| c.name()).collect();
    let all = summary.cells.len();
    let tail = match (doubted, trusted) {
        (0, _) if summary.cells.iter().all(doubts_the_rate) => {
            format!("every cell carries doubts, these too ({})", codes.join(", "))
        }
        (0, _) if !codes.is_empty() => format!("with these doubts: {}", codes.join(", ")),
        (0, _) if others => "no doubts about rates".to_owned(),
        (0, _) => "no doubts".to_owned(),
        (left_out, true) => {
            let carry = if left_out == 1 { "carries doubts and is" } else { "carry doubts and are" };
            let here = if codes.is_empty() { String::new() } else { format!("; doubts here: {}", codes.join(", ")) };
            format!("{left_out} of {all} cells {carry} left out of this line{here}")
        }
        (_, false) => format!("every cell carries doubts, these too ({})", codes.join(", ")),
    };
    format!("{verb} up to {}; {tail}.", parts.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::example::{ExampleDisk, cell, closed, run, volume};
    use loadline_analysis::summarize;
    use loadline_record::{Doubt, RunRecord, VolumeFacts};

    /// 4 KiB and 1 MiB, the latter with more bytes and with this doubt.
    fn doubted(code: DoubtCode) -> RunRecord {
        let disk = ExampleDisk::default();
        let mut cells = [4 << 10, 1 << 20].map(|block| cell(closed("random", 1.0, block, 32), &disk, &[1.0]));
        cells[0].trials[0].doubts.clear();
        cells[1].trials[0].doubts = vec![Doubt::written(code, "As seen.")];
        run(cells.into())
    }

    #[test]
    fn a_doubt_about_far_percentiles_keeps_no_rate_from_the_headline() {
        let told = verdict(&summarize(&doubted(DoubtCode::FewSamples)));
        assert!(told.contains("MB/s (random read 1024 KiB, depth 32)"), "{told}");
        assert!(told.ends_with("; no doubts about rates."), "{told}");
        let told = verdict(&summarize(&doubted(DoubtCode::CachedReads)));
        assert!(!told.contains("1024 KiB"), "{told}");
        assert!(told.ends_with("; 1 of 2 cells carries doubts and is left out of this line."), "{told}");
    }

    #[test]
    fn a_condition_or_a_note_keeps_no_rate_from_the_headline_and_is_named() {
        for code in [DoubtCode::OtherLoad, DoubtCode::KnownDeviation, DoubtCode::ShortRun] {
            let told = verdict(&summarize(&doubted(code)));
            assert!(told.contains("MB/s (random read 1024 KiB, depth 32)"), "{told}");
            assert!(told.ends_with(&format!("; with these doubts: {}.", code.name())), "{told}");
        }
    }

    #[test]
    fn the_highest_mean_of_counters_is_not_called_a_maximum() {
        use crate::frame::FrameValues;
        use loadline_record::{RunVerb, WatchEvents, WatchRecord, WatchSecond, WatchTick};
        let mut record = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
        record.header.verb = RunVerb::Watch;
        let tick =
            WatchTick { elapsed_us: 100_000, reads: 100, read_bytes: 409_600, read_ms: 9, ..WatchTick::default() };
        let watched = WatchRecord {
            ticks: vec![tick; 20],
            seconds: vec![WatchSecond { ticks: 10, ..WatchSecond::default() }; 2],
            ..WatchRecord::default()
        };
        let printed = |watched: &WatchRecord| {
            let mut record = record.clone();
            record.cells[0].trials[0].watched = Some(Box::new(watched.clone()));
            let summary = summarize(&record);
            let cells = crate::frame::cells(&summary);
            let max = cells.columns().iter().find(|column| column.name == "read_latency_max_ns").unwrap();
            let FrameValues::Whole(max) = &max.values else { panic!("{max:?}") };
            let field = max.get(0);
            (crate::markdown(&summary), crate::html(&[(&record, &summary)]), field)
        };
        let (markdown, html, field) = printed(&watched);
        assert!(markdown.contains("| highest mean |") && !markdown.contains("| max |"), "{markdown}");
        assert!(html.contains(">highest mean</th>") && !html.contains(">max</th>"));
        assert_eq!(field, None);
        // The kernel's events have every request.
        let events = WatchRecord { events: Some(WatchEvents::default()), ..watched };
        let (markdown, html, field) = printed(&events);
        assert!(markdown.contains("| max |") && !markdown.contains("highest mean"), "{markdown}");
        assert!(html.contains(">max</th>") && field.is_some(), "{field:?}");
    }

    #[test]
    fn where_every_cell_is_doubted_the_headline_says_by_what() {
        let mut record = doubted(DoubtCode::DepthNotReached);
        record.cells[0].trials[0].doubts = vec![Doubt::written(DoubtCode::ShortRun, "As seen.")];
        let told = verdict(&summarize(&record));
        assert!(told.ends_with("; every cell carries doubts, these too (short-run, depth-not-reached)."), "{told}");
    }

    #[test]
    fn the_headline_gives_the_figure_of_the_finding_on_the_most() {
        // From depth 16 on deeper queues have no more than a little.
        let depths = [(1, 0.3), (16, 1.0), (64, 1.004), (128, 1.007)];
        let cells = depths
            .map(|(depth, speed)| cell(closed("random", 1.0, 64 << 10, depth), &ExampleDisk::default(), &[speed]));
        let summary = summarize(&run(cells.into()));
        let best = [loadline_analysis::FindingCode::BestRandomIops, loadline_analysis::FindingCode::BestThroughput]
            .map(|code| {
                let finding = summary.findings.iter().find(|f| f.code == code).unwrap();
                summary.cells.iter().find(|c| c.id == finding.cells[0]).unwrap()
            });
        assert_eq!(best[0].id, best[1].id);
        let total = best[0].total.as_ref().unwrap();
        let (bytes, iops) = (figures::megabytes(total.throughput_bytes_per_s), figures::iops(total.iops));
        let wanted = format!("Measured up to {bytes} MB/s and {iops} IOPS ({}); no doubts.", best[0].label);
        assert_eq!(verdict(&summary), wanted);
    }

    #[test]
    fn a_place_is_told_to_who_was_not_there() {
        let told = |target: &str, path: Option<&str>| {
            let path = path.map(str::to_owned);
            place(&VolumeFacts { target: target.to_owned(), path, ..volume("data") })
        };
        assert_eq!(told(".", Some("/mnt/data")), "/mnt/data");
        assert_eq!(told("/mnt/link", Some("/mnt/data")), "/mnt/link");
        assert_eq!(told("null", None), "null");
        assert_eq!(told("data of ds3-p30", None), "data of ds3-p30");
    }
}
