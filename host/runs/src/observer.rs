//! How a run speaks to the program that started it: one interface, with events instead of text.
//!
//! A terminal draws them, a daemon may send them on, and [`Silent`] drops them.

use crate::emulation::{AttachEvent, EmulationEvent};
use crate::{Concern, Consent, EngineError, EngineProgress, Error, Loss, Refused, View};
use loadline_analysis::{LiveFrame, StandingLimit};
use loadline_record::{RunRecord, Station, Tally, TrialRecord, VolumeFacts, WORKER_STATES};
use loadline_units::{Bytes, Duration};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Follows a run, a watch, a recording or an emulation, and may end it early. Every method is called on the thread that called it.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>) {
        let _ = event;
    }
    /// What the user says to something that speaks against the load. Called before anything is written to a target.
    fn consents(&mut self, concern: &Concern) -> Consent {
        let _ = concern;
        Consent::NotAsked
    }
    /// What the user marks now, since the last time that this was asked: notes, which are kept with the run.
    fn marks(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Whether it is to end soon. What is finished is kept, and a run can be resumed.
    fn wants_an_end(&self) -> bool {
        false
    }
}

/// An observer that shows nothing.
///
/// ```
/// use loadline_runs::{Observer, Silent};
///
/// let observer = Silent::default();
/// let stop = observer.stop();
/// stop.store(true, std::sync::atomic::Ordering::Relaxed);
/// assert!(observer.wants_an_end());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Silent(Arc<AtomicBool>);

