//! `catalog update`: providers' price lists out of saved files or over the network, judged and kept.

use crate::arguments::Format;
use crate::arguments::catalog::{ProviderName, UpdateArguments};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::limits_update::limits_update;
use crate::output;
use crate::schema::Schema;
use crate::terminal::Terminal;
use crate::words::in_a_line;
use loadline_catalog::{Kind, PriceList};
use loadline_offers::{AnswerError, LimitsError, Pages, PriceAddress, Provider, addresses};
use loadline_report::words::price_update::{
    Became, RegionUpdate, large_changes, left_out_text, refusal_text, update_line,
};
use loadline_runs::prices::{
    ApiKey, FailedAddress, FetchError, FileError, FileProblem, LeftOutProvider, Network, PageError, PriceFetch,
    PriceShelf, PriceUpdate, ProviderUpdate, StoredList, UpdateError, UpdatedList, WhyLeftOut, fetch_update,
    run_update,
};
use serde_json::{Map, Value as Json, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// A region for which commands are shown where none is named.
const EXAMPLES: [(Provider, &str); 3] =
    [(Provider::Aws, "eu-central-1"), (Provider::Azure, "westeurope"), (Provider::Gcp, "us-central1")];

/// Updates prices, takes an update back, or prints how to fetch what is needed.
pub(crate) fn price_update(arguments: &UpdateArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let providers: Vec<Provider> = arguments.provider.iter().map(|name| name.provider()).collect();
    if arguments.undo {
        return undo(arguments, &providers);
    }
    if arguments.limits {
        return limits_update(arguments, &providers);
    }
    let shelf = PriceShelf::at_default();
    let update = PriceUpdate {
        from: arguments.from.clone(),
        providers,
        regions: arguments.region.clone(),
        currency: arguments.currency,
        is_dry: arguments.dry_run,
    };
    if arguments.fetch {
        return fetch(arguments, update, &shelf?, quiet);
    }
    if arguments.from.is_empty() {
        output::print(&commands(arguments, &update.providers))?;
        return Err(Usage(
            "nothing was updated: the same command with --fetch does it, or run the commands above on a machine with a network, then pass \
             what they fetched, as in `loadline catalog update --from FILE`"
                .into(),
        )
        .into());
    }
    let done = match run_update(&update, &shelf?) {
        Ok(done) => done,
        Err(error @ (UpdateError::File(_) | UpdateError::NothingAskedFor)) => {
            return Err(Usage(format!("{error}{}; nothing was updated", other_kind(&error))).into());
        }
        Err(error) => return Err(error.into()),
    };
    show(arguments, &done)
}

/// Prints what became of lists.
fn show(arguments: &UpdateArguments, done: &[ProviderUpdate]) -> anyhow::Result<Outcome> {
    match arguments.printing.format {
        Format::Json => output::print(&document(done, arguments.dry_run))?,
        _ => output::print(&lines(done, arguments.dry_run))?,
    }
    for of in done {
        tell(of);
    }
    let refused = done.iter().flat_map(|of| &of.lists).any(|list| !list.found.refusals.is_empty());
    Ok(if refused { Outcome::Failed } else { Outcome::Done })
}

/// Which option a file of the other kind wants.
pub(crate) const fn other_kind(error: &UpdateError) -> &'static str {
    match error {
        UpdateError::File(FileError { source: FileProblem::Prices(AnswerError::Limits), .. }) => ", with --limits",
        UpdateError::File(FileError { source: FileProblem::Limits(LimitsError::Prices), .. }) => ", without --limits",
        _ => "",
    }
}

