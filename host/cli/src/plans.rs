//! `plans`: what comes with loadline.

use crate::arguments::{PlansArguments, PlansVerb};
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::printing;
use crate::schema::Schema;
use loadline_report::{Column, Field, Table};
use loadline_workload::{LoadSpec, Plan, nearest_preset, preset, presets};

/// Lists the plans, or prints one.
pub(crate) fn plans(arguments: &PlansArguments) -> anyhow::Result<Outcome> {
    match &arguments.verb {
        Some(PlansVerb::Show { name }) => show(name)?,
        None => {
            let table = list()?;
            output::print(&printing::table(&table, Schema::Plans, arguments.printing.format))?;
        }
    }
    Ok(Outcome::Done)
}

fn show(name: &str) -> anyhow::Result<()> {
    let Some(preset) = preset(name) else {
        let near = nearest_preset(name).map_or(String::new(), |near| format!(" (did you mean {near}?)"));
        return Err(Usage(format!("no plan {name:?} comes with loadline{near}; `loadline plans` lists them")).into());
    };
    output::print(preset.text)
}

fn list() -> anyhow::Result<Table> {
    let mut table = Table::new(&[
        Column::words("plan", "name"),
        Column::numbers("cells", "cells"),
        Column::numbers("time", "time_s"),
        Column::words("answers", "title"),
    ]);
    for preset in presets() {
        let plan = Plan::parse(preset.text, preset.name)?;
        let specs: Vec<&LoadSpec> = plan.cells().map(|(spec, _)| spec).collect();
        let time =
            specs.iter().map(|spec| spec.trial_time() * u64::from(spec.trials)).sum::<loadline_units::Duration>();
        table.push(vec![
            Field::text(preset.name),
            Field::count(specs.len() as u64),
            Field::both(time.clock(), time.as_s_f64()),
            Field::text(preset.title),
        ]);
    }
    Ok(table)
}
