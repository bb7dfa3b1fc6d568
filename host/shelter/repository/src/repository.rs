//! A repository that is open: its key, its configuration, and where every blob lies.

use crate::RepositoryError;
use crate::blob_index::BlobIndex;
use crate::nonces::random;
use crate::save::KnownRoot;
use crate::storage::{FileKind, RepositoryStorage, StorageErrorKind, StoredFile};
use loadline_shelter_format::{
    Decompression, FormatError, IndexFile, IndexedPack, KeyFile, MasterKey, ObjectId, Polynomial, RepositoryConfig,
    ScryptCost, SnapshotFile, Timestamp, decode_blob, decode_unpacked, encode_unpacked,
};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A snapshot with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// Its name.
    pub id: ObjectId,
    /// What it says.
    pub file: SnapshotFile,
}

/// How many blobs one index file has at most, as restic does.
const INDEX_BLOBS_MAX: usize = 50_000;

/// A repository that is open.
#[derive(Debug)]
pub struct Repository {
    pub(crate) storage: Arc<dyn RepositoryStorage>,
    pub(crate) key: MasterKey,
    pub(crate) config: RepositoryConfig,
    pub(crate) index: BlobIndex,
    /// What was on the disk when each root was saved last.
    pub(crate) known: BTreeMap<PathBuf, KnownRoot>,
}

impl Repository {
    /// Makes a repository. `now` is written into its key.
    ///
    /// # Errors
    /// There is one already, or the storage fails.
    pub fn create(
        storage: Arc<dyn RepositoryStorage>,
        password: &[u8],
        cost: ScryptCost,
        now: Timestamp,
    ) -> Result<Self, RepositoryError> {
        match storage.read(StoredFile::Config) {
            Ok(_) => return Err(RepositoryError::AlreadyThere),
            Err(error) if error.kind == StorageErrorKind::Absent => {}
            Err(error) => return Err(error.into()),
        }
        let key = MasterKey::from_random(random()?);
        let hostname = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let key_file = KeyFile::seal(&key, password, cost, random()?, random()?, now, &hostname)
            .map_err(|_| RepositoryError::Unusable("the cost of the key".to_owned(), "it is out of range"))?;
        let key_bytes = key_file.encode();
        storage.write(StoredFile::Named(FileKind::Key, ObjectId::of(&key_bytes)), &key_bytes)?;
        let config = RepositoryConfig::new(ObjectId(random()?), polynomial(random)?);
        let mut sealed = Vec::new();
        key.seal(random()?, &config.encode(), &mut sealed);
        storage.write(StoredFile::Config, &sealed)?;
        Ok(Self { storage, key, config, index: BlobIndex::default(), known: BTreeMap::new() })
    }

    /// Opens a repository by one of its passwords, and reads its index.
    ///
    /// # Errors
    /// There is none, the password does not open it, or it is damaged.
    pub fn open(storage: Arc<dyn RepositoryStorage>, password: &[u8]) -> Result<Self, RepositoryError> {
        let sealed = storage.read(StoredFile::Config).map_err(|error| match error.kind {
            StorageErrorKind::Absent => RepositoryError::NotThere,
            _ => error.into(),
        })?;
        let mut found = None;
        let mut damaged = None;
        for listed in storage.list(FileKind::Key)? {
            let file = StoredFile::Named(FileKind::Key, listed.id);
            let opened = KeyFile::decode(&storage.read(file)?).and_then(|key| key.open(password));
            match opened {
                Ok(key) => {
                    found = Some(key);
                    break;
                }
                Err(FormatError::NotAuthentic) => {}
                Err(source) => damaged = Some(RepositoryError::Damaged { file, source }),
            }
        }
        let key = found.ok_or_else(|| damaged.unwrap_or(RepositoryError::WrongPassword))?;
        let config = key
            .open(&sealed)
            .and_then(|plain| RepositoryConfig::decode(&plain))
            .map_err(|source| RepositoryError::Damaged { file: StoredFile::Config, source })?;
        let mut repository = Self { storage, key, config, index: BlobIndex::default(), known: BTreeMap::new() };
        repository.read_index()?;
        Ok(repository)
    }

    /// Reads the index again: what others wrote since is known afterwards.
    ///
    /// # Errors
    /// The storage fails, or an index is damaged.
    pub fn read_index(&mut self) -> Result<(), RepositoryError> {
        let mut index = BlobIndex::default();
        for listed in self.storage.list(FileKind::Index)? {
            let file = self.read_index_file(listed.id)?;
            file.packs.iter().for_each(|pack| index.add(pack));
        }
        self.index = index;
        Ok(())
    }

    pub(crate) fn read_index_file(&self, id: ObjectId) -> Result<IndexFile, RepositoryError> {
        let file = StoredFile::Named(FileKind::Index, id);
        IndexFile::decode(&self.read_unpacked(FileKind::Index, id)?)
            .map_err(|source| RepositoryError::Damaged { file, source })
    }

    /// The identity of this repository: random, made when it was created.
    #[must_use]
    pub fn id(&self) -> ObjectId {
        self.config.id
    }

    /// How many different blobs there are.
    #[must_use]
    pub fn blobs(&self) -> usize {
        self.index.len()
    }

    /// All snapshots, oldest first: by epoch, generation and time.
    ///
    /// # Errors
    /// The storage fails, or a snapshot is damaged.
    pub fn snapshots(&self) -> Result<Vec<StoredSnapshot>, RepositoryError> {
        self.snapshots_besides(&[])
    }

