//! An emulation's answers: its state, and what a change did, as tables and sentences.

use crate::linux::emulation_fields;
use crate::output;
use loadline_emulation::Change;
use loadline_emulator::{ChangeOutcome, ContentsState, ControlRequest, ExportView, Losses, View};
use loadline_report::{Column, Field, Table};
use loadline_units::Duration;
use serde_json::Value as Json;

/// The seed that decides the losses of a power cut.
pub(super) const fn seed_of(request: &ControlRequest) -> Option<u64> {
    if let ControlRequest::Change(Change::PowerCut { seed }) = request { Some(*seed) } else { None }
}

/// A change, as a table.
pub(super) fn change_table(changed: &ChangeOutcome, request: &ControlRequest) -> Table {
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

/// A change, in a line.
pub(super) fn change_line(changed: &ChangeOutcome, request: &ControlRequest) -> String {
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

/// The fate of the writes that were not durable.
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

/// The disks that wait for a copy, a line each.
fn waiting(changed: &ChangeOutcome) -> String {
    let line = |disk: &String| format!("{disk} missed writes and waits for a current copy\n");
    changed.waiting.iter().map(line).collect::<Vec<_>>().concat()
}

/// Clients, faults and the trace, which are not in the table of the volumes.
pub(super) fn tell_summary(view: &View) {
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

/// The volumes of an emulation, as a table. With `used_alone`, disks are left out that nobody used by themselves.
pub(super) fn status(view: &View, used_alone: bool) -> Table {
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
    let is_shown = |export: &&ExportView| {
        let whole = !export.export.contains('/') || export.state != ContentsState::Present;
        whole || export.requests_total > 0 || !export.faults.is_empty() || !used_alone
    };
    for export in view.exports.iter().filter(is_shown) {
        let absent = || Field::both("-", Json::Null);
        let time = |ns: Option<u64>| ns.map_or_else(absent, |ns| Field::both(Duration::from_ns(ns).human(), ns));
        let share = |share: Option<f64>| {
            share.map_or_else(absent, |share| Field::both(format!("{:.0} %", share * 100.0), share))
        };
        table.push(vec![
            Field::text(export.export.clone()),
            Field::text(export.state.name()),
            faults(&export.faults),
            Field::both(emulation_fields::rate(export.iops), export.iops),
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
            emulation_fields::bound_by(export.bound_by),
            emulation_fields::time_shares(&export.held),
        ]);
    }
    table
}

/// The faults that a volume's requests can meet, by their numbers.
fn faults(numbers: &[u32]) -> Field {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    Field::both(if words.is_empty() { "-".to_owned() } else { words.join(" ") }, serde_json::json!(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_change_did_is_told_in_the_right_number() {
        let cut = ControlRequest::Change(Change::PowerCut { seed: 3 });
        let line = |closed: usize, [writes, lost, kept, torn]: [u64; 4]| {
            let losses = Some(Losses { writes, lost, kept, torn });
            change_line(&ChangeOutcome { closed, losses, ..ChangeOutcome::default() }, &cut)
        };
        for (closed, losses, wanted) in [
            (0, [0; 4], "no connection dropped; every write was durable, so none is lost"),
            (1, [1, 1, 0, 0], "1 connection dropped; the one write that was not durable is lost"),
            (1, [1, 0, 1, 0], "1 connection dropped; the one write that was not durable is kept"),
            (1, [1, 0, 0, 1], "1 connection dropped; the one write that was not durable is torn"),
            (2, [3, 1, 2, 0], "2 connections dropped; of 3 writes that were not durable 1 is lost, 2 kept, 0 torn"),
            (2, [3, 0, 1, 2], "2 connections dropped; of 3 writes that were not durable 0 are lost, 1 kept, 2 torn"),
        ] {
            assert_eq!(line(closed, losses), format!("power cut with seed 3: {wanted}\n"));
        }
    }
}
