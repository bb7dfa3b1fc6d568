//! The sizes of a job's blocks: one, a range, or a mix with shares.

use super::super::units;
use super::super::{Purpose, base};
use super::{Job, Kind};
use loadline_load::BlockShare;
use loadline_units::{Bytes, Ratio};

/// Sizes at most that a range may have.
const RANGE_SIZES_MAX: u64 = 1_024;

impl Job<'_> {
    pub(super) fn blocks(&mut self, kind: &Kind) -> Vec<BlockShare> {
        let base = base(&self.section.settings);
        let whole = |size| vec![BlockShare { size, share: Ratio::ONE }];
        // From a size to the same size is that size.
        let (range, single, split) = (self.get("bsrange"), self.get("bs"), self.get("bssplit"));
        if let Some(setting) = split {
            let sides: Option<Vec<Vec<BlockShare>>> =
                setting.value.split(',').map(|side| split_blocks(side, |text| units::bytes(text, base))).collect();
            let is_apart =
                kind.is_mixed() && sides.as_ref().is_some_and(|sides| sides.iter().any(|side| *side != sides[0]));
            if is_apart {
                let message = format!(
                    "bssplit={}: in fio reads and writes then have sizes of their own; all requests of a load are of one mix of sizes \
                     here: write a job for the reads and one for the writes, without stonewall",
                    setting.value
                );
                self.problem(setting.line, message);
                return whole(Bytes::kib(4));
            }
            self.least = least_of(sides.as_deref().unwrap_or_default());
            let split = one_of(sides, kind);
            if let Some(blocks) = &split {
                self.look_at_cuts("bssplit", blocks, kind);
            }
            return split.unwrap_or_else(|| {
                let message = format!(
                    "bssplit={}: is no list of sizes with shares that add up to 100, such as 4k/60:64k/40, for reads and \
                     writes alike",
                    setting.value
                );
                self.problem(setting.line, message);
                whole(Bytes::kib(4))
            });
        }
        if let Some(setting) = range.filter(|_| self.is_later("bsrange", "bs")) {
            let read = |text: &str| {
                let (from, to) = text.split_once('-')?;
                range_blocks(units::bytes(from, base)?, units::bytes(to, base)?)
            };
            let ranges: Option<Vec<Vec<BlockShare>>> = setting.value.split(',').map(read).collect();
            self.least = least_of(ranges.as_deref().unwrap_or_default());
            let Some(blocks) = one_of(ranges, kind) else {
                let message = format!(
                    "bsrange={}: is no range of at most {RANGE_SIZES_MAX} sizes for all requests, such as 4k-64k",
                    setting.value
                );
                self.problem(setting.line, message);
                return whole(Bytes::kib(4));
            };
            self.look_at_cuts("bsrange", &blocks, kind);
            return blocks;
        }
        let Some(setting) = single else { return whole(Bytes::kib(4)) };
        if setting.value.contains('-') {
            self.note(
                "bs with a dash is no range to fio: the first size is that of reads, the second that of writes; bsrange is a range",
            );
        }
        let sizes: Option<Vec<Bytes>> = setting.value.split([',', '-']).map(|text| units::bytes(text, base)).collect();
        self.least = sizes.clone().unwrap_or_default();
        let size = one_of(sizes, kind);
        if let Some(own) = size {
            self.look_at_map("bs", own, kind);
        }
        if size.is_none() {
            let message = if kind.is_mixed() && setting.value.contains([',', '-']) {
                format!(
                    "bs={}: in fio reads and writes then have sizes of their own; all requests of a load are of one mix of sizes here: \
                     write a job for the reads and one for the writes, without stonewall",
                    setting.value
                )
            } else {
                format!("bs={}: is no one block size for all requests; write bs=SIZE", setting.value)
            };
            self.problem(setting.line, message);
        }
        whole(size.unwrap_or(Bytes::kib(4)))
    }

    /// Says what fio does with a random job of several sizes: it cuts a block before the next that was asked already.
    fn look_at_cuts(&mut self, key: &str, blocks: &[BlockShare], kind: &Kind) {
        if !self.cuts_blocks(kind) || blocks.len() <= 1 {
            return;
        }
        let least = blocks.iter().map(|block| block.size.get()).min().unwrap_or(1).max(1);
        self.look_at_map(key, Bytes::new(least), kind);
        let counts =
            ["rate", "rate_iops"].iter().any(|key| self.section.settings.get(*key).is_some_and(|s| s.value != "0"));
        let why = if blocks.iter().any(|block| !block.size.get().is_multiple_of(least)) {
            "without norandommap fio counts in blocks of the smallest size, and cuts the others to them: write multiples of it, or norandommap"
        } else if counts {
            "without norandommap fio cuts blocks, so that a rate in bytes is no rate of requests: write norandommap, or leave out the rate"
        } else {
            self.note(
                "without norandommap fio cuts a block before the next that was asked already, so that fewer bytes come than the shares \
                 say: so does loadline",
            );
            return;
        };
        self.refuse(key, why);
    }

    /// Says what fio does with a random job whose smallest block is not the smallest of all directions.
    fn look_at_map(&mut self, key: &str, least: Bytes, kind: &Kind) {
        if self.cuts_blocks(kind) && self.least.iter().any(|other| *other < least) {
            self.refuse(
                key,
                "without norandommap fio keeps a map in blocks of the smallest size of any direction, and ends the job before its size: \
                 write the size of this direction alone, or norandommap",
            );
        }
    }

    /// Whether its blocks begin at multiples of another size than they have, so that fio keeps no map of what was asked.
    pub(super) fn is_aligned_otherwise(&self) -> bool {
        let base = base(&self.section.settings);
        let align = self.section.settings.get("ba").and_then(|setting| units::bytes(&setting.value, base));
        let usual = [Bytes::kib(4)];
        let least = if self.least.is_empty() { &usual[..] } else { &self.least };
        align.is_some_and(|align| least.iter().any(|least| *least != align))
    }

    /// Whether fio keeps a map of the blocks that were asked. Of a job that was run it does not say so.
    pub(super) fn cuts_blocks(&self, kind: &Kind) -> bool {
        let value = |key: &str| self.section.settings.get(key).map(|setting| setting.value.as_str());
        let is_uniform = matches!(value("random_distribution"), None | Some("random"));
        let has_map = matches!(value("norandommap"), None | Some("0")) && !self.is_aligned_otherwise();
        self.purpose == Purpose::Run && kind.random && is_uniform && has_map
    }
}

