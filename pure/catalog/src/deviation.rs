//! Measurements that the model is known to miss, as catalog files have them.

use loadline_document::{Item, Reader, nested};
use loadline_units::Bytes;

/// A measurement that the model is known to miss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// The disks that it is of, without the provider; empty for all of the family.
    pub disks: Vec<String>,
    /// Whether it is of loads that read.
    pub of_reads: bool,
    /// Whether it is of loads that write.
    pub of_writes: bool,
    /// Whether it is of stripes; `None`: of any layout.
    pub striped: Option<bool>,
    /// Of requests from this size on.
    pub from_block: Bytes,
    /// What was measured and what the model says, in words.
    pub measured: String,
    /// Who measured it.
    pub source: String,
}

/// The operations of a deviation: whether it is of reads, and of writes.
const OPERATIONS: &[(&str, (bool, bool))] = &[("reads", (true, false)), ("writes", (false, true))];

/// `[[deviation]]`: measurements that the model is known to miss.
pub(crate) fn read_deviations(reader: &mut Reader<'_>, item: &Item<'_>) -> Vec<Deviation> {
    let keys = &["disks", "of", "striped", "from_block", "measured", "source"];
    let wanted = "{ of = \"writes\", measured = \"...\", source = \"...\" }";
    let mut all = Vec::new();
    for row in reader.values("deviation", item) {
        let (mut measured, mut source) = (None, None);
        let (mut disks, mut of, mut striped, mut from_block) = (Vec::new(), (true, true), None, Bytes::ZERO);
        for (name, value) in reader.table("deviation", row, keys, wanted).unwrap_or_default() {
            let inner = nested("deviation", name);
            match name {
                "disks" => {
                    for disk in reader.values(&inner, value) {
                        disks.extend(reader.text(&inner, disk));
                    }
                }
                "of" => of = reader.word(&inner, value, OPERATIONS, "").unwrap_or(of),
                "striped" => striped = reader.switch(&inner, value),
                "from_block" => from_block = reader.quantity::<Bytes>(&inner, value).unwrap_or_default(),
                "measured" => measured = reader.text(&inner, value),
                _ => source = reader.text(&inner, value),
            }
        }
        let (Some(measured), Some(source)) = (measured, source) else {
            reader.problem(row.span(), "deviation", format!("is not complete: write {wanted}"));
            continue;
        };
        let (of_reads, of_writes) = of;
        all.push(Deviation { disks, of_reads, of_writes, striped, from_block, measured, source });
    }
    all
}
