//! The marker: a small file at the top of the ephemeral disk, and its twin on a persistent one. It says whose disk this is and
//! what was saved of it.

use serde::{Deserialize, Serialize};

/// Bytes of a marker, at most.
pub const MARKER_BYTES_MAX: usize = 4096;
const HEADING: &str = "loadline shelter marker 1";

/// Whether the contents are whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MarkedState {
    /// A restore began and did not end.
    Restoring,
    /// Everything is in place.
    Ready,
}

/// What a marker says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Name of the configuration.
    pub source: String,
    /// Drawn when the disk was taken into use: two disks never share it.
    pub claim: String,
    /// Identity of the file system.
    pub file_system: String,
    /// Identity of the device, as it was seen. It explains and does not decide.
    pub device: String,
    /// The machine, as it was seen. It explains and does not decide.
    pub machine: String,
    /// The newest generation that was acknowledged.
    pub generation: u64,
    /// The generation that was begun last: written before that is committed.
    pub begun: u64,
    /// The repository that has what was acknowledged; empty if an earlier version wrote this.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// Whether the contents are whole.
    pub state: MarkedState,
    /// The earlier generation that a restore under way puts on the disk; 0 if it is the newest one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub restores: u64,
}

/// Why a text is no marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornMarker;

impl Marker {
    /// As the file has it, with a check sum in its last line.
    #[must_use]
    pub fn to_text(&self) -> String {
        let body = serde_json::to_string(self).expect("text and numbers can be written");
        format!("{HEADING}\n{body}\n{:016x}\n", check(&body))
    }

    /// Reads a marker.
    ///
    /// # Errors
    /// It was not written whole, or by something else.
    pub fn parse(text: &str) -> Result<Self, TornMarker> {
        let mut lines = text.split('\n');
        let (Some(HEADING), Some(body), Some(sum), Some(""), None) =
            (lines.next(), lines.next(), lines.next(), lines.next(), lines.next())
        else {
            return Err(TornMarker);
        };
        if sum != format!("{:016x}", check(body)) {
            return Err(TornMarker);
        }
        serde_json::from_str(body).map_err(|_| TornMarker)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// FNV-1a of 64 bits: against torn writes, not against forgers.
fn check(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        Marker {
            source: "fast".into(),
            claim: "c1".into(),
            file_system: "u1".into(),
            device: "serial:1".into(),
            machine: "m".into(),
            generation: 7,
            begun: 8,
            repository: "r".into(),
            state: MarkedState::Ready,
            restores: 0,
        }
    }

    #[test]
    fn a_marker_comes_back_and_each_torn_one_is_found() {
        let text = marker().to_text();
        assert_eq!(Marker::parse(&text), Ok(marker()));
        for end in 0..text.len() {
            assert_eq!(Marker::parse(&text[..end]), Err(TornMarker), "{end}");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let other = String::from_utf8(bytes).unwrap();
            assert_eq!(Marker::parse(&other), Err(TornMarker), "{at}");
        }
    }
}
