//! What the tests share: a folder with a store, runs that are kept there, and their results as programs read them.

pub(crate) mod applications;
pub(crate) mod devices;
pub(crate) mod emulated;
pub(crate) mod inputs;
pub(crate) mod nbd_client;

use loadline_analysis::rules::assert_kept;
use loadline_analysis::summarize;
use loadline_catalog::{Catalog, Environment, environment_text};
use loadline_record::{Doubt, DoubtCode, RunRecord, TrialRecord};
use loadline_runs::{
    Advance, DeclaredEnvironment, Ended, Error, Event, Measurement, Observer, Prediction, PredictionSettings,
    QuickMeasurement, Refusal, RunOptions, RunOutcome, Settings, Silent, sole_target, store_location,
};
use loadline_store::{Filter, Store};
use loadline_units::Duration;
use loadline_workload::{Plan, parse_objective};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A folder of its own with a store in it, gone at the end.
pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
}

impl Bench {
    /// On a disk rather than in memory, so that direct I/O is taken.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
    /// A file with these bytes; gives its path.
    pub(crate) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }
    /// A file of so many MiB that was never written to.
    pub(crate) fn sparse(&self, name: &str, mib: u64) -> String {
        let path = self.path(name);
        std::fs::File::create(&path).unwrap().set_len(mib << 20).unwrap();
        path.display().to_string()
    }
    /// An empty folder of this name; gives its path.
    pub(crate) fn folder(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path.display().to_string()
    }
    /// An empty folder to be measured.
    pub(crate) fn target(&self) -> String {
        self.folder("target")
    }
    pub(crate) fn store(&self) -> PathBuf {
        self.path("runs.db")
    }

    /// A plan on the volume "data", kept here.
    pub(crate) fn measurement(&self, text: &str, target: &str) -> Measuring {
        self.measurement_by(text, Settings::of(sole_target(target)))
    }
    /// The same with settings of its own.
    pub(crate) fn measurement_by(&self, text: &str, settings: Settings) -> Measuring {
        Measuring { measurement: Measurement::of(vec![plan(text)], settings), options: self.options() }
    }
    /// Its record, once it is whole.
    pub(crate) fn measured(&self, text: &str, target: &str) -> RunRecord {
        whole(self.measurement(text, target))
    }
    /// A plan on an environment, kept here.
    pub(crate) fn prediction(&self, text: &str, environment: &Environment) -> Predicting {
        self.prediction_by(vec![plan(text)], environment, PredictionSettings::default())
    }
    /// Several with settings of their own.
    pub(crate) fn prediction_by(
        &self,
        plans: Vec<Plan>,
        environment: &Environment,
        settings: PredictionSettings,
    ) -> Predicting {
        let prediction = Prediction::of(plans, environment.clone(), settings);
        Predicting { prediction, options: self.options() }
    }
    /// Kept here.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions::default().stored_in(self.store())
    }
    /// Carries on with the newest run.
    pub(crate) fn resume(&self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        let stored = self.newest().expect("a run was begun");
        loadline_runs::resume(store_location::open_store(&self.store()).unwrap(), &stored.header.id, observer)
    }

    /// How many runs are kept.
    pub(crate) fn runs(&self) -> usize {
        if self.store().exists() {
            Store::open(&self.store()).unwrap().list(&Filter::default()).unwrap().len()
        } else {
            0
        }
    }
    /// The newest run.
    pub(crate) fn newest(&self) -> Option<RunRecord> {
        if !self.store().exists() {
            return None;
        }
        let store = Store::open(&self.store()).unwrap();
        let id = store.list(&Filter { limit: Some(1), ..Filter::default() }).unwrap().first()?.id.clone();
        Some(store.load(&id).unwrap())
    }
    /// Trials of the newest run that are kept.
    pub(crate) fn trials_stored(&self) -> usize {
        self.newest().map_or(0, |run| trial_count(&run))
    }
}

/// A quick measurement with rows of 30 ms.
pub(crate) fn quick_on(target: &str) -> QuickMeasurement {
    QuickMeasurement {
        settings: Settings::of(sole_target(target)),
        size: None,
        duration: Some(Duration::from_ms(30)),
        objective: parse_objective("20 ms").unwrap(),
    }
}