/// Fetches lists from the providers.
fn fetch(arguments: &UpdateArguments, update: PriceUpdate, shelf: &PriceShelf, quiet: bool) -> anyhow::Result<Outcome> {
    let in_file = |path: &PathBuf| {
        ApiKey::read(path).map_err(|error| Usage(format!("--key-file {}: {}", path.display(), in_a_line(&error))))
    };
    let key = arguments.key_file.as_ref().map(in_file).transpose()?;
    let interruption = Interruption::watch()?;
    let mut terminal = Terminal::new(quiet, &interruption);
    let fetched = fetch_update(&PriceFetch { update, key }, &Network::default(), shelf, &mut terminal);
    terminal.clear();
    let fetched = match fetched {
        Ok(fetched) => fetched,
        Err(FetchError::LeftOut(left_out)) => {
            return Err(Usage(format!("nothing was updated: {}", not_asked(left_out))).into());
        }
        Err(error @ FetchError::UnknownRegion { .. }) => return Err(Usage(error.to_string()).into()),
        Err(FetchError::Update(error)) if matches!(*error, UpdateError::NothingAskedFor) => {
            return Err(Usage("nothing was updated: the answers have no prices of what was asked for".into()).into());
        }
        Err(FetchError::Ended { pages, source }) => {
            let kept = format!(
                "; {pages} pages are kept for a day in {}, and the same command goes on with them",
                shelf.fetched_pages().display()
            );
            let what = format!("nothing was updated{}", if pages == 0 { "" } else { &kept });
            if matches!(source, PageError::Stopped) {
                output::tell(&what);
                return Ok(Outcome::Interrupted);
            }
            return Err(anyhow::Error::new(source).context(what));
        }
        Err(error) => return Err(error.into()),
    };
    fetched.left_out.into_iter().for_each(|left_out| output::tell(&not_asked(left_out)));
    let outcome = show(arguments, &fetched.done)?;
    for FailedAddress { file, error } in &fetched.failed {
        output::tell(&format!("{file} was not fetched: {}", in_a_line(error)));
    }
    if fetched.failed.is_empty() {
        return Ok(outcome);
    }
    output::tell("The same command fetches what is missing; what came is kept for a day.");
    Ok(Outcome::Failed)
}

/// Why a provider is left out, and what to do about it.
fn not_asked(LeftOutProvider { provider, why }: LeftOutProvider) -> String {
    let name = provider.name();
    match why {
        WhyLeftOut::NoKey => format!(
            "{name} is left out: it answers only with a key, which is free. Make one for the Cloud Billing API, write it into a file, and \
             add --key-file FILE"
        ),
        WhyLeftOut::Currency => {
            format!("{name} is left out: it lists prices in {} alone", provider.currencies().join(", "))
        }
    }
}

impl ProviderName {
    const fn provider(self) -> Provider {
        match self {
            Self::Aws => Provider::Aws,
            Self::Azure => Provider::Azure,
            Self::Gcp => Provider::Gcp,
        }
    }
}

fn undo(arguments: &UpdateArguments, providers: &[Provider]) -> anyhow::Result<Outcome> {
    let shelf = PriceShelf::at_default()?;
    let lists = match shelf.undo(providers, &arguments.region, arguments.dry_run) {
        Ok(lists) => lists,
        Err(error @ UpdateError::NothingToUndo) => return Err(Usage(error.to_string()).into()),
        Err(error) => return Err(error.into()),
    };
    if arguments.printing.format == Format::Json {
        let row = |list: &StoredList| json!({ "provider": list.provider, "region": list.region, "kind": list.kind, "path": list.path.display().to_string() });
        let rows: Vec<Json> = lists.iter().map(row).collect();
        output::print(&Schema::CatalogUpdate.document(json!({ "removed": rows, "dry_run": arguments.dry_run })))?;
        return Ok(Outcome::Done);
    }
    let what = if arguments.dry_run { "would be removed" } else { "removed" };
    let mut text = String::new();
    for StoredList { provider, region, kind, day, .. } in &lists {
        let _ = writeln!(text, "{provider} {region}: the list of {kind} of {day} {what}");
    }
    output::print(&text)?;
    Ok(Outcome::Done)
}

/// Lists of one region stand in one line if the same became of them.
fn lines(done: &[ProviderUpdate], is_dry: bool) -> String {
    let mut text = String::new();
    let all: Vec<&UpdatedList> = done.iter().flat_map(|of| &of.lists).collect();
    let mut place = 0;
    while place < all.len() {
        let first = all[place];
        let is_joined = |other: &&&UpdatedList| {
            let (a, b) = (&first.found.list, &other.found.list);
            (&a.provider, &a.region) == (&b.provider, &b.region) && became(first, is_dry) == became(other, is_dry)
        };
        let joined: Vec<&UpdatedList> = all[place..].iter().take_while(is_joined).copied().collect();
        place += joined.len();
        if let Some(became) = became(first, is_dry) {
            // Machines first.
            let lists = joined.iter().rev().map(|of| (&of.found.list, &of.found.changes)).collect();
            let _ = writeln!(text, "{}", update_line(&RegionUpdate { lists, became }));
        }
    }
    text
}

