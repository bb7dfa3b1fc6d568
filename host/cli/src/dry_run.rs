//! `run --dry-run`: every cell with the time it takes, and the time of all; nothing is measured.

use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use loadline_runs::{FillForecast, Settings, Work, filling};
use loadline_units::Duration;
use loadline_workload::LoadSpec;
use serde_json::json;

/// Prints what `work` would do by these settings. By a virtual clock, for which there are none, nothing is filled, and the time is
/// the model's.
pub(crate) fn print(work: &Work, settings: Option<&Settings>, format: Format) -> anyhow::Result<()> {
    let table = cells(work);
    let filling = settings.map_or(FillForecast::Nothing, |settings| FillForecast::of(work, settings));
    let text = match format {
        Format::Json => output::pretty(&json!({
            "plans": work.plans.iter().map(|plan| json!({"name": plan.name, "hash": plan.hash})).collect::<Vec<_>>(),
            "cells": table.to_json(),
            "trials": work.trials(),
            "time_s": work.time().as_s_f64(),
            "fill_bytes": match filling {
                FillForecast::Nothing => Some(0),
                FillForecast::Size(size) => Some(size.get()),
                FillForecast::Unknown => None,
            },
        })),
        Format::Csv => table.render(format, false),
        Format::Table | Format::Markdown => {
            let count = work.cells.len();
            let all = work.time().clock();
            let table = table.render(format, output::colour_wanted());
            let virtual_time = if settings.is_none() { " of virtual time" } else { "" };
            let note = filling_note(filling);
            let (cells, trials) = (counted(count, "cell"), counted(work.trials(), "trial"));
            format!("{table}\n{cells}, {trials}: {all}{virtual_time} at most{note}\n")
        }
    };
    output::print(&text)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn cells(work: &Work) -> Table {
    let mut table = Table::new(&[
        Column::words("cell", "cell"),
        Column::words("volume", "volume"),
        Column::words("load", "load"),
        Column::numbers("trials", "trials"),
        Column::numbers("pause", "pause_s"),
        Column::numbers("warm-up", "warm_up_s"),
        Column::numbers("measured", "duration_s"),
        Column::numbers("cool-down", "cool_down_s"),
        Column::numbers("time", "time_s"),
    ]);
    let time = |span: Duration| {
        let shown = if span == Duration::ZERO { "0 s".to_owned() } else { span.to_string() };
        Field::both(shown, span.as_s_f64())
    };
    for (cell, label) in work.cells.iter().zip(work.labels()) {
        let spec = &cell.spec;
        let all = spec.trial_time() * u64::from(spec.trials);
        table.push(vec![
            Field::text(&cell.id),
            Field::text(&cell.volume),
            Field::text(label),
            Field::count(spec.trials.into()),
            time(spec.pause),
            time(warm_up_max(spec)),
            time(spec.duration),
            time(spec.cool_down),
            Field::both(all.clock(), all.as_s_f64()),
        ]);
    }
    table
}

/// The longest that the warm-up takes, the steady-state rule included.
fn warm_up_max(spec: &LoadSpec) -> Duration {
    spec.trial_time().saturating_sub(spec.pause + spec.duration + spec.cool_down)
}

/// What comes on top of the planned time, or nothing.
fn filling_note(filling: FillForecast) -> String {
    match filling {
        FillForecast::Nothing => String::new(),
        FillForecast::Size(size) => format!(", and the time to fill {} ({})", size.human(), filling::in_words(size)),
        FillForecast::Unknown => {
            ", and the time to fill the test file or target, whose size is not known yet".to_owned()
        }
    }
}
