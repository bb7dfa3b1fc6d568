//! What a hunt found: the effect of each setting, and the limits that remain possible.

use crate::effect::{Effect, judge, round_log};
use crate::factor::Factor;
use crate::plan::{HuntPlan, HuntVariant, SkippedSetting};
use crate::suspects::{StorageFacts, suspects};
use loadline_analysis::statistics::mean;
use loadline_analysis::{CellSummary, HeldBy, StandingLimit, StandingRule, loads_at_limits, summarize};
use loadline_record::{Binding, CellRecord, Doubt, Limit, RunRecord, TrialRecord};
use serde::{Deserialize, Serialize};

/// The schema's name and version.
pub const HUNT_SCHEMA: &str = "loadline.hunt/1";

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
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// Limits, as in `binding`; none where what it is has no name of its own, or others tell of all of its limits.
    pub limits: Vec<Limit>,
    /// What it is.
    pub cause: HuntCause,
    /// Where it stands after the hunt.
    pub standing: Standing,
    /// What shows that.
    pub evidence: HuntEvidence,
    /// What to vary to know more.
    pub left: Vec<LeftToVary>,
}

/// What may hold a load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HuntCause {
    /// Too few requests at once.
    FewRequests,
    /// The disks, by their number.
    Disks,
    /// The VM's limits.
    Vm,
    /// Limits of a VM that the environment does not put in the way.
    UndeclaredVm,
    /// How requests fall on the disks of a stripe.
    Spread,
    /// A limit on requests per second.
    Requests,
    /// A limit on bytes per second.
    Bytes,
    /// One of the two.
    Rate,
    /// The load threads and the way to the device.
    Tool,
    /// The file system, or locks in it.
    FileSystem,
    /// Requests that lie across blocks of the storage.
    Misalignment,
    /// A cache above the disks.
    Cache,
    /// A throttle of the kernel.
    Throttle(HeldBy),
    /// Another limit in a file of the kernel.
    Standing(StandingLimit),
}

/// A setting that was varied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HuntSetting {
    /// Of which factor.
    pub factor: Factor,
    /// To what.
    pub to: String,
}

impl HuntSetting {
    /// Of a row.
    #[must_use]
    pub fn of(row: &HuntRow) -> Self {
        Self { factor: row.variant.factor, to: row.variant.to.clone() }
    }
}

/// What shows where a suspect stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum HuntEvidence {
    /// Settings raised the rate.
    Raised {
        /// All of them.
        by: Vec<HuntSetting>,
    },
    /// Settings changed nothing.
    Unchanged {
        /// All of them.
        by: Vec<HuntSetting>,
    },
    /// Settings only lowered the rate.
    OnlyLowered {
        /// All of them.
        by: Vec<HuntSetting>,
    },
    /// A setting lowered the rate, and nothing on the other side was tried.
    OneWay {
        /// The setting.
        lowered_by: HuntSetting,
    },
    /// The rounds do not tell.
    Undecided,
    /// Nothing was varied that tells.
    NotVaried {
        /// What would.
        vary: Vec<Factor>,
    },
    /// Nothing can be varied that tells.
    CannotBeVaried {
        /// Why not.
        because: String,
    },
    /// The storage has nothing of it.
    HasNoneOfIt,
    /// The block size was not varied, or does not tell.
    BlockUntold,
    /// More threads raised the rate, as more requests at once or as more threads.
    ThreadsOrRequests {
        /// The threads.
        to: String,
        /// Whether the depth can be varied, which tells.
        depth_tells: bool,
    },
    /// An alignment raised the rate; its requests fall on fewer different blocks, too.
    FewerBlocks {
        /// The alignment.
        to: String,
    },
    /// Buffered requests raised the rate, and the page cache answers those.
    PageCache {
        /// Whether the number of files can be varied, which tells more.
        files_tell: bool,
    },
    /// The rate follows the number of disks.
    FollowsDisks {
        /// So many disks.
        to: String,
        /// Their rate over that of all.
        ratio: f64,
    },
    /// Fewer disks lowered the rate, but not in proportion.
    FewerDisks {
        /// So many.
        to: String,
    },
    /// Blocks of another size are as many per second.
    AsManyRequests {
        /// The size.
        to: String,
    },
    /// Larger blocks move as many bytes per second.
    AsManyBytes {
        /// The size.
        to: String,
        /// Whether smaller blocks are as many per second: both limits are near.
        near: bool,
    },
    /// With larger blocks the requests per second differ.
    OtherRequests {
        /// The size.
        to: String,
    },
    /// Larger blocks move more bytes.
    MoreBytes {
        /// The size.
        to: String,
        /// Times the bytes.
        ratio: f64,
    },
    /// Smaller blocks move fewer bytes.
    FewerBytes {
        /// By more than this share.
        margin: f64,
    },
    /// The environment does not have these limits.
    Undeclared,
    /// The cell shows it by itself.
    ShownByItself {
        /// As what bound it.
        binding: Binding,
    },
    /// The limit was read, and the load reaches it.
    Read {
        /// From this file.
        file: String,
    },
}

