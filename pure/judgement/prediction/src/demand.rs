//! The demand of a load on the disks below a layout: the number of parts, and their units at a limit.

use loadline_block::Operation;
use loadline_disk::{Layout, Limit};
use loadline_units::Bytes;
use loadline_workload::{LoadSpec, Pattern, Walk};

/// Offsets within an interleave to evaluate, at most; of more, this many at equal distances.
const RESIDUES_MAX: u64 = 4_096;
/// Sequential streams that a limit recognises at once (`pure/storage/disk`).
const STREAMS_MAX: u32 = 16;
/// The rest of a sum at which it stops.
const SUM_REST: f64 = 1e-9;

/// Parts of one length of one operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PartKind {
    pub(crate) operation: Operation,
    /// Bytes.
    pub(crate) length: u64,
    /// How many of them a request of the load becomes on average, over all columns and in one copy.
    pub(crate) count: f64,
}

/// One operation and size among the requests of a load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RequestKind {
    pub(crate) operation: Operation,
    /// Bytes.
    pub(crate) length: u64,
    /// Share of the load's requests (0.0 to 1.0), flushes apart.
    pub(crate) share: f64,
}

/// The requests of a load by operation and size.
pub(crate) fn request_kinds(load: &LoadSpec) -> Vec<RequestKind> {
    let trims = load.trims.as_f64();
    let reads = (1.0 - trims) * load.reads.as_f64();
    let writes = (1.0 - trims) * load.reads.complement().as_f64();
    let operations = [(Operation::Read, reads), (Operation::Write, writes), (Operation::Trim, trims)];
    let mut kinds = Vec::new();
    for (operation, share) in operations.into_iter().filter(|(_, share)| *share > 0.0) {
        for block in &load.blocks {
            let share = share * block.share.as_f64();
            kinds.push(RequestKind { operation, length: block.size.get(), share });
        }
    }
    kinds
}

/// How a layout spreads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spread {
    pub(crate) columns: u64,
    pub(crate) copies: u64,
    interleave: Option<u64>,
}

impl Spread {
    pub(crate) fn of(layout: Layout) -> Self {
        Self {
            columns: layout.columns().into(),
            copies: layout.copies() as u64,
            interleave: layout.interleave().map(Bytes::get),
        }
    }

    /// Of the parts of `operation`, the share that each disk gets.
    pub(crate) fn share_of_disk(self, operation: Operation) -> f64 {
        let sharing = if operation == Operation::Read { self.columns * self.copies } else { self.columns };
        1.0 / sharing as f64
    }

    /// The number of disks for a part of `operation`.
    pub(crate) const fn copies_of(self, operation: Operation) -> u64 {
        if matches!(operation, Operation::Read) { 1 } else { self.copies }
    }

    /// The offsets within an interleave at which requests of the load begin, all of them alike often.
    fn residues(self, load: &LoadSpec, length: u64) -> Vec<u64> {
        let Some(interleave) = self.interleave else { return vec![0] };
        let step = match &load.pattern {
            Pattern::Random(_) => load.alignment().get(),
            Pattern::Sequential { stride } => stride.map_or(length, Bytes::get),
        };
        let unit = common_factor(step, interleave);
        let all = interleave / unit;
        let taken = all.min(RESIDUES_MAX);
        (0..taken).map(|index| (load.start.get() + index * all / taken * unit) % interleave).collect()
    }

    /// Lengths of the parts of a request that begins `residue` bytes into an interleave, with how many there are of each.
    fn pieces(self, residue: u64, length: u64) -> Vec<(u64, u64)> {
        let Some(interleave) = self.interleave else { return vec![(length, 1)] };
        let first = length.min(interleave - residue);
        let whole = (length - first) / interleave;
        let last = (length - first) % interleave;
        let mut pieces: Vec<(u64, u64)> = Vec::new();
        for (piece, count) in [(first, 1), (interleave, whole), (last, u64::from(last > 0))] {
            match pieces.iter_mut().find(|(known, _)| *known == piece) {
                Some((_, known)) => *known += count,
                None if count > 0 => pieces.push((piece, count)),
                None => {}
            }
        }
        pieces
    }

