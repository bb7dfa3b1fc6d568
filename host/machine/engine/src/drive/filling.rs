//! Filling: writes what loads will touch of a volume in full, so that none of them meets a block that was never written.

use super::{LoadOnVolume, check_access, conduct, conductor::Outcome, trial_seed};
use crate::control::{Control, Phase};
use crate::error::EngineError;
use crate::target::Volume;
use loadline_block::{ErrorKind, Operation};
use loadline_kernel::clock;
use loadline_record::Ending;
use loadline_record::EngineOptions;
use loadline_units::{Bytes, Duration, Ratio};
use loadline_workload::{Arrival, BlockShare, Content, Fill, GroupEnd, LoadSpec, Pattern};
use std::io;

/// Size of its writes, where the volume takes such long ones.
const BLOCK: Bytes = Bytes::mib(1);
/// Bytes that it keeps under way, and the bounds of the requests that they are in.
const UNDER_WAY: Bytes = Bytes::mib(8);
const DEPTH: (u64, u64) = (8, 128);
/// How long it may take where nobody says.
const TIME_MAX: Duration = Duration::from_s(7 * 24 * 3600);

/// How to fill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filling {
    /// What the data looks like.
    pub content: Content,
    /// When this time is up it stops and returns how far it came.
    pub limit: Option<Duration>,
}

/// What filling did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillReport {
    /// Bytes written from where loads begin in each file on, over all files.
    pub bytes: Bytes,
    /// How long it took, including making it durable.
    pub elapsed: Duration,
    /// Whether everything that was asked for was written; otherwise time was up or the user stopped it.
    pub complete: bool,
}

/// Writes `range` bytes of the volume in full, from where loads begin in each file on, and makes them durable. Unless the
/// content is to, the data neither compresses nor repeats.
///
/// # Errors
/// When writing cannot be started, or a write fails.
pub fn fill(
    volume: &mut Volume,
    range: Bytes,
    seed: u64,
    filling: Filling,
    options: EngineOptions,
    control: &Control,
) -> Result<FillReport, EngineError> {
    let started_at = clock::now();
    let files = u64::from(volume.parts_kept());
    let unit = Bytes::new(volume.alignment().offset.get().max(512));
    let start = volume.start.round_down(unit);
    let room = volume.file_size.saturating_sub(start);
    // What the start was rounded down by belongs to it.
    let per_file = (Bytes::new(range.get() / files.max(1)) + (volume.start - start)).min(room).round_down(unit);
    let wanted = Bytes::new(per_file.get() * files);
    let mut written = Bytes::ZERO;
    let longest =
        volume.export().map_or(BLOCK, |export| BLOCK.min(Bytes::new(1 << export.facts.block_max.get().ilog2())));
    for (number, piece) in pieces(start, per_file, longest).into_iter().filter(|_| files > 0).enumerate() {
        let limit = filling.limit.map(|limit| limit.saturating_sub(clock::now().since(started_at)));
        if control.stopped() || limit == Some(Duration::ZERO) {
            break;
        }
        let size = Bytes::new(piece.length.get() * files);
        let spec = LoadSpec {
            pattern: Pattern::Sequential { stride: None },
            reads: Ratio::ZERO,
            blocks: vec![BlockShare { size: piece.block, share: Ratio::ONE }],
            arrival: Arrival::Closed { queue_depth: depth(piece.block), rate_max: None, think_time: Duration::ZERO },
            start: piece.start,
            size: Some(size),
            volume: Some(size),
            content: filling.content,
            fill: Fill::Never,
            warm_up: Duration::ZERO,
            duration: limit.unwrap_or(TIME_MAX),
            buffered: !volume.facts.direct,
            ..LoadSpec::default()
        };
        check_access(volume, &spec)?;
        let seed = trial_seed(seed, u32::MAX - number as u32);
        let load = LoadOnVolume { volume, spec: &spec, seed, options };
        let outcome = conduct(&[load], GroupEnd::Each, control, Some(Phase::Filling))?;
        let outcome = outcome.into_iter().next().expect("a load has an outcome");
        written = written + written_by(&outcome, piece.block);
        if let Some(error) = failure(&outcome, volume, written, wanted) {
            return Err(error);
        }
    }
    volume.write_back().map_err(|source| match source.raw_os_error() {
        // Some file systems find the space only now.
        Some(libc::ENOSPC | libc::EDQUOT) => no_room(volume, written, wanted, source),
        _ => EngineError::os(format!("make volume {} durable", volume.facts.name), source),
    })?;
    Ok(FillReport { bytes: written, elapsed: clock::now().since(started_at), complete: written >= wanted })
}

