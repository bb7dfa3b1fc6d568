//! What a fetch needs of the world: servers, a clock, pauses, and a key.

use crate::wall_clock;
use loadline_offers::FetchBounds;
use loadline_units::Timestamp;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// One request takes this long at most.
const REQUEST_TIME: Duration = Duration::from_secs(300);
/// Bytes of a key at most.
const KEY_MAX: u64 = 1 << 10;

/// How servers are reached, and how time passes.
pub struct Network<'n> {
    /// Where every connection goes, unencrypted and whatever host is named: a server of a test. `None`: to that host.
    pub only_to: Option<SocketAddr>,
    /// What one request takes at most.
    pub request_time: Duration,
    /// What all may take at most.
    pub bounds: FetchBounds,
    /// The wall clock.
    pub now: &'n dyn Fn() -> Timestamp,
    /// Lets so much time pass.
    pub pause: &'n dyn Fn(Duration),
}

impl Default for Network<'_> {
    fn default() -> Self {
        let bounds = FetchBounds::default();
        Self { only_to: None, request_time: REQUEST_TIME, bounds, now: &wall_clock::now, pause: &std::thread::sleep }
    }
}

/// A key of Google Cloud. It is shown nowhere.
#[derive(Clone)]
pub struct ApiKey(String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey")
    }
}

/// Why there is no key in a file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The system refuses.
    #[error("cannot be read")]
    Unreadable(#[from] io::Error),
    /// It is something else.
    #[error("has no key: one line of letters, digits, '-' and '_' is one")]
    NoKey,
}

impl ApiKey {
    /// The key in a file, which has nothing else.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let mut bytes = Vec::new();
        File::open(path)?.take(KEY_MAX + 1).read_to_end(&mut bytes)?;
        let key = bytes.trim_ascii();
        let is_key = key.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
        let is_short = !key.is_empty() && bytes.len() as u64 <= KEY_MAX;
        if is_key && is_short { Ok(Self(String::from_utf8_lossy(key).into_owned())) } else { Err(KeyError::NoKey) }
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}
