//! `catalog update --limits`: what machines allow, out of saved answers, compared with the catalog and kept.

use crate::arguments::Format;
use crate::arguments::catalog::UpdateArguments;
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::price_update::other_kind;
use crate::schema::Schema;
use loadline_catalog::{AnsweredRates, LimitChange};
use loadline_offers::Provider;
use loadline_report::words::price_update::{limit_change_lines, limits_line};
use loadline_runs::prices::{LimitsFile, PriceShelf, UpdateError, run_limits_update};
use serde_json::{Value as Json, json};

/// Updates limits.
pub(crate) fn limits_update(arguments: &UpdateArguments, providers: &[Provider]) -> anyhow::Result<Outcome> {
    let shelf = PriceShelf::at_default()?;
    let done = match run_limits_update(&arguments.from, providers, arguments.dry_run, &shelf) {
        Ok(done) => done,
        Err(error @ (UpdateError::File(_) | UpdateError::Limits(_) | UpdateError::NothingAskedFor)) => {
            return Err(Usage(format!("{error}{}; nothing was updated", other_kind(&error))).into());
        }
        Err(error) => return Err(error.into()),
    };
    if arguments.printing.format == Format::Json {
        let rows: Vec<Json> = done.iter().map(row).collect();
        output::print(&Schema::CatalogUpdate.document(json!({ "limits": rows, "dry_run": arguments.dry_run })))?;
        return Ok(Outcome::Done);
    }
    for file in &done {
        output::print(&format!("{}\n", limits_line(&file.update.changes, arguments.dry_run)))?;
        for line in limit_change_lines(&file.update.changes) {
            output::tell(&line);
        }
    }
    Ok(Outcome::Done)
}

fn row(file: &LimitsFile) -> Json {
    let rates = |rates: &AnsweredRates| json!({ "iops": rates.iops, "bytes_per_s": rates.bytes });
    let change = |change: &LimitChange| json!({ "name": change.name, "before": rates(&change.before), "after": rates(&change.after) });
    let update = &file.update.changes;
    json!({
        "provider": update.provider,
        "machines": update.machines,
        "without_limits": update.without_limits,
        "new": update.added,
        "changed": update.changed.iter().map(change).collect::<Vec<_>>(),
        "changes_count": update.replaces,
        "date": file.date,
        "fetched": file.fetched,
        "blake3": file.digest,
        "path": file.path.as_ref().map(|path| path.display().to_string()),
    })
}
