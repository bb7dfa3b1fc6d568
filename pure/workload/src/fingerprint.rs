//! Fingerprints of texts: FNV-1a with 64 bits, which tells apart but does not protect.

/// The state of FNV-1a over the bytes so far; prints as 16 hexadecimal digits.
/// (Fowler, Noll, Vo; draft-eastlake-fnv: offset basis 0xcbf29ce484222325, prime 0x100000001b3.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Of these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let state = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
            (state ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Self(state)
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_test_vectors() {
        assert_eq!(Fingerprint::of(b"").to_string(), "cbf29ce484222325");
        assert_eq!(Fingerprint::of(b"a").to_string(), "af63dc4c8601ec8c");
        assert_eq!(Fingerprint::of(b"foobar").to_string(), "85944171f73967e8");
    }
}
