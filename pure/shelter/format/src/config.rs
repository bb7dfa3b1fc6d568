//! The file `config`: what a repository is.

use crate::{FormatError, ObjectId, Polynomial};
use serde::{Deserialize, Serialize};

/// What a repository is: its identity, and by which polynomial contents are cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryConfig {
    version: u32,
    /// The repository's identity: random, not a hash.
    pub id: ObjectId,
    /// By which contents are cut into chunks.
    pub chunker_polynomial: Polynomial,
}

impl RepositoryConfig {
    /// The version of the format that is written here.
    pub const VERSION: u32 = 2;

    /// A repository of version 2.
    #[must_use]
    pub fn new(id: ObjectId, chunker_polynomial: Polynomial) -> Self {
        Self { version: Self::VERSION, id, chunker_polynomial }
    }

    /// Out of the opened file.
    ///
    /// # Errors
    /// It does not make sense, or another version of the format is meant.
    pub fn decode(plain: &[u8]) -> Result<Self, FormatError> {
        let config: Self = serde_json::from_slice(plain).map_err(|error| FormatError::json("config", &error))?;
        if config.version != Self::VERSION {
            let detail = format!("version {} of the repository format is not supported, only 2", config.version);
            return Err(FormatError::invalid("config", detail));
        }
        Ok(config)
    }

    /// The bytes to seal.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}
