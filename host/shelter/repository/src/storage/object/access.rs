//! What opens an object store: an address, a place to ask, and variables by the names that each provider's own tools use.

use super::super::{StorageError, StorageErrorKind};
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a credentials file at most.
const FILE_MAX: u64 = 64 << 10;
/// Variables that name files: their contents are credentials too.
const NAMING_FILES: [&str; 6] = [
    "aws_web_identity_token_file",
    "aws_container_authorization_token_file",
    "azure_federated_token_file",
    "google_application_credentials",
    "google_service_account",
    "google_service_account_path",
];
/// Names of other tools, restic among them, and ours.
const OTHER_NAMES: [(&str, &str); 6] = [
    ("azure_account_name", "azure_storage_account_name"),
    ("azure_account_key", "azure_storage_account_key"),
    ("azure_account_sas", "azure_storage_sas_key"),
    ("azure_storage_sas_token", "azure_storage_sas_key"),
    ("google_access_token", "google_bearer_token"),
    ("identity_endpoint", "azure_msi_endpoint"),
];

/// The provider of a store, by the scheme of its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provider {
    Amazon,
    Azure,
    Google,
}

impl Provider {
    pub(super) fn of(scheme: &str) -> Option<Self> {
        match scheme {
            "s3" => Some(Self::Amazon),
            "az" | "azure" => Some(Self::Azure),
            "gs" => Some(Self::Google),
            _ => None,
        }
    }

    /// The begin of its variables' names.
    fn prefix(self) -> &'static str {
        match self {
            Self::Amazon => "aws_",
            Self::Azure => "azure_",
            Self::Google => "google_",
        }
    }

    fn knows(self, name: &str) -> bool {
        match self {
            Self::Amazon => name.parse::<AmazonS3ConfigKey>().is_ok(),
            Self::Azure => name.parse::<AzureConfigKey>().is_ok(),
            Self::Google => name.parse::<GoogleConfigKey>().is_ok(),
        }
    }

    /// Variables that give credentials of their own.
    fn secrets(self) -> &'static [&'static str] {
        match self {
            Self::Amazon => &["aws_access_key_id", "aws_web_identity_token_file", "aws_skip_signature"],
            Self::Azure => &[
                "azure_storage_account_key",
                "azure_storage_access_key",
                "azure_storage_sas_key",
                "azure_client_secret",
                "azure_federated_token_file",
                "azure_storage_token",
            ],
            Self::Google => &[
                "google_service_account",
                "google_service_account_path",
                "google_service_account_key",
                "google_application_credentials",
                "google_bearer_token",
            ],
        }
    }

    /// What to set where nothing is set.
    pub(super) fn wanted(self) -> &'static str {
        match self {
            Self::Amazon => "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role",
            Self::Azure => {
                "set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or give the machine an identity"
            }
            Self::Google => "set GOOGLE_APPLICATION_CREDENTIALS, or give the machine a service account",
        }
    }
}

/// Where variables come from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Environment,
    File(PathBuf),
}

/// Variables that open object stores, by names in lower case.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreVariables {
    origin: Origin,
    all: Vec<(String, String)>,
}

impl fmt::Debug for StoreVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.all.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("StoreVariables").field("origin", &self.origin).field("names", &names).finish()
    }
}

impl StoreVariables {
    /// Those of the environment.
    #[must_use]
    pub fn from_environment() -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let (name, value) = (name.to_str()?.to_ascii_lowercase(), value.to_str()?.to_owned());
            let name = ours(&name);
            ["aws_", "azure_", "google_"].iter().any(|prefix| name.starts_with(prefix)).then_some((name, value))
        });
        Self { origin: Origin::Environment, all: variables.collect() }
    }

    /// Those of a file of lines such as `AWS_ACCESS_KEY_ID=...`, as systemd's `EnvironmentFile` has them. The environment is not
    /// read then.
    ///
    /// # Errors
    /// The file cannot be read, or a line is none.
    pub fn read(path: &Path) -> Result<Self, StorageError> {
        let failed = |error| StorageError::of_io("read", path.display().to_string(), error);
        let mut text = String::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(FILE_MAX).read_to_string(&mut text).map_err(failed)?;
        let mut all = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line.starts_with(';') {
                continue;
            }
            let place = || format!("line {} of {}", index + 1, path.display());
            let unusable = |reason: String| StorageError::new("use", place(), StorageErrorKind::Other, reason);
            let line = line.strip_prefix("export ").unwrap_or(line);
            let (name, value) = line.split_once('=').ok_or_else(|| unusable("it is no NAME=VALUE".to_owned()))?;
            let name = ours(&name.trim().to_ascii_lowercase());
            if !["aws_", "azure_", "google_"].iter().any(|prefix| name.starts_with(prefix)) {
                let upper = name.to_ascii_uppercase();
                return Err(unusable(format!("{upper} is no variable of AWS, AZURE or GOOGLE")));
            }
            all.push((name, unquoted(value.trim()).to_owned()));
        }
        Ok(Self { origin: Origin::File(path.to_path_buf()), all })
    }

    /// Given variables instead of the environment's.
    #[must_use]
    pub fn given(all: &[(&str, &str)]) -> Self {
        let all = all.iter().map(|(name, value)| (ours(&name.to_ascii_lowercase()), (*value).to_owned()));
        Self { origin: Origin::Environment, all: all.collect() }
    }

    /// Files that hold credentials: the one that was read, and those that variables name.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let own = match &self.origin {
            Origin::Environment => None,
            Origin::File(path) => Some(path.clone()),
        };
        let named = self.all.iter().filter(|(name, _)| NAMING_FILES.contains(&name.as_str()));
        own.into_iter().chain(named.map(|(_, path)| PathBuf::from(path))).collect()
    }

    /// The variables of a provider that it knows.
    pub(super) fn of(&self, provider: Provider) -> impl Iterator<Item = (&str, &str)> {
        let known =
            self.all.iter().filter(move |(name, _)| name.starts_with(provider.prefix()) && provider.knows(name));
        known.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Where the credentials of a provider come from, in words.
    pub(super) fn origin(&self, provider: Provider) -> CredentialOrigin {
        if !self.of(provider).any(|(name, _)| provider.secrets().contains(&name)) {
            return CredentialOrigin { text: None, wanted: provider.wanted() };
        }
        let text = match &self.origin {
            Origin::Environment => "the environment".to_owned(),
            Origin::File(path) => path.display().to_string(),
        };
        CredentialOrigin { text: Some(text), wanted: provider.wanted() }
    }
}

