//! In which state modelled storage is when a load begins.

use crate::trial::is_filled;
use loadline_disk::{Fullness, InitialState, Warmth};
use loadline_workload::LoadSpec;

/// In which state a model's storage is when a load begins; by default bursts are full, and caches follow the load.
#[derive(Debug, Clone, Copy, Default)]
pub struct Initially {
    /// Credits of disks.
    pub bursts: Fullness,
    /// Those of the virtual machine; `None`: as the disks'.
    pub vm_bursts: Option<Fullness>,
    /// `None`: warm where the target of a measurement would have been filled before.
    pub caches: Option<Warmth>,
}

impl Initially {
    /// For `load`.
    #[must_use]
    pub fn of(self, load: &LoadSpec) -> InitialState {
        let filled = if is_filled(load) { Warmth::Warm } else { Warmth::Cold };
        InitialState { bursts: self.bursts, vm_bursts: self.vm_bursts, caches: self.caches.unwrap_or(filled) }
    }
}
