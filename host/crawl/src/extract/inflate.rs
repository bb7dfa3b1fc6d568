//! Decompression within caps.

use crate::item::ItemFailure;
use flate2::read::MultiGzDecoder;
use loadline_pipeline::CrawlCaps;
use std::io::Read as _;

/// So much may come of a few bytes, whatever the ratio.
const RATIO_FROM: u64 = 1 << 20;

/// What was compressed by gzip.
///
/// # Errors
/// It is no gzip, or it becomes larger than it may.
pub(super) fn inflated(body: &[u8], caps: &CrawlCaps) -> Result<Vec<u8>, ItemFailure> {
    let by_ratio = (body.len() as u64).saturating_mul(u64::from(caps.ratio)).max(RATIO_FROM);
    let most = caps.inflated.get().min(by_ratio);
    let mut whole = Vec::new();
    MultiGzDecoder::new(body)
        .take(most + 1)
        .read_to_end(&mut whole)
        .map_err(|_| ItemFailure::of("it cannot be decompressed"))?;
    if whole.len() as u64 > most {
        let cap = if most == caps.inflated.get() { "caps.inflated" } else { "caps.ratio" };
        return Err(ItemFailure::of(format!("larger than {cap} when it is decompressed")));
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_bomb_is_cut_at_its_cap_and_named() {
        let caps = CrawlCaps::default();
        assert_eq!(inflated(&packed(b"words"), &caps).unwrap(), b"words");
        let bomb = packed(&vec![0; 8 << 20]);
        assert!(inflated(&bomb, &caps).unwrap_err().reason.contains("caps.ratio"));
        let caps = CrawlCaps { inflated: loadline_units::Bytes::kib(1), ..caps };
        assert!(inflated(&bomb, &caps).unwrap_err().reason.contains("caps.inflated"));
        assert!(inflated(b"\x1f\x8bnothing", &caps).is_err());
    }
}
