//! Files of keys: the master key, sealed by what scrypt makes of a password.

use crate::seal::MasterKey;
use crate::text::base64_bytes;
use crate::{FormatError, Timestamp};
use serde::{Deserialize, Serialize};

/// How much work and memory scrypt takes: `128 * n * r` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScryptCost {
    /// The binary logarithm of `N`.
    pub log_n: u8,
    /// `r`.
    pub r: u32,
    /// `p`.
    pub p: u32,
}

impl ScryptCost {
    /// What restic uses where it does not calibrate: 32 MiB, about 100 ms.
    pub const DEFAULT: Self = Self { log_n: 15, r: 8, p: 1 };
    const MEMORY_MAX: u64 = 1 << 30;
    const WORK_MAX: u64 = 1 << 34;

    fn checked(self) -> Result<scrypt::Params, FormatError> {
        let wrong = |detail: &str| FormatError::invalid("a key file's cost", detail);
        if self.log_n > 24 || self.r == 0 || self.r > 1024 || self.p == 0 || self.p > 1024 {
            return Err(wrong("N, r or p is out of range"));
        }
        let memory = (128_u64 << self.log_n) * u64::from(self.r);
        if memory > Self::MEMORY_MAX || memory * u64::from(self.p) > Self::WORK_MAX {
            return Err(wrong("scrypt would take more than 1 GiB"));
        }
        scrypt::Params::new(self.log_n, self.r, self.p).map_err(|error| wrong(&error.to_string()))
    }

    fn derive(self, password: &[u8], salt: &[u8]) -> Result<MasterKey, FormatError> {
        let mut bytes = [0; 64];
        scrypt::scrypt(password, salt, &self.checked()?, &mut bytes)
            .map_err(|error| FormatError::invalid("a key file's cost", error.to_string()))?;
        Ok(MasterKey::from_random(bytes))
    }
}

