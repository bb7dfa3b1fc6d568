//! A run's store, opened on a thread of its own.
//!
//! Making a new store and beginning a run write to the disk. Targets are opened meanwhile. Before a byte of a target is
//! written, [`PendingStore::prove`] waits until the store has been written to.

use crate::keep::leftovers::Leftover;
use crate::{Ended, Error, RunOutcome, TrialsPlanned, files::store_location};
use loadline_record::{CellRecord, RunHeader, RunStatus, TrialRecord};
use loadline_store::{Claim, Store};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A store on its way to be opened, perhaps made, on a thread of its own.
#[derive(Debug)]
pub struct PendingStore {
    /// Dropped without a message where no run is to begin.
    begin: Sender<(RunHeader, Vec<CellRecord>)>,
    opened: Receiver<()>,
    is_proved: bool,
    found: Receiver<Leftover>,
    thread: Thread,
}

/// The store, and the claim of the run that was begun in it, if one was.
type Ready = (Store, Option<Claim>);

/// Makes it ready.
#[derive(Debug)]
struct Thread(Option<JoinHandle<Result<Ready, Error>>>);

impl Thread {
    fn join(&mut self) -> Option<Result<Ready, Error>> {
        self.0.take().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // A process that ended now would leave a half-made store to be tidied up by the next one.
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

impl PendingStore {
    /// Opens the store at `path`, and then looks in it for test files that belong to no run.
    pub fn start(path: PathBuf, look: impl FnOnce(&Store) -> Vec<Leftover> + Send + 'static) -> Self {
        let (begin, beginning) = channel::<(RunHeader, Vec<CellRecord>)>();
        let (told, opened) = channel();
        let (finds, found) = channel();
        let thread = std::thread::spawn(move || {
            let store = store_location::open_store(&path)?;
            store.prove_writable()?;
            // Nobody is there to be told where the run was given up meanwhile.
            let _ = told.send(());
            for leftover in look(&store) {
                let _ = finds.send(leftover);
            }
            let claim = match beginning.recv() {
                Ok((header, cells)) => {
                    let claim = store.claim(&header.id)?;
                    store.begin_run(&header, &cells)?;
                    Some(claim)
                }
                Err(_) => None,
            };
            Ok((store, claim))
        });
        Self { begin, opened, is_proved: false, found, thread: Thread(Some(thread)) }
    }

    /// Waits until the store has been written to.
    ///
    /// # Errors
    /// The store cannot be opened, made or written. Only the first call says why.
    pub(crate) fn prove(&mut self) -> Result<(), Error> {
        if !self.is_proved && self.opened.recv().is_err() {
            return match self.thread.join() {
                Some(Err(error)) => Err(error),
                _ => Err(Error::NoStore),
            };
        }
        self.is_proved = true;
        Ok(())
    }

    /// Begins a run in a store that has been written to.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub fn begin(mut self, header: RunHeader, cells: Vec<CellRecord>) -> Result<RunStore, Error> {
        self.prove()?;
        let Self { begin, found, thread, .. } = self;
        // Where the thread has ended, it says why when it is joined.
        let _ = begin.send((header, cells));
        drop(begin);
        let mut store = RunStore { thread, found: Some(found), ready: None };
        store.look()?;
        Ok(store)
    }

    /// Stores a run that is over, with the trials of its cells.
    ///
    /// # Errors
    /// The store cannot be opened or written.
    pub fn keep(self, header: RunHeader, mut cells: Vec<CellRecord>, ended: Ended) -> Result<RunOutcome, Error> {
        let id = header.id.clone();
        let trials: Vec<(String, Vec<TrialRecord>)> =
            cells.iter_mut().map(|cell| (cell.id.clone(), std::mem::take(&mut cell.trials))).collect();
        let mut kept = self.begin(header, cells)?;
        let store = kept.store()?;
        for (cell, trials) in &trials {
            for trial in trials {
                store.finish_trial(&id, cell, trial)?;
            }
        }
        kept.conclude(&id, Ok(ended), TrialsPlanned::All)
    }
}

/// The store that a run goes into, with the run begun and claimed in it by the time that anyone looks.
#[derive(Debug)]
pub struct RunStore {
    thread: Thread,
    found: Option<Receiver<Leftover>>,
    ready: Option<Ready>,
}

impl RunStore {
    /// Of a run that stands in the store already.
    #[must_use]
    pub fn ready(store: Store, claim: Claim) -> Self {
        Self { thread: Thread(None), found: None, ready: Some((store, Some(claim))) }
    }
    /// Test files of no run that were found since the last call. Does not wait.
    pub(crate) fn leftovers_found(&self) -> impl Iterator<Item = Leftover> {
        self.found.iter().flat_map(Receiver::try_iter)
    }
    /// Stores how a run ended, and takes from the store all that is kept of it.
    ///
    /// # Errors
    /// What ended the run early; the store.
    pub fn conclude(
        mut self,
        run: &str,
        result: Result<Ended, Error>,
        planned: TrialsPlanned,
    ) -> Result<RunOutcome, Error> {
        let stored = self.store().and_then(|store| {
            match (Ended::status(&result), planned) {
                (RunStatus::Finished, TrialsPlanned::AtMost) => store.finish_with_what_there_is(run)?,
                (status, _) => store.set_status(run, status)?,
            }
            Ok(())
        });
        match result {
            Ok(ended) => {
                stored?;
                Ok(RunOutcome { record: self.store()?.load(run)?, ended })
            }
            Err(error) => {
                let record = self.store().ok().and_then(|store| store.load(run).ok()).map(Box::new);
                Err(Error::RunEndedEarly { run: run.to_owned(), record, source: Box::new(error) })
            }
        }
    }
    /// Finds out, without waiting, whether there will be no store: a measurement would be for nothing then.
    ///
    /// # Errors
    /// As of [`RunStore::store`].
    pub fn look(&mut self) -> Result<(), Error> {
        if self.thread.0.as_ref().is_some_and(JoinHandle::is_finished) {
            self.store()?;
        }
        Ok(())
    }
    /// The store, waited for where it has to be.
    ///
    /// # Errors
    /// The store cannot be opened or made, or the run cannot be begun in it. Only the first call says why.
    pub fn store(&mut self) -> Result<&Store, Error> {
        if let Some(result) = self.thread.join() {
            self.ready = Some(result?);
        }
        match &self.ready {
            Some((store, _)) => Ok(store),
            None => Err(Error::NoStore),
        }
    }
}
