//! A repository in an object store: S3, Azure Blob or Google Cloud Storage, in restic's layout.
//!
//! Credentials and addresses of other servers come from the environment, by the names that each provider's own tools use.

use super::{FileKind, LeaseVersion, ListedFile, RepositoryStorage, StorageError, StorageErrorKind, StoredFile};
use futures_util::TryStreamExt;
use loadline_repository_format::ObjectId;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{ClientConfigKey, ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A call may take this long, and longer for what it carries.
const CALL_MAX: Duration = Duration::from_secs(60);
/// The slowest rate that is waited for, in bytes per second.
const RATE_MIN: u64 = 512 << 10;
/// One request may take this long; calls end before.
const REQUEST_MAX: &str = "3600 seconds";
/// How many files are written at once.
const WRITERS: usize = 8;

/// An object store.
#[derive(Debug)]
pub struct ObjectStorage {
    store: Box<dyn ObjectStore>,
    prefix: String,
    runtime: Runtime,
}

fn unusable(address: &str, reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StorageError {
    StorageError::new("use", address, StorageErrorKind::Other, reason)
}

impl ObjectStorage {
    /// An object store by its address: `s3://BUCKET/PREFIX`, `az://CONTAINER/PREFIX` or `gs://BUCKET/PREFIX`. Options by the names that
    /// `object_store` gives them, such as `aws_endpoint`, come before the environment.
    ///
    /// # Errors
    /// The address, an option or the environment makes no sense. Nothing is asked of the store yet.
    pub fn open(address: &str, options: &[(String, String)]) -> Result<Self, StorageError> {
        // Another user of TLS in this process may have chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (scheme, rest) = address.split_once("://").ok_or_else(|| unusable(address, "it has no scheme"))?;
        let prefix = rest.split_once('/').map_or("", |(_, prefix)| prefix).trim_matches('/').to_owned();
        let store = match scheme {
            "s3" => s3(address, options),
            "az" => azure(address, options),
            "gs" => google(address, options),
            _ => return Err(unusable(address, "the scheme is none of s3, az and gs")),
        };
        let store = store.map_err(|error| unusable(address, error))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("object-store")
            .enable_all()
            .build()
            .map_err(|error| unusable(address, error))?;
        Ok(Self { store, prefix, runtime })
    }

    fn path(&self, below: &str) -> Path {
        Path::from(if self.prefix.is_empty() { below.to_owned() } else { format!("{}/{below}", self.prefix) })
    }

    /// Waits for an answer, as long as so many bytes may take.
    fn wait<T>(
        &self,
        attempt: &'static str,
        what: &str,
        length: u64,
        call: impl Future<Output = Result<T, object_store::Error>>,
    ) -> Result<T, StorageError> {
        let limit = CALL_MAX + Duration::from_secs(length / RATE_MIN);
        match self.runtime.block_on(async { tokio::time::timeout(limit, call).await }) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(StorageError::new(attempt, what, kind_of(&error), error)),
            Err(error) => Err(StorageError::new(attempt, what, StorageErrorKind::TimedOut, error)),
        }
    }
}

type Store = Result<Box<dyn ObjectStore>, object_store::Error>;

fn s3(address: &str, options: &[(String, String)]) -> Store {
    let mut builder = AmazonS3Builder::from_env()
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), REQUEST_MAX)
        .with_url(address);
    for (key, value) in options {
        builder = builder.with_config(key.parse()?, value);
    }
    Ok(Box::new(builder.build()?))
}

fn azure(address: &str, options: &[(String, String)]) -> Store {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_config(AzureConfigKey::Client(ClientConfigKey::Timeout), REQUEST_MAX)
        .with_url(address);
    for (key, value) in options {
        builder = builder.with_config(key.parse()?, value);
    }
    Ok(Box::new(builder.build()?))
}

fn google(address: &str, options: &[(String, String)]) -> Store {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_config(GoogleConfigKey::Client(ClientConfigKey::Timeout), REQUEST_MAX)
        .with_url(address);
    for (key, value) in options {
        builder = builder.with_config(key.parse()?, value);
    }
    Ok(Box::new(builder.build()?))
}

