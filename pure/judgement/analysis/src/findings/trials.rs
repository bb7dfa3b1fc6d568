//! What the trials of a cell say together: trends over their number, and data read back.

use super::VolumeView;
use crate::conclusion::Meaning;
use crate::finding::{DamageAt, Finding, FindingCode, FindingSeen, LoadAt, TrialLevels, TrialsApart};
use crate::statistics::{LevelShift, first_differs, mann_kendall, mean, step, theil_sen_slope};
use crate::trials::{CHANGE_MIN, SIGNIFICANCE, TRIALS_MIN, trials_used};
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

    /// Their rates.
    pub(crate) fn seen(&self) -> TrialLevels {
        TrialLevels {
            before_iops: self.step.before,
            before_trials: self.step.at,
            after_iops: self.step.after,
            after_trials: self.trials.len() - self.step.at,
        }
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
        let after = |at: u64| (at - started) * 1_000_000_000;
        let seen = FindingSeen::TrialsOnTwoLevels {
            load: LoadAt::of(&view.cells[*first]),
            since_ns: after(since),
            until_ns: after(until),
            levels: levels.seen(),
            others: now.len() - 1,
        };
        let cells: Vec<usize> = now.iter().map(|(i, _)| *i).collect();
        findings.push(view.finding(FindingCode::LevelsOverTrials, seen, &cells));
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
        match moving(LoadAt::of(&view.cells[*i]), rates, level) {
            Some(seen) => found.push(view.finding(FindingCode::TrendOverTrials, seen, &[*i])),
            None => calm.push(*i),
        }
    }
    if !calm.is_empty() {
        let trials_min = tested.iter().map(|(_, rates)| rates.len()).min().unwrap_or_default();
        let apart = apart.filter(|(i, ..)| calm.contains(i)).map(|(i, least_bytes_per_s, most_bytes_per_s)| {
            TrialsApart { load: LoadAt::of(&view.cells[i]), least_bytes_per_s, most_bytes_per_s }
        });
        let seen = FindingSeen::NoTrend { cells: calm.len(), tested: tested.len(), trials_min, apart };
        found.push(view.finding(FindingCode::TrendOverTrials, seen, &calm));
    }
    found
}

/// Between which rates a measured cell's trials lie, where these are far apart: two to four of them show no levels.
pub(crate) fn apart(cell: &CellRecord, clock: Clock) -> Option<Meaning> {
    let rates: Option<Vec<f64>> = trials_used(cell).iter().map(|trial| trial.iops()).collect();
    let rates = rates.filter(|rates| clock == Clock::Real && rates.len() > 1)?;
    let (least_iops, most_iops) = ends(&rates);
    (most_iops > APART * least_iops).then_some(Meaning::TrialsApart { trials: rates.len(), least_iops, most_iops })
}

fn ends(rates: &[f64]) -> (f64, f64) {
    rates.iter().fold((f64::INFINITY, 0.0), |(least, most), rate| (rate.min(least), rate.max(most)))
}

fn moving(load: LoadAt, rates: &[f64], level: f64) -> Option<FindingSeen> {
    let mean = mean(rates)?;
    let weighty = |change: f64| change.abs() / mean > CHANGE_MIN;
    let (first_bytes_per_s, last_bytes_per_s) = (*rates.first()?, *rates.last()?);
    let change = theil_sen_slope(rates)? * (rates.len() - 1) as f64;
    if let Some(test) = mann_kendall(rates).filter(|t| t.p_value < level && weighty(change)) {
        let (change, trials, p_value) = (change / mean, rates.len(), test.p_value);
        return Some(FindingSeen::TrialsMove { load, change, first_bytes_per_s, last_bytes_per_s, trials, p_value });
    }
    let test = first_differs(rates).filter(|t| t.p_value < level && weighty(t.first - t.others))?;
    Some(FindingSeen::FirstTrialDiffers {
        load,
        first_bytes_per_s,
        others_bytes_per_s: test.others,
        others: rates.len() - 1,
        p_value: test.p_value,
    })
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
    let rounds = rounds.clone().min().zip(rounds.max());
    // Loads may have rounds of their own length.
    let alike = ruled.iter().all(|(_, rule)| rule.round_ns == first.round_ns);
    let round_ns = alike.then_some(first.round_ns);
    let mut cells: Vec<String> = ruled.iter().map(|(cell, _)| cell.id.clone()).collect();
    cells.dedup();
    let seen = FindingSeen::SteadyBefore { reached: met.len(), missed: missed.len(), rounds, round_ns };
    Some(Finding { code: FindingCode::SteadyState, volume: None, seen, cells })
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
        .map(|fault| DamageAt { offset: fault.offset, detail: fault.detail.clone() });
    (all.faults > 0).then(|| {
        let seen = FindingSeen::Damaged { faults: all.faults, blocks: all.blocks, first };
        Finding { code: FindingCode::VerifyFailed, volume: None, seen, cells: all.damaged }
    })
}

pub(super) fn verified(record: &RunRecord) -> Option<Finding> {
    let all = read_back(record);
    (all.faults == 0 && !all.sound.is_empty()).then(|| {
        let seen = FindingSeen::Undamaged { blocks: all.blocks };
        Finding { code: FindingCode::Verified, volume: None, seen, cells: all.sound }
    })
}