/// A file below `keys/`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyFile {
    created: Option<Timestamp>,
    #[serde(default)]
    username: String,
    #[serde(default)]
    hostname: String,
    kdf: String,
    #[serde(rename = "N")]
    n: u64,
    r: u32,
    p: u32,
    #[serde(with = "base64_bytes")]
    salt: Vec<u8>,
    #[serde(with = "base64_bytes")]
    data: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct MacKeys {
    #[serde(with = "base64_bytes")]
    k: Vec<u8>,
    #[serde(with = "base64_bytes")]
    r: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct MasterKeys {
    mac: MacKeys,
    #[serde(with = "base64_bytes")]
    encrypt: Vec<u8>,
}

impl KeyFile {
    /// Seals `master` by `password`. The salt must be random, and so must the nonce.
    ///
    /// # Errors
    /// The cost is out of range.
    pub fn seal(
        master: &MasterKey,
        password: &[u8],
        cost: ScryptCost,
        salt: [u8; 64],
        nonce: [u8; 16],
        created: Timestamp,
        hostname: &str,
    ) -> Result<Self, FormatError> {
        let (encrypt, k, r) = master.parts();
        let keys = MasterKeys { mac: MacKeys { k: k.to_vec(), r: r.to_vec() }, encrypt: encrypt.to_vec() };
        let plain = serde_json::to_vec(&keys).map_err(|error| FormatError::json("a key", &error))?;
        let mut data = Vec::new();
        cost.derive(password, &salt)?.seal(nonce, &plain, &mut data);
        Ok(Self {
            created: Some(created),
            username: "loadline".to_owned(),
            hostname: hostname.to_owned(),
            kdf: "scrypt".to_owned(),
            n: 1 << cost.log_n,
            r: cost.r,
            p: cost.p,
            salt: salt.to_vec(),
            data,
        })
    }

    /// The master key, by the password.
    ///
    /// # Errors
    /// [`FormatError::NotAuthentic`] with another password; otherwise what does not make sense.
    pub fn open(&self, password: &[u8]) -> Result<MasterKey, FormatError> {
        if self.kdf != "scrypt" || !self.n.is_power_of_two() {
            return Err(FormatError::invalid("a key file", "the key is not derived by scrypt"));
        }
        let cost = ScryptCost { log_n: self.n.trailing_zeros() as u8, r: self.r, p: self.p };
        let plain = cost.derive(password, &self.salt)?.open(&self.data)?;
        let keys: MasterKeys = serde_json::from_slice(&plain).map_err(|error| FormatError::json("a key", &error))?;
        let wrong = |_| FormatError::invalid("a key", "a part of it has the wrong length");
        Ok(MasterKey::of_parts(
            keys.encrypt.try_into().map_err(wrong)?,
            keys.mac.k.try_into().map_err(wrong)?,
            keys.mac.r.try_into().map_err(wrong)?,
        ))
    }

    /// Out of the file's bytes.
    ///
    /// # Errors
    /// They are no file of a key.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        serde_json::from_slice(bytes).map_err(|error| FormatError::json("a key file", &error))
    }

    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHEAP: ScryptCost = ScryptCost { log_n: 4, r: 8, p: 1 };

    #[test]
    fn the_password_opens_the_key_and_no_other_does() {
        let master = MasterKey::from_random([9; 64]);
        let file = KeyFile::seal(&master, b"secret", CHEAP, [1; 64], [2; 16], Timestamp::default(), "host").unwrap();
        let file = KeyFile::decode(&file.encode()).unwrap();
        assert_eq!(file.open(b"secret").unwrap().parts(), master.parts());
        assert_eq!(file.open(b"Secret").unwrap_err(), FormatError::NotAuthentic);
    }

    #[test]
    fn a_cost_that_would_take_all_memory_is_refused() {
        let mut file =
            KeyFile::seal(&MasterKey::from_random([9; 64]), b"", CHEAP, [1; 64], [2; 16], Timestamp::default(), "")
                .unwrap();
        for (n, r, p) in [(1 << 24, 8, 1), (1 << 40, 8, 1), (16, 0, 1), (16, 8, 100_000), (15, 8, 1)] {
            (file.n, file.r, file.p) = (n, r, p);
            assert!(matches!(file.open(b""), Err(FormatError::Invalid { .. })), "{n} {r} {p}");
        }
    }

    /// What restic 0.14.0 wrote: its key, and its configuration sealed by it.
    #[test]
    fn a_key_of_restic_opens_its_configuration() {
        let key = r#"{"created":"2026-11-26T15:06:21.238536122Z","username":"root","hostname":"vm","kdf":"scrypt","N":32768,"r":8,"p":2,"salt":"UQJWut4EHXYsp+lpXX2LlCwmLQyw/Top6hDWWwGkDBYuB4RlYLPWLAf4nrL+dbJ7/tK3ZQr6rgcpQJbcZjEmjQ==","data":"giBH+qoxT4qegRB/wfWGROMFecphnGowxQf2WZ7GIb3B1keReU5mO3GByNyYJg3glsdgKb0xGLJ9tUU0is9MJCql0gLw4A6YY5OJmIYcmLA/TWZxgadv1NszOhEG3kXLznn0BX7eNrrFuW1+qDMYZo1mdH+EAuMXLepVduiRTQ8na2SxXjH8HUFqB8uyxLfSiXTYZueogK0SKCfe/3px2w=="}"#;
        let config = "211c08d16097981f9f62a5444475fb8f94e2db660f6ab605d379bc97fd389d15d5b3807ee088a0900961c6f3af809938\
         040df286b11427594508562d28f3f6fd850c6658ff5d1c3196c15ec3ed8071fa5d0b779f0b937e24cf082b4d706343d5\
         1d6db8c86b6ad5e08c7c928e889b44c6a9d457d48da9405bb7ebe7506c2cbddf729e81272baa8537d6f245b82b31c739\
         872b8ecaa53a7d1402ec71";
        let master = KeyFile::decode(key.as_bytes()).unwrap().open(b"secret").unwrap();
        let digit = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
        let sealed: Vec<u8> = config.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        let config = crate::RepositoryConfig::decode(&master.open(&sealed).unwrap()).unwrap();
        assert!(config.chunker_polynomial.is_irreducible());
        assert_eq!(crate::RepositoryConfig::decode(&config.encode()).as_ref(), Ok(&config));
    }
}
