//! One factor at a time around a cell: which of them move its ceiling, which are ruled out, and which limits remain possible.
//!
//! Rounds are looked at again and again while they come in. So that looking often does not find what is not there, the 5 % of
//! errors that are allowed are shared evenly by all looks at all settings (Bonferroni): whatever is called moved where nothing
//! moves, anywhere in a hunt, is so in at most 5 % of hunts. `docs/how-we-compare.md` explains it.

mod suspects;

use crate::statistics::{CONFIDENCE, mean, t_quantile, variance};
use crate::summarize::summarize;
use loadline_record::{CellRecord, Ending, Limit, RunRecord, TrialRecord};
use serde::{Deserialize, Serialize};
use suspects::{Known, suspects};

/// The schema's name and version.
pub const HUNT_SCHEMA: &str = "loadline.hunt/1";
/// Rounds after which a hunt is looked at: about half as many again each time.
pub const HUNT_LOOKS: [u32; 6] = [4, 6, 9, 13, 19, 28];

/// A property of a load or its storage that is varied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Requests outstanding of each thread.
    Depth,
    /// Load threads.
    Threads,
    /// Test files.
    Files,
    /// Block size.
    Block,
    /// What offsets are multiples of.
    Alignment,
    /// Length of a stripe's pieces.
    Interleave,
    /// Disks side by side.
    Layout,
    /// The virtual machine's limits.
    Vm,
    /// The way to the device.
    Engine,
    /// Past the page cache or through it.
    Direct,
}

impl Factor {
    /// Every factor.
    pub const ALL: [Self; 10] = [
        Self::Depth,
        Self::Threads,
        Self::Files,
        Self::Block,
        Self::Alignment,
        Self::Interleave,
        Self::Layout,
        Self::Vm,
        Self::Engine,
        Self::Direct,
    ];
    /// Its name, as typed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Threads => "threads",
            Self::Files => "files",
            Self::Block => "block",
            Self::Alignment => "alignment",
            Self::Interleave => "interleave",
            Self::Layout => "layout",
            Self::Vm => "vm",
            Self::Engine => "engine",
            Self::Direct => "direct",
        }
    }
    /// Whether the setting changes how many bytes a request has, so that bytes and not requests per second are compared.
    #[must_use]
    pub const fn in_bytes(self) -> bool {
        matches!(self, Self::Block)
    }
}

/// What a hunt does: stored with its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HuntPlan {
    /// Id of the cell around which everything is varied.
    pub baseline: String,
    /// What is varied, each in a cell of its own.
    pub variants: Vec<HuntVariant>,
    /// Effects that are no larger are none, as a share above 0.
    pub margin: f64,
    /// What is usually varied and cannot be here.
    #[serde(default)]
    pub not_tried: Vec<NotTried>,
    /// Factors that there is nothing of to vary: a model has no engine, a single disk no interleave.
    #[serde(default)]
    pub lacks: Vec<Factor>,
}

/// A factor that nobody asked for by name, or a usual setting of one, that does not fit the cell or its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTried {
    /// What would have been varied.
    pub factor: Factor,
    /// To what; `null` where no setting is possible.
    pub to: Option<String>,
    /// Why not.
    pub because: String,
}

/// One setting of one factor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HuntVariant {
    /// Id of its cell.
    pub cell: String,
    /// What is varied.
    pub factor: Factor,
    /// How it is in the baseline.
    pub from: String,
    /// And how in this cell.
    pub to: String,
}

/// What came of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// It raised the rate.
    Moved,
    /// It lowered it.
    Lowered,
    /// It changes it by no more than the margin.
    RuledOut,
    /// The rounds do not tell.
    CannotTell,
}

impl Effect {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Moved => "moved the ceiling",
            Self::Lowered => "lowered it",
            Self::RuledOut => "ruled out",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// A setting with its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HuntRow {
    /// What was varied, from what to what.
    #[serde(flatten)]
    pub variant: HuntVariant,
    /// Rounds that it rests on.
    pub rounds: u32,
    /// Mean rate in the baseline over these rounds: requests per second, or bytes per second where the block size differs.
    pub before: Option<f64>,
    /// The same with the setting.
    pub after: Option<f64>,
    /// Rate with the setting over that without.
    pub ratio: Option<f64>,
    /// Lower end of its interval, which holds for all looks at all settings together with 95 % confidence.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What follows.
    pub effect: Effect,
    /// Whether bytes rather than requests per second were compared.
    pub in_bytes: bool,
}

