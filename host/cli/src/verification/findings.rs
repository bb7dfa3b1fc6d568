//! What the checks of a stored run found, for people and for programs.

use crate::arguments::Format;
use crate::failure::Outcome;
use crate::output::{self, Column, Field, Table};
use loadline_record::VerifyRecord;
use serde_json::json;
use std::collections::BTreeMap;

/// What was found of one trial.
pub(super) struct Check<'a> {
    /// The volume's name.
    pub(super) volume: &'a str,
    /// The load's label.
    pub(super) load: &'a str,
    /// From 0.
    pub(super) trial: u32,
    /// Of the blocks that were looked at.
    pub(super) found: VerifyRecord,
    /// Blocks that were not looked at, since later trials that are checked may have written over them.
    pub(super) blocks_overwritten: u64,
    /// Nothing of it is there.
    pub(super) is_absent: bool,
    /// Why not all could be judged, where that is so.
    pub(super) why: Option<String>,
}

impl Check<'_> {
    fn outcome(&self) -> &'static str {
        match &self.found {
            found if found.faults_total > 0 => "faulty",
            found if found.blocks_unknown > 0 => "not-judged",
            found if found.blocks_checked + found.blocks_unwritten == 0 => "overwritten",
            _ => "sound",
        }
    }

    /// In a line.
    fn told(&self) -> String {
        let VerifyRecord { blocks_checked, blocks_unwritten, blocks_unknown, faults_total, faults, .. } = &self.found;
        let mut parts = vec![format!("{blocks_checked} blocks checked")];
        if *blocks_unwritten > 0 || *blocks_unknown == 0 {
            parts.push(format!("{blocks_unwritten} never written by the load"));
        }
        if *blocks_unknown > 0 {
            parts.push(format!("{blocks_unknown} not judged, which may have been written and lost"));
        }
        if self.blocks_overwritten > 0 {
            parts.push(format!(
                "{} not checked, where later trials that are checked may have written over them",
                self.blocks_overwritten
            ));
        }
        parts.push(format!("{faults_total} faulty"));
        match faults_total - faults.len() as u64 {
            0 => {}
            more => parts.push(format!("of which the first {} are listed and {more} are not", faults.len())),
        }
        parts.join(", ")
    }

    fn for_programs(&self) -> serde_json::Value {
        let VerifyRecord { blocks_checked, blocks_unwritten, blocks_unknown, faults_total, faults, .. } = &self.found;
        json!({
            "volume": self.volume,
            "load": self.load,
            "trial": self.trial + 1,
            "outcome": self.outcome(),
            "blocks_checked": blocks_checked,
            "blocks_unwritten": blocks_unwritten,
            "blocks_unknown": blocks_unknown,
            "blocks_overwritten": self.blocks_overwritten,
            "faults_total": faults_total,
            "faults_listed": faults.len(),
            "why": self.why,
        })
    }
}

/// Prints what was found, and says how it came out.
pub(super) fn report(checks: &[Check<'_>], format: Format) -> anyhow::Result<Outcome> {
    let mut overwritten: BTreeMap<(&str, &str), Vec<u32>> = BTreeMap::new();
    for check in checks {
        if check.outcome() == "overwritten" {
            overwritten.entry((check.volume, check.load)).or_default().push(check.trial + 1);
            continue;
        }
        let named = format!("{}: {}, trial {}", check.volume, check.load, check.trial + 1);
        output::tell(&format!("{named}: {}", check.told()));
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
            let mut rows = faults.to_json();
            rows.as_array_mut().expect("a table is an array").extend(checks.iter().map(Check::for_programs));
            output::print(&output::pretty(&rows))?;
        }
        Format::Table if faults.is_empty() => {}
        _ => output::print(&faults.render(format, output::colour_wanted()))?,
    }
    let sum = |of: fn(&VerifyRecord) -> u64| checks.iter().map(|check| of(&check.found)).sum::<u64>();
    Ok(match (sum(|found| found.faults_total), sum(|found| found.blocks_unknown)) {
        (0, 0) => Outcome::Done,
        (0, _) => Outcome::Inconclusive,
        _ => Outcome::Failed,
    })
}

fn faults(checks: &[Check<'_>]) -> Table {
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
                Field::text(check.volume),
                Field::text(check.load),
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
