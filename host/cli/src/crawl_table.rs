//! `import` of a table of crawls that somebody published.

use crate::answers::KindComparison;
use crate::arguments::Format;
use crate::failure::Outcome;
use crate::output;
use loadline_runs::{InputKind, import_crawls, is_crawl_table, read_text, store_location};
use std::path::PathBuf;

/// Stores the crawls of a table, where these files are one; `None`: they are something else.
pub(crate) fn import_table(
    files: &[PathBuf],
    quiet: bool,
    format: Format,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Option<Outcome>> {
    let [file] = files else { return Ok(None) };
    // What cannot be read is refused by the import of other files, with its reason.
    let Ok(text) = read_text(file, InputKind::Plan) else { return Ok(None) };
    if !is_crawl_table(&text) {
        return Ok(None);
    }
    let store = store_location::open_store(&store()?)?;
    let records = import_crawls(&text, &file.display().to_string(), &store)?;
    if !quiet {
        for record in &records {
            output::tell(&format!("imported crawl {} as run {}", record.header.name, record.header.id));
        }
    }
    if let Some(compared) = KindComparison::of(&records) {
        let json = || {
            let (key, value) = compared.json();
            output::pretty(&serde_json::json!({ key: value }))
        };
        output::print(&if format == Format::Json { json() } else { compared.text(format) })?;
    }
    Ok(Some(Outcome::Done))
}
