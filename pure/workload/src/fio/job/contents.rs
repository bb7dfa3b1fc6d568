//! What a job writes, and what its flushes write besides.

use super::super::Purpose;
use super::Job;
use loadline_load::{Content, LoadSpec};
use loadline_units::Ratio;

impl Job<'_> {
    pub(super) fn content(&mut self) -> Content {
        let share = |text: &str| text.parse::<u32>().ok().filter(|p| *p <= 100).map(Ratio::percent);
        let compressible = self.value("buffer_compress_percentage", "a percentage", share);
        let duplicate = self.value("dedupe_percentage", "a percentage", share);
        let zero = self.flag("zero_buffers") == Some(true);
        // Without either, fio writes what it wrote before.
        let is_repeated = self.flag("scramble_buffers") == Some(false) && self.flag("refill_buffers") != Some(true);
        Content {
            compressible: if zero { Ratio::ONE } else { compressible.unwrap_or(Ratio::ZERO) },
            duplicate: if is_repeated { Ratio::ONE } else { duplicate.unwrap_or(Ratio::ZERO) },
        }
    }

    /// Says what flushes of a file do not do here: a file is filled before the load, and fio's grows with it.
    pub(super) fn growth(&mut self, spec: &LoadSpec) {
        let (allocated, overwrites) = (self.get("fallocate").is_some(), self.flag("overwrite") == Some(true));
        if spec.writes_any() && (spec.flush.is_some() || allocated) && !overwrites && self.purpose == Purpose::Run {
            self.note(
                "a file is filled before the load. fio's grows with it, and each of its flushes writes the growth, too: there flushes of a \
                 new file take longer, on ext4 up to four times (overwrite=1 has the same load in both)",
            );
        }
    }
}