    /// The parts of `requests`, for a few places at which such a request may begin: each a list of lengths with their number.
    pub(crate) fn examples(self, load: &LoadSpec, request: RequestKind, count: usize) -> Vec<Vec<(u64, u64)>> {
        let residues = self.residues(load, request.length);
        let taken = residues.len().min(count);
        (0..taken).map(|index| self.pieces(residues[index * residues.len() / taken], request.length)).collect()
    }

    /// The parts that a request of the load becomes on average.
    pub(crate) fn parts(self, load: &LoadSpec) -> Vec<PartKind> {
        let mut parts: Vec<PartKind> = Vec::new();
        for request in request_kinds(load) {
            let residues = self.residues(load, request.length);
            let weight = request.share / residues.len() as f64;
            for residue in residues {
                for (length, count) in self.pieces(residue, request.length) {
                    let count = weight * count as f64;
                    let operation = request.operation;
                    match parts.iter_mut().find(|part| part.operation == operation && part.length == length) {
                        Some(known) => known.count += count,
                        None => parts.push(PartKind { operation, length, count }),
                    }
                }
            }
        }
        parts
    }
}

/// The units of a limit that one request of the load takes on average, by direction: reads, then writes and trims.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Demand {
    /// Counted requests.
    pub(crate) requests: [f64; 2],
    /// Bytes that count.
    pub(crate) bytes: [f64; 2],
}

impl Demand {
    /// Adds the units of `limit` that `count` parts take.
    pub(crate) fn add(&mut self, limit: &Limit, load: &LoadSpec, part: &PartKind, count: f64) {
        let direction = usize::from(part.operation != Operation::Read);
        let (requests, bytes) = charge(limit, load, part);
        self.requests[direction] += count * requests;
        self.bytes[direction] += count * bytes;
    }
}

/// The average units of a part: requests and bytes.
fn charge(limit: &Limit, load: &LoadSpec, part: &PartKind) -> (f64, f64) {
    if part.operation == Operation::Trim {
        return (1.0, 0.0);
    }
    let least = limit.least_charge.map_or(0, Bytes::get);
    let alone = (units(limit, part.length), part.length.max(least) as f64);
    let in_row = continues(load, part.operation);
    let Some(merge) = limit.merge.filter(|merge| in_row > 0.0 && part.length > merge.larger_than.get()) else {
        return alone;
    };
    debug_assert!(merge.larger_than.get() < part.length);
    // A run of k requests counts as one of k times the length; a run ends when the load changes direction.
    let runs = 1.0 - in_row;
    let requests = if runs <= 0.0 {
        limit.counted_size.map_or(1.0, |size| part.length as f64 / size.get() as f64)
    } else {
        let (mut sum, mut share, mut count) = (0.0, runs, 1);
        while share * count as f64 > SUM_REST {
            sum += share * units(limit, part.length * count);
            share *= in_row;
            count += 1;
        }
        sum * runs
    };
    (requests, part.length as f64 + runs * (alone.1 - part.length as f64))
}

/// The units of a request with this many bytes.
fn units(limit: &Limit, length: u64) -> f64 {
    limit.counted_size.map_or(1, |size| length.div_ceil(size.get())) as f64
}

/// The share of requests that begin at the end of the one before in the same direction.
fn continues(load: &LoadSpec, operation: Operation) -> f64 {
    let gapless = match &load.pattern {
        Pattern::Random(_) => false,
        Pattern::Sequential { stride } => {
            load.walk != Walk::Back && stride.is_none_or(|stride| stride == load.block_max())
        }
    };
    if !gapless || load.threads > STREAMS_MAX {
        return 0.0;
    }
    let kinds = request_kinds(load);
    kinds.iter().filter(|kind| kind.operation == operation).map(|kind| kind.share).sum::<f64>().min(1.0)
}

