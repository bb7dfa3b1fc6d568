//! `hunt`: one factor at a time around a cell, until it is known what moves its ceiling and what is ruled out.

use crate::arguments::Format;
use crate::arguments::hunt::HuntArguments;
use crate::conclusion::conclude_judged;
use crate::failure::Outcome;
use crate::output;
use crate::schema::Schema;
use crate::terminal::Terminal;
use crate::typed_plan::read_plan;
use crate::{environments, printing, typed_settings};
use loadline_hunt::{HuntDesign, HuntRounds};
use loadline_record::RunVerb;
use loadline_report::words::hunt::not_tried;
use loadline_report::{Column, Field, Table};
use loadline_runs::{Hunt, HuntChoices, Overrides, PlanLength, RunOptions, catalog_with};
use std::path::PathBuf;

/// Hunts, prints what was found.
pub(crate) fn hunt(
    arguments: &HuntArguments,
    quiet: bool,
    store: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<Outcome> {
    let length = if arguments.short { PlanLength::Short } else { PlanLength::Full };
    let plan = read_plan(&arguments.plan, length)?;
    let environment = match &arguments.env {
        Some(typed) => Some(environments::read(typed, &catalog_with(arguments.own.catalog.as_deref())?)?),
        None => None,
    };
    let targets = match &arguments.on {
        Some(typed) => typed_settings::named_targets(std::slice::from_ref(typed))?,
        None => Vec::new(),
    };
    let settings = typed_settings::of_driving(targets, &arguments.driving);
    let hunt = Hunt::around(&plan, &arguments.plan, choices(arguments), settings, environment)?;
    let format = arguments.printing.format;
    if arguments.dry_run {
        let mut text = printing::table(&dry(hunt.design()), Schema::HuntPlan, format);
        if matches!(format, Format::Table | Format::Markdown) {
            text.push_str(&not_tried(&hunt.design().plan.not_tried));
        }
        output::print(&text)?;
        return Ok(Outcome::Done);
    }
    let options = RunOptions { name: None, seed: arguments.driving.seed, store: Some(store()?) };
    let terminal = Terminal::following(&RunVerb::Hunt, &arguments.live, quiet)?;
    let mut terminal = terminal.agreeing(arguments.driving.yes);
    let outcome = hunt.run(&options, &mut terminal);
    terminal.close();
    let concluded = conclude_judged(&outcome?, format, arguments.objective.is_some());
    terminal.print_command()?;
    concluded
}

fn choices(arguments: &HuntArguments) -> HuntChoices {
    let overrides = Overrides {
        trials: Some(HuntRounds::MAX),
        duration: arguments.duration,
        warm_up: arguments.warm_up,
        size: arguments.size,
        short: arguments.short,
        objective: arguments.objective,
    };
    HuntChoices {
        cell: arguments.cell.clone(),
        vary: arguments.vary.clone(),
        volume: arguments.volume.clone(),
        overrides,
        catalog: arguments.own.catalog.clone(),
        margin: arguments.margin,
    }
}

/// What would be varied.
fn dry(design: &HuntDesign) -> Table {
    let mut table = Table::new(&[
        Column::words("factor", "factor"),
        Column::words("from", "from"),
        Column::words("to", "to"),
        Column::numbers("rounds at most", "rounds_max"),
    ]);
    for variant in &design.plan.variants {
        table.push(vec![
            Field::text(variant.factor.name()),
            Field::text(&variant.from),
            Field::text(&variant.to),
            Field::count(HuntRounds::MAX.into()),
        ]);
    }
    table
}
