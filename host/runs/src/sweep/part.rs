//! A part of a sweep: "3/1000" is the third of a thousand.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Parts at most.
const PARTS_MAX: u32 = 1_000_000;

/// Which part of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// From 1.
    number: u32,
    of: u32,
}

/// A text that is no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "write a part as its number and how many there are, as in 3/1000: 1/1000 is the first, {PARTS_MAX} are the most"
)]
pub struct PartError;

impl Part {
    /// All of it.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// The part with this number, from 1, of so many.
    ///
    /// # Errors
    /// [`PartError`] where there is no such part.
    pub const fn new(number: u32, of: u32) -> Result<Self, PartError> {
        if number == 0 || number > of || of > PARTS_MAX { Err(PartError) } else { Ok(Self { number, of }) }
    }

    /// The places of this part among so many. Parts follow one another, and their sizes differ by one at most.
    #[must_use]
    pub fn of(self, count: usize) -> Range<usize> {
        let from = |number: u32| (count as u128 * u128::from(number) / u128::from(self.of)) as usize;
        from(self.number - 1)..from(self.number)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Part {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let (number, of) = text.split_once('/').ok_or(PartError)?;
        let whole = |part: &str| part.trim().parse::<u32>().map_err(|_| PartError);
        Self::new(whole(number)?, whole(of)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_one_another_and_are_all_there_is() {
        for count in [0, 1, 7, 1_000, 99_999] {
            for of in [1, 2, 3, 1_000] {
                let parts: Vec<Range<usize>> =
                    (1..=of).map(|number| Part::new(number, of).unwrap().of(count)).collect();
                assert_eq!((parts[0].start, parts[parts.len() - 1].end), (0, count));
                assert!(parts.windows(2).all(|two| two[0].end == two[1].start));
                let sizes = || parts.iter().map(Range::len);
                assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn a_part_is_read_as_it_is_printed_and_others_are_refused() {
        assert_eq!("3/1000".parse::<Part>().unwrap().to_string(), "3/1000");
        for text in ["", "3", "0/4", "5/4", "1/0", "a/b", "1/2/3", "-1/4", "1/2000000"] {
            assert_eq!(text.parse::<Part>(), Err(PartError), "{text}");
        }
    }
}
