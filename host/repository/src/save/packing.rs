//! Blobs into packs, packs into the storage.

use super::queue::{BoundedQueue, locked};
use crate::RepositoryError;
use crate::blob_index::IdSet;
use crate::nonces::Nonces;
use crate::pacing::{PacedStep, Pacing, Permission};
use crate::repository::Repository;
use crate::storage::{FileKind, StoredFile};
use loadline_repository_format::{BlobKind, Compression, IndexedPack, ObjectId, PackBuilder};
use loadline_units::Bytes;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A pack is full from this length on.
const PACK_TARGET: usize = 16 << 20;

/// Where the threads of a save put their packs.
pub(crate) struct PackSink<'a> {
    pub(crate) repository: &'a Repository,
    pacing: &'a dyn Pacing,
    pending: Mutex<IdSet>,
    packs: BoundedQueue<(IndexedPack, Vec<u8>)>,
    buffers: Mutex<Vec<Vec<u8>>>,
    stored: Mutex<Vec<IndexedPack>>,
    stored_bytes: AtomicU64,
    ended: AtomicBool,
    failure: Mutex<Option<RepositoryError>>,
}

impl<'a> PackSink<'a> {
    pub(crate) fn new(repository: &'a Repository, pacing: &'a dyn Pacing) -> Self {
        Self {
            repository,
            pacing,
            pending: Mutex::default(),
            packs: BoundedQueue::new(repository.storage.writers()),
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
        locked(&self.failure).get_or_insert(error);
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(crate) fn take_failure(&self) -> Option<RepositoryError> {
        locked(&self.failure).take()
    }

    /// Whether any blob came that the repository did not have.
    pub(crate) fn has_new_blobs(&self) -> bool {
        !locked(&self.pending).is_empty()
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
        while let Some((pack, bytes)) = self.packs.pop(&self.ended) {
            let file = StoredFile::Named(FileKind::Pack, pack.id);
            let written = self
                .pace(PacedStep::WriteRepository(Bytes::new(bytes.len() as u64)))
                .and_then(|()| Ok(self.repository.storage.write(file, &bytes)?));
            match written {
                Ok(()) => {
                    self.stored_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    locked(&self.stored).push(pack);
                    locked(&self.buffers).push(bytes);
                }
                Err(error) => self.fail(error),
            }
        }
    }

    /// Nothing more comes.
    pub(crate) fn close(&self) {
        self.packs.close();
    }

    /// The packs that were stored, and how many bytes they have.
    pub(crate) fn stored(self) -> (Vec<IndexedPack>, u64) {
        let packs = self.stored.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        (packs, self.stored_bytes.into_inner())
    }

    fn send(&self, builder: PackBuilder, nonces: &mut Nonces) -> Result<(), RepositoryError> {
        if builder.is_empty() {
            return Ok(());
        }
        let (id, bytes, blobs) = builder.finish(&self.repository.key, nonces.next()?);
        if self.packs.push((IndexedPack { id, blobs }, bytes), &self.ended) {
            Ok(())
        } else {
            Err(RepositoryError::Stopped)
        }
    }

    fn empty_pack(&self) -> PackBuilder {
        PackBuilder::with_buffer(locked(&self.buffers).pop().unwrap_or_default())
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
        if self.sink.repository.index.contains(id) || !locked(&self.sink.pending).insert(id) {
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
