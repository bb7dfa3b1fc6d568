//! What a shelter would give, before it runs: recovery points, the recovery time, traffic and storage, and which class fits.
//!
//! The caller says what lies on the disk, how fast it changes, and how fast disk and destination are. What it does not know
//! stays unknown: a figure that rests on it is missing, and [`ShelterPlan::missing`] names it.

mod advice;
mod found;
#[cfg(test)]
mod tests;

pub use advice::{AdvisedClass, GroupAdvice, GroupVerdict};
pub use found::{FoundFiles, RANDOM_WRITE};

use crate::budget::dirty_budget;
use crate::config::{DataClass, Destination, Group, ShelterConfig};
use loadline_units::{ByteRate, Bytes, Duration, Iops};
use serde::Serialize;

/// The version of the document.
pub const PLAN_SCHEMA: &str = "loadline.shelter-plan/1";
/// Bytes that a save reads at once.
pub const READ_SIZE: Bytes = Bytes::mib(1);
/// Bytes of a chunk of a repository: a file that changes there is stored anew in whole chunks.
pub const CHUNK: Bytes = Bytes::mib(1);
/// Bytes of a pack of a repository, and the objects that each save writes besides.
const PACK: u64 = 16 << 20;
const OBJECTS_A_SAVE: f64 = 4.0;
/// The longest recovery point that is looked for.
const POINT_MAX_S: f64 = 7.0 * 86_400.0;
/// The shortest one, and how much longer the next one is.
const POINT_MIN_S: f64 = 1.0;
const POINT_STEP: f64 = 1.02;
/// Days of a month, as the catalog's prices count it: 730 hours.
const DAYS_A_MONTH: f64 = 730.0 / 24.0;
/// Seconds of a day.
const S_A_DAY: f64 = 86_400.0;

/// How fast storage is, and what limits it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitedRate {
    /// Bytes a second.
    pub throughput: ByteRate,
    /// Requests a second, if they are limited.
    pub iops: Option<Iops>,
    /// The limit in words, with where it comes from.
    pub limit: String,
}

/// The bytes that an application changes, and how that is known.
#[derive(Debug, Clone, PartialEq)]
pub enum Changes {
    /// It writes so much to all groups with contents.
    Written(ByteRate, ChangesSource),
    /// When each file was changed last.
    Seen,
}

/// Where a rate of changes comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangesSource {
    /// It was typed.
    Typed,
    /// The file says it.
    File,
    /// The service counted what it saved.
    Service,
    /// The times of the files.
    FileTimes,
}

/// What the plan rests on.
#[derive(Debug, Clone)]
pub struct PlanQuestion<'a> {
    /// The configuration.
    pub config: &'a ShelterConfig,
    /// What lies on the disk, for each group of the configuration with contents, in its order; `None`: the disk cannot be read.
    pub found: Option<Vec<FoundFiles>>,
    /// How fast it changes.
    pub changes: Changes,
    /// How fast a save may read, every limit that is known.
    pub reading: Vec<LimitedRate>,
    /// How fast the destination takes data.
    pub writing: Vec<LimitedRate>,
    /// How fast a restore gets it back, and how fast the disk takes it.
    pub returning: Vec<LimitedRate>,
    /// What the application has to wait, if it was predicted.
    pub application: Option<ApplicationForecast>,
    /// What the destination costs, if that is known.
    pub price: Option<String>,
}

/// A latency, as it is and as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ForecastLatency {
    /// The 99th percentile, ns.
    pub p99_ns: u64,
    /// The mean, ns.
    pub mean_ns: u64,
    /// Whether the storage served what was asked.
    pub keeps_up: bool,
}

/// What the application has to wait, and what it would have to wait elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ApplicationForecast {
    /// The load in words.
    pub load: String,
    /// On the ephemeral disk alone.
    pub alone: ForecastLatency,
    /// While a save runs; `None`: how fast it runs is unknown.
    pub saving: Option<ForecastLatency>,
    /// Bytes a second that the save then reads.
    pub saving_bytes_per_s: Option<u64>,
    /// On the persistent disk of the destination.
    pub persistent: Option<ForecastLatency>,
    /// Its writes on a mirror: those of the persistent disk.
    pub mirror_writes: Option<ForecastLatency>,
}

