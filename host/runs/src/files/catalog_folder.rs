//! The catalog that comes with loadline, and catalog files of a folder; environments read by it once more.

use crate::prices::PriceChoice;
use crate::{Error, InputKind, Refusal, read_text};
use loadline_catalog::{Catalog, CatalogTexts, Environment};
use loadline_record::{PlanText, RunRecord};
use std::path::{Path, PathBuf};

/// The catalog that comes along, and a folder's. For verbs that ask no prices.
///
/// # Errors
/// A [`Refusal`] of the folder; it cannot be read, or holds a file that is no catalog file.
pub fn catalog_with(folder: Option<&Path>) -> Result<Catalog, Error> {
    catalog_priced(folder, &PriceChoice::Shipped)
}

/// The catalog that comes along with the prices that are to count, and a folder's, whose prices count before all.
///
/// # Errors
/// As of [`catalog_with`], and of [`PriceChoice::texts`].
pub fn catalog_priced(folder: Option<&Path>, prices: &PriceChoice) -> Result<Catalog, Error> {
    Ok(catalog_texts(folder, prices)?.over(Catalog::builtin())?)
}

/// The same as the texts that lie over the catalog that comes along, not read yet.
///
/// # Errors
/// A [`Refusal`] of the folder; a file that cannot be read; as of [`PriceChoice::texts`].
pub fn catalog_texts(folder: Option<&Path>, prices: &PriceChoice) -> Result<CatalogTexts, Error> {
    let mut texts = prices.texts()?;
    let Some(folder) = folder else { return Ok(texts) };
    if !folder.is_dir() {
        return Err(Refusal::NoCatalogFolder { folder: folder.to_owned(), exists: folder.exists() }.into());
    }
    for path in toml_files(folder)? {
        let text = read_text(&path, InputKind::Catalog)
            .map_err(|source| Error::Unreadable { what: path.display().to_string(), source })?;
        texts.own.push((path.display().to_string(), text));
    }
    if texts.own.is_empty() {
        return Err(Refusal::NoCatalogFile { folder: folder.to_owned() }.into());
    }
    Ok(texts)
}

/// The files of a folder and of the folders in it, by name.
fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let unlisted = |source| Error::Unlisted { folder: folder.clone(), source };
        for entry in std::fs::read_dir(&folder).map_err(unlisted)? {
            let path = entry.map_err(unlisted)?.path();
            if path.is_dir() && depth == 0 {
                folders.push((path, depth + 1));
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads an environment; `source` names the text in errors.
///
/// # Errors
/// [`Refusal::NotAnEnvironment`].
pub fn read_environment(text: &str, source: &str, catalog: &Catalog) -> Result<Environment, Refusal> {
    Environment::parse(text, source, catalog)
        .map_err(|error| Refusal::NotAnEnvironment { name: source.to_owned(), source: error })
}

/// An environment as a run keeps it.
#[must_use]
pub fn stored_environment(environment: &Environment) -> PlanText {
    PlanText { name: environment.name.clone(), text: environment.text.clone(), hash: environment.hash() }
}

/// The environment of a stored run, read once more. `folder` has catalog files besides.
///
/// # Errors
/// The run keeps none; this version does not read it; the folder.
pub fn environment_again(stored: &RunRecord, folder: Option<&Path>) -> Result<Environment, Error> {
    let RunRecord { header, .. } = stored;
    let Some(text) = &header.environment else { return Err(Error::NoEnvironment { run: header.id.clone() }) };
    Ok(read_environment(&text.text, &text.name, &catalog_with(folder)?)?)
}