/// A measurement with its name, seed and store.
pub(crate) struct Measuring {
    measurement: Measurement,
    options: RunOptions,
}

impl Measuring {
    fn with(self, change: impl FnOnce(Measurement) -> Measurement) -> Self {
        Self { measurement: change(self.measurement), ..self }
    }
    pub(crate) fn on(self, volume: &str, target: &str) -> Self {
        self.with(|measurement| measurement.on(volume, target))
    }
    pub(crate) fn read_only(self) -> Self {
        self.with(Measurement::read_only)
    }
    pub(crate) fn overwrite(self, word: &str) -> Self {
        self.with(|measurement| measurement.overwrite(word))
    }
    pub(crate) fn declared(self, environment: DeclaredEnvironment) -> Self {
        self.with(|measurement| measurement.declared(environment))
    }
    pub(crate) fn seeded(self, seed: u64) -> Self {
        Self { options: self.options.seeded(seed), ..self }
    }
    pub(crate) fn stored_in(self, store: impl Into<PathBuf>) -> Self {
        Self { options: self.options.stored_in(store), ..self }
    }
    pub(crate) fn run(self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        self.measurement.run(&self.options, observer)
    }
}

/// A prediction with its seed and store.
pub(crate) struct Predicting {
    prediction: Prediction,
    options: RunOptions,
}

impl Predicting {
    pub(crate) fn seeded(self, seed: u64) -> Self {
        Self { options: self.options.seeded(seed), ..self }
    }
    pub(crate) fn run(self, observer: &mut dyn Observer) -> Result<RunOutcome, Error> {
        self.prediction.run(&self.options, observer)
    }
}

