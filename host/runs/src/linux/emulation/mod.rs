//! An emulation as a run: begun, observed and ended, with its record in a store.
//!
//! The emulator serves disks. [`EmulationRun`] adds the rest that a program wants of it: the record of what clients
//! did, kept in a store while the emulation goes on, and events for what the caller should know.
//!
//! 1. [`EmulationRun::begin`] starts the emulation, and [`EmulationRun::keep_in`] names a store for its record.
//! 2. Clients are let in through [`EmulationRun::emulation_mut`], on a socket or attached as block devices.
//! 3. [`EmulationRun::serve`] follows it until the caller wants an end. A caller with a loop of its own calls
//!    [`EmulationRun::observe`] about once a second instead.
//! 4. [`EmulationRun::end`] ends it, stores the record, and gives the figures of each volume.

mod attached_volumes;
mod control;
mod event;
mod record;
mod record_keeper;
mod serving;

pub use crate::begin::attach_method::AttachMethod;
pub use attached_volumes::{AttachEvents, AttachedBy, AttachedVolumes, attach_volumes};
pub use control::{ControlError, ControlSilence, ask_emulation};
pub use event::{AttachEvent, EmulationEvent, LateAnswers};
pub(crate) use record::EmulationRecordSettings;
pub use record::{EmulationFigures, ExportResult, emulation_doubts};
pub use serving::{control_beside, default_memory, default_socket};

use crate::Error;
use crate::wall_clock::{run_id, unix_s};
use loadline_catalog::{Draw, Environment};
use loadline_disk::{BurstCredits, InitialState};
use loadline_emulation::TimeAccount;
use loadline_emulator::{Backing, Emulation, EmulationError, EmulationSettings, TraceSettings, View};
use loadline_prediction::{CreditsReading, CreditsWatch};
use loadline_record::{RunRecord, RunStatus};
use loadline_units::{Bytes, Duration, Timestamp};
use record::EmulationAbout;
use record_keeper::RecordKeeper;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Between two looks at whether answers leave too late.
const LATENESS_INTERVAL: std::time::Duration = std::time::Duration::from_secs(10);

/// How an environment is emulated.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a property of its own")]
pub struct EmulationOptions {
    /// Name of the run; by default "application on" and the environment's name.
    pub name: Option<String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Burst credits at the beginning.
    pub credits: BurstCredits,
    /// Where contents are kept.
    pub backing: Backing,
    /// A new file that receives every request with its times.
    pub trace: Option<PathBuf>,
    /// Bytes of writes that each disk's own cache may hold until they are flushed.
    pub write_cache: Bytes,
    /// Flushes are answered and make nothing durable.
    pub lie_about_flush: bool,
    /// The clock is polled rather than slept for while an answer is due soon.
    pub spin: bool,
    /// Threads that take requests and deliver answers run as soon as they wake.
    pub hasten: bool,
    /// Volumes are attached to this machine as block devices. This is noted in the record.
    pub attached: bool,
}

impl EmulationOptions {
    /// Contents in memory up to `max`, full credits, a write cache of 16 MiB, and nothing recorded.
    #[must_use]
    pub fn in_memory(seed: u64, max: Bytes) -> Self {
        Self {
            name: None,
            seed,
            credits: BurstCredits::FULL,
            backing: Backing::Memory { max },
            trace: None,
            write_cache: Bytes::mib(16),
            lie_about_flush: false,
            spin: false,
            hasten: true,
            attached: false,
        }
    }
}

/// An emulation under way.
pub struct EmulationRun {
    about: EmulationAbout,
    emulation: Emulation,
    /// Of each export.
    credits: Vec<CreditsWatch>,
    trace: Option<PathBuf>,
    keeper: Option<RecordKeeper>,
    /// Requests in the record that was kept last.
    kept_requests: u64,
    reported: Reported,
}

/// What was reported already: everything is reported once.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of event")]
struct Reported {
    memory: bool,
    backing: bool,
    trace: bool,
    record: bool,
    /// Of each export: that its answers leave late.
    late: Vec<bool>,
    looked_at_lateness: Instant,
}

/// An emulation that ended.
pub struct EndedEmulation {
    /// The run's id.
    pub id: String,
    /// How long it was there.
    pub elapsed: Duration,
    /// What had not been reported yet.
    pub events: Vec<EmulationEvent>,
    /// What clients did.
    pub figures: EmulationFigures,
    /// Burst credits of each export.
    pub credits: Vec<CreditsWatch>,
    /// The run; `None` if its record could not be made. It has no cells where nobody asked for anything.
    pub record: Option<Box<RunRecord>>,
    /// What became of the record.
    pub stored: Result<StoredEmulation, Error>,
    /// Whether everything was written: a trace may lack its end.
    pub result: Result<(), EmulationError>,
}

