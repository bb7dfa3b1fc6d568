//! Keeps the record of an emulation in a store while it goes on. One that is killed leaves its record so far.

use crate::{Error, files::store_location};
use loadline_record::RunRecord;
use loadline_store::{Claim, Store};
use parking_lot::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two records, at least.
const INTERVAL_MIN: Duration = Duration::from_secs(10);
/// The interval is at least one part in so many of the time gone by: a record of days is long.
const INTERVAL_PART: u32 = 20;

/// Keeps records on a thread of its own: a store that does not answer holds nobody up.
pub(super) struct RecordKeeper {
    records: SyncSender<RunRecord>,
    thread: JoinHandle<KeptRecord>,
    trouble: Arc<Mutex<Option<String>>>,
    begun: Instant,
    last: Instant,
}

/// The store, and the right to a run in it.
struct KeptRecord {
    path: PathBuf,
    store: Store,
    claim: Claim,
}

impl KeptRecord {
    /// Puts a record in place of the one before; where the store was removed or moved meanwhile, in a new one.
    fn put(&mut self, record: &RunRecord) -> Result<(), Error> {
        if self.store.replace_run(record).is_ok() {
            return Ok(());
        }
        self.store = store_location::open_store(&self.path)?;
        Ok(self.store.replace_run(record)?)
    }
}

impl RecordKeeper {
    /// Opens the store, and puts there that the run has begun: a store that cannot be written is
    /// known before there is anything to lose, and runs made meanwhile come after this one.
    ///
    /// # Errors
    /// The store cannot be opened, or written.
    pub(super) fn start(path: &Path, record: &RunRecord) -> Result<Self, Error> {
        let store = store_location::open_store(path)?;
        let claim = store.claim(&record.header.id)?;
        store.replace_run(record)?;
        let kept = KeptRecord { path: path.to_owned(), store, claim };
        let (records, received) = sync_channel(1);
        let trouble = Arc::default();
        let shared = Arc::clone(&trouble);
        let thread = std::thread::spawn(move || keep(kept, &received, &shared));
        let begun = Instant::now();
        Ok(Self { records, thread, trouble, begun, last: begun })
    }

    /// Whether it is time to keep what was done since the last time.
    pub(super) fn is_time(&self) -> bool {
        self.last.elapsed() >= INTERVAL_MIN.max(self.begun.elapsed() / INTERVAL_PART)
    }

    /// Keeps a record instead of the one before; where the store is not done with that yet, another time will do.
    pub(super) fn keep(&mut self, record: Option<RunRecord>) {
        self.last = Instant::now();
        if let Some(record) = record {
            let sent = self.records.try_send(record);
            debug_assert!(!matches!(sent, Err(TrySendError::Disconnected(_))), "the thread ends after this");
        }
    }

    /// Why the last record is not in the store, once.
    pub(super) fn trouble(&self) -> Option<String> {
        self.trouble.lock().take()
    }

    /// Keeps the last record.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(super) fn end(self, record: &RunRecord) -> Result<(), Error> {
        self.stop().put(record)
    }

    /// Removes the run from the store: nothing was done in it.
    ///
    /// # Errors
    /// The store cannot be written.
    pub(super) fn forget(self, run: &str) -> Result<(), Error> {
        let KeptRecord { store, claim, .. } = self.stop();
        // Removing a run takes the claim.
        drop(claim);
        Ok(store.remove(run)?)
    }

    fn stop(self) -> KeptRecord {
        drop(self.records);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Keeps what is received until nothing more can be.
fn keep(mut kept: KeptRecord, records: &Receiver<RunRecord>, trouble: &Mutex<Option<String>>) -> KeptRecord {
    for record in records {
        let failed = kept.put(&record).err().map(|error| error.to_string());
        *trouble.lock() = failed;
    }
    kept
}
