//! A plan of a configuration on this machine: what lies on the disk, and what disk and destination can do.

mod survey;

use crate::error::ShelterError;
use crate::shelter::last_status;
use loadline_catalog::{Catalog, Environment, EnvironmentVolume, Money};
use loadline_disk::{InitialState, Place};
use loadline_prediction::{
    ApplicationLatency, Copying, Model, PredictionError, Transfer, VolumeUnknown, application_latency,
    application_load, most_plausible, transfer_rate,
};
use loadline_record::RunRecord;
use loadline_report::words;
use loadline_shelter_policy::config::{DataClass, Destination, ShelterConfig};
use loadline_shelter_policy::plan::{
    ApplicationForecast, Changes, ChangesSource, ForecastLatency, FoundFiles, LimitedRate, PlanQuestion, READ_SIZE,
    ShelterPlan,
};
use loadline_shelter_policy::status::ShelterStatus;
use loadline_units::{ByteRate, Bytes, Duration, Iops, Ratio};
use std::path::Path;

/// How long the look at the disk takes, at most.
pub const SURVEY_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(10);
/// Trials that look for the fastest save which keeps the objective.
const TRIALS: u32 = 6;
/// Files of a described amount, if nobody says how many: one for so many bytes.
const FILE_OF: u64 = 1 << 30;
/// The smallest request that a restore is thought to make.
const READ_MIN: u64 = 4 << 10;

/// What the application asks of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplicationRate {
    /// Requests a second.
    pub iops: Iops,
    /// Share of reads.
    pub reads: Ratio,
    /// Size of each.
    pub block: Bytes,
}

/// An amount of data that is not there yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescribedData {
    /// Bytes in all.
    pub size: Bytes,
    /// In so many files; `None`: one for each GiB.
    pub files: Option<u64>,
}

/// What a plan may rest on besides the configuration. Everything may be missing.
#[derive(Debug, Clone, Default)]
pub struct PlanRequest {
    /// Machine and disks.
    pub environment: Option<Environment>,
    /// The volume of the environment that is the ephemeral disk.
    pub disk: Option<String>,
    /// The volume that the destination lies on.
    pub destination: Option<String>,
    /// A measurement of the destination.
    pub run: Option<RunRecord>,
    /// Size of the data, instead of the files on the disk.
    pub data: Option<DescribedData>,
    /// How fast the application changes data.
    pub changes: Option<ByteRate>,
    /// What the application asks.
    pub application: Option<ApplicationRate>,
    /// Prices of this region.
    pub region: Option<String>,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The service's report cannot be read.
    #[error(transparent)]
    Shelter(#[from] ShelterError),
    /// The environment has no such volume.
    #[error(transparent)]
    Volume(#[from] VolumeUnknown),
    /// It does not say which volume is which.
    #[error("the environment has the volumes {}: which of them is {} is unknown", .volumes.join(", "), .role.name())]
    Ambiguous {
        /// The volume looked for.
        role: ShelterVolume,
        /// Its volumes.
        volumes: Vec<String>,
    },
    /// The application cannot be simulated there.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
}

/// What a volume is to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShelterVolume {
    /// The ephemeral disk.
    Disk,
    /// Where its data is kept.
    Destination,
}

impl ShelterVolume {
    const fn name(self) -> &'static str {
        match self {
            Self::Disk => "the ephemeral disk",
            Self::Destination => "the destination",
        }
    }
}

