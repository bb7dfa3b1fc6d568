//! Runs, or volumes of one run, against the first of them: ratios with intervals, and verdicts that noise seldom makes.
//! `docs/inside/how-we-compare.md` explains every rule to those who read the verdicts.

mod application_side;
mod applications;
mod asked;
pub(crate) mod comparison;
mod disks;
mod draws;
pub(crate) mod figure;
mod in_common;
mod indecision;
mod latency;
mod matching;
mod note;
mod notes;
mod overall;
mod pooling;
mod ranking;
mod ratio;
mod sample;
mod scaling;
pub(crate) mod scaling_figures;
#[cfg(test)]
mod tests;
mod throttled;
mod verdicts;

pub use application_side::ApplicationSide;
pub use comparison::{
    Against, COMPARISON_SCHEMA, CellComparison, ComparedSide, Comparison, Counts, DrawRange, InCommon, MonthlyPrice,
    NextStep, Overall, RankedSide, SideSetting, ThrottledSide, Unmatched, Verdict,
};
pub use figure::{Basis, Figure, FigureValue, RatioEstimate};
pub use scaling_figures::{Gain, Scaling, ScalingCell, ScalingPoint, ScalingStep, ScalingTotal};

pub use disks::scaling_of;
pub(crate) use scaling::{levels_off, step_between};

pub use indecision::{NoFigure, Undecided};
pub use latency::{LatencyEstimate, latency_estimate};
pub use note::{AskedApart, DeviceModel, Differing, DifferingBytes, EngineWithOptions, Note, Unpriced, Whose};
pub use notes::TRIALS_TO_DECIDE;

use crate::statistics::CONFIDENCE;
use crate::trials::{MET_TOLERANCE, MET_TOLERANCE_COUNT, cell_doubts, trials_used};
use applications::Applications;
use loadline_record::{CellRecord, Doubt, DoubtCode, RunRecord, TrialRecord};
use loadline_units::Ratio;
use overall::{CellRatio, together};
use ratio::{LogRatio, Rounds};
use sample::Sample;
use verdicts::{adjusted, verdict};

/// The margin where none is asked for: less is seldom worth acting on, and trials on a quiet disk tell it from more.
pub const MARGIN_DEFAULT: Ratio = Ratio::percent(5);
/// Doubts about the far percentiles of a figure that has a check of its own here.
const OF_PERCENTILES: DoubtCode = DoubtCode::FewSamples;
/// Doubts about how the load gets to the storage rather than about an accident: where both sides have them, the same was asked
/// in the same way, and the ratio is that of what who asked got.
const OF_SET_UP: [DoubtCode; 6] = [
    DoubtCode::ShortRun,
    DoubtCode::Buffered,
    DoubtCode::CachedBelow,
    DoubtCode::DepthNotReached,
    DoubtCode::CompressedOrSparse,
    DoubtCode::Imported,
];

/// How to compare.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareOptions {
    /// Figures that differ by no more than this are the same for all purposes; above 0.
    pub margin: Ratio,
    /// The figure that decides; by default the rate, and p99 where the rate is asked for and kept.
    pub figure: Option<Figure>,
    /// Disks in the layout of each side: asks how the rate grows with them.
    pub disks: Vec<u32>,
    /// Of a single run: the volumes to be compared, the baseline first; by default all of them in their order.
    pub volumes: Vec<String>,
    /// What the application counted in a second on each side, where the sides are applications at their own pace.
    pub counted: Vec<f64>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { margin: MARGIN_DEFAULT, figure: None, disks: Vec::new(), volumes: Vec::new(), counted: Vec::new() }
    }
}

