//! A comparison as programs read it: schema `loadline.comparison/1`, published in `docs/formats/comparison.schema.json`.

use super::application_side::ApplicationSide;
use super::figure::{Figure, FigureValue, RatioEstimate};
use super::indecision::Undecided;
use super::note::Note;
use super::scaling_figures::Scaling;
use crate::device_throttle::HeldBy;
use crate::standing::StandingLimit;
use loadline_record::{Clock, Doubt, Rate, SourceLimit};
use serde::{Deserialize, Serialize};

/// The schema's name and version.
pub const COMPARISON_SCHEMA: &str = "loadline.comparison/1";

/// Sides compared with the first of them. Ratios are those of a side's figure to the baseline's. Missing figures are `null`,
/// never 0. `loadline-report` has the JSON, with the sentences of its doubts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Comparison {
    /// Always [`COMPARISON_SCHEMA`].
    pub schema: String,
    /// Figures that differ by no more than this share are the same for all purposes.
    pub margin: f64,
    /// How sure the intervals are.
    pub confidence: f64,
    /// What was compared; the first is the baseline.
    pub sides: Vec<ComparedSide>,
    /// The sides, the best first.
    #[serde(default)]
    pub ranking: Vec<RankedSide>,
    /// Each other side against the baseline, in order.
    pub against: Vec<Against>,
    /// What the application of each side did, where all sides are applications at their own pace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub applications: Vec<ApplicationSide>,
    /// What several sides have in common that may be what stops them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_common: Vec<InCommon>,
    /// Sides whose loads a throttle of the kernel holds, where it does not hold all sides alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<ThrottledSide>,
    /// How the rate grows with the number of disks, where the sides were said to differ in it.
    pub scaling: Option<Scaling>,
    /// The command for the next step, where a program with a command line spelled one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What settles a comparison, or shows more of one that is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Nothing is open: the sides are looked at side by side.
    SideBySide,
    /// Predictions with different seeds are made again with one.
    OneSeed,
    /// The models themselves are too uncertain: real storage is measured.
    RealStorage,
    /// Measurements get more trials.
    MoreTrials,
    /// No load is in both: the same plan runs on each.
    SamePlan,
    /// Applications that set their own pace are compared by what they count.
    CountWork,
}

impl Comparison {
    /// What to do next.
    #[must_use]
    pub fn next_step(&self) -> NextStep {
        if self.ranking.first().is_none_or(|first| first.iops.is_none()) {
            return NextStep::SamePlan;
        }
        // What is better at one load and worse at another is not settled by more trials.
        let depends = |side: &RankedSide| self.trade_off(side.side).is_some();
        if self.ranking.iter().all(|side| side.is_decided() || depends(side)) {
            return NextStep::SideBySide;
        }
        if !self.applications.is_empty() {
            return NextStep::CountWork;
        }
        if self.sides.iter().any(|side| side.clock == Clock::Real) {
            return NextStep::MoreTrials;
        }
        let seeds_differ = self.sides.windows(2).any(|pair| pair[0].seed != pair[1].seed);
        let overall = self.against.iter().flat_map(|against| &against.overall);
        let mut draws = overall.filter_map(|of| of.draws.as_ref());
        if seeds_differ && draws.any(|draws| !draws.paired) { NextStep::OneSeed } else { NextStep::RealStorage }
    }
}

impl Comparison {
    /// Of a side that is neither better nor worse over all cells together: the loads at which it is better than the baseline, and those at which it is
    /// worse, where there are both. That is no lack of knowledge.
    #[must_use]
    pub fn trade_off(&self, side: u32) -> Option<(Vec<&str>, Vec<&str>)> {
        let against = self.against.iter().find(|against| against.side == side)?;
        let of = |verdict: Verdict| -> Vec<&str> {
            // What is in doubt speaks for neither.
            let counted = against.cells.iter().filter(|cell| cell.in_overall && cell.verdict == verdict);
            counted.map(|cell| cell.label.as_str()).collect()
        };
        let (better, worse) = (of(Verdict::Better), of(Verdict::Worse));
        // Gains and losses that level out are no sameness either.
        let is_open = matches!(against.overall.first()?.verdict, Verdict::CannotTell | Verdict::Same);
        (is_open && !better.is_empty() && !worse.is_empty()).then_some((better, worse))
    }
}

