//! `doctor`: what this machine can do, and what would spoil a measurement here.

use crate::arguments::Format;
use crate::arguments::doctor::DoctorArguments;
use crate::failure::Outcome;
use crate::output;
use crate::schema::Schema;
use crate::shell::in_shell;
use crate::{printing, words};
use loadline_emulator::ublk_is_here;
use loadline_kernel::facts;
use loadline_kernel::ublk::UblkError;
use loadline_report::words::checkup::{Checkup, Trouble, checkup_lines};
use loadline_report::{Column, Field, Table, VerdictLine, Weight};
use loadline_runs::checkup::{MachineCheck, Suitability, check_engines, check_machine, check_target};
use loadline_runs::recognition::{Cloud, cloud};
use std::path::Path;

/// Looks, and prints what was seen. What would spoil a measurement comes out against the machine.
pub(crate) fn doctor(arguments: &DoctorArguments) -> anyhow::Result<Outcome> {
    let mut checks = check_machine(&facts::host());
    checks.push(MachineCheck::good_or("cloud", cloud_line(), Suitability::Note));
    checks.extend(check_engines());
    checks.push(attaching(ublk_is_here()));
    checks.extend(target(&arguments.path));
    // What matters comes first; within that, from the machine down to the target.
    checks.sort_by_key(|check| check.verdict);
    let mut table =
        Table::new(&[Column::words("", "verdict"), Column::words("what", "what"), Column::words("seen", "detail")]);
    for check in &checks {
        table.push(vec![Field::text(check.verdict.name()), Field::text(&check.what), Field::text(&check.detail)]);
    }
    let format = arguments.printing.format;
    let weigh = |row: usize| match checks[row].verdict {
        Suitability::Trouble => Weight::Carries,
        Suitability::Note => Weight::Qualifies,
        Suitability::Good => Weight::Beside,
    };
    output::print(&match format {
        Format::Table | Format::Markdown => {
            printing::concluded(&table, weigh, &verdict(&checks, &arguments.path), format)
        }
        Format::Json | Format::Csv => printing::table(&table, Schema::Doctor, format),
    })?;
    let any_trouble = checks.iter().any(|check| check.verdict == Suitability::Trouble);
    Ok(if any_trouble { Outcome::Against } else { Outcome::Done })
}

/// Whether to measure here, what stands against it, and what to type next.
fn verdict(checks: &[MachineCheck], path: &Path) -> Vec<VerdictLine> {
    let of = |wanted: Suitability| checks.iter().filter(move |check| check.verdict == wanted);
    let path = in_shell(&path.display().to_string());
    checkup_lines(&Checkup {
        troubles: of(Suitability::Trouble).map(|check| Trouble { what: &check.what, seen: &check.detail }).collect(),
        notes: of(Suitability::Note).count(),
        measure: &format!("loadline quick {path}"),
        again: &format!("loadline doctor {path}"),
    })
}

fn cloud_line() -> Result<String, String> {
    match cloud() {
        None => Ok("none of Azure, AWS and Google Cloud, by its firmware".to_owned()),
        Some(Cloud { name, machine: Ok(machine) }) => {
            Ok(format!("{name} {machine}: `loadline environments recognise` makes an environment of it"))
        }
        Some(Cloud { name, machine: Err(error) }) => {
            Err(format!("{name}, by its firmware; {}", words::in_a_line(&error)))
        }
    }
}

fn target(path: &Path) -> Vec<MachineCheck> {
    check_target(path).unwrap_or_else(|error| {
        vec![MachineCheck::new(path.display().to_string(), Suitability::Trouble, words::of(&error))]
    })
}

/// How `emulate --attach` would make block devices. It spoils no measurement.
fn attaching(ublk: Result<(), UblkError>) -> MachineCheck {
    let detail = match ublk {
        Ok(()) => "by ublk".to_owned(),
        Err(error) => format!("by FUSE and loop devices: {error}"),
    };
    MachineCheck::new("emulate --attach", Suitability::Good, detail)
}
