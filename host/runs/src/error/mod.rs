//! What can keep a run from beginning, or end it early: what was attempted, on what.
//!
//! A [`Refusal`] is a request that contradicts itself or what is there: nothing was done. A caller knows which option mends it.

mod concern;
mod hosts_refusal;
mod hunt_refusal;
mod impossible_cell;
mod in_a_line;
mod input_kind;
mod loss;
mod plan_refusal;
mod recognition_error;
mod replay_error;
mod sweep_refusal;
mod watch_error;

pub use concern::{BUSY_SHARE, Concern, Consent, DeviceUse, MemoryTarget};
pub use hosts_refusal::HostsRefusal;
pub use hunt_refusal::{CellsOfPlan, HuntRefusal};
pub use impossible_cell::ImpossibleCell;
pub(crate) use in_a_line::in_a_line;
pub use input_kind::{EntryKind, InputKind};
pub use loss::Loss;
pub use plan_refusal::{NotOfPlan, PlannedError};
pub use recognition_error::{CloudSilence, RecognitionError};
pub use replay_error::ReplayError;
pub use sweep_refusal::SweepRefusal;
pub use watch_error::{RecordError, WatchError};

use crate::{EmulationError, EngineError, TargetError};
use loadline_disk::EnvironmentError;
use loadline_imported::ImportError;
use loadline_prediction::{PredictionError, VolumeUnknown};
use loadline_record::RunRecord;
use loadline_store::StoreError;
use loadline_units::{Bytes, Duration};
use loadline_workload::{FioError, NotOnRun, PlanError, SpecError};
use std::path::PathBuf;

