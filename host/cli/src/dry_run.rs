//! `run --dry-run`: every cell with the time it takes, and the time of all; nothing is measured.

use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use crate::preparation::Work;
use loadline_record::Clock;
use loadline_units::{Bytes, Duration};
use loadline_workload::{Fill, LoadSpec};
use serde_json::json;
use std::collections::BTreeMap;

/// Prints what `work` would do. By a virtual clock nothing is filled, and the time is the model's.
pub(crate) fn print(work: &Work, clock: Clock, format: Format) -> anyhow::Result<()> {
    let table = cells(work);
    let filling = if clock == Clock::Virtual { Filling::None } else { filling(work) };
    let text = match format {
        Format::Json => output::pretty(&json!({
            "plans": work.plans.iter().map(|plan| json!({"name": plan.name, "hash": plan.hash})).collect::<Vec<_>>(),
            "cells": table.to_json(),
            "trials": work.steps.len(),
            "time_s": work.time().as_s_f64(),
            "fill_bytes": if let Filling::Size(size) = filling { Some(size.get()) } else { None },
        })),
        Format::Csv => table.render(format, false),
        Format::Table | Format::Markdown => {
            let count = work.cells.len();
            let all = work.time().clock();
            let table = table.render(format, output::colour_wanted());
            let virtual_time = if clock == Clock::Virtual { " of virtual time" } else { "" };
            let note = filling_note(filling);
            format!("{table}\n{count} cells, {} trials: {all}{virtual_time} at most{note}\n", work.steps.len())
        }
    };
    output::print(&text)
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

/// What is written before the first read on each volume that may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filling {
    /// Nothing.
    None,
    /// The largest size that a load names; of loads on several numbers of files, for each number.
    Size(Bytes),
    /// Whatever the target holds.
    Whole,
}

fn filling(work: &Work) -> Filling {
    let mut largest: BTreeMap<u32, Option<Bytes>> = BTreeMap::new();
    for spec in work.cells.iter().map(|cell| &cell.spec).filter(|spec| may_be_filled(spec)) {
        let size = largest.entry(spec.files).or_insert(spec.size);
        *size = size.zip(spec.size).map(|(a, b)| a.max(b));
    }
    if largest.is_empty() {
        return Filling::None;
    }
    let all: Option<Bytes> = largest.into_values().try_fold(Bytes::ZERO, |sum, size| Some(sum + size?));
    all.map_or(Filling::Whole, Filling::Size)
}

/// What comes on top of the planned time, or nothing.
fn filling_note(filling: Filling) -> String {
    match filling {
        Filling::None => String::new(),
        Filling::Size(size) => {
            // A round figure of a plain SATA SSD or a mid-size cloud disk, so that the reader can scale it.
            let seconds = Duration::from_s(size.get().div_ceil(Bytes::mib(200).get()));
            format!(
                ", and on each volume that may be written {size} is filled first ({} at 200 MiB/s)",
                seconds.clock()
            )
        }
        Filling::Whole => ", and each volume that may be written is filled first".to_owned(),
    }
}

fn may_be_filled(spec: &LoadSpec) -> bool {
    match spec.fill {
        Fill::Auto => spec.reads_any(),
        Fill::Always => true,
        Fill::Never => false,
    }
}