/// What became of an emulation's record.
#[derive(Debug)]
pub enum StoredEmulation {
    /// No store was named.
    Unwanted,
    /// It is in the store, under the run's id.
    Stored,
    /// Nobody asked for anything, and nothing is stored.
    NothingDone,
    /// Nobody asked for anything, and the beginning could not be removed from the store.
    BeginningLeft(Error),
}

impl EmulationRun {
    /// Starts an emulation. Nobody can reach it yet.
    ///
    /// # Errors
    /// [`Error::Emulation`]: contents or the trace cannot be made, or the environment is impossible.
    pub fn begin(environment: &Environment, options: EmulationOptions) -> Result<Self, Error> {
        let EmulationOptions { name, seed, credits, backing, trace, write_cache, .. } = options;
        let about_trace = serde_json::json!({
            "environment": environment.text, "seed": seed, "bursts": credits.to_string()
        });
        let settings = EmulationSettings {
            seed,
            initial: credits.initial_state(),
            backing,
            trace: trace.clone().map(|path| TraceSettings { path, about: about_trace.to_string() }),
            write_cache,
            lie_about_flush: options.lie_about_flush,
            spin: options.spin,
            hasten: options.hasten,
        };
        let started_unix_s = unix_s();
        let about = EmulationAbout {
            id: run_id(Timestamp::from_unix_s(started_unix_s)),
            environment: environment.clone(),
            name,
            seed,
            initial: credits.initial_state(),
            started_unix_s,
            settings: EmulationRecordSettings {
                write_cache,
                lie_about_flush: options.lie_about_flush,
                spin: options.spin,
                bursts: credits.to_string(),
                attached: options.attached,
            },
        };
        let emulation = Emulation::start(&environment.spec(&Draw::MIDDLE), &settings)?;
        let credits = credits_watches(&emulation, about.initial);
        let reported = Reported {
            memory: false,
            backing: false,
            trace: false,
            record: false,
            late: vec![false; emulation.exports().len()],
            looked_at_lateness: Instant::now(),
        };
        Ok(Self { about, emulation, credits, trace, keeper: None, kept_requests: 0, reported })
    }

    /// Keeps the record in the store at `path`, from now on: there the run has begun. An emulation that is killed leaves
    /// its record so far.
    ///
    /// # Errors
    /// [`Error::RecordNotKept`].
    pub fn keep_in(&mut self, path: &Path) -> Result<(), Error> {
        let begun = record::emulation_record(&self.about, &self.figures(), &[], RunStatus::Unfinished)?;
        let keeper = RecordKeeper::start(path, &begun)
            .map_err(|source| Error::RecordNotKept { path: path.to_owned(), source: Box::new(source) })?;
        self.keeper = Some(keeper);
        Ok(())
    }

    /// Takes back that it began, where it could not be made reachable: the run in the store, and the trace.
    pub fn abandon(self) {
        if let Some(keeper) = self.keeper {
            // The caller has the reason why there is nothing to keep.
            let _ = keeper.forget(&self.about.id);
        }
        drop(self.emulation);
        if let Some(path) = &self.trace {
            // It was made a moment ago, and would be in the way the next time.
            let _ = std::fs::remove_file(path);
        }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.about.id
    }

    /// The emulation: its exports, clients and faults.
    #[must_use]
    pub const fn emulation(&self) -> &Emulation {
        &self.emulation
    }

    /// The emulation, to let clients in.
    pub const fn emulation_mut(&mut self) -> &mut Emulation {
        &mut self.emulation
    }

    /// Looks at the emulation: follows burst credits, keeps the record where it is time, and reports what is new.
    /// To be called about once a second.
    pub fn observe(&mut self) -> (View, Vec<EmulationEvent>) {
        look_at_credits(&mut self.credits, &self.emulation);
        let view = self.emulation.view();
        let mut events = self.troubles(view.trace_trouble.as_deref());
        if let Some(keeper) = &mut self.keeper {
            let trouble = keeper.trouble().filter(|_| !self.reported.record);
            self.reported.record |= trouble.is_some();
            events.extend(trouble.map(|cause| EmulationEvent::RecordNotKept { cause }));
        }
        self.keep();
        if self.reported.looked_at_lateness.elapsed() >= LATENESS_INTERVAL {
            self.reported.looked_at_lateness = Instant::now();
            events.extend(self.late_answers().into_iter().map(EmulationEvent::LateAnswers));
        }
        (view, events)
    }

