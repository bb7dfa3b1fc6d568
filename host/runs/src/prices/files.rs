//! Saved answers: files, folders, and archives of them, read as streams.

use flate2::bufread::MultiGzDecoder;
use loadline_offers::{AnswerError, LimitsError, PriceAnswer};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes of a saved answer at most, unpacked. The largest offer file had some 450 MB.
const BYTES_MAX: u64 = 2 << 30;
/// Files that are read at most.
const FILES_MAX: usize = 10_000;
/// Folders within folders.
const DEPTH_MAX: usize = 4;
const BUFFER: usize = 256 << 10;

/// Why a saved answer is not read.
#[derive(Debug, thiserror::Error)]
#[error("{name} {source}")]
pub struct FileError {
    /// The file, and its name in the archive.
    pub name: String,
    /// Why not.
    pub source: FileProblem,
}

/// What is wrong with a saved answer.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// As an answer with prices.
    #[error(transparent)]
    Prices(#[from] AnswerError),
    /// As one with limits.
    #[error(transparent)]
    Limits(#[from] LimitsError),
}

impl From<io::Error> for FileProblem {
    fn from(source: io::Error) -> Self {
        Self::Prices(source.into())
    }
}

/// An answer and the digest of its content.
#[derive(Debug)]
pub(crate) struct SavedAnswer<T> {
    pub(crate) answer: T,
    pub(crate) digest: blake3::Hash,
}

/// Reads an answer out of its bytes.
type ReadAnswer<'a, T> = &'a dyn Fn(&mut dyn BufRead) -> Result<T, FileProblem>;

/// Reads every file that is named, and every one of the folders that are.
pub(crate) fn read_all<T>(named: &[PathBuf], read: ReadAnswer<'_, T>) -> Result<Vec<SavedAnswer<T>>, FileError> {
    let mut found = Vec::new();
    for path in named {
        let failed = |source: io::Error| FileError { name: path.display().to_string(), source: source.into() };
        let mut files = Vec::new();
        list(path, 0, &mut files).map_err(failed)?;
        files.sort();
        for file in files {
            read_file(&file, read, &mut found)?;
        }
    }
    Ok(found)
}

fn list(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !std::fs::metadata(path)?.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if files.len() >= FILES_MAX {
            return Err(io::Error::other("has more than 10,000 files"));
        }
        if !is_hidden && depth < DEPTH_MAX {
            list(&entry.path(), depth + 1, files)?;
        }
    }
    Ok(())
}

fn read_file<T>(path: &Path, read: ReadAnswer<'_, T>, found: &mut Vec<SavedAnswer<T>>) -> Result<(), FileError> {
    let name = path.display().to_string();
    let failed = |source: FileProblem| FileError { name: name.clone(), source };
    let mut input = BufReader::with_capacity(BUFFER, File::open(path).map_err(|error| failed(error.into()))?);
    let head = input.fill_buf().map_err(|error| failed(error.into()))?;
    if head.starts_with(b"PK\x03\x04") {
        return read_archive(input.into_inner(), &name, read, found);
    }
    found.push(read_packed(input, BYTES_MAX, read).map_err(failed)?);
    Ok(())
}

/// Reads a page of so many bytes at most; `None`: it has no prices.
pub(super) fn read_page(path: &Path, today: &str, bytes_max: u64) -> Result<Option<PriceAnswer>, FileProblem> {
    let input = BufReader::with_capacity(BUFFER, File::open(path)?);
    match read_packed(input, bytes_max, &|input| Ok(loadline_offers::read(input, today)?)) {
        Ok(saved) => Ok(Some(saved.answer)),
        Err(FileProblem::Prices(AnswerError::NoPrices)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn read_archive<T>(
    file: File,
    name: &str,
    read: ReadAnswer<'_, T>,
    found: &mut Vec<SavedAnswer<T>>,
) -> Result<(), FileError> {
    let failed = |inner: &str, source: io::Error| {
        let name = if inner.is_empty() { name.to_owned() } else { format!("{name}: {inner}") };
        FileError { name, source: source.into() }
    };
    let mut archive =
        zip::ZipArchive::new(BufReader::new(file)).map_err(|error| failed("", io::Error::other(error)))?;
    if archive.len() > FILES_MAX {
        return Err(failed("", io::Error::other("has more than 10,000 files")));
    }
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| failed("", io::Error::other(error)))?;
        if entry.is_dir() {
            continue;
        }
        let inner = entry.name().unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect::<String>();
        let answer = read_packed(BufReader::with_capacity(BUFFER, entry), BYTES_MAX, read);
        found.push(answer.map_err(|source| FileError { name: format!("{name}: {inner}"), source })?);
    }
    Ok(())
}

/// Reads a file as it is, or as gzip packed it.
fn read_packed<T>(
    mut input: impl BufRead,
    bytes_max: u64,
    read: ReadAnswer<'_, T>,
) -> Result<SavedAnswer<T>, FileProblem> {
    if input.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        read_plain(MultiGzDecoder::new(input), bytes_max, read)
    } else {
        read_plain(input, bytes_max, read)
    }
}

fn read_plain<T>(input: impl Read, bytes_max: u64, read: ReadAnswer<'_, T>) -> Result<SavedAnswer<T>, FileProblem> {
    let mut hashed = Hashed { inner: input, hasher: blake3::Hasher::new(), bytes_max, left: bytes_max };
    let answer = read(&mut BufReader::with_capacity(BUFFER, &mut hashed))?;
    // What was not wanted counts for the digest, and shows where an archive is cut.
    io::copy(&mut hashed, &mut io::sink())?;
    Ok(SavedAnswer { answer, digest: hashed.hasher.finalize() })
}

/// A reader that knows the digest of what was read, and ends with an error where that is too much.
struct Hashed<R> {
    inner: R,
    hasher: blake3::Hasher,
    bytes_max: u64,
    left: u64,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hasher.update(&bytes[..read]);
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let most = loadline_units::Bytes::new(self.bytes_max).human();
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("it has more than {most}, unpacked; no answer is so large"),
            )
        })?;
        Ok(read)
    }
}
