//! `fault`: faults of a running emulation, on purpose.

mod printed;
mod request;

use crate::arguments::Format;
use crate::arguments::fault::FaultArguments;
use crate::failure::Outcome;
use crate::output;
use crate::printing;
use crate::schema::Schema;
use anyhow::bail;
use loadline_emulation::{Change, ChangeError, FaultSelection};
use loadline_emulator::{ControlAnswer, ControlRequest};
use loadline_report::{Column, Field, Table};
use loadline_runs::emulation::ask_emulation;

/// Does what is asked to a running emulation.
pub(crate) fn fault(arguments: &FaultArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let request = request::request(arguments)?;
    let answer = ask_emulation(&arguments.socket, &request, arguments.volume.as_deref())?;
    let json = arguments.printing.format == Format::Json;
    let tell = |text: &str| if quiet { Ok(()) } else { output::print(text) };
    match answer {
        ControlAnswer::Status(view) if json => output::print(&Schema::EmulationStatus.document(&view))?,
        ControlAnswer::Status(view) => {
            print(
                &printed::status(&view, arguments.volume.is_none() && arguments.printing.format == Format::Table),
                arguments,
            )?;
            if !quiet {
                printed::tell_summary(&view);
            }
        }
        ControlAnswer::Faults(faults) if json => output::print(&Schema::Faults.rows(&faults))?,
        ControlAnswer::Faults(faults) if faults.is_empty() && arguments.printing.format == Format::Table => {
            let on = arguments.volume.as_ref().map_or_else(String::new, |volume| format!(" on {volume}"));
            tell(&format!("no fault is in force{on}\n"))?;
        }
        ControlAnswer::Faults(faults) => {
            let mut table = Table::new(&[Column::numbers("fault", "number"), Column::words("", "text")]);
            for fault in faults {
                table.push(vec![Field::count(u64::from(fault.number)), Field::text(fault.text)]);
            }
            print(&table, arguments)?;
        }
        ControlAnswer::Changed(changed) => match arguments.printing.format {
            Format::Table => tell(&printed::change_line(&changed, &request))?,
            Format::Json => {
                let mut exact = serde_json::to_value(&changed)?;
                exact["seed"] = printed::seed_of(&request).into();
                output::print(&Schema::FaultChange.document(&exact))?;
            }
            Format::Csv | Format::Markdown => print(&printed::change_table(&changed, &request), arguments)?,
        },
        ControlAnswer::Error(error) => bail!("{}: {}", arguments.socket.display(), with_advice(&request, error)),
    }
    Ok(Outcome::Done)
}

/// An error, with the option that helps.
fn with_advice(request: &ControlRequest, error: String) -> String {
    match request {
        ControlRequest::Change(Change::Clear(FaultSelection::Number(number)))
            if error == ChangeError::NoFault(*number).to_string() =>
        {
            format!("{error}; `loadline fault SOCKET --list` tells which there are")
        }
        _ => error,
    }
}

fn print(table: &Table, arguments: &FaultArguments) -> anyhow::Result<()> {
    output::print(&printing::table(table, Schema::Faults, arguments.printing.format))
}