    /// Ends it: clients are disconnected, and the record is stored.
    #[must_use]
    pub fn end(mut self) -> EndedEmulation {
        let elapsed = self.emulation.elapsed();
        // Not before: answers that wait for their clients to take them count when these are gone.
        self.emulation.close();
        look_at_credits(&mut self.credits, &self.emulation);
        let figures = self.figures();
        let events = self.troubles(None);
        let Self { about, emulation, credits, keeper, .. } = self;
        let result = emulation.end();
        let made = record::emulation_record(&about, &figures, &credits, RunStatus::Finished);
        let (record, stored) = match (made, keeper) {
            (Ok(record), Some(keeper)) => {
                let stored = store(&record, keeper);
                (Some(Box::new(record)), stored)
            }
            (Err(error), Some(_)) => (None, Err(error)),
            (made, None) => (made.ok().map(Box::new), Ok(StoredEmulation::Unwanted)),
        };
        EndedEmulation { id: about.id, elapsed, events, figures, credits, record, stored, result }
    }

    fn figures(&self) -> EmulationFigures {
        EmulationFigures::of(&self.emulation)
    }

    /// Keeps the record so far, where it is time and clients did anything since the last one.
    fn keep(&mut self) {
        let figures = match &self.keeper {
            Some(keeper) if keeper.is_time() => self.figures(),
            _ => return,
        };
        let requests = figures.requests();
        let is_new = requests > self.kept_requests;
        self.kept_requests = requests;
        let record =
            is_new.then(|| record::emulation_record(&self.about, &figures, &self.credits, RunStatus::Unfinished));
        if let Some(keeper) = &mut self.keeper {
            // Errors are reported when the last record is made.
            keeper.keep(record.and_then(Result::ok));
        }
    }

    fn troubles(&mut self, trace: Option<&str>) -> Vec<EmulationEvent> {
        let Self { emulation, reported, .. } = self;
        let once = |reported: &mut bool, event: Option<EmulationEvent>| {
            let event = event.filter(|_| !*reported);
            *reported |= event.is_some();
            event
        };
        let memory = emulation.memory_was_full().map(|max| EmulationEvent::MemoryFull { max });
        let backing = emulation.backing_trouble();
        let backing = backing.map(|cause| EmulationEvent::BackingFailed { cause: cause.to_owned() });
        let trace = trace.map(|cause| EmulationEvent::TraceEnded { cause: cause.to_owned() });
        let all = [
            once(&mut reported.memory, memory),
            once(&mut reported.backing, backing),
            once(&mut reported.trace, trace),
        ];
        all.into_iter().flatten().collect()
    }

    fn late_answers(&mut self) -> Vec<LateAnswers> {
        let turns = self.emulation.turns();
        let figures = self.emulation.figures();
        let exports = figures.iter().zip(self.emulation.exports()).zip(&mut self.reported.late);
        let late = exports.filter_map(|((figures, export), reported)| {
            let (late_p99, modelled_p99) = figures.late().filter(|_| !*reported)?;
            *reported = true;
            Some(LateAnswers { export: export.name.clone(), late_p99, modelled_p99, turns })
        });
        late.collect()
    }
}

impl EndedEmulation {
    /// The figures of each volume, and of each disk that somebody used by itself.
    #[must_use]
    pub fn exports(&self) -> Vec<ExportResult<'_>> {
        self.figures.exports(&self.credits)
    }

    /// The exports whose answers left too late.
    #[must_use]
    pub fn late_answers(&self) -> Vec<LateAnswers> {
        let late = |export: ExportResult<'_>| {
            let (late_p99, modelled_p99) = export.figures.late()?;
            let turns = self.figures.turns;
            Some(LateAnswers { export: export.name.to_owned(), late_p99, modelled_p99, turns })
        };
        self.exports().into_iter().filter_map(late).collect()
    }
}

fn store(record: &RunRecord, keeper: RecordKeeper) -> Result<StoredEmulation, Error> {
    if record.cells.is_empty() {
        return Ok(match keeper.forget(&record.header.id) {
            Ok(()) => StoredEmulation::NothingDone,
            Err(error) => StoredEmulation::BeginningLeft(error),
        });
    }
    keeper.end(record)?;
    Ok(StoredEmulation::Stored)
}

fn credits_watches(emulation: &Emulation, initial: InitialState) -> Vec<CreditsWatch> {
    let (_, standing) = emulation.standing();
    standing.into_iter().map(|(_, saved)| CreditsWatch::new(initial, saved)).collect()
}

fn look_at_credits(watches: &mut [CreditsWatch], emulation: &Emulation) {
    let (at, standing) = emulation.standing();
    for (watch, (account, credits)) in watches.iter_mut().zip(standing) {
        let TimeAccount { first, requests: answered, waits, .. } = account;
        watch.look(CreditsReading { at, first, answered, waits, credits });
    }
}
