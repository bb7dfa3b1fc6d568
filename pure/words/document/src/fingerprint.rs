//! Fingerprints of texts: FNV-1a with 64 bits, which distinguishes texts but does not protect them.

/// The fingerprint of a text: FNV-1a (64 bit), 16 hexadecimal digits.
/// (Fowler, Noll, Vo; draft-eastlake-fnv: offset basis 0xcbf29ce484222325, prime 0x100000001b3.)
#[must_use]
pub fn text_hash(text: &str) -> String {
    let state = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{state:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_test_vectors() {
        assert_eq!(text_hash(""), "cbf29ce484222325");
        assert_eq!(text_hash("a"), "af63dc4c8601ec8c");
        assert_eq!(text_hash("foobar"), "85944171f73967e8");
    }
}
