//! A comparison for spreadsheets: one row for each cell of each side, nothing rounded. A missing figure is an empty
//! field.

use crate::csv::{float, record};
use crate::plain_text::no_formula;
use crate::words;
use loadline_analysis::{Against, CellComparison, Comparison, Figure, Unmatched};
use loadline_record::Doubt;

/// A line of the table.
#[derive(Clone, Copy)]
enum Row<'a> {
    /// A cell that both sides have.
    Both(&'a Against, &'a CellComparison),
    /// One that has no counterpart.
    Alone(&'a Against, &'a Unmatched),
}

/// All cells as CSV (RFC 4180, UTF-8, CRLF): the matched ones first, then those that one side alone has.
#[must_use]
pub fn comparison_csv(comparison: &Comparison) -> String {
    let mut out = String::new();
    record(&mut out, columns(comparison, None).into_iter().map(|column| column.name));
    for against in &comparison.against {
        let both = against.cells.iter().map(|cell| Row::Both(against, cell));
        let alone = against.unmatched.iter().map(|cell| Row::Alone(against, cell));
        for row in both.chain(alone) {
            record(&mut out, columns(comparison, Some(row)).into_iter().map(|column| no_formula(&column.value)));
        }
    }
    out
}

/// One side of a row, if it has the cell.
struct OneSide<'a> {
    id: &'a str,
    volume: &'a str,
    doubts: &'a [Doubt],
}

/// The baseline's side of a row, and the other's.
fn sides(row: Row<'_>) -> [Option<OneSide<'_>>; 2] {
    match row {
        Row::Both(_, cell) => [
            Some(OneSide { id: &cell.baseline_id, volume: &cell.baseline_volume, doubts: &cell.baseline_doubts }),
            Some(OneSide { id: &cell.other_id, volume: &cell.other_volume, doubts: &cell.other_doubts }),
        ],
        Row::Alone(_, cell) => {
            let own = OneSide { id: &cell.id, volume: &cell.volume, doubts: &cell.doubts };
            if cell.side == 0 { [Some(own), None] } else { [None, Some(own)] }
        }
    }
}

/// A column of a row.
struct NamedValue {
    name: String,
    value: String,
}

/// Every column's name and value.
fn columns(comparison: &Comparison, row: Option<Row<'_>>) -> Vec<NamedValue> {
    let mut columns = Vec::new();
    let mut put = |name: &str, value: String| columns.push(NamedValue { name: name.to_owned(), value });
    let [baseline, other] = row.map_or([None, None], sides);
    let compared = row.and_then(|row| match row {
        Row::Both(_, cell) => Some(cell),
        Row::Alone(..) => None,
    });
    let text = |of: &dyn Fn(&CellComparison) -> String| compared.map_or_else(String::new, of);
    let number = |of: &dyn Fn(&CellComparison) -> Option<f64>| float(compared.and_then(of));
    let of_side =
        |side: &Option<OneSide<'_>>, of: &dyn Fn(&OneSide<'_>) -> String| side.as_ref().map_or_else(String::new, of);
    // The two runs of the row, even if one lacks the cell.
    let runs = row.map(|row| match row {
        Row::Both(against, _) | Row::Alone(against, _) => {
            [0, against.side].map(|place| &comparison.sides[place as usize].run)
        }
    });
    put("baseline_run_id", runs.map_or_else(String::new, |runs| runs[0].clone()));
    put("other_run_id", runs.map_or_else(String::new, |runs| runs[1].clone()));
    put("baseline_cell_id", of_side(&baseline, &|s| s.id.to_owned()));
    put("other_cell_id", of_side(&other, &|s| s.id.to_owned()));
    put("baseline_volume", of_side(&baseline, &|s| s.volume.to_owned()));
    put("other_volume", of_side(&other, &|s| s.volume.to_owned()));
    put(
        "label",
        row.map_or_else(String::new, |row| match row {
            Row::Both(_, cell) => cell.label.clone(),
            Row::Alone(_, cell) => cell.label.clone(),
        }),
    );
    put("figure", text(&|c| c.figure.name().to_owned()));
    put("verdict", text(&|c| c.verdict.words().replace(' ', "-")));
    put(
        "why",
        row.map_or_else(String::new, |row| match row {
            Row::Both(_, cell) => cell.undecided.map(words::undecided).unwrap_or_default(),
            Row::Alone(_, cell) => alone_words(cell),
        }),
    );
    put("p_value", number(&|c| c.p_value));
    put("p_adjusted", number(&|c| c.p_adjusted));
    put("p_same", number(&|c| c.p_same));
    put("in_overall", text(&|c| c.in_overall.to_string()));
    for figure in Figure::ALL {
        let unit = match figure {
            Figure::Rate => "iops",
            Figure::Throughput => "throughput_bytes_per_s",
            _ => "latency_ns",
        };
        let name = match figure {
            Figure::Rate | Figure::Throughput => unit.to_owned(),
            _ => format!("{}_{unit}", figure.name()),
        };
        let [of_baseline, of_other] = row.map_or([None, None], |row| figures(row, figure));
        put(&format!("baseline_{name}"), float(of_baseline));
        put(&format!("other_{name}"), float(of_other));
        put(&format!("{}_ratio", figure.name()), number(&|c| c.of(figure).map(|r| r.ratio)));
        put(&format!("{}_ratio_low", figure.name()), number(&|c| c.of(figure).and_then(|r| r.low)));
        put(&format!("{}_ratio_high", figure.name()), number(&|c| c.of(figure).and_then(|r| r.high)));
    }
    put("draws_ratio_low", number(&|c| Some(c.draws?.low)));
    put("draws_ratio_high", number(&|c| Some(c.draws?.high)));
    let codes = |side: &OneSide<'_>| side.doubts.iter().map(|d| d.code.name()).collect::<Vec<_>>().join("; ");
    put("baseline_doubt_codes", of_side(&baseline, &codes));
    put("other_doubt_codes", of_side(&other, &codes));
    columns
}

/// A figure on either side, as far as there is one.
fn figures(row: Row<'_>, figure: Figure) -> [Option<f64>; 2] {
    match row {
        Row::Both(_, cell) => [cell.of_baseline(figure), cell.of_other(figure)],
        Row::Alone(_, cell) if cell.side == 0 => [cell.of(figure), None],
        Row::Alone(_, cell) => [None, cell.of(figure)],
    }
}

/// Why a cell is not compared.
fn alone_words(cell: &Unmatched) -> String {
    let who = if cell.side == 0 { "only the baseline has this cell" } else { "only the other has this cell" };
    if cell.differs.is_empty() {
        who.to_owned()
    } else {
        format!("{who}; the nearest differs in {}", cell.differs.join(" and "))
    }
}