/// Foresees what a configuration would give on this machine, and on the storage that the request describes. Nothing is written.
///
/// # Errors
/// [`PlanError`].
pub fn plan(config: &ShelterConfig, catalog: &Catalog, request: &PlanRequest) -> Result<ShelterPlan, PlanError> {
    let status = last_status(config)?;
    let found = match request.data {
        Some(data) => Some(described(config, data)),
        None => survey::survey(config, SURVEY_TIME_MAX),
    };
    let storage =
        request.environment.as_ref().map(|environment| Storage::of(config, environment, request)).transpose()?;
    let mut total = FoundFiles::default();
    found.iter().flatten().for_each(|files| total.add(files));
    let (mut reading, mut writing, mut returning) = (caps(config), Vec::new(), Vec::new());
    if let Some(storage) = &storage {
        reading.extend(storage.rate(&storage.disk, Transfer::Read, READ_SIZE)?);
        returning.extend(storage.rate(&storage.disk, Transfer::Write, piece(&total))?);
        if let Some(to) = &storage.destination {
            writing.extend(storage.rate(to, Transfer::Write, READ_SIZE)?);
            returning.extend(storage.rate(to, Transfer::Read, piece(&total))?);
        }
    }
    if let Some(run) = &request.run {
        writing.extend(measured(run, Transfer::Write));
        returning.extend(measured(run, Transfer::Read));
    }
    if writing.is_empty()
        && let Some(saved) = status.as_ref().and_then(last_save)
    {
        writing.push(saved);
    }
    if returning.is_empty()
        && let Some(restored) = status.as_ref().and_then(|status| last_restore(status, &total))
    {
        returning.push(restored);
    }
    if reading.is_empty() && !writing.is_empty() {
        // What a save showed is reading and writing in one.
        reading.clone_from(&writing);
    }
    let mut application = None;
    if let (Some(storage), Some(asked)) = (&storage, request.application) {
        let fastest = reading.iter().chain(&writing).map(|rate| rate.throughput).min().filter(|_| !writing.is_empty());
        let forecast = storage.application(asked, fastest, config.limits.objective)?;
        if let (Some(rate), Some(fastest), Some(objective)) =
            (forecast.saving_bytes_per_s, fastest, config.limits.objective)
            && rate < fastest.get()
            && let Some(throughput) = ByteRate::per_second(rate)
        {
            let limit = format!("the application's objective of {} allows no faster save", objective.human());
            reading.push(LimitedRate { throughput, iops: None, limit });
        }
        application = Some(forecast);
    }
    let changes = match (request.changes, status.as_ref().and_then(|status| saved_rate(status, config))) {
        (Some(rate), _) => Changes::Written(rate, ChangesSource::Typed),
        (None, Some(rate)) if request.data.is_none() => Changes::Written(rate, ChangesSource::Service),
        (None, _) => Changes::Seen,
    };
    let price = storage.as_ref().and_then(|storage| storage.price(catalog, request.region.as_deref()));
    let question = PlanQuestion { config, found, changes, reading, writing, returning, application, price };
    Ok(ShelterPlan::of(&question))
}

/// Data as described, spread alike over all groups with contents.
fn described(config: &ShelterConfig, data: DescribedData) -> Vec<FoundFiles> {
    let groups = config.groups.iter().filter(|group| group.class != DataClass::Recreate).count() as u64;
    let files = data.files.unwrap_or_else(|| data.size.get().div_ceil(FILE_OF)).max(1);
    let each = data.size.get() / files;
    let mut all = vec![FoundFiles::default(); usize::try_from(groups).unwrap_or(0)];
    for (number, found) in (0..).zip(&mut all) {
        let share = files / groups + u64::from(number < files % groups);
        found.see_many(share, each, u64::MAX);
    }
    all
}

/// The size of a request that brings files of this kind back.
fn piece(total: &FoundFiles) -> Bytes {
    let mean = total.bytes() / total.files().max(1);
    let size = mean.next_multiple_of(READ_MIN).clamp(READ_MIN, READ_SIZE.get());
    if total.files() == 0 { READ_SIZE } else { Bytes::new(size) }
}

/// Our own caps.
fn caps(config: &ShelterConfig) -> Vec<LimitedRate> {
    let mut caps = Vec::new();
    if let Some(throughput) = config.limits.throughput {
        let limit = format!("limits.throughput of the file ({throughput}) limits it");
        caps.push(LimitedRate { throughput, iops: None, limit });
    }
    if let Some(iops) = config.limits.iops
        && let Some(throughput) = ByteRate::per_second(iops.get().saturating_mul(READ_SIZE.get()))
    {
        let limit = format!("limits.iops of the file ({iops}) limits it");
        caps.push(LimitedRate { throughput, iops: Some(iops), limit });
    }
    caps
}

/// The fastest cell of a stored run.
fn measured(run: &RunRecord, of: Transfer) -> Option<LimitedRate> {
    let operation = match of {
        Transfer::Read => loadline_block::Operation::Read,
        Transfer::Write => loadline_block::Operation::Write,
    };
    let trials = run.cells.iter().flat_map(|cell| cell.trials.iter().map(move |trial| (cell, trial)));
    let rates = trials.filter_map(|(cell, trial)| {
        let done = trial.operations.get(&operation).filter(|done| done.bytes > 0)?;
        let rate = done.bytes as f64 / (trial.measured_ns as f64 / 1e9);
        (trial.measured_ns > 0).then_some((cell, rate))
    });
    let (cell, rate) = rates.max_by(|one, other| one.1.total_cmp(&other.1))?;
    let limit = format!("measured: {} of run {}", cell.label, run.header.id);
    Some(LimitedRate { throughput: ByteRate::per_second(rate as u64)?, iops: None, limit })
}

