//! By which limit of a device's queue its requests were split, as far as the sizes that reached it tell.

use crate::words::{number, size};
use loadline_record::DeviceFacts;

/// Buffers lie in pages of this size at worst, each a piece of memory of its own.
const PAGE: u64 = 4_096;
/// A mean number of parts may be off the number that a limit makes by this much: some requests were not of the load.
const TOLERANCE: f64 = 1.1;

/// The limits of `device` that split requests of `asked` bytes into parts of `got` bytes on average, in words; `None` where none of
/// its known limits makes so many parts.
pub(super) fn split_by(device: &DeviceFacts, asked: f64, got: f64) -> Option<String> {
    let parts = asked / got;
    let name = &device.name;
    let parts_of = |most: u64| (asked / most as f64).ceil();
    let bytes = device.request_bytes_max.filter(|most| *most > 0 && parts_of(*most) > 1.0);
    if let Some(most) = bytes.filter(|most| parts <= parts_of(*most) * TOLERANCE) {
        return Some(format!("{name} takes requests of at most {} (max_sectors_kb)", size(most)));
    }
    // The more pages lie side by side, the fewer pieces they are: this is the most parts that it makes.
    let pieces = device.request_segments_max.filter(|most| *most > 0 && parts_of(most * PAGE) > 1.0)?;
    (parts <= parts_of(pieces * PAGE) * TOLERANCE).then(|| {
        let though = device.request_bytes_max.map_or_else(String::new, |most| format!(", though up to {}", size(most)));
        format!(
            "{name} takes requests of at most {} pieces of memory (max_segments){though}: in pages of 4 KiB {} are {} pieces",
            number(pieces as f64),
            size(asked as u64),
            number((asked / PAGE as f64).ceil())
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: f64 = 1024.0;

    fn device(bytes: Option<u64>, pieces: Option<u64>) -> DeviceFacts {
        DeviceFacts {
            name: "vda".into(),
            request_bytes_max: bytes,
            request_segments_max: pieces,
            ..DeviceFacts::default()
        }
    }

    #[test]
    fn the_limit_that_makes_as_many_parts_is_named() {
        let told =
            |device: &DeviceFacts, asked: f64, got: f64| split_by(device, asked * KIB, got * KIB).unwrap_or_default();
        // 1 MiB below max_sectors_kb, in pieces of a page each.
        let virtio = device(Some(1280 << 10), Some(126));
        let by_pieces = told(&virtio, 1024.0, 342.0);
        assert!(by_pieces.contains("126 pieces of memory (max_segments)"), "{by_pieces}");
        assert!(by_pieces.contains("though up to 1.25 MiB") && by_pieces.contains("256 pieces"), "{by_pieces}");
        // Some of its pages lie side by side.
        assert!(told(&virtio, 1024.0, 512.0).contains("max_segments"));
        // 2 MiB in two parts is by size; in four it is not.
        assert!(told(&virtio, 2048.0, 1024.0).contains("at most 1.25 MiB (max_sectors_kb)"));
        assert!(told(&virtio, 2048.0, 512.0).contains("max_segments"));
        // More parts than either makes, or nothing known.
        assert_eq!(told(&virtio, 1024.0, 64.0), "");
        assert_eq!(told(&device(Some(1280 << 10), None), 1024.0, 512.0), "");
        assert_eq!(told(&device(None, None), 1024.0, 512.0), "");
    }
}
