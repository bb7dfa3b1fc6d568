//! The tables of a comparison as texts: one row for a cell.

use super::{figure_name, letter};
use crate::console::Style;
use crate::figures::{self, MISSING, plain};
use crate::table::{Column, Field, Table};
use crate::words::doubt_detail;
use loadline_analysis::{Against, CellComparison, Figure, Gain, RatioEstimate, Scaling, Verdict};
use loadline_record::{Doubt, DoubtCode};
use std::borrow::Cow;

/// A column of names does not become narrower than this.
const NAME_WIDTH_MIN: usize = 20;

/// A ratio: three decimals near 1.
pub(crate) fn ratio(value: f64) -> String {
    if (0.1..9.9995).contains(&value) { format!("{value:.3}") } else { figures::decimal(value, 3) }
}

/// "0.941–0.953", or a dash.
pub(crate) fn interval(low: Option<f64>, high: Option<f64>) -> String {
    low.zip(high).map_or_else(|| MISSING.to_owned(), |(low, high)| format!("{}–{}", ratio(low), ratio(high)))
}

/// A column of words with its texts, row by row.
pub(super) fn words(heading: &'static str, texts: impl IntoIterator<Item = String>) -> (Column, Vec<Field>) {
    (Column::words(heading, heading), texts.into_iter().map(Field::text).collect())
}

/// A column of figures with its texts; of columns that go where a line has no room, those with a larger number go first.
pub(super) fn numbers(
    heading: impl Into<Cow<'static, str>>,
    expendable: u8,
    texts: impl IntoIterator<Item = String>,
) -> (Column, Vec<Field>) {
    let heading = heading.into();
    let column = Column::numbers(heading.clone(), heading).expendable(expendable);
    (column, texts.into_iter().map(Field::text).collect())
}

/// A column of names, which is wrapped where a line has no room.
pub(super) fn names(heading: &'static str, texts: impl IntoIterator<Item = String>) -> (Column, Vec<Field>) {
    let (column, fields) = words(heading, texts);
    (column.wrapped(NAME_WIDTH_MIN, 0), fields)
}

/// The fields in these styles.
fn styled((column, fields): (Column, Vec<Field>), styles: impl IntoIterator<Item = Style>) -> (Column, Vec<Field>) {
    (column, fields.into_iter().zip(styles).map(|(field, style)| field.styled(style)).collect())
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
        Figure::Rate | Figure::Counted => figures::iops(value),
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
pub(super) fn cells(against: &Against, marks: &[DoubtMark]) -> Table {
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
        columns.push(words("volume", texts(&|c: &CellComparison| plain(&c.baseline_volume))));
    }
    columns.push(names("load", texts(&|c: &CellComparison| plain(&c.label))));
    if figure_differs {
        columns.push(words("by", texts(&|c: &CellComparison| figure_name(c.figure).to_owned())));
    }
    // A side shows its figure even if there is no ratio, because the other has none.
    let side = |of: fn(&CellComparison) -> Option<f64>| {
        texts(&|c| of(c).map_or_else(|| MISSING.to_owned(), |figure| value(c.figure, figure)))
    };
    columns.push(numbers(unit(&a), 2, side(|c| c.baseline_figure)));
    columns.push(numbers(unit(&b), 1, side(|c| c.other_figure)));
    columns.push(numbers("ratio", 0, texts(&|c| known(c, &|r| ratio(r.ratio)))));
    columns.push(numbers("95 %", 0, texts(&|c| known(c, &|r| interval(r.low, r.high)))));
    if all.iter().any(|c| c.draws.is_some()) {
        let range = |c: &CellComparison| interval(c.draws.map(|d| d.low), c.draws.map(|d| d.high));
        columns.push(numbers("over draws", 0, texts(&range)));
    }
    let beside = [
        (Figure::Rate, "IOPS x", 3),
        (Figure::Mean, "mean x", 3),
        (Figure::P50, "p50 x", 4),
        (Figure::P99, "p99 x", 3),
    ];
    for (figure, heading, expendable) in beside {
        if figure_differs || all.first().is_some_and(|c| c.figure != figure) {
            columns.push(numbers(heading, expendable, other_ratio(figure)));
        }
    }
    let verdicts = words("verdict", texts(&|c| c.verdict.words().to_owned()));
    columns.push(styled(verdicts, all.iter().map(|c| verdict_style(c.verdict))));
    if !marks.is_empty() {
        let mark = |cell: &CellComparison| {
            let numbers: Vec<String> = doubts_of(cell, against)
                .into_iter()
                .filter_map(|(sides, d)| marks.iter().find(|m| m.sides == sides && m.code == d.code))
                .map(|m| m.number.to_string())
                .collect();
            if numbers.is_empty() { String::new() } else { format!("†{}", numbers.join(",")) }
        };
        columns.push(styled(words("†", texts(&mark)), std::iter::repeat(Style::Yellow)));
    }
    Table::of_columns(columns)
}

/// The table of efficiencies: for each further number of disks the efficiency with its interval, and the gain.
pub(super) fn efficiencies(scaling: &Scaling) -> Table {
    let all = &scaling.cells;
    let mut columns = vec![names("load", all.iter().map(|c| plain(&c.label)))];
    let rates = |side: usize| {
        all.iter().map(|c| c.iops[side].map_or_else(|| MISSING.to_owned(), figures::iops)).collect::<Vec<_>>()
    };
    let disks = |n: u32| if n == 1 { "1 disk".to_owned() } else { format!("{n} disks") };
    columns.push(numbers(format!("IOPS, {}", disks(scaling.disks[0])), 2, rates(0)));
    for (side, count) in scaling.disks.iter().enumerate().skip(1) {
        let points: Vec<_> = all.iter().map(|c| c.points.iter().find(|p| p.disks == *count)).collect();
        let text = |of: &dyn Fn(&loadline_analysis::ScalingPoint) -> String| {
            points.iter().map(|p| p.map_or_else(|| MISSING.to_owned(), of)).collect::<Vec<_>>()
        };
        columns.push(numbers(disks(*count), 3, rates(side)));
        columns.push(numbers("efficiency", 0, text(&|p| figures::percent(p.efficiency))));
        let ends = |p: &loadline_analysis::ScalingPoint| {
            p.efficiency_low.zip(p.efficiency_high).map_or_else(
                || MISSING.to_owned(),
                |(low, high)| format!("{}–{}", figures::decimal(low * 100.0, 3), figures::decimal(high * 100.0, 3)),
            )
        };
        columns.push(numbers("95 %", 1, text(&ends)));
        let gains = words("gain", text(&|p| p.gain.words().to_owned()));
        let style = |p: Option<&loadline_analysis::ScalingPoint>| match p.map(|p| p.gain) {
            Some(Gain::Gains) => Style::Green,
            Some(Gain::Loses) => Style::Red,
            Some(Gain::Unchanged) => Style::Plain,
            _ => Style::Dim,
        };
        columns.push(styled(gains, points.iter().copied().map(style)));
    }
    Table::of_columns(columns)
}
