//! `run --verify-only RUN`: reads back what a stored run wrote with `verify = true`, and checks every block.

use crate::arguments::{Format, RunArguments};
use crate::failure::{Outcome, Usage};
use crate::filling::{self, Wishes};
use crate::interruption::Interruption;
use crate::live::{Live, Step as Shown};
use crate::measure::Watch;
use crate::output::{self, Column, Field, Table};
use crate::preparation::{Work, label};
use crate::settings::Settings;
use crate::{run, volumes};
use anyhow::{Context, bail};
use loadline_engine::{Access, Keep, Need, Past, Volume};
use loadline_record::{Ending, RunRecord, TargetKind, TrialRecord, VerifyRecord};
use loadline_store::Store;
use loadline_units::{Bytes, Duration};
use loadline_workload::{LoadSpec, Origin, RunCell, Step};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

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
        let apart = Path::new(&named.target).is_dir();
        // By the number of files, for each of which a run makes files of their own.
        let mut opened: BTreeMap<u32, Volume> = BTreeMap::new();
        for Begun { cell, trial, past } in begun(&record, &work, &named.volume, apart) {
            let volume = match opened.entry(cell.spec.files) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(free) => free.insert(reopened(&record, &cell.spec, &named.volume, &named.target)?),
            };
            live.begin(Shown {
                place: format!("volume {}", named.volume),
                label: format!("reading back {}, trial {}", label(&cell.spec), trial + 1),
                planned: Duration::ZERO,
                is_guessed: false,
            });
            let mut watch = Watch { live: &mut live, interruption: &interruption };
            let found = watch.verification(volume, cell, trial, record.header.seed, &past.known())?;
            if interruption.asked() {
                return Ok(Outcome::Interrupted);
            }
            if let Some(found) = found {
                checks.push(Check { cell, trial, past, found });
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
    for Check { cell, trial, past, found } in checks {
        let named = format!("{}: {}, trial {}", cell.volume, label(&cell.spec), trial + 1);
        output::tell(&format!("{named}: {}", told(found)));
        if let Some(why) = past.unsure(found) {
            output::tell(&format!("{named}: {why}"));
        }
        for fault in &found.faults {
            let kind = serde_json::to_value(fault.kind).expect("a kind is a word");
            table.push(vec![
                Field::text(&cell.volume),
                Field::text(label(&cell.spec)),
                Field::count((*trial + 1).into()),
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
    let sum = |of: fn(&VerifyRecord) -> u64| checks.iter().map(|check| of(&check.found)).sum::<u64>();
    Ok(match (sum(|found| found.faults_total), sum(|found| found.blocks_unknown)) {
        (0, 0) => Outcome::Done,
        (0, _) => Outcome::Inconclusive,
        _ => Outcome::Failed,
    })
}

/// What a check found, in a line.
fn told(found: &VerifyRecord) -> String {
    let VerifyRecord { blocks_checked, blocks_unwritten, blocks_unknown, faults_total, .. } = found;
    let mut parts = vec![format!("{blocks_checked} blocks checked")];
    if *blocks_unwritten > 0 || *blocks_unknown == 0 {
        parts.push(format!("{blocks_unwritten} never written by the load"));
    }
    if *blocks_unknown > 0 {
        parts.push(format!("{blocks_unknown} not judged, which may have been written and lost"));
    }
    parts.push(format!("{faults_total} faulty"));
    parts.join(", ")
}

/// What one volume's check found.
struct Check<'a> {
    cell: &'a RunCell,
    trial: u32,
    past: History<'a>,
    found: VerifyRecord,
}

/// What the run's record tells of a trial that was begun.
#[derive(Clone, Copy)]
struct History<'a> {
    /// Its own record; `None` where it was cut off.
    record: Option<&'a TrialRecord>,
    /// The run may have written something else there since.
    overwritten: bool,
}

impl<'a> History<'a> {
    fn known(&self) -> Past<'a> {
        let verify = self.record.and_then(|trial| trial.verify.as_ref());
        Past { streams: verify.map_or(&[], |verify| &verify.streams), overwritten: self.overwritten }
    }

    /// Why not all could be judged, where that is so.
    fn unsure(&self, found: &VerifyRecord) -> Option<String> {
        const INFERRED: &str = "so how far its writes came is inferred from what is there: writes that were lost after the \
                                last one found leave no trace";
        if self.overwritten {
            return Some(
                "other loads of the run came after it and may have written there, so what is missing is no fault"
                    .into(),
            );
        }
        if !self.known().streams.is_empty() {
            let some = found.blocks_unknown > 0;
            return some.then(|| "the last writes of some blocks failed or were never confirmed as durable".into());
        }
        Some(match self.record {
            None => format!("the trial was cut off, {INFERRED}"),
            Some(trial) if matches!(trial.ending, Ending::Hung(_)) => {
                format!("the trial ended with requests unanswered, {INFERRED}")
            }
            Some(_) => format!("the trial was recorded without how far it came, {INFERRED}"),
        })
    }
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

/// A trial that was begun.
struct Begun<'a> {
    cell: &'a RunCell,
    trial: u32,
    past: History<'a>,
}

/// The trials with `verify` on this volume that were begun, the last first: each stored one, before them the one that was
/// under way when the run was cut off. `apart`: numbers of files differ in the files, too.
fn begun<'a>(record: &'a RunRecord, work: &'a Work, volume: &str, apart: bool) -> Vec<Begun<'a>> {
    let stored = |step: &Step| {
        let id = &work.cells[step.cell].id;
        let of_cell = record.cells.iter().find(|cell| cell.id == *id)?;
        of_cell.trials.iter().find(|trial| trial.trial == step.trial)
    };
    let count = work.steps.iter().position(|step| stored(step).is_none());
    let steps = &work.steps[..count.map_or(work.steps.len(), |cut_off| cut_off + 1)];
    let is_filled = filled_steps(work, steps, volume, apart);
    let mut found = Vec::new();
    // By the files that they were put on: whether another load wrote there since.
    let mut overwritten: BTreeMap<u32, bool> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate().rev().filter(|(_, step)| work.cells[step.cell].volume == volume) {
        let cell = &work.cells[step.cell];
        let overwritten = overwritten.entry(if apart { cell.spec.files } else { 0 }).or_default();
        if cell.spec.verify {
            let past = History { record: stored(step), overwritten: *overwritten };
            found.push(Begun { cell, trial: step.trial, past });
        }
        // A verified load that wrote something is found itself; before it, its volume may have been filled.
        *overwritten |= is_filled[index] || (cell.spec.writes_any() && !cell.spec.verify);
    }
    found
}

/// Before which of these steps the volume may have been filled. Test files are made anew each time that a run is carried on with,
/// so that what stands in one was written by a single start of it; what was found may have been filled at each of them.
fn filled_steps(work: &Work, steps: &[Step], volume: &str, apart: bool) -> Vec<bool> {
    let wishes =
        Wishes::of(&work.cells, |other| (other == volume).then_some(if apart { Origin::Made } else { Origin::Found }));
    let cells = steps.iter().map(|step| &work.cells[step.cell]);
    if !apart {
        return cells.map(|cell| wishes.hold_for(cell)).collect();
    }
    let mut is_filled = vec![false; steps.len()];
    for index in filling::passes(cells, |cell| wishes.hold_for(cell)) {
        is_filled[index] = true;
    }
    is_filled
}

/// The volume as the run left it, for reading only.
fn reopened(record: &RunRecord, spec: &LoadSpec, name: &str, target: &str) -> anyhow::Result<Volume> {
    let facts = record.header.volumes.iter().find(|volume| volume.name == name);
    let keep = Keep { file_name: Some(volumes::file_name(&record.header.id, name, spec.files)), remove_at_end: false };
    let need = Need {
        // Of test files, all that is there: each was made in the size that it should have.
        size: facts
            .filter(|facts| facts.kind != TargetKind::TestFile)
            .and_then(|facts| facts.size_bytes)
            .map(Bytes::new),
        files: spec.files,
        buffered: spec.buffered,
        keep: Some(keep),
        ..Need::default()
    };
    let access = Access { read_only: true, ..Access::default() };
    volumes::open_watched(name, target, &need, &access).with_context(|| format!("volume {name}"))
}
