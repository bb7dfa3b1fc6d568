//! The burst credits that are left when a load begins, and how they are written.

use crate::spec::{Fullness, InitialState};

/// Burst credits of the disks and of the virtual machine: `full`, `empty`, or each apart, `disks=full,vm=empty`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstCredits {
    /// Of the disks.
    pub disks: Fullness,
    /// Of the virtual machine.
    pub vm: Fullness,
}

impl BurstCredits {
    /// All buckets full, as on a new disk.
    pub const FULL: Self = Self { disks: Fullness::Full, vm: Fullness::Full };

    /// The state of storage with these credits.
    #[must_use]
    pub fn initial_state(self) -> InitialState {
        let vm_bursts = Some(self.vm).filter(|vm| *vm != self.disks);
        InitialState { bursts: self.disks, vm_bursts, ..InitialState::default() }
    }
}

/// A text that says nothing of [`BurstCredits`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BurstCreditsError {
    /// Something else, or only one of the two.
    #[error("{HOW_WRITTEN}")]
    Unknown,
    /// One of the two is there twice.
    #[error("{whose} is there twice: {HOW_WRITTEN}")]
    Twice {
        /// "disks" or "vm".
        whose: String,
    },
}

const HOW_WRITTEN: &str = "write full, empty, or both apart as in disks=full,vm=empty";

impl std::str::FromStr for BurstCredits {
    type Err = BurstCreditsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fullness = |word: &str| match word.trim() {
            "full" => Some(Fullness::Full),
            "empty" => Some(Fullness::Empty),
            _ => None,
        };
        if let Some(both) = fullness(text) {
            return Ok(Self { disks: both, vm: both });
        }
        let (mut disks, mut vm) = (None, None);
        for part in text.split(',') {
            let (whose, word) = part.split_once('=').ok_or(BurstCreditsError::Unknown)?;
            let place = match whose.trim() {
                "disks" => &mut disks,
                "vm" => &mut vm,
                _ => return Err(BurstCreditsError::Unknown),
            };
            if place.replace(fullness(word).ok_or(BurstCreditsError::Unknown)?).is_some() {
                return Err(BurstCreditsError::Twice { whose: whose.trim().to_owned() });
            }
        }
        disks.zip(vm).map(|(disks, vm)| Self { disks, vm }).ok_or(BurstCreditsError::Unknown)
    }
}

impl std::fmt::Display for BurstCredits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = |fullness| if fullness == Fullness::Full { "full" } else { "empty" };
        if self.disks == self.vm {
            f.write_str(word(self.disks))
        } else {
            write!(f, "disks={},vm={}", word(self.disks), word(self.vm))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_written_for_both_at_once_or_apart() {
        let read = |text: &str| text.parse::<BurstCredits>().map(|found| (found.disks, found.vm));
        let (full, empty) = (Fullness::Full, Fullness::Empty);
        assert_eq!([read("full"), read("empty")], [Ok((full, full)), Ok((empty, empty))]);
        assert_eq!(read("disks=full,vm=empty"), Ok((full, empty)));
        assert_eq!(read("vm=full, disks=empty"), Ok((empty, full)));
        for text in ["full", "empty", "disks=full,vm=empty", "disks=empty,vm=full"] {
            assert_eq!(text.parse::<BurstCredits>().unwrap().to_string(), text);
        }
        // What is left open could mean either: it is asked for.
        for wrong in ["", "half", "disks=full", "vm=empty,vm=full", "disks=full,vm=half", "disk=full,vm=empty"] {
            assert!(read(wrong).unwrap_err().to_string().contains("disks=full,vm=empty"), "{wrong}");
        }
    }
}
