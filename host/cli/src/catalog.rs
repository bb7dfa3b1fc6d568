//! `catalog`: disks and virtual machines as sold.

use crate::arguments::catalog::{
    CatalogArguments, CatalogVerb, CheckArguments, KindName, ListArguments, OrderName, ShowArguments,
};
use crate::arguments::{Format, Own, Paying, Priced};
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::price_update::price_update;
use crate::printing;
use crate::schema::Schema;
use loadline_catalog::{Catalog, CatalogProblem, Discount, Filter, Kind, ListOrder, PaidTerms, Price, rate_text};
use loadline_report::words::checkup::{CatalogCheck, catalog_lines};
use loadline_report::words::price_problem;
use loadline_report::{Column, Field, Table};
use loadline_runs::{catalog_priced, catalog_with};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// Does what was asked of the catalog.
pub(crate) fn catalog(arguments: &CatalogArguments, quiet: bool) -> anyhow::Result<Outcome> {
    match &arguments.verb {
        CatalogVerb::List(arguments) => list(arguments),
        CatalogVerb::Show(arguments) => show(arguments),
        CatalogVerb::Check(arguments) => check(arguments),
        CatalogVerb::Update(arguments) => price_update(arguments, quiet),
    }
}

/// The catalog with the prices that count, and what is paid in their place.
pub(crate) fn paid(folder: Option<&Path>, priced: &Priced, paying: &Paying) -> anyhow::Result<Catalog> {
    let mut catalog = catalog_priced(folder, &priced.prices)?;
    if let Some(currency) = paying.currency {
        catalog = catalog.in_currency(currency);
        if catalog.regions().is_empty() {
            let text = format!(
                "no prices in {currency} are known: `loadline catalog update --currency {currency}` shows how to get them, and a list of your own \
                 counts with --catalog DIR"
            );
            return Err(Usage(text).into());
        }
    }
    for provider in paying.discount.iter().filter_map(Discount::provider) {
        let filter = Filter { provider: Some(provider.to_owned()), ..Filter::default() };
        catalog.check_filter(&filter).map_err(|error| Usage(format!("--discount: {error}")))?;
    }
    let terms = PaidTerms { commitment: paying.commit, discounts: paying.discount.clone() };
    Ok(catalog.with_terms(terms))
}

/// The catalog that comes along with the prices that are to count, and the folder's.
pub(crate) fn load(own: &Own, priced: &Priced) -> anyhow::Result<Catalog> {
    Ok(catalog_priced(own.catalog.as_deref(), &priced.prices)?)
}

fn list(arguments: &ListArguments) -> anyhow::Result<Outcome> {
    let catalog = load(&arguments.own, &arguments.priced)?;
    let filter = Filter {
        name: arguments.name.clone(),
        provider: arguments.provider.clone(),
        family: arguments.family.clone(),
        iops_min: arguments.iops_min,
        throughput_min: arguments.throughput_min,
        size_min: arguments.size_min,
    };
    catalog.check_filter(&filter).map_err(|error| Usage(error.to_string()))?;
    let named = |region: &String| catalog.region_named(region).map_err(|error| Usage(error.to_string()));
    let region = arguments.region.as_ref().map(named).transpose()?;
    let mut rows = catalog.list(&filter);
    if let Some(region) = &region {
        for row in &mut rows {
            row.keep_region(region, &catalog);
        }
    }
    let kind = arguments.kind.map(|kind| match kind {
        KindName::Disk => Kind::Disk,
        KindName::Vm => Kind::Vm,
    });
    rows.retain(|row| {
        kind.is_none_or(|kind| row.kind == kind) && (!arguments.persistent || row.persistent == Some(true))
    });
    match arguments.sort {
        Some(OrderName::Price) => ListOrder::Price.sort(&mut rows),
        Some(OrderName::Iops) => ListOrder::Iops.sort(&mut rows),
        None => {}
    }
    let mut columns = vec![
        Column::words("name", "name"),
        Column::words("kind", "kind"),
        Column::words("keeps data", "persistent"),
        Column::words("family", "family"),
        Column::numbers("size", "size_bytes"),
        Column::numbers("IOPS", "iops"),
        Column::numbers("throughput", "throughput_bytes_per_s"),
        Column::words("", "detail"),
    ];
    // A table without any prices has no column for them.
    let priced = arguments.printing.format != Format::Table || rows.iter().any(|row| !row.prices.is_empty());
    if priced {
        columns.push(Column::words("price", "price"));
    }
    let mut table = Table::new(&columns);
    for row in rows {
        let missing = || Field::both("-", Json::Null);
        let mut fields = vec![
            Field::text(row.name),
            Field::text(row.kind.name()),
            match row.persistent {
                Some(persistent) => Field::both(if persistent { "yes" } else { "no" }, persistent),
                None => missing(),
            },
            Field::text(row.family),
            row.size.map_or_else(missing, |size| Field::both(size.to_string(), size.get())),
            row.iops.map_or_else(missing, |iops| Field::count(iops.get())),
            row.throughput.map_or_else(missing, |rate| Field::both(rate_text(rate), rate.get())),
            Field::text(row.detail),
        ];
        if priced {
            let others: Vec<String> = row.prices.iter().skip(1).filter_map(|price| price.region.clone()).collect();
            let first = row.prices.first().map(|price| price_text(price, &others));
            fields.push(first.map_or_else(|| Field::both("", Json::Null), Field::text));
        }
        table.push(fields);
    }
    if table.is_empty() {
        output::tell(match arguments.name {
            Some(_) => "Nothing in the catalog is called so and does as much: give less of a name, or ask for less.",
            None => "Nothing in the catalog does so much: ask for less.",
        });
    }
    output::print(&printing::table(&table, Schema::Catalog, arguments.printing.format))?;
    Ok(Outcome::Done)
}

