//! What a job writes, and into what kind of file.

use super::super::Purpose;
use super::Job;
use loadline_load::{Content, Fill, LoadSpec};
use loadline_units::Ratio;

impl Job<'_> {
    pub(super) fn content(&mut self) -> Content {
        let share = |text: &str| text.parse::<u32>().ok().filter(|p| *p <= 100).map(Ratio::percent);
        let compressible = self.value("buffer_compress_percentage", "a percentage", share);
        let duplicate = self.value("dedupe_percentage", "a percentage", share);
        let zero = self.flag("zero_buffers") == Some(true);
        if zero && self.flag("scramble_buffers") == Some(true) {
            self.refuse(
                "scramble_buffers",
                "and zero_buffers: fio marks each of its blocks of zeros; leave one of them out",
            );
        }
        // Without either, fio writes what it wrote before.
        let is_repeated = self.flag("scramble_buffers") == Some(false) && self.flag("refill_buffers") != Some(true);
        Content {
            compressible: if zero { Ratio::ONE } else { compressible.unwrap_or(Ratio::ZERO) },
            duplicate: if is_repeated { Ratio::ONE } else { duplicate.unwrap_or(Ratio::ZERO) },
        }
    }

    /// How its file is made. fio writes it in full before jobs that read, and with `overwrite`; other jobs write into new space, which it
    /// reserves unless `fallocate` says otherwise.
    pub(super) fn fill(&mut self, spec: &LoadSpec) -> Fill {
        let allocated = self.get("fallocate").map(|setting| setting.value.as_str());
        let overwrites = self.flag("overwrite") == Some(true);
        if spec.reads_any() || spec.trims_any() || overwrites || self.purpose == Purpose::Reported {
            return Fill::Auto;
        }
        if matches!(allocated, Some("none" | "0")) && spec.flush.is_some() {
            self.note(
                "fallocate=none: in fio the file grows with each write, and each flush writes its new length too; here it has its length \
                 from the beginning, so that about a quarter fewer blocks of the journal are written",
            );
        }
        if matches!(allocated, Some("none" | "0" | "truncate")) { Fill::Hole } else { Fill::Never }
    }
}