/// What might hold the rate. Each limit is named by one suspect alone: the one whose factor says most of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspect {
    /// Names of limits, as in `binding`; none where what it is has no name of its own, or others tell of all of its limits.
    pub limits: Vec<String>,
    /// What it is, in words.
    pub what: String,
    /// Where it stands after the hunt.
    pub standing: Standing,
    /// Why.
    pub because: String,
}

/// Where a suspect stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// What would lift it did raise the rate.
    Binds,
    /// Nothing rules it out.
    Possible,
    /// What would lift it changed nothing.
    RuledOut,
}

/// What a hunt found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HuntResult {
    /// Always [`HUNT_SCHEMA`].
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// The run's name.
    pub name: String,
    /// The cell around which everything was varied.
    pub cell: String,
    /// The same, for people.
    pub label: String,
    /// Its mean rate, requests per second.
    pub iops: Option<f64>,
    /// The same in bytes per second.
    pub bytes_per_s: Option<f64>,
    /// Effects that are no larger are none.
    pub margin: f64,
    /// In the order in which they were asked for.
    pub rows: Vec<HuntRow>,
    /// What is usually varied and could not be here.
    pub not_tried: Vec<NotTried>,
    /// Why no limit can be found around this cell: the load got all that it asked for.
    pub nothing_bound: Option<String>,
    /// What may bind, the likeliest first; none where nothing bound the cell.
    pub suspects: Vec<Suspect>,
}

/// An effect with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Rate with the setting over that without.
    pub ratio: f64,
    /// Its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What follows.
    pub effect: Effect,
}

/// Judges the logarithms of one setting's ratios, one for each round, of a hunt over so many `settings`, as the
/// last of [`HUNT_LOOKS`] that has come up saw them; `None` before the first.
///
/// The interval is wide enough to hold for every look at every setting at once.
#[must_use]
pub fn judge(logs: &[f64], settings: usize, margin: f64) -> Option<Judged> {
    let seen = HUNT_LOOKS.into_iter().rfind(|look| *look as usize <= logs.len())?;
    let logs = &logs[..seen as usize];
    let (middle, spread) = (mean(logs)?, variance(logs)?);
    let looks = HUNT_LOOKS.len() * settings.max(1);
    let confidence = 1.0 - (1.0 - CONFIDENCE) / looks as f64;
    let freedom = (logs.len() - 1) as f64;
    let half = t_quantile(confidence, freedom) * libm::sqrt(spread / logs.len() as f64);
    let edge = libm::log(1.0 + margin);
    let effect = if middle - half > -edge && middle + half < edge {
        Effect::RuledOut
    } else if middle - half > 0.0 && middle > edge {
        Effect::Moved
    } else if middle + half < 0.0 && middle < -edge {
        Effect::Lowered
    } else {
        Effect::CannotTell
    };
    Some(Judged { ratio: libm::exp(middle), low: libm::exp(middle - half), high: libm::exp(middle + half), effect })
}

/// The logarithm of one round's ratio; `None` where either trial is not complete or did nothing.
#[must_use]
pub fn round_log(baseline: &TrialRecord, varied: &TrialRecord, factor: Factor) -> Option<f64> {
    let rate = |trial: &TrialRecord| {
        let rate = if factor.in_bytes() { trial.bytes_per_s() } else { trial.iops() };
        rate.filter(|r| *r > 0.0 && trial.ending == Ending::Complete)
    };
    Some(libm::log(rate(varied)? / rate(baseline)?))
}

/// The limits on the way of a cell, where an environment says which there are.
fn declared(cell: &CellRecord) -> Vec<&'static str> {
    let of_model = || cell.trials.iter().find_map(|trial| Some(&trial.model.as_ref()?.ceilings));
    let ceilings = if cell.ceilings.is_empty() { of_model() } else { Some(&cell.ceilings) };
    ceilings.into_iter().flatten().map(|ceiling| ceiling.limit.name()).collect()
}