/// Euclid's algorithm.
const fn common_factor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_disk::Merge;
    use loadline_units::Ratio;
    use loadline_workload::BlockShare;

    fn load(kib: u64, pattern: Pattern, reads: u32) -> LoadSpec {
        let blocks = vec![BlockShare { size: Bytes::kib(kib), share: Ratio::ONE }];
        LoadSpec { blocks, pattern, reads: Ratio::percent(reads), ..LoadSpec::default() }
    }
    fn random(kib: u64) -> LoadSpec {
        load(kib, Pattern::Random(loadline_workload::Distribution::Uniform), 100)
    }
    fn sequential(kib: u64, reads: u32) -> LoadSpec {
        load(kib, Pattern::Sequential { stride: None }, reads)
    }
    fn stripe(kib: u64) -> Spread {
        Spread::of(Layout::Stripe { columns: 4, interleave: Bytes::kib(kib) })
    }
    fn parts(spread: Spread, load: &LoadSpec) -> Vec<(u64, f64)> {
        spread.parts(load).iter().map(|part| (part.length >> 10, part.count)).collect()
    }

    #[test]
    fn a_mebibyte_on_an_interleave_of_64_kib_is_16_parts() {
        assert_eq!(parts(stripe(64), &random(1_024)), [(64, 16.0)]);
    }

    #[test]
    fn requests_that_do_not_lie_on_the_interleave_become_more_parts() {
        // 64 KiB at multiples of 4 KiB: one place in sixteen is a single part, the others are two.
        let unaligned = LoadSpec { align: Some(Bytes::kib(4)), ..random(64) };
        let all = parts(stripe(64), &unaligned);
        assert!((all.iter().map(|(_, count)| count).sum::<f64>() - 31.0 / 16.0).abs() < 1e-9, "{all:?}");
        let bytes: f64 = all.iter().map(|(kib, count)| *kib as f64 * count).sum();
        assert!((bytes - 64.0).abs() < 1e-9);
    }

    #[test]
    fn small_requests_stay_whole() {
        assert_eq!(parts(stripe(64), &random(8)), [(8, 1.0)]);
        assert_eq!(parts(Spread::of(Layout::Mirror { copies: 2 }), &random(512)), [(512, 1.0)]);
    }

    fn merging(larger_than: Bytes) -> Limit {
        let merge = Some(Merge { larger_than });
        Limit { counted_size: Some(Bytes::kib(256)), merge, least_charge: Some(Bytes::kib(1_024)), ..Limit::default() }
    }
    fn charged(limit: &Limit, load: &LoadSpec) -> (f64, f64) {
        charge(limit, load, &Spread::of(Layout::Single).parts(load)[0])
    }

    #[test]
    fn eight_sequential_requests_of_32_kib_count_as_one_and_random_ones_as_eight() {
        assert_eq!(charged(&merging(Bytes::ZERO), &sequential(32, 100)), (0.125, 32_768.0));
        assert_eq!(charged(&merging(Bytes::ZERO), &random(32)), (1.0, 1_048_576.0));
        assert_eq!(charged(&merging(Bytes::kib(32)), &sequential(32, 100)), (1.0, 1_048_576.0));
    }

    #[test]
    fn a_sequence_that_changes_direction_is_merged_in_runs() {
        // Reads in runs of two on average: runs of 1, 2, ... requests of 256 KiB count as many; of 128 KiB half, rounded up.
        let (requests, bytes) = charged(&merging(Bytes::ZERO), &sequential(256, 50));
        assert!((requests - 1.0).abs() < 1e-6 && (bytes - (262_144.0 + 0.5 * 786_432.0)).abs() < 1e-6);
        let (requests, _) = charged(&merging(Bytes::ZERO), &sequential(128, 50));
        // Half the sum over k of 2^-k x ceil(k / 2): 2/3.
        assert!((requests - 2.0 / 3.0).abs() < 1e-6, "{requests}");
    }

    #[test]
    fn a_mix_of_operations_and_sizes_has_all_its_kinds() {
        let mut load = random(4);
        load.reads = Ratio::percent(75);
        load.trims = Ratio::percent(20);
        load.blocks = vec![
            BlockShare { size: Bytes::kib(4), share: Ratio::percent(50) },
            BlockShare { size: Bytes::kib(64), share: Ratio::percent(50) },
        ];
        let kinds = request_kinds(&load);
        assert_eq!(kinds.len(), 6);
        assert!((kinds.iter().map(|kind| kind.share).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((kinds[0].share - 0.3).abs() < 1e-9);
    }
}