/// A stretch of each file, in blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    start: Bytes,
    length: Bytes,
    block: Bytes,
}

/// Large blocks as far as they go; what they leave in the largest blocks that it is a multiple of.
fn pieces(start: Bytes, length: Bytes, longest: Bytes) -> Vec<Piece> {
    let large = length.round_down(longest);
    let rest = length - large;
    let blocks = [(start, large, longest), (start + large, rest, Bytes::new(1 << rest.get().trailing_zeros().min(20)))];
    let pieces = blocks.map(|(start, length, block)| Piece { start, length, block });
    pieces.into_iter().filter(|piece| piece.length > Bytes::ZERO).collect()
}

fn depth(block: Bytes) -> u32 {
    let (least, most) = DEPTH;
    u32::try_from((UNDER_WAY.get() / block.get()).clamp(least, most)).expect("a small number")
}

/// What was written, all of it in blocks of one size.
fn written_by(outcome: &Outcome, block: Bytes) -> Bytes {
    let book = outcome.ledger.book();
    let (count, _) = book.asked.get(&Operation::Write).copied().unwrap_or_default();
    let failed: u64 = book.errors.values().sum();
    block * count.saturating_sub(failed)
}

/// Why the volume is not full, where that is not for want of time: one with holes where single writes failed is not, though the
/// writing went on.
fn failure(outcome: &Outcome, volume: &Volume, written: Bytes, wanted: Bytes) -> Option<EngineError> {
    let book = outcome.ledger.book();
    let detail = match &outcome.ending {
        Ending::Failed(detail) | Ending::Hung(detail) => detail.clone(),
        Ending::Complete | Ending::Interrupted => book.error_samples.first()?.clone(),
    };
    let source = io::Error::other(detail);
    Some(if book.errors.contains_key(&ErrorKind::NoSpace) {
        no_room(volume, written, wanted, source)
    } else {
        EngineError::os(format!("fill volume {}", volume.facts.name), source)
    })
}

fn no_room(volume: &Volume, written: Bytes, wanted: Bytes, source: io::Error) -> EngineError {
    EngineError::NoRoom { volume: volume.facts.name.clone(), wanted, written, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_kib(start: u64, length: u64) -> Vec<(u64, u64, u64)> {
        let in_kib = |bytes: Bytes| bytes.get() / 1024;
        let pieces = pieces(Bytes::kib(start), Bytes::kib(length), BLOCK);
        pieces.into_iter().map(|p| (in_kib(p.start), in_kib(p.length), in_kib(p.block))).collect()
    }

    #[test]
    fn large_blocks_fill_all_but_less_than_one_of_them_whatever_the_size() {
        assert_eq!(in_kib(0, 64 << 10), [(0, 64 << 10, 1024)]);
        assert_eq!(in_kib(8, (64 << 10) + 24), [(8, 64 << 10, 1024), (8 + (64 << 10), 24, 8)]);
        assert_eq!(in_kib(0, 20), [(0, 20, 4)]);
        assert_eq!(in_kib(4, 0), []);
    }

    #[test]
    fn small_blocks_are_written_deeper() {
        assert_eq!([BLOCK, Bytes::kib(256), Bytes::kib(4)].map(depth), [8, 32, 128]);
    }
}
