//! `run --verify-only RUN`: reads back what a stored run wrote with `verify = true`, and prints what was found.

use crate::arguments::Format;
use crate::arguments::run::RunArguments;
use crate::failure::{Outcome, Usage};
use crate::output;
use crate::printing;
use crate::schema::Schema;
use crate::terminal::Terminal;
use crate::typed_settings;
use loadline_record::{RunRecord, VerifyRecord};
use loadline_report::{Column, Field, Table};
use loadline_runs::{Observer, Settings, VerifiedTrial};
use loadline_store::Store;
use serde_json::json;
use std::collections::BTreeMap;

/// Checks, and prints what was found.
pub(crate) fn verify(typed: &str, arguments: &RunArguments, quiet: bool, store: &Store) -> anyhow::Result<Outcome> {
    let record = store.load(&store.resolve(typed)?)?;
    let settings = settings_of(&record, arguments)?;
    let mut terminal = Terminal::following(&record.header.verb, &arguments.live, quiet)?;
    let checks = loadline_runs::verify(&record, &settings, &mut terminal);
    terminal.close();
    let checks = checks?;
    if terminal.wants_an_end() {
        return Ok(Outcome::Interrupted);
    }
    report(&checks, arguments.printing.format)
}

/// The run's own settings; `--on` names the new place of a target that has moved.
fn settings_of(record: &RunRecord, arguments: &RunArguments) -> anyhow::Result<Settings> {
    let id = &record.header.id;
    let mut settings = loadline_runs::settings_of(record)?;
    for named in typed_settings::of_run(arguments)?.targets {
        match settings.targets.iter_mut().find(|t| t.volume == named.volume) {
            Some(old) => old.target = named.target,
            None => return Err(Usage(format!("run {id} has no volume {:?}", named.volume)).into()),
        }
    }
    Ok(settings)
}

/// A word for what was found of a trial.
fn outcome_of(check: &VerifiedTrial) -> &'static str {
    match &check.found {
        found if found.faults_total > 0 => "faulty",
        found if found.blocks_unknown > 0 => "not-judged",
        found if found.blocks_checked + found.blocks_unwritten == 0 => "overwritten",
        _ => "sound",
    }
}

/// The same in a line.
fn line_of(check: &VerifiedTrial) -> String {
    let VerifyRecord { blocks_checked, blocks_unwritten, blocks_unknown, faults_total, faults, .. } = &check.found;
    let mut parts = vec![format!("{blocks_checked} blocks checked")];
    if *blocks_unwritten > 0 || *blocks_unknown == 0 {
        parts.push(format!("{blocks_unwritten} never written by the load"));
    }
    if *blocks_unknown > 0 {
        parts.push(format!("{blocks_unknown} not judged, which may have been written and lost"));
    }
    if check.blocks_overwritten > 0 {
        parts.push(format!(
            "{} not checked, where later trials that are checked may have written over them",
            check.blocks_overwritten
        ));
    }
    parts.push(format!("{faults_total} faulty"));
    match faults_total - faults.len() as u64 {
        0 => {}
        more => parts.push(format!("of which the first {} are listed and {more} are not", faults.len())),
    }
    parts.join(", ")
}

fn for_programs(check: &VerifiedTrial) -> serde_json::Value {
    let VerifyRecord { blocks_checked, blocks_unwritten, blocks_unknown, faults_total, faults, .. } = &check.found;
    json!({
        "volume": check.volume,
        "load": check.load,
        "trial": check.trial + 1,
        "outcome": outcome_of(check),
        "blocks_checked": blocks_checked,
        "blocks_unwritten": blocks_unwritten,
        "blocks_unknown": blocks_unknown,
        "blocks_overwritten": check.blocks_overwritten,
        "faults_total": faults_total,
        "faults_listed": faults.len(),
        "why": check.why,
    })
}

/// Prints what was found, and says how it came out.
fn report(checks: &[VerifiedTrial], format: Format) -> anyhow::Result<Outcome> {
    let mut overwritten: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for check in checks {
        if outcome_of(check) == "overwritten" {
            overwritten.entry((&check.volume, &check.load)).or_default().push(check.trial + 1);
            continue;
        }
        let named = format!("{}: {}, trial {}", check.volume, check.load, check.trial + 1);
        output::tell(&format!("{named}: {}", line_of(check)));
        if let Some(why) = &check.why {
            output::tell(&format!("{named}: {why}"));
        }
    }
    for ((volume, load), mut trials) in overwritten {
        trials.sort_unstable();
        let word = if trials.len() == 1 { "trial" } else { "trials" };
        let trials: Vec<String> = trials.iter().map(u32::to_string).collect();
        output::tell(&format!(
            "{volume}: {load}, {word} {}: not checked: later trials that are checked may have written over all of it",
            trials.join(", ")
        ));
    }
    let faults = faults(checks);
    match format {
        Format::Json => {
            let mut rows = faults.json();
            rows.as_array_mut().expect("a table is an array").extend(checks.iter().map(for_programs));
            output::print(&Schema::Verification.rows(rows))?;
        }
        Format::Table if faults.is_empty() => {}
        _ => output::print(&printing::table(&faults, Schema::Verification, format))?,
    }
    let sum = |of: fn(&VerifyRecord) -> u64| checks.iter().map(|check| of(&check.found)).sum::<u64>();
    Ok(match (sum(|found| found.faults_total), sum(|found| found.blocks_unknown)) {
        (0, 0) => Outcome::Done,
        (0, _) => Outcome::Inconclusive,
        _ => Outcome::Failed,
    })
}

fn faults(checks: &[VerifiedTrial]) -> Table {
    let mut table = Table::new(&[
        Column::words("volume", "volume"),
        Column::words("load", "load"),
        Column::numbers("trial", "trial"),
        Column::numbers("offset", "offset"),
        Column::numbers("length", "length"),
        Column::words("fault", "fault"),
        Column::words("found", "detail"),
    ]);
    for check in checks {
        for fault in &check.found.faults {
            let kind = serde_json::to_value(fault.kind).expect("a kind is a word");
            table.push(vec![
                Field::text(&check.volume),
                Field::text(&check.load),
                Field::count((check.trial + 1).into()),
                Field::count(fault.offset),
                Field::count(fault.length),
                Field::text(kind.as_str().unwrap_or_default()),
                Field::text(&fault.detail),
            ]);
        }
    }
    table
}
