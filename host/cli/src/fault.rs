//! `fault`: what goes wrong in a running emulation, on purpose.

use crate::arguments::{Format, Printing};
use crate::catalog::{self, Own};
use crate::environments;
use crate::failure::{Outcome, Usage};
use crate::output::{self, Column, Field, Table};
use anyhow::bail;
use clap::{ArgGroup, Args, ValueEnum};
use loadline_block::{ErrorKind, Operation};
use loadline_catalog::Draw;
use loadline_emulation::{Change, ChangeError, Fault, FaultKind, FaultSelection, TimeCause, TimeShare};
use loadline_emulator::{
    ChangeOutcome, ContentsState, ControlAnswer, ControlRequest, ExportView, Losses, NumberedFault, View, ask_control,
};
use loadline_runs::wall_clock;
use loadline_units::{Bytes, Duration, Ratio};
use serde_json::Value as Json;
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

/// `fault`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line, and the group lets one of them through"
)]
#[command(group = ArgGroup::new("what").required(true).multiple(false).args([
    "list", "status", "error", "delay", "stall", "hang", "lose", "detach", "clear", "clear_all", "drop_caches", "spend_credits",
    "environment", "redeploy", "power_cut",
]))]
pub(crate) struct FaultArguments {
    /// The emulation: its NBD socket, or its control socket
    #[arg(value_name = "SOCKET")]
    socket: PathBuf,
    /// The volume (data) or disk (data/0); what concerns the whole machine goes without
    #[arg(value_name = "VOLUME")]
    volume: Option<String>,
    /// List the faults in force, with their numbers: all, or those on VOLUME and its disks
    #[arg(long)]
    list: bool,
    /// Show what the emulation is doing: all of it, or VOLUME and its disks
    #[arg(long)]
    status: bool,
    /// Let requests fail: io (EIO) or no-space (ENOSPC)
    #[arg(long, value_enum, value_name = "ERROR", ignore_case = true, hide_possible_values = true)]
    error: Option<ErrorName>,
    /// Let requests that come from now on take this much longer
    #[arg(long, value_name = "TIME")]
    delay: Option<Duration>,
    /// Answer nothing that is asked from now on for this long, then all at once
    #[arg(long, value_name = "TIME")]
    stall: Option<Duration>,
    /// With --stall: again and again, from the beginning of one to that of the next
    #[arg(long, value_name = "TIME", requires = "stall")]
    every: Option<Duration>,
    /// Answer nothing that is asked from now on until the fault is cleared
    #[arg(long)]
    hang: bool,
    /// Lose a disk with all it holds; cleared, an empty one takes its place, filled from a copy if there is one
    #[arg(long)]
    lose: bool,
    /// Detach; cleared, it is back with what it held, brought up to date from a copy if there is one
    #[arg(long)]
    detach: bool,
    /// End the faults on VOLUME and its disks, or the one of this number
    #[arg(long, value_name = "NUMBER", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "not given, given without a number, given with one")]
    clear: Option<Option<u32>>,
    /// End all faults
    #[arg(long)]
    clear_all: bool,
    /// Let host caches forget what is on disk: of VOLUME, or all
    #[arg(long)]
    drop_caches: bool,
    /// Spend the burst credits: of VOLUME's disks and the machine, or all
    #[arg(long)]
    spend_credits: bool,
    /// Go on with the disks and the VM of this environment, which has the same volumes
    #[arg(long, value_name = "ENV")]
    environment: Option<String>,
    /// Move the machine to another host: connections drop, caches and the disks of the host are empty
    #[arg(long)]
    redeploy: bool,
    /// Cut the power: connections drop; what was not flushed is lost, kept or torn
    #[arg(long)]
    power_cut: bool,
    /// Only these operations, separated by commas: read, write, flush, trim
    #[arg(long, value_name = "OPERATIONS", value_enum, value_delimiter = ',', hide_possible_values = true)]
    on: Vec<OperationName>,
    /// Only requests that touch what lies from this offset on
    #[arg(long, value_name = "SIZE")]
    from: Option<Bytes>,
    /// Only requests that touch what lies before this offset
    #[arg(long, value_name = "SIZE")]
    until: Option<Bytes>,
    /// Only this share of requests, such as "1 %"
    #[arg(long, value_name = "SHARE")]
    share: Option<Ratio>,
    /// With --power-cut: decides what becomes of each write; by default drawn anew and printed
    #[arg(long, value_name = "NUMBER", requires = "power_cut")]
    seed: Option<u64>,
    #[command(flatten)]
    own: Own,
    #[command(flatten)]
    printing: Printing,
}

