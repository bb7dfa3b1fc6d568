//! A repository in an object store: S3, Azure Blob or Google Cloud Storage, in restic's layout.

mod access;
mod failure;
mod http;

pub use access::{RetryBounds, StoreAccess, StoreVariables};

use super::StorageTraffic;
use super::{FileKind, LeaseVersion, ListedFile, RepositoryStorage, StorageError, StorageErrorKind, StoredFile};
use access::{CredentialOrigin, Provider};
use failure::StoreFailure;
use futures_util::TryStreamExt;
use http::{RequestCounters, ThreadConnector};
use loadline_shelter_format::ObjectId;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientConfigKey, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RetryConfig, UpdateVersion,
};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// A call may take this long, and longer for what it carries. A request that is under way ends by its own bounds.
const CALL_MAX: Duration = Duration::from_secs(120);
/// The slowest rate that is waited for, in bytes per second.
const RATE_MIN: u64 = 512 << 10;
/// How many files are written at once.
const WRITERS: usize = 8;
/// The longer wait is so many times the shorter one.
const BACKOFF_BASE: f64 = 2.0;

/// An object store.
#[derive(Debug)]
pub struct ObjectStorage {
    store: Box<dyn ObjectStore>,
    prefix: String,
    credentials: CredentialOrigin,
    counters: Arc<RequestCounters>,
    /// It keeps the time between two tries. Requests are sent by the threads that wait for them.
    runtime: Runtime,
}

fn unusable(address: &str, reason: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StorageError {
    StorageError::new("use", address, StorageErrorKind::Other, reason)
}

impl ObjectStorage {
    /// An object store by its address: `s3://BUCKET/PREFIX`, `azure://CONTAINER/PREFIX` or `gs://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// The address or a variable makes no sense. Nothing is asked of the store yet.
    pub fn open(address: &str, access: &StoreAccess) -> Result<Self, StorageError> {
        let (scheme, rest) = address.split_once("://").ok_or_else(|| unusable(address, "it has no scheme"))?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let provider =
            Provider::of(scheme).ok_or_else(|| unusable(address, "the scheme is none of s3, azure and gs"))?;
        let connector = ThreadConnector::default();
        let counters = Arc::clone(&connector.counters);
        let store = match provider {
            Provider::Amazon => amazon(bucket, access, connector),
            Provider::Azure => azure(bucket, access, connector),
            Provider::Google => google(bucket, access, connector),
        };
        let store = store.map_err(|error| unusable(address, error))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("object-store")
            .enable_time()
            .build()
            .map_err(|error| unusable(address, error))?;
        let credentials = access.variables.origin(provider);
        Ok(Self { store, prefix: prefix.trim_matches('/').to_owned(), credentials, counters, runtime })
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
        http::take_notes();
        match self.runtime.block_on(async { tokio::time::timeout(limit, call).await }) {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                let failure = StoreFailure::new(error, http::take_notes(), self.credentials.clone());
                Err(StorageError::new(attempt, what, failure.kind(), failure))
            }
            Err(error) => Err(StorageError::new(attempt, what, StorageErrorKind::TimedOut, error)),
        }
    }
}

type Store = Result<Box<dyn ObjectStore>, object_store::Error>;

fn retries(access: &StoreAccess) -> RetryConfig {
    let bounds = access.retries;
    let backoff = BackoffConfig { init_backoff: bounds.wait, max_backoff: bounds.wait_max, base: BACKOFF_BASE };
    RetryConfig { backoff, max_retries: bounds.count, retry_timeout: bounds.time }
}

/// Whether the address of a server says that it is not encrypted.
fn is_plain(access: &StoreAccess) -> bool {
    access.endpoint.as_deref().is_some_and(|endpoint| endpoint.starts_with("http://"))
}

fn amazon(bucket: &str, access: &StoreAccess, connector: ThreadConnector) -> Store {
    // Files are deleted one by one: not every server knows how to delete many.
    let mut builder = AmazonS3Builder::new().with_config(AmazonS3ConfigKey::DisableBulkDelete, "true");
    for (name, value) in access.variables.of(Provider::Amazon) {
        builder = builder.with_config(name.parse()?, value);
    }
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_endpoint(endpoint);
    }
    if is_plain(access) {
        builder = builder.with_allow_http(true);
    }
    let builder = builder.with_bucket_name(bucket).with_retry(retries(access)).with_http_connector(connector);
    Ok(Box::new(builder.build()?))
}

fn azure(container: &str, access: &StoreAccess, connector: ThreadConnector) -> Store {
    let mut builder = MicrosoftAzureBuilder::new();
    for (name, value) in access.variables.of(Provider::Azure) {
        builder = builder.with_config(name.parse()?, value);
    }
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_endpoint(endpoint.clone());
    }
    if is_plain(access) {
        builder = builder.with_allow_http(true);
    }
    let builder = builder.with_container_name(container).with_retry(retries(access)).with_http_connector(connector);
    Ok(Box::new(builder.build()?))
}

fn google(bucket: &str, access: &StoreAccess, connector: ThreadConnector) -> Store {
    // This builder allows plain HTTP for the metadata service, which allows it by itself.
    let plain = is_plain(access).to_string();
    let mut builder = GoogleCloudStorageBuilder::new();
    for (name, value) in access.variables.of(Provider::Google) {
        builder = builder.with_config(name.parse()?, value);
    }
    if let Some(endpoint) = &access.endpoint {
        builder = builder.with_base_url(endpoint);
    }
    let builder = builder
        .with_config(GoogleConfigKey::Client(ClientConfigKey::AllowHttp), plain)
        .with_bucket_name(bucket)
        .with_retry(retries(access))
        .with_http_connector(connector);
    Ok(Box::new(builder.build()?))
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

    fn traffic(&self) -> Option<StorageTraffic> {
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let RequestCounters { requests, failed, throttled } = &*self.counters;
        Some(StorageTraffic { requests: count(requests), failed: count(failed), throttled: count(throttled) })
    }
}
