//! Polynomials over the field of two elements, a bit for each coefficient.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A polynomial of degree 63 at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polynomial(pub u64);

impl Polynomial {
    /// The degree of those by which contents are cut.
    pub const DEGREE: u32 = 53;

    /// The first irreducible polynomial of degree 53 out of random bits; one of about 27 is.
    #[must_use]
    pub fn from_random(bits: impl IntoIterator<Item = u64>) -> Option<Self> {
        let candidate = |bits: u64| Self(bits & ((1 << Self::DEGREE) - 1) | 1 << Self::DEGREE | 1);
        bits.into_iter().map(candidate).find(|polynomial| polynomial.is_irreducible())
    }

    pub(super) fn degree(self) -> i32 {
        63 - self.0.leading_zeros().cast_signed()
    }

    /// The remainder of a division.
    pub(super) fn modulo(self, divisor: Self) -> Self {
        let mut rest = self;
        while rest.degree() >= divisor.degree() {
            rest.0 ^= divisor.0 << (rest.degree() - divisor.degree());
        }
        rest
    }

    fn multiply_modulo(self, other: Self, divisor: Self) -> Self {
        let (mut product, mut shifted) = (0, self.modulo(divisor));
        for bit in 0..=other.degree().max(0) {
            if other.0 >> bit & 1 == 1 {
                product ^= shifted.0;
            }
            shifted = Self(shifted.0 << 1).modulo(divisor);
        }
        Self(product)
    }

    fn common_divisor(self, other: Self) -> Self {
        let (mut a, mut b) = (self, other);
        while b.0 != 0 {
            (a, b) = (b, a.modulo(b));
        }
        a
    }

    /// Ben-Or's test: no factor of a degree up to half of its own.
    pub(crate) fn is_irreducible(self) -> bool {
        let degree = self.degree();
        if !(1..=53).contains(&degree) {
            return false;
        }
        let x = Self(2);
        let mut power = x.modulo(self);
        (1..=degree / 2).all(|_| {
            power = power.multiply_modulo(power, self);
            self.common_divisor(Self(power.0 ^ x.modulo(self).0)).0 == 1
        })
    }
}

impl Serialize for Polynomial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Polynomial {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let polynomial = u64::from_str_radix(&text, 16).ok().map(Self);
        // Chunks are cut with tables that need a degree of at least 8 and shifts by it.
        let sound = polynomial.filter(|polynomial| (16..=53).contains(&polynomial.degree()));
        sound.ok_or_else(|| serde::de::Error::custom("this is no polynomial of degree 16 to 53"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irreducible_polynomials_are_told_from_products() {
        // The polynomials of the tests of restic's chunker.
        for irreducible in [0x3D_A335_8B4D_C173, 0x24_8273_4cac_ca49, 7, 11, 0b10_0101] {
            assert!(Polynomial(irreducible).is_irreducible(), "{irreducible:x}");
        }
        for product in [0, 1, 5, 0b10_0100, 0x38_f1e5_65e2_88df, 0x3D_A335_8B4D_C173 ^ 1, 1 << 53 | 1] {
            assert!(!Polynomial(product).is_irreducible(), "{product:x}");
        }
        assert_eq!(Polynomial::from_random([0, 0x3D_A335_8B4D_C173]), Some(Polynomial(0x3D_A335_8B4D_C173)));
        assert_eq!(Polynomial::from_random([0]), None);
    }

    #[test]
    fn text_is_hexadecimal() {
        let polynomial = Polynomial(0x25_b468_838d_cb75);
        let text = serde_json::to_string(&polynomial).unwrap();
        assert_eq!(text, "\"25b468838dcb75\"");
        assert_eq!(serde_json::from_str::<Polynomial>(&text).unwrap(), polynomial);
        for wrong in ["\"\"", "\"0\"", "\"ff\"", "\"ffffffffffffffff\"", "\"x\"", "1"] {
            assert!(serde_json::from_str::<Polynomial>(wrong).is_err(), "{wrong}");
        }
    }
}