    /// The same, but those that are known already are not read again.
    ///
    /// # Errors
    /// As [`Repository::snapshots`].
    pub fn snapshots_besides(&self, known: &[StoredSnapshot]) -> Result<Vec<StoredSnapshot>, RepositoryError> {
        let listed = self.storage.list(FileKind::Snapshot)?;
        let known: BTreeMap<ObjectId, &StoredSnapshot> = known.iter().map(|known| (known.id, known)).collect();
        let read = |id: ObjectId| known.get(&id).map_or_else(|| self.snapshot(id), |known| Ok((*known).clone()));
        let mut snapshots: Vec<StoredSnapshot> =
            listed.iter().map(|listed| read(listed.id)).collect::<Result<_, _>>()?;
        snapshots.sort_by_key(|snapshot| (snapshot.file.order(), snapshot.id));
        Ok(snapshots)
    }

    /// One snapshot.
    ///
    /// # Errors
    /// There is none of this name, the storage fails, or it is damaged.
    pub fn snapshot(&self, id: ObjectId) -> Result<StoredSnapshot, RepositoryError> {
        let file = StoredFile::Named(FileKind::Snapshot, id);
        let json = self.read_unpacked(FileKind::Snapshot, id).map_err(|error| match error {
            RepositoryError::Storage(error) if error.kind == StorageErrorKind::Absent => {
                RepositoryError::NoSnapshot(id)
            }
            other => other,
        })?;
        let snapshot = SnapshotFile::decode(&json).map_err(|source| RepositoryError::Damaged { file, source })?;
        Ok(StoredSnapshot { id, file: snapshot })
    }

    /// The JSON of an index or snapshot, verified against its name.
    pub(crate) fn read_unpacked(&self, kind: FileKind, id: ObjectId) -> Result<Vec<u8>, RepositoryError> {
        let file = StoredFile::Named(kind, id);
        let sealed = self.storage.read(file)?;
        let damaged = |source| RepositoryError::Damaged { file, source };
        let found = ObjectId::of(&sealed);
        if found != id {
            return Err(damaged(FormatError::OtherContents { expected: id, found }));
        }
        self.key.open(&sealed).and_then(decode_unpacked).map_err(damaged)
    }

    /// Seals JSON as an index or snapshot: its name and its bytes.
    pub(crate) fn seal_unpacked(&self, json: &[u8]) -> Result<(ObjectId, Vec<u8>), RepositoryError> {
        let packed = encode_unpacked(json)
            .map_err(|_| RepositoryError::Unusable("the compressor".to_owned(), "it has no memory"))?;
        let mut sealed = Vec::new();
        self.key.seal(random()?, &packed, &mut sealed);
        Ok((ObjectId::of(&sealed), sealed))
    }

    /// Index files for these packs, sealed.
    pub(crate) fn seal_indexes(&self, packs: Vec<IndexedPack>) -> Result<Vec<(ObjectId, Vec<u8>)>, RepositoryError> {
        let mut files = Vec::new();
        let mut file = IndexFile::default();
        let mut blobs = 0;
        let count = packs.len();
        for (number, pack) in packs.into_iter().enumerate() {
            blobs += pack.blobs.len();
            file.packs.push(pack);
            if blobs >= INDEX_BLOBS_MAX || number + 1 == count {
                files.push(self.seal_unpacked(&std::mem::take(&mut file).encode())?);
                blobs = 0;
            }
        }
        Ok(files)
    }

    /// The contents of a blob.
    pub(crate) fn read_blob(&self, id: ObjectId, state: &mut Decompression) -> Result<Vec<u8>, RepositoryError> {
        let (pack, blob) = self.index.find(id).ok_or(RepositoryError::MissingBlob(id))?;
        let file = StoredFile::Named(FileKind::Pack, pack);
        let sealed = self.storage.read_range(file, u64::from(blob.offset), u64::from(blob.length))?;
        let mut plain = Vec::new();
        decode_blob(&self.key, &blob, &sealed, state, &mut plain)
            .map_err(|source| RepositoryError::Damaged { file, source })?;
        Ok(plain)
    }
}

/// Draws of words until one of them holds an irreducible polynomial.
const DRAWS_MAX: u32 = 32;

/// One of about 27 words is irreducible. A draw of 256 holds none once in 16,000 times, and all draws hold none only where randomness is
/// broken.
fn polynomial(mut draw: impl FnMut() -> Result<[u8; 2048], RepositoryError>) -> Result<Polynomial, RepositoryError> {
    for _ in 0..DRAWS_MAX {
        let bits = draw()?;
        let words = bits.chunks_exact(8).map(|word| word.iter().fold(0, |bits, byte| bits << 8 | u64::from(*byte)));
        if let Some(found) = Polynomial::from_random(words) {
            return Ok(found);
        }
    }
    Err(RepositoryError::Unusable("/dev/urandom".to_owned(), "its bytes are not random"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_without_an_irreducible_polynomial_is_followed_by_another() {
        let mut draws = 0;
        let found = polynomial(|| {
            draws += 1;
            if draws < 3 { Ok([0; 2048]) } else { random() }
        });
        assert!(found.is_ok() && draws >= 3, "{draws} draws");
        assert!(matches!(polynomial(|| Ok([0; 2048])), Err(RepositoryError::Unusable(..))));
    }
}
