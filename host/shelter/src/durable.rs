//! Small files that are whole or not there, whatever happens; and the time of day that they carry.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes a file so that after a power cut its old or its new contents are there, and nothing else.
pub(crate) fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut other = name.to_os_string();
    other.push(".new");
    let other = folder.join(other);
    let mut file = File::create(&other)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&other, path)?;
    sync_folder(folder)
}

/// Makes what was created, renamed or removed in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Reads a small file; `None` if there is none.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read as _;
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max { Err(io::Error::from(io::ErrorKind::FileTooLarge)) } else { Ok(Some(bytes)) }
}

/// Now, in nanoseconds since 1970.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