/// What cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// There is nothing to compare with.
    #[error("there is nothing to compare with: name two runs, or one that has at least two volumes")]
    OneSide,
    /// Volumes were named of several runs.
    #[error("volumes are chosen of one run, and {0} runs are named: leave out the volumes, or name one run")]
    VolumesOfSeveral(usize),
    /// The run has no such volume.
    #[error("run {run} has no volume {volume:?}; it has {known}")]
    NoVolume {
        /// The run's id.
        run: String,
        /// What was asked for.
        volume: String,
        /// Those that there are.
        known: String,
    },
    /// A number of disks for each side is needed.
    #[error("{given} numbers of disks are given for {sides} sides: give one for each, in their order")]
    Disks {
        /// How many were given.
        given: usize,
        /// How many are needed.
        sides: usize,
    },
    /// Not a number of disks that can be compared by.
    #[error("the numbers of disks must be above 0 and grow from side to side, and {0} does not")]
    DisksDoNotGrow(u32),
    /// Volumes that are loaded at the same time take part of each other's budgets.
    #[error(
        "how rates grow with the disks does not show where volumes were loaded at the same time: leave the disks out"
    )]
    DisksTogether,
    /// Scaling is about rates.
    #[error("how {0} grows with the disks is not asked: leave the figure out, or the disks")]
    DisksAndFigure(&'static str),
    /// A count for each side is needed.
    #[error("{given} counts of the application are given for {sides} sides: give one for each, in their order")]
    Counted {
        /// How many were given.
        given: usize,
        /// How many are needed.
        sides: usize,
    },
    /// Loads of plans count their requests themselves.
    #[error(
        "what an application counts decides between runs of `watch`, `record` and `emulate`, and one of these runs is none: leave the counts out"
    )]
    CountedOfPlans,
    /// Nothing is ever within no margin.
    #[error("a margin of {0} is no margin: give one above 0 % and below 100 %")]
    Margin(Ratio),
}

/// What is compared: a run, or one volume of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) volume: Option<&'a str>,
}

impl Side<'_> {
    /// Whether a model had other volumes loaded at the same time.
    fn is_beside_others(&self) -> bool {
        let own = self.run.cells.iter().filter(|cell| self.volume.is_none_or(|volume| cell.volume == volume));
        let mut models = own.flat_map(|cell| &cell.trials).filter_map(|trial| trial.model.as_ref());
        models.any(|model| !model.beside.is_empty())
    }
}

/// Compares `runs` with the first of them, or the volumes of the only one.
///
/// # Errors
/// Options that ask for what the runs do not have, or contradict each other.
pub fn compare(runs: &[&RunRecord], options: &CompareOptions) -> Result<Comparison, CompareError> {
    let sides = sides(runs, options)?;
    let applications = Applications::of(&sides, options)?;
    let found = figures_compared(runs, options, applications.as_ref())?;
    let applications = applications.map_or_else(Vec::new, |all| all.sides);
    Ok(Comparison {
        applications,
        in_common: in_common::in_common(&sides),
        throttled: throttled::throttled(&sides),
        ..found
    })
}

/// The same by the figures alone, without what the summary of a side shows: that summary has comparisons of its own in it.
fn figures_compared(
    runs: &[&RunRecord],
    options: &CompareOptions,
    applications: Option<&Applications<'_>>,
) -> Result<Comparison, CompareError> {
    let sides = sides(runs, options)?;
    if options.margin == Ratio::ZERO || options.margin == Ratio::ONE {
        return Err(CompareError::Margin(options.margin));
    }
    if !options.disks.is_empty() {
        check_disks(&options.disks, sides.len(), options.figure)?;
        if sides.iter().any(Side::is_beside_others) {
            return Err(CompareError::DisksTogether);
        }
    }
    let margin = options.margin.as_f64();
    // The rate of an application is a part of the answer, and never asked for.
    let figure = options.figure.or_else(|| applications.map(|_| Figure::Rate));
    let by_figure = CompareOptions { figure, ..options.clone() };
    let mut pairings: Vec<Pairing<'_>> = sides
        .iter()
        .enumerate()
        .skip(1)
        .map(|(place, side)| {
            let matched = match applications {
                Some(all) => (vec![(all.cells[0], all.cells[place])], Vec::new()),
                None => matching::matched(&matching::Cells::of(&sides[0]), &matching::Cells::of(side), place as u32),
            };
            Pairing::new(&sides[0], side, place as u32, matched, &by_figure)
        })
        .collect();
    judge(&mut pairings, margin);
    for pairing in &mut pairings {
        if let Some(all) = applications {
            all.judge(&mut pairing.against, options);
        }
    }
    let scaling = (!options.disks.is_empty()).then(|| scaling::scaling(&options.disks, &pairings));
    let against: Vec<Against> = pairings.into_iter().map(|p| p.against).collect();
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        margin,
        confidence: CONFIDENCE,
        sides: sides
            .iter()
            .enumerate()
            .map(|(place, side)| described(side, options.disks.get(place).copied()))
            .collect(),
        ranking: ranking::ranked(&sides, &against, margin),
        against,
        applications: Vec::new(),
        in_common: Vec::new(),
        throttled: Vec::new(),
        scaling,
        command: None,
    })
}

