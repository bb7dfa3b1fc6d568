//! Files that a user named to be read: each within a bound, so that no file takes the machine's memory.

use crate::InputKind;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a text file of a kind.
///
/// # Errors
/// The system's; a file beyond the bound of its kind, and one that is no text.
pub fn read_text(path: impl AsRef<Path>, kind: InputKind) -> io::Result<String> {
    as_text(read_bytes(path, kind)?)
}

/// Bytes that are text: UTF-8, or UTF-16 as PowerShell writes what is printed into a file.
pub(super) fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    loadline_imported::text(bytes)
        .map_err(|byte| io::Error::new(io::ErrorKind::InvalidData, format!("it is no text: byte {byte} is not UTF-8")))
}

/// Reads a file of a kind, whatever is in it.
pub(super) fn read_bytes(path: impl AsRef<Path>, kind: InputKind) -> io::Result<Vec<u8>> {
    let most = kind.bytes_max();
    let mut text = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut text)?;
    if text.len() as u64 > most {
        let why = format!("it has more than {} MiB, the most that {kind} may have", most >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_read_beyond_its_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let file = File::create(&path).unwrap();
        for kind in [InputKind::Plan, InputKind::Environment, InputKind::Catalog, InputKind::Volumes] {
            file.set_len(kind.bytes_max() + 1).unwrap();
            let error = read_text(&path, kind).unwrap_err().to_string();
            assert!(error.contains(&format!("more than {} MiB", kind.bytes_max() >> 20)), "{error}");
            // What never ends.
            assert!(read_text("/dev/zero", kind).is_err());
        }
        file.set_len(InputKind::Plan.bytes_max()).unwrap();
        assert_eq!(read_text(&path, InputKind::Plan).unwrap().len() as u64, InputKind::Plan.bytes_max());
        std::fs::write(&path, b"a\xff").unwrap();
        assert!(read_text(&path, InputKind::Plan).unwrap_err().to_string().contains("byte 1 is not UTF-8"));
    }

    #[test]
    fn a_text_may_be_as_windows_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        let wide = "\u{feff}sch\u{e9}ma = 1\r\n".encode_utf16().flat_map(u16::to_le_bytes);
        std::fs::write(&path, wide.collect::<Vec<u8>>()).unwrap();
        assert_eq!(read_text(&path, InputKind::Plan).unwrap(), "sch\u{e9}ma = 1\r\n");
        std::fs::write(&path, "\u{feff}schema = 1\n").unwrap();
        assert_eq!(read_text(&path, InputKind::Plan).unwrap(), "schema = 1\n");
    }
}
