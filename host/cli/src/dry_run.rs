//! `run --dry-run`: every cell with the time it takes, and the time of all; nothing is measured.

use crate::arguments::Format;
use crate::output::{self, Column, Field, Table};
use loadline_engine::target::is_nbd_uri;
use loadline_runs::filling::{self, Wishes, passes};
use loadline_runs::{Settings, Work};
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, OFFSET_MAX, Origin, RunCell};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// Prints what `work` would do by these settings. By a virtual clock, for which there are none, nothing is filled, and the time is
/// the model's.
pub(crate) fn print(work: &Work, settings: Option<&Settings>, format: Format) -> anyhow::Result<()> {
    let table = cells(work);
    let filling = settings.map_or(Filling::None, |settings| filling(work, settings));
    let text = match format {
        Format::Json => output::pretty(&json!({
            "plans": work.plans.iter().map(|plan| json!({"name": plan.name, "hash": plan.hash})).collect::<Vec<_>>(),
            "cells": table.to_json(),
            "trials": work.steps.len(),
            "time_s": work.time().as_s_f64(),
            "fill_bytes": match filling {
                Filling::None => Some(0),
                Filling::Size(size) => Some(size.get()),
                Filling::Chosen => None,
            },
        })),
        Format::Csv => table.render(format, false),
        Format::Table | Format::Markdown => {
            let count = work.cells.len();
            let all = work.time().clock();
            let table = table.render(format, output::colour_wanted());
            let virtual_time = if settings.is_none() { " of virtual time" } else { "" };
            let note = filling_note(filling);
            let (cells, trials) = (counted(count, "cell"), counted(work.steps.len(), "trial"));
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

/// What is written in full before loads, over all volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filling {
    /// Nothing.
    None,
    /// As much as the loads spread over.
    Size(Bytes),
    /// What is chosen for a test file, or all that a target holds.
    Chosen,
}

fn filling(work: &Work, settings: &Settings) -> Filling {
    let wishes = Wishes::of(&work.cells, |volume| origin(volume, work, settings));
    let mut spans: BTreeMap<(&str, u32), Option<Bytes>> = BTreeMap::new();
    let steps = work.steps.iter().map(|step| &work.cells[step.cell]);
    let passes = passes(steps, |cell| wishes.hold_for(cell));
    if passes.is_empty() {
        return Filling::None;
    }
    let filled = passes.into_iter().map(|index| {
        let RunCell { volume, spec, .. } = &work.cells[work.steps[index].cell];
        let sharing = work.cells.iter().filter(|cell| cell.volume == *volume && cell.spec.files == spec.files);
        let span = || span(sharing.map(|cell| &cell.spec), settings.target_of(volume).and_then(size_of));
        *spans.entry((volume, spec.files)).or_insert_with(span)
    });
    let all: Option<Bytes> = filled.into_iter().try_fold(Bytes::ZERO, |sum, size| Some(sum + size?));
    all.map_or(Filling::Chosen, Filling::Size)
}

/// Where a volume comes from, as far as can be seen without opening it; `None` where nothing of it is written.
fn origin(volume: &str, work: &Work, settings: &Settings) -> Option<Origin> {
    let target = settings.target_of(volume)?;
    if settings.read_only || target == "null" || target.starts_with("null:") {
        return None;
    }
    // What is not there yet is taken for a folder.
    if !is_nbd_uri(target) && Path::new(target).metadata().map_or(true, |there| there.is_dir()) {
        return Some(Origin::Made);
    }
    work.cells.iter().any(|cell| cell.volume == volume && cell.spec.writes_any()).then_some(Origin::Found)
}

/// The size of what is there already, where it can be looked at.
fn size_of(target: &str) -> Option<Bytes> {
    let mut there = File::open(target).ok().filter(|there| there.metadata().is_ok_and(|m| !m.is_dir()))?;
    there.seek(SeekFrom::End(0)).ok().map(Bytes::new)
}

/// What loads on the same files spread over: as each says, or all of it; `None` where one does not say and that is not known.
fn span<'a>(loads: impl Iterator<Item = &'a LoadSpec>, all: Option<Bytes>) -> Option<Bytes> {
    let (mut start, mut end, mut files) = (OFFSET_MAX, Bytes::ZERO, 1);
    for load in loads {
        files = u64::from(load.files);
        start = start.min(load.start);
        end = end.max(load.size.map(|size| load.start * files + size).or(all)?);
    }
    Some(end.saturating_sub(start * files))
}

/// What comes on top of the planned time, or nothing.
fn filling_note(filling: Filling) -> String {
    match filling {
        Filling::None => String::new(),
        Filling::Size(size) => format!(", and the time to fill {} ({})", size.human(), filling::in_words(size)),
        Filling::Chosen => ", and the time to fill the test file or target, whose size is not known yet".to_owned(),
    }
}
