//! `run --dry-run`: every cell with all of its load and the time it takes, and the time of all; nothing is measured.

use crate::arguments::Format;
use crate::output;
use crate::printing;
use crate::schema::Schema;
use loadline_report::{Column, Field, Table};
use loadline_runs::{FillForecast, Settings, Work, filling};
use loadline_units::{Bytes, Duration};
use loadline_workload::{Arrival, LoadSpec, RunCell};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Prints what `work` would do by these settings. By a virtual clock, for which there are none, nothing is filled, and the time is
/// the model's.
pub(crate) fn print(work: &Work, settings: Option<&Settings>, format: Format) -> anyhow::Result<()> {
    let table = cells(work);
    let filling = settings.map_or(FillForecast::Nothing, |settings| FillForecast::of(work, settings));
    let text = match format {
        Format::Json => Schema::DryRun.document(json!({
            "plans": work.plans.iter().map(|plan| json!({"name": plan.name, "hash": plan.hash})).collect::<Vec<_>>(),
            "cells": with_loads(table.json(), work),
            "trials": work.trials(),
            "time_s": work.time().as_s_f64(),
            "fill_bytes": match filling {
                FillForecast::Nothing => Some(0),
                FillForecast::Size(size) => Some(size.get()),
                FillForecast::Unknown => None,
            },
        })),
        Format::Csv => printing::part(&table, format),
        Format::Table | Format::Markdown => {
            let count = work.cells.len();
            let all = work.time().clock();
            let table = printing::part(&table, format);
            let virtual_time = if settings.is_none() { " of virtual time" } else { "" };
            let note = filling_note(filling);
            let (cells, trials) = (counted(count, "cell"), counted(work.trials(), "trial"));
            let moved = moved_note(work);
            let loads = in_full(work);
            format!("{table}\n{loads}\n{cells}, {trials}: {all}{virtual_time} at most{moved}{note}\n")
        }
    };
    output::print(&text)
}

/// The cells with all keys of their loads, as they are stored.
fn with_loads(mut cells: Value, work: &Work) -> Value {
    for (cell, shown) in work.cells.iter().zip(cells.as_array_mut().into_iter().flatten()) {
        shown["spec"] = json!(cell.spec);
    }
    cells
}