/// What bounds a save or a restore.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundTime {
    /// How long it takes, s.
    pub time_s: f64,
    /// The limit in words.
    pub limit: String,
}

/// What is foreseen of one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupPlan {
    /// Its name.
    pub group: String,
    /// Its class in the file.
    pub class: DataClass,
    /// Files found.
    pub files: Option<u64>,
    /// Their bytes.
    pub bytes: Option<u64>,
    /// The recovery point that the file asks for, s.
    pub wanted_s: Option<f64>,
    /// The shortest recovery point that can be kept, s.
    pub shortest_s: Option<f64>,
    /// A save at the pace of the wanted recovery point.
    pub save: Option<BoundTime>,
    /// Bytes that such a save reads, and that it writes.
    pub save_reads_bytes: Option<u64>,
    /// Bytes that it writes.
    pub save_writes_bytes: Option<u64>,
    /// What fits.
    pub advice: GroupAdvice,
}

/// Everything that is foreseen.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShelterPlan {
    /// [`PLAN_SCHEMA`].
    pub schema: &'static str,
    /// Name of the shelter.
    pub name: String,
    /// Every group, in the order of the file.
    pub groups: Vec<GroupPlan>,
    /// Where the rate of changes comes from.
    pub changes_from: ChangesSource,
    /// Bytes a second that change; `None`: nothing is known to change.
    pub changes_bytes_per_s: Option<f64>,
    /// From the start of the restore until services start.
    pub recovery: Option<BoundTime>,
    /// Bytes that a restore brings back.
    pub restored_bytes: Option<u64>,
    /// What it takes of the disk: without holes, and once for a file with several names.
    pub restored_room_bytes: Option<u64>,
    /// Files that it brings back.
    pub restored_files: Option<u64>,
    /// The shortest notice of the file, s; `None`: it listens to none.
    pub notice_s: Option<f64>,
    /// Whether an announced loss loses nothing; `None`: no notice is configured, or something is unknown.
    pub fits_in_notice: Option<bool>,
    /// Bytes at the destination, at most.
    pub stored_bytes: Option<f64>,
    /// Bytes written to the destination in a month.
    pub written_month_bytes: Option<f64>,
    /// Objects written in a month; `None`: the destination is a folder, or something is unknown.
    pub objects_month: Option<f64>,
    /// What the destination costs in a month.
    pub price_month: Option<String>,
    /// What the application has to wait.
    pub application: Option<ApplicationForecast>,
    /// The mean latency that it must keep, ns.
    pub objective_ns: Option<u64>,
    /// What is not known.
    pub missing: Vec<MissingFigure>,
}

/// A figure that a plan lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingFigure {
    /// Which files there are.
    Files,
    /// Files that the look did not reach in time.
    FilesUnseen,
    /// How fast data changes.
    Changes,
    /// How fast the disk is read.
    DiskRate,
    /// How fast the destination takes data.
    DestinationRate,
    /// How fast a restore gets it back.
    ReturnRate,
    /// What the application has to wait.
    Application,
    /// The price of a disk.
    Price,
    /// The price of an object store: no catalog has it.
    StorePrice,
}

/// How a plan comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanOutcome {
    /// Everything that the file asks for can be kept.
    Kept,
    /// Something cannot.
    Missed,
    /// Something is unknown.
    Unknown,
}

/// How fast a group changes, bytes a second.
enum GroupRate {
    /// The application writes so much.
    Written(f64),
    /// So much is saved, in whole files.
    Saved(f64),
    /// Only the times of the files are known.
    Unknown,
}

/// Bytes and requests of a save.
#[derive(Debug, Clone, Copy, Default)]
struct SaveWork {
    read: f64,
    written: f64,
    requests: f64,
}