/// A price with its date and region, and for which other regions there is one; its terms and source are shown with the entry.
fn price_text(price: &Price, others: &[String]) -> String {
    let date = price.dates();
    let region = price.region.as_deref().unwrap_or("region not recorded");
    let others = match others.len() {
        0 => String::new(),
        1 | 2 => format!("; also {}", others.join(", ")),
        count => format!("; also {count} other regions"),
    };
    format!("{} ({date}; {region}{others})", price.amount())
}

fn show(arguments: &ShowArguments) -> anyhow::Result<Outcome> {
    let catalog = load(&arguments.own, &arguments.priced)?;
    let facts = catalog.describe(&arguments.name).map_err(|error| {
        let error = error.to_string();
        let next = if error.ends_with('?') { "" } else { ";" };
        Usage(format!("{error}{next} `loadline catalog list --name TEXT` lists what is there"))
    })?;
    let text = match arguments.printing.format {
        Format::Json => {
            let object: Map<String, Json> = facts.into_iter().map(|fact| (fact.key, Json::String(fact.text))).collect();
            Schema::CatalogEntry.document(object)
        }
        format => {
            let mut table = Table::new(&[Column::words("", "what"), Column::words("", "value")]);
            for fact in facts {
                table.push(vec![Field::both(fact.label, fact.key), Field::text(fact.text)]);
            }
            let text = printing::table(&table, Schema::CatalogEntry, format);
            // A table for people has no headings here.
            if format == Format::Table {
                text.split_once('\n').map_or(text.clone(), |(_, rest)| rest.to_owned())
            } else {
                text
            }
        }
    };
    output::print(&text)?;
    Ok(Outcome::Done)
}

/// Simulates every entry, on all the machine's processors.
fn unreached(catalog: &Catalog) -> Vec<CatalogProblem> {
    let entries = loadline_prediction::entry_groups(catalog);
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        let of = |first: usize| {
            let each = entries.iter().skip(first).step_by(threads);
            each.flat_map(|entries| loadline_prediction::unreached(catalog, entries)).collect::<Vec<_>>()
        };
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || of(first))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("no entry makes the model panic")).collect()
    })
}

fn check(arguments: &CheckArguments) -> anyhow::Result<Outcome> {
    let catalog = catalog_with(arguments.own.catalog.as_deref())?;
    let told = |problem: CatalogProblem| [problem.place, problem.name, problem.kind.name().to_owned(), problem.text];
    let mut problems: Vec<[String; 4]> = catalog.check().into_iter().chain(unreached(&catalog)).map(told).collect();
    problems.extend(catalog.price_problems().into_iter().map(|problem| {
        let (kind, text) = (problem.cause.name().to_owned(), price_problem(&problem));
        [problem.place, problem.name, kind, text]
    }));
    problems.sort();
    let mut table = Table::new(&[
        Column::words("where", "place"),
        Column::words("name", "name"),
        Column::words("problem", "kind"),
        Column::words("", "text"),
    ]);
    for problem in &problems {
        table.push(problem.iter().map(Field::text).collect());
    }
    if arguments.printing.format != Format::Table || !table.is_empty() {
        output::print(&printing::table(&table, Schema::CatalogCheck, arguments.printing.format))?;
    }
    let lines = catalog_lines(&CatalogCheck {
        problems: problems.len(),
        first: problems.first().map(|[place, name, _, text]| [place, name, text].map(String::as_str)),
        looked_at: [catalog.disks().len(), catalog.vms().len(), catalog.caps().len()],
        command: "loadline catalog list --kind disk --sort price",
    });
    // Not among the results: a check without problems prints none.
    printing::tell_verdict(&lines);
    Ok(if problems.is_empty() { Outcome::Done } else { Outcome::Failed })
}
