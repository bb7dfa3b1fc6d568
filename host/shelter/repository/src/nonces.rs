//! Random bytes of the kernel, fetched in bulk.

use crate::RepositoryError;
use rustix::rand::{GetRandomFlags, getrandom};

const BULK: usize = 4096;

/// Nonces for seals: each is random, so that none comes twice.
pub(crate) struct Nonces {
    bytes: Box<[u8; BULK]>,
    used: usize,
}

impl Nonces {
    pub(crate) fn new() -> Self {
        Self { bytes: Box::new([0; BULK]), used: BULK }
    }

    pub(crate) fn next(&mut self) -> Result<[u8; 16], RepositoryError> {
        if self.used == BULK {
            fill(&mut *self.bytes)?;
            self.used = 0;
        }
        let nonce = std::array::from_fn(|index| self.bytes[self.used + index]);
        self.used += 16;
        Ok(nonce)
    }
}

/// Random bytes.
pub(crate) fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], RepositoryError> {
    let mut bytes = [0; LENGTH];
    fill(&mut bytes)?;
    Ok(bytes)
}

fn fill(mut bytes: &mut [u8]) -> Result<(), RepositoryError> {
    while !bytes.is_empty() {
        match getrandom(&mut *bytes, GetRandomFlags::empty()) {
            Ok(length) => bytes = &mut bytes[length..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(RepositoryError::machine("read", "/dev/urandom", error)),
        }
    }
    Ok(())
}
