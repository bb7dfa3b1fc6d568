//! What many predictions or advices came to, in lines.

use crate::verdict_line::{About, VerdictLine};
use loadline_units::words::{number, percent};
use std::collections::BTreeMap;

/// Limits that a line names.
const LIMITS_SHOWN: usize = 4;

/// Which of several parts of a sweep it was, as typed: "1/3".
pub type PartTyped<'a> = Option<&'a str>;

/// Many predictions.
#[derive(Debug)]
pub struct SweptPredictions<'a> {
    /// Rows with figures.
    pub rows: usize,
    /// Environments of this part.
    pub environments: usize,
    /// The part.
    pub part: PartTyped<'a>,
    /// Whether limits alone were computed, and nothing simulated.
    pub limits_only: bool,
    /// What binds each row.
    pub limits: Vec<&'a str>,
    /// The rate of each row.
    pub rates: Vec<f64>,
    /// Rows that spend their burst credits.
    pub spent: usize,
    /// The column with the time at which they do.
    pub spent_column: &'a str,
}

/// Advices for many needs.
#[derive(Debug)]
pub struct SweptNeeds<'a> {
    /// Needs that something on sale meets.
    pub met: usize,
    /// Needs of this part.
    pub needs: usize,
    /// The part.
    pub part: PartTyped<'a>,
    /// What binds the first row of each.
    pub limits: Vec<&'a str>,
}

/// How many rows there are, what binds them, their rates, and how many spend credits.
#[must_use]
pub fn predictions_lines(of: &SweptPredictions<'_>) -> Vec<VerdictLine> {
    let SweptPredictions { rows, environments, rates, spent, .. } = of;
    let s = if *environments == 1 { "" } else { "s" };
    let by = if of.limits_only { "by ceilings and credits" } else { "by simulation" };
    let predicted = format!("{rows} rows from {environments} environment{s}{}, {by}", of_part(of.part));
    let mut lines = vec![About::Predicted.says(predicted)];
    lines.extend(limits(&of.limits).map(|limits| About::HeldBy.says(limits)));
    let ends = rates.iter().min_by(|a, b| a.total_cmp(b)).zip(rates.iter().max_by(|a, b| a.total_cmp(b)));
    lines.extend(ends.map(|(least, most)| About::Rates.says(format!("{} to {} IOPS", number(*least), number(*most)))));
    if *spent > 0 {
        let spend = if *spent == 1 { "1 row spends its".to_owned() } else { format!("{spent} rows spend their") };
        let column = of.spent_column;
        lines.push(About::Bursts.says(format!("{spend} burst credits in the end: the column {column} says when")));
    }
    lines
}

/// How many needs are met, and what binds.
#[must_use]
pub fn needs_lines(of: &SweptNeeds<'_>) -> Vec<VerdictLine> {
    let met = format!("the storage on sale meets {} of {} needs{}", of.met, of.needs, of_part(of.part));
    let limits = limits(&of.limits).map(|limits| About::BoundBy.says(limits));
    [About::Advised.says(met)].into_iter().chain(limits).collect()
}

/// A line that counts rows without figures; `None` if all have some.
#[must_use]
pub fn problems_line(problems: &[&str]) -> Option<VerdictLine> {
    let first = problems.first()?;
    let rows = if problems.len() == 1 { "1 row has".to_owned() } else { format!("{} rows have", problems.len()) };
    Some(About::Problems.says(format!("{rows} no figures; the first: {first}")))
}

fn of_part(part: PartTyped<'_>) -> String {
    part.map_or_else(String::new, |part| format!(" of part {part}"))
}

/// How often each limit binds: "disk-iops 62 %, latency 38 %".
fn limits(limits: &[&str]) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for limit in limits {
        *counts.entry(limit).or_default() += 1;
    }
    let mut by_count: Vec<(&str, usize)> = counts.into_iter().collect();
    by_count.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let share = |(name, count): &(&str, usize)| format!("{name} {}", percent(*count as f64 / limits.len() as f64));
    let shown: Vec<String> = by_count.iter().take(LIMITS_SHOWN).map(share).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}
