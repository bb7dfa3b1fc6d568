//! Figures in words.

use loadline_units::Bytes;
pub(crate) use loadline_units::words::{number, span};

/// A size of a request: "8 KiB".
#[must_use]
pub fn size(bytes: f64) -> String {
    let size = Bytes::new(bytes.round() as u64);
    if size.get().is_multiple_of(512) { size.to_string() } else { size.human() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_are_no_whole_sectors_are_rounded() {
        assert_eq!([size(8_192.0), size(8_000.0)], ["8 KiB", "7.81 KiB"]);
    }
}
