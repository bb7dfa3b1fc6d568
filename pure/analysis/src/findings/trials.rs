//! What the trials of a cell say together: trends over their number, and data read back.

use super::{VolumeView, codes};
use crate::statistics::{LevelShift, first_differs, mann_kendall, mean, step, theil_sen_slope};
use crate::summary::Finding;
use crate::trials::{CHANGE_MIN, SIGNIFICANCE, TRIALS_MIN, trials_used};
use crate::words::{counted, how_much, load_name, number, percent, seconds, significance, throughput};
use loadline_record::{CellRecord, Clock, RunRecord, SteadyState, TrialRecord};

/// How rarely noise alone may pass for two levels in any of the cells tested together.
const STEP_SIGNIFICANCE: f64 = 0.01;
/// Levels that are closer than this share of the larger one are not told apart from what trials differ by.
const STEP_MIN: f64 = 0.1;
/// Trials whose rates are so many times apart agree on nothing, whatever no test finds in their order.
const APART: f64 = 1.5;

/// Trials of a cell that lie on two levels, one after the other: something changed between them.
pub(crate) struct Levels<'a> {
    trials: Vec<&'a TrialRecord>,
    step: LevelShift,
}

impl<'a> Levels<'a> {
    /// The levels of a measured cell's trials, if the step is significant at 1 % after correction for `cells` tests.
    pub(crate) fn of(cell: &'a CellRecord, clock: Clock, cells: usize) -> Option<Self> {
        if clock != Clock::Real {
            return None;
        }
        let mut trials = trials_used(cell);
        trials.sort_by_key(|trial| (trial.started_unix_s, trial.trial));
        let rates: Option<Vec<f64>> = trials.iter().map(|trial| trial.iops()).collect();
        let step = step(&rates?)?;
        let weighty = (step.after - step.before).abs() > STEP_MIN * step.after.max(step.before);
        (weighty && step.p_value < STEP_SIGNIFICANCE / cells.max(1) as f64).then_some(Self { trials, step })
    }

    /// Cells that are tested together: those with trials enough.
    pub(crate) fn tested(record: &RunRecord) -> usize {
        record.cells.iter().filter(|cell| trials_used(cell).len() >= TRIALS_MIN).count()
    }

    /// Since and until when, in seconds of the epoch, what changed may have changed.
    fn window(&self) -> (u64, u64) {
        let (before, after) = (self.trials[self.step.at - 1], self.trials[self.step.at]);
        (before.started_unix_s, after.started_unix_s + (after.warm_up_ns + after.measured_ns).div_ceil(1_000_000_000))
    }

    /// "1,000 IOPS on average in the first 3 trials and 500 in the 2 after".
    pub(crate) fn words(&self) -> String {
        let after = self.trials.len() - self.step.at;
        format!(
            "{} IOPS on average in the first {} and {} in {}",
            number(self.step.before),
            counted(self.step.at, "trial"),
            number(self.step.after),
            if after == 1 { "the last one".to_owned() } else { format!("the {} after", number(after as f64)) },
        )
    }
}

/// Something that changed while the run went on, and the rates of these cells with it; the cells that show it at one time are
/// told together.
pub(super) fn levels(view: &VolumeView<'_>, record: &RunRecord) -> Vec<Finding> {
    let tested = Levels::tested(record);
    let own = view.own.iter();
    let mut found: Vec<(usize, Levels<'_>)> =
        own.filter_map(|i| Some((*i, Levels::of(&record.cells[*i], record.header.clock, tested)?))).collect();
    let started =
        record.cells.iter().flat_map(|cell| &cell.trials).map(|trial| trial.started_unix_s).min().unwrap_or(0);
    let mut findings = Vec::new();
    while !found.is_empty() {
        let (mut since, mut until) = found[0].1.window();
        let (now, later): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, levels)| {
            let window = levels.window();
            let meets = window.0 <= until && since <= window.1;
            if meets {
                (since, until) = (since.max(window.0), until.min(window.1));
            }
            meets
        });
        let (first, levels) = &now[0];
        let cell = &view.cells[*first];
        let others = match now.len() - 1 {
            0 => String::new(),
            1 => " 1 other cell shows the same.".to_owned(),
            more => format!(" {} other cells show the same.", number(more as f64)),
        };
        let after = |at: u64| seconds((at - started) * 1_000_000_000);
        let text = format!(
            "something changed {} to {} into the run: {} at {} had {}.{others} A mean over all trials is the rate of neither. A limit \
             set anew, a burst allowance that is spent and other load that comes or goes do that: find out which, and measure again.",
            after(since),
            after(until),
            load_name(cell),
            how_much(cell),
            levels.words()
        );
        let cells: Vec<usize> = now.iter().map(|(i, _)| *i).collect();
        findings.push(view.finding(codes::LEVELS, &text, &cells));
        found = later;
    }
    findings
}