impl ShelterPlan {
    /// Foresees what a shelter would give.
    #[must_use]
    pub fn of(question: &PlanQuestion<'_>) -> Self {
        let config = question.config;
        let with_contents: Vec<&Group> =
            config.groups.iter().filter(|group| group.class != DataClass::Recreate).collect();
        let total: Option<FoundFiles> = question.found.as_ref().map(|found| {
            found.iter().fold(FoundFiles::default(), |mut sum, files| {
                sum.add(files);
                sum
            })
        });
        let found_of = |group: &Group| {
            let at = with_contents.iter().position(|other| other.name == group.name)?;
            question.found.as_ref()?.get(at)
        };
        let groups: Vec<GroupPlan> = config
            .groups
            .iter()
            .map(|group| question.group(group, found_of(group), total.as_ref(), with_contents.len()))
            .collect();
        let recovery = total.as_ref().and_then(|total| question.recovery(total));
        let (stored, written, objects) =
            question.amounts(&with_contents, &found_of, total.as_ref()).map_or((None, None, None), |amounts| {
                let objects = matches!(config.destination, Some(Destination::ObjectStore { .. }));
                (Some(amounts.0), Some(amounts.1), objects.then_some(amounts.2))
            });
        let of_file: f64 = with_contents.iter().filter_map(|group| group.changes).map(|rate| rate.get() as f64).sum();
        let (changes, changes_from) = match &question.changes {
            Changes::Written(rate, ChangesSource::Typed) => (Some(rate.get() as f64), ChangesSource::Typed),
            _ if of_file > 0.0 => (Some(of_file), ChangesSource::File),
            Changes::Written(rate, source) => (Some(rate.get() as f64), *source),
            Changes::Seen => (total.as_ref().and_then(FoundFiles::seen_rate), ChangesSource::FileTimes),
        };
        let mut plan = Self {
            schema: PLAN_SCHEMA,
            name: config.name.clone(),
            groups,
            changes_from,
            changes_bytes_per_s: changes,
            recovery,
            restored_bytes: total.as_ref().map(FoundFiles::bytes),
            restored_room_bytes: total.as_ref().map(FoundFiles::room),
            restored_files: total.as_ref().map(FoundFiles::files),
            notice_s: config.notices.as_ref().map(|notices| notices.time.as_s_f64()),
            fits_in_notice: question.fits_in_notice(&with_contents, &found_of, total.as_ref()),
            stored_bytes: stored,
            written_month_bytes: written,
            objects_month: objects,
            price_month: question.price.clone(),
            application: question.application.clone(),
            objective_ns: config.limits.objective.map(Duration::as_ns),
            missing: Vec::new(),
        };
        plan.missing = question.missing(&plan, total.as_ref());
        plan
    }

    /// Whether what the file asks for can be kept.
    #[must_use]
    pub fn outcome(&self) -> PlanOutcome {
        let misses = self.groups.iter().any(|group| group.advice.verdict == GroupVerdict::Missed);
        if misses || self.keeps_objective() == Some(false) || self.fits_in_notice == Some(false) {
            return PlanOutcome::Missed;
        }
        let is_unknown = self.groups.iter().any(|group| group.advice.verdict == GroupVerdict::Unknown);
        let is_asked = self.objective_ns.is_some() && self.groups.iter().any(|group| group.wanted_s.is_some());
        if is_unknown || (is_asked && self.keeps_objective().is_none()) {
            return PlanOutcome::Unknown;
        }
        PlanOutcome::Kept
    }

    /// Whether the application keeps its objective while a save runs; `None`: there is none, or its latency is unknown.
    #[must_use]
    pub fn keeps_objective(&self) -> Option<bool> {
        let saving = self.application.as_ref()?.saving?;
        Some(saving.keeps_up && saving.mean_ns <= self.objective_ns?)
    }
}

/// The slowest of some rates for this work: how long it takes, and the limit. `None` without a rate.
fn slowest(rates: &[LimitedRate], bytes: f64, requests: f64) -> Option<BoundTime> {
    rates
        .iter()
        .map(|rate| {
            let by_bytes = bytes / rate.throughput.get() as f64;
            let by_requests = rate.iops.map_or(0.0, |iops| requests / iops.get() as f64);
            BoundTime { time_s: by_bytes.max(by_requests), limit: rate.limit.clone() }
        })
        .max_by(|one, other| one.time_s.total_cmp(&other.time_s))
}