fn became(of: &UpdatedList, is_dry: bool) -> Option<Became> {
    let found = if of.is_unchanged {
        Became::Unchanged
    } else if is_dry {
        Became::WouldBeStored
    } else {
        Became::Stored
    };
    of.found.refusals.is_empty().then_some(found)
}

/// What is not a result: refusals, large changes, and what was left out.
fn tell(of: &ProviderUpdate) {
    for list in &of.lists {
        let PriceList { provider, region, .. } = &list.found.list;
        let kind = list.found.list.family();
        for refusal in &list.found.refusals {
            output::tell(&format!(
                "{provider} {region}: this list of {kind} does not count, and what was there does: {}",
                refusal_text(refusal)
            ));
        }
        let large = large_changes(&list.found.changes);
        if !large.is_empty() && list.found.refusals.is_empty() {
            output::tell(&format!("{provider} {region}: changed by more than 20 %: {}", large.join(", ")));
        }
    }
    let left_out: Vec<String> =
        of.left_out.iter().map(|(reason, rows)| format!("{rows} {}", left_out_text(*reason))).collect();
    let answers: Vec<String> = of.answers.iter().map(|(form, count)| format!("{form} ({count})")).collect();
    if !left_out.is_empty() {
        output::tell(&format!("Read: {}. Rows left out: {}.", answers.join(", "), left_out.join(", ")));
    }
}

fn document(done: &[ProviderUpdate], is_dry: bool) -> String {
    let rows: Vec<Json> = done.iter().flat_map(|of| &of.lists).map(row).collect();
    Schema::CatalogUpdate.document(json!({ "rows": rows, "dry_run": is_dry }))
}

fn row(of: &UpdatedList) -> Json {
    let (list, changes) = (&of.found.list, &of.found.changes);
    let left_out: Map<String, Json> =
        list.left_out.iter().map(|(reason, rows)| (reason.name().to_owned(), json!(rows))).collect();
    let ratio = |millionths: u64| millionths as f64 / 1e6;
    let moved: Vec<Json> = changes
        .changed
        .iter()
        .map(|change| json!({ "name": change.name, "ratio": ratio(change.millionths) }))
        .collect();
    let refusals: Vec<Json> = of
        .found
        .refusals
        .iter()
        .map(|refusal| json!({ "code": refusal.name(), "text": refusal_text(refusal) }))
        .collect();
    json!({
        "provider": list.provider,
        "region": list.region,
        "kind": match list.kind { Kind::Vm => "machines", Kind::Disk => "disks" },
        "names": list.prices.len(),
        "prices": list.charges(),
        "date": list.origin.date,
        "fetched": list.origin.fetched,
        "source": list.origin.source,
        "blake3": list.origin.digest,
        "rows_kept": list.kept,
        "rows_left_out": left_out,
        "changed": moved,
        "new": changes.added,
        "gone": changes.gone,
        "refusals": refusals,
        "unchanged": of.is_unchanged,
        "path": of.path.as_ref().map(|path| path.display().to_string()),
    })
}

/// The commands that fetch what an update needs.
fn commands(arguments: &UpdateArguments, providers: &[Provider]) -> String {
    let mut text = String::new();
    for (provider, example) in EXAMPLES {
        if !providers.is_empty() && !providers.contains(&provider) {
            continue;
        }
        let regions = if arguments.region.is_empty() { vec![example.to_owned()] } else { arguments.region.clone() };
        for address in addresses(provider, &regions, arguments.currency) {
            let _ = writeln!(text, "{}", command(&address));
        }
    }
    text
}

/// One command, which fetches every page.
fn command(PriceAddress { url, file, pages }: &PriceAddress) -> String {
    match pages {
        Pages::One => format!("curl -sSf --compressed -o {file}.json '{url}'"),
        Pages::Links => format!(
            "url=\"{}\"; n=1; while [ -n \"$url\" ]; do curl -sSf -o {file}-$n.json \"$url\" || break; \
             url=$(grep -o '\"NextPageLink\": *\"[^\"]*\"' {file}-$n.json | cut -d'\"' -f4); n=$((n+1)); done",
            url.replace('$', "\\$")
        ),
        Pages::Tokens => format!(
            "token=; n=1; while :; do curl -sSf -o {file}-$n.json \"{url}&key=$GCP_KEY&pageToken=$token\" || break; \
             token=$(grep -o '\"nextPageToken\": *\"[^\"]*\"' {file}-$n.json | cut -d'\"' -f4); n=$((n+1)); [ -n \"$token\" ] || break; done"
        ),
    }
}
