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
use loadline_report::{About, VerdictLine};
use loadline_report::{Column, Field, Table};
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
    let table = printing::table(&table, Schema::Doctor, format);
    match format {
        Format::Table | Format::Markdown => {
            let verdict = printing::verdict(&verdict(&checks, &arguments.path), format);
            output::print(&format!("{table}\n{verdict}"))?;
        }
        Format::Json | Format::Csv => output::print(&table)?,
    }
    let any_trouble = checks.iter().any(|check| check.verdict == Suitability::Trouble);
    Ok(if any_trouble { Outcome::Against } else { Outcome::Done })
}

/// Troubles that the verdict has in full.
const TROUBLES_MAX: usize = 5;

/// Whether to measure here, what stands against it, and what to type next.
fn verdict(checks: &[MachineCheck], path: &Path) -> Vec<VerdictLine> {
    let of = |wanted: Suitability| checks.iter().filter(move |check| check.verdict == wanted);
    let path = in_shell(&path.display().to_string());
    let troubles = of(Suitability::Trouble).count();
    if troubles == 0 {
        let notes = match of(Suitability::Note).count() {
            0 => String::new(),
            1 => "; the note above qualifies figures".to_owned(),
            notes => format!("; the {notes} notes above qualify figures"),
        };
        return vec![
            About::Verdict.says(format!("nothing seen that would spoil a measurement here{notes}")),
            About::Next.says("measure"),
            About::Command.says(format!("loadline quick {path}")),
        ];
    }
    let things = if troubles == 1 { "1 thing".to_owned() } else { format!("{troubles} things") };
    let mut lines = vec![About::Verdict.says(format!("{things} would spoil a measurement here, or prevent it"))];
    let shown = of(Suitability::Trouble).take(TROUBLES_MAX);
    lines.extend(shown.map(|check| About::subject(check.what.clone()).says(&check.detail)));
    let more = troubles.saturating_sub(TROUBLES_MAX);
    if more > 0 {
        lines.push(About::More.says(format!("{more} more stand first in the table")));
    }
    lines.push(About::Next.says("mend that, and look again"));
    lines.push(About::Command.says(format!("loadline doctor {path}")));
    lines
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
    use loadline_report::VERDICT_LINES_MAX;

    #[test]
    fn the_verdict_names_every_trouble_for_which_it_has_room_and_ends_in_a_command() {
        let trouble = |what: &str| MachineCheck::new(what, Suitability::Trouble, format!("{what} is wrong"));
        let good = MachineCheck::new("a", Suitability::Good, "");
        let of = |checks: &[MachineCheck]| verdict(checks, Path::new("/mnt/my data"));
        let well = of(std::slice::from_ref(&good));
        assert!(well[0].text.starts_with("nothing seen"), "{well:?}");
        assert_eq!(well.last().unwrap().text, "loadline quick '/mnt/my data'");
        let one = of(&[good, trouble("b")]);
        assert_eq!(one[1], About::subject("b").says("b is wrong"));
        assert_eq!(one.last().unwrap().text, "loadline doctor '/mnt/my data'");
        let many: Vec<MachineCheck> = (0..20).map(|n| trouble(&n.to_string())).collect();
        let many = of(&many);
        assert_eq!(many.len(), VERDICT_LINES_MAX);
        assert!(many.iter().any(|line| line.about == About::More && line.text.starts_with("15 more")), "{many:?}");
    }
}
