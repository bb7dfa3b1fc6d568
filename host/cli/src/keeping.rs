//! What an emulation did so far, kept in the store while it goes on: one that is killed, or whose machine ends, leaves it there.

use anyhow::Context;
use loadline_record::RunRecord;
use loadline_runs::store_location;
use loadline_store::{Claim, Store};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two times at least.
const EVERY: Duration = Duration::from_secs(10);
/// And this part of all the time that has gone by: a record of days is long.
const SHARE: u32 = 20;

/// Keeps records on a thread of its own: a store that does not answer holds nobody up.
pub(crate) struct Keeper {
    records: SyncSender<RunRecord>,
    thread: JoinHandle<Kept>,
    trouble: Arc<Mutex<Option<String>>>,
    begun: Instant,
    last: Instant,
}

/// The store, and the right to a run in it.
struct Kept {
    path: PathBuf,
    store: Store,
    claim: Claim,
}

impl Kept {
    /// Puts a record in place of the one before; where the store was removed or moved meanwhile, in a new one.
    fn put(&mut self, record: &RunRecord) -> anyhow::Result<()> {
        if self.store.replace_run(record).is_ok() {
            return Ok(());
        }
        self.store = store_location::open_store(&self.path)?;
        Ok(self.store.replace_run(record)?)
    }
}

impl Keeper {
    /// Opens the store, and puts there that the run has begun: what cannot be kept is to be known before there is anything to lose,
    /// and runs that are made meanwhile are added after this one.
    ///
    /// # Errors
    /// The store cannot be opened, or written.
    pub(crate) fn start(path: &Path, record: &RunRecord) -> anyhow::Result<Self> {
        let start = || {
            let store = store_location::open_store(path)?;
            let claim = store.claim(&record.header.id)?;
            store.replace_run(record)?;
            anyhow::Ok(Kept { path: path.to_owned(), store, claim })
        };
        let kept = start().with_context(|| {
            format!(
                "cannot keep a record of this emulation in {}; --store FILE names another place, --no-record does without one",
                path.display()
            )
        })?;
        let (records, received) = sync_channel(1);
        let trouble = Arc::default();
        let told = Arc::clone(&trouble);
        let thread = std::thread::spawn(move || keep(kept, &received, &told));
        let begun = Instant::now();
        Ok(Self { records, thread, trouble, begun, last: begun })
    }

    /// Whether it is time to keep what was done since the last time.
    pub(crate) fn is_time(&self) -> bool {
        self.last.elapsed() >= EVERY.max(self.begun.elapsed() / SHARE)
    }

    /// Keeps a record instead of the one before; where the store is not done with that yet, another time will do.
    pub(crate) fn keep(&mut self, record: Option<RunRecord>) {
        self.last = Instant::now();
        if let Some(record) = record {
            let sent = self.records.try_send(record);
            debug_assert!(!matches!(sent, Err(TrySendError::Disconnected(_))), "the thread ends after this");
        }
    }

    /// Why the last record is not in the store, once.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the last record.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) fn end(self, record: &RunRecord) -> anyhow::Result<()> {
        self.stop().put(record)
    }

    /// Takes back that the run has begun: there is nothing to tell of it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(crate) fn forget(self, run: &str) -> anyhow::Result<()> {
        let Kept { store, claim, .. } = self.stop();
        // Who removes a run takes it for that.
        drop(claim);
        Ok(store.remove(run)?)
    }

    fn stop(self) -> Kept {
        drop(self.records);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Keeps what is received until nothing more can be.
fn keep(mut kept: Kept, records: &Receiver<RunRecord>, trouble: &Mutex<Option<String>>) -> Kept {
    for record in records {
        let failed = kept.put(&record).err().map(|error| format!("{error:#}"));
        *trouble.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }
    kept
}
