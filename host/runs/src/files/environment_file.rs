//! Environments by name or from files: built-in ones, TOML, and this machine's own.

use crate::recognition::recognise;
use crate::{EntryKind, Error, InputKind, Refusal, read_environment, read_text};
use loadline_catalog::{Catalog, Environment, SizeRule, environment_text, nearest_environment};
use std::path::Path;

/// What names the environment of this machine.
pub(crate) const THIS_MACHINE: &str = "auto";

/// An environment as it was read.
#[derive(Debug)]
pub struct EnvironmentFile {
    /// The environment.
    pub environment: Environment,
    /// What was recognised of this machine only in part; nothing where it was read from a text.
    pub notes: Vec<String>,
}

/// Reads the environment that a name means: a built-in one, a file, or `auto` for the one of this machine.
///
/// # Errors
/// A [`Refusal`] where there is no such environment, the file cannot be read, or it is none; this machine is not
/// recognised.
pub fn environment_named(named: &str, catalog: &Catalog) -> Result<EnvironmentFile, Error> {
    if named == THIS_MACHINE {
        let found = recognise(None, catalog)?;
        let environment = Environment::parse(&found.text, THIS_MACHINE, catalog)
            .map_err(|source| Refusal::MachineNotModelled { source })?;
        return Ok(EnvironmentFile { environment, notes: found.notes });
    }
    let text = match environment_text(named) {
        Some(text) => text.to_owned(),
        None => file_text(named, catalog)?,
    };
    Ok(EnvironmentFile { environment: read_environment(&text, named, catalog)?, notes: Vec::new() })
}

fn file_text(named: &str, catalog: &Catalog) -> Result<String, Refusal> {
    let path = Path::new(named);
    if path.exists() {
        return read_text(path, InputKind::Environment)
            .map_err(|source| Refusal::UnreadableEnvironment { named: named.to_owned(), source });
    }
    if let Some(kind) = entry_kind(named, catalog) {
        return Err(Refusal::IsCatalogEntry { name: named.to_owned(), kind });
    }
    let is_path =
        named.contains(std::path::MAIN_SEPARATOR) || path.extension().is_some_and(|extension| extension == "toml");
    Err(Refusal::NoSuchEnvironment { named: named.to_owned(), is_path, nearest: nearest_environment(named) })
}

fn entry_kind(name: &str, catalog: &Catalog) -> Option<EntryKind> {
    match catalog.disk_entry(name).map(|disk| disk.size) {
        Ok(SizeRule::Fixed(_)) => Some(EntryKind::Disk),
        Ok(_) => Some(EntryKind::SizedDisk),
        Err(_) => catalog.vm_figures(name).is_ok().then_some(EntryKind::Machine),
    }
}
