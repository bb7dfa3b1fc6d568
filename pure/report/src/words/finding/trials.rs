//! What the trials of a cell say together.

use super::show;
use loadline_analysis::{LoadAt, RiseSeen, TrialLevels, TrialsApart};
use loadline_units::words::{counted, listed, number, percent, seconds, significance, throughput};

/// "1,000 IOPS for 10 s and 3,000 for the 20 s after".
pub(crate) fn rise(rise: &RiseSeen) -> String {
    let parts = rise.levels.iter().enumerate().map(|(i, level)| {
        let unit = if i == 0 { " IOPS" } else { "" };
        let (which, after) = if i + 1 == rise.levels.len() { ("the ", " after") } else { ("", "") };
        format!("{}{unit} for {which}{}{after}", number(level.iops), seconds(level.length_ns))
    });
    let whose = match (rise.shown, rise.trials) {
        (shown, all) if shown == all => String::new(),
        (1, all) => format!(", in one of {}", counted(all, "trial")),
        (shown, all) => format!(", in {} of {}", number(shown as f64), counted(all, "trial")),
    };
    format!("{}{whose}", listed(&parts.collect::<Vec<String>>()))
}

/// "1,000 IOPS on average in the first 3 trials and 500 in the 2 after".
pub(crate) fn levels(levels: TrialLevels) -> String {
    let after = match levels.after_trials {
        1 => "the last one".to_owned(),
        several => format!("the {} after", number(several as f64)),
    };
    format!(
        "{} IOPS on average in the first {} and {} in {after}",
        number(levels.before_iops),
        counted(levels.before_trials, "trial"),
        number(levels.after_iops)
    )
}

pub(super) fn on_two_levels(
    load: &LoadAt,
    (since_ns, until_ns): (u64, u64),
    rates: TrialLevels,
    others: usize,
) -> String {
    format!(
        "something changed {} to {} into the run: {} at {} had {}.{} A mean over all trials is the rate of neither. A limit \
         set anew, a burst allowance that is spent and other load that comes or goes do that: find out which, and measure again.",
        seconds(since_ns),
        seconds(until_ns),
        load.load,
        load.at,
        levels(rates),
        show(others, "the same")
    )
}

pub(super) fn moving(load: &LoadAt, change: f64, (first, last): (f64, f64), trials: usize, p_value: f64) -> String {
    format!(
        "{} at {}: the speed depends on the number of the trial: {} by {} from the first ({}) to the last of {} ({}; {}).",
        load.load,
        load.at,
        if change > 0.0 { "it rises" } else { "it falls" },
        percent(change.abs()),
        throughput(first),
        number(trials as f64),
        throughput(last),
        significance(p_value)
    )
}

pub(super) fn first_differs(load: &LoadAt, (first, mean): (f64, f64), others: usize, p_value: f64) -> String {
    let by = if first < mean {
        "a cache that it filled"
    } else {
        "a burst allowance that it spent, or a write cache that it filled,"
    };
    format!(
        "{} at {}: the first trial ({}) is not like the {} after it ({} on average; {}): {by} would do that.",
        load.load,
        load.at,
        throughput(first),
        number(others as f64),
        throughput(mean),
        significance(p_value)
    )
}

pub(super) fn no_trend(cells: usize, tested: usize, trials_min: usize, apart: Option<&TrialsApart>) -> String {
    let all_the_same = apart.map_or_else(String::new, |apart| {
        format!(
            " Trials lie far apart all the same: of {} at {} between {} and {}.",
            apart.load.load,
            apart.load.at,
            throughput(apart.least_bytes_per_s),
            throughput(apart.most_bytes_per_s)
        )
    });
    format!(
        "no trend over the trials in {} of {} with {} trials or more.{all_the_same}",
        number(cells as f64),
        counted(tested, "cell"),
        number(trials_min as f64)
    )
}

pub(super) fn steady_before(
    reached: usize,
    missed: usize,
    rounds: Option<(usize, usize)>,
    round_ns: Option<u64>,
) -> String {
    let after = match rounds {
        Some((least, most)) if least < most => format!(", after {least} to {most} rounds"),
        Some((_, most)) => format!(", after {}", counted(most, "round")),
        None => String::new(),
    };
    let length = round_ns.filter(|_| reached > 0).map_or_else(String::new, |ns| format!(" of {}", seconds(ns)));
    let each = |count| match count {
        1 => "the measurement".to_owned(),
        several => format!("each of {}", counted(several, "measurement")),
    };
    match (reached, missed) {
        (all, 0) => format!("The rate was steady before {}{after}{length}.", each(all)),
        (0, all) => format!("The rate was not steady before {}: the rounds were used up.", each(all)),
        (some, rest) => format!(
            "The rate was steady before {} of {}{after}{length}; before the others the rounds were used up.",
            number(some as f64),
            counted(some + rest, "measurement")
        ),
    }
}