/// A request that was refused before anything was done.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A plan was named that is neither built in nor a file.
    #[error("there is no file {typed}, and no built-in plan of that name")]
    NoSuchPlan {
        /// The name as given.
        typed: String,
        /// The built-in plan with the nearest name.
        nearest: Option<&'static str>,
    },
    /// A plan's file cannot be read.
    #[error("cannot read the plan {typed}: {source}")]
    UnreadablePlan {
        /// The file.
        typed: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is no fio job file that can be run.
    #[error("{typed} is not an fio job file that can be run")]
    NotAJobFile {
        /// The file.
        typed: String,
        /// What is wrong with it.
        source: FioError,
    },
    /// A file is no plan that can be run.
    #[error("{typed} is not a plan that can be run")]
    NotAPlan {
        /// The file.
        typed: String,
        /// What is wrong with it.
        source: PlanError,
    },
    /// A value that replaces a plan's own contradicts one of its loads.
    #[error("plan {plan:?} with the values in place of its own: {load}: {source}")]
    Contradiction {
        /// The plan's name.
        plan: String,
        /// The load, for people.
        load: String,
        /// What contradicts what.
        source: SpecError,
    },
    /// Every load writes, and nothing may be written.
    #[error("every load of the plan writes, and nothing may be written")]
    NothingToMeasure,
    /// A load belongs on a volume that is none of the run.
    #[error(transparent)]
    NotOnRun(NotOnRun),
    /// A search or a hunt asks one load at a time, and the plan has loads that run at the same time.
    #[error(
        "the plan has loads that run at the same time (together), and {what} asks one at a time: give it a plan without together"
    )]
    RunsTogether {
        /// What asks.
        what: &'static str,
    },
    /// No target was named.
    #[error("no target is named")]
    NoTarget,
    /// A name that no volume can have.
    #[error(
        "{name:?} is no name for a volume: a letter from a to z or A to Z comes first, then letters, digits, - and _"
    )]
    VolumeName {
        /// The name.
        name: String,
    },
    /// Two targets have the same name.
    #[error("the volume {volume:?} is named twice")]
    VolumeTwice {
        /// The name.
        volume: String,
    },
    /// A load reads back what it wrote, on a target that keeps nothing.
    #[error("{load}: verify reads back what was written, and {target} keeps nothing")]
    KeepsNothing {
        /// The load, for people.
        load: String,
        /// The target.
        target: String,
    },
    /// A load asks for several files, on a target that is no directory.
    #[error("{load}: {files} files are made in a directory, and {target} is none")]
    NoDirectory {
        /// The load, for people.
        load: String,
        /// How many it asks for.
        files: u32,
        /// The target.
        target: String,
    },
    /// Two volumes share storage, and one of them is written to.
    #[error("volumes {} and {}: {how}, and what one writes is the other's too", volumes[0], volumes[1])]
    Overlap {
        /// Their names.
        volumes: [String; 2],
        /// What they share.
        how: String,
    },
    /// Some cells cannot be run on what was opened.
    #[error("{} of {count} cells cannot be run on these targets, first {}: {}", cells.len(), cells[0].label, cells[0].why)]
    Impossible {
        /// All cells of the run.
        count: usize,
        /// Those that cannot be run. Never empty.
        cells: Vec<ImpossibleCell>,
    },
    /// No volume of a declared environment says where it is.
    #[error("no volume of environment {environment:?} says where it is on this machine")]
    NoPaths {
        /// The environment's name.
        environment: String,
    },
    /// A target is no volume of the declared environment.
    #[error(transparent)]
    NotDeclared(VolumeUnknown),
    /// A volume is not part of an environment.
    #[error(transparent)]
    NoSuchVolume(VolumeUnknown),
    /// A load cannot be modelled on a volume.
    #[error("{load} on {volume}: {source}")]
    NotModelled {
        /// The load, for people.
        load: String,
        /// The volume's name.
        volume: String,
        /// Why not.
        source: PredictionError,
    },
    /// Loads are to run together, and there is neither one plan for all volumes nor one for each.
    #[error("loads run together by one plan for all volumes or one for each: there are {plans} plans and {} volumes", volumes.len())]
    TogetherPlans {
        /// How many plans there are.
        plans: usize,
        /// The volumes' names.
        volumes: Vec<String>,
    },
    /// Loads are to run together, and volumes differ in the number of their cells.
    #[error("loads at the same place of each plan run together: the plans have {counts:?} cells")]
    TogetherCells {
        /// Cells by volume.
        counts: Vec<usize>,
    },
    /// Loads are to run together, and differ in the number of their trials.
    #[error(
        "loads that run together run as often: {} would have {} trials and {} {}",
        volumes[0], trials[0], volumes[1], trials[1]
    )]
    TogetherTrials {
        /// Two volumes.
        volumes: [String; 2],
        /// Trials of a load on each.
        trials: [u32; 2],
    },
    /// A prediction was taken for a measurement.
    #[error("run {run} is a prediction, with nothing to measure")]
    IsPrediction {
        /// Its id.
        run: String,
    },
    /// An emulation was to be carried on with.
    #[error("run {run} is an emulation that was killed: what applications asked of it cannot be asked again")]
    IsEmulation {
        /// Its id.
        run: String,
    },
    /// A crawl was to be carried on with by a program that cannot crawl.
    #[error("run {run} is a crawl, which another part of loadline carries on with")]
    IsCrawl {
        /// Its id.
        run: String,
    },
    /// Runs of several hosts cannot become one, or not begin together.
    #[error(transparent)]
    Hosts(#[from] HostsRefusal),
    /// A sweep does not begin.
    #[error(transparent)]
    Sweep(#[from] SweepRefusal),
    /// There is nothing to hunt for.
    #[error(transparent)]
    Hunt(Box<HuntRefusal>),
    /// A catalog folder is not there, or is no folder.
    #[error("{}: it {}; name a folder of catalog files (*.toml)", folder.display(), if *exists { "is no folder" } else { "is not there" })]
    NoCatalogFolder {
        /// The folder.
        folder: PathBuf,
        /// Something else is there.
        exists: bool,
    },
    /// A catalog folder holds no catalog file.
    #[error("{} holds no catalog file (*.toml)", folder.display())]
    NoCatalogFile {
        /// The folder.
        folder: PathBuf,
    },
    /// A name means neither a built-in environment nor a file.
    #[error("there is no file {named}, and no built-in environment of that name")]
    NoSuchEnvironment {
        /// The name as given.
        named: String,
        /// It looks like the path of a file.
        is_path: bool,
        /// The built-in environment with the nearest name.
        nearest: Option<&'static str>,
    },
    /// A name means an entry of the catalog.
    #[error("{name} is an entry of the catalog, no environment")]
    IsCatalogEntry {
        /// The entry.
        name: String,
        /// What it is.
        kind: EntryKind,
    },
    /// The file of an environment cannot be read.
    #[error("cannot read the environment {named}: {source}")]
    UnreadableEnvironment {
        /// The file.
        named: String,
        /// Why not.
        source: std::io::Error,
    },
    /// This machine was recognised, and cannot be modelled.
    #[error("what was recognised of this machine cannot be modelled: write its environment")]
    MachineNotModelled {
        /// Why not.
        source: PlanError,
    },
    /// The file of another tool's results cannot be read.
    #[error("cannot read {file}: {source}")]
    UnreadableResults {
        /// The file.
        file: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The file of another tool's results is no text.
    #[error("{file}: is no text: byte {byte} is not UTF-8")]
    NoText {
        /// The file.
        file: String,
        /// The first byte that is not, from 0.
        byte: usize,
    },
    /// The results are of other targets than the one that was named.
    #[error("the results are of {}, and of nothing in {target}", known.join(", "))]
    NotInResults {
        /// The name that it was to have.
        volume: String,
        /// The target.
        target: String,
        /// What they are of.
        known: Vec<String>,
    },
    /// Which volume of the declared environment a target is, is not known.
    #[error("which volume of the environment is {target}? There are {}", known.join(", "))]
    WhichVolume {
        /// The target.
        target: String,
        /// The volumes of the environment.
        known: Vec<String>,
    },
    /// A text is no environment.
    #[error("{name} is not an environment that can be modelled")]
    NotAnEnvironment {
        /// What the text is called.
        name: String,
        /// What is wrong with it.
        source: PlanError,
    },
    /// A run wrote nothing that can be checked.
    #[error("run {run} wrote nothing with verify = true, so there is nothing to check")]
    NothingToVerify {
        /// Its id.
        run: String,
    },
    /// A search was asked for, and no load has an objective.
    #[error("no load of the plan has an objective to find: write objective = {{ p99 = \"20 ms\" }} in one")]
    NoObjective,
    /// A quick measurement is asked for a time in which nothing is measured.
    #[error("no row is measured in {duration}; give at least {least}")]
    QuickTime {
        /// The time.
        duration: Duration,
        /// The shortest.
        least: Duration,
    },
    /// A quick measurement is asked for a size that does not hold its largest block.
    #[error("{size} does not hold the largest block of quick; give at least {least}")]
    QuickSize {
        /// The size.
        size: Bytes,
        /// The smallest.
        least: Bytes,
    },
    /// A target is too small for a quick measurement.
    #[error(
        "{target} has {size}, which does not hold the largest block of quick: name something of {least} at least, or measure it by a \
         plan with smaller blocks"
    )]
    TooSmall {
        /// The target.
        target: String,
        /// What it has.
        size: Bytes,
        /// What it needs.
        least: Bytes,
    },
    /// Something speaks against the load, and nobody agreed to it all the same.
    #[error("{0}")]
    NotAgreed(Concern),
    /// Real storage was asked for on a machine that is no Linux.
    #[error(
        "storage is measured on Linux alone, and this machine is none: predict on an environment, or import results"
    )]
    NoRealStorage,
    /// There is no store at a path.
    #[error("there is no store at {}", path.display())]
    NoStore {
        /// The path.
        path: PathBuf,
    },
}