impl PlanQuestion<'_> {
    /// How fast a group changes.
    fn rate_of(&self, group: &Group, share: f64) -> GroupRate {
        match (&self.changes, group.changes) {
            (Changes::Written(rate, ChangesSource::Typed), _) => GroupRate::Written(rate.get() as f64 * share),
            (_, Some(rate)) => GroupRate::Written(rate.get() as f64),
            (Changes::Written(rate, ChangesSource::Service), None) => GroupRate::Saved(rate.get() as f64 * share),
            (Changes::Written(rate, _), None) => GroupRate::Written(rate.get() as f64 * share),
            (Changes::Seen, None) => GroupRate::Unknown,
        }
    }

    /// What one save of a group does if the last one was this long ago.
    fn save_work(&self, group: &Group, found: &FoundFiles, share: f64, since_s: f64) -> SaveWork {
        let all = found.bytes() as f64;
        let (read, written, files) = match self.rate_of(group, share) {
            GroupRate::Unknown => {
                let (files, bytes) = found.changed_within(since_s);
                (bytes, bytes, files)
            }
            GroupRate::Saved(rate) => {
                let saved = (rate * since_s).min(all);
                (saved, saved, (saved / found.mean_size().max(1.0)).ceil())
            }
            GroupRate::Written(rate) => {
                let changed = rate * since_s;
                if group.class == DataClass::Log {
                    // What grows is read from its start; a repository stores the end of it alone.
                    let files = (changed / found.mean_size().max(1.0)).ceil().max(1.0);
                    (changed + found.mean_size(), changed, files)
                } else {
                    found.touched_by(changed)
                }
            }
        };
        SaveWork { read, written, requests: files + read / READ_SIZE.get() as f64 }
    }

    /// How long a save takes.
    fn save_time(&self, work: SaveWork) -> Option<BoundTime> {
        let reads = slowest(&self.reading, work.read, work.requests)?;
        let writes = slowest(&self.writing, work.written, work.written / PACK as f64)?;
        Some(if writes.time_s >= reads.time_s { writes } else { reads })
    }

    /// The shortest recovery point that saves keep. A change waits half of it, and then as long as the save takes.
    fn shortest_point(&self, group: &Group, found: &FoundFiles, share: f64) -> Option<f64> {
        let mut point = POINT_MIN_S;
        while point <= POINT_MAX_S {
            let save = self.save_time(self.save_work(group, found, share, point / 2.0))?;
            if save.time_s <= point / 2.0 {
                return Some(point);
            }
            point *= POINT_STEP;
        }
        None
    }

    /// The part of the changes that falls on a group: by its bytes, or alike where nothing is known of them.
    fn share(found: Option<&FoundFiles>, total: Option<&FoundFiles>, groups: usize) -> f64 {
        match (found, total) {
            (Some(found), Some(total)) if total.bytes() > 0 => found.bytes() as f64 / total.bytes() as f64,
            _ => 1.0 / groups.max(1) as f64,
        }
    }

    fn group(&self, group: &Group, found: Option<&FoundFiles>, total: Option<&FoundFiles>, groups: usize) -> GroupPlan {
        let wanted = (group.class != DataClass::Recreate).then_some(group.recovery_point.as_s_f64());
        let share = Self::share(found, total, groups);
        let known = found.filter(|_| wanted.is_some() && self.knows_changes(total));
        let work = known.zip(wanted).map(|(found, wanted)| self.save_work(group, found, share, wanted / 2.0));
        let save = work.and_then(|work| self.save_time(work));
        let shortest = known.filter(|_| save.is_some()).and_then(|found| self.shortest_point(group, found, share));
        let advice = advice::of(self, group, save.as_ref(), shortest);
        GroupPlan {
            group: group.name.clone(),
            class: group.class,
            files: found.map(FoundFiles::files),
            bytes: found.map(FoundFiles::bytes),
            wanted_s: wanted,
            shortest_s: shortest,
            save,
            save_reads_bytes: work.map(|work| work.read as u64),
            save_writes_bytes: work.map(|work| work.written as u64),
            advice,
        }
    }

    /// Whether it is known how fast data changes. Files that nobody changed for long say nothing of a day of work.
    fn knows_changes(&self, total: Option<&FoundFiles>) -> bool {
        let of_file = || {
            let mut groups = self.config.groups.iter().filter(|group| group.class != DataClass::Recreate);
            groups.all(|group| group.changes.is_some())
        };
        matches!(self.changes, Changes::Written(..))
            || of_file()
            || total.is_some_and(|total| total.seen_rate().is_some())
    }

    /// How long a restore takes.
    fn recovery(&self, total: &FoundFiles) -> Option<BoundTime> {
        slowest(&self.returning, total.bytes() as f64, total.reads())
    }

    /// Whether what is unsaved at most fits in a notice.
    fn fits_in_notice<'f>(
        &self,
        groups: &[&Group],
        found_of: &impl Fn(&Group) -> Option<&'f FoundFiles>,
        total: Option<&FoundFiles>,
    ) -> Option<bool> {
        let notice = self.config.notices.as_ref()?.time;
        let slowest_rate = self.writing.iter().chain(&self.reading).map(|rate| rate.throughput).min()?;
        let budget = dirty_budget(notice, slowest_rate).get() as f64;
        if !self.knows_changes(total) {
            return None;
        }
        // A save begins at half the budget. If that is less than what any change makes a save write, the budget cannot be kept.
        let least: f64 = groups
            .iter()
            .map(|group| {
                let share = Self::share(found_of(group), total, groups.len());
                found_of(group).map(|found| self.save_work(group, found, share, POINT_MIN_S).written)
            })
            .sum::<Option<f64>>()?;
        Some(least <= budget)
    }

    /// Bytes stored at most, bytes written in a month, and objects written in a month.
    fn amounts<'f>(
        &self,
        groups: &[&Group],
        found_of: &impl Fn(&Group) -> Option<&'f FoundFiles>,
        total: Option<&FoundFiles>,
    ) -> Option<(f64, f64, f64)> {
        let all = total?;
        if !self.knows_changes(total) || groups.is_empty() {
            return None;
        }
        let point = self.config.recovery_point()?.as_s_f64();
        let written_within = |since_s: f64| -> Option<f64> {
            groups
                .iter()
                .map(|group| {
                    let share = Self::share(found_of(group), total, groups.len());
                    found_of(group).map(|found| self.save_work(group, found, share, since_s).written)
                })
                .sum()
        };
        let cadence = point / 2.0;
        let save = written_within(cadence)?;
        // A save that takes longer than that is followed by the next one at once.
        let takes: f64 = groups
            .iter()
            .filter_map(|group| {
                let share = Self::share(found_of(group), total, groups.len());
                self.save_time(self.save_work(group, found_of(group)?, share, cadence)).map(|save| save.time_s)
            })
            .sum();
        let saves = DAYS_A_MONTH * S_A_DAY / cadence.max(takes);
        let objects = saves * (OBJECTS_A_SAVE + save / PACK as f64);
        let keep = self.config.keep;
        let rules = [(keep.last, cadence), (keep.minutely, 60.0), (keep.hourly, 3_600.0), (keep.daily, S_A_DAY)];
        let mut kept = 0.0;
        for (count, apart) in rules {
            kept += f64::from(count) * written_within(apart)?;
        }
        Some((all.bytes() as f64 + kept, save * saves, objects))
    }

    /// What is not known.
    fn missing(&self, plan: &ShelterPlan, total: Option<&FoundFiles>) -> Vec<MissingFigure> {
        if !self.config.has_contents() {
            return Vec::new();
        }
        let store = matches!(self.config.destination, Some(Destination::ObjectStore { .. }));
        let price = if store { MissingFigure::StorePrice } else { MissingFigure::Price };
        let all = [
            (self.found.is_none(), MissingFigure::Files),
            (total.is_some_and(|total| total.is_cut_short), MissingFigure::FilesUnseen),
            (!self.knows_changes(total), MissingFigure::Changes),
            (self.reading.is_empty(), MissingFigure::DiskRate),
            (self.writing.is_empty(), MissingFigure::DestinationRate),
            (self.returning.is_empty(), MissingFigure::ReturnRate),
            (plan.application.is_none(), MissingFigure::Application),
            (plan.price_month.is_none(), price),
        ];
        all.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, figure)| figure).collect()
    }
}