fn sides<'a>(runs: &[&'a RunRecord], options: &'a CompareOptions) -> Result<Vec<Side<'a>>, CompareError> {
    let sides: Vec<Side<'a>> = match runs {
        [run] => {
            let known: Vec<&str> = run.header.volumes.iter().map(|v| v.name.as_str()).collect();
            let wanted: Vec<&str> = if options.volumes.is_empty() {
                known.clone()
            } else {
                options.volumes.iter().map(String::as_str).collect()
            };
            if let Some(volume) = wanted.iter().find(|name| !known.contains(name)) {
                let known = known.join(", ");
                return Err(CompareError::NoVolume { run: run.header.id.clone(), volume: (*volume).to_owned(), known });
            }
            wanted.into_iter().map(|volume| Side { run, volume: Some(volume) }).collect()
        }
        _ if !options.volumes.is_empty() => return Err(CompareError::VolumesOfSeveral(runs.len())),
        _ => runs.iter().map(|run| Side { run, volume: None }).collect(),
    };
    if sides.len() < 2 { Err(CompareError::OneSide) } else { Ok(sides) }
}

fn check_disks(disks: &[u32], sides: usize, figure: Option<Figure>) -> Result<(), CompareError> {
    if disks.len() != sides {
        return Err(CompareError::Disks { given: disks.len(), sides });
    }
    if let Some(pair) = disks.windows(2).find(|pair| pair[1] <= pair[0]) {
        return Err(CompareError::DisksDoNotGrow(pair[1]));
    }
    match figure {
        _ if disks[0] == 0 => Err(CompareError::DisksDoNotGrow(0)),
        Some(figure) => Err(CompareError::DisksAndFigure(figure.name())),
        None => Ok(()),
    }
}

fn described(side: &Side<'_>, disks: Option<u32>) -> ComparedSide {
    let header = &side.run.header;
    let volumes = header.volumes.iter().filter(|v| side.volume.is_none_or(|name| v.name == name));
    ComparedSide {
        run: header.id.clone(),
        name: header.name.clone(),
        volume: side.volume.map(str::to_owned),
        clock: header.clock,
        how: crate::summary::how(header.imported.as_ref(), &header.verb, header.clock),
        started: header.started.clone(),
        version: header.version.clone(),
        hostname: header.host.hostname.clone(),
        targets: volumes.map(|v| v.place().to_owned()).collect(),
        disks,
        seed: header.seed,
        trials_added: 0,
    }
}

/// One side against the baseline, with what the verdicts rest on.
struct Pairing<'a> {
    against: Against,
    /// For each of its cells.
    cells: Vec<(&'a CellRecord, &'a CellRecord)>,
    /// For each of its cells: the logarithm of the deciding ratio.
    ratios: Vec<Option<LogRatio>>,
    /// For each of its overall figures.
    overall: Vec<Option<LogRatio>>,
    rounds: Rounds,
}

