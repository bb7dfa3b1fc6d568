//! The tables of a comparison as texts: one row for a cell.

use super::{figure_name, letter};
use crate::figures::{self, MISSING, plain};
use crate::terminal::Style;
use crate::words::doubt_detail;
use loadline_analysis::{Against, CellComparison, Figure, Gain, RatioEstimate, Scaling, Verdict};
use loadline_record::{Doubt, DoubtCode};

/// A ratio: three decimals near 1.
pub(crate) fn ratio(value: f64) -> String {
    if (0.1..9.9995).contains(&value) { format!("{value:.3}") } else { figures::decimal(value, 3) }
}

/// "0.941–0.953", or a dash.
pub(crate) fn interval(low: Option<f64>, high: Option<f64>) -> String {
    low.zip(high).map_or_else(|| MISSING.to_owned(), |(low, high)| format!("{}–{}", ratio(low), ratio(high)))
}

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A column with its texts, row by row.
pub(super) struct Column {
    pub(super) heading: String,
    pub(super) align: Align,
    /// Columns with a larger number are dropped first if the line is too short; 0 stays.
    pub(super) expendable: u8,
    pub(super) texts: Vec<String>,
    pub(super) styles: Vec<Style>,
}

impl Column {
    fn new(heading: &str, align: Align, expendable: u8, texts: Vec<String>) -> Self {
        let styles = vec![Style::Plain; texts.len()];
        Self { heading: heading.to_owned(), align, expendable, texts, styles }
    }
}

/// A kind of doubt on one side or both, with the number that marks it and the cells that have it.
pub(super) struct DoubtMark {
    pub(super) number: usize,
    pub(super) code: DoubtCode,
    /// The sides that have it, in words.
    pub(super) sides: String,
    pub(super) cells: usize,
    /// Of the first of them.
    pub(super) detail: String,
}

/// Every kind of doubt of either side, in the order of the cells.
pub(super) fn doubt_marks(against: &Against) -> Vec<DoubtMark> {
    let mut marks: Vec<DoubtMark> = Vec::new();
    for cell in &against.cells {
        for (sides, doubt) in doubts_of(cell, against) {
            match marks.iter_mut().find(|m| m.sides == sides && m.code == doubt.code) {
                Some(mark) => mark.cells += 1,
                None => marks.push(DoubtMark {
                    number: marks.len() + 1,
                    code: doubt.code,
                    sides,
                    cells: 1,
                    detail: plain(&doubt_detail(doubt)),
                }),
            }
        }
    }
    marks
}

/// Each doubt of a cell once, with the sides that have it in words.
fn doubts_of<'a>(cell: &'a CellComparison, against: &Against) -> Vec<(String, &'a Doubt)> {
    let (a, b) = (letter(0), letter(against.side as usize));
    let has = |doubts: &[Doubt], doubt: &Doubt| doubts.iter().any(|d| d.code == doubt.code);
    let of_baseline = cell.baseline_doubts.iter().map(|d| {
        let both = has(&cell.other_doubts, d);
        (if both { format!("{a} and {b}") } else { a.clone() }, d)
    });
    let of_other = cell.other_doubts.iter().filter(|d| !has(&cell.baseline_doubts, d)).map(|d| (b.clone(), d));
    of_baseline.chain(of_other).collect()
}

/// The value of a figure as its column shows it.
fn value(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Rate => figures::iops(value),
        Figure::Throughput => figures::megabytes(value),
        _ => figures::latency(value),
    }
}

pub(super) const fn verdict_style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Better => Style::Green,
        Verdict::Worse => Style::Red,
        Verdict::Same => Style::Plain,
        Verdict::CannotTell => Style::Dim,
    }
}