/// Why the rate of the cell is no ceiling, and around what to hunt instead, where its load got all that it asked for.
#[must_use]
pub fn nothing_bound(record: &RunRecord, cell: &str) -> Option<String> {
    let found = summarize(record).cells.into_iter().find(|one| one.id == cell)?;
    let binding = found.binding.filter(|binding| binding.limit == Limit::Arrival)?;
    let next = match (found.load.queue_depth, found.load.rate_iops) {
        (None, _) => "Hunt around a higher rate of arrivals, or around a closed loop.",
        (Some(_), Some(_)) => "Hunt around a higher rate ceiling, or without it.",
        (Some(_), None) => "Hunt without think time, or with more requests outstanding.",
    };
    Some(format!(
        "Nothing bound this cell: {} No setting can show a limit that was not reached. {next}",
        binding.evidence.trim()
    ))
}

/// A cache that answers the cell, as its own trials show: no factor tells of it.
fn by_a_cache(record: &RunRecord, cell: &str) -> Option<Suspect> {
    let found = summarize(record).cells.into_iter().find(|one| one.id == cell)?;
    let binding = found.binding.filter(|binding| binding.limit == Limit::Cache)?;
    Some(Suspect {
        limits: vec![binding.limit.name().to_owned()],
        what: "a cache above the disks".to_owned(),
        standing: Standing::Binds,
        because: format!("the cell shows it by itself: {}", binding.evidence.trim().trim_end_matches('.')),
    })
}

/// Around a load that got what it asked for only less of it tells anything: more is what was asked for, and as much shows nothing.
fn unbound(rows: Vec<HuntRow>) -> Vec<HuntRow> {
    let untold = |row: HuntRow| match row.effect {
        Effect::Lowered => row,
        _ => HuntRow { effect: Effect::CannotTell, ..row },
    };
    rows.into_iter().map(untold).collect()
}

