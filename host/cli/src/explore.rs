//! `explore`: the page that computes, with the catalog and its prices inside.

use crate::arguments::explore::ExploreArguments;
use crate::failure::Outcome;
use crate::{output, output_file};
use flate2::Compression;
use flate2::write::GzEncoder;
use loadline_catalog::CatalogTexts;
use loadline_explorer::CatalogBundle;
use loadline_report::{ExplorerParts, explorer_page};
use loadline_runs::{catalog_texts, wall_clock};
use std::io::Write as _;
use std::path::Path;

/// The session for browsers, packed. The build script makes it.
const MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/module.wasm.gz"));

/// Writes the page.
pub(crate) fn explore(arguments: &ExploreArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let texts = catalog_texts(arguments.own.catalog.as_deref(), &arguments.priced.prices)?;
    write(&arguments.output, arguments.force, texts, "")?;
    if !quiet {
        output::tell(&format!("open {} in a browser: it needs no network", arguments.output.display()));
    }
    Ok(Outcome::Done)
}

/// Writes a page that opens with a question.
pub(crate) fn write(path: &Path, force: bool, texts: CatalogTexts, opening: &str) -> anyhow::Result<()> {
    let file = output_file::report(path, force)?;
    let bundle = serde_json::to_vec(&CatalogBundle::of(texts))?;
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&bundle)?;
    let catalog = packer.finish()?;
    let made = format!("Made by loadline {} on {}.", env!("CARGO_PKG_VERSION"), wall_clock::now());
    let page = explorer_page(&ExplorerParts { module: MODULE, catalog: &catalog, opening, made: &made });
    output_file::write(&file, output_file::marked(&page))?;
    Ok(())
}