/// Saves and restores of fewer bytes show the time of a commit, not a rate.
const SHOWS_A_RATE: u64 = 1 << 20;

/// What the last save showed.
fn last_save(status: &ShelterStatus) -> Option<LimitedRate> {
    let save = status.last_save.as_ref().filter(|save| save.bytes > SHOWS_A_RATE && save.took_ns > 0)?;
    let throughput = ByteRate::per_second((save.bytes as f64 / (save.took_ns as f64 / 1e9)) as u64)?;
    Some(LimitedRate { throughput, iops: None, limit: "as fast as the service's last save was".to_owned() })
}

/// What the last restore showed.
fn last_restore(status: &ShelterStatus, total: &FoundFiles) -> Option<LimitedRate> {
    let predicted = status.restore_predicted_ns.filter(|ns| *ns > 0 && total.bytes() > SHOWS_A_RATE)?;
    let throughput = ByteRate::per_second((total.bytes() as f64 / (predicted as f64 / 1e9)) as u64)?;
    Some(LimitedRate { throughput, iops: None, limit: "as fast as the service's last restore was".to_owned() })
}

/// Bytes a second that the service saved lately. The first save is no change.
fn saved_rate(status: &ShelterStatus, config: &ShelterConfig) -> Option<ByteRate> {
    let save = status.last_save.as_ref().filter(|save| status.saves_total >= 2 && save.bytes > 0)?;
    let cadence = config.recovery_point()?.as_s_f64() / 2.0;
    ByteRate::per_second((save.bytes as f64 / cadence) as u64)
}

/// An environment with the roles of its volumes.
struct Storage<'a> {
    environment: &'a Environment,
    model: Model,
    disk: String,
    destination: Option<String>,
}

impl<'a> Storage<'a> {
    fn of(config: &ShelterConfig, environment: &'a Environment, request: &PlanRequest) -> Result<Self, PlanError> {
        let model = most_plausible(environment);
        let names: Vec<String> = environment.volumes.iter().map(|volume| volume.name.clone()).collect();
        let known = |name: &String| -> Result<String, PlanError> {
            transfer_rate(&model, name, Transfer::Read, READ_SIZE)?;
            Ok(name.clone())
        };
        let is_local =
            |volume: &&EnvironmentVolume| volume.disks.iter().all(|disk| disk.limits.mechanism.place == Place::Local);
        let only = |volumes: Vec<&EnvironmentVolume>| match volumes.as_slice() {
            [only] => Some(only.name.clone()),
            _ => None,
        };
        let of_path = |path: &str| {
            let above = environment
                .volumes
                .iter()
                .filter(|volume| volume.path.as_deref().is_some_and(|of| Path::new(path).starts_with(of)));
            above.max_by_key(|volume| volume.path.as_ref().map_or(0, String::len)).map(|volume| volume.name.clone())
        };
        let disk = match &request.disk {
            Some(name) => known(name)?,
            None => of_path(&config.disk.path)
                .or_else(|| only(environment.volumes.iter().filter(is_local).collect()))
                .or_else(|| only(environment.volumes.iter().collect()))
                .ok_or_else(|| PlanError::Ambiguous { role: ShelterVolume::Disk, volumes: names.clone() })?,
        };
        let folder = match &config.destination {
            Some(Destination::FolderRepository(folder)) => Some(folder.as_str()),
            Some(Destination::ObjectStore { .. }) | None => None,
        };
        let others: Vec<&EnvironmentVolume> = environment.volumes.iter().filter(|volume| volume.name != disk).collect();
        let destination = match (&request.destination, folder) {
            (Some(name), _) => Some(known(name)?),
            (None, None) => None,
            (None, Some(folder)) if others.is_empty() => of_path(folder),
            (None, Some(folder)) => Some(
                of_path(folder)
                    .or_else(|| only(others))
                    .ok_or(PlanError::Ambiguous { role: ShelterVolume::Destination, volumes: names })?,
            ),
        };
        Ok(Self { environment, model, disk, destination })
    }

    fn rate(&self, volume: &str, of: Transfer, size: Bytes) -> Result<Option<LimitedRate>, PlanError> {
        let Some(found) = transfer_rate(&self.model, volume, of, size)? else { return Ok(None) };
        let bytes = found.requests_per_s * found.size.get() as f64;
        let what = match of {
            Transfer::Read => "reads",
            Transfer::Write => "writes",
        };
        let limit = format!(
            "{} of volume {volume} limits {what} ({})",
            found.limit.name(),
            words::ceiling_source(&found.source)
        );
        // Small files are a matter of requests: the rate is of pieces of this size.
        let iops = (size < READ_SIZE).then(|| Iops::per_second(found.requests_per_s as u64)).flatten();
        Ok(ByteRate::per_second(bytes as u64).map(|throughput| LimitedRate { throughput, iops, limit }))
    }