impl<'a> Pairing<'a> {
    /// Everything but the verdicts.
    fn new(
        baseline: &Side<'a>,
        other: &Side<'a>,
        place: u32,
        (cells, unmatched): (Vec<(&'a CellRecord, &'a CellRecord)>, Vec<Unmatched>),
        options: &CompareOptions,
    ) -> Self {
        let same_run = baseline.run.header.id == other.run.header.id;
        let rounds = if same_run { Rounds::Shared } else { Rounds::Apart };
        let mut compared: Vec<CellComparison> = Vec::new();
        let mut samples: Vec<Option<(Sample, Sample)>> = Vec::new();
        let mut ratios: Vec<Option<LogRatio>> = Vec::new();
        let by_figure: Vec<(Figure, Vec<SamplePair>)> =
            Figure::ALL.into_iter().map(|figure| (figure, sampled(&cells, figure))).collect();
        for (index, (a, b)) in cells.iter().enumerate() {
            let rates = by_figure.iter().find(|(figure, _)| *figure == Figure::Rate).map(|(_, pairs)| &pairs[index]);
            let figure =
                options.figure.unwrap_or_else(|| deciding_figure(a, b, rates, rounds, options.margin.as_f64()));
            let of_cell = by_figure.iter().map(|(figure, pairs)| (*figure, &pairs[index]));
            let (ratio, mut cell, sample) = compare_cells(a, b, figure, of_cell, rounds);
            let facts =
                |side: &Side<'a>, cell: &CellRecord| side.run.header.volumes.iter().find(|v| v.name == cell.volume);
            cell.draws = draws::over_draws(a, b, figure, draws::same_disks(facts(baseline, a), facts(other, b)));
            ratios.push(ratio);
            compared.push(cell);
            samples.push(sample);
        }
        let (figures, overall) = overalls(&mut compared, &samples, &ratios, rounds);
        let mut notes = notes::notes(baseline, other, &cells);
        notes.extend(asked::notes(&cells));
        notes.extend(compared.iter().any(|cell| cell.draws.is_some()).then_some(Note::Draws));
        Self {
            against: Against { side: place, notes, overall: figures, cells: compared, unmatched },
            cells,
            ratios,
            overall,
            rounds,
        }
    }
}

/// Whether the load sets the rate: an open loop, or a closed one with a ceiling.
fn rate_is_asked_for(cell: &CellRecord) -> bool {
    let load = cell.load.figures();
    load.rate_iops.is_some() || load.queue_depth.is_none()
}

/// The rate, where the storage sets it. Where the load does, a rate that is kept says nothing and the latency at which it is kept
/// says all: p99, since that is where queues show first. A side that falls behind what is asked for goes at the storage's rate
/// again, and its latency says above all how long the backlog grew. Only where it falls behind by so little that the rates are
/// the same within the margin, and the other keeps up, p99 decides all the same: there the backlog is the whole difference.
fn deciding_figure(a: &CellRecord, b: &CellRecord, rates: Option<&SamplePair>, rounds: Rounds, margin: f64) -> Figure {
    if !rate_is_asked_for(a) {
        return Figure::Rate;
    }
    let rates_alike = || match rates {
        Some((Ok(from), Ok(to))) => {
            LogRatio::of(from, to, rounds).p_same(margin).is_some_and(|p| p <= 1.0 - CONFIDENCE)
        }
        _ => false,
    };
    match (falls_behind(a), falls_behind(b)) {
        (false, false) => Figure::P99,
        (true, true) => Figure::Rate,
        _ if rates_alike() => Figure::P99,
        _ => Figure::Rate,
    }
}

/// Whether less was completed than was asked for, by more than the rounding of the ends of trials.
fn falls_behind(cell: &CellRecord) -> bool {
    let trials = trials_used(cell);
    let asked = |trial: &TrialRecord| trial.offered_iops.or(cell.load.figures().rate_iops).filter(|asked| *asked > 0.0);
    let counts: Option<Vec<(f64, f64)>> = trials
        .iter()
        .map(|trial| {
            let seconds = trial.measured_ns as f64 / 1e9;
            Some((trial.iops()? * seconds, asked(trial)? * seconds))
        })
        .collect();
    counts.is_some_and(|counts| {
        let (done, asked) = counts.iter().fold((0.0, 0.0), |sum, trial| (sum.0 + trial.0, sum.1 + trial.1));
        let rounding = MET_TOLERANCE_COUNT * counts.len() as f64;
        done < asked * (1.0 - MET_TOLERANCE) && asked - done > rounding
    })
}

/// A figure of a cell on either side.
type SamplePair = (Result<Sample, NoFigure>, Result<Sample, NoFigure>);

/// One figure of all cells, each with what the others tell of its spread.
fn sampled(cells: &[(&CellRecord, &CellRecord)], figure: Figure) -> Vec<SamplePair> {
    let mut pairs: Vec<SamplePair> =
        cells.iter().map(|(a, b)| (Sample::of(a, figure), Sample::of(b, figure))).collect();
    let known: Vec<usize> = (0..pairs.len()).filter(|i| pairs[*i].0.is_ok() && pairs[*i].1.is_ok()).collect();
    let samples: Vec<(&Sample, &Sample)> =
        known.iter().filter_map(|i| pairs[*i].0.as_ref().ok().zip(pairs[*i].1.as_ref().ok())).collect();
    for (index, [a, b]) in known.into_iter().zip(pooling::spreads(&samples)) {
        let with = |sample: &Result<Sample, NoFigure>, spread| sample.as_ref().map(|s| s.with(spread)).map_err(|e| *e);
        pairs[index] = (with(&pairs[index].0, a), with(&pairs[index].1, b));
    }
    pairs
}