/// Where credentials come from.
#[derive(Debug, Clone)]
pub(super) struct CredentialOrigin {
    /// `None`: from the machine's metadata service.
    pub(super) text: Option<String>,
    /// What to set instead.
    pub(super) wanted: &'static str,
}

/// A name as it is known here.
fn ours(name: &str) -> String {
    OTHER_NAMES.iter().find(|(other, _)| *other == name).map_or(name, |(_, ours)| ours).to_owned()
}

fn unquoted(value: &str) -> &str {
    let inner = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

/// How often a request is repeated after errors of the network or the server, and for how long. The wait doubles each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryBounds {
    /// Repetitions of one request at most.
    pub count: usize,
    /// The first wait.
    pub wait: Duration,
    /// The longest wait.
    pub wait_max: Duration,
    /// No repetition begins later than this after the first request.
    pub time: Duration,
}

impl Default for RetryBounds {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { count: 8, wait: Duration::from_millis(200), wait_max: seconds(5), time: seconds(40) }
    }
}

/// What opens an object store.
#[derive(Debug, Clone)]
pub struct StoreAccess {
    /// Where the store answers, if it is not the cloud's own: `http://...` is plain.
    pub endpoint: Option<String>,
    /// Credentials and the like.
    pub variables: StoreVariables,
    /// When a request is given up.
    pub retries: RetryBounds,
}

impl StoreAccess {
    /// With these variables, and everything else as usual.
    #[must_use]
    pub fn new(variables: StoreVariables) -> Self {
        Self { endpoint: None, variables, retries: RetryBounds::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.env");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn a_file_has_the_names_of_each_provider_and_of_restic() {
        let (_folder, path) = written(
            "# keys\nAWS_ACCESS_KEY_ID = id\nexport AWS_SECRET_ACCESS_KEY=\"a=b\"\n\nAZURE_ACCOUNT_NAME=me\n\
             GOOGLE_APPLICATION_CREDENTIALS='/etc/gcp.json'\n",
        );
        let variables = StoreVariables::read(&path).unwrap();
        let amazon: Vec<_> = variables.of(Provider::Amazon).collect();
        assert_eq!(amazon, [("aws_access_key_id", "id"), ("aws_secret_access_key", "a=b")]);
        let azure: Vec<_> = variables.of(Provider::Azure).collect();
        assert_eq!(azure, [("azure_storage_account_name", "me")]);
        assert_eq!(variables.files(), [path.clone(), PathBuf::from("/etc/gcp.json")]);
        assert_eq!(variables.origin(Provider::Amazon).text, Some(path.display().to_string()));
        assert_eq!(variables.origin(Provider::Azure).text, None, "a name alone opens nothing");
        assert!(!format!("{variables:?}").contains("a=b"), "no secret is ever printed");
    }

    #[test]
    fn a_line_that_is_none_is_refused_at_its_place_without_its_text() {
        for (text, line, reason) in [
            ("AWS_REGION=x\nsecret-by-mistake\n", "line 2", "no NAME=VALUE"),
            ("PATH=/bin\n", "line 1", "PATH is no variable of AWS"),
        ] {
            let (_folder, path) = written(text);
            let error = StoreVariables::read(&path).unwrap_err().to_string();
            assert!(error.contains(line) && error.contains(reason), "{error}");
            assert!(!error.contains("secret-by-mistake"), "{error}");
        }
    }
}