/// The smallest size of each direction.
fn least_of(sides: &[Vec<BlockShare>]) -> Vec<Bytes> {
    sides.iter().filter_map(|side| side.iter().map(|block| block.size).min()).collect()
}

/// The part of a list that is of the job's own operation: of reads, writes and trims. The last counts for those left out.
fn one_of<T: Clone + PartialEq>(parts: Option<Vec<T>>, kind: &Kind) -> Option<T> {
    let parts = parts?;
    let place = match kind.reads {
        Some(reads) if reads == Ratio::ONE => 0,
        Some(reads) if reads == Ratio::ZERO => 1,
        Some(_) => return parts.first().filter(|first| parts.iter().all(|part| part == *first)).cloned(),
        None => 2,
    };
    parts.get(place).or(parts.last()).cloned()
}

/// The sizes from one to another as fio draws them: a byte below the largest by chance, and the smallest size added; that is rounded
/// down to a multiple of the smallest, and is at most the largest.
fn range_blocks(from: Bytes, to: Bytes) -> Option<Vec<BlockShare>> {
    let (least, most) = (from.get(), to.get());
    if least == 0 || most < least || most.div_ceil(least) > RANGE_SIZES_MAX {
        return None;
    }
    let whole = u128::from(Ratio::ONE.as_ppm());
    let ppm = |bytes: u64| u32::try_from(u128::from(bytes) * whole / u128::from(most)).expect("a part of the whole");
    // What is drawn below each bound becomes its size; what rounding leaves goes to the last.
    let bounds = (1..).map(|number| least * number).take_while(|bound| *bound < most);
    let mut sizes: Vec<(u64, u32)> = bounds.map(|bound| (bound, ppm(bound))).collect();
    sizes.push((most, Ratio::ONE.as_ppm()));
    let mut before = 0;
    let share = |(size, up_to): (u64, u32)| {
        let share = Ratio::ppm(up_to - before).expect("a part of the whole");
        before = up_to;
        BlockShare { size: Bytes::new(size), share }
    };
    Some(sizes.into_iter().map(share).filter(|block| block.share != Ratio::ZERO).collect())
}

/// "4k/60:64k/40": sizes with shares; a share left out takes an equal part of what is left.
fn split_blocks(text: &str, size: impl Fn(&str) -> Option<Bytes>) -> Option<Vec<BlockShare>> {
    let blocks = split_shares(text, |text| size(text))?;
    Some(
        blocks.into_iter().map(|(size, share)| BlockShare { size, share }).filter(|b| b.share != Ratio::ZERO).collect(),
    )
}

/// Values with shares in percent behind a slash, and colons between them: all shares together are the whole. A share left out is an
/// equal part of what is left.
pub(super) fn split_shares<T>(text: &str, value: impl Fn(&str) -> Option<T>) -> Option<Vec<(T, Ratio)>> {
    let parts: Vec<(T, Option<u32>)> = text
        .split(':')
        .map(|part| {
            let (of, share) = part.split_once('/').unwrap_or((part, ""));
            let share = if share.is_empty() { None } else { Some(share.parse().ok()?) };
            Some((value(of)?, share))
        })
        .collect::<Option<_>>()?;
    let given = parts.iter().filter_map(|(_, share)| *share).fold(0u32, u32::saturating_add);
    let open = parts.iter().filter(|(_, share)| share.is_none()).count() as u32;
    let left = 100u32.checked_sub(given)?;
    let each = left.checked_div(open).unwrap_or(0);
    let shares: Vec<(T, Ratio)> =
        parts.into_iter().map(|(of, share)| (of, Ratio::percent(share.unwrap_or(each)))).collect();
    let sum: u64 = shares.iter().map(|(_, share)| u64::from(share.as_ppm())).sum();
    (sum == u64::from(Ratio::ONE.as_ppm())).then_some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_sizes_and_shares_that_fio_draws() {
        let of = |from, to| -> Vec<(u64, u32)> {
            let blocks = range_blocks(Bytes::new(from), Bytes::new(to)).unwrap();
            assert_eq!(blocks.iter().map(|block| block.share.as_ppm()).sum::<u32>(), 1_000_000);
            blocks.iter().map(|block| (block.size.get(), block.share.as_ppm())).collect()
        };
        assert_eq!(of(4096, 16384), [(4096, 250_000), (8192, 250_000), (12288, 250_000), (16384, 250_000)]);
        // Of 10,000 bytes that are drawn, those from 9,000 on would be 12,000.
        assert_eq!(of(3_000, 10_000), [(3_000, 300_000), (6_000, 300_000), (9_000, 300_000), (10_000, 100_000)]);
        assert_eq!(of(4096, 4096), [(4096, 1_000_000)]);
        assert_eq!(of(512, 128 << 10).len(), 256);
        for (from, to) in [(0, 4096), (8192, 4096), (1, 1 << 20)] {
            assert_eq!(range_blocks(Bytes::new(from), Bytes::new(to)), None);
        }
    }
}
