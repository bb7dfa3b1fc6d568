//! `environments`: what comes with loadline, and what this machine is; and what is typed in place of one.

use crate::arguments::{EnvironmentsArguments, EnvironmentsVerb};
use crate::catalog;
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::printing;
use crate::schema::Schema;
use anyhow::Context as _;
use loadline_catalog::{
    Catalog, Environment, ItemCost, Money, Reduction, ReductionReason, environment_text, nearest_environment,
};
use loadline_report::{Column, Field, Table};
use loadline_runs::{InputKind, environment_named, read_environment, read_text, recognition};
use serde_json::Value as Json;
use std::path::Path;

/// Lists the environments, or prints one.
pub(crate) fn environments(arguments: &EnvironmentsArguments) -> anyhow::Result<Outcome> {
    match &arguments.verb {
        Some(EnvironmentsVerb::Show { name }) => show(name)?,
        Some(EnvironmentsVerb::Cost { environments, region, own, priced, paying, printing }) => {
            let table = cost(environments, region, &catalog::paid(own.catalog.as_deref(), priced, paying)?)?;
            output::print(&printing::table(&table, Schema::EnvironmentCosts, printing.format))?;
        }
        Some(EnvironmentsVerb::Recognise { volumes }) => recognise_here(volumes.as_deref())?,
        None => {
            let table = list()?;
            output::print(&printing::table(&table, Schema::Environments, arguments.printing.format))?;
        }
    }
    Ok(Outcome::Done)
}

/// Reads what was typed in place of an environment: the name of one that comes with loadline, a file, or `auto` for that
/// of this machine.
///
/// # Errors
/// There is no such environment, the file cannot be read, or it is none.
pub(crate) fn read(typed: &str, catalog: &Catalog) -> anyhow::Result<Environment> {
    let read = environment_named(typed, catalog)?;
    read.notes.iter().for_each(|note| output::tell(note));
    Ok(read.environment)
}

/// Prints this machine's environment; `volumes` is a file of what `aws ec2 describe-volumes` printed.
fn recognise_here(volumes: Option<&Path>) -> anyhow::Result<()> {
    let volumes = volumes.map(|path| {
        read_text(path, InputKind::Volumes)
            .with_context(|| Usage(format!("cannot read the volumes in {}", path.display())))
    });
    let found = recognition::recognise(volumes.transpose()?.as_deref(), &Catalog::builtin())?;
    found.notes.iter().for_each(|note| output::tell(note));
    if !found.undescribed.is_empty() {
        output::tell(&described(&found.undescribed));
    }
    output::print(&found.text)
}

/// How EBS volumes are described; an AWS machine is not told their types.
fn described(volumes: &[String]) -> String {
    format!(
        "what describes them: aws ec2 describe-volumes --volume-ids {} > volumes.json && loadline environments recognise \
         --volumes volumes.json",
        volumes.join(" ")
    )
}

fn show(name: &str) -> anyhow::Result<()> {
    if environment_text(name).is_none() && Path::new(name).is_file() {
        // Whether it is one is told before it is taken for one.
        let environment = read(name, &Catalog::builtin())?;
        return output::print(&environment.text);
    }
    let Some(text) = environment_text(name) else {
        let near = nearest_environment(name).map_or(String::new(), |near| format!(" (did you mean {near}?)"));
        return Err(Usage(format!(
            "no environment {name:?} comes with loadline{near}; `loadline environments` lists them"
        ))
        .into());
    };
    output::print(text)
}