/// Errors by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorName {
    /// EIO
    #[value(alias = "eio")]
    Io,
    /// ENOSPC
    #[value(alias = "enospc")]
    NoSpace,
}

/// Operations by the names that people type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OperationName {
    /// Reads
    Read,
    /// Writes
    Write,
    /// Flushes
    Flush,
    /// Trims
    Trim,
}

impl From<OperationName> for Operation {
    fn from(name: OperationName) -> Self {
        match name {
            OperationName::Read => Self::Read,
            OperationName::Write => Self::Write,
            OperationName::Flush => Self::Flush,
            OperationName::Trim => Self::Trim,
        }
    }
}

/// Does what is asked to a running emulation.
pub(crate) fn fault(arguments: &FaultArguments, quiet: bool) -> anyhow::Result<Outcome> {
    let request = request(arguments)?;
    let mut answer = ask(&arguments.socket, &request)?;
    if let (Some(volume), ControlRequest::Status | ControlRequest::Faults) = (&arguments.volume, &request) {
        narrow(&mut answer, volume, &arguments.socket)?;
    }
    let json = arguments.printing.format == Format::Json;
    let tell = |text: &str| if quiet { Ok(()) } else { output::print(text) };
    match answer {
        ControlAnswer::Status(view) if json => output::print(&output::pretty(&view))?,
        ControlAnswer::Status(view) => {
            print(&status(&view, arguments.volume.is_none() && arguments.printing.format == Format::Table), arguments)?;
            if !quiet {
                tell_beside(&view);
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
            Format::Table => tell(&told(&changed, &request))?,
            Format::Json => {
                let mut exact = serde_json::to_value(&changed)?;
                exact["seed"] = seed_of(&request).into();
                output::print(&output::pretty(&exact))?;
            }
            Format::Csv | Format::Markdown => print(&done(&changed, &request), arguments)?,
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

/// What the command line asks for.
fn request(arguments: &FaultArguments) -> anyhow::Result<ControlRequest> {
    let narrowed =
        !arguments.on.is_empty() || arguments.from.is_some() || arguments.until.is_some() || arguments.share.is_some();
    if narrowed && kind(arguments).is_none_or(|kind| matches!(kind, FaultKind::Lost | FaultKind::Detached)) {
        return Err(
            Usage("--on, --from, --until and --share narrow --error, --delay, --stall and --hang".into()).into()
        );
    }
    // The group of what is done lets `requires` pass.
    if arguments.every.is_some() && arguments.stall.is_none() {
        return Err(
            Usage("--every says how often a --stall comes; other faults last until they are cleared".into()).into()
        );
    }
    if arguments.seed.is_some() && !arguments.power_cut {
        return Err(Usage("--seed decides what a --power-cut takes; nothing else here is left to chance".into()).into());
    }
    let volume = arguments.volume.clone();
    let whole = |change: Change| match &volume {
        None => Ok(ControlRequest::Change(change)),
        Some(volume) => Err(Usage(format!("this concerns the whole machine: leave {volume} out"))),
    };
    Ok(if arguments.list {
        ControlRequest::Faults
    } else if arguments.status {
        ControlRequest::Status
    } else if let Some(kind) = kind(arguments) {
        let on = volume.ok_or_else(|| Usage("name the volume (data) or disk (data/0) after the socket".into()))?;
        ControlRequest::Change(Change::Begin(Fault {
            on,
            kind,
            operations: arguments.on.iter().map(|name| Operation::from(*name)).collect(),
            from: arguments.from.unwrap_or_default(),
            until: arguments.until,
            share: arguments.share.unwrap_or(Ratio::ONE),
        }))
    } else if let Some(number) = arguments.clear {
        let which = match (number, volume) {
            (Some(number), None) => FaultSelection::Number(number),
            (None, Some(volume)) => FaultSelection::On(volume),
            _ => return Err(Usage("--clear NUMBER, or VOLUME --clear; --clear-all for all".into()).into()),
        };
        ControlRequest::Change(Change::Clear(which))
    } else if arguments.clear_all {
        whole(Change::Clear(FaultSelection::All))?
    } else if arguments.drop_caches {
        ControlRequest::Change(Change::DropCaches(volume))
    } else if arguments.spend_credits {
        ControlRequest::Change(Change::SpendCredits(volume))
    } else if let Some(typed) = &arguments.environment {
        let environment = environments::read(typed, &catalog::with_folder(arguments.own.catalog.as_deref())?)?;
        whole(Change::Environment(Box::new(environment.spec(&Draw::MIDDLE))))?
    } else if arguments.redeploy {
        whole(Change::Redeploy)?
    } else {
        whole(Change::PowerCut { seed: arguments.seed.unwrap_or_else(wall_clock::fresh_seed) })?
    })
}

fn kind(arguments: &FaultArguments) -> Option<FaultKind> {
    let FaultArguments { error, delay, stall, every, hang, lose, detach, .. } = arguments;
    if let Some(error) = error {
        let error = if *error == ErrorName::Io { ErrorKind::Io } else { ErrorKind::NoSpace };
        return Some(FaultKind::Error(error));
    }
    match (delay, stall) {
        (Some(delay), _) => Some(FaultKind::Delay(*delay)),
        (None, Some(lasting)) => Some(FaultKind::Stall { lasting: *lasting, every: *every }),
        (None, None) if *hang => Some(FaultKind::Hang),
        (None, None) if *lose => Some(FaultKind::Lost),
        (None, None) => detach.then_some(FaultKind::Detached),
    }
}

/// What decided the losses of a power cut.
const fn seed_of(request: &ControlRequest) -> Option<u64> {
    if let ControlRequest::Change(Change::PowerCut { seed }) = request { Some(*seed) } else { None }
}

/// What was done, as a table.
fn done(changed: &ChangeOutcome, request: &ControlRequest) -> Table {
    let mut table = Table::new(&[
        Column::numbers("fault", "fault"),
        Column::words("cleared", "cleared"),
        Column::numbers("closed", "closed"),
        Column::words("waiting", "waiting"),
        Column::numbers("seed", "seed"),
        Column::numbers("writes", "writes"),
        Column::numbers("lost", "lost"),
        Column::numbers("kept", "kept"),
        Column::numbers("torn", "torn"),
        Column::words("emptied", "emptied"),
        Column::words("gone", "gone"),
    ]);
    let number = |number: Option<u64>| number.map_or_else(|| Field::both("-", Json::Null), Field::count);
    let losses = changed.losses;
    let cleared: Vec<String> = changed.cleared.iter().map(u32::to_string).collect();
    table.push(vec![
        number(changed.fault.map(u64::from)),
        Field::text(cleared.join(" ")),
        Field::count(changed.closed as u64),
        Field::text(changed.waiting.join(" ")),
        number(seed_of(request)),
        number(losses.map(|losses| losses.writes)),
        number(losses.map(|losses| losses.lost)),
        number(losses.map(|losses| losses.kept)),
        number(losses.map(|losses| losses.torn)),
        Field::text(changed.emptied.join(" ")),
        Field::text(changed.gone.join(" ")),
    ]);
    table
}

/// What was done, in a line.
fn told(changed: &ChangeOutcome, request: &ControlRequest) -> String {
    let clients = |count: usize| match count {
        0 => "no connection".to_owned(),
        1 => "1 connection".to_owned(),
        several => format!("{several} connections"),
    };
    match request {
        ControlRequest::Change(Change::PowerCut { seed }) => {
            let losses = losses(&changed.losses.unwrap_or_default());
            format!("power cut with seed {seed}: {} dropped; {losses}\n", clients(changed.closed))
        }
        ControlRequest::Change(Change::Redeploy) => {
            let emptied = match changed.emptied.as_slice() {
                [] => "no disk belongs to the host, so none is empty".to_owned(),
                disks => format!("what belongs to the host came back empty: {}", disks.join(", ")),
            };
            format!("redeployed: {} dropped; caches are cold; {emptied}\n{}", clients(changed.closed), waiting(changed))
        }
        ControlRequest::Change(Change::Clear(_)) => {
            let cleared = match changed.cleared.as_slice() {
                [] => "no fault was in force there\n".to_owned(),
                [one] => format!("fault {one} cleared\n"),
                several => format!("{} faults cleared\n", several.len()),
            };
            cleared + &waiting(changed)
        }
        ControlRequest::Change(Change::Begin(fault)) => {
            let number = changed.fault.unwrap_or_default();
            let gone = match changed.gone.as_slice() {
                [] => String::new(),
                disks => format!(
                    "what was on {} is gone for good: no other disk has a copy; the fault's end brings {} back empty\n",
                    disks.join(", "),
                    if disks.len() == 1 { "it" } else { "them" }
                ),
            };
            format!("fault {number} began ({fault}); --clear {number} ends it\n{gone}")
        }
        ControlRequest::Change(Change::DropCaches(on)) => match on {
            Some(on) => format!("host caches before {on} have forgotten what is on disk\n"),
            None => "all host caches have forgotten what is on disk\n".to_owned(),
        },
        ControlRequest::Change(Change::SpendCredits(on)) => match on {
            Some(on) => format!("burst credits of {on} and of the machine are spent\n"),
            None => "all burst credits are spent\n".to_owned(),
        },
        ControlRequest::Change(Change::Environment(environment)) => {
            let name = &environment.name;
            format!(
                "disks and machine are those of {name} from now on, and no disk is smaller than before; caches are cold and credits full\n"
            )
        }
        ControlRequest::Status | ControlRequest::Faults => "done\n".to_owned(),
    }
}

/// What became of the writes that were not durable.
fn losses(losses: &Losses) -> String {
    let Losses { writes, lost, kept, torn } = *losses;
    match (writes, lost, torn) {
        (0, ..) => "every write was durable, so none is lost".to_owned(),
        (1, 1, _) => "the one write that was not durable is lost".to_owned(),
        (1, _, 1) => "the one write that was not durable is torn".to_owned(),
        (1, ..) => "the one write that was not durable is kept".to_owned(),
        _ => {
            let are = if lost == 1 { "is" } else { "are" };
            format!("of {writes} writes that were not durable {lost} {are} lost, {kept} kept, {torn} torn")
        }
    }
}

/// Which disks wait for a copy, a line each.
fn waiting(changed: &ChangeOutcome) -> String {
    let line = |disk: &String| format!("{disk} missed writes and waits for a current copy\n");
    changed.waiting.iter().map(line).collect::<Vec<_>>().concat()
}

/// What there is to be said beside the table of the volumes.
fn tell_beside(view: &View) {
    let clients = |count: u64| if count == 1 { "1 client".to_owned() } else { format!("{count} clients") };
    let refused = match view.refused_total {
        0 => String::new(),
        count => format!("; {} refused or dropped since the beginning", clients(count)),
    };
    let attached = if view.attached { "; its volumes are attached to this machine, too" } else { "" };
    output::tell(&format!("{} over NBD{attached}{refused}.", clients(view.clients as u64)));
    for fault in &view.faults {
        output::tell(&format!("fault {}: {}", fault.number, fault.text));
    }
    if let Some(trouble) = &view.trace_trouble {
        output::tell(&format!("Requests are not recorded any more: {trouble}."));
    }
}

/// What an emulation is doing, as a table; of disks, on request only those that somebody asked by themselves, or with something to tell.
fn status(view: &View, used_alone: bool) -> Table {
    let mut table = Table::new(&[
        Column::words("volume", "export"),
        Column::words("state", "state"),
        Column::words("faults", "faults"),
        Column::numbers("IOPS", "iops"),
        Column::numbers("throughput", "bytes_per_s"),
        Column::numbers("p50", "p50_ns"),
        Column::numbers("p99", "p99_ns"),
        Column::numbers("queue", "queue"),
        Column::numbers("throttled", "throttled"),
        Column::numbers("credits", "credits"),
        Column::numbers("cache hits", "cache_hits"),
        Column::numbers("late p99", "lateness_p99_ns"),
        Column::numbers("requests", "requests_total"),
        Column::numbers("bytes", "bytes_total"),
        Column::numbers("errors", "errors_total"),
        Column::words("bound by", "bound_by"),
        Column::words("its time", "held"),
    ]);
    let told = |export: &&ExportView| {
        let whole = !export.export.contains('/') || export.state != ContentsState::Present;
        whole || export.requests_total > 0 || !export.faults.is_empty() || !used_alone
    };
    for export in view.exports.iter().filter(told) {
        let absent = || Field::both("-", Json::Null);
        let time = |ns: Option<u64>| ns.map_or_else(absent, |ns| Field::both(Duration::from_ns(ns).human(), ns));
        let share = |share: Option<f64>| {
            share.map_or_else(absent, |share| Field::both(format!("{:.0} %", share * 100.0), share))
        };
        table.push(vec![
            Field::text(export.export.clone()),
            Field::text(export.state.name()),
            faults(&export.faults),
            Field::both(rate(export.iops), export.iops),
            Field::both(format!("{:.1} MB/s", export.bytes_per_s / 1e6), export.bytes_per_s),
            time(export.p50_ns),
            time(export.p99_ns),
            Field::both(format!("{:.1}", export.queue), export.queue),
            share(export.throttled),
            share(export.credits),
            share(export.cache_hits),
            time(export.lateness_p99_ns),
            Field::count(export.requests_total),
            Field::count(export.bytes_total),
            Field::count(export.errors_total),
            bound_by(export.bound_by),
            held(&export.held),
        ]);
    }
    table
}

/// Requests a second, without their unit: of a few the tenths, too.
pub(crate) fn rate(iops: f64) -> String {
    if iops > 0.0 && iops < 10.0 { format!("{iops:.1}") } else { format!("{iops:.0}") }
}

/// The faults that a volume's requests can meet, by their numbers.
fn faults(numbers: &[u32]) -> Field {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    Field::both(if words.is_empty() { "-".to_owned() } else { words.join(" ") }, serde_json::json!(numbers))
}

/// What bound a volume.
pub(crate) fn bound_by(bound: Option<TimeCause>) -> Field {
    bound.map_or_else(|| Field::both("-", Json::Null), |bound| Field::text(bound.name()))
}

/// Where its time went.
pub(crate) fn held(shares: &[TimeShare]) -> Field {
    let exact: Vec<Json> =
        shares.iter().map(|held| serde_json::json!({ "by": held.by.name(), "share": held.share })).collect();
    Field::both(TimeShare::words(shares), exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_requests_a_second_are_not_none() {
        assert_eq!([0.0, 0.4, 3.26, 10.0, 152.6].map(rate), ["0", "0.4", "3.3", "10", "153"]);
    }

    #[test]
    fn what_a_change_did_is_told_in_the_right_number() {
        let cut = ControlRequest::Change(Change::PowerCut { seed: 3 });
        let told = |closed: usize, [writes, lost, kept, torn]: [u64; 4]| {
            let losses = Some(Losses { writes, lost, kept, torn });
            told(&ChangeOutcome { closed, losses, ..ChangeOutcome::default() }, &cut)
        };
        for (closed, losses, wanted) in [
            (0, [0; 4], "no connection dropped; every write was durable, so none is lost"),
            (1, [1, 1, 0, 0], "1 connection dropped; the one write that was not durable is lost"),
            (1, [1, 0, 1, 0], "1 connection dropped; the one write that was not durable is kept"),
            (1, [1, 0, 0, 1], "1 connection dropped; the one write that was not durable is torn"),
            (2, [3, 1, 2, 0], "2 connections dropped; of 3 writes that were not durable 1 is lost, 2 kept, 0 torn"),
            (2, [3, 0, 1, 2], "2 connections dropped; of 3 writes that were not durable 0 are lost, 1 kept, 2 torn"),
        ] {
            assert_eq!(told(closed, losses), format!("power cut with seed 3: {wanted}\n"));
        }
    }
}
