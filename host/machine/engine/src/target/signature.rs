//! What a device or file carries already: partition tables, file systems, members of larger stores, virtual disks.
//!
//! Places and magics are those of util-linux' libblkid and of the formats' own headers. Only the first and last MiB are read.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Read at each end.
const END_BYTES: u64 = 1 << 20;

/// Something recognised, with what it is to be called by when it is handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// ext4, GPT partition table, ...
    pub kind: &'static str,
    /// UUID or serial of the format, else a fingerprint of its header.
    pub identity: String,
}

/// Where in a header its identity lies.
#[derive(Debug, Clone, Copy)]
enum Identity {
    /// 16 bytes in the order in which they are printed.
    Uuid(u64),
    /// So many ASCII characters at most.
    Text(u64, usize),
    /// 32 bits, little-endian, printed as XXXX-XXXX.
    Serial32(u64),
    /// 64 bits, little-endian, printed as 16 digits.
    Serial64(u64),
    /// None of its own: a fingerprint of the 512 bytes around the magic.
    Fingerprint,
}

/// One format known by bytes at a fixed place.
struct Format {
    kind: &'static str,
    at: u64,
    magic: &'static [u8],
    identity: Identity,
}

const fn format(kind: &'static str, at: u64, magic: &'static [u8], identity: Identity) -> Format {
    Format { kind, at, magic, identity }
}

const FORMATS: &[Format] = &[
    format("XFS", 0, b"XFSB", Identity::Uuid(32)),
    format("btrfs", 65_600, b"_BHRfS_M", Identity::Uuid(65_568)),
    format("F2FS", 1024, &0xF2F5_2010_u32.to_le_bytes(), Identity::Uuid(1024 + 108)),
    format("EROFS", 1024, &0xE0F5_E1E2_u32.to_le_bytes(), Identity::Uuid(1024 + 48)),
    format("JFS", 32_768, b"JFS1", Identity::Uuid(32_768 + 136)),
    format("ReiserFS", 65_588, b"ReIsErFs", Identity::Uuid(65_620)),
    format("ReiserFS", 65_588, b"ReIsEr2Fs", Identity::Uuid(65_620)),
    format("ReiserFS", 65_588, b"ReIsEr3Fs", Identity::Uuid(65_620)),
    format("OCFS2", 8192, b"OCFSV2", Identity::Fingerprint),
    format("OCFS2", 4096, b"OCFSV2", Identity::Fingerprint),
    format("OCFS2", 2048, b"OCFSV2", Identity::Fingerprint),
    format("OCFS2", 1024, b"OCFSV2", Identity::Fingerprint),
    format("GFS2", 65_536, &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1], Identity::Fingerprint),
    format("APFS", 32, b"NXSB", Identity::Uuid(72)),
    format("HFS+", 1024, b"H+\0\x04", Identity::Fingerprint),
    format("HFSX", 1024, b"HX\0\x05", Identity::Fingerprint),
    format("exFAT", 3, b"EXFAT   ", Identity::Serial32(100)),
    format("NTFS", 3, b"NTFS    ", Identity::Serial64(72)),
    format("ReFS", 3, b"ReFS\0", Identity::Fingerprint),
    format("BitLocker", 3, b"-FVE-FS-", Identity::Fingerprint),
    format("FAT32", 82, b"FAT32   ", Identity::Serial32(67)),
    format("FAT16", 54, b"FAT16   ", Identity::Serial32(39)),
    format("FAT12", 54, b"FAT12   ", Identity::Serial32(39)),
    format("FAT", 54, b"FAT     ", Identity::Serial32(39)),
    format("ISO 9660", 32_769, b"CD001", Identity::Fingerprint),
    format("UDF", 32_769, b"BEA01", Identity::Fingerprint),
    format("squashfs", 0, b"hsqs", Identity::Fingerprint),
    format("squashfs", 0, b"sqsh", Identity::Fingerprint),
    format("cramfs", 0, &0x28CD_3D45_u32.to_le_bytes(), Identity::Fingerprint),
    format("LUKS", 0, b"LUKS\xBA\xBE", Identity::Text(168, 40)),
    format("LUKS (second header)", 0x4000, b"SKUL\xBA\xBE", Identity::Text(0x4000 + 168, 40)),
    format(
        "bcache",
        4096 + 24,
        b"\xC6\x85\x73\xF6\x4E\x1A\x45\xCA\x82\x65\xF5\x7F\x48\xBA\x6D\x81",
        Identity::Uuid(4096 + 40),
    ),
    format(
        "bcachefs",
        4096 + 24,
        b"\xC6\x85\x73\xF6\x66\xCE\x90\xA9\xD9\x6A\x60\xCF\x80\x3D\xF7\xEF",
        Identity::Uuid(4096 + 56),
    ),
    format("RAID member (md 1.1)", 0, &0xA92B_4EFC_u32.to_le_bytes(), Identity::Uuid(16)),
    format("RAID member (md 1.2)", 4096, &0xA92B_4EFC_u32.to_le_bytes(), Identity::Uuid(4096 + 16)),
    format("Ceph BlueStore", 0, b"bluestore block device\n", Identity::Text(23, 36)),
    format("Oracle ASM", 32, b"ORCLDISK", Identity::Fingerprint),
    format("Stratis", 512 + 4, b"!Stra0tis\x86\xFF\x02^\x41rh", Identity::Fingerprint),
    format("VMFS", END_BYTES, &0xC001_D00D_u32.to_le_bytes(), Identity::Fingerprint),
    format("VDO", 0, b"dmvdo001", Identity::Fingerprint),
    format("QCOW2 virtual disk", 0, b"QFI\xFB", Identity::Fingerprint),
    format("VMDK virtual disk", 0, b"KDMV", Identity::Fingerprint),
    format("VHDX virtual disk", 0, b"vhdxfile", Identity::Fingerprint),
    format("VHD virtual disk", 0, b"conectix", Identity::Fingerprint),
    format("VDI virtual disk", 64, &[0x7F, 0x10, 0xDA, 0xBE], Identity::Fingerprint),
];

