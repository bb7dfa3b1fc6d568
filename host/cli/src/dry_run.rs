//! `run --dry-run`: every cell with the time it takes, and the time of all; nothing is measured.

use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use loadline_runs::{FillForecast, Settings, Work, filling};
use loadline_units::{Bytes, Duration};
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
            let moved = moved_note(work);
            format!("{table}\n{cells}, {trials}: {all}{virtual_time} at most{moved}{note}\n")
        }
    };
    output::print(&text)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The longest that a load runs which its bytes end, as a job file without a runtime.
const UNTIL_MOVED: Duration = Duration::from_s(86_400);

/// What a trial moves at most, where that and no time of the plan ends it.
fn moved(spec: &LoadSpec) -> Option<Bytes> {
    spec.volume.filter(|_| spec.duration >= UNTIL_MOVED)
}

/// What such trials move together, and how long that takes; nothing where there are none.
fn moved_note(work: &Work) -> String {
    let each = work.cells.iter().filter_map(|cell| Some(moved(&cell.spec)?.get() * u64::from(cell.spec.trials)));
    let all = Bytes::new(each.sum());
    if all == Bytes::ZERO {
        return String::new();
    }
    format!("; bytes end them: {} in about {}", all.human(), filling::in_words(all))
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
            match moved(spec) {
                Some(size) => Field::both(format!("until {}", size.human()), spec.duration.as_s_f64()),
                None => time(spec.duration),
            },
            time(spec.cool_down),
            match moved(spec) {
                Some(size) => {
                    let whole = Bytes::new(size.get() * u64::from(spec.trials));
                    Field::both(filling::in_words(whole), all.as_s_f64())
                }
                None => Field::both(all.clock(), all.as_s_f64()),
            },
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