impl HuntEvidence {
    /// Whether it already names a factor to vary.
    pub(crate) const fn says_what_to_vary(&self) -> bool {
        match self {
            Self::OneWay { .. } | Self::NotVaried { .. } | Self::BlockUntold | Self::FewerDisks { .. } => true,
            Self::ThreadsOrRequests { depth_tells: tells, .. } | Self::PageCache { files_tell: tells } => *tells,
            _ => false,
        }
    }
}

/// What distinguishes limits of which a suspect names several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LeftToVary {
    /// Whether they are the disks' or the VM's.
    Whose {
        /// By varying one of these.
        factors: Vec<Factor>,
    },
    /// Whether they are on requests or on bytes: by varying the block size.
    RequestsOrBytes,
}

/// A load that got all that it asked for: no limit can be found around it.
#[derive(Debug, Clone, PartialEq)]
pub struct NothingBound {
    /// What shows it.
    pub binding: Binding,
    /// Around what to hunt instead.
    pub instead: HuntInstead,
}

/// Around what to hunt where a load got all that it asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HuntInstead {
    /// A higher rate of arrivals, or a closed loop.
    HigherRate,
    /// A higher rate ceiling, or none.
    HigherCeiling,
    /// No think time, or more requests outstanding.
    MoreOutstanding,
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
#[derive(Debug, Clone, PartialEq)]
pub struct HuntResult {
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
    pub not_tried: Vec<SkippedSetting>,
    /// Why no limit can be found around this cell: the load got all that it asked for.
    pub nothing_bound: Option<NothingBound>,
    /// What may bind, the likeliest first; none where nothing bound the cell.
    pub suspects: Vec<Suspect>,
    /// The command that lifts a limit in a file of the kernel that holds the cell.
    pub lift: Option<String>,
    /// Doubts about the cell's own rate.
    pub doubts: Vec<Doubt>,
}

/// The limits on the way of a cell, where an environment says which there are.
fn declared(cell: &CellRecord) -> Vec<Limit> {
    let of_model = || cell.trials.iter().find_map(|trial| Some(&trial.model.as_ref()?.ceilings));
    let ceilings = if cell.ceilings.is_empty() { of_model() } else { Some(&cell.ceilings) };
    ceilings.into_iter().flatten().map(|ceiling| ceiling.limit).collect()
}

/// Why the rate of the cell is no ceiling, where its load got all that it asked for.
pub(crate) fn nothing_bound(record: &RunRecord, cell: &str) -> Option<NothingBound> {
    without_bound(&summary_of(record, cell)?)
}

fn summary_of(record: &RunRecord, cell: &str) -> Option<CellSummary> {
    summarize(record).cells.into_iter().find(|one| one.id == cell)
}

/// Why the rate of the cell is no ceiling, and around what to hunt instead, where its load got all that it asked for.
fn without_bound(found: &CellSummary) -> Option<NothingBound> {
    let binding = found.binding.as_ref().filter(|binding| binding.limit == Limit::Arrival)?;
    let instead = match (found.load.queue_depth, found.load.rate_iops) {
        (None, _) => HuntInstead::HigherRate,
        (Some(_), Some(_)) => HuntInstead::HigherCeiling,
        (Some(_), None) => HuntInstead::MoreOutstanding,
    };
    Some(NothingBound { binding: binding.clone(), instead })
}

