//! A comparison of runs for people and spreadsheets: the same words and rows in every form.

mod applications;
mod csv;
mod markdown;
mod rows;
mod stance;
mod terminal;
mod verdict;

pub use csv::comparison_csv;
pub use markdown::comparison_markdown;
pub use terminal::{comparison_draft, comparison_terminal};

pub use stance::Standing;

pub(crate) use rows::{interval, ratio};

use crate::answer::{AnswerTable, RunAnswer};
use crate::figures::{self, plain};
use crate::put;
use crate::table::{Column, Field, Table};
use crate::verdict_line::{About, VerdictLine};
use crate::words;
use loadline_analysis::{
    Against, CellComparison, ComparedSide, Comparison, Counts, Figure, Overall, Scaling, ScalingTotal, Undecided,
    Unmatched, Verdict,
};

/// The comparison as what a report opens with: its verdict, the ranks, and why cells have no verdict.
pub(crate) fn comparison_answer(comparison: &Comparison) -> RunAnswer {
    let mut tables = Vec::new();
    if comparison.ranking.iter().any(|side| side.iops.is_some()) {
        tables.push(AnswerTable { title: "Ranks".to_owned(), table: verdict::ranks(comparison) });
    }
    let mut untold = Table::new(&[Column::words("side", "side"), Column::words("why", "why")]);
    for against in &comparison.against {
        let side = letter(against.side as usize);
        for reason in reasons(against) {
            untold.push(vec![Field::text(&side), Field::text(reason)]);
        }
    }
    if !untold.is_empty() {
        tables.push(AnswerTable { title: "Where there is no verdict".to_owned(), table: untold });
    }
    let mut lines = verdict::lines(comparison);
    // It is the one that writes this report.
    lines.retain(|line| !matches!(line.about, About::Command | About::Afterwards));
    RunAnswer { lines, tables }
}

/// Cells of a short comparison: the rest is counted.
const BRIEF_CELLS_MAX: usize = 12;

/// A comparison of two sides in short: what it comes to, the cells that differ most, and why they are in doubt.
pub(crate) struct BriefComparison {
    /// What it comes to, without what to do next.
    pub(crate) lines: Vec<VerdictLine>,
    /// Cells, or applications that set their own pace.
    pub(crate) table: Table,
    /// Cells that have no row.
    pub(crate) left_out: usize,
    /// What the marks of the rows mean.
    pub(crate) doubts: Vec<String>,
}

impl BriefComparison {
    /// Of the first side with the second; `None`: they have nothing in common.
    pub(crate) fn of(comparison: &Comparison) -> Option<Self> {
        let against = comparison.against.first()?;
        let mut lines = verdict::lines(comparison);
        lines.retain(|line| !matches!(line.about, About::Command | About::Afterwards | About::Next));
        if !comparison.applications.is_empty() {
            return Some(Self { lines, table: verdict::ranks(comparison), left_out: 0, doubts: Vec::new() });
        }
        let has_rows = against.cells.iter().any(|cell| cell.deciding().is_some());
        let shown = Some(differing(against, BRIEF_CELLS_MAX)).filter(|_| has_rows)?;
        let marks = rows::doubt_marks(&shown);
        let doubt =
            |mark: &rows::DoubtMark| format!("†{} {}, {}: {}", mark.number, mark.sides, mark.code.name(), mark.detail);
        Some(Self {
            lines,
            table: rows::cells(&shown, &marks),
            left_out: against.cells.len() - shown.cells.len(),
            doubts: marks.iter().map(doubt).collect(),
        })
    }
}

/// With at most so many of its cells, those that differ most, in their order.
fn differing(against: &Against, most: usize) -> Against {
    let size = |cell: &CellComparison| cell.deciding().map_or(0.0, |of| of.ratio.ln().abs());
    let weight = |cell: &CellComparison| match cell.verdict {
        Verdict::Worse | Verdict::Better => 0,
        Verdict::CannotTell => 1,
        Verdict::Same => 2,
    };
    let mut places: Vec<usize> = (0..against.cells.len()).collect();
    places.sort_by(|a, b| {
        let (a, b) = (&against.cells[*a], &against.cells[*b]);
        weight(a).cmp(&weight(b)).then(size(b).total_cmp(&size(a)))
    });
    places.truncate(most);
    places.sort_unstable();
    Against { cells: places.into_iter().map(|place| against.cells[place].clone()).collect(), ..against.clone() }
}