/// Page sizes of machines that may have written a swap header.
const SWAP_PAGES: [u64; 5] = [4096, 8192, 16_384, 32_768, 65_536];
const SWAP_MAGICS: [(&str, &[u8]); 6] = [
    ("swap", b"SWAPSPACE2"),
    ("swap", b"SWAP-SPACE"),
    ("suspended machine", b"S1SUSPEND\0"),
    ("suspended machine", b"S2SUSPEND\0"),
    ("suspended machine", b"ULSUSPEND\0"),
    ("suspended machine", b"LINHIB0001"),
];

/// Everything recognised on `file`, which is `size` bytes long, most telling first.
///
/// # Errors
/// It cannot be read.
pub fn signatures(file: &File, size: u64) -> io::Result<Vec<Signature>> {
    signatures_by(&mut |bytes, at| file.read_exact_at(bytes, at), size)
}

/// The same of bytes that `read` returns: that many, from the place given on.
pub(crate) fn signatures_by(
    read: &mut dyn FnMut(&mut [u8], u64) -> io::Result<()>,
    size: u64,
) -> io::Result<Vec<Signature>> {
    let ends = Ends::read(read, size)?;
    let mut found: Vec<Signature> = [ends.gpt(), ends.mbr()].into_iter().flatten().collect();
    found.extend(
        FORMATS
            .iter()
            .filter(|f| ends.has(f.at, f.magic))
            .map(|f| Signature { kind: f.kind, identity: ends.identity(f.identity, f.at) }),
    );
    found.extend(
        [ends.ext(), ends.swap(), ends.lvm(), ends.raid_at_end(), ends.zfs(), ends.vendor_raid()].into_iter().flatten(),
    );
    Ok(found)
}

/// The first and the last MiB.
struct Ends {
    size: u64,
    head: Vec<u8>,
    tail_at: u64,
    tail: Vec<u8>,
}