/// Cells whose speed depends on the number of the trial, and how many show no such thing.
pub(super) fn trends(view: &VolumeView<'_>, record: &RunRecord) -> Vec<Finding> {
    let tested: Vec<(usize, Vec<f64>)> = view
        .own
        .iter()
        .filter_map(|i| {
            // Trials of a prediction that do not go on from one another differ by chance alone.
            if trials_used(&record.cells[*i]).iter().any(|trial| trial.is_anew()) {
                return None;
            }
            let rates: Vec<f64> = trials_used(&record.cells[*i]).iter().filter_map(|t| t.bytes_per_s()).collect();
            (rates.len() >= TRIALS_MIN && mean(&rates)? > 0.0).then_some((*i, rates))
        })
        .collect();
    // Two tests a cell (Bonferroni): a matrix of many cells must not find a trend by looking often enough.
    let level = SIGNIFICANCE / (2.0 * tested.len().max(1) as f64);
    let mut found = Vec::new();
    let mut calm = Vec::new();
    let mut apart: Option<(usize, f64, f64)> = None;
    for (i, rates) in &tested {
        if Levels::of(&record.cells[*i], record.header.clock, Levels::tested(record)).is_some() {
            continue;
        }
        let (least, most) = ends(rates);
        if most > APART * least && apart.is_none_or(|(_, low, high)| most * low > high * least) {
            apart = Some((*i, least, most));
        }
        match moving(rates, level) {
            Some(how) => {
                let cell = &view.cells[*i];
                let text = format!("{} at {}: {how}", load_name(cell), how_much(cell));
                found.push(view.finding(codes::TREND, &text, &[*i]));
            }
            None => calm.push(*i),
        }
    }
    if !calm.is_empty() {
        let fewest = tested.iter().map(|(_, rates)| rates.len()).min().unwrap_or_default();
        let all_the_same = apart.filter(|(i, ..)| calm.contains(i)).map_or_else(String::new, |(i, least, most)| {
            let cell = &view.cells[i];
            format!(
                " Trials lie far apart all the same: of {} at {} between {} and {}.",
                load_name(cell),
                how_much(cell),
                throughput(least),
                throughput(most)
            )
        });
        let text = format!(
            "no trend over the trials in {} of {} with {} trials or more.{all_the_same}",
            number(calm.len() as f64),
            counted(tested.len(), "cell"),
            number(fewest as f64)
        );
        found.push(view.finding(codes::TREND, &text, &calm));
    }
    found
}

/// Between which rates a measured cell's trials lie, where these are far apart: two to four of them show no levels.
pub(crate) fn apart(cell: &CellRecord, clock: Clock) -> Option<String> {
    let rates: Option<Vec<f64>> = trials_used(cell).iter().map(|trial| trial.iops()).collect();
    let rates = rates.filter(|rates| clock == Clock::Real && rates.len() > 1)?;
    let (least, most) = ends(&rates);
    let told = || {
        format!(
            "Its {} lie far apart, between {} and {} IOPS: the mean is a guess.",
            counted(rates.len(), "trial"),
            number(least),
            number(most)
        )
    };
    (most > APART * least).then(told)
}

fn ends(rates: &[f64]) -> (f64, f64) {
    rates.iter().fold((f64::INFINITY, 0.0), |(least, most), rate| (rate.min(least), rate.max(most)))
}

fn moving(rates: &[f64], level: f64) -> Option<String> {
    let mean = mean(rates)?;
    let weighty = |change: f64| change.abs() / mean > CHANGE_MIN;
    let (first, last) = (throughput(*rates.first()?), throughput(*rates.last()?));
    let change = theil_sen_slope(rates)? * (rates.len() - 1) as f64;
    if let Some(test) = mann_kendall(rates).filter(|t| t.p_value < level && weighty(change)) {
        return Some(format!(
            "the speed depends on the number of the trial: {} by {} from the first ({first}) to the last of {} ({last}; {}).",
            if change > 0.0 { "it rises" } else { "it falls" },
            percent((change / mean).abs()),
            number(rates.len() as f64),
            significance(test.p_value)
        ));
    }
    let test = first_differs(rates).filter(|t| t.p_value < level && weighty(t.first - t.others))?;
    let by = if test.first < test.others {
        "a cache that it filled"
    } else {
        "a burst allowance that it spent, or a write cache that it filled,"
    };
    Some(format!(
        "the first trial ({first}) is not like the {} after it ({} on average; {}): {by} would do that.",
        number((rates.len() - 1) as f64),
        throughput(test.others),
        significance(test.p_value)
    ))
}

