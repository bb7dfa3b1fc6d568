//! How the volumes of an emulation become block devices.

/// How volumes become block devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AttachMethod {
    /// By ublk where the kernel has it, otherwise by FUSE.
    #[default]
    Auto,
    /// By ublk.
    Ublk,
    /// By FUSE and loop devices.
    Fuse,
}
