//! `fault`: faults of a running emulation, on purpose.

mod printed;
mod request;

use crate::arguments::Format;
use crate::arguments::fault::FaultArguments;
use crate::failure::Outcome;
use crate::output::{self, Column, Field, Table};
use anyhow::bail;
use loadline_emulation::{Change, ChangeError, FaultSelection};
use loadline_emulator::{ControlAnswer, ControlRequest, NumberedFault, ask_control};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Follows the name of an NBD socket to make that of its control socket.
const CONTROL: &str = ".control";

/// Where the control socket of an emulation on this NBD socket is unless it was told otherwise.
pub(crate) fn beside(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(CONTROL);
    path.into()
}

/// Does what is asked to a running emulation.
pub(crate) fn fault(arguments: &FaultArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let request = request::request(arguments)?;
    let mut answer = ask(&arguments.socket, &request)?;
    if let (Some(volume), ControlRequest::Status | ControlRequest::Faults) = (&arguments.volume, &request) {
        narrow(&mut answer, volume, &arguments.socket)?;
    }
    let json = arguments.printing.format == Format::Json;
    let tell = |text: &str| if quiet { Ok(()) } else { output::print(text) };
    match answer {
        ControlAnswer::Status(view) if json => output::print(&output::pretty(&view))?,
        ControlAnswer::Status(view) => {
            print(
                &printed::status(&view, arguments.volume.is_none() && arguments.printing.format == Format::Table),
                arguments,
            )?;
            if !quiet {
                printed::tell_summary(&view);
            }
        }
        ControlAnswer::Faults(faults) if json => output::print(&output::pretty(&faults))?,
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
                output::print(&output::pretty(&exact))?;
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

/// Leaves what an answer tells of a volume and its disks, or of one disk.
fn narrow(answer: &mut ControlAnswer, volume: &str, socket: &Path) -> anyhow::Result<()> {
    let own = |name: &str| name.strip_prefix(volume).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let there = match ask(socket, &ControlRequest::Status)? {
        ControlAnswer::Status(view) => view.exports,
        _ => Vec::new(),
    };
    let Some(named) = there.iter().find(|export| export.export == volume) else {
        let names: Vec<&str> = there.iter().map(|export| export.export.as_str()).collect();
        bail!("{}: there is no volume or disk {volume:?}; there are {}", socket.display(), names.join(", "));
    };
    // A disk that is asked for by itself meets what takes its volume away, too.
    let meets = |fault: &NumberedFault| own(&fault.fault.on) || named.faults.contains(&fault.number);
    match answer {
        ControlAnswer::Status(view) => {
            view.exports.retain(|export| own(&export.export));
            view.faults.retain(meets);
        }
        ControlAnswer::Faults(faults) => faults.retain(meets),
        _ => {}
    }
    Ok(())
}

fn print(table: &Table, arguments: &FaultArguments) -> anyhow::Result<()> {
    output::print(&table.render(arguments.printing.format, output::colour_wanted()))
}

/// Asks over the control socket; the socket of clients may be named in its place.
fn ask(socket: &Path, request: &ControlRequest) -> anyhow::Result<ControlAnswer> {
    let beside = beside(socket);
    let control = if beside.exists() { &beside } else { socket };
    ask_control(control, request).map_err(|error| {
        let place = socket.display();
        let is_socket = std::fs::metadata(control).is_ok_and(|found| found.file_type().is_socket());
        let what_to_do = match error.kind() {
            std::io::ErrorKind::ConnectionRefused if !is_socket => {
                "it is no socket; name the one that `loadline emulate` printed, or that was given as --control"
            }
            std::io::ErrorKind::ConnectionRefused => {
                "nobody listens there: its emulation was killed, and can be started again on the same socket"
            }
            std::io::ErrorKind::NotFound => {
                "there is no such socket; name the one that `loadline emulate` printed, or that was given as --control"
            }
            _ => "name the socket that `loadline emulate` printed, or that was given as --control",
        };
        anyhow::anyhow!(error).context(format!("cannot reach an emulation at {place}: {what_to_do}"))
    })
}
