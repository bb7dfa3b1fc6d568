//! How contents are sealed: AES-256 in counter mode, authenticated by Poly1305-AES.

use crate::FormatError;
use aes::Aes256;
use aes::cipher::{BlockCipherEncrypt, InnerIvInit, KeyInit, StreamCipher};
use poly1305::Poly1305;
use std::fmt;

/// The length of a nonce.
pub const NONCE_LENGTH: usize = 16;
const MAC_LENGTH: usize = 16;
/// How much longer sealed contents are: a nonce before them and an authentication code behind.
pub const SEAL_OVERHEAD: usize = NONCE_LENGTH + MAC_LENGTH;

/// The key that seals everything in a repository but the files of keys.
#[derive(Clone)]
pub struct MasterKey {
    encrypt: [u8; 32],
    mac_k: [u8; 16],
    mac_r: [u8; 16],
    cipher: Aes256,
    mac_cipher: aes::Aes128,
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

impl MasterKey {
    /// A key of 64 random bytes: 32 that encrypt, 16 and 16 that authenticate.
    #[must_use]
    pub fn from_random(bytes: [u8; 64]) -> Self {
        let part = |from: usize| -> [u8; 16] { std::array::from_fn(|index| bytes[from + index]) };
        Self::of_parts(std::array::from_fn(|index| bytes[index]), part(32), part(48))
    }

    pub(crate) fn of_parts(encrypt: [u8; 32], mac_k: [u8; 16], mut mac_r: [u8; 16]) -> Self {
        // Poly1305 wants these bits of `r` clear; a key file may have them cleared or not.
        for index in [3, 7, 11, 15] {
            mac_r[index] &= 0b1111;
        }
        for index in [4, 8, 12] {
            mac_r[index] &= 0b1111_1100;
        }
        let (cipher, mac_cipher) = (Aes256::new(&encrypt.into()), aes::Aes128::new(&mac_k.into()));
        Self { encrypt, mac_k, mac_r, cipher, mac_cipher }
    }

    pub(crate) fn parts(&self) -> (&[u8; 32], &[u8; 16], &[u8; 16]) {
        (&self.encrypt, &self.mac_k, &self.mac_r)
    }

    /// Appends `plain` sealed to `out`. A nonce must never come twice under one key.
    pub fn seal(&self, nonce: [u8; NONCE_LENGTH], plain: &[u8], out: &mut Vec<u8>) {
        out.reserve(plain.len() + SEAL_OVERHEAD);
        out.extend_from_slice(&nonce);
        let start = out.len();
        out.extend_from_slice(plain);
        self.apply_stream(nonce, &mut out[start..]);
        let mac = self.mac(nonce, &out[start..]);
        out.extend_from_slice(&mac);
    }

    /// What was sealed.
    ///
    /// # Errors
    /// Fewer bytes than any sealed contents have, or the authentication code does not fit.
    pub fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, FormatError> {
        let mut plain = Vec::new();
        self.open_into(sealed, &mut plain)?;
        Ok(plain)
    }

    pub(crate) fn open_into(&self, sealed: &[u8], plain: &mut Vec<u8>) -> Result<(), FormatError> {
        let truncated = FormatError::Truncated { what: "a sealed part" };
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LENGTH>().ok_or_else(|| truncated.clone())?;
        let (cipher_text, mac) = rest.split_last_chunk::<MAC_LENGTH>().ok_or(truncated)?;
        let expected = self.mac(*nonce, cipher_text);
        // All bytes are looked at, whichever differs.
        if expected.iter().zip(mac).fold(0, |differ, (a, b)| differ | (a ^ b)) != 0 {
            return Err(FormatError::NotAuthentic);
        }
        plain.clear();
        plain.extend_from_slice(cipher_text);
        self.apply_stream(*nonce, plain);
        Ok(())
    }

    fn apply_stream(&self, nonce: [u8; NONCE_LENGTH], bytes: &mut [u8]) {
        let core = ctr::CtrCore::<&Aes256, ctr::flavors::Ctr128BE>::inner_iv_init(&self.cipher, &nonce.into());
        let mut stream = aes::cipher::StreamCipherCoreWrapper::from_core(core);
        stream.apply_keystream(bytes);
    }

    /// Poly1305-AES: the one-time key is `r` and the encrypted nonce.
    fn mac(&self, nonce: [u8; NONCE_LENGTH], cipher_text: &[u8]) -> [u8; MAC_LENGTH] {
        let mut pad = nonce.into();
        self.mac_cipher.encrypt_block(&mut pad);
        let mut key = [0; 32];
        key[..16].copy_from_slice(&self.mac_r);
        key[16..].copy_from_slice(&pad);
        Poly1305::new(&key.into()).compute_unpadded(cipher_text).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> MasterKey {
        MasterKey::from_random(std::array::from_fn(|index| index as u8 * 3))
    }

    #[test]
    fn sealed_contents_come_back_and_no_changed_bit_passes() {
        for length in [0, 1, 15, 16, 17, 1000] {
            let plain: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let mut sealed = Vec::new();
            key().seal([7; 16], &plain, &mut sealed);
            assert_eq!(sealed.len(), plain.len() + SEAL_OVERHEAD);
            assert_eq!(key().open(&sealed).as_ref(), Ok(&plain));
            for index in 0..sealed.len().min(40) {
                let mut other = sealed.clone();
                other[index] ^= 1;
                assert_eq!(key().open(&other), Err(FormatError::NotAuthentic));
            }
        }
        assert!(matches!(key().open(&[0; 31]), Err(FormatError::Truncated { .. })));
    }

    /// The first test vector of the paper on Poly1305-AES.
    #[test]
    fn the_authentication_code_is_that_of_the_paper() {
        let r = [0x85, 0x1f, 0xc4, 0x0c, 0x34, 0x67, 0xac, 0x0b, 0xe0, 0x5c, 0xc2, 0x04, 0x04, 0xf3, 0xf7, 0x00];
        let k = [0xec, 0x07, 0x4c, 0x83, 0x55, 0x80, 0x74, 0x17, 0x01, 0x42, 0x5b, 0x62, 0x32, 0x35, 0xad, 0xd6];
        let nonce = [0xfb, 0x44, 0x73, 0x50, 0xc4, 0xe8, 0x68, 0xc5, 0x2a, 0xc3, 0x27, 0x5c, 0xf9, 0xd4, 0x32, 0x7e];
        let mac = [0xf4, 0xc6, 0x33, 0xc3, 0x04, 0x4f, 0xc1, 0x45, 0xf8, 0x4f, 0x33, 0x5c, 0xb8, 0x19, 0x53, 0xde];
        assert_eq!(MasterKey::of_parts([0; 32], k, r).mac(nonce, &[0xf3, 0xf6]), mac);
    }
}
