//! The names of things: the SHA-256 of their contents.

use crate::FormatError;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// The SHA-256 by which a blob or file is named; 64 hexadecimal digits in text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjectId(pub [u8; 32]);

impl ObjectId {
    /// The name of these contents.
    #[must_use]
    pub fn of(contents: &[u8]) -> Self {
        Self(Sha256::digest(contents).into())
    }

    /// `contents`' name is this one, or it says which one it is.
    pub(crate) fn verify(self, contents: &[u8]) -> Result<(), FormatError> {
        let found = Self::of(contents);
        if found == self { Ok(()) } else { Err(FormatError::OtherContents { expected: self, found }) }
    }

    /// The hexadecimal digits, as bytes of ASCII.
    #[must_use]
    pub fn hex(self) -> [u8; 64] {
        let mut digits = [0; 64];
        HEXLOWER.encode_mut(&self.0, &mut digits);
        digits
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.hex();
        f.pad(std::str::from_utf8(&digits).unwrap_or_default())
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:.8}")
    }
}

impl FromStr for ObjectId {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        let wrong = || FormatError::invalid("an id", format!("{:?} is not 64 hexadecimal digits", shortened(text)));
        if text.len() != 64 {
            return Err(wrong());
        }
        let mut id = [0; 32];
        HEXLOWER_PERMISSIVE.decode_mut(text.as_bytes(), &mut id).map_err(|_| wrong())?;
        Ok(Self(id))
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(70).collect()
}

impl Serialize for ObjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = ObjectId;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("64 hexadecimal digits")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ObjectId, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// Hashes contents that come in parts.
#[derive(Debug, Clone, Default)]
pub struct ContentHasher(Sha256);

impl ContentHasher {
    /// Takes in the next part.
    pub fn update(&mut self, part: &[u8]) {
        self.0.update(part);
    }
    /// The name of all parts together.
    #[must_use]
    pub fn finish(self) -> ObjectId {
        ObjectId(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_hash_in_hexadecimal_digits_and_back() {
        let id = ObjectId::of(b"abc");
        assert_eq!(id.to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(id.to_string().parse(), Ok(id));
        let mut hasher = ContentHasher::default();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), id);
        for wrong in ["", "ba", &"g".repeat(64), &"ä".repeat(32)] {
            assert!(wrong.parse::<ObjectId>().is_err());
        }
    }
}