impl Ends {
    fn read(read: &mut dyn FnMut(&mut [u8], u64) -> io::Result<()>, size: u64) -> io::Result<Self> {
        let length = size.min(END_BYTES);
        // The magic of VMFS follows the first MiB.
        let head_length = size.min(END_BYTES + 4096);
        let tail_at = size - length;
        let mut head = vec![0; head_length as usize];
        let mut tail = vec![0; length as usize];
        read(&mut head, 0)?;
        read(&mut tail, tail_at)?;
        Ok(Self { size, head, tail_at, tail })
    }
    /// `length` bytes from `at`, if they were read.
    fn bytes(&self, at: u64, length: usize) -> Option<&[u8]> {
        let within = |part: &'_ [u8], base: u64| {
            let start = usize::try_from(at.checked_sub(base)?).ok()?;
            (start.checked_add(length)? <= part.len()).then_some(start)
        };
        if let Some(start) = within(&self.head, 0) {
            return Some(&self.head[start..start + length]);
        }
        let start = within(&self.tail, self.tail_at)?;
        Some(&self.tail[start..start + length])
    }
    fn has(&self, at: u64, magic: &[u8]) -> bool {
        self.bytes(at, magic.len()) == Some(magic)
    }
    fn u16(&self, at: u64) -> Option<u16> {
        self.bytes(at, 2).map(|b| u16::from_le_bytes([b[0], b[1]]))
    }
    fn u32(&self, at: u64) -> Option<u32> {
        self.bytes(at, 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes)
    }
    fn u64(&self, at: u64) -> Option<u64> {
        self.bytes(at, 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)
    }

    /// What the format calls itself; a fingerprint where that is empty.
    fn identity(&self, place: Identity, magic_at: u64) -> String {
        match place {
            Identity::Uuid(at) => self.bytes(at, 16).filter(|b| b.iter().any(|b| *b != 0)).map(uuid),
            Identity::Text(at, length) => self.bytes(at, length).map(ascii).filter(|text| !text.is_empty()),
            Identity::Serial32(at) => {
                self.u32(at).filter(|s| *s != 0).map(|s| format!("{:04X}-{:04X}", s >> 16, s & 0xFFFF))
            }
            Identity::Serial64(at) => self.u64(at).filter(|s| *s != 0).map(|s| format!("{s:016X}")),
            Identity::Fingerprint => None,
        }
        .unwrap_or_else(|| self.fingerprint(magic_at))
    }
    /// FNV-1a (64 bit) of the sector of the magic.
    fn fingerprint(&self, at: u64) -> String {
        let start = at - at % 512;
        let length = self.size.saturating_sub(start).min(512) as usize;
        let sector = self.bytes(start, length).unwrap_or_default();
        let hash =
            sector.iter().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3));
        format!("fingerprint-{hash:016x}")
    }

    fn gpt(&self) -> Option<Signature> {
        let last_sector = self.size.saturating_sub(512);
        let last_4k = self.size.saturating_sub(4096);
        let at = [512, 4096, last_sector, last_4k].into_iter().find(|at| self.has(*at, b"EFI PART"))?;
        let identity = self.bytes(at + 56, 16).map_or_else(|| self.fingerprint(at), guid);
        Some(Signature { kind: "GPT partition table", identity })
    }

    fn mbr(&self) -> Option<Signature> {
        if !self.has(510, &[0x55, 0xAA]) {
            return None;
        }
        let entries: Vec<&[u8]> = (0..4).filter_map(|i| self.bytes(446 + i * 16, 16)).collect();
        let sound = entries.iter().all(|e| matches!(e[0], 0 | 0x80));
        let used = entries.iter().any(|e| e[4] != 0 && e[12..16] != [0; 4]);
        if !(sound && used) {
            return None;
        }
        // blkid prints the disk identifier as eight digits.
        let identity = self.u32(440).filter(|id| *id != 0).map(|id| format!("{id:08x}"));
        Some(Signature { kind: "MBR partition table", identity: identity.unwrap_or_else(|| self.fingerprint(0)) })
    }

    fn ext(&self) -> Option<Signature> {
        const BLOCK: u64 = 1024;
        // The magic has but two bytes; revision and block size must make sense as well, or chance data would match.
        let sound = self.u16(BLOCK + 56)? == 0xEF53 && self.u32(BLOCK + 76)? <= 1 && self.u32(BLOCK + 24)? <= 6;
        if !sound {
            return None;
        }
        let (compatible, incompatible) = (self.u32(BLOCK + 92)?, self.u32(BLOCK + 96)?);
        let kind = if incompatible & 0x8 != 0 {
            "ext journal"
        } else if incompatible & (0x40 | 0x80 | 0x200) != 0 {
            "ext4"
        } else if compatible & 0x4 != 0 {
            "ext3"
        } else {
            "ext2"
        };
        Some(Signature { kind, identity: self.identity(Identity::Uuid(BLOCK + 104), BLOCK) })
    }

    fn swap(&self) -> Option<Signature> {
        let at = |page: &u64| SWAP_MAGICS.into_iter().find(|(_, magic)| self.has(page - 10, magic));
        let (page, (kind, _)) = SWAP_PAGES.into_iter().find_map(|page| Some((page, at(&page)?)))?;
        Some(Signature { kind, identity: self.identity(Identity::Uuid(1024 + 12), page - 10) })
    }

    fn lvm(&self) -> Option<Signature> {
        // The label lies in any of the first four sectors and says where the UUID is.
        let at = (0..4).map(|s| s * 512).find(|at| self.has(*at, b"LABELONE") && self.has(at + 24, b"LVM2 001"))?;
        let text = self.u32(at + 20).and_then(|offset| self.bytes(at + u64::from(offset), 32)).map(ascii)?;
        if text.len() != 32 {
            return Some(Signature { kind: "LVM physical volume", identity: self.fingerprint(at) });
        }
        // As LVM prints it: 6-4-4-4-4-4-6.
        let cuts = [0, 6, 10, 14, 18, 22, 26, 32];
        let parts: Vec<&str> = cuts.windows(2).map(|w| &text[w[0]..w[1]]).collect();
        Some(Signature { kind: "LVM physical volume", identity: parts.join("-") })
    }

    fn raid_at_end(&self) -> Option<Signature> {
        let magic = 0xA92B_4EFC_u32.to_le_bytes();
        let sectors = self.size / 512;
        let version_1_0 = (sectors.checked_sub(16)? & !7) * 512;
        if self.has(version_1_0, &magic) {
            let identity = self.identity(Identity::Uuid(version_1_0 + 16), version_1_0);
            return Some(Signature { kind: "RAID member (md 1.0)", identity });
        }
        let version_0_90 = (self.size & !0xFFFF).checked_sub(0x1_0000)?;
        if !self.has(version_0_90, &magic) {
            return None;
        }
        let mut bytes = self.bytes(version_0_90 + 20, 4)?.to_vec();
        bytes.extend_from_slice(self.bytes(version_0_90 + 52, 12)?);
        Some(Signature { kind: "RAID member (md 0.90)", identity: uuid(&bytes) })
    }

    fn zfs(&self) -> Option<Signature> {
        /// A label: 16 KiB of padding, 112 KiB of name-value pairs, 128 KiB of uberblocks; two at each end.
        const LABEL: u64 = 256 << 10;
        const UBERBLOCK_MAGIC: u64 = 0x00BA_B10C;
        let aligned_end = self.size - self.size % LABEL;
        let labels = [0, LABEL, aligned_end.saturating_sub(2 * LABEL), aligned_end.saturating_sub(LABEL)];
        let is_uberblock =
            |at: &u64| self.u64(*at).is_some_and(|m| m == UBERBLOCK_MAGIC || m.swap_bytes() == UBERBLOCK_MAGIC);
        let (label, at) = labels.into_iter().find_map(|label| {
            let mut places = (label + LABEL / 2..label + LABEL).step_by(1024);
            Some((label, places.find(is_uberblock)?))
        })?;
        // In XDR: the name padded to four bytes, the type, the count, then the value, all big-endian.
        let pairs = self.bytes(label + (16 << 10), 112 << 10).unwrap_or_default();
        let guid = pairs
            .windows(9)
            .position(|window| window == b"pool_guid")
            .and_then(|start| pairs.get(start + 20..start + 28))
            .and_then(|value| value.try_into().ok())
            .map(u64::from_be_bytes)
            .filter(|guid| *guid != 0);
        let identity = guid.map_or_else(|| self.fingerprint(at), |guid| guid.to_string());
        Some(Signature { kind: "ZFS pool member", identity })
    }

    fn vendor_raid(&self) -> Option<Signature> {
        let intel = self.size.checked_sub(1024)?;
        let ddf = self.size.checked_sub(512)?;
        let drbd = self.size.checked_sub(4096)?;
        let vhd = ddf;
        if self.has(intel, b"Intel Raid ISM Cfg Sig. ") {
            Some(Signature { kind: "RAID member (Intel)", identity: self.fingerprint(intel) })
        } else if self.has(ddf, &[0xDE, 0x11, 0xDE, 0x11]) {
            Some(Signature { kind: "RAID member (DDF)", identity: self.fingerprint(ddf) })
        } else if [0x8374_026B_u32, 0x8374_026C, 0x8374_026D].iter().any(|m| self.has(drbd + 60, &m.to_be_bytes())) {
            Some(Signature { kind: "DRBD", identity: self.fingerprint(drbd) })
        } else if self.has(vhd, b"conectix") && !self.has(0, b"conectix") {
            Some(Signature { kind: "VHD virtual disk", identity: self.fingerprint(vhd) })
        } else {
            None
        }
    }
}