/// Two cells, without a verdict yet; the samples of the figure that decides.
fn compare_cells<'s>(
    a: &CellRecord,
    b: &CellRecord,
    figure: Figure,
    samples_by_figure: impl Iterator<Item = (Figure, &'s SamplePair)>,
    rounds: Rounds,
) -> (Option<LogRatio>, CellComparison, Option<(Sample, Sample)>) {
    let (mut estimates, mut deciding, mut samples, mut undecided) = (Vec::new(), None, None, None);
    let (mut baseline_figures, mut other_figures) = (Vec::new(), Vec::new());
    for (shown, pair) in samples_by_figure {
        for (figures, side) in [(&mut baseline_figures, &pair.0), (&mut other_figures, &pair.1)] {
            figures.extend(side.as_ref().ok().map(|sample| FigureValue { figure: shown, value: sample.figure() }));
        }
        match pair {
            (Ok(from), Ok(to)) => {
                let ratio = LogRatio::of(from, to, rounds);
                estimates.push(ratio.estimate(shown, from, to));
                if shown == figure {
                    (deciding, samples) = (Some(ratio), Some((from.clone(), to.clone())));
                }
            }
            (from, to) if shown == figure => {
                let of = |result: &Result<Sample, NoFigure>| result.as_ref().err().copied();
                undecided = Some(Undecided::NoFigure { baseline: of(from), other: of(to) });
            }
            _ => {}
        }
    }
    let deciding_of = |figures: &[FigureValue]| figures.iter().find(|one| one.figure == figure).map(|one| one.value);
    let cell = CellComparison {
        baseline_id: a.id.clone(),
        other_id: b.id.clone(),
        baseline_volume: a.volume.clone(),
        other_volume: b.volume.clone(),
        label: a.label.clone(),
        figure,
        verdict: Verdict::CannotTell,
        undecided,
        p_value: deciding.and_then(|r: LogRatio| r.p_different()),
        p_adjusted: None,
        p_same: None,
        baseline_figure: deciding_of(&baseline_figures),
        other_figure: deciding_of(&other_figures),
        baseline_figures,
        other_figures,
        ratios: estimates,
        draws: None,
        baseline_doubts: cell_doubts(a, trials_used(a).len()),
        other_doubts: cell_doubts(b, trials_used(b).len()),
        in_overall: false,
    };
    (deciding, cell, samples)
}

/// Whether a doubt keeps the cell out of the overall verdict.
fn spoils(doubt: &Doubt, other_side: &[Doubt]) -> bool {
    let shared = OF_SET_UP.contains(&doubt.code) && other_side.iter().any(|d| d.code == doubt.code);
    doubt.code != OF_PERCENTILES && !shared
}

fn spoiled(cell: &CellComparison) -> bool {
    cell.baseline_doubts.iter().any(|d| spoils(d, &cell.other_doubts))
        || cell.other_doubts.iter().any(|d| spoils(d, &cell.baseline_doubts))
}

