//! How full buckets of credits are when a load begins, as people type it.

use loadline_disk::Fullness;

/// How full buckets of credits are: `full`, `empty`, or one of them for each, `disks=full,vm=empty`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bursts {
    /// Of the disks.
    pub(crate) disks: Fullness,
    /// Of the virtual machine.
    pub(crate) vm: Fullness,
}

impl std::str::FromStr for Bursts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fullness = |word: &str| match word.trim() {
            "full" => Some(Fullness::Full),
            "empty" => Some(Fullness::Empty),
            _ => None,
        };
        let wanted = || "write full, empty, or both apart as in disks=full,vm=empty".to_owned();
        if let Some(both) = fullness(text) {
            return Ok(Self { disks: both, vm: both });
        }
        let (mut disks, mut vm) = (None, None);
        for part in text.split(',') {
            let (whose, word) = part.split_once('=').ok_or_else(wanted)?;
            let place = match whose.trim() {
                "disks" => &mut disks,
                "vm" => &mut vm,
                _ => return Err(wanted()),
            };
            if place.replace(fullness(word).ok_or_else(wanted)?).is_some() {
                return Err(format!("{} is there twice: {}", whose.trim(), wanted()));
            }
        }
        disks.zip(vm).map(|(disks, vm)| Self { disks, vm }).ok_or_else(wanted)
    }
}

impl std::fmt::Display for Bursts {
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
    fn both_may_be_told_at_once_or_apart() {
        let read = |text: &str| text.parse::<Bursts>().map(|found| (found.disks, found.vm));
        let (full, empty) = (Fullness::Full, Fullness::Empty);
        assert_eq!([read("full"), read("empty")], [Ok((full, full)), Ok((empty, empty))]);
        assert_eq!(read("disks=full,vm=empty"), Ok((full, empty)));
        assert_eq!(read("vm=full, disks=empty"), Ok((empty, full)));
        for text in ["full", "empty", "disks=full,vm=empty", "disks=empty,vm=full"] {
            assert_eq!(text.parse::<Bursts>().unwrap().to_string(), text);
        }
        // What is left open could mean either: it is asked for.
        for wrong in ["", "half", "disks=full", "vm=empty,vm=full", "disks=full,vm=half", "disk=full,vm=empty"] {
            assert!(read(wrong).unwrap_err().contains("disks=full,vm=empty"), "{wrong}");
        }
    }
}
