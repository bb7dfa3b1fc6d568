//! `run --verify-only RUN`: reads back what a stored run wrote with `verify = true`, and checks every block.

use crate::arguments::{Format, RunArguments};
use crate::failure::{Outcome, Usage};
use crate::interruption::Interruption;
use crate::live::{Live, Step as Shown};
use crate::measure::Watch;
use crate::output::{self, Column, Field, Table};
use crate::preparation::{Work, label};
use crate::settings::Settings;
use crate::{run, volumes};
use anyhow::{Context, bail};
use loadline_engine::{Access, Keep, Need, Volume};
use loadline_record::{RunRecord, TargetKind, VerifyRecord};
use loadline_store::Store;
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, RunCell, Step};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Checks each volume of the run against the last trial with `verify` of which something is found there.
pub(crate) fn verify(typed: &str, arguments: &RunArguments, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    let record = store.load(&store.resolve(typed)?)?;
    let id = &record.header.id;
    let settings = settings_of(&record, arguments)?;
    let work = run::work_of(&record, &settings)?;
    if !work.cells.iter().any(|cell| cell.spec.verify) {
        return Err(Usage(format!("run {id} wrote nothing with verify = true, so there is nothing to check")).into());
    }
    let interruption = Interruption::watch()?;
    let mut live = Live::new(quiet);
    let mut checks: Vec<Check<'_>> = Vec::new();
    for named in &settings.targets {
        let trials = trials_to_check(&record, &work, &named.volume);
        // By the number of files, for each of which a run makes files of their own.
        let mut opened: BTreeMap<u32, Volume> = BTreeMap::new();
        for (cell, trial) in trials {
            let volume = match opened.entry(cell.spec.files) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(free) => free.insert(reopened(&record, &cell.spec, &named.volume, &named.target)?),
            };
            live.begin(Shown {
                place: format!("volume {}", named.volume),
                label: format!("reading back {}, trial {}", label(&cell.spec), trial + 1),
                planned: Duration::ZERO,
            });
            let mut watch = Watch { live: &mut live, interruption: &interruption };
            let found = watch.verification(volume, cell, trial, record.header.seed)?;
            if interruption.asked() {
                return Ok(Outcome::Interrupted);
            }
            if let Some(found) = found {
                checks.push(Check { cell, trial, found });
                break;
            }
        }
    }
    live.clear();
    if checks.is_empty() {
        bail!("nothing that run {id} wrote is found on its volumes: the data is gone, or --on names other targets");
    }
    report(&checks, arguments.printing.format)
}

fn report(checks: &[Check<'_>], format: Format) -> anyhow::Result<Outcome> {
    let mut table = Table::new(&[
        Column::words("volume", "volume"),
        Column::words("load", "load"),
        Column::numbers("trial", "trial"),
        Column::numbers("offset", "offset"),
        Column::numbers("length", "length"),
        Column::words("fault", "fault"),
        Column::words("found", "detail"),
    ]);
    for Check { cell, trial, found } in checks {
        output::tell(&format!(
            "{}: {}, trial {}: {} blocks checked, {} never written by the load, {} faulty",
            cell.volume,
            label(&cell.spec),
            trial + 1,
            found.blocks_checked,
            found.blocks_unwritten,
            found.faults_total
        ));
        for fault in &found.faults {
            let kind = serde_json::to_value(fault.kind).expect("a kind is a word");
            table.push(vec![
                Field::text(&cell.volume),
                Field::text(label(&cell.spec)),
                Field::count((*trial).into()),
                Field::count(fault.offset),
                Field::count(fault.length),
                Field::text(kind.as_str().unwrap_or_default()),
                Field::text(&fault.detail),
            ]);
        }
    }
    if !table.is_empty() || format != Format::Table {
        output::print(&table.render(format, output::colour_wanted()))?;
    }
    let faults: u64 = checks.iter().map(|check| check.found.faults_total).sum();
    Ok(if faults == 0 { Outcome::Done } else { Outcome::Failed })
}

/// What one volume's check found.
struct Check<'a> {
    cell: &'a RunCell,
    trial: u32,
    found: VerifyRecord,
}

fn settings_of(record: &RunRecord, arguments: &RunArguments) -> anyhow::Result<Settings> {
    let id = &record.header.id;
    let mut settings = run::settings_of(record)?;
    // A target may have moved: `--on` names its new place.
    for named in Settings::of_run(arguments)?.targets {
        match settings.targets.iter_mut().find(|t| t.volume == named.volume) {
            Some(old) => old.target = named.target,
            None => return Err(Usage(format!("run {id} has no volume {:?}", named.volume)).into()),
        }
    }
    Ok(settings)
}

/// The trials with `verify` on this volume that were begun, the last first: each stored one, before them the one that was
/// under way when the run was cut off.
fn trials_to_check<'a>(record: &RunRecord, work: &'a Work, volume: &str) -> Vec<(&'a RunCell, u32)> {
    let stored = |step: &Step| {
        let id = &work.cells[step.cell].id;
        let of_cell = record.cells.iter().find(|cell| cell.id == *id);
        of_cell.is_some_and(|cell| cell.trials.iter().any(|trial| trial.trial == step.trial))
    };
    let begun = work.steps.iter().position(|step| !stored(step)).map_or(work.steps.len(), |cut_off| cut_off + 1);
    let cells = work.steps[..begun].iter().rev().map(|step| (&work.cells[step.cell], step.trial));
    cells.filter(|(cell, _)| cell.volume == volume && cell.spec.verify).collect()
}

/// The volume as the run left it, for reading only.
fn reopened(record: &RunRecord, spec: &LoadSpec, name: &str, target: &str) -> anyhow::Result<Volume> {
    let facts = record.header.volumes.iter().find(|volume| volume.name == name);
    let keep = Keep { file_name: Some(volumes::file_name(&record.header.id, name, spec.files)), remove_at_end: false };
    let need = Need {
        // Of test files, all that is there: each was made in the size that it should have.
        size: facts.filter(|facts| facts.kind != TargetKind::TestFile).map(|facts| Bytes::new(facts.size_bytes)),
        files: spec.files,
        writes: false,
        buffered: spec.buffered,
        keep: Some(keep),
    };
    let access = Access { read_only: true, ..Access::default() };
    volumes::open_watched(name, target, &need, &access).with_context(|| format!("volume {name}"))
}
