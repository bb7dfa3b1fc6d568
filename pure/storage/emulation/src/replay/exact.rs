//! The exact repetition of a trace: every request comes when it came.

use crate::machine::{ChangeError, FaultyMachine, RequestEnd};
use crate::trace::{Trace, TraceRecord};
use loadline_block::Request;
use loadline_disk::{Machine, Target};
use loadline_units::Instant;

/// Submits the requests of `records` to a machine at the times at which they were submitted. Returns when each is answered, in
/// their order. `targets` are the targets of the exports that records count.
#[must_use]
pub fn repeat_requests(machine: &mut Machine, targets: &[Target], records: &[TraceRecord]) -> Vec<Instant> {
    let mut completed = vec![Instant::MAX; records.len()];
    let mut under_way: Vec<usize> = Vec::new();
    let mut take = |machine: &mut Machine, under_way: &[usize], until: Instant| {
        while let Some((id, completion)) = machine.pop_completed(until) {
            completed[under_way[id.index()]] = completion.completed_at;
        }
    };
    for (number, record) in records.iter().enumerate() {
        let now = record.submitted_at;
        take(machine, &under_way, now);
        let TraceRecord { operation, durable, offset, .. } = *record;
        let length = record.length as u32;
        let request = Request { operation, durable, length, offset, due_at: now };
        let id = machine.submit(now, targets[usize::from(record.export)], request).index();
        if under_way.len() <= id {
            under_way.resize(id + 1, 0);
        }
        under_way[id] = number;
    }
    while let Some(next) = machine.next_event_at() {
        take(machine, &under_way, next);
    }
    completed
}

/// Submits a trace's requests, and makes its changes, on a fresh machine of the same environment and seed. Returns how each request
/// ended, in their order; `None`: a fault delayed it to the end.
///
/// # Errors
/// A change that the machine refuses: the trace is of another environment.
pub fn repeat_trace(machine: &mut FaultyMachine, trace: &Trace) -> Result<Vec<Option<RequestEnd>>, ChangeError> {
    let mut ended: Vec<Option<RequestEnd>> = vec![None; trace.records.len()];
    let mut under_way: Vec<usize> = Vec::new();
    let mut take = |machine: &mut FaultyMachine, under_way: &[usize], until: Instant| {
        while let Some((id, end)) = machine.pop_ended(until) {
            ended[under_way[id]] = Some(end);
        }
    };
    let mut changes = trace.changes.iter().peekable();
    for (number, record) in trace.records.iter().enumerate() {
        while let Some(done) = changes.next_if(|done| done.sequence < record.sequence) {
            take(machine, &under_way, done.at);
            machine.change(done.at, &done.change)?;
        }
        let now = record.submitted_at;
        take(machine, &under_way, now);
        let TraceRecord { operation, durable, offset, .. } = *record;
        let length = record.length as u32;
        let id = machine.submit(
            now,
            usize::from(record.export),
            Request { operation, durable, length, offset, due_at: now },
        );
        if under_way.len() <= id {
            under_way.resize(id + 1, 0);
        }
        under_way[id] = number;
    }
    for done in changes {
        take(machine, &under_way, done.at);
        machine.change(done.at, &done.change)?;
    }
    while let Some(next) = machine.next_event_at() {
        take(machine, &under_way, next);
    }
    Ok(ended)
}