/// A cache that answers the cell, as its own trials show: no factor tells of it.
fn by_a_cache(found: &CellSummary) -> Option<Suspect> {
    let binding = found.binding.as_ref().filter(|binding| binding.limit == Limit::Cache)?;
    Some(Suspect {
        limits: vec![binding.limit],
        cause: HuntCause::Cache,
        standing: Standing::Binds,
        evidence: HuntEvidence::ShownByItself { binding: binding.clone() },
        left: Vec::new(),
    })
}

/// A limit in a file of the kernel that holds the cell, with the command that lifts it: it was read, and no setting can show more of it.
fn by_what_stands(record: &RunRecord, found: &CellSummary) -> Option<(Suspect, Option<String>)> {
    let binding = found.binding.as_ref()?;
    let held = loads_at_limits(record).into_iter().find(|held| held.cell == found.id)?.limit;
    let (file, lift) = (held.file.clone(), held.lifted_by.clone());
    let suspect = Suspect {
        limits: vec![binding.limit],
        cause: match held.rule {
            StandingRule::Throttle(held) => HuntCause::Throttle(held),
            _ => HuntCause::Standing(held),
        },
        standing: Standing::Binds,
        evidence: HuntEvidence::Read { file },
        left: Vec::new(),
    };
    Some((suspect, lift))
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
    let found = summary_of(record, &plan.baseline);
    let doubts = found.as_ref().map(|cell| cell.doubts.clone()).unwrap_or_default();
    let nothing_bound = found.as_ref().and_then(without_bound);
    let rows = if nothing_bound.is_some() { unbound(rows) } else { rows };
    let declared: Vec<Limit> = baseline.map(declared).unwrap_or_default();
    let known = StorageFacts { declared: &declared, lacks: &plan.lacks, fixed: &plan.fixed };
    let trials = || baseline.into_iter().flat_map(|c| &c.trials);
    let mut named = if nothing_bound.is_some() { Vec::new() } else { suspects(&rows, plan.margin, known) };
    let found = found.as_ref().filter(|_| nothing_bound.is_none());
    let held = found.and_then(|found| by_what_stands(record, found));
    if let Some((held, _)) = &held {
        // The suspect that has this limit is the one that was read.
        named.retain(|suspect| suspect.standing != Standing::Possible || suspect.limits != held.limits);
        named.insert(0, held.clone());
    } else {
        named.splice(0..0, found.and_then(by_a_cache));
    }
    HuntResult {
        run: record.header.id.clone(),
        name: record.header.name.clone(),
        cell: plan.baseline.clone(),
        label: baseline.map_or_else(String::new, |c| c.label.clone()),
        iops: mean(&trials().filter_map(TrialRecord::iops).collect::<Vec<_>>()),
        bytes_per_s: mean(&trials().filter_map(TrialRecord::bytes_per_s).collect::<Vec<_>>()),
        margin: plan.margin,
        not_tried: plan.not_tried.clone(),
        suspects: named,
        lift: held.and_then(|(_, lift)| lift),
        nothing_bound,
        doubts,
        rows,
    }
}

