//! Commands and structures of linux/ublk_cmd.h as bytes, in the machine's own order.

use std::io;

/// Features of the driver, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Features(pub(super) u64);

impl Features {
    const IOCTL_ENCODING: u64 = 1 << 6;
    const USER_COPY: u64 = 1 << 7;
    /// What a device is asked to have.
    pub(super) const WANTED: Self = Self(Self::IOCTL_ENCODING | Self::USER_COPY);

    pub(super) const fn are_enough(self) -> bool {
        self.0 & Self::WANTED.0 == Self::WANTED.0
    }
}

/// Bytes of [`Features`].
pub(super) const FEATURES: usize = 8;

/// Bytes of a control command (`struct ublksrv_ctrl_cmd`).
const CONTROL: usize = 32;
/// Bytes of a command of a queue (`struct ublksrv_io_cmd`).
const QUEUE: usize = 16;

/// Commands of `/dev/ublk-control`: number, and whether they write as well as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControlCode {
    Information,
    Add,
    Delete,
    Start,
    Stop,
    SetParameters,
    Features,
}

impl ControlCode {
    pub(super) const fn code(self) -> u32 {
        let code = match self {
            Self::Information => libc::_IOR::<[u8; CONTROL]>(KIND, 0x02),
            Self::Add => libc::_IOWR::<[u8; CONTROL]>(KIND, 0x04),
            Self::Delete => libc::_IOWR::<[u8; CONTROL]>(KIND, 0x05),
            Self::Start => libc::_IOWR::<[u8; CONTROL]>(KIND, 0x06),
            Self::Stop => libc::_IOWR::<[u8; CONTROL]>(KIND, 0x07),
            Self::SetParameters => libc::_IOWR::<[u8; CONTROL]>(KIND, 0x08),
            Self::Features => libc::_IOR::<[u8; CONTROL]>(KIND, 0x13),
        };
        code as u32
    }
}

/// The letter of ublk's commands.
const KIND: u32 = b'u' as u32;

/// Asks for the first request with a tag.
pub(super) const FETCH: u32 = libc::_IOWR::<[u8; QUEUE]>(KIND, 0x20) as u32;
/// Answers a request, and asks for the next one with its tag.
pub(super) const COMMIT_AND_FETCH: u32 = libc::_IOWR::<[u8; QUEUE]>(KIND, 0x21) as u32;

/// A control command, with the address and length of what it reads or writes, in the 80 bytes of a large ring entry.
pub(super) fn control(device: u32, memory: (u64, u16), data: u64) -> [u8; 80] {
    let (address, length) = memory;
    let mut bytes = [0; 80];
    let mut put = Put(&mut bytes);
    put.u32(device);
    // Of no queue.
    put.u16(u16::MAX);
    put.u16(length);
    put.u64(address);
    put.u64(data);
    bytes
}

/// A command of a queue; `result`: bytes, or a negative number of the system's.
pub(super) fn queue(number: u16, tag: u16, result: i32) -> [u8; QUEUE] {
    let mut bytes = [0; QUEUE];
    let mut put = Put(&mut bytes);
    put.u16(number);
    put.u16(tag);
    put.u32(result.cast_unsigned());
    bytes
}

/// Puts numbers at the front of what is left.
struct Put<'a>(&'a mut [u8]);

impl Put<'_> {
    fn bytes(&mut self, bytes: &[u8]) {
        let (head, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        head.copy_from_slice(bytes);
        self.0 = rest;
    }
    fn u8(&mut self, number: u8) {
        self.bytes(&[number]);
    }
    fn u16(&mut self, number: u16) {
        self.bytes(&number.to_ne_bytes());
    }
    fn u32(&mut self, number: u32) {
        self.bytes(&number.to_ne_bytes());
    }
    fn u64(&mut self, number: u64) {
        self.bytes(&number.to_ne_bytes());
    }
}

/// A device as the driver knows it (`struct ublksrv_ctrl_dev_info`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Information {
    /// N of `/dev/ublkbN`; `u32::MAX`: the driver chooses.
    pub id: u32,
    /// Queues of requests.
    pub queues: u16,
    /// Requests under way in each.
    pub depth: u16,
    /// Bytes of the longest read or write.
    pub transfer_max: u32,
    /// Of its maker: the driver keeps it and does nothing with it.
    pub mark: u64,
}

/// Bytes of [`Information`].
pub(super) const INFORMATION: usize = 64;

impl Information {
    pub(super) fn to_bytes(self) -> [u8; INFORMATION] {
        let mut bytes = [0; INFORMATION];
        let mut put = Put(&mut bytes);
        put.u16(self.queues);
        put.u16(self.depth);
        // Its state, and a gap.
        put.u32(0);
        put.u32(self.transfer_max);
        put.u32(self.id);
        // Its server's process, which is given when it starts, and a gap.
        put.u32(u32::MAX);
        put.u32(0);
        put.u64(Features::WANTED.0);
        put.u64(self.mark);
        bytes
    }