/// "A" for the baseline, then "B", "C", ...; beyond "Z" by number.
pub(crate) fn letter(side: usize) -> String {
    u8::try_from(side)
        .ok()
        .filter(|n| *n < 26)
        .map_or_else(|| format!("#{}", side + 1), |n| char::from(b'A' + n).to_string())
}

/// A side in a line.
fn side_words(side: &ComparedSide) -> String {
    let made = plain(&side.how);
    let volume = side.volume.as_ref().map_or_else(String::new, |v| format!(", volume {}", plain(v)));
    let disks =
        side.disks.map_or_else(String::new, |n| if n == 1 { ", 1 disk".to_owned() } else { format!(", {n} disks") });
    let targets: Vec<String> = side.targets.iter().map(|t| plain(t)).collect();
    let added = match side.trials_added {
        0 => String::new(),
        1 => "; 1 more trial predicted for this comparison".to_owned(),
        n => format!("; {} more trials predicted for this comparison", figures::count(n.into())),
    };
    format!(
        "{}{volume}{disks}: {}; {made} {}, run {}{added}",
        plain(&side.name),
        targets.join(", "),
        plain(&side.started),
        plain(&side.run)
    )
}

/// How a figure is called before its values.
pub(crate) const fn figure_name(figure: Figure) -> &'static str {
    match figure {
        Figure::Rate => "IOPS",
        Figure::Throughput => "MB/s",
        Figure::Mean => "mean",
        Figure::P50 => "p50",
        Figure::P90 => "p90",
        Figure::P95 => "p95",
        Figure::P99 => "p99",
        Figure::P999 => "p99.9",
        Figure::Counted => "counted/s",
    }
}

/// The same within a sentence.
fn figure_words(figure: Figure) -> &'static str {
    match figure {
        Figure::Rate => "IOPS",
        Figure::Throughput => "throughput",
        Figure::Mean => "mean latency",
        Figure::Counted => "what the application counts",
        _ => figure_name(figure),
    }
}

fn cells(count: u32) -> String {
    if count == 1 { "1 cell".to_owned() } else { format!("{} cells", figures::count(count.into())) }
}

/// "0.947 (0.941 to 0.953), the geometric mean of IOPS over 12 cells" and the cells left out.
fn overall_words(overall: &Overall) -> String {
    let what = figure_words(overall.figure);
    let mut text = match (overall.ratio, overall.low.zip(overall.high)) {
        (Some(value), Some((low, high))) => {
            format!("{} ({} to {}), ", ratio(value), ratio(low), ratio(high))
        }
        (Some(value), None) => format!("{}, ", ratio(value)),
        (None, _) => String::new(),
    };
    if overall.ratio.is_some() {
        match overall.cells {
            1 => put!(text, "{what} in 1 cell"),
            n => put!(text, "the geometric mean of {what} over {}", cells(n)),
        }
    } else {
        put!(text, "by {what}");
    }
    if let Some(why) = overall.undecided {
        put!(text, "; {}", words::undecided(why));
    }
    put!(text, ". Cells: {}.", counts_words(overall.counts));
    match overall.doubted {
        0 => {}
        1 => text.push_str(" 1 cell is in doubt and left out of the overall verdict."),
        n => put!(text, " {} are in doubt and left out of the overall verdict.", cells(n)),
    }
    match overall.untold {
        0 => {}
        1 => text.push_str(" 1 cell has too little to tell and is left out too."),
        n => put!(text, " {} have too little to tell and are left out too.", cells(n)),
    }
    text
}

