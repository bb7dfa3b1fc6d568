//! Who may write: a lease with a number that only grows.
//!
//! A writer that takes the lease gets the next epoch, and puts it into the tags of its snapshots. Before each snapshot the lease is read: a
//! writer whose epoch is no longer the last one stops, and its packs are unreferenced.

use crate::RepositoryError;
use crate::repository::Repository;
use crate::storage::{LeaseVersion, StorageErrorKind};
use loadline_shelter_format::Timestamp;
use serde::{Deserialize, Serialize};

/// What the lease says. It is not sealed: names of machines are no secret, and it must be readable without a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// Grows by one with each taking.
    pub epoch: u64,
    /// Who has it: a name that differs between machines and between their lives.
    pub holder: String,
    /// When it was taken or renewed.
    pub renewed: Timestamp,
    /// Until when others leave it alone.
    pub until: Timestamp,
}

/// The right to write, as far as nobody has taken it since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    record: LeaseRecord,
    version: LeaseVersion,
}

impl Lease {
    /// The number that goes into the tags of snapshots, as `epoch=NUMBER`.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.record.epoch
    }
    /// Until when others leave it alone.
    #[must_use]
    pub fn until(&self) -> Timestamp {
        self.record.until
    }
    /// The tag of snapshots that are written under it.
    #[must_use]
    pub fn tag(&self) -> String {
        format!("epoch={}", self.record.epoch)
    }
}

/// What happens with the lease of somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseTaking {
    /// It is respected until it runs out.
    Polite,
    /// It is taken at once: the other writer stops at its next snapshot.
    Forced,
}

impl Repository {
    /// What the lease says, if there was ever one.
    ///
    /// # Errors
    /// The storage fails, or the lease makes no sense.
    pub fn lease(&self) -> Result<Option<LeaseRecord>, RepositoryError> {
        Ok(self.read_lease()?.map(|(record, _)| record))
    }

    fn read_lease(&self) -> Result<Option<(LeaseRecord, LeaseVersion)>, RepositoryError> {
        let Some((bytes, version)) = self.storage.read_lease()? else { return Ok(None) };
        let record = serde_json::from_slice(&bytes)
            .map_err(|_| RepositoryError::Unusable("the lease of the repository".to_owned(), "it makes no sense"))?;
        Ok(Some((record, version)))
    }

    /// Takes the lease for `holder` from `now` until `until`.
    ///
    /// # Errors
    /// [`RepositoryError::LeaseHeld`] when somebody else has it or was faster; otherwise the storage fails.
    pub fn take_lease(
        &self,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
        taking: LeaseTaking,
    ) -> Result<Lease, RepositoryError> {
        let current = self.read_lease()?;
        if let Some((record, _)) = &current
            && taking == LeaseTaking::Polite
            && record.holder != holder
            && record.until > now
        {
            return Err(RepositoryError::LeaseHeld { holder: record.holder.clone(), until: record.until });
        }
        let epoch = current.as_ref().map_or(0, |(record, _)| record.epoch) + 1;
        let record = LeaseRecord { epoch, holder: holder.to_owned(), renewed: now, until };
        self.put_lease(record, current.map(|(_, version)| version).as_ref())
    }

    /// Renews a lease until `until`; its epoch stays.
    ///
    /// # Errors
    /// [`RepositoryError::LeaseLost`] when somebody else took it; otherwise the storage fails.
    pub fn renew_lease(&self, lease: &mut Lease, now: Timestamp, until: Timestamp) -> Result<(), RepositoryError> {
        let record = LeaseRecord { renewed: now, until, ..lease.record.clone() };
        *lease = self.put_lease(record, Some(&lease.version)).map_err(|error| match error {
            RepositoryError::LeaseHeld { holder, .. } => RepositoryError::LeaseLost { holder },
            other => other,
        })?;
        Ok(())
    }

    /// The lease is still ours.
    ///
    /// # Errors
    /// [`RepositoryError::LeaseLost`] when somebody else took it; otherwise the storage fails.
    pub fn confirm_lease(&self, lease: &Lease) -> Result<(), RepositoryError> {
        match self.lease()? {
            Some(record) if record.epoch == lease.epoch() && record.holder == lease.record.holder => Ok(()),
            Some(record) => Err(RepositoryError::LeaseLost { holder: record.holder }),
            None => Err(RepositoryError::LeaseLost { holder: "nobody".to_owned() }),
        }
    }

    /// Gives the lease back: the next one who wants it need not wait.
    ///
    /// # Errors
    /// The storage fails. A lease that somebody else took is theirs, which is no error.
    pub fn release_lease(&self, lease: Lease, now: Timestamp) -> Result<(), RepositoryError> {
        let record = LeaseRecord { renewed: now, until: now, ..lease.record };
        match self.put_lease(record, Some(&lease.version)) {
            Ok(_) | Err(RepositoryError::LeaseHeld { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn put_lease(&self, record: LeaseRecord, expected: Option<&LeaseVersion>) -> Result<Lease, RepositoryError> {
        let bytes = serde_json::to_vec(&record).unwrap_or_default();
        match self.storage.replace_lease(expected, &bytes) {
            Ok(version) => Ok(Lease { record, version }),
            Err(error) if error.kind == StorageErrorKind::Conflict => match self.read_lease()? {
                // Our own request may have been sent twice, and the second one met what the first one wrote.
                Some((found, version)) if found == record => Ok(Lease { record, version }),
                Some((found, _)) => Err(RepositoryError::LeaseHeld { holder: found.holder, until: found.until }),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}
