//! Why a machine is not recognised.

use crate::recognition::MetadataError;
use loadline_recognition::AnswerError;

/// Why this machine is not recognised.
#[derive(Debug, thiserror::Error)]
pub enum RecognitionError {
    /// By its firmware the machine is in none of the clouds known.
    #[error("this machine is none of Azure, AWS and Google Cloud, as far as its firmware tells")]
    NoCloud,
    /// The machine is no Linux.
    #[error("a machine is recognised on Linux alone, by its firmware and its devices")]
    NotLinux,
    /// The cloud does not say what machine it is.
    #[error("the firmware says {cloud}, but what machine it is cannot be asked")]
    NotAsked {
        /// The cloud.
        cloud: &'static str,
        /// Why not.
        source: CloudSilence,
    },
}

/// Why a cloud does not say what machine it is.
#[derive(Debug, thiserror::Error)]
pub enum CloudSilence {
    /// Its metadata service does not answer.
    #[error(transparent)]
    Service(#[from] MetadataError),
    /// Its answer is not understood.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}