    pub(super) fn of(bytes: &[u8; INFORMATION]) -> Self {
        let u16_at = |at: usize| u16::from_ne_bytes(bytes[at..at + 2].try_into().expect("two bytes"));
        let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Self { queues: u16_at(0), depth: u16_at(2), transfer_max: u32_at(8), id: u32_at(12), mark: u64_at(32) }
    }

    /// Of bytes of [`Information::to_bytes`], or of the driver's.
    pub(super) fn features(bytes: &[u8; INFORMATION]) -> Features {
        Features(u64::from_ne_bytes(bytes[24..32].try_into().expect("eight bytes")))
    }
}

/// What the kernel is told of a device's blocks (`struct ublk_params` with its first two parts). Sizes of blocks are powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Sectors of 512 B that it has.
    pub sectors: u64,
    /// Bytes of the least block.
    pub block: u32,
    /// Bytes of a block that is as cheap as a smaller one.
    pub block_preferred: u32,
    /// Sectors of the longest read or write.
    pub sectors_max: u32,
    /// Sectors of the longest discard.
    pub discard_max: u32,
    /// Sectors of the longest write of zeroes.
    pub zeroes_max: u32,
    /// It spins.
    pub rotational: bool,
}

/// Bytes of [`Parameters`].
pub(super) const PARAMETERS: usize = 60;

impl Parameters {
    pub(super) fn to_bytes(self) -> [u8; PARAMETERS] {
        const BASIC_AND_DISCARD: u32 = 3;
        const ROTATIONAL: u32 = 1 << 1;
        const VOLATILE_CACHE: u32 = 1 << 2;
        const DURABLE_WRITES: u32 = 1 << 3;
        let spins = if self.rotational { ROTATIONAL } else { 0 };
        let preferred = self.block_preferred.trailing_zeros() as u8;
        let mut bytes = [0; PARAMETERS];
        let mut put = Put(&mut bytes);
        put.u32(PARAMETERS as u32);
        put.u32(BASIC_AND_DISCARD);
        put.u32(spins | VOLATILE_CACHE | DURABLE_WRITES);
        put.u8(self.block.trailing_zeros() as u8);
        // The physical block, the best and the least size of a request.
        for _ in 0..3 {
            put.u8(preferred);
        }
        put.u32(self.sectors_max);
        // No borders that requests must not cross.
        put.u32(0);
        put.u64(self.sectors);
        put.u64(0);
        put.u32(0);
        put.u32(self.block_preferred);
        put.u32(self.discard_max);
        put.u32(self.zeroes_max);
        // One range for each discard.
        put.u16(1);
        bytes
    }
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Its bytes are to be written to the device's file.
    Read,
    /// Its bytes are to be read from the device's file.
    Write,
    /// What was answered is to be durable.
    Flush,
    /// The range is not needed any more.
    Discard,
    /// The range is to read as zeroes; `hole`: its space may be given up.
    Zero {
        /// May be given up.
        hole: bool,
    },
    /// Something else, by its number.
    Other(u8),
}

/// A request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// It is answered by it; no two requests of a queue have the same at once.
    pub tag: u16,
    /// What is asked.
    pub operation: Operation,
    /// The write is answered when it is durable.
    pub durable: bool,
    /// Where it begins, in sectors of 512 B.
    pub sector: u64,
    /// How many sectors.
    pub sectors: u32,
}

/// Bytes of a request (`struct ublksrv_io_desc`).
pub(super) const REQUEST: usize = 24;

impl Request {
    /// Of its first 16 bytes, as the kernel wrote them.
    pub(super) fn of(tag: u16, words: [u32; 2], sector: u64) -> Self {
        const DURABLE: u32 = 1 << 13;
        const NO_HOLE: u32 = 1 << 15;
        let [asked, sectors] = words;
        let operation = match (asked & 0xff) as u8 {
            0 => Operation::Read,
            1 => Operation::Write,
            2 => Operation::Flush,
            3 => Operation::Discard,
            5 => Operation::Zero { hole: asked & NO_HOLE == 0 },
            other => Operation::Other(other),
        };
        Self { tag, operation, durable: asked & DURABLE != 0, sector, sectors }
    }
}

/// The most requests in a queue.
pub(super) const DEPTH_MAX: u16 = 4_096;

/// Where the requests of a queue lie in the device's file.
pub(super) fn requests_at(queue: u16, page: u64) -> u64 {
    u64::from(queue) * (u64::from(DEPTH_MAX) * REQUEST as u64).next_multiple_of(page)
}

