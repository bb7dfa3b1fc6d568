//! Events of the block layer out of the bytes of a ring buffer, by the kernel's own description of their fields.

use loadline_block::Operation;

/// A field of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

/// Where the fields of one kind of event lie: what its `format` file says. Fields moved between kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFormat {
    id: u16,
    pid: Field,
    device: Field,
    sector: Field,
    sectors: Field,
    kinds: Field,
    error: Option<Field>,
}

/// An event's description without a field that is needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the kernel's description of an event has no {0}")]
pub struct FormatError(pub &'static str);

impl EventFormat {
    /// Reads an event's `format` file.
    ///
    /// # Errors
    /// [`FormatError`]: a field that is needed is not there.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        let field = |wanted: &'static str| {
            text.lines().find_map(|line| {
                let line = line.trim().strip_prefix("field:")?;
                let mut parts = line.split(';').map(str::trim);
                let declared = parts.next()?;
                let name = declared.rsplit(' ').next()?.split('[').next()?;
                let value = |part: &str, key: &str| part.strip_prefix(key)?.parse().ok();
                let (mut offset, mut size) = (None, None);
                for part in parts {
                    offset = offset.or_else(|| value(part, "offset:"));
                    size = size.or_else(|| value(part, "size:"));
                }
                (name == wanted).then_some(Field { offset: offset?, size: size? })
            })
        };
        let needed = |wanted| field(wanted).ok_or(FormatError(wanted));
        Ok(Self {
            id: id.ok_or(FormatError("ID"))?,
            pid: needed("common_pid")?,
            device: needed("dev")?,
            sector: needed("sector")?,
            sectors: needed("nr_sector")?,
            kinds: needed("rwbs")?,
            error: field("error"),
        })
    }

    /// The event, if the bytes are one of this kind.
    fn decode(&self, data: &[u8]) -> Option<Raw> {
        let id = u16::from_le_bytes(data.get(..2)?.try_into().ok()?);
        (id == self.id).then_some(())?;
        let number = |field: Field| {
            let bytes = data.get(field.offset..field.offset + field.size)?;
            let mut all = [0; 8];
            all.get_mut(..bytes.len())?.copy_from_slice(bytes);
            Some(u64::from_le_bytes(all))
        };
        let letters = data.get(self.kinds.offset..self.kinds.offset + self.kinds.size)?;
        let (operation, durable) = operation(letters)?;
        let (sector, sectors) = (number(self.sector)?, number(self.sectors)?);
        // Zeroes have a range. Commands that bypass the file system have the same letter, and no place.
        let has_place = sectors > 0 && sector != u64::MAX;
        (letters.first() != Some(&NO_DATA) || has_place).then_some(())?;
        Some(Raw {
            device: number(self.device)? as u32,
            sector,
            sectors,
            operation,
            durable,
            failed: self.error.and_then(number).is_some_and(|error| error as u32 != 0),
            pid: number(self.pid)? as u32,
        })
    }
}

/// What the kernel writes for an operation without a letter of its own: zeroes to be written, without the data (`REQ_OP_WRITE_ZEROES`), and
/// commands that bypass the block layer.
const NO_DATA: u8 = b'N';

/// The operation by the letters of an event, and whether it must be durable; `None` for anything else.
///
/// Zeroes without data may make holes. They cost a disk what a trim does, and are taken for one; the kernel counts them as writes. A leading `F` is a flush before the data, `F` at the place of the operation the flush itself, a later one forced unit access.
fn operation(letters: &[u8]) -> Option<(Operation, bool)> {
    let end = letters.iter().position(|letter| *letter == 0).unwrap_or(letters.len());
    let letters = &letters[..end];
    let kind = |letter: u8| match letter {
        b'R' => Some(Operation::Read),
        b'W' => Some(Operation::Write),
        b'D' | NO_DATA => Some(Operation::Trim),
        b'F' => Some(Operation::Flush),
        _ => None,
    };
    let (first, rest) = letters.split_first()?;
    let second = rest.first().copied().and_then(kind);
    let (operation, rest) = match (first, second) {
        (b'F', Some(operation)) => (operation, &rest[1..]),
        _ => (kind(*first)?, rest),
    };
    Some((operation, rest.contains(&b'F')))
}

struct Raw {
    device: u32,
    sector: u64,
    sectors: u64,
    operation: Operation,
    durable: bool,
    failed: bool,
    pid: u32,
}

/// What happened to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// It came to the block layer.
    Queued,
    /// It went to the device.
    Issued,
    /// The device answered it.
    Completed,
    /// It went back into the queue: it will be issued again.
    Requeued,
}