/// A side whose loads are held by limits that stand in files of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThrottledSide {
    /// The side, by its place.
    pub side: u32,
    /// Its throttles.
    pub held_by: Vec<HeldBy>,
    /// Its other limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SideSetting>,
}

/// A limit of a side that is no throttle, and stands in a file of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "kebab-case")]
pub enum SideSetting {
    /// By what was read before the load began.
    BeforeLoad(StandingLimit),
    /// By a watch of what others asked for.
    Watched(SourceLimit),
}

/// One side: a run, or one volume of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedSide {
    /// The run's id.
    pub run: String,
    /// The run's name.
    pub name: String,
    /// The only volume that counts; `null` where all of the run's do.
    pub volume: Option<String>,
    /// Measured (`real`) or predicted (`virtual`).
    pub clock: Clock,
    /// How its figures came to be, in words: "measured", "measured by fio 3.33", "emulated" or "predicted".
    pub how: String,
    /// Start of the run, RFC 3339 in UTC.
    pub started: String,
    /// Version of the tool that made it.
    pub version: String,
    /// The machine's name.
    pub hostname: Option<String>,
    /// What was measured, as the user wrote it or by its path where that was relative, in the order of the volumes.
    pub targets: Vec<String>,
    /// Disks in the layout, where that was said.
    pub disks: Option<u32>,
    /// The seed of its random choices: predictions with one seed have the same draws.
    #[serde(default)]
    pub seed: u64,
    /// Trials of a prediction that were repeated for this comparison: its figures are over them too, and the stored run has none of them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trials_added: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A side among all: its best figures, and its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankedSide {
    /// From 1; sides that do not differ by more than the margin have the same.
    pub rank: u32,
    /// Its place among the sides.
    pub side: u32,
    /// How many times as good as the baseline it is over all cells together; `null` where that is not known.
    pub score: Option<f64>,
    /// The verdict against the baseline; `null` for the baseline itself.
    pub verdict: Option<Verdict>,
    /// Requests per second in the cell of all sides in which any of them reaches most; where no cell is in all sides, the most of its own.
    pub iops: Option<f64>,
    /// That cell, for people.
    pub iops_load: Option<String>,
    /// Its 99th percentile of the latency, ns.
    pub p99_ns: Option<f64>,
    /// Bytes per second, likewise.
    pub throughput_bytes_per_s: Option<f64>,
    /// The cell of the bytes, for people.
    #[serde(default)]
    pub throughput_load: Option<String>,
    /// Whether one of these cells is in doubt: then there was none without.
    #[serde(default)]
    pub doubted: bool,
    /// Whether it keeps the objective; `null` where there is none, or nothing is known.
    pub objective_kept: Option<bool>,
    /// The heaviest load that keeps it, where a heavier one breaks it.
    #[serde(default)]
    pub objective_up_to: Option<String>,
    /// The lightest load that breaks it.
    #[serde(default)]
    pub objective_breaks_at: Option<String>,
    /// What it costs a month; `null` where that is not known.
    pub price_month: Option<MonthlyPrice>,
    /// Whether that is all of it. Otherwise it costs at least so much.
    pub price_complete: bool,
    /// Whether a part of it is an estimate.
    #[serde(default)]
    pub price_estimated: bool,
    /// The region of the price, where the sides have no region in common.
    #[serde(default)]
    pub price_region: Option<String>,
}

/// What something costs a month; serialised as in "135.17 USD".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MonthlyPrice {
    /// In units of the currency.
    pub amount: f64,
    /// Its three letters.
    pub currency: String,
}

