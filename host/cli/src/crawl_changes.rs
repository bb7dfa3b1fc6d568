//! `crawl --stored RUN`: what changes would bring to a crawl that was stored.

use crate::arguments::crawl::CrawlArguments;
use crate::failure::{Outcome, Usage};
use crate::{crawl_printed as printed, output, stored};
use loadline_catalog::{Catalog, Draw, Environment};
use loadline_disk::DiskSpec;
use loadline_pipeline::{Change, DiskWish, WhatIf, what_if};
use loadline_record::PipelineRecord;
use loadline_report::crawl::CrawlReport;
use loadline_runs::{catalog_with, store_location};
use std::path::PathBuf;

/// Prints a stored crawl with what the changes that were typed would bring.
pub(crate) fn on_stored(
    arguments: &CrawlArguments,
    run: &str,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let changes = changes(arguments)?;
    let catalog = catalog_with(arguments.own.catalog.as_deref())?;
    let record = stored::load(&store_location::store_to_read(&store()?)?, run)?;
    let report = CrawlReport::of(&record)
        .ok_or_else(|| Usage(format!("run {} is no crawl that came to its end", record.header.id)))?;
    let tried = tried(report.pipeline(), &changes, &catalog)?;
    output::print(&printed::text(&report.with_tried(tried), arguments.printing.format))?;
    Ok(Outcome::Done)
}

/// The changes that were typed, each with its text.
pub(crate) fn changes(arguments: &CrawlArguments) -> Result<Vec<(String, Vec<Change>)>, Usage> {
    arguments.what_if.iter().map(|text| Ok((text.clone(), parts(text)?))).collect()
}

fn parts(text: &str) -> Result<Vec<Change>, Usage> {
    let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| part.parse().map_err(|error: loadline_pipeline::ChangeTextError| Usage(error.to_string())))
        .collect()
}

/// What each change would bring.
pub(crate) fn tried(
    pipeline: &PipelineRecord,
    changes: &[(String, Vec<Change>)],
    catalog: &Catalog,
) -> anyhow::Result<Vec<(String, WhatIf)>> {
    let one = |(text, changes): &(String, Vec<Change>)| {
        let found = what_if(pipeline, changes, |wish| disk(wish, catalog))
            .map_err(|error| Usage(format!("--what-if \"{text}\": {error}")))?;
        Ok((text.clone(), found))
    };
    changes.iter().map(one).collect()
}

/// A disk as it is sold.
fn disk(wish: &DiskWish, catalog: &Catalog) -> Result<DiskSpec, String> {
    let sku = Some(("sku", wish.sku.clone()));
    let iops = wish.iops.map(|iops| ("iops", iops.to_string()));
    let throughput = wish.throughput.map(|rate| ("throughput", rate.to_string()));
    let size = wish.size.map(|size| ("size", size.to_string()));
    let options = [sku, iops, throughput, size].into_iter().flatten();
    let options: Vec<String> = options.map(|(name, value)| format!("{name} = {value:?}")).collect();
    let options = options.join(", ");
    let text = format!("schema = 1\nname = \"what-if\"\n[volume.disk]\ndisks = [{{ {options} }}]\n");
    let environment = Environment::parse(&text, "--what-if", catalog).map_err(|error| error.to_string())?;
    let spec = environment.spec(&Draw::MIDDLE);
    let disk = spec.volumes.into_iter().next().and_then(|volume| volume.disks.into_iter().next());
    disk.ok_or_else(|| "it is no disk".to_owned())
}