/// The table of matched cells.
pub(super) fn cells(against: &Against, marks: &[DoubtMark]) -> Vec<Column> {
    let all = &against.cells;
    let texts = |of: &dyn Fn(&CellComparison) -> String| all.iter().map(of).collect::<Vec<_>>();
    let known = |cell: &CellComparison, of: &dyn Fn(&RatioEstimate) -> String| {
        cell.deciding().map_or_else(|| MISSING.to_owned(), of)
    };
    let other_ratio = |figure: Figure| {
        texts(&|c: &CellComparison| c.of(figure).map_or_else(|| MISSING.to_owned(), |r| ratio(r.ratio)))
    };
    let volumes = all.iter().any(|c| c.baseline_volume != all[0].baseline_volume);
    let figure_differs = all.iter().any(|c| c.figure != all[0].figure);
    let (a, b) = (letter(0), letter(against.side as usize));
    let unit = |side: &str| match all.first() {
        Some(cell) if !figure_differs => format!("{side} {}", figure_name(cell.figure)),
        _ => side.to_owned(),
    };
    let mut columns = Vec::new();
    if volumes {
        columns.push(Column::new("volume", Align::Left, 0, texts(&|c: &CellComparison| plain(&c.baseline_volume))));
    }
    columns.push(Column::new("load", Align::Left, 0, texts(&|c: &CellComparison| plain(&c.label))));
    if figure_differs {
        columns.push(Column::new("by", Align::Left, 0, texts(&|c: &CellComparison| figure_name(c.figure).to_owned())));
    }
    // A side shows its figure even if there is no ratio, because the other has none.
    let side = |of: fn(&CellComparison) -> Option<f64>| {
        texts(&|c| of(c).map_or_else(|| MISSING.to_owned(), |figure| value(c.figure, figure)))
    };
    columns.push(Column::new(&unit(&a), Align::Right, 2, side(|c| c.baseline_figure)));
    columns.push(Column::new(&unit(&b), Align::Right, 1, side(|c| c.other_figure)));
    columns.push(Column::new("ratio", Align::Right, 0, texts(&|c| known(c, &|r| ratio(r.ratio)))));
    columns.push(Column::new("95 %", Align::Right, 0, texts(&|c| known(c, &|r| interval(r.low, r.high)))));
    if all.iter().any(|c| c.draws.is_some()) {
        let range = |c: &CellComparison| interval(c.draws.map(|d| d.low), c.draws.map(|d| d.high));
        columns.push(Column::new("over draws", Align::Right, 0, texts(&range)));
    }
    let beside = [
        (Figure::Rate, "IOPS x", 3),
        (Figure::Mean, "mean x", 3),
        (Figure::P50, "p50 x", 4),
        (Figure::P99, "p99 x", 3),
    ];
    for (figure, heading, expendable) in beside {
        if figure_differs || all.first().is_some_and(|c| c.figure != figure) {
            columns.push(Column::new(heading, Align::Right, expendable, other_ratio(figure)));
        }
    }
    let mut verdicts = Column::new("verdict", Align::Left, 0, texts(&|c| c.verdict.words().to_owned()));
    verdicts.styles = all.iter().map(|c| verdict_style(c.verdict)).collect();
    columns.push(verdicts);
    if !marks.is_empty() {
        let mark = |cell: &CellComparison| {
            let numbers: Vec<String> = doubts_of(cell, against)
                .into_iter()
                .filter_map(|(sides, d)| marks.iter().find(|m| m.sides == sides && m.code == d.code))
                .map(|m| m.number.to_string())
                .collect();
            if numbers.is_empty() { String::new() } else { format!("†{}", numbers.join(",")) }
        };
        let mut doubts = Column::new("†", Align::Left, 0, texts(&mark));
        doubts.styles = vec![Style::Yellow; all.len()];
        columns.push(doubts);
    }
    columns
}

/// The table of efficiencies: for each further number of disks the efficiency with its interval, and the gain.
pub(super) fn efficiencies(scaling: &Scaling) -> Vec<Column> {
    let all = &scaling.cells;
    let mut columns = vec![Column::new("load", Align::Left, 0, all.iter().map(|c| plain(&c.label)).collect())];
    let rates = |side: usize| {
        all.iter().map(|c| c.iops[side].map_or_else(|| MISSING.to_owned(), figures::iops)).collect::<Vec<_>>()
    };
    let disks = |n: u32| if n == 1 { "1 disk".to_owned() } else { format!("{n} disks") };
    columns.push(Column::new(&format!("IOPS, {}", disks(scaling.disks[0])), Align::Right, 2, rates(0)));
    for (side, count) in scaling.disks.iter().enumerate().skip(1) {
        let points: Vec<_> = all.iter().map(|c| c.points.iter().find(|p| p.disks == *count)).collect();
        let text = |of: &dyn Fn(&loadline_analysis::ScalingPoint) -> String| {
            points.iter().map(|p| p.map_or_else(|| MISSING.to_owned(), of)).collect::<Vec<_>>()
        };
        columns.push(Column::new(&disks(*count), Align::Right, 3, rates(side)));
        columns.push(Column::new("efficiency", Align::Right, 0, text(&|p| figures::percent(p.efficiency))));
        let ends = |p: &loadline_analysis::ScalingPoint| {
            p.efficiency_low.zip(p.efficiency_high).map_or_else(
                || MISSING.to_owned(),
                |(low, high)| format!("{}–{}", figures::decimal(low * 100.0, 3), figures::decimal(high * 100.0, 3)),
            )
        };
        columns.push(Column::new("95 %", Align::Right, 1, text(&ends)));
        let mut gains = Column::new("gain", Align::Left, 0, text(&|p| p.gain.words().to_owned()));
        let style = |p: Option<&loadline_analysis::ScalingPoint>| match p.map(|p| p.gain) {
            Some(Gain::Gains) => Style::Green,
            Some(Gain::Loses) => Style::Red,
            Some(Gain::Unchanged) => Style::Plain,
            _ => Style::Dim,
        };
        gains.styles = points.iter().copied().map(style).collect();
        columns.push(gains);
    }
    columns
}
