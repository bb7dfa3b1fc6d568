//! The compact form of a one-second series: columns of differences as LEB128 numbers.
//!
//! Neighbouring seconds resemble each other, so most differences take one to four bytes. The layout is in
//! `docs/formats/store.md`.

use loadline_record::{Second, SecondOperation, Series};

const FORMAT: u8 = 1;

/// A stored series that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// Written by another version.
    #[error("the stored series has format {0}, this version reads format {FORMAT}")]
    Version(u8),
    /// The bytes end too soon.
    #[error("the stored series is cut short")]
    CutShort,
    /// Numbers out of range, or bytes left over.
    #[error("the stored series contradicts itself")]
    Contradiction,
}

/// One column of an operation's figures.
type Column = fn(&mut SecondOperation) -> &mut u64;
/// An operation's columns in stored order.
const COLUMNS: [Column; 5] =
    [|o| &mut o.count, |o| &mut o.bytes, |o| &mut o.p50_ns, |o| &mut o.p99_ns, |o| &mut o.max_ns];

/// The bytes of `series`.
pub(crate) fn encode(series: &Series) -> Vec<u8> {
    let mut out = vec![FORMAT];
    put(&mut out, u64::from(series.interval_s));
    put(&mut out, series.last_ns);
    put(&mut out, series.seconds.len() as u64);
    let mut seconds = series.seconds.clone();
    let idle = SecondOperation::default();
    let present: Vec<usize> = (0..4).filter(|o| seconds.iter().any(|s| s.operations[*o] != idle)).collect();
    out.push(present.iter().map(|o| 1 << o).sum());
    for operation in present {
        for column in COLUMNS {
            put_differences(&mut out, seconds.iter_mut().map(|s| *column(&mut s.operations[operation])));
        }
    }
    let mut previous = 0;
    for second in &seconds {
        let bits = second.outstanding.to_bits();
        // Close values share sign, exponent and the first digits: exclusive or leaves a shorter number.
        put(&mut out, bits ^ previous);
        previous = bits;
    }
    put_differences(&mut out, seconds.iter().map(|s| s.errors));
    out
}

/// Reads the output of [`encode`].
pub(crate) fn decode(bytes: &[u8]) -> Result<Series, SeriesError> {
    let mut rest = bytes;
    let version = take_byte(&mut rest)?;
    if version != FORMAT {
        return Err(SeriesError::Version(version));
    }
    let interval_s = u32::try_from(take(&mut rest)?).map_err(|_| SeriesError::Contradiction)?;
    let last_ns = take(&mut rest)?;
    let count = take(&mut rest)?;
    let present = take_byte(&mut rest)?;
    // Each second takes at least two bytes: a larger count must not reserve memory.
    if count.checked_mul(2).is_none_or(|least| least > rest.len() as u64) {
        return Err(SeriesError::CutShort);
    }
    if present > 0b1111 {
        return Err(SeriesError::Contradiction);
    }
    let mut seconds = vec![Second::default(); count as usize];
    for operation in (0..4).filter(|o| present & (1 << o) != 0) {
        for column in COLUMNS {
            take_differences(&mut rest, seconds.iter_mut().map(|s| column(&mut s.operations[operation])))?;
        }
    }
    let mut previous = 0;
    for second in &mut seconds {
        previous ^= take(&mut rest)?;
        second.outstanding = f64::from_bits(previous);
    }
    take_differences(&mut rest, seconds.iter_mut().map(|s| &mut s.errors))?;
    if rest.is_empty() { Ok(Series { interval_s, seconds, last_ns }) } else { Err(SeriesError::Contradiction) }
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Each value less the one before, modulo 2^64; zigzag puts small differences of either sign in few bytes.
fn put_differences(out: &mut Vec<u8>, values: impl Iterator<Item = u64>) {
    let mut previous = 0u64;
    for value in values {
        let difference = value.wrapping_sub(previous).cast_signed();
        put(out, (difference << 1 ^ difference >> 63).cast_unsigned());
        previous = value;
    }
}

fn take_byte(rest: &mut &[u8]) -> Result<u8, SeriesError> {
    let (&byte, tail) = rest.split_first().ok_or(SeriesError::CutShort)?;
    *rest = tail;
    Ok(byte)
}

fn take(rest: &mut &[u8]) -> Result<u64, SeriesError> {
    let mut value: u128 = 0;
    for shift in (0..70).step_by(7) {
        let byte = take_byte(rest)?;
        value |= u128::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u64::try_from(value).map_err(|_| SeriesError::Contradiction);
        }
    }
    Err(SeriesError::Contradiction)
}

fn take_differences<'a>(rest: &mut &[u8], places: impl Iterator<Item = &'a mut u64>) -> Result<(), SeriesError> {
    let mut previous = 0u64;
    for place in places {
        let zigzag = take(rest)?;
        let difference = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        previous = previous.wrapping_add(difference);
        *place = previous;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn operation() -> impl Strategy<Value = SecondOperation> {
        (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(count, bytes, p50_ns, p99_ns, max_ns)| SecondOperation { count, bytes, p50_ns, p99_ns, max_ns })
    }
    fn second() -> impl Strategy<Value = Second> {
        let operations =
            [Just(SecondOperation::default()).boxed(), operation().boxed(), operation().boxed(), operation().boxed()];
        (operations, any::<f64>(), any::<u64>()).prop_map(|(operations, outstanding, errors)| Second {
            operations,
            outstanding,
            errors,
        })
    }

    proptest! {
        #[test]
        fn a_series_comes_back_as_it_was(seconds in prop::collection::vec(second(), 0..40), interval_s in any::<u32>(), last_ns in any::<u64>()) {
            let series = Series { interval_s, seconds, last_ns };
            prop_assert_eq!(decode(&encode(&series)).unwrap(), series);
        }
        #[test]
        fn no_bytes_make_the_decoder_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = FORMAT;
            }
            let _ = decode(&bytes);
        }
        #[test]
        fn bytes_cut_off_are_noticed(seconds in prop::collection::vec(second(), 1..5), cut in any::<prop::sample::Index>()) {
            let bytes = encode(&Series { interval_s: 1, seconds, last_ns: 0 });
            prop_assert!(decode(&bytes[..cut.index(bytes.len())]).is_err());
        }
    }

    #[test]
    fn a_count_beyond_the_bytes_reserves_no_memory() {
        let mut bytes = vec![FORMAT];
        put(&mut bytes, 1);
        put(&mut bytes, 0);
        put(&mut bytes, u64::MAX);
        bytes.push(0b1111);
        assert_eq!(decode(&bytes), Err(SeriesError::CutShort));
    }
}