fn kind_of(error: &object_store::Error) -> StorageErrorKind {
    use object_store::Error;
    match error {
        Error::NotFound { .. } => StorageErrorKind::Absent,
        Error::AlreadyExists { .. } | Error::Precondition { .. } => StorageErrorKind::Conflict,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => StorageErrorKind::Denied,
        _ => StorageErrorKind::Other,
    }
}

const LEASE: &str = "loadline/lease";

/// A version as text: the tag of the contents, and the number where a store has one.
fn version_of(tag: Option<String>, version: Option<String>) -> LeaseVersion {
    LeaseVersion(format!("{}\n{}", tag.unwrap_or_default(), version.unwrap_or_default()))
}

fn update_of(version: &LeaseVersion) -> UpdateVersion {
    let (tag, number) = version.0.split_once('\n').unwrap_or((&version.0, ""));
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    UpdateVersion { e_tag: known(tag), version: known(number) }
}

impl RepositoryStorage for ObjectStorage {
    fn list(&self, kind: FileKind) -> Result<Vec<ListedFile>, StorageError> {
        let prefix = self.path(kind.folder());
        // A million files are a thousand pages.
        let objects: Vec<_> =
            self.wait("list", kind.folder(), 1 << 30, self.store.list(Some(&prefix)).try_collect())?;
        let listed = objects.into_iter().filter_map(|object: object_store::ObjectMeta| {
            let id = object.location.filename()?.parse::<ObjectId>().ok()?;
            Some(ListedFile { id, length: object.size })
        });
        Ok(listed.collect())
    }

    fn read(&self, file: StoredFile) -> Result<Vec<u8>, StorageError> {
        let (name, path) = (file.path(), self.path(&file.path()));
        let read = async { self.store.get(&path).await?.bytes().await };
        Ok(self.wait("read", &name, 64 << 20, read)?.to_vec())
    }

    fn read_range(&self, file: StoredFile, offset: u64, length: u64) -> Result<Vec<u8>, StorageError> {
        let (name, path) = (file.path(), self.path(&file.path()));
        let bytes = self.wait("read a part of", &name, length, self.store.get_range(&path, offset..offset + length))?;
        if bytes.len() as u64 == length {
            return Ok(bytes.to_vec());
        }
        Err(StorageError::new("read a part of", name, StorageErrorKind::Other, "the file is shorter"))
    }

    fn write(&self, file: StoredFile, bytes: &[u8]) -> Result<(), StorageError> {
        let (name, path) = (file.path(), self.path(&file.path()));
        let contents = bytes.to_vec();
        self.wait("write", &name, bytes.len() as u64, self.store.put(&path, contents.into()))?;
        Ok(())
    }

    fn delete(&self, file: StoredFile) -> Result<(), StorageError> {
        let (name, path) = (file.path(), self.path(&file.path()));
        match self.wait("delete", &name, 0, self.store.delete(&path)) {
            Err(error) if error.kind != StorageErrorKind::Absent => Err(error),
            _ => Ok(()),
        }
    }

    fn read_lease(&self) -> Result<Option<(Vec<u8>, LeaseVersion)>, StorageError> {
        let path = self.path(LEASE);
        let read = async {
            let answer = self.store.get(&path).await?;
            let version = version_of(answer.meta.e_tag.clone(), answer.meta.version.clone());
            Ok((answer.bytes().await?.to_vec(), version))
        };
        match self.wait("read", LEASE, 0, read) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.kind == StorageErrorKind::Absent => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn replace_lease(&self, expected: Option<&LeaseVersion>, bytes: &[u8]) -> Result<LeaseVersion, StorageError> {
        let mode = expected.map_or(PutMode::Create, |version| PutMode::Update(update_of(version)));
        let options = PutOptions { mode, ..PutOptions::default() };
        let (path, contents) = (self.path(LEASE), bytes.to_vec());
        let put = self.wait("replace", LEASE, 0, self.store.put_opts(&path, contents.into(), options))?;
        Ok(version_of(put.e_tag, put.version))
    }

    fn writers(&self) -> usize {
        WRITERS
    }
}
