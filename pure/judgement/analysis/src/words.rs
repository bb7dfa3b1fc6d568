//! Figures as people read them, and loads by name.

use crate::summary::CellSummary;
use loadline_record::DoubtCode;

/// Requests of databases and their like are at most so large.
pub(crate) const SMALL_BYTES_MAX: u64 = 16 << 10;
/// From here on blocks are large: their rate is printed in bytes.
pub(crate) const LARGE_BYTES_MIN: u64 = 128 << 10;
/// Of more volumes than this the rest is only counted.
pub(crate) const VOLUMES_MAX: usize = 8;
pub(crate) use loadline_units::words::{block, counted, number, percent, size};

/// What a cell asks for, without how much of it: "random 4 KiB reads", "sequential 1 MiB requests (70 % reads)", "recorded reads
/// (4.5 KiB on average)"; where others of the run are called the same, with what tells it from them: "random 4 KiB reads (zipf 1.2)".
pub(crate) fn load_name(cell: &CellSummary) -> String {
    load_names(&[cell])
}

/// The same of cells that may differ in their operation alone: "random 4 KiB reads and writes (zipf 1.2)".
pub(crate) fn load_names(cells: &[&CellSummary]) -> String {
    let [cell, others @ ..] = cells else { return String::new() };
    let load = &cell.load;
    let transfers = cell.read.is_some() || cell.write.is_some();
    let what = match load.read_ratio {
        _ if cell.trim.is_some() && !transfers => "trims",
        _ if cell.flush.is_some() && !transfers => "flushes",
        r if r >= 1.0 => "reads",
        r if r <= 0.0 => "writes",
        _ => "requests",
    };
    let is_mix = what == "requests";
    let is_of_others = cell.is_of_others();
    let mut asides = Vec::new();
    asides.extend((is_of_others && load.block_bytes > 0).then(|| format!("{} on average", blocks(cell))));
    asides.extend(is_mix.then(|| format!("{} reads", percent(load.read_ratio))));
    asides.extend((is_of_others && transfers && cell.trim.is_some()).then(|| "with trims".to_owned()));
    for words in cells.iter().flat_map(|cell| &cell.identity.told) {
        if !asides.contains(words) {
            asides.push(words.clone());
        }
    }
    let aside = if asides.is_empty() { String::new() } else { format!(" ({})", asides.join(", ")) };
    let also = if others.is_empty() { "" } else { " and writes" };
    let buffered = if load.buffered { "buffered " } else { "" };
    let size = if is_of_others { String::new() } else { format!("{} ", blocks(cell)) };
    format!("{buffered}{} {size}{what}{also}{aside}", load.pattern)
}

/// The block size of a cell, or the sizes of its mix: "4 KiB", "4 KiB + 1 MiB".
pub(crate) fn blocks(cell: &CellSummary) -> String {
    let load = &cell.load;
    load.details.block_mix.as_ref().map_or_else(
        || block(load.block_bytes),
        |mix| mix.iter().map(|part| block(part.bytes)).collect::<Vec<_>>().join(" + "),
    )
}

/// Doubts that take a figure out of the running for the best, as long as there is another.
pub(crate) const NOT_THE_BEST: [DoubtCode; 7] = [
    DoubtCode::VerifyFailed,
    DoubtCode::Errors,
    DoubtCode::EndedEarly,
    DoubtCode::CachedReads,
    DoubtCode::UnwrittenExtents,
    DoubtCode::Buffered,
    DoubtCode::CompressedOrSparse,
];

/// The amount of a cell's load in words: "depth 32", "depth 8 x 4 threads", "5,000 arrivals a second".
pub(crate) fn how_much(cell: &CellSummary) -> String {
    match (cell.load.queue_depth, cell.offered_iops.or(cell.load.rate_iops)) {
        (Some(depth), _) if cell.load.threads > 1 => format!("depth {depth} x {} threads", cell.load.threads),
        (Some(depth), _) => format!("depth {depth}"),
        (None, Some(rate)) if cell.is_of_others() => format!("{} arrivals a second on average", number(rate)),
        (None, Some(rate)) => format!("{} arrivals a second", number(rate)),
        (None, None) if cell.is_of_others() => "the application's own pace".to_owned(),
        (None, None) => "open loop".to_owned(),
    }
}

/// The doubts that change what a rate means, to stand right beside it.
pub(crate) fn doubts_of_rate(cell: &CellSummary) -> Vec<DoubtCode> {
    let codes = cell.doubts.iter().map(|doubt| doubt.code);
    codes.filter(|code| NOT_THE_BEST.contains(code) || *code == DoubtCode::GeneratorBound).collect()
}

/// Whether a fact of this pattern was seen of a binding.
#[cfg(test)]
macro_rules! shows {
    ($binding:expr, $($pattern:tt)+) => {
        $binding.seen.facts().iter().any(|fact| matches!(fact, $($pattern)+))
    };
}
#[cfg(test)]
pub(crate) use shows;

/// Whether two figures are the same to so many parts in a hundred.
#[cfg(test)]
pub(crate) fn about(figure: f64, wanted: f64, percent: f64) -> bool {
    (figure / wanted - 1.0).abs() * 100.0 <= percent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::load_details::BlockInMix;
    use crate::summarize;
    use loadline_record::{Access, ArrivalKind};

    #[test]
    fn a_mix_of_sizes_is_called_by_its_sizes_and_not_by_their_mean() {
        let mut cells =
            summarize(&run(vec![cell(closed("random", 1.0, 412 << 10, 1), &ExampleDisk::default(), &[1.0])])).cells;
        assert_eq!(load_name(&cells[0]), "random 412 KiB reads");
        let part = |kib: u64, ratio| BlockInMix { bytes: kib << 10, ratio };
        cells[0].load.details.block_mix = Some(vec![part(4, 0.6), part(1024, 0.4)]);
        assert_eq!(load_name(&cells[0]), "random 4 KiB + 1 MiB reads");
        let sizes = [512, 4 << 10, 66 << 10, 1_000, 39_204, 817_789].map(block);
        assert_eq!(sizes, ["512 B", "4 KiB", "66 KiB", "1000 B", "38.3 KiB", "799 KiB"]);
    }

    #[test]
    fn what_others_asked_for_is_called_by_what_it_was() {
        let load = closed("random", 1.0, 4 << 10, 1);
        let mut cell = summarize(&run(vec![cell(load, &ExampleDisk::default(), &[1.0])])).cells.remove(0);
        (cell.load.pattern, cell.load.arrival) = (Access::Recorded, ArrivalKind::Recorded);
        assert_eq!(load_name(&cell), "recorded reads (4 KiB on average)");
        cell.trim = cell.read.clone();
        assert_eq!(load_name(&cell), "recorded reads (4 KiB on average, with trims)");
        cell.read = None;
        cell.load.read_ratio = 0.0;
        assert_eq!(load_name(&cell), "recorded trims (4 KiB on average)");
        cell.flush = cell.trim.take();
        cell.load.block_bytes = 0;
        assert_eq!(load_name(&cell), "recorded flushes");
    }
}