fn counts_words(counts: Counts) -> String {
    let parts = [
        (counts.better, "better"),
        (counts.worse, "worse"),
        (counts.same, "same"),
        (counts.cannot_tell, "cannot tell"),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", figures::count(u64::from(*n))))
        .collect();
    if told.is_empty() { "none".to_owned() } else { told.join(", ") }
}

/// The legend of the table.
fn legend(comparison: &Comparison) -> String {
    format!(
        "Figures are geometric means over trials, as in the ratio; those of a run by itself are arithmetic. Ratios are to A; so are the columns \
         marked x. 95 % is the interval of the ratio. Same: within {} by two one-sided tests at 5 % each. Better and \
         worse are corrected for all verdicts here together, so that noise makes one in at most 2.5 % of comparisons.",
        margin(comparison)
    )
}

fn margin(comparison: &Comparison) -> String {
    format!("{} %", figures::tick(comparison.margin * 100.0))
}

/// Why cells have no verdict, each reason once with its cells counted.
fn reasons(against: &Against) -> Vec<String> {
    let mut reasons: Vec<(Undecided, u32)> = Vec::new();
    for why in against.cells.iter().filter_map(|c| c.undecided) {
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => reasons.push((why, 1)),
        }
    }
    let words = |(why, count)| format!("cannot tell in {}: {}", cells(count), words::undecided(why));
    reasons.into_iter().map(words).collect()
}

/// One line for each cell without a counterpart, with its figures.
fn unmatched(against: &Against) -> Vec<String> {
    let line = |u: &Unmatched| {
        let differs = if u.differs.is_empty() {
            String::new()
        } else {
            format!(" (the nearest differs in {})", plain(&u.differs.join(" and ")))
        };
        let shown = [
            u.of(Figure::Rate).map(|rate| format!("{} IOPS", figures::iops(rate))),
            u.of(Figure::Throughput).map(|bytes| format!("{} MB/s", figures::megabytes(bytes))),
            u.of(Figure::Mean).map(|mean| format!("mean {}", figures::latency(mean))),
            u.of(Figure::P99).map(|p99| format!("p99 {}", figures::latency(p99))),
        ];
        let shown: Vec<String> = shown.into_iter().flatten().collect();
        let did = if shown.is_empty() { "no figure".to_owned() } else { shown.join(", ") };
        let codes: Vec<&str> = u.doubts.iter().map(|doubt| doubt.code.name()).collect();
        let doubts = if codes.is_empty() { String::new() } else { format!(", in doubt: {}", codes.join(", ")) };
        format!("{}: {}, {}{differs}: {did}{doubts}", letter(u.side as usize), plain(&u.volume), plain(&u.label))
    };
    against.unmatched.iter().map(line).collect()
}

/// A share in whole percent; nothing is "-0".
pub(crate) fn whole(share: f64) -> String {
    let percent = (share * 100.0).round();
    format!("{:.0}", if percent == 0.0 { 0.0 } else { percent })
}

/// The highest rate of a kind of load and the number of disks at which it levels off, in a sentence.
fn total_words(scaling: &Scaling, total: &ScalingTotal) -> String {
    let value = |v: f64| match total.figure {
        Figure::Throughput => figures::megabytes(v),
        _ => figures::iops(v),
    };
    let values: Vec<String> = total.values.iter().map(|v| value(*v)).collect();
    let counts: Vec<String> = scaling.disks.iter().map(u32::to_string).collect();
    let steps: Vec<String> = total
        .steps
        .iter()
        .map(|s| {
            let interval = s
                .share_low
                .zip(s.share_high)
                .map_or_else(String::new, |(low, high)| format!(" ({} to {})", whole(low), whole(high)));
            format!("{} to {} {} %{interval}", s.from, s.to, whole(s.share))
        })
        .collect();
    let end = match (total.levels_off_at, total.clear) {
        (None, true) => "it does not level off here".to_owned(),
        (None, false) => "too few trials to show whether it levels off".to_owned(),
        (Some(at), true) => format!("it levels off at {at}"),
        (Some(at), false) => format!("it seems to level off at {at}"),
    };
    let kind = match total.operations.as_str() {
        "read" => "reads",
        "write" => "writes",
        _ => "mixes",
    };
    format!(
        "Most {} of {kind} ({}): {} with {} disks. Shares of linear scaling: {}; {end}{}.",
        figure_name(total.figure),
        plain(&total.label),
        values.join(", "),
        counts.join(", "),
        steps.join(", "),
        verdict::doubts_of(total)
    )
}
