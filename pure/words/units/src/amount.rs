//! Sizes in bytes.

use crate::text::{self, Unit, UnitError, serde_as_text};

/// A size or an offset in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

const WANTED: &str = "a size such as \"8 KiB\", \"100 GiB\" or \"500 MB\"";
const UNITS: &[Unit] = &[
    (&["B", "byte", "bytes"], 1),
    (&["kB", "KB"], 1_000),
    (&["MB"], 1_000_000),
    (&["GB"], 1_000_000_000),
    (&["TB"], 1_000_000_000_000),
    // A letter alone is what fio, dd and qemu take for the binary unit.
    (&["KiB", "k", "K"], 1 << 10),
    (&["MiB", "m", "M"], 1 << 20),
    (&["GiB", "g", "G"], 1 << 30),
    (&["TiB", "t", "T"], 1 << 40),
];
const EXACT: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
];

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// 1024 bytes.
    pub const KIB: Self = Self(1 << 10);
    /// 1024 KiB.
    pub const MIB: Self = Self(1 << 20);
    /// 1024 MiB.
    pub const GIB: Self = Self(1 << 30);

    /// `count` bytes.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }
    /// `count` KiB.
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }
    /// `count` MiB.
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }
    /// `count` GiB.
    #[must_use]
    pub const fn gib(count: u64) -> Self {
        Self(count << 30)
    }
    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Rounded down to a multiple of `unit`, which must not be zero.
    #[must_use]
    pub const fn round_down(self, unit: Self) -> Self {
        Self(self.0 - self.0 % unit.0)
    }
    /// The difference, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// Three significant digits in binary units, for people: "3.73 GiB".
    #[must_use]
    pub fn human(self) -> String {
        const HUMAN: &[(&str, f64)] = &[
            ("TiB", 1_099_511_627_776.0),
            ("GiB", 1_073_741_824.0),
            ("MiB", 1_048_576.0),
            ("KiB", 1024.0),
            ("B", 1.0),
        ];
        text::human(self.0 as f64, HUMAN)
    }
}

impl std::ops::Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}
impl std::ops::Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}
impl std::ops::Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, count: u64) -> Self {
        Self(self.0 * count)
    }
}
impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        text::print_exact(f, self.0, EXACT)
    }
}
impl std::str::FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        text::parse(text, UNITS, WANTED).map(Self)
    }
}
serde_as_text!(Bytes);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_and_binary_units_are_told_apart() {
        assert_eq!("1 MB".parse::<Bytes>().unwrap().get(), 1_000_000);
        assert_eq!("1 MiB".parse::<Bytes>().unwrap().get(), 1_048_576);
        assert_eq!("1.5KiB".parse::<Bytes>().unwrap().get(), 1536);
    }

    #[test]
    fn a_size_is_printed_in_the_largest_unit_that_holds_it() {
        for text in ["30 GB", "30 GiB", "800 GB", "64 KiB", "500 MB"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_letter_alone_is_the_binary_unit_of_fio_and_dd() {
        for (text, size) in
            [("4k", Bytes::kib(4)), ("1M", Bytes::MIB), ("10G", Bytes::gib(10)), ("1.5 t", Bytes::gib(1_536))]
        {
            assert_eq!(text.parse::<Bytes>().unwrap(), size, "{text}");
        }
        // It is shown with the unit that was understood.
        assert_eq!("10G".parse::<Bytes>().unwrap().to_string(), "10 GiB");
    }

    #[test]
    fn a_bare_number_is_refused() {
        assert!(matches!("4096".parse::<Bytes>(), Err(UnitError::NoUnit { .. })));
        assert!(matches!("4 q".parse::<Bytes>(), Err(UnitError::UnknownUnit { .. })));
        assert!(matches!("KiB".parse::<Bytes>(), Err(UnitError::NoNumber { .. })));
        assert!(matches!("0.3 B".parse::<Bytes>(), Err(UnitError::OutOfRange { .. })));
        assert!(matches!("1.2.3 B".parse::<Bytes>(), Err(UnitError::OutOfRange { .. })));
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(count in any::<u64>()) {
            let bytes = Bytes::new(count);
            prop_assert_eq!(bytes.to_string().parse::<Bytes>().unwrap(), bytes);
        }
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = text.parse::<Bytes>();
        }
    }
}