/// The parts of a load, each with the word that it stands under.
type Parts = Vec<(&'static str, String)>;

/// All of the loads in words. What several cells have alike stands once.
fn in_full(work: &Work) -> String {
    let mut all: Vec<(Parts, Vec<&str>)> = Vec::new();
    for cell in &work.cells {
        let parts = cell.spec.in_full();
        match all.iter_mut().find(|(known, _)| *known == parts) {
            Some((_, cells)) => cells.push(&cell.id),
            None => all.push((parts, vec![&cell.id])),
        }
    }
    let mut text = String::new();
    // A part that is the same in every load is said before them.
    let shared: Parts = (all.first().map(|(parts, _)| parts.clone()).unwrap_or_default().into_iter())
        .filter(|part| all.iter().all(|(parts, _)| parts.contains(part)))
        .collect();
    write_parts(&mut text, if all.len() > 1 { "every load" } else { "the load" }, &shared);
    let of_own = all.len() > 1 && all.len() <= LOADS_MAX;
    for (parts, cells) in all.iter().filter(|_| of_own) {
        let own: Parts = parts.iter().filter(|part| !shared.contains(part)).cloned().collect();
        let named = if cells.len() > CELLS_NAMED_MAX { format!("{} cells", cells.len()) } else { cells.join(", ") };
        write_parts(&mut text, &named, &own);
    }
    if all.len() > LOADS_MAX {
        let _ = writeln!(text, "{} loads differ in the rest: --format json has all of each", all.len());
    }
    text
}

fn write_parts(text: &mut String, heading: &str, parts: &[(&'static str, String)]) {
    if parts.is_empty() {
        return;
    }
    let _ = writeln!(text, "{heading}:");
    for (name, words) in parts {
        let _ = writeln!(text, "  {name:<9} {words}");
    }
}

/// Loads that are shown in words at most.
const LOADS_MAX: usize = 12;
/// Cells of one load that are named at most.
const CELLS_NAMED_MAX: usize = 4;

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The longest that a load runs which its bytes end, as a job file without a runtime.
const UNTIL_MOVED: Duration = Duration::from_s(86_400);

/// What a trial moves at most, where that and no time of the plan ends it.
fn moved(spec: &LoadSpec) -> Option<Bytes> {
    let volume = spec.size.map_or(spec.volume, |size| spec.volume_over(size));
    volume.filter(|_| spec.duration >= UNTIL_MOVED)
}

/// Passes over a range of a size that is not known yet, where they and no time of the plan end a trial.
fn passed(spec: &LoadSpec) -> Option<u32> {
    spec.passes.filter(|_| spec.size.is_none() && spec.duration >= UNTIL_MOVED)
}

/// How long a load needs for so many bytes by its own rate, where it has one.
fn at_its_rate(spec: &LoadSpec, bytes: Bytes) -> Option<Duration> {
    let rate = match spec.arrival {
        Arrival::Closed { rate_max, .. } => rate_max?,
        Arrival::Constant { rate } | Arrival::Poisson { rate } => rate,
    };
    let each_second = u128::from(rate.get()) * u128::from(spec.block_mean().get());
    let ns = u128::from(bytes.get()) * 1_000_000_000 / each_second.max(1);
    Some(Duration::from_ns(u64::try_from(ns).unwrap_or(u64::MAX)))
}

/// How long so many bytes take, for people.
fn moving_time(spec: &LoadSpec, bytes: Bytes) -> String {
    at_its_rate(spec, bytes)
        .map_or_else(|| filling::in_words(bytes), |time| format!("{} at the load's own rate", time.clock()))
}

/// What such trials move together, and how long that takes; nothing where there are none.
fn moved_note(work: &Work) -> String {
    let each = |cell: &RunCell| Some((moved(&cell.spec)?, u64::from(cell.spec.trials)));
    let all: u64 = work.cells.iter().filter_map(each).map(|(bytes, trials)| bytes.get() * trials).sum();
    let all = Bytes::new(all);
    if all == Bytes::ZERO {
        let ends = work.cells.iter().any(|cell| passed(&cell.spec).is_some());
        return if ends { "; the size of the target ends them".to_owned() } else { String::new() };
    }
    let rated = |cell: &RunCell| moved(&cell.spec).is_none_or(|bytes| at_its_rate(&cell.spec, bytes).is_some());
    let time = if work.cells.iter().any(|cell| moved(&cell.spec).is_some() && rated(cell)) {
        let one = |cell: &RunCell| {
            let (bytes, trials) = each(cell)?;
            Some(at_its_rate(&cell.spec, bytes).unwrap_or_else(|| filling::time(bytes)) * trials)
        };
        let time = work.cells.iter().filter_map(one).fold(Duration::ZERO, |sum, one| sum + one);
        let others = if work.cells.iter().all(rated) {
            "at their own rates"
        } else {
            "with their own rates where they have one"
        };
        format!("{} {others}", time.clock())
    } else {
        filling::in_words(all)
    };
    format!("; bytes end them: {} in about {time}", all.human())
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
            match (moved(spec), passed(spec)) {
                (Some(size), _) => Field::both(format!("until {}", size.human()), spec.duration.as_s_f64()),
                (None, Some(passes)) => Field::both(format!("{passes} x the target"), spec.duration.as_s_f64()),
                (None, None) => time(spec.duration),
            },
            time(spec.cool_down),
            match moved(spec) {
                Some(size) => {
                    let whole = Bytes::new(size.get() * u64::from(spec.trials));
                    Field::both(moving_time(spec, whole), all.as_s_f64())
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
