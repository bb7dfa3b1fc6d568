//! Kinds and modes of entries: Unix has them in one number, Go in another.

use serde::{Deserialize, Serialize};

/// What an entry of a folder is, in the words of restic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NodeKind {
    /// A regular file.
    #[default]
    #[serde(rename = "file")]
    File,
    /// A folder.
    #[serde(rename = "dir")]
    Folder,
    /// A symbolic link.
    #[serde(rename = "symlink")]
    Symlink,
    /// A block device.
    #[serde(rename = "dev")]
    BlockDevice,
    /// A character device.
    #[serde(rename = "chardev")]
    CharacterDevice,
    /// A named pipe.
    #[serde(rename = "fifo")]
    Fifo,
    /// A socket; saves leave them out, as restic does.
    #[serde(rename = "socket")]
    Socket,
}

impl NodeKind {
    const ALL: [(Self, u32, u32, &str); 7] = [
        (Self::File, 0o100_000, 0, "file"),
        (Self::Folder, 0o040_000, 1 << 31, "dir"),
        (Self::Symlink, 0o120_000, 1 << 27, "symlink"),
        (Self::BlockDevice, 0o060_000, 1 << 26, "dev"),
        (Self::CharacterDevice, 0o020_000, 1 << 26 | 1 << 21, "chardev"),
        (Self::Fifo, 0o010_000, 1 << 25, "fifo"),
        (Self::Socket, 0o140_000, 1 << 24, "socket"),
    ];

    /// Out of `st_mode`; `None` for what Linux does not have.
    #[must_use]
    pub fn of_unix_mode(mode: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, bits, ..)| mode & 0o170_000 == *bits).map(|(kind, ..)| kind)
    }
    fn entry(self) -> (Self, u32, u32, &'static str) {
        Self::ALL.into_iter().find(|(kind, ..)| *kind == self).unwrap_or(Self::ALL[0])
    }
    /// restic's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.entry().3
    }
}

/// Pairs of a bit of Unix and the bit of Go's `os.FileMode` with the same meaning.
const SPECIAL: [(u32, u32); 3] = [(0o4000, 1 << 23), (0o2000, 1 << 22), (0o1000, 1 << 20)];

/// Go's `os.FileMode` of a kind and its permissions, set-user-id, set-group-id and sticky bit.
#[must_use]
pub fn go_mode(kind: NodeKind, permissions: u32) -> u32 {
    let special = SPECIAL.iter().filter(|(unix, _)| permissions & unix != 0).map(|(_, go)| go).sum::<u32>();
    kind.entry().2 | special | permissions & 0o777
}

/// Permissions, set-user-id, set-group-id and sticky bit of Go's `os.FileMode`.
#[must_use]
pub fn unix_mode(go: u32) -> u32 {
    SPECIAL.iter().filter(|(_, bit)| go & bit != 0).map(|(unix, _)| unix).sum::<u32>() | go & 0o777
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_and_every_bit_comes_back() {
        for (kind, bits, ..) in NodeKind::ALL {
            assert_eq!(NodeKind::of_unix_mode(bits | 0o644), Some(kind));
            for permissions in 0..0o10_000 {
                assert_eq!(unix_mode(go_mode(kind, permissions)), permissions);
            }
        }
        assert_eq!(NodeKind::of_unix_mode(0), None);
        assert_eq!(go_mode(NodeKind::Folder, 0o1777), 0x8010_01ff);
    }
}
