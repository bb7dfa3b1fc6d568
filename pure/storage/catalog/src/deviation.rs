//! Measurements that the model is known to miss, as catalog files have them.

use crate::text_bounds;
use loadline_document::{Item, Reader};
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
    let wanted = "{ of = \"writes\", measured = \"...\", source = \"...\" }";
    let mut all = Vec::new();
    for row in reader.values("deviation", item) {
        let found = reader.fields("deviation", row, wanted, |t| {
            let disks = t.get("disks", |reader, key, item| {
                let values = reader.values(key, item).into_iter();
                Some(values.filter_map(|disk| reader.text(key, disk)).collect())
            });
            let of = t.get("of", |reader, key, item| reader.word(key, item, OPERATIONS, ""));
            let striped = t.get("striped", Reader::switch);
            let from_block = t.get("from_block", Reader::quantity).unwrap_or_default();
            let (measured, source) = (t.get("measured", text_bounds::text), t.get("source", text_bounds::text));
            let (of_reads, of_writes) = of.unwrap_or((true, true));
            let (disks, measured, source) = (disks.unwrap_or_default(), measured?, source?);
            Some(Deviation { disks, of_reads, of_writes, striped, from_block, measured, source })
        });
        match found.flatten() {
            Some(deviation) => all.push(deviation),
            None => reader.problem(row.span(), "deviation", format!("is not complete: write {wanted}")),
        }
    }
    all
}