impl std::fmt::Display for MonthlyPrice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} {}", self.amount, self.currency)
    }
}

impl From<MonthlyPrice> for String {
    fn from(price: MonthlyPrice) -> Self {
        price.to_string()
    }
}

impl TryFrom<String> for MonthlyPrice {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let parts =
            text.split_once(' ').and_then(|(amount, currency)| Some((amount.parse().ok()?, currency.to_owned())));
        parts.map(|(amount, currency)| Self { amount, currency }).ok_or_else(|| format!("{text:?} is no price"))
    }
}

/// One side against the baseline.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Against {
    /// Its place among the sides.
    pub side: u32,
    /// What else differs, apart from the figures: each is a possible reason for a difference.
    pub notes: Vec<Note>,
    /// All cells that count together, for each figure that decides; most cells first.
    pub overall: Vec<Overall>,
    /// The cells that both have, in the order of the baseline.
    pub cells: Vec<CellComparison>,
    /// The cells that only one of them has.
    pub unmatched: Vec<Unmatched>,
}

impl Overall {
    /// Without a cell and a verdict yet.
    pub(super) const fn open(figure: Figure) -> Self {
        Self {
            figure,
            cells: 0,
            doubted: 0,
            untold: 0,
            ratio: None,
            low: None,
            high: None,
            p_value: None,
            p_adjusted: None,
            p_same: None,
            draws: None,
            verdict: Verdict::CannotTell,
            undecided: None,
            counts: Counts { better: 0, worse: 0, same: 0, cannot_tell: 0 },
        }
    }
    /// Where the side stands: its verdict, or that of its cells where those that have one agree.
    #[must_use]
    pub fn leaning(&self) -> Option<Verdict> {
        if self.verdict != Verdict::CannotTell {
            return Some(self.verdict);
        }
        match (self.counts.better, self.counts.worse) {
            (1.., 0) => Some(Verdict::Better),
            (0, 1..) => Some(Verdict::Worse),
            _ => None,
        }
    }
}

/// What several sides have in common that may be what stops them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum InCommon {
    /// One kind of load stops at one figure on different disks.
    OneFigure {
        /// The sides, by their places.
        sides: Vec<u32>,
        /// Whether the loads read; else they write.
        reads: bool,
        /// The lowest of the figures.
        lowest: Rate,
        /// The highest.
        highest: Rate,
    },
}

/// What the figures allow to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// Within the margin.
    Same,
    /// Neither can be said.
    CannotTell,
}

impl Verdict {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// The least and the most that a ratio comes to over what predictions are uncertain about. No confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DrawRange {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
    /// Whether each draw was compared with its like: both sides are predictions of disks of the same kinds, with the same draws. Else any
    /// draw of one side may go with any of the other.
    pub paired: bool,
}

/// A cell that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellComparison {
    /// The baseline's id.
    pub baseline_id: String,
    /// The other's.
    pub other_id: String,
    /// The baseline's volume.
    pub baseline_volume: String,
    /// The other's.
    pub other_volume: String,
    /// The load, for people.
    pub label: String,
    /// The figure that decides.
    pub figure: Figure,
    /// What can be said.
    pub verdict: Verdict,
    /// Why nothing can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// How often noise alone gives a ratio at least as far from 1.
    pub p_value: Option<f64>,
    /// The same, corrected for everything that was looked at together.
    pub p_adjusted: Option<f64>,
    /// How often a ratio on the edge of the margin seems at least as far inside it.
    pub p_same: Option<f64>,
    /// The baseline's figure that decides, as in the ratio; `null` where it has none.
    #[serde(default)]
    pub baseline_figure: Option<f64>,
    /// The other's.
    #[serde(default)]
    pub other_figure: Option<f64>,
    /// All figures that the baseline has, whether or not the other has them.
    #[serde(default)]
    pub baseline_figures: Vec<FigureValue>,
    /// All that the other has.
    #[serde(default)]
    pub other_figures: Vec<FigureValue>,
    /// Figure by figure, as far as both sides have them; the one that decides is among them.
    pub ratios: Vec<RatioEstimate>,
    /// What the deciding ratio comes to over the draws of predictions; `null` where neither side has several.
    #[serde(default)]
    pub draws: Option<DrawRange>,
    /// Doubts about the baseline.
    #[serde(skip_serializing)]
    pub baseline_doubts: Vec<Doubt>,
    /// Doubts about the other.
    #[serde(skip_serializing)]
    pub other_doubts: Vec<Doubt>,
    /// Whether it counts in the overall verdict.
    pub in_overall: bool,
}

