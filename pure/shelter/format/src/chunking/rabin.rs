//! Rabin fingerprints over a window of 64 bytes, with the bounds of restic: the same contents are cut at the same places.

use super::Polynomial;

/// The shortest chunk, but for the last of a file.
pub const CHUNK_MIN: usize = 512 << 10;
/// The longest chunk.
pub const CHUNK_MAX: usize = 8 << 20;
const WINDOW: usize = 64;
/// Chunks are 1 MiB longer than the shortest on average.
const MASK: u64 = (1 << 20) - 1;

/// Finds where contents are cut.
pub struct RabinChunker {
    out: [u64; 256],
    modulo: [u64; 256],
    shift: u32,
}

impl std::fmt::Debug for RabinChunker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RabinChunker(..)")
    }
}

impl RabinChunker {
    /// A chunker by the repository's polynomial.
    ///
    /// # Panics
    /// When the polynomial's degree is not from 16 to 53, as that of every configuration is.
    #[must_use]
    pub fn new(polynomial: Polynomial) -> Self {
        let degree = polynomial.degree();
        assert!((16..=53).contains(&degree), "a polynomial of degree {degree}");
        let append = |hash: Polynomial, byte: u64| Polynomial(hash.0 << 8 | byte).modulo(polynomial);
        let out = std::array::from_fn(|byte| {
            (1..WINDOW).fold(append(Polynomial(0), byte as u64), |hash, _| append(hash, 0)).0
        });
        let modulo = std::array::from_fn(|byte| {
            let shifted = Polynomial((byte as u64) << degree);
            shifted.modulo(polynomial).0 | shifted.0
        });
        Self { out, modulo, shift: degree as u32 - 8 }
    }

    /// The length of the chunk at the beginning of `contents`: from [`CHUNK_MIN`] to [`CHUNK_MAX`]. `None` if more contents are
    /// needed to find its end; at the end of a file everything left is the last chunk.
    #[must_use]
    pub fn cut(&self, contents: &[u8]) -> Option<usize> {
        if contents.len() < CHUNK_MIN {
            return None;
        }
        // restic begins a chunk with a 1 in its window, and skips what cannot be its end.
        let mut digest = self.slide(0, 0, 1);
        let skipped = CHUNK_MIN - WINDOW;
        for (index, byte) in contents[skipped..CHUNK_MIN].iter().enumerate() {
            digest = self.slide(digest, u8::from(index == WINDOW - 1), *byte);
        }
        if digest & MASK == 0 {
            return Some(CHUNK_MIN);
        }
        let end = contents.len().min(CHUNK_MAX);
        let leaving = &contents[skipped..];
        for (index, (byte, gone)) in contents[CHUNK_MIN..end].iter().zip(leaving).enumerate() {
            digest = self.slide(digest, *gone, *byte);
            if digest & MASK == 0 {
                return Some(CHUNK_MIN + index + 1);
            }
        }
        (contents.len() >= CHUNK_MAX).then_some(CHUNK_MAX)
    }

    #[inline]
    fn slide(&self, digest: u64, gone: u8, byte: u8) -> u64 {
        let digest = digest ^ self.out[usize::from(gone)];
        let index = (digest >> self.shift) as usize & 255;
        (digest << 8 | u64::from(byte)) ^ self.modulo[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_keep_their_bounds() {
        let chunker = RabinChunker::new(Polynomial(0x3D_A335_8B4D_C173));
        assert_eq!(chunker.cut(&vec![0; CHUNK_MIN - 1]), None);
        // Restic's own test: a file of zero bytes is cut at its shortest length.
        assert_eq!(chunker.cut(&vec![0; CHUNK_MAX]), Some(CHUNK_MIN));
        let ones = vec![1; CHUNK_MAX + 1];
        assert!(chunker.cut(&ones).is_some_and(|length| (CHUNK_MIN..=CHUNK_MAX).contains(&length)));
    }
}
