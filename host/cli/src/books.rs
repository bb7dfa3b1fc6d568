//! The store of a run, made ready beside the measurement: what it writes to the disk when it is new, and when a run begins,
//! does not hold up the first request.
//!
//! Nothing finished is lost by that: the first result waits until the run stands in the store.

use crate::location;
use loadline_record::{CellRecord, RunHeader};
use loadline_store::{Claim, Store};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// A store on its way to be opened, perhaps made, on a thread of its own.
#[derive(Debug)]
pub(crate) struct Opening {
    /// Dropped without a message where no run is to begin.
    begin: Sender<(RunHeader, Vec<CellRecord>)>,
    opened: Receiver<()>,
    thread: Thread,
    /// Something is there that may be refused; a store that is made anew is refused by a full disk at most.
    existed: bool,
}

/// The store, and the claim of the run that was begun in it, if one was.
type Ready = (Store, Option<Claim>);

/// Makes it ready.
#[derive(Debug)]
struct Thread(Option<JoinHandle<anyhow::Result<Ready>>>);

impl Thread {
    fn join(&mut self) -> Option<anyhow::Result<Ready>> {
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

impl Opening {
    /// Opens the store at `path`, and then does `look` with it.
    pub(crate) fn start(path: PathBuf, look: impl FnOnce(&Store) + Send + 'static) -> Self {
        let existed = path.exists();
        let (begin, beginning) = channel::<(RunHeader, Vec<CellRecord>)>();
        let (told, opened) = channel();
        let thread = std::thread::spawn(move || {
            let store = location::open_store(&path)?;
            // Nobody is there to be told where the run was given up meanwhile.
            let _ = told.send(());
            look(&store);
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
        Self { begin, opened, thread: Thread(Some(thread)), existed }
    }

    /// Begins a run. A new store is not waited for; an old one is, so that one which is refused stops the run before anything
    /// is written to a target.
    ///
    /// # Errors
    /// The store that was there is refused.
    pub(crate) fn begin(self, header: RunHeader, cells: Vec<CellRecord>) -> anyhow::Result<Books> {
        let Self { begin, opened, thread, existed } = self;
        let refused = existed && opened.recv().is_err();
        // Where the thread has ended, it says why when it is joined.
        let _ = begin.send((header, cells));
        drop(begin);
        let mut books = Books { thread, ready: None };
        if refused {
            books.store()?;
        }
        books.look()?;
        Ok(books)
    }
}

/// The store that a run goes into, with the run begun and claimed in it by the time that anyone looks.
#[derive(Debug)]
pub(crate) struct Books {
    thread: Thread,
    ready: Option<Ready>,
}

impl Books {
    /// Of a run that stands in the store already.
    pub(crate) fn ready(store: Store, claim: Claim) -> Self {
        Self { thread: Thread(None), ready: Some((store, Some(claim))) }
    }
    /// Finds out, without waiting, whether there will be no store: a measurement would be for nothing then.
    ///
    /// # Errors
    /// As of [`Books::store`].
    pub(crate) fn look(&mut self) -> anyhow::Result<()> {
        if self.thread.0.as_ref().is_some_and(JoinHandle::is_finished) {
            self.store()?;
        }
        Ok(())
    }
    /// The store, waited for where it has to be.
    ///
    /// # Errors
    /// The store cannot be opened or made, or the run cannot be begun in it. Only the first call says why.
    pub(crate) fn store(&mut self) -> anyhow::Result<&Store> {
        if let Some(result) = self.thread.join() {
            self.ready = Some(result?);
        }
        match &self.ready {
            Some((store, _)) => Ok(store),
            None => anyhow::bail!("the store is not available"),
        }
    }
}