/// An event of the block layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockEvent {
    /// When, ns of the kernel's clock.
    pub at_ns: u64,
    /// What happened.
    pub what: Happening,
    /// The device's number: major times 2^20, plus minor.
    pub device: u32,
    /// Where the range begins, in sectors of 512 bytes from the beginning of the disk.
    pub sector: u64,
    /// How long it is.
    pub sectors: u64,
    /// What is asked.
    pub operation: Operation,
    /// It must be durable when it is answered.
    pub durable: bool,
    /// It failed.
    pub failed: bool,
    /// The thread that it happened in.
    pub pid: u32,
}

/// The descriptions of the events that are recorded.
#[derive(Debug, Clone, Default)]
pub struct Formats(Vec<(Happening, EventFormat)>);

impl Formats {
    /// Adds one.
    pub fn push(&mut self, what: Happening, format: EventFormat) {
        self.0.push((what, format));
    }

    /// The event that the bytes are; `None` for any other.
    #[must_use]
    pub fn decode(&self, at_ns: u64, data: &[u8]) -> Option<BlockEvent> {
        let (what, raw) = self.0.iter().find_map(|(what, format)| Some((*what, format.decode(data)?)))?;
        let Raw { device, sector, sectors, operation, durable, failed, pid } = raw;
        Some(BlockEvent { at_ns, what, device, sector, sectors, operation, durable, failed, pid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: block_rq_complete\nID: 2107\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    #[test]
    fn an_event_is_read_by_the_kernels_own_description() {
        let format = EventFormat::parse(FORMAT).unwrap();
        let mut data = vec![0; 44];
        data[..2].copy_from_slice(&2107_u16.to_le_bytes());
        data[4..8].copy_from_slice(&99_u32.to_le_bytes());
        data[8..12].copy_from_slice(&(7_u32 << 20 | 1).to_le_bytes());
        data[16..24].copy_from_slice(&2_048_u64.to_le_bytes());
        data[24..28].copy_from_slice(&8_u32.to_le_bytes());
        data[28..32].copy_from_slice(&(-5_i32).to_le_bytes());
        data[34..37].copy_from_slice(b"WFS");
        let mut formats = Formats::default();
        formats.push(Happening::Completed, format);
        let event = formats.decode(5, &data).unwrap();
        assert_eq!((event.device, event.sector, event.sectors, event.pid), (7 << 20 | 1, 2_048, 8, 99));
        assert_eq!((event.operation, event.durable, event.failed), (Operation::Write, true, true));
        data[0] = 0;
        assert_eq!(formats.decode(5, &data), None);
    }

    #[test]
    fn zeroes_without_data_are_requests_and_commands_of_drivers_are_not() {
        let mut formats = Formats::default();
        formats.push(Happening::Completed, EventFormat::parse(FORMAT).unwrap());
        let of = |sector: u64, sectors: u32| {
            let mut data = vec![0; 44];
            data[..2].copy_from_slice(&2107_u16.to_le_bytes());
            data[16..24].copy_from_slice(&sector.to_le_bytes());
            data[24..28].copy_from_slice(&sectors.to_le_bytes());
            data[34..36].copy_from_slice(b"NS");
            formats.decode(5, &data).map(|event| (event.operation, event.sector, event.sectors))
        };
        assert_eq!(of(4_096, 1_024), Some((Operation::Trim, 4_096, 1_024)));
        // As a kernel describes a driver's command: issued without a range, completed without a place.
        assert_eq!(of(0, 0), None);
        assert_eq!(of(u64::MAX, 8), None);
    }

    #[test]
    fn a_description_without_a_field_is_refused_by_its_name() {
        let text = FORMAT.replace("nr_sector", "count");
        assert_eq!(EventFormat::parse(&text), Err(FormatError("nr_sector")));
        assert_eq!(EventFormat::parse("name: x\n"), Err(FormatError("ID")));
    }

    #[test]
    fn letters_are_operations() {
        let of = |letters: &str| operation(letters.as_bytes());
        assert_eq!(of("R"), Some((Operation::Read, false)));
        assert_eq!(of("RA"), Some((Operation::Read, false)));
        assert_eq!(of("WS\0\0"), Some((Operation::Write, false)));
        assert_eq!(of("FWFS"), Some((Operation::Write, true)));
        assert_eq!(of("WFSM"), Some((Operation::Write, true)));
        assert_eq!(of("FF"), Some((Operation::Flush, false)));
        assert_eq!(of("F"), Some((Operation::Flush, false)));
        assert_eq!(of("DS"), Some((Operation::Trim, false)));
        assert_eq!(of("N"), Some((Operation::Trim, false)));
        assert_eq!(of("NS"), Some((Operation::Trim, false)));
        assert_eq!(of("ZA"), None);
        assert_eq!(of(""), None);
    }
}