/// 16 bytes as 8-4-4-4-12 digits.
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if [4, 6, 8, 10].contains(&index) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// A GUID in EFI's order: the first three fields are little-endian.
fn guid(bytes: &[u8]) -> String {
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    uuid(&order.map(|i: usize| bytes[i]))
}

/// The printable characters up to the first that is not.
fn ascii(bytes: &[u8]) -> String {
    bytes.iter().take_while(|b| b.is_ascii_graphic()).map(|b| char::from(*b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const SIZE: u64 = 64 << 20;

    fn image(parts: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile_in("/dev/shm").unwrap();
        file.set_len(SIZE).unwrap();
        for (at, bytes) in parts {
            file.write_all_at(bytes, *at).unwrap();
        }
        file
    }
    fn kinds(file: &File) -> Vec<&'static str> {
        signatures(file, SIZE).unwrap().iter().map(|s| s.kind).collect()
    }

    #[test]
    fn nothing_is_found_on_an_empty_or_tiny_file() {
        assert!(kinds(&image(&[])).is_empty());
        for size in [0_u64, 1, 511, 512, 1024, 4096, 70_000] {
            let file = tempfile::tempfile_in("/dev/shm").unwrap();
            file.set_len(size).unwrap();
            assert!(signatures(&file, size).unwrap().is_empty(), "{size}");
        }
    }

    #[test]
    fn every_format_of_the_table_is_found_and_has_an_identity() {
        for format in FORMATS {
            let file = image(&[(format.at, format.magic)]);
            let found = signatures(&file, SIZE).unwrap();
            let hit = found.iter().find(|s| s.kind == format.kind).unwrap_or_else(|| panic!("{}", format.kind));
            assert!(hit.identity.starts_with("fingerprint-"), "{}: an empty header names nothing", format.kind);
        }
    }

    #[test]
    fn a_partition_table_is_told_from_a_boot_sector_without_partitions() {
        let mut entry = [0_u8; 16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&2048_u32.to_le_bytes());
        entry[12..16].copy_from_slice(&65_536_u32.to_le_bytes());
        let table = image(&[(440, &0xDEAD_BEEF_u32.to_le_bytes()), (446, &entry), (510, &[0x55, 0xAA])]);
        let found = signatures(&table, SIZE).unwrap();
        assert_eq!(found, [Signature { kind: "MBR partition table", identity: "deadbeef".into() }]);
        assert!(kinds(&image(&[(510, &[0x55, 0xAA])])).is_empty());
    }

    #[test]
    fn a_gpt_is_found_at_either_end() {
        let mut header = [0_u8; 72];
        header[..8].copy_from_slice(b"EFI PART");
        for (i, byte) in (0_u8..16).enumerate() {
            header[56 + i] = byte;
        }
        for at in [512, 4096, SIZE - 512, SIZE - 4096] {
            let found = signatures(&image(&[(at, &header)]), SIZE).unwrap();
            assert_eq!(found[0].kind, "GPT partition table");
            assert_eq!(found[0].identity, "03020100-0504-0706-0809-0a0b0c0d0e0f");
        }
    }

    #[test]
    fn members_of_larger_stores_are_found() {
        let mut label = [0_u8; 64];
        label[..8].copy_from_slice(b"LABELONE");
        label[20] = 32;
        label[24..32].copy_from_slice(b"LVM2 001");
        label[32..].copy_from_slice(b"abcdefghijklmnopqrstuvwxyz012345");
        let lvm = signatures(&image(&[(512, &label)]), SIZE).unwrap();
        assert_eq!(lvm[0].identity, "abcdef-ghij-klmn-opqr-stuv-wxyz-012345");

        let magic = 0xA92B_4EFC_u32.to_le_bytes();
        let version_1_0 = (SIZE / 512 - 16) * 512;
        assert_eq!(kinds(&image(&[(version_1_0, &magic)])), ["RAID member (md 1.0)"]);
        assert_eq!(kinds(&image(&[(SIZE - 65_536, &magic)])), ["RAID member (md 0.90)"]);

        let mut pair = b"pool_guid\0\0\0".to_vec();
        for word in [8_u32, 1] {
            pair.extend(word.to_be_bytes());
        }
        pair.extend(1234_u64.to_be_bytes());
        let zfs = image(&[(20_000, &pair), ((128 << 10) + 4096, &0x00BA_B10C_u64.to_le_bytes())]);
        assert_eq!(signatures(&zfs, SIZE).unwrap(), [Signature { kind: "ZFS pool member", identity: "1234".into() }]);
    }

    #[test]
    fn chance_data_with_the_magic_of_ext_is_not_ext() {
        assert!(kinds(&image(&[(1024, &[0xFF; 256]), (1080, &0xEF53_u16.to_le_bytes())])).is_empty());
    }

    /// Formats an image with the given program, if it is installed.
    fn made_by(program: &str, arguments: &[&str]) -> Option<Vec<Signature>> {
        let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let size = 320 << 20;
        file.as_file().set_len(size).unwrap();
        let made = Command::new(program).args(arguments).arg(file.path()).output();
        if !made.is_ok_and(|m| m.status.success()) {
            println!("skipped: {program} is not here or does not work");
            return None;
        }
        Some(signatures(file.as_file(), size).unwrap())
    }

    #[test]
    fn what_the_formats_own_programs_make_is_found_with_its_uuid() {
        let uuid = "12345678-9abc-4def-8123-456789abcdef";
        let programs: [(&str, &[&str], &str); 6] = [
            ("mkfs.ext4", &["-q", "-F", "-U", uuid], "ext4"),
            ("mkfs.ext3", &["-q", "-F", "-U", uuid], "ext3"),
            ("mkfs.ext2", &["-q", "-F", "-U", uuid], "ext2"),
            ("mkfs.btrfs", &["-q", "-f", "-U", uuid], "btrfs"),
            ("mkfs.xfs", &["-q", "-f", "-m", "uuid=12345678-9abc-4def-8123-456789abcdef"], "XFS"),
            ("mkswap", &["-q", "-U", uuid], "swap"),
        ];
        for (program, arguments, kind) in programs {
            if let Some(found) = made_by(program, arguments) {
                assert_eq!(found, [Signature { kind, identity: uuid.into() }], "{program}");
            }
        }
    }
}