pub(crate) fn plan(text: &str) -> Plan {
    Plan::parse(text, "test").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// An environment by its text, with what the catalog sells.
pub(crate) fn environment(text: &str) -> Environment {
    Environment::parse(text, "test", &Catalog::builtin()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// An environment that comes along.
pub(crate) fn built_in(name: &str) -> Environment {
    environment(environment_text(name).unwrap_or_else(|| panic!("there is no environment {name}")))
}

/// Runs a measurement to its end; its record.
pub(crate) fn whole(measurement: Measuring) -> RunRecord {
    complete(measurement.run(&mut Silent::default()))
}

/// The record of a run that must be whole; no line of its summary contradicts another.
pub(crate) fn complete(outcome: Result<RunOutcome, Error>) -> RunRecord {
    let RunOutcome { record, ended } = outcome.unwrap_or_else(|error| panic!("{}", words(&error)));
    assert!(ended.is_complete(), "{ended:?}");
    assert_kept(&record, &summarize(&record));
    record
}

/// Why a run was refused before anything was done. No option of a command line is named.
pub(crate) fn refusal(outcome: Result<RunOutcome, Error>) -> Refusal {
    match outcome {
        Err(Error::Refused(refusal)) => {
            assert!(!refusal.to_string().contains("--"), "{refusal}");
            *refusal
        }
        Err(error) => panic!("{}", words(&error)),
        Ok(outcome) => panic!("{:?}", outcome.ended),
    }
}

/// The refusal of a measurement.
pub(crate) fn refused(measurement: Measuring) -> Refusal {
    refusal(measurement.run(&mut Silent::default()))
}

/// An error with its causes, in a line.
pub(crate) fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A run's results as programs read them.
pub(crate) fn summary(record: &RunRecord) -> Value {
    let summary = summarize(record);
    assert_kept(record, &summary);
    serde_json::to_value(loadline_report::run_document(&summary)).unwrap()
}

/// The cells of a run's results.
pub(crate) fn cells(record: &RunRecord) -> Vec<Value> {
    summary(record)["cells"].as_array().unwrap().clone()
}

/// The texts of a run's findings of one kind.
pub(crate) fn findings(record: &RunRecord, code: &str) -> Vec<String> {
    let summary = summarize(record);
    let found = summary.findings.iter().filter(|finding| finding.code.name() == code);
    found.map(|finding| loadline_report::words::finding(&summary, finding)).collect()
}

/// What a value lacks to follow a published schema.
pub(crate) fn schema_errors(schema: &str, value: &Value) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats").join(schema);
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// All trials of a record, cell by cell.
pub(crate) fn trials(record: &RunRecord) -> impl Iterator<Item = &TrialRecord> {
    record.cells.iter().flat_map(|cell| &cell.trials)
}

pub(crate) fn trial_count(record: &RunRecord) -> usize {
    trials(record).count()
}

/// The doubts of all trials.
pub(crate) fn doubts(record: &RunRecord) -> impl Iterator<Item = &Doubt> {
    trials(record).flat_map(|trial| &trial.doubts)
}

/// How many cells have a trial with this doubt.
pub(crate) fn doubted(record: &RunRecord, code: DoubtCode) -> usize {
    let has = |trial: &TrialRecord| trial.doubts.iter().any(|doubt| doubt.code == code);
    record.cells.iter().filter(|cell| cell.trials.iter().any(has)).count()
}

/// A program that results are written for: as `cargo xtask peers` has it, or the system; `None` without it.
pub(crate) fn peer(command: &str) -> Option<PathBuf> {
    let peers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers");
    let own = ["python/bin", "prometheus/usr/bin"].map(|folder| peers.join(folder));
    let path = std::env::var_os("PATH").unwrap_or_default();
    own.into_iter().chain(std::env::split_paths(&path)).map(|folder| folder.join(command)).find(|path| path.is_file())
}

/// The names in a folder.
pub(crate) fn entries(folder: impl AsRef<Path>) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

/// Notes what is said of a run, in a word or two each; wants an end after so many finished trials.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// `volume V` for each filling, the load for each trial.
    pub(crate) steps: Vec<String>,
    /// Everything that is said, as it is.
    pub(crate) said: Vec<String>,
    pub(crate) finished: usize,
    pub(crate) finished_max: Option<usize>,
    pub(crate) begun: usize,
    pub(crate) begun_max: Option<usize>,
}

impl Course {
    /// One that wants an end after so many trials.
    pub(crate) fn ending_after(finished_max: usize) -> Self {
        Self { finished_max: Some(finished_max), ..Self::default() }
    }
    /// One that wants an end in this activity, counted from 1.
    pub(crate) fn ending_in(begun_max: usize) -> Self {
        Self { begun_max: Some(begun_max), ..Self::default() }
    }
    pub(crate) fn says_all(&self) -> String {
        self.said.join("\n")
    }
}

impl Observer for Course {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Begins(_) => {
                self.begun += 1;
                return;
            }
            Event::Advances(advance) => {
                if let Advance::Trials { done, .. } = advance {
                    self.finished = self.finished.max(*done);
                }
                return;
            }
            Event::Stored(_) => return,
            Event::Filled { volume, .. } => self.steps.push(format!("volume {volume}")),
            Event::TrialFinished { label, .. } => {
                self.finished += 1;
                self.steps.push(label.split(", ").next().unwrap_or_default().to_owned());
            }
            _ => {}
        }
        self.said.push(match event {
            Event::TrialFinished { place, label, .. } => format!("{place}: {label}"),
            Event::NotLookedAt { error, .. } | Event::TrialNotStarted { error, .. } => words(*error),
            Event::TrialImpossible { label, why, .. } => format!("{label}: {}", words(*why)),
            Event::QuickBegins(_) => "quick begins".to_owned(),
            other => format!("{other:?}"),
        });
    }
    fn wants_an_end(&self) -> bool {
        self.finished_max.is_some_and(|most| self.finished >= most)
            || self.begun_max.is_some_and(|most| self.begun >= most)
    }
}

/// Runs a measurement and ends it in order after so many trials; its record.
pub(crate) fn interrupted(measurement: Measuring, trials: usize) -> RunRecord {
    let outcome =
        measurement.run(&mut Course::ending_after(trials)).unwrap_or_else(|error| panic!("{}", words(&error)));
    assert!(matches!(outcome.ended, Ended::Interrupted), "{:?}", outcome.ended);
    outcome.record
}
