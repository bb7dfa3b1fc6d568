//! Compression by zstd, and what is left as it is.

use crate::FormatError;
use std::io::Read;

/// How much of a blob shows whether it can be compressed.
const SAMPLE: usize = 16 << 10;
/// Blobs up to this length are compressed without looking at a sample first.
const SAMPLED_FROM: usize = 64 << 10;
/// Larger contents are decompressed piece by piece, so that a false length cannot take the memory.
const AT_ONCE_MAX: usize = 64 << 20;

/// A compressor and its buffer, to be used again and again by one thread.
pub struct Compression {
    compressor: zstd::bulk::Compressor<'static>,
    buffer: Vec<u8>,
}

impl std::fmt::Debug for Compression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compression(..)")
    }
}

impl Compression {
    /// The fastest level, which is what saves need.
    pub const LEVEL: i32 = 1;

    /// A compressor of [`Self::LEVEL`].
    ///
    /// # Errors
    /// zstd has no memory.
    pub fn new() -> Result<Self, FormatError> {
        let compressor = zstd::bulk::Compressor::new(Self::LEVEL)
            .map_err(|error| FormatError::invalid("the compressor", error.to_string()))?;
        Ok(Self { compressor, buffer: Vec::new() })
    }

    /// `plain` compressed, or `None` where that saves less than a sixteenth.
    pub fn compress(&mut self, plain: &[u8]) -> Option<&[u8]> {
        if plain.len() > SAMPLED_FROM {
            let middle = plain.len() / 2;
            let sample = &plain[middle..(middle + SAMPLE).min(plain.len())];
            if !self.pays(sample) && !self.pays(&plain[..SAMPLE]) {
                return None;
            }
        }
        if self.pays(plain) { Some(&self.buffer) } else { None }
    }

    fn pays(&mut self, plain: &[u8]) -> bool {
        self.buffer.clear();
        self.buffer.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        let length = self.compressor.compress_to_buffer(plain, &mut self.buffer);
        length.is_ok_and(|length| length < plain.len() - plain.len() / 16)
    }
}

/// A decompressor and its buffers, to be used again and again by one thread.
#[derive(Default)]
pub struct Decompression {
    decompressor: Option<zstd::bulk::Decompressor<'static>>,
    /// What was opened and not yet decompressed.
    pub(crate) opened: Vec<u8>,
}

impl std::fmt::Debug for Decompression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decompression(..)")
    }
}

impl Decompression {
    /// Decompresses what was opened into `plain`, whose length must be `length`.
    pub(crate) fn decompress(&mut self, length: usize, plain: &mut Vec<u8>) -> Result<(), FormatError> {
        let wrong = |detail: String| FormatError::invalid("compressed contents", detail);
        plain.clear();
        if length <= AT_ONCE_MAX {
            let decompressor = match &mut self.decompressor {
                Some(decompressor) => decompressor,
                empty => empty.insert(zstd::bulk::Decompressor::new().map_err(|error| wrong(error.to_string()))?),
            };
            plain.reserve(length);
            decompressor.decompress_to_buffer(&self.opened, plain).map_err(|error| wrong(error.to_string()))?;
        } else {
            let decoder = zstd::stream::read::Decoder::new(self.opened.as_slice());
            let decoder = decoder.map_err(|error| wrong(error.to_string()))?;
            decoder.take(length as u64 + 1).read_to_end(plain).map_err(|error| wrong(error.to_string()))?;
        }
        if plain.len() == length { Ok(()) } else { Err(wrong(format!("{} bytes and not {length}", plain.len()))) }
    }
}

/// The first byte of compressed JSON.
const COMPRESSED: u8 = 2;
/// Bound of an index or snapshot, decompressed.
const UNPACKED_MAX: u64 = 1 << 30;

/// JSON of an index or snapshot as it is sealed.
///
/// # Errors
/// zstd has no memory.
pub fn encode_unpacked(json: &[u8]) -> Result<Vec<u8>, FormatError> {
    let packed = zstd::bulk::compress(json, 3).map_err(|error| FormatError::invalid("JSON", error.to_string()))?;
    Ok([&[COMPRESSED], packed.as_slice()].concat())
}

/// JSON of an opened index or snapshot.
///
/// # Errors
/// It is neither JSON nor compressed, or larger than 1 GiB.
pub fn decode_unpacked(plain: Vec<u8>) -> Result<Vec<u8>, FormatError> {
    match plain.first() {
        Some(b'{' | b'[') => Ok(plain),
        Some(&COMPRESSED) => {
            let wrong = |error: std::io::Error| FormatError::invalid("a compressed file", error.to_string());
            let mut json = Vec::new();
            let decoder = zstd::stream::read::Decoder::new(&plain[1..]).map_err(wrong)?;
            decoder.take(UNPACKED_MAX + 1).read_to_end(&mut json).map_err(wrong)?;
            if json.len() as u64 > UNPACKED_MAX {
                return Err(FormatError::TooLarge { what: "a compressed file", limit: UNPACKED_MAX });
            }
            Ok(json)
        }
        Some(other) => Err(FormatError::invalid("a file", format!("its contents are of the unknown kind {other}"))),
        None => Err(FormatError::Truncated { what: "a file" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_get_smaller_stays_as_it_is() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(200_000)
        .collect();
        let mut compression = Compression::new().unwrap();
        assert!(compression.compress(&noise).is_none());
        assert!(compression.compress(&noise[..5000]).is_none());
        assert!(compression.compress(&[]).is_none());
        let even = vec![b'a'; 200_000];
        let packed = compression.compress(&even).unwrap().to_vec();
        assert!(packed.len() < 100);
        let mut decompression = Decompression { opened: packed, ..Decompression::default() };
        let mut plain = Vec::new();
        decompression.decompress(even.len(), &mut plain).unwrap();
        assert_eq!(plain, even);
        for length in [even.len() - 1, even.len() + 1, AT_ONCE_MAX + 1] {
            assert!(decompression.decompress(length, &mut plain).is_err());
        }
    }

    #[test]
    fn json_is_compressed_or_not() {
        let json = b"{\"a\":1}".to_vec();
        assert_eq!(decode_unpacked(json.clone()), Ok(json.clone()));
        assert_eq!(decode_unpacked(encode_unpacked(&json).unwrap()), Ok(json));
        assert!(decode_unpacked(vec![]).is_err());
        assert!(decode_unpacked(vec![3, 1]).is_err());
        assert!(decode_unpacked(vec![2, 1]).is_err());
    }
}