/// The result of a hunt that found nothing.
#[cfg(test)]
pub(crate) fn hunted_nothing() -> HuntResult {
    HuntResult {
        run: "r".into(),
        name: "hunt".into(),
        cell: "c".into(),
        label: "4 KiB random reads, depth 1".into(),
        iops: Some(1_000.0),
        bytes_per_s: Some(4_096_000.0),
        margin: 0.05,
        rows: Vec::new(),
        not_tried: Vec::new(),
        nothing_bound: None,
        suspects: Vec::new(),
        lift: None,
        doubts: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::HuntStep;
    use loadline_analysis::example::{ExampleDisk, cell, closed, open, run};
    use loadline_record::LoadFigures;

    /// Four rounds around `baseline` with blocks four times as large, on a disk that serves all of it.
    fn blocks_varied(baseline: LoadFigures) -> HuntResult {
        let larger = LoadFigures { block_bytes: baseline.block_bytes * 4, ..baseline.clone() };
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
            fixed: Vec::new(),
        };
        hunted(&run(cells.into()), &plan)
    }

    #[test]
    fn around_a_load_that_got_all_it_asked_for_no_limit_is_found() {
        let found = blocks_varied(open("random", 1.0, 4 << 10, 1_000.0));
        assert_eq!(found.nothing_bound.unwrap().instead, HuntInstead::HigherRate);
        assert_eq!((found.rows[0].effect, found.suspects.len()), (Effect::CannotTell, 0));
        assert!(found.rows[0].ratio.unwrap() > 3.9);
        // A closed loop moves as many times the bytes because it is served more.
        let found = blocks_varied(closed("random", 1.0, 4 << 10, 8));
        assert_eq!((found.nothing_bound, found.rows[0].effect), (None, Effect::Moved));
        assert!(!found.suspects.is_empty());
    }

    #[test]
    fn a_queue_that_the_cell_outgrows_is_what_binds_and_lifting_it_is_next() {
        // Four at once and not one more, whatever the depth.
        let disk = ExampleDisk { iops: 4_000.0, latency_ns: 1e6, ..ExampleDisk::default() };
        let cells = [8, 32].map(|depth| cell(closed("random", 1.0, 4 << 10, depth), &disk, &[1.0, 1.001, 0.999]));
        let variant =
            HuntVariant { cell: cells[1].id.clone(), factor: Factor::Depth, from: "8".to_owned(), to: "32".to_owned() };
        let (baseline, variants) = (cells[0].id.clone(), vec![variant]);
        let plan =
            HuntPlan { baseline, variants, margin: 0.05, not_tried: Vec::new(), lacks: Vec::new(), fixed: Vec::new() };
        let mut record = run(cells.into());
        let device = &mut record.header.volumes[0].devices[0];
        (device.queue_requests, device.queues) = (Some(4), Some(1));
        (device.queue_requests_hardware, device.queue_folder) = (Some(128), Some("/sys/block/vda/queue".into()));
        for trial in record.cells.iter_mut().flat_map(|cell| &mut cell.trials) {
            let (name, elapsed_ms) = (record.header.volumes[0].devices[0].name.clone(), 10_000);
            trial.surroundings.elapsed_ns = elapsed_ms * 1_000_000;
            trial.surroundings.devices =
                vec![loadline_record::DeviceCounters { name, queue_ms: 4 * elapsed_ms, ..Default::default() }];
        }
        let found = hunted(&record, &plan);
        let binds = &found.suspects[0];
        assert!(
            matches!(
                &binds.cause,
                HuntCause::Standing(StandingLimit { rule: StandingRule::QueueDepth { requests: 4, .. }, .. })
            ),
            "{binds:?}"
        );
        assert!(matches!(found.next_step(), HuntStep::LiftThrottle(_)));
        assert!(found.lift.is_some_and(|command| command.ends_with("/sys/block/vda/queue/nr_requests")));
    }

    #[test]
    fn a_throttle_that_the_cell_reaches_is_what_binds_and_lifting_it_is_next() {
        use loadline_record::{KernelThrottle, ThrottledQuantity, ThrottledRequests};
        let disk = ExampleDisk { iops: 500.0, ..ExampleDisk::default() };
        let cells =
            [4 << 10, 16 << 10].map(|block| cell(closed("random", 1.0, block, 32), &disk, &[1.0, 1.001, 0.999]));
        let variant = HuntVariant {
            cell: cells[1].id.clone(),
            factor: Factor::Block,
            from: "4 KiB".to_owned(),
            to: "16 KiB".to_owned(),
        };
        let (baseline, variants) = (cells[0].id.clone(), vec![variant]);
        let plan =
            HuntPlan { baseline, variants, margin: 0.05, not_tried: Vec::new(), lacks: Vec::new(), fixed: Vec::new() };
        let mut record = run(cells.into());
        record.header.volumes[0].devices[0].throttles = vec![KernelThrottle {
            requests: ThrottledRequests::Reads,
            counts: ThrottledQuantity::Requests,
            per_s: 500,
            group: "/db".into(),
            file: "/sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device".into(),
            lifted_by: "7:0 0".into(),
        }];
        let found = hunted(&record, &plan);
        let binds = &found.suspects[0];
        assert!(matches!(&binds.cause, HuntCause::Throttle(held) if held.device == "vda" && held.limit.per_s == 500));
        assert!(matches!(&binds.evidence, HuntEvidence::Read { file } if file.starts_with("/sys/fs/cgroup/blkio/db/")));
        assert!(matches!(found.next_step(), HuntStep::LiftThrottle(_)));
        assert!(found.lift.is_some_and(|command| command.starts_with("echo '7:0 0' | sudo tee")));
    }
}
