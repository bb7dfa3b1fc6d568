//! What the index asks of its volume, counted where it asks: bytes, requests, and the time of making them durable.

use std::cell::Cell;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback, WatchHandle,
    WritePtr,
};

/// Requests of this size reach the volume: the kernel joins what was written to a file until it is made durable.
const REQUEST: u64 = 256 << 10;

/// What one batch of work asked of the volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BatchIo {
    pub(crate) bytes: u64,
    pub(crate) writes: u64,
    pub(crate) syncs: u64,
    pub(crate) sync_ns: u64,
}

thread_local! {
    static OF_THREAD: Cell<BatchIo> = const { Cell::new(BatchIo { bytes: 0, writes: 0, syncs: 0, sync_ns: 0 }) };
}

impl BatchIo {
    /// A batch of the calling thread begins.
    pub(crate) fn begin() {
        OF_THREAD.set(Self::default());
    }
    /// What the calling thread asked since then.
    pub(crate) fn take() -> Self {
        OF_THREAD.take()
    }
}

/// The same of threads that are not ours.
#[derive(Debug, Default)]
pub(crate) struct IoTotals {
    /// The threads that merge.
    pub(crate) merges: SharedIo,
    /// The thread that commits.
    pub(crate) updater: SharedIo,
}

/// What a batch asks, as several threads count it.
#[derive(Debug, Default)]
pub(crate) struct SharedIo {
    bytes: AtomicU64,
    writes: AtomicU64,
    syncs: AtomicU64,
    sync_ns: AtomicU64,
}

impl SharedIo {
    fn add(&self, more: BatchIo) {
        self.bytes.fetch_add(more.bytes, Ordering::Relaxed);
        self.writes.fetch_add(more.writes, Ordering::Relaxed);
        self.syncs.fetch_add(more.syncs, Ordering::Relaxed);
        self.sync_ns.fetch_add(more.sync_ns, Ordering::Relaxed);
    }
    /// What was asked since the last call.
    pub(crate) fn take(&self) -> BatchIo {
        BatchIo {
            bytes: self.bytes.swap(0, Ordering::Relaxed),
            writes: self.writes.swap(0, Ordering::Relaxed),
            syncs: self.syncs.swap(0, Ordering::Relaxed),
            sync_ns: self.sync_ns.swap(0, Ordering::Relaxed),
        }
    }
}

impl IoTotals {
    fn count(&self, more: BatchIo) {
        let thread = std::thread::current();
        match thread.name() {
            Some(name) if name.starts_with("merge_thread") => self.merges.add(more),
            Some("segment_updater") => self.updater.add(more),
            _ => {
                let of = OF_THREAD.get();
                OF_THREAD.set(BatchIo {
                    bytes: of.bytes + more.bytes,
                    writes: of.writes + more.writes,
                    syncs: of.syncs + more.syncs,
                    sync_ns: of.sync_ns + more.sync_ns,
                });
            }
        }
    }
    /// Makes something durable, and counts that.
    fn sync<T>(&self, bytes: u64, durable: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = durable();
        let sync_ns = began.elapsed().as_nanos() as u64;
        self.count(BatchIo { bytes, writes: bytes.div_ceil(REQUEST), syncs: 1, sync_ns });
        result
    }
}

/// A directory that counts.
#[derive(Debug, Clone)]
pub(crate) struct CountedDirectory {
    inner: MmapDirectory,
    totals: Arc<IoTotals>,
}

impl CountedDirectory {
    pub(crate) const fn new(inner: MmapDirectory, totals: Arc<IoTotals>) -> Self {
        Self { inner, totals }
    }
}

struct CountedWriter {
    inner: WritePtr,
    bytes: u64,
    totals: Arc<IoTotals>,
}

impl Write for CountedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl TerminatingWrite for CountedWriter {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        self.inner.flush()?;
        let (inner, totals) = (&mut self.inner, &self.totals);
        totals.sync(self.bytes, || inner.terminate_ref(token))
    }
}

impl Directory for CountedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.inner.get_file_handle(path)
    }
    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.inner.delete(path)
    }
    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.inner.exists(path)
    }
    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let inner = self.inner.open_write(path)?;
        let writer = CountedWriter { inner, bytes: 0, totals: Arc::clone(&self.totals) };
        Ok(WritePtr::new(Box::new(writer)))
    }
    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.inner.atomic_read(path)
    }
    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.totals.sync(data.len() as u64, || self.inner.atomic_write(path, data))
    }
    fn sync_directory(&self) -> io::Result<()> {
        self.totals.sync(0, || self.inner.sync_directory())
    }
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.inner.acquire_lock(lock)
    }
    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.inner.watch(watch_callback)
    }
}
