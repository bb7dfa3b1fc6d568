//! Why an object store did not do what was asked, in plain words.

use super::super::StorageErrorKind;
use super::access::CredentialOrigin;
use super::http::{CallNotes, FailedRequest, StoreRefusal};
use std::fmt;

/// A failure of an object store.
#[derive(Debug)]
pub(super) struct StoreFailure {
    notes: CallNotes,
    credentials: CredentialOrigin,
    /// What the library says; it counts if no request was sent.
    library: object_store::Error,
}

impl std::error::Error for StoreFailure {}

impl StoreFailure {
    pub(super) fn new(library: object_store::Error, notes: CallNotes, credentials: CredentialOrigin) -> Self {
        Self { notes, credentials, library }
    }

    /// The kind of failure.
    pub(super) fn kind(&self) -> StorageErrorKind {
        use object_store::Error;
        match (&self.library, &self.notes.failed) {
            (Error::NotFound { .. }, _) => StorageErrorKind::Absent,
            (Error::AlreadyExists { .. } | Error::Precondition { .. }, _) => StorageErrorKind::Conflict,
            (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, _)
            | (_, Some(FailedRequest::Refused(StoreRefusal { status: 401 | 403, .. }))) => StorageErrorKind::Denied,
            (_, Some(FailedRequest::Refused(StoreRefusal { status: 507, .. }))) => StorageErrorKind::Full,
            (_, Some(FailedRequest::Refused(StoreRefusal { code: Some(code), .. }))) if is_full(code) => {
                StorageErrorKind::Full
            }
            (_, Some(FailedRequest::Unanswered { is_timeout: true, .. })) => StorageErrorKind::TimedOut,
            _ => StorageErrorKind::Other,
        }
    }

    fn refused(f: &mut fmt::Formatter<'_>, refusal: &StoreRefusal) -> fmt::Result {
        write!(f, "the store answered {}", refusal.status)?;
        if let Some(code) = &refusal.code {
            write!(f, " {code}")?;
        }
        if let Some(message) = &refusal.message {
            write!(f, " ({message})")?;
        }
        if let Some(region) = &refusal.region {
            write!(f, "; the bucket is in region {region}: set AWS_REGION={region}")?;
        }
        Ok(())
    }
}

fn is_full(code: &str) -> bool {
    ["QuotaExceeded", "StorageFull", "InsufficientStorage", "InsufficientCapacity"]
        .iter()
        .any(|full| code.contains(full))
}

impl fmt::Display for StoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.notes.failed {
            None => write!(f, "{}", self.library)?,
            Some(FailedRequest::Refused(refusal)) => Self::refused(f, refusal)?,
            Some(FailedRequest::Unanswered { host, reason, .. }) => write!(f, "no answer of {host}: {reason}")?,
        }
        if self.notes.requests > 1 {
            write!(f, ", after {} tries", self.notes.requests)?;
        }
        let is_denied = self.kind() == StorageErrorKind::Denied;
        match &self.credentials {
            CredentialOrigin { text: Some(origin), .. } if is_denied => {
                write!(f, "; the credentials come from {origin}")
            }
            // Without keys the machine's metadata service is asked: off a cloud there is none.
            CredentialOrigin { text: None, wanted } if is_denied || self.is_unanswered() => {
                write!(f, "; no credentials are given: {wanted}")
            }
            _ => Ok(()),
        }
    }
}

impl StoreFailure {
    fn is_unanswered(&self) -> bool {
        !matches!(self.notes.failed, Some(FailedRequest::Refused(_)))
    }
}