/// What each of the environments costs, item by item, and in all where every item has a price.
fn cost(typed: &[String], region: &str, catalog: &Catalog) -> anyhow::Result<Table> {
    let region = &catalog.region_named(region).map_err(|unknown| Usage(unknown.to_string()))?;
    let mut table = Table::new(&[
        Column::words("environment", "environment"),
        Column::words("for", "for"),
        Column::words("of", "name"),
        Column::numbers("count", "count"),
        Column::numbers("a month", "cost_per_month"),
        Column::words("currency", "currency"),
        Column::words("", "note"),
    ]);
    let nothing = || Field::both("-", Json::Null);
    let amount = |money: Option<Money>| {
        money.map_or_else(nothing, |money| {
            let shown = money.to_string();
            let figure = shown.split(' ').next().unwrap_or_default().to_owned();
            Field::both(figure, money.billionths() as f64 / 1e9)
        })
    };
    let currency = |money: Option<Money>| money.map_or_else(nothing, |money| Field::text(money.currency().to_string()));
    for typed in typed {
        let environment = read(typed, catalog)?;
        let items = environment.bill(catalog, region);
        for item in &items {
            let (all, note) = match &item.each {
                ItemCost::Monthly(each) => {
                    let one = (item.count > 1).then(|| format!("{} each", each.at_list()));
                    let estimated = item.is_estimated().then(|| "an estimate: no list has all of it".to_owned());
                    (
                        Some(each.at_list().times(item.count)),
                        one.into_iter().chain(estimated).collect::<Vec<_>>().join("; "),
                    )
                }
                ItemCost::WithMachine => (None, "comes with the machine".to_owned()),
                ItemCost::NotSold => (None, "given in full: nobody sells it".to_owned()),
                ItemCost::Unknown(error) => (None, error.to_string()),
            };
            let row = |count: Field, figure: Field, note: &str| {
                vec![
                    Field::text(&environment.name),
                    item.volume.as_ref().map_or_else(|| Field::text("machine"), Field::text),
                    item.name.as_ref().map_or_else(nothing, Field::text),
                    count,
                    figure,
                    currency(all),
                    Field::text(note),
                ]
            };
            table.push(row(Field::count(u64::from(item.count)), amount(all), &note));
            for Reduction { why, amount } in item.reductions() {
                let (share, what) = match why {
                    ReductionReason::Commitment { term, share, .. } => {
                        (share.complement(), format!("about, by a commitment for {}", term.name()))
                    }
                    ReductionReason::Discount { share } => (share, "by a discount".to_owned()),
                };
                let figure = Field::both(format!("-{:.2}", amount.amount()), -amount.amount());
                table.push(row(nothing(), figure, &format!("{share} off, {what}")));
            }
        }
        let known: Vec<Money> = items.iter().filter_map(loadline_catalog::Item::monthly).collect();
        let sum = known.iter().skip(1).try_fold(known.first().copied(), |sum, more| Some(Some(sum?.plus(*more)?)));
        let sum = sum.flatten();
        let is_whole = items.iter().all(|item| matches!(item.each, ItemCost::Monthly(_) | ItemCost::WithMachine));
        let machine = environment.vm.as_ref().is_some_and(|vm| !vm.name.is_empty());
        let is_estimated = items.iter().any(loadline_catalog::Item::is_estimated);
        let left_out: Vec<&str> = [(!is_whole, "what has no price"), (machine, "the system's disk")]
            .into_iter()
            .filter_map(|(is_left_out, what)| is_left_out.then_some(what))
            .collect();
        // An environment names no system's disk; an advice counts one.
        let without = (!left_out.is_empty()).then(|| format!("without {}", left_out.join(" and ")));
        let note = is_estimated.then(|| "in part an estimate".to_owned()).into_iter().chain(without);
        let note = note.collect::<Vec<_>>().join("; ");
        table.push(vec![
            Field::text(&environment.name),
            Field::text("all"),
            nothing(),
            nothing(),
            amount(sum),
            currency(sum),
            Field::text(note),
        ]);
    }
    Ok(table)
}

fn list() -> anyhow::Result<Table> {
    let catalog = Catalog::builtin();
    let mut table = Table::new(&[
        Column::words("environment", "name"),
        Column::words("VM", "vm"),
        Column::words("volumes", "volumes"),
        Column::words("", "description"),
    ]);
    for (name, text) in loadline_catalog::environments() {
        let environment = read_environment(text, name, &catalog)?;
        let volumes: Vec<&str> = environment.volumes.iter().map(|volume| volume.name.as_str()).collect();
        let vm = environment.vm.as_ref().map(|vm| vm.name.clone()).filter(|name| !name.is_empty());
        table.push(vec![
            Field::text(*name),
            vm.map_or_else(|| Field::both("-", serde_json::Value::Null), Field::text),
            Field::text(volumes.join(", ")),
            Field::text(environment.description.unwrap_or_default()),
        ]);
    }
    Ok(table)
}