/// What ended a run early, or kept it from beginning.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request contradicts itself or what is there; nothing was done.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// The updated prices.
    #[error(transparent)]
    Prices(#[from] crate::prices::ShelfError),
    /// The observer wanted an end before a target had answered.
    #[error("interrupted while {target} was opened, which has not answered yet")]
    Stopped {
        /// The target.
        target: String,
    },
    /// The observer wanted an end before the run began.
    #[error("interrupted before the run began")]
    NotBegun,
    /// A target did not answer.
    #[error("{target} could not be opened for {seconds} s: its storage does not answer")]
    NotOpened {
        /// The target.
        target: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The engine refuses a target.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// What concerns one volume.
    #[error("volume {volume}")]
    Volume {
        /// Its name.
        volume: String,
        /// What happened.
        source: Box<Error>,
    },
    /// A target is not the storage that the run began on.
    #[error(
        "volume {volume}: {target} is not the storage that run {run} began on: {}. Its trials would be those of two; attach or \
         mount what was measured and carry on, or begin a new run",
        differences.join("; ")
    )]
    OtherStorage {
        /// The volume's name.
        volume: String,
        /// The target.
        target: String,
        /// The run's id.
        run: String,
        /// How they differ.
        differences: Vec<String>,
    },
    /// A trial could not be run.
    #[error("{load} on volume {volume}")]
    Trial {
        /// The load, for people.
        load: String,
        /// The volume's name.
        volume: String,
        /// Why not.
        source: Box<EngineError>,
    },
    /// A volume cannot be filled.
    #[error("cannot fill volume {volume}")]
    Fill {
        /// Its name.
        volume: String,
        /// Why not.
        source: Box<EngineError>,
    },
    /// The engine refuses something that is no trial of the run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A volume cannot be used any more.
    #[error("volume {volume}: {why}")]
    Lost {
        /// Its name.
        volume: String,
        /// How that shows.
        why: Loss,
    },
    /// A trial on which the next ones rest did not last as long as it should.
    #[error("{load}: the trial ended early: {how}")]
    EndedEarly {
        /// The load, for people.
        load: String,
        /// Why.
        how: String,
    },
    /// A trial cannot be predicted.
    #[error("{what}")]
    Prediction {
        /// The load and the volume, for people.
        what: String,
        /// Why not.
        source: PredictionError,
    },
    /// A model has no such volume.
    #[error(transparent)]
    Model(#[from] VolumeUnknown),
    /// The ceilings of a load are not known.
    #[error("{load} on volume {volume}")]
    Ceilings {
        /// The load, for people.
        load: String,
        /// The volume's name.
        volume: String,
        /// Why not.
        source: VolumeUnknown,
    },
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store could not be opened, which was reported before.
    #[error("the store is not available")]
    NoStore,
    /// The folder of the store cannot be made.
    #[error("cannot make {} for the store", folder.display())]
    StoreFolder {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The store cannot be looked at.
    #[error("cannot look at the store {}", path.display())]
    StorePath {
        /// The store.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Nothing says where runs are to be kept.
    #[error("{} says where runs are to be kept", crate::NO_DATA_FOLDER)]
    NoHome,
    /// A test file that was left behind cannot be removed.
    #[error("cannot remove {}, which the process that was cut off left behind", path.display())]
    Leftover {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The settings of a stored run are those of another version.
    #[error("the settings of run {run} are not of this version of loadline; {again} it anew")]
    OtherSettings {
        /// The run's id.
        run: String,
        /// What is to be done with the plan: measure, predict.
        again: &'static str,
        /// What is not understood.
        source: serde_json::Error,
    },
    /// The plan of a stored run has other cells by this version.
    #[error("this version of loadline reads the plan of run {run} otherwise than version {version}; {again} it anew")]
    OtherReading {
        /// The run's id.
        run: String,
        /// The version that stored it.
        version: String,
        /// What is to be done with the plan: measure, predict.
        again: &'static str,
    },
    /// A stored run keeps no plan.
    #[error("run {run} keeps no plan; begin it anew")]
    NoPlan {
        /// Its id.
        run: String,
    },
    /// A stored run keeps no environment.
    #[error("run {run} keeps no environment; predict it anew")]
    NoEnvironment {
        /// Its id.
        run: String,
    },
    /// A file cannot be read.
    #[error("cannot read {what}")]
    Unreadable {
        /// The file.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// A folder cannot be listed.
    #[error("cannot list {}", folder.display())]
    Unlisted {
        /// The folder.
        folder: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The plan of a stored run, or a file of a catalog folder, cannot be read by this version.
    #[error(transparent)]
    StoredPlan(#[from] PlanError),
    /// The job file of a stored run cannot be read by this version.
    #[error(transparent)]
    StoredJobFile(#[from] FioError),
    /// A stored trial ended early, and no trial is run twice.
    #[error("{load}: its trial ended early and is kept, and no trial is run twice: begin anew")]
    KeptTrialEndedEarly {
        /// The load, for people.
        load: String,
    },
    /// An emulation cannot begin.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// The record of an emulation cannot be kept.
    #[error("cannot keep a record of this emulation in {}", path.display())]
    RecordNotKept {
        /// The store.
        path: PathBuf,
        /// Why not.
        source: Box<Error>,
    },
    /// Results of another tool cannot be read.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A file is too large to hold results.
    #[error("{file} is larger than {mebibytes_max} MiB: that is no file of results")]
    ResultsTooLarge {
        /// The file.
        file: String,
        /// The most that is read.
        mebibytes_max: u64,
    },
    /// A folder holds more files than are looked at.
    #[error("{folder} holds more than {files_max} files: import the folders below it one by one")]
    TooManyResults {
        /// The folder.
        folder: String,
        /// The most that are looked at.
        files_max: usize,
    },
    /// A table of crawls cannot be read.
    #[error("{file}")]
    CrawlTable {
        /// Its name.
        file: String,
        /// What is wrong in it, and where.
        source: loadline_pipeline::CrawlTableError,
    },
    /// No job of another tool is a load that loadline knows.
    #[error("nothing was imported: no job of {files} is a load that loadline knows")]
    NothingImported {
        /// Their names.
        files: String,
    },
    /// Results of a plan that was carried elsewhere.
    #[error(transparent)]
    Planned(#[from] PlannedError),
    /// This machine is not recognised.
    #[error(transparent)]
    Recognition(#[from] RecognitionError),
    /// Nothing can be watched there.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// Nothing can be recorded there.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A trace cannot be replayed on an environment.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// An environment cannot be modelled.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A target could not be filled at all.
    #[error("less than {least} could be written in {}", elapsed.human())]
    NotFilled {
        /// What would have done.
        least: Bytes,
        /// The time that it had.
        elapsed: Duration,
    },
    /// A test file cannot be shortened to what was filled.
    #[error("cannot shorten the test file")]
    NotShortened {
        /// Why not.
        source: std::io::Error,
    },
    /// No read was answered.
    #[error("not one read of 4 KiB was answered in {}: the target does not answer", time.clock())]
    NothingAnswered {
        /// The time that there was.
        time: Duration,
    },
    /// Reads fail.
    #[error("reading from the target failed: {how}")]
    NotRead {
        /// How.
        how: String,
    },
    /// Nothing that a run wrote is found on its volumes.
    #[error("nothing that run {run} wrote is found on its volumes: the data is gone, or the targets are others")]
    NothingFound {
        /// Its id.
        run: String,
    },
    /// A run removed the test files that were to be checked.
    #[error("volume {volume}: there is nothing to check in {target}: run {run} removed its test file when it ended")]
    FilesRemoved {
        /// The volume's name.
        volume: String,
        /// The directory.
        target: String,
        /// The run's id.
        run: String,
    },
    /// What an application with a load of its own ran into.
    #[error(transparent)]
    Application(Box<dyn std::error::Error + Send + Sync>),
    /// A run that had begun ended early; what was finished is kept.
    #[error("run {run} ended early; what was finished is kept")]
    RunEndedEarly {
        /// Its id.
        run: String,
        /// What is known so far, where the store still gives it.
        record: Option<Box<RunRecord>>,
        /// Why.
        source: Box<Error>,
    },
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}
