//! Folders of results: a run for each folder that holds some.

use super::plan_results::Planned;
use super::{Import, read};
use crate::{Error, Refusal};
use loadline_imported::{ImportError, Results};
use loadline_record::ImportedFile;
use loadline_workload::{CARRIED_PLAN, NAME_MAX};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders below folders are looked into this deep.
const DEPTH_MAX: usize = 16;
/// Files that are looked at.
const FILES_MAX: usize = 200_000;
/// Threads that read at once.
const READERS_MAX: usize = 8;

/// One folder of results.
#[derive(Debug)]
pub struct FolderImport {
    /// What its run is called: the folder, from the one that was given on.
    pub name: String,
    /// Its results.
    pub import: Import,
    /// Files with results that cannot be read, with the reason.
    pub refused: Vec<(String, Error)>,
    /// How many files hold no results of a form that is known.
    pub others: usize,
}

impl Import {
    /// Every folder at or below this one that holds results, in the order of their names. A file that cannot be read is no
    /// reason to leave out the others.
    ///
    /// A folder that was written for another tool has the plan with it. Its files are the trials of that plan's cells, by their names, and
    /// what is of another run is refused.
    ///
    /// # Errors
    /// A folder that cannot be read; more files than can be looked at; a plan in it that cannot be read.
    pub fn folders(folder: &Path) -> Result<Vec<FolderImport>, Error> {
        let mut files = Vec::new();
        gather(folder, 0, &mut files)?;
        let outcomes = read_all(&files);
        let mut folders: BTreeMap<PathBuf, FolderImport> = BTreeMap::new();
        for (file, outcome) in files.into_iter().zip(outcomes) {
            let parent = file.parent().unwrap_or(folder).to_path_buf();
            let entry = folders.entry(parent).or_insert_with_key(|parent| FolderImport {
                name: name(folder, parent),
                import: Self { files: Vec::new(), read: Vec::new(), planned: None },
                refused: Vec::new(),
                others: 0,
            });
            match outcome {
                Ok(read) => {
                    entry.import.files.push(file);
                    entry.import.read.push(read);
                }
                Err(error) if is_of_another_kind(&error) => entry.others += usize::from(!is_script(&file)),
                Err(error) => entry.refused.push((file.display().to_string(), error)),
            }
        }
        for (path, folder) in &mut folders {
            match Planned::of(path)? {
                Some(planned) => planned.sort_out(folder),
                None => leave_out_logs(folder),
            }
        }
        Ok(folders.into_values().filter(|entry| !entry.import.read.is_empty() || !entry.refused.is_empty()).collect())
    }

    /// The files that have been read.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }
}

/// Leaves out logs of histograms that lie beside the results of their jobs: they would be a second cell of the same load.
fn leave_out_logs(folder: &mut FolderImport) {
    let is_log = |file: &PathBuf| file.file_name().is_some_and(|name| name.to_string_lossy().contains("_hist."));
    let (files, read) = (&mut folder.import.files, &mut folder.import.read);
    if files.iter().all(is_log) {
        return;
    }
    let all = std::mem::take(files).into_iter().zip(std::mem::take(read));
    let (logs, kept): (Vec<_>, Vec<_>) = all.partition(|(file, _)| is_log(file));
    folder.others += logs.len();
    (*files, *read) = kept.into_iter().unzip();
}

/// Whether a file was written beside the results of a plan, to measure it.
fn is_script(file: &Path) -> bool {
    let is_own = file.extension().is_some_and(|ending| ending == "fio")
        || file.file_stem().is_some_and(|stem| stem == "measure")
        || file.file_name().is_some_and(|name| name == CARRIED_PLAN);
    is_own && file.parent().is_some_and(|folder| folder.join(CARRIED_PLAN).is_file())
}

/// Whether a file is none of results at all.
fn is_of_another_kind(error: &Error) -> bool {
    match error {
        Error::Refused(refusal) => matches!(**refusal, Refusal::NoText { .. }),
        Error::Import(error) => {
            matches!(
                error,
                ImportError::Unknown { .. }
                    | ImportError::OtherTool { .. }
                    | ImportError::Empty { .. }
                    | ImportError::Syntax { .. }
            )
        }
        _ => false,
    }
}

/// What the run of a folder is called.
fn name(top: &Path, folder: &Path) -> String {
    let below = folder.strip_prefix(top).unwrap_or(folder);
    let own = if below.as_os_str().is_empty() {
        let whole = top.canonicalize().unwrap_or_else(|_| top.to_path_buf());
        whole.file_name().map_or_else(|| top.display().to_string(), |name| name.to_string_lossy().into_owned())
    } else {
        below.to_string_lossy().into_owned()
    };
    let length = own.chars().count();
    // The end tells more than the beginning.
    own.chars().skip(length.saturating_sub(NAME_MAX)).filter(|c| !c.is_control()).collect()
}

/// The files at and below a folder, by name. Hidden ones and links are left out.
fn gather(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let cannot = |source| Refusal::UnreadableResults { file: folder.display().to_string(), source };
    let entries = std::fs::read_dir(folder).map_err(cannot)?;
    let mut entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(cannot)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(cannot)?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if kind.is_dir() && depth < DEPTH_MAX {
            gather(&entry.path(), depth + 1, files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
        if files.len() > FILES_MAX {
            return Err(Error::TooManyResults { folder: folder.display().to_string(), files_max: FILES_MAX });
        }
    }
    Ok(())
}

/// Reads all files, several at once, in their order.
fn read_all(files: &[PathBuf]) -> Vec<Result<(ImportedFile, Results), Error>> {
    let readers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(READERS_MAX);
    let share = files.len().div_ceil(readers).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> = files
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(|file| read(file)).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("reading does not panic")).collect()
    })
}
