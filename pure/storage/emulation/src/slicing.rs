//! How long requests are cut into slices, so that one request bounds the work of the model.

use loadline_block::Operation;
use loadline_disk::Layout;

/// The most parts of a slice: a request has one for each piece of its layout that it touches on each disk.
const SLICE_PARTS_MAX: u64 = 1 << 15;
/// The most bytes of a slice of a read or write.
const SLICE_BYTES_MAX: u64 = 1 << 25;
/// The most bytes of a slice of a trim.
const SLICE_TRIM_MAX: u64 = 1 << 30;

/// How the requests to a volume or disk are cut, by its layout.
#[derive(Debug, Clone, Copy)]
pub struct Slicing {
    /// Bytes of a piece; `None`: the layout does not cut requests.
    interleave: Option<u64>,
    copies: u64,
}

impl Slicing {
    /// The slicing of a layout.
    #[must_use]
    pub fn of(layout: Layout) -> Self {
        let interleave = match layout {
            Layout::Single | Layout::Mirror { .. } => None,
            Layout::Stripe { interleave, .. } | Layout::StripeOfMirrors { interleave, .. } => Some(interleave.get()),
        };
        Self { interleave, copies: layout.copies() as u64 }
    }

    /// The longest slice, in bytes.
    #[must_use]
    #[inline]
    pub fn slice_max(self, operation: Operation) -> u64 {
        let most = match operation {
            Operation::Read | Operation::Write => SLICE_BYTES_MAX,
            Operation::Trim | Operation::Flush => SLICE_TRIM_MAX,
        };
        self.interleave.map_or(most, |piece| most.min(piece * (SLICE_PARTS_MAX / self.copies).max(1)))
    }

    /// The most parts of a slice of this length.
    #[must_use]
    #[inline]
    pub fn parts_max(self, length: u64) -> u64 {
        self.interleave.map_or(1, |piece| length / piece + 2) * self.copies
    }
}
