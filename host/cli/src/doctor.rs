//! `doctor`: what this machine can do, and what would spoil a measurement here.

use crate::arguments::Format;
use crate::arguments::doctor::DoctorArguments;
use crate::failure::Outcome;
use crate::output::{self, Column, Field, Table};
use crate::words;
use loadline_emulator::ublk_is_here;
use loadline_kernel::facts;
use loadline_kernel::ublk::UblkError;
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
    let table = table.render(format, output::colour_wanted());
    match format {
        Format::Table => output::print(&format!("{}\n\n{table}", conclusion(&checks)))?,
        Format::Json | Format::Csv | Format::Markdown => output::print(&table)?,
    }
    let any_trouble = checks.iter().any(|check| check.verdict == Suitability::Trouble);
    Ok(if any_trouble { Outcome::Against } else { Outcome::Done })
}

fn conclusion(checks: &[MachineCheck]) -> String {
    let troubles: Vec<&str> =
        checks.iter().filter(|check| check.verdict == Suitability::Trouble).map(|check| check.what.as_str()).collect();
    if troubles.is_empty() {
        "Nothing seen that would spoil a measurement here.".to_owned()
    } else {
        format!("Would spoil a measurement here, or keep it from being made: {}.", troubles.join(", "))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_conclusion_names_every_trouble() {
        let checks = [MachineCheck::new("a", Suitability::Good, ""), MachineCheck::new("b", Suitability::Trouble, "")];
        assert!(conclusion(&checks).ends_with("made: b."));
        assert!(conclusion(&checks[..1]).starts_with("Nothing"));
    }
}