/// What the rounds that the run has so far tell.
#[must_use]
pub fn hunted(record: &RunRecord, plan: &HuntPlan) -> HuntResult {
    let cell = |id: &str| record.cells.iter().find(|c| c.id == id);
    let baseline = cell(&plan.baseline);
    let rows: Vec<HuntRow> = plan
        .variants
        .iter()
        .map(|variant| {
            let pairs: Vec<(&TrialRecord, &TrialRecord)> = (cell(&variant.cell).into_iter().flat_map(|c| &c.trials))
                .filter_map(|t| Some((baseline?.trials.iter().find(|b| b.trial == t.trial)?, t)))
                .filter(|(b, t)| round_log(b, t, variant.factor).is_some())
                .collect();
            let logs: Vec<f64> = pairs.iter().filter_map(|(b, t)| round_log(b, t, variant.factor)).collect();
            let rate = |t: &TrialRecord| if variant.factor.in_bytes() { t.bytes_per_s() } else { t.iops() };
            let judged = judge(&logs, plan.variants.len(), plan.margin);
            HuntRow {
                variant: variant.clone(),
                rounds: logs.len() as u32,
                before: mean(&pairs.iter().filter_map(|(b, _)| rate(b)).collect::<Vec<_>>()),
                after: mean(&pairs.iter().filter_map(|(_, t)| rate(t)).collect::<Vec<_>>()),
                ratio: judged.map(|j| j.ratio),
                low: judged.map(|j| j.low),
                high: judged.map(|j| j.high),
                effect: judged.map_or(Effect::CannotTell, |j| j.effect),
                in_bytes: variant.factor.in_bytes(),
            }
        })
        .collect();
    let nothing_bound = nothing_bound(record, &plan.baseline);
    let rows = if nothing_bound.is_some() { unbound(rows) } else { rows };
    let declared: Vec<&str> = baseline.map(declared).unwrap_or_default();
    let known = Known { declared: &declared, lacks: &plan.lacks };
    let trials = || baseline.into_iter().flat_map(|c| &c.trials);
    let mut named = if nothing_bound.is_some() { Vec::new() } else { suspects(&rows, plan.margin, known) };
    if nothing_bound.is_none() {
        named.splice(0..0, by_a_cache(record, &plan.baseline));
    }
    HuntResult {
        schema: HUNT_SCHEMA.to_owned(),
        run: record.header.id.clone(),
        name: record.header.name.clone(),
        cell: plan.baseline.clone(),
        label: baseline.map_or_else(String::new, |c| c.label.clone()),
        iops: mean(&trials().filter_map(TrialRecord::iops).collect::<Vec<_>>()),
        bytes_per_s: mean(&trials().filter_map(TrialRecord::bytes_per_s).collect::<Vec<_>>()),
        margin: plan.margin,
        not_tried: plan.not_tried.clone(),
        suspects: named,
        nothing_bound,
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, open, run};
    use crate::statistics::tests::noise;
    use loadline_record::LoadSummary;

    /// A hunt over `settings` without any effect, by rounds with noise of 2 %: whether anything is called moved or lowered.
    fn false_alarm(seed: u64, settings: usize) -> bool {
        let most = HUNT_LOOKS[HUNT_LOOKS.len() - 1] as usize;
        (0..settings).any(|setting| {
            let logs: Vec<f64> = noise(seed * 1_000 + setting as u64, most, 0.0).iter().map(|v| v * 0.02).collect();
            for look in HUNT_LOOKS {
                match judge(&logs[..look as usize], settings, 0.001).unwrap().effect {
                    Effect::Moved | Effect::Lowered => return true,
                    Effect::RuledOut => return false,
                    Effect::CannotTell => {}
                }
            }
            false
        })
    }

    #[test]
    fn looking_again_and_again_finds_no_more_than_five_percent_that_is_not_there() {
        // The margin is far below the noise, so that nothing but the interval stands in the way of an alarm.
        for settings in [1, 8] {
            let alarms = (0..400).filter(|seed| false_alarm(*seed, settings)).count();
            assert!(alarms <= 20, "{alarms} of 400 with {settings} settings");
        }
    }

    /// Four rounds around `baseline` with blocks four times as large, on a disk that serves all of it.
    fn blocks_varied(baseline: LoadSummary) -> HuntResult {
        let larger = LoadSummary { block_bytes: baseline.block_bytes * 4, ..baseline.clone() };
        let disk = ExampleDisk { iops: 50_000.0, bytes_per_s: 1e9, ..ExampleDisk::default() };
        let factors = [1.0, 1.001, 0.999, 1.0];
        let cells = [cell(baseline, &disk, &factors), cell(larger, &disk, &factors)];
        let (from, to) = ("4 KiB".to_owned(), "16 KiB".to_owned());
        let variant = HuntVariant { cell: cells[1].id.clone(), factor: Factor::Block, from, to };
        let plan = HuntPlan {
            baseline: cells[0].id.clone(),
            variants: vec![variant],
            margin: 0.05,
            not_tried: Vec::new(),
            lacks: Vec::new(),
        };
        hunted(&run(cells.into()), &plan)
    }

    #[test]
    fn around_a_load_that_got_all_it_asked_for_no_limit_is_found() {
        let found = blocks_varied(open("random", 1.0, 4 << 10, 1_000.0));
        let why = found.nothing_bound.unwrap();
        assert!(why.starts_with("Nothing bound this cell: Of 1,000 requests a second offered"), "{why}");
        assert_eq!((found.rows[0].effect, found.suspects.len()), (Effect::CannotTell, 0));
        assert!(found.rows[0].ratio.unwrap() > 3.9);
        // A closed loop moves as many times the bytes because it is served more.
        let found = blocks_varied(closed("random", 1.0, 4 << 10, 8));
        assert_eq!((found.nothing_bound, found.rows[0].effect), (None, Effect::Moved));
        assert!(!found.suspects.is_empty());
    }

    #[test]
    fn an_effect_beyond_the_margin_is_found_and_one_within_it_ruled_out() {
        let logs = |effect: f64| -> Vec<f64> { noise(3, 13, 0.0).iter().map(|v| effect + v * 0.01).collect() };
        assert_eq!(judge(&logs(0.2), 6, 0.05).unwrap().effect, Effect::Moved);
        assert_eq!(judge(&logs(-0.2), 6, 0.05).unwrap().effect, Effect::Lowered);
        assert_eq!(judge(&logs(0.0), 6, 0.05).unwrap().effect, Effect::RuledOut);
        assert_eq!(judge(&logs(0.04), 6, 0.05).unwrap().effect, Effect::CannotTell);
        assert!(judge(&[0.1; 3], 1, 0.05).is_none());
    }
}