    fn wait(
        &self,
        volume: &str,
        asked: ApplicationRate,
        rate: Option<ByteRate>,
    ) -> Result<Option<ApplicationLatency>, PlanError> {
        let load = application_load(asked.iops, asked.reads, asked.block);
        let copying = rate.and_then(|rate| {
            let size = READ_SIZE.get().min(rate.get().next_power_of_two() / 2).max(READ_MIN);
            let rate = Iops::per_second((rate.get() / size).max(1))?;
            Some(Copying { rate, size: Bytes::new(size), to: self.destination.as_deref() })
        });
        Ok(application_latency(&self.model, volume, &load, copying, InitialState::default(), 1)?)
    }

    /// What the application has to wait. A save runs as fast as the objective allows.
    fn application(
        &self,
        asked: ApplicationRate,
        fastest: Option<ByteRate>,
        objective: Option<Duration>,
    ) -> Result<ApplicationForecast, PlanError> {
        let is_kept = |latency: &ApplicationLatency| {
            latency.keeps_up && objective.is_none_or(|objective| latency.mean <= objective)
        };
        let alone = self.wait(&self.disk, asked, None)?;
        let mut rate = fastest;
        let mut saving = fastest.map(|rate| self.wait(&self.disk, asked, Some(rate))).transpose()?.flatten();
        if let (Some(fastest), Some(latency)) = (fastest, &saving)
            && objective.is_some()
            && !is_kept(latency)
        {
            // Between a rate that is too fast and one that is not.
            let (mut low, mut high) = (0_u64, fastest.get());
            for _ in 0..TRIALS {
                let middle = low + (high - low) / 2;
                let Some(tried) = ByteRate::per_second(middle) else { break };
                match self.wait(&self.disk, asked, Some(tried))? {
                    Some(latency) if is_kept(&latency) => {
                        low = middle;
                        (rate, saving) = (Some(tried), Some(latency));
                    }
                    _ => high = middle,
                }
            }
        }
        let persistent = self.destination.as_deref();
        let writes = Iops::per_second((asked.iops.get() as f64 * asked.reads.complement().as_f64()) as u64);
        let of_writes = writes.map(|iops| ApplicationRate { iops, reads: Ratio::ZERO, ..asked });
        let mirror = match (persistent, of_writes) {
            (Some(volume), Some(asked)) => self.wait(volume, asked, None)?,
            _ => None,
        };
        let elsewhere = persistent.map(|volume| self.wait(volume, asked, None)).transpose()?.flatten();
        let nothing = ApplicationLatency { p99: Duration::ZERO, mean: Duration::ZERO, keeps_up: false };
        Ok(ApplicationForecast {
            load: format!("{} requests/s of {}, {} reads", asked.iops.get(), asked.block, asked.reads),
            alone: figures(alone.unwrap_or(nothing)),
            saving: saving.map(figures),
            saving_bytes_per_s: rate.filter(|_| saving.is_some()).map(ByteRate::get),
            persistent: elsewhere.map(figures),
            mirror_writes: mirror.map(figures),
        })
    }

    /// What the destination costs in a month, by the first region that has prices of all its disks.
    fn price(&self, catalog: &Catalog, region: Option<&str>) -> Option<String> {
        let destination = self.destination.as_ref()?;
        let regions = match region {
            Some(region) => vec![region.to_owned()],
            None => catalog.regions(),
        };
        regions.into_iter().find_map(|region| {
            let bill = self.environment.bill(catalog, &region);
            let items: Vec<_> = bill.iter().filter(|item| item.volume.as_ref() == Some(destination)).collect();
            let known: Option<Vec<Money>> = items.iter().map(|item| item.monthly()).collect();
            let known = known?;
            let sum = known.iter().skip(1).try_fold(*known.first()?, |sum, more| sum.plus(*more))?;
            let names: Vec<&str> = items.iter().filter_map(|item| item.name.as_deref()).collect();
            let about = if items.iter().any(|item| item.is_estimated()) { "about " } else { "" };
            Some(format!("{about}{sum} a month: {} in {region}, whole disks", names.join(", ")))
        })
    }
}

fn figures(latency: ApplicationLatency) -> ForecastLatency {
    ForecastLatency { p99_ns: latency.p99.as_ns(), mean_ns: latency.mean.as_ns(), keeps_up: latency.keeps_up }
}