/// For each figure that decides: the cells that count together, without a verdict yet.
fn overalls(
    cells: &mut [CellComparison],
    samples: &[Option<(Sample, Sample)>],
    ratios: &[Option<LogRatio>],
    rounds: Rounds,
) -> (Vec<Overall>, Vec<Option<LogRatio>>) {
    let mut all: Vec<(Overall, Option<LogRatio>)> = Vec::new();
    for figure in Figure::ALL {
        let own: Vec<usize> = (0..cells.len()).filter(|i| cells[*i].figure == figure).collect();
        if own.is_empty() {
            continue;
        }
        let clean: Vec<usize> = own.iter().copied().filter(|i| !spoiled(&cells[*i])).collect();
        let with_error: Vec<usize> =
            clean.iter().copied().filter(|i| ratios[*i].is_some_and(|r| r.error.is_some())).collect();
        let with_ratio: Vec<usize> = clean.iter().copied().filter(|i| ratios[*i].is_some()).collect();
        let counted = if with_error.is_empty() { with_ratio } else { with_error };
        let parts: Vec<CellRatio<'_>> = counted
            .iter()
            .filter_map(|i| {
                // Together the cells know their noise well enough, and what they tell of each other would be counted twice.
                let (baseline, other) = samples[*i].as_ref()?;
                let alone = LogRatio::of(&baseline.with(None), &other.with(None), rounds);
                ratios[*i].map(|_| CellRatio { baseline, other, ratio: alone })
            })
            .collect();
        let ratio = together(&parts, rounds);
        for i in &counted {
            cells[*i].in_overall = true;
        }
        let overall = Overall {
            cells: counted.len() as u32,
            doubted: (own.len() - clean.len()) as u32,
            untold: (clean.len() - counted.len()) as u32,
            ratio: ratio.map(|r| libm::exp(r.log)),
            low: ratio.and_then(|r| r.low()),
            high: ratio.and_then(|r| r.high()),
            p_value: ratio.and_then(|r| r.p_different()),
            draws: draws::together(
                counted.iter().filter_map(|i| Some((cells[*i].draws.as_ref(), libm::exp(ratios[*i]?.log)))),
            ),
            undecided: ratio.is_none().then_some(if clean.is_empty() {
                Undecided::EveryCellInDoubt
            } else {
                Undecided::NoRatio
            }),
            ..Overall::open(figure)
        };
        all.push((overall, ratio));
    }
    all.sort_by_key(|(overall, _)| std::cmp::Reverse(overall.cells + overall.doubted + overall.untold));
    all.into_iter().unzip()
}

/// What was told, as far as draws bear it out where there are any.
fn borne_out(
    draws: Option<DrawRange>,
    figure: Figure,
    margin: f64,
    found: (Verdict, Option<Undecided>),
) -> (Verdict, Option<Undecided>) {
    match draws {
        Some(draws) => draws.borne_out(figure, margin, found),
        None => found,
    }
}

/// Gives every cell and every overall figure its verdict, all looks of the comparison taken together.
fn judge(pairings: &mut [Pairing<'_>], margin: f64) {
    // A figure over one cell is that cell's, not another look.
    let several = |overall: &Overall| overall.cells > 1;
    let looks = |overall: bool| -> Vec<f64> {
        let of = |p: &Pairing<'_>| -> Vec<f64> {
            if overall {
                p.against.overall.iter().filter(|o| several(o)).filter_map(|o| o.p_value).collect()
            } else {
                p.against.cells.iter().filter_map(|c| c.p_value).collect()
            }
        };
        pairings.iter().flat_map(of).collect()
    };
    let (of_overall, of_cells) = adjusted(&looks(true), &looks(false));
    let (mut of_overall, mut of_cells) = (of_overall.into_iter(), of_cells.into_iter());
    for pairing in pairings {
        for (cell, ratio) in pairing.against.cells.iter_mut().zip(&pairing.ratios) {
            cell.p_adjusted = cell.p_value.and_then(|_| of_cells.next());
            if let Some(ratio) = ratio {
                cell.p_same = ratio.p_same(margin);
                let told = verdict(cell.figure, ratio, margin, cell.p_adjusted);
                (cell.verdict, cell.undecided) = borne_out(cell.draws, cell.figure, margin, told);
            }
        }
        for (overall, ratio) in pairing.against.overall.iter_mut().zip(&pairing.overall) {
            let own = || pairing.against.cells.iter().filter(|c| c.figure == overall.figure);
            for cell in own() {
                overall.counts.add(cell.verdict);
            }
            overall.p_adjusted = if several(overall) {
                overall.p_value.and_then(|_| of_overall.next())
            } else {
                own().find(|c| c.in_overall).and_then(|c| c.p_adjusted)
            };
            if let Some(ratio) = ratio {
                overall.p_same = ratio.p_same(margin);
                let told = verdict(overall.figure, ratio, margin, overall.p_adjusted);
                (overall.verdict, overall.undecided) = borne_out(overall.draws, overall.figure, margin, told);
            }
        }
    }
}