/// How measurements that were to begin in the steady state began.
pub(super) fn steady_state(record: &RunRecord) -> Option<Finding> {
    let ruled: Vec<(&CellRecord, &SteadyState)> = record
        .cells
        .iter()
        .flat_map(|cell| cell.trials.iter().filter_map(move |t| Some((cell, t.steady_state.as_ref()?))))
        .collect();
    let (met, missed): (Vec<_>, Vec<_>) = ruled.iter().partition(|(_, rule)| rule.reached);
    let (_, first) = ruled.first()?;
    let rounds = met.iter().map(|(_, rule)| rule.rounds.len());
    let after = match (rounds.clone().min(), rounds.max()) {
        (Some(least), Some(most)) if least < most => format!(", after {least} to {most} rounds"),
        (Some(_), Some(most)) => format!(", after {}", counted(most, "round")),
        _ => String::new(),
    };
    // Loads may have rounds of their own length.
    let alike = ruled.iter().all(|(_, rule)| rule.round_ns == first.round_ns);
    let length = if alike && !met.is_empty() { format!(" of {}", seconds(first.round_ns)) } else { String::new() };
    let text = match (met.len(), missed.len()) {
        (all, 0) => format!("The rate was steady before {}{after}{length}.", counted_measurements(all)),
        (0, all) => format!("The rate was not steady before {}: the rounds were used up.", counted_measurements(all)),
        (some, _) => format!(
            "The rate was steady before {} of {}{after}{length}; before the others the rounds were used up.",
            number(some as f64),
            counted(ruled.len(), "measurement")
        ),
    };
    let mut cells: Vec<String> = ruled.iter().map(|(cell, _)| cell.id.clone()).collect();
    cells.dedup();
    Some(Finding { code: codes::STEADY_STATE.to_owned(), text, cells })
}

/// "the measurement", "each of 5 measurements".
fn counted_measurements(count: usize) -> String {
    if count == 1 { "the measurement".to_owned() } else { format!("each of {}", counted(count, "measurement")) }
}

/// What reading back found in all cells.
#[derive(Default)]
struct ReadBack {
    blocks: u64,
    faults: u64,
    /// Ids of cells without a fault.
    sound: Vec<String>,
    /// Ids of cells with faults.
    damaged: Vec<String>,
}

fn read_back(record: &RunRecord) -> ReadBack {
    let mut all = ReadBack::default();
    for cell in &record.cells {
        let of_cell: Vec<_> = cell.trials.iter().filter_map(|t| t.verify.as_ref()).collect();
        let faults = of_cell.iter().map(|v| v.faults_total).sum::<u64>();
        all.blocks += of_cell.iter().map(|v| v.blocks_checked).sum::<u64>();
        all.faults += faults;
        if faults > 0 {
            all.damaged.push(cell.id.clone());
        } else if !of_cell.is_empty() {
            all.sound.push(cell.id.clone());
        }
    }
    all
}

pub(super) fn verify_failed(record: &RunRecord) -> Option<Finding> {
    let all = read_back(record);
    let first = record
        .cells
        .iter()
        .flat_map(|c| &c.trials)
        .filter_map(|t| t.verify.as_ref())
        .find_map(|v| v.faults.first())
        .map_or_else(String::new, |f| {
            format!(" The first lies at offset {}: {}.", f.offset, f.detail.trim_end_matches('.'))
        });
    (all.faults > 0).then(|| Finding {
        code: codes::VERIFY_FAILED.to_owned(),
        text: format!(
            "Data was lost or damaged: {} of {} blocks read back were not what was written.{first}",
            number(all.faults as f64),
            number(all.blocks as f64)
        ),
        cells: all.damaged,
    })
}

pub(super) fn verified(record: &RunRecord) -> Option<Finding> {
    let all = read_back(record);
    (all.faults == 0 && !all.sound.is_empty()).then(|| Finding {
        code: codes::VERIFIED.to_owned(),
        text: if all.blocks == 0 {
            "Nothing was read back although it was asked for: no block had been written.".to_owned()
        } else {
            format!("All of {} blocks read back were what was written.", number(all.blocks as f64))
        },
        cells: all.sound,
    })
}