impl Silent {
    /// The flag that ends the run when another thread sets it.
    #[must_use]
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Observer for Silent {
    fn wants_an_end(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A step of a run, for people: one trial, or a fill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// "3 of 12".
    pub place: String,
    /// "random read 4 KiB, depth 32".
    pub label: String,
    /// The volumes that it is on.
    pub volumes: Vec<String>,
    /// How long it takes, as far as the plan says.
    pub planned: Duration,
    /// `planned` is but a guess: the pace says more.
    pub is_guessed: bool,
}

/// How far a step, or all work, has come.
#[derive(Debug, Clone, Copy)]
pub enum Advance<'a> {
    /// One trial on a device, or a fill.
    Device(&'a EngineProgress),
    /// One trial in virtual time.
    Virtual {
        /// Virtual time since it began.
        elapsed: Duration,
        /// All that it takes at most.
        planned: Duration,
    },
    /// Trials that are carried out several at a time.
    Trials {
        /// Finished trials.
        done: usize,
        /// All trials.
        all: usize,
        /// Share of the work that is done, 0.0 to 1.0.
        share: f64,
        /// Real time since the first began.
        elapsed: std::time::Duration,
    },
    /// Items of an application, such as pages of a crawl.
    Items(&'a ItemsDone),
    /// Pages of price lists. Comes before each.
    Fetched(&'a PagesFetched<'a>),
}

/// How far the fetch of price lists is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagesFetched<'a> {
    /// The list whose page comes next, as a file.
    pub file: &'a str,
    /// The walk over its pages, from 1.
    pub walk: u32,
    /// The page, from 1.
    pub page: u32,
    /// What is waited first, because the server or an error wants it.
    pub waits: Option<std::time::Duration>,
    /// Lists that are here.
    pub done: usize,
    /// All lists.
    pub all: usize,
    /// Since the fetch began.
    pub elapsed: std::time::Duration,
}

/// How far an application's work on items is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ItemsDone {
    /// Since it began.
    pub elapsed: Duration,
    /// Items that are done.
    pub items: u64,
    /// Items that failed.
    pub failed: u64,
    /// Items that are as they were found before.
    pub unchanged: u64,
    /// Items that are known and wait.
    pub waiting: u64,
}

/// What a load did in the measured time of the trial that is under way.
#[derive(Debug, Clone)]
pub struct CellCounts {
    /// The volume's name.
    pub volume: String,
    /// The cell's id.
    pub cell: String,
    /// By operation, in the order of `Operation::index`.
    pub counts: [Tally; 4],
}

/// What a crawl did since it began.
#[derive(Debug, Clone, Default)]
pub struct CrawlCounts {
    /// Of each source: its name, and items that are done, that failed, and that are as they were found before.
    pub sources: Vec<(String, [u64; 3])>,
    /// Of each station: the time that its workers and slots spent in each state, ns, in the order of `WorkerState::index`.
    pub stations: Vec<(Station, [u64; WORKER_STATES])>,
    /// Of each station with a queue before it: items in the queue.
    pub queues: Vec<(Station, u64)>,
}

/// Something that happened while a run was prepared or carried out, or what is followed as it is now.
#[derive(Debug)]
pub enum Event<'a> {
    /// A step begins: a trial, a fill, a check.
    Begins(&'a Activity),
    /// The step has come this far. Comes about ten times a second.
    Advances(Advance<'a>),
    /// A watch, a recording or a crawl as it is now, judged as the stored run is. Comes about once a second.
    Live(&'a LiveFrame),
    /// What the loads of a trial under way did in its measured time so far. Comes about once a second.
    Counted(&'a [CellCounts]),
    /// A load of a trial was measured, whole or in part: what was counted of the trial until now is in this record.
    Measured {
        /// The volume's name.
        volume: &'a str,
        /// The cell's id.
        cell: &'a str,
        /// Its record.
        trial: &'a TrialRecord,
    },
    /// A crawl as it is now. Comes about once a second.
    Crawled(&'a CrawlCounts),
    /// An emulation as it is now. Comes about once a second.
    Emulated(&'a View),
    /// Something happened in an emulation.
    InEmulation(&'a EmulationEvent),
    /// Clients that got no export of an emulation since the last look, perhaps none. Comes at every look.
    ClientsRefused {
        /// Who, and why.
        refused: &'a [Refused],
        /// Others, of which only the number is known.
        more: u64,
    },
    /// Something happened to a block device of an emulation.
    Attached(&'a AttachEvent),
    /// So much more planned time is ahead.
    Planned(Duration),
    /// So much of the planned time will not be needed.
    Forgone(Duration),
    /// The run stands in the store and begins.
    RunBegins {
        /// Its id.
        run: &'a str,
        /// The seed of every random choice.
        seed: u64,
        /// What is ahead.
        ahead: Ahead<'a>,
    },
    /// No step is under way any more.
    Idle,
    /// The observer wanted an end; what is under way is waited for.
    Stopping,
    /// Limits that stand in files of the kernel, in the way of the loads to come.
    Standing {
        /// The gravest first.
        limits: &'a [StandingLimit],
    },
    /// A target takes long to open.
    SlowToOpen {
        /// As named.
        target: &'a str,
    },
    /// A target could not be looked at; its cells are not checked.
    NotLookedAt {
        /// The volume's name.
        volume: &'a str,
        /// Why not.
        error: &'a Error,
    },
    /// A permission to overwrite that nothing needed.
    OverwriteUnneeded {
        /// The target, serial number or UUID.
        word: &'a str,
        /// Why nothing needed it.
        why: Unneeded,
    },
    /// Blocks of a volume may never have been written, and no load reads them.
    NotFilledFirst {
        /// The volume's name.
        volume: &'a str,
        /// What stands behind it.
        target: &'a str,
        /// What the loads touch of it.
        span: Bytes,
    },
    /// A load that writes is left out, because nothing may be written.
    LeftOut {
        /// The load, for people.
        load: &'a str,
    },
    /// A test file of an earlier process of this run was removed.
    LeftoverRemoved {
        /// Where it was.
        path: &'a Path,
    },
    /// A test file in a target's directory belongs to no stored run.
    LeftoverFound {
        /// Where it is.
        path: &'a Path,
        /// How large.
        size: Bytes,
    },
    /// A volume was written in full.
    Filled {
        /// The volume's name.
        volume: &'a str,
        /// What was written.
        bytes: Bytes,
        /// The time that it took.
        elapsed: Duration,
    },
    /// A trial ended and is stored.
    TrialFinished {
        /// "3 of 12".
        place: &'a str,
        /// The load, the volume and the trial, for people.
        label: &'a str,
        /// Its record.
        trial: &'a TrialRecord,
    },
    /// All that is stored of the run so far. Comes between trials, where reading it takes little of the time, and when the run is over.
    Stored(&'a RunRecord),
    /// A trial cannot be run at all; that is stored.
    TrialImpossible {
        /// "3 of 12".
        place: &'a str,
        /// The load, the volume and the trial, for people.
        label: &'a str,
        /// Why not.
        why: &'a Error,
    },
    /// The system did not let a trial begin; nothing is stored, and the run can be resumed.
    TrialNotStarted {
        /// "3 of 12".
        place: &'a str,
        /// Why not.
        error: &'a Error,
    },
    /// A volume stopped answering.
    VolumeGivenUp {
        /// The volume's name.
        volume: &'a str,
        /// How that shows.
        why: &'a Loss,
        /// Trials on it that are left out.
        trials: usize,
    },
    /// The machine's cloud said what was sold under the target.
    Recognised {
        /// The cloud and the VM size in its own words.
        machine: &'a str,
        /// The catalog's name of each disk under the target; of one that the catalog does not know, nothing.
        disks: &'a [Option<String>],
        /// Whether their limits stand beside what is measured.
        has_limits: bool,
    },
    /// The machine is of a cloud that does not say what it is.
    NotRecognised {
        /// Why not.
        error: &'a Error,
    },
    /// A quick measurement begins.
    QuickBegins(&'a QuickAhead<'a>),
    /// What other programs wrote could not be written back first.
    NotSettled {
        /// Why not.
        error: &'a EngineError,
    },
    /// What other programs wrote was waited for.
    Settled {
        /// For so long.
        elapsed: Duration,
        /// All of it was written; otherwise the rest is measured along.
        complete: bool,
    },
    /// A target was filled before its loads were planned.
    FilledFirst {
        /// What was written.
        bytes: Bytes,
        /// The time that it took.
        elapsed: Duration,
        /// Why the target has its size.
        reason: &'a str,
    },
    /// What a target reaches was looked for at a depth that fails.
    ReachedAtMost {
        /// The depth.
        failed: u32,
        /// Why.
        error: &'a Error,
        /// The depth that counts.
        depth: u32,
    },
    /// No request of a trial was completed: the search that rests on it ends.
    NothingCompleted {
        /// The load, for people.
        load: &'a str,
    },
    /// Nothing bound the load around which a hunt was to vary: there is no ceiling to look for.
    NothingBound,
    /// A hunt's round is over.
    RoundOver {
        /// Its number, from 1.
        round: u32,
        /// Settings whose effect is decided.
        decided: usize,
        /// All settings.
        all: usize,
    },
    /// A volume that stopped answering cannot be closed.
    NotClosed {
        /// The volume's name.
        volume: &'a str,
        /// Where test files may still be.
        place: &'a str,
    },
}

/// What a run that begins has ahead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead<'a> {
    /// Trials on devices.
    Measured {
        /// Their time at most.
        time: Duration,
        /// Bytes to be filled first.
        fill: Bytes,
    },
    /// A search, whose trials follow from one another.
    Searched {
        /// Loads whose depth or rate is looked for.
        loads: usize,
    },
    /// A hunt, whose trials follow from one another.
    Hunted {
        /// Settings that are varied.
        settings: usize,
        /// The load that they are varied around, for people.
        around: &'a str,
    },
    /// Trials in virtual time.
    Modelled {
        /// How many.
        trials: usize,
        /// Their virtual time at most.
        time: Duration,
    },
    /// An application's work, which takes as long as it takes.
    Application {
        /// What it is, for people.
        what: &'a str,
    },
}

/// Why a permission to overwrite was not needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unneeded {
    /// In a directory a test file is made, and nothing is overwritten.
    Directory,
    /// Nothing is written to it.
    OnlyRead,
    /// It is no target, and no serial number or UUID that a refusal asked for.
    NoTarget,
}

/// What a quick measurement is about to do.
#[derive(Debug)]
pub struct QuickAhead<'a> {
    /// The target.
    pub target: &'a str,
    /// The volume, as it was opened.
    pub volume: &'a VolumeFacts,
    /// Its size.
    pub size: Bytes,
    /// Whether it may be written.
    pub writable: bool,
    /// A size was asked for, and all of it is filled.
    pub fills_all: bool,
    /// Measured time of each load.
    pub row: Duration,
    /// How many loads there are at least.
    pub loads: usize,
    /// The time of all of it apart from filling.
    pub measuring: Duration,
}
