//! By which limit of a device's queue its requests were split, as far as the sizes that reached it tell.

use loadline_record::{DeviceFacts, QueueLimit};

/// Buffers lie in pages of this size at worst, each a piece of memory of its own.
const PAGE: u64 = 4_096;
/// A mean number of parts may be off the number that a limit makes by this much: some requests were not of the load.
const TOLERANCE: f64 = 1.1;

/// The limit of `device` that splits requests of `asked` bytes into parts of `got` bytes on average; `None` where none of its known
/// limits makes so many parts.
pub(super) fn split_by(device: &DeviceFacts, asked: f64, got: f64) -> Option<QueueLimit> {
    let parts = asked / got;
    let by = |segments_max| QueueLimit {
        device: device.name.clone(),
        request_bytes_max: device.request_bytes_max,
        segments_max,
    };
    let parts_of = |most: u64| (asked / most as f64).ceil();
    let bytes = device.request_bytes_max.filter(|most| *most > 0 && parts_of(*most) > 1.0);
    if bytes.is_some_and(|most| parts <= parts_of(most) * TOLERANCE) {
        return Some(by(None));
    }
    // The more pages lie side by side, the fewer pieces they are: this is the most parts that it makes.
    let pieces = device.request_segments_max.filter(|most| *most > 0 && parts_of(most * PAGE) > 1.0)?;
    (parts <= parts_of(pieces * PAGE) * TOLERANCE).then(|| by(Some(pieces)))
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
        // What splits: pieces of memory, or bytes alone.
        let by_pieces = |device: &DeviceFacts, asked: f64, got: f64| {
            split_by(device, asked * KIB, got * KIB).map(|by| by.segments_max == Some(126))
        };
        // 1 MiB below max_sectors_kb, in pieces of a page each.
        let virtio = device(Some(1280 << 10), Some(126));
        assert_eq!(by_pieces(&virtio, 1024.0, 342.0), Some(true));
        // Some of its pages lie side by side.
        assert_eq!(by_pieces(&virtio, 1024.0, 512.0), Some(true));
        // 2 MiB in two parts is by size; in four it is not.
        assert_eq!(by_pieces(&virtio, 2048.0, 1024.0), Some(false));
        assert_eq!(by_pieces(&virtio, 2048.0, 512.0), Some(true));
        // More parts than either makes, or nothing known.
        assert_eq!(by_pieces(&virtio, 1024.0, 64.0), None);
        assert_eq!(by_pieces(&device(Some(1280 << 10), None), 1024.0, 512.0), None);
        assert_eq!(by_pieces(&device(None, None), 1024.0, 512.0), None);
    }
}
