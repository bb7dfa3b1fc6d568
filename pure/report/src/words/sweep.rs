//! What many predictions or advices came to, in lines.

use crate::verdict_line::{About, VerdictLine};
use loadline_prediction::RowFigures;
use loadline_units::Duration;
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
    pub rates: Vec<PredictedRate>,
    /// The column with the time at which they do.
    pub spent_column: &'a str,
}

/// The rate of a row, per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedRate {
    /// The mean over the measured time.
    pub mean: f64,
    /// Its burst credits, if they are spent within that.
    pub spent: Option<SpentBurst>,
}

/// Two levels in one row: the mean over both is none that ever is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpentBurst {
    /// Seconds until the credits are spent.
    pub after_s: f64,
    /// The rate before.
    pub before: Option<f64>,
    /// And after.
    pub lasting: Option<f64>,
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
    let SweptPredictions { rows, environments, rates, .. } = of;
    let s = if *environments == 1 { "" } else { "s" };
    let by = if of.limits_only { "by ceilings and credits" } else { "by simulation" };
    let predicted = match rows {
        1 => format!("1 row from {environments} environment{s}{}, {by}", of_part(of.part)),
        several => format!("{several} rows from {environments} environment{s}{}, {by}", of_part(of.part)),
    };
    let mut lines = vec![About::Predicted.says(predicted)];
    lines.extend(limits(&of.limits).map(|limits| About::HeldBy.says(limits)));
    let levels = |rate: &PredictedRate| levels(rate.spent?);
    if let ([_], Some(levels)) = (rates.as_slice(), rates.first().and_then(levels)) {
        lines.push(About::Rates.says(levels));
        return lines;
    }
    let lasting = |rate: &PredictedRate| rate.spent.and_then(|spent| spent.lasting).unwrap_or(rate.mean);
    let ends = (rates.iter().map(lasting).min_by(f64::total_cmp)).zip(rates.iter().map(lasting).max_by(f64::total_cmp));
    let spent = rates.iter().filter(|rate| rate.spent.is_some()).count();
    let when = if spent > 0 { ", once bursts are over" } else { "" };
    lines.extend(
        ends.map(|(least, most)| About::Rates.says(format!("{} to {} IOPS{when}", number(least), number(most)))),
    );
    if spent > 0 {
        let rows = if spent == 1 { "1 row spends its".to_owned() } else { format!("{spent} rows spend their") };
        let column = of.spent_column;
        lines.push(About::Bursts.says(format!("{rows} burst credits in the end: the column {column} says when")));
    }
    lines
}

/// The two levels of a rate whose burst ends: "16,000 IOPS for 37 min, then 3,600 IOPS".
fn levels(SpentBurst { after_s, before, lasting }: SpentBurst) -> Option<String> {
    Some(format!(
        "{} IOPS for {}, then {} IOPS",
        number(before?),
        Duration::from_s(after_s.max(0.0).round() as u64).clock(),
        number(lasting?)
    ))
}

/// The same of a row's figures; `None` where no burst ends.
pub(crate) fn burst_levels(figures: &RowFigures) -> Option<String> {
    let (before, lasting) = (figures.burst_iops, figures.lasting_iops);
    levels(SpentBurst { after_s: figures.burst_ends_s?, before, lasting })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(rates: Vec<PredictedRate>) -> Vec<String> {
        let of = SweptPredictions {
            rows: rates.len(),
            environments: 1,
            part: None,
            limits_only: true,
            limits: vec!["disk-iops"; rates.len()],
            rates,
            spent_column: "burst_ends_s",
        };
        predictions_lines(&of).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn a_row_of_two_levels_has_both_and_not_the_mean_between_them() {
        let spent = SpentBurst { after_s: 2_199.0, before: Some(16_000.0), lasting: Some(3_600.0) };
        let (burst, steady) =
            (PredictedRate { mean: 4_862.0, spent: Some(spent) }, PredictedRate { mean: 5_000.0, spent: None });
        let one = lines(vec![burst]);
        assert_eq!(one[0], "1 row from 1 environment, by ceilings and credits");
        assert_eq!(one[2], "16,000 IOPS for 36 min 39 s, then 3,600 IOPS");
        let two = lines(vec![burst, steady]);
        assert_eq!(two[2], "3,600 to 5,000 IOPS, once bursts are over");
        assert!(two[3].starts_with("1 row spends its burst credits"));
        assert_eq!(lines(vec![steady, steady])[2], "5,000 to 5,000 IOPS");
    }
}