/// Where the bytes of a request lie in the device's file, from `offset` of them on.
///
/// # Errors
/// They cannot be so many.
pub fn bytes_at(queue: u16, tag: u16, offset: u32) -> io::Result<u64> {
    const BASE: u64 = 0x8000_0000;
    if queue >= 1 << 12 || offset >= 1 << 25 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(BASE + (u64::from(queue) << 41 | u64::from(tag) << 25 | u64::from(offset)))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn commands_have_the_numbers_of_the_kernels_header() {
        use ControlCode::{Add, Delete, Features, Information, SetParameters, Start, Stop};
        let codes = [Information, Add, Delete, Start, Stop, SetParameters, Features].map(ControlCode::code);
        assert_eq!(codes, [0x8020_7502, 0xC020_7504, 0xC020_7505, 0xC020_7506, 0xC020_7507, 0xC020_7508, 0x8020_7513]);
        assert_eq!([FETCH, COMMIT_AND_FETCH], [0xC010_7520, 0xC010_7521]);
    }

    #[test]
    fn a_control_command_lies_in_the_entry_as_the_kernel_reads_it() {
        let bytes = control(3, (0x1122_3344_5566_7788, 64), 4_321);
        let mut expected = vec![3, 0, 0, 0, 0xff, 0xff, 64, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11];
        expected.extend([0xE1, 0x10, 0, 0, 0, 0, 0, 0]);
        expected.resize(80, 0);
        assert_eq!(bytes[..], expected);
    }

    #[test]
    fn an_answer_tells_its_queue_tag_and_result() {
        assert_eq!(queue(1, 258, 4_096), [1, 0, 2, 1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(queue(0, 0, -5)[4..8], [0xfb, 0xff, 0xff, 0xff]);
    }

    #[test]
    fn a_device_is_described_and_read_back() {
        let told =
            Information { id: u32::MAX, queues: 2, depth: 128, transfer_max: 1 << 20, mark: 0x0102_0304_0506_0708 };
        let bytes = told.to_bytes();
        let expected = [
            &[2, 0, 128, 0, 0, 0, 0, 0][..],
            &[0, 0, 16, 0, 0xff, 0xff, 0xff, 0xff],
            &[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
            &[0xc0, 0, 0, 0, 0, 0, 0, 0],
            &[8, 7, 6, 5, 4, 3, 2, 1],
            &[0; 24],
        ]
        .concat();
        assert_eq!(bytes[..], expected);
        assert_eq!(Information::of(&bytes), told);
        assert!(Information::features(&bytes).are_enough());
        assert!(!Features(1 << 6).are_enough());
    }

    #[test]
    fn the_kernel_is_told_of_blocks_cache_and_discards() {
        let told = Parameters {
            sectors: 0x0102_0304,
            block: 512,
            block_preferred: 4_096,
            sectors_max: 2_048,
            discard_max: 0x20_0000,
            zeroes_max: 0x1_0000,
            rotational: true,
        };
        let expected = [
            &[60, 0, 0, 0, 3, 0, 0, 0][..],
            &[0x0e, 0, 0, 0, 9, 12, 12, 12, 0, 8, 0, 0, 0, 0, 0, 0],
            &[4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0x20, 0, 0, 0, 1, 0, 1, 0, 0, 0],
        ]
        .concat();
        assert_eq!(told.to_bytes()[..], expected);
    }

    #[test]
    fn requests_are_told_apart_by_their_operation_and_flags() {
        let of = |asked| Request::of(7, [asked, 8], 4_096);
        assert_eq!(of(0).operation, Operation::Read);
        assert_eq!((of(1 | 1 << 13).operation, of(1 | 1 << 13).durable), (Operation::Write, true));
        assert_eq!(of(2).operation, Operation::Flush);
        assert_eq!(of(3).operation, Operation::Discard);
        assert_eq!(of(5).operation, Operation::Zero { hole: true });
        assert_eq!(of(5 | 1 << 15).operation, Operation::Zero { hole: false });
        assert_eq!(of(15).operation, Operation::Other(15));
        assert_eq!((of(0).tag, of(0).sector, of(0).sectors), (7, 4_096, 8));
    }

    #[test]
    fn requests_and_their_bytes_have_their_places_in_the_devices_file() {
        assert_eq!([0, 1, 2].map(|queue| requests_at(queue, 4_096)), [0, 98_304, 196_608]);
        assert_eq!(bytes_at(0, 0, 0).unwrap(), 0x8000_0000);
        assert_eq!(bytes_at(1, 2, 512).unwrap(), 0x8000_0000 + (1 << 41) + (2 << 25) + 512);
        assert!(bytes_at(0, 0, 1 << 25).is_err() && bytes_at(4_096, 0, 0).is_err());
    }
}
