//! What an emulation did so far, kept in the store while it goes on: one that is killed, or whose machine ends, leaves it there.

use crate::location;
use loadline_record::RunRecord;
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
    path: PathBuf,
    records: SyncSender<RunRecord>,
    thread: JoinHandle<Option<Kept>>,
    trouble: Arc<Mutex<Option<String>>>,
    begun: Instant,
    last: Instant,
}

/// The store, and the claim of the run in it, once there was something to keep.
type Kept = (Store, Claim);

impl Keeper {
    /// Nothing is made at `path` before there is something to keep.
    pub(crate) fn start(path: PathBuf) -> Self {
        let (records, received) = sync_channel(1);
        let trouble = Arc::default();
        let (place, told) = (path.clone(), Arc::clone(&trouble));
        let thread = std::thread::spawn(move || keep(&place, &received, &told));
        let begun = Instant::now();
        Self { path, records, thread, trouble, begun, last: begun }
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
    /// The store cannot be opened, or written.
    pub(crate) fn end(self, record: &RunRecord) -> anyhow::Result<()> {
        let Self { path, records, thread, .. } = self;
        drop(records);
        let mut kept = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        put(&path, &mut kept, record)
    }
}

/// Keeps what is received until nothing more can be.
fn keep(path: &Path, records: &Receiver<RunRecord>, trouble: &Mutex<Option<String>>) -> Option<Kept> {
    let mut kept = None;
    for record in records {
        let failed = put(path, &mut kept, &record).err().map(|error| format!("{error:#}"));
        *trouble.lock().unwrap_or_else(PoisonError::into_inner) = failed;
    }
    kept
}

fn put(path: &Path, kept: &mut Option<Kept>, record: &RunRecord) -> anyhow::Result<()> {
    if kept.is_none() {
        let store = location::open_store(path)?;
        let claim = store.claim(&record.header.id)?;
        *kept = Some((store, claim));
    }
    if let Some((store, _)) = kept {
        store.replace_run(record)?;
    }
    Ok(())
}