impl CellComparison {
    /// The ratio of a figure, where it is known.
    #[must_use]
    pub fn of(&self, figure: Figure) -> Option<&RatioEstimate> {
        self.ratios.iter().find(|r| r.figure == figure)
    }
    /// A figure of the baseline, where it has it.
    #[must_use]
    pub fn of_baseline(&self, figure: Figure) -> Option<f64> {
        value_of(&self.baseline_figures, figure)
    }
    /// A figure of the other.
    #[must_use]
    pub fn of_other(&self, figure: Figure) -> Option<f64> {
        value_of(&self.other_figures, figure)
    }
    /// The ratio that decides.
    #[must_use]
    pub fn deciding(&self) -> Option<&RatioEstimate> {
        self.of(self.figure)
    }
    /// Whether either side is in doubt.
    #[must_use]
    pub fn doubted(&self) -> bool {
        !self.baseline_doubts.is_empty() || !self.other_doubts.is_empty()
    }
}

/// How many cells came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Better than the baseline.
    pub better: u32,
    /// Worse.
    pub worse: u32,
    /// Within the margin.
    pub same: u32,
    /// Neither can be said.
    pub cannot_tell: u32,
}

impl Counts {
    /// One cell more.
    pub(super) const fn add(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Better => &mut self.better,
            Verdict::Worse => &mut self.worse,
            Verdict::Same => &mut self.same,
            Verdict::CannotTell => &mut self.cannot_tell,
        };
        *count += 1;
    }
}

/// All cells with one deciding figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// The figure that decides in these cells.
    pub figure: Figure,
    /// Cells that count.
    pub cells: u32,
    /// Cells left out because they are in doubt.
    pub doubted: u32,
    /// Cells left out because they have no ratio, or, where others have one, no interval.
    pub untold: u32,
    /// Geometric mean of the ratios of the cells that count.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// As in a cell.
    pub p_value: Option<f64>,
    /// As in a cell.
    pub p_adjusted: Option<f64>,
    /// As in a cell.
    pub p_same: Option<f64>,
    /// The geometric means of the cells' least and most.
    #[serde(default)]
    pub draws: Option<DrawRange>,
    /// What can be said.
    pub verdict: Verdict,
    /// Why nothing can be said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<Undecided>,
    /// How all matched cells with this figure came out, doubted ones too.
    pub counts: Counts,
}

/// A cell that only one side has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The side that has it: its place among the sides.
    pub side: u32,
    /// The cell's id.
    pub id: String,
    /// Its volume.
    pub volume: String,
    /// Its load, for people.
    pub label: String,
    /// In what it differs from the cell of the other side that comes nearest: keys of the load.
    pub differs: Vec<String>,
    /// All figures that it has.
    #[serde(default)]
    pub figures: Vec<FigureValue>,
    /// Doubts about it.
    #[serde(default, skip_serializing)]
    pub doubts: Vec<Doubt>,
}

impl Unmatched {
    /// One of its figures, where it has it.
    #[must_use]
    pub fn of(&self, figure: Figure) -> Option<f64> {
        value_of(&self.figures, figure)
    }
}

/// One of a cell's figures, where it has it.
fn value_of(figures: &[FigureValue], figure: Figure) -> Option<f64> {
    figures.iter().find(|one| one.figure == figure).map(|one| one.value)
}
