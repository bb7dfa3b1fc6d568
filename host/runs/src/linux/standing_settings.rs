//! Settings as they stand on this machine: targets wherever one is, and what the engine may do to them.

use crate::Settings;
use loadline_engine::Access;
use loadline_engine::target::{absolute, is_nbd_uri};
use std::path::Path;

impl Settings {
    /// The same, with targets that mean the same wherever one stands: what is stored with a run, to be resumed and checked from
    /// elsewhere.
    #[must_use]
    pub fn standing(&self) -> Self {
        let mut settings = self.clone();
        for named in &mut settings.targets {
            named.target = absolute(&named.target);
        }
        // The other words are serial numbers and UUIDs.
        for word in settings.overwrite.iter_mut().filter(|word| is_nbd_uri(word) || Path::new(word).exists()) {
            *word = absolute(word);
        }
        settings
    }

    /// What the engine may do to the targets.
    #[must_use]
    pub fn access(&self) -> Access {
        // A path is no serial and a serial is no path, so each word can stand for either.
        let (overwrite, identities) = (self.overwrite.clone(), self.overwrite.clone());
        Access { read_only: self.read_only, overwrite, identities }
    }
}
