//! Blobs into packs, packs into the storage.

use crate::RepositoryError;
use crate::blob_index::IdSet;
use crate::nonces::Nonces;
use crate::pacing::{PacedStep, Pacing, Permission};
use crate::repository::Repository;
use crate::storage::{FileKind, StoredFile};
use loadline_shelter_format::{BlobKind, Compression, IndexedPack, ObjectId, PackBuilder};
use loadline_units::Bytes;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// A pack is full from this length on.
const PACK_TARGET: usize = 16 << 20;

/// A pack and its bytes.
type FullPack = (IndexedPack, Vec<u8>);

/// Where the threads of a save put their packs.
pub(crate) struct PackSink<'a> {
    pub(crate) repository: &'a Repository,
    pacing: &'a dyn Pacing,
    pending: Mutex<IdSet>,
    /// Full packs on their way to the threads that write; `None` when nothing more comes.
    packs: Mutex<Option<SyncSender<FullPack>>>,
    waiting: Mutex<Receiver<FullPack>>,
    buffers: Mutex<Vec<Vec<u8>>>,
    stored: Mutex<Vec<IndexedPack>>,
    stored_bytes: AtomicU64,
    ended: AtomicBool,
    failure: Mutex<Option<RepositoryError>>,
}

impl<'a> PackSink<'a> {
    pub(crate) fn new(repository: &'a Repository, pacing: &'a dyn Pacing) -> Self {
        let (packs, waiting) = sync_channel(repository.storage.writers());
        Self {
            repository,
            pacing,
            pending: Mutex::default(),
            packs: Mutex::new(Some(packs)),
            waiting: Mutex::new(waiting),
            buffers: Mutex::default(),
            stored: Mutex::default(),
            stored_bytes: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// Set when all threads shall end.
    pub(crate) fn ended(&self) -> &AtomicBool {
        &self.ended
    }

    /// Ends all threads; the first reason counts.
    pub(crate) fn fail(&self, error: RepositoryError) {
        self.failure.lock().get_or_insert(error);
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(crate) fn take_failure(&self) -> Option<RepositoryError> {
        self.failure.lock().take()
    }

    /// Whether any blob came that the repository did not have.
    pub(crate) fn has_new_blobs(&self) -> bool {
        !self.pending.lock().is_empty()
    }

    /// Asks the pacing.
    pub(crate) fn pace(&self, step: PacedStep) -> Result<(), RepositoryError> {
        match self.pacing.before(step) {
            Permission::Granted if !self.ended.load(Ordering::Relaxed) => Ok(()),
            _ => Err(RepositoryError::Stopped),
        }
    }

    /// One thread that writes packs, until [`Self::close`].
    pub(crate) fn write_packs(&self) {
        while let Some((pack, bytes)) = self.next_pack() {
            // When all shall end, packs are taken and dropped: a thread that waits for room goes on.
            if self.ended.load(Ordering::Relaxed) {
                continue;
            }
            let file = StoredFile::Named(FileKind::Pack, pack.id);
            let written = self
                .pace(PacedStep::WriteRepository(Bytes::new(bytes.len() as u64)))
                .and_then(|()| Ok(self.repository.storage.write(file, &bytes)?));
            match written {
                Ok(()) => {
                    self.stored_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    self.stored.lock().push(pack);
                    self.buffers.lock().push(bytes);
                }
                Err(error) => self.fail(error),
            }
        }
    }

    fn next_pack(&self) -> Option<FullPack> {
        self.waiting.lock().recv().ok()
    }

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        *self.packs.lock() = None;
    }

    /// The packs that were stored, and how many bytes they have.
    pub(crate) fn stored(self) -> (Vec<IndexedPack>, u64) {
        let packs = self.stored.into_inner();
        (packs, self.stored_bytes.into_inner())
    }

    fn send(&self, builder: PackBuilder, nonces: &mut Nonces) -> Result<(), RepositoryError> {
        if builder.is_empty() {
            return Ok(());
        }
        let (id, bytes, blobs) = builder.finish(&self.repository.key, nonces.next()?);
        let packs = self.packs.lock().clone().filter(|_| !self.ended.load(Ordering::Relaxed));
        packs.and_then(|packs| packs.send((IndexedPack { id, blobs }, bytes)).ok()).ok_or(RepositoryError::Stopped)
    }

    fn empty_pack(&self) -> PackBuilder {
        PackBuilder::with_buffer(self.buffers.lock().pop().unwrap_or_default())
    }
}

/// Fills packs with blobs of one kind; one for each thread.
pub(crate) struct Packer<'s, 'r> {
    pub(crate) sink: &'s PackSink<'r>,
    kind: BlobKind,
    builder: PackBuilder,
    compression: Compression,
    nonces: Nonces,
}

impl<'s, 'r> Packer<'s, 'r> {
    pub(crate) fn new(sink: &'s PackSink<'r>, kind: BlobKind) -> Result<Self, RepositoryError> {
        let compression = Compression::new()
            .map_err(|_| RepositoryError::Unusable("the compressor".to_owned(), "it has no memory"))?;
        Ok(Self { sink, kind, builder: sink.empty_pack(), compression, nonces: Nonces::new() })
    }

    /// Stores a blob unless the repository has it; its name.
    pub(crate) fn add(&mut self, plain: &[u8]) -> Result<ObjectId, RepositoryError> {
        let id = ObjectId::of(plain);
        if self.sink.repository.index.contains(id) || !self.sink.pending.lock().insert(id) {
            return Ok(id);
        }
        let nonce = self.nonces.next()?;
        self.builder.add(&self.sink.repository.key, self.kind, id, plain, nonce, &mut self.compression);
        if self.builder.len() >= PACK_TARGET {
            let full = std::mem::replace(&mut self.builder, self.sink.empty_pack());
            self.sink.send(full, &mut self.nonces)?;
        }
        Ok(id)
    }

    /// What is left in a pack that is not full.
    pub(crate) fn into_rest(self) -> PackBuilder {
        self.builder
    }

    /// Sends what is left, joined with what others left.
    pub(crate) fn finish(mut self, rests: Vec<PackBuilder>) -> Result<(), RepositoryError> {
        for rest in rests {
            if self.builder.len() + rest.len() > PACK_TARGET {
                let full = std::mem::replace(&mut self.builder, rest);
                self.sink.send(full, &mut self.nonces)?;
            } else {
                self.builder.append(&rest);
            }
        }
        self.sink.send(self.builder, &mut self.nonces)
    }
}
