//! Our traces in the formats of other tools.

use loadline_block::Operation;
use loadline_emulation::{Trace, TraceRecord};
use std::fmt::Write as _;

/// A format that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// fio's iolog, version 3.
    FioIolog,
    /// blktrace's binary records, all of them in one file.
    Blktrace,
    /// Comma-separated values under names.
    Csv,
}

/// A trace in another tool's format.
#[must_use]
pub fn write(trace: &Trace, format: Written) -> Vec<u8> {
    match format {
        Written::FioIolog => iolog(trace).into_bytes(),
        Written::Blktrace => blktrace(trace),
        Written::Csv => csv(trace).into_bytes(),
    }
}

fn iolog(trace: &Trace) -> String {
    let mut out = "fio version 3 iolog\n".to_owned();
    let path = |export: u16| {
        let name = &trace.exports[usize::from(export)];
        if name.starts_with('/') { name.clone() } else { format!("/dev/{name}") }
    };
    for export in 0..trace.exports.len() as u16 {
        let _ = writeln!(out, "0 {} add\n0 {} open", path(export), path(export));
    }
    for record in &trace.records {
        let (at, path) = (record.submitted_at.as_ns() / 1_000, path(record.export));
        let _ = match record.operation {
            Operation::Flush => writeln!(out, "{at} {path} datasync"),
            operation => writeln!(out, "{at} {path} {} {} {}", operation.name(), record.offset, record.length),
        };
    }
    let last = trace.records.last().map_or(0, |record| record.submitted_at.as_ns() / 1_000);
    for export in 0..trace.exports.len() as u16 {
        let _ = writeln!(out, "{last} {} close", path(export));
    }
    out
}

fn csv(trace: &Trace) -> String {
    let mut out = "time_ns,operation,offset,length,latency_ns,device,client\n".to_owned();
    for record in &trace.records {
        let took = record.completed_at.map(|at| at.since(record.submitted_at).as_ns().to_string()).unwrap_or_default();
        let device = &trace.exports[usize::from(record.export)];
        let _ = writeln!(
            out,
            "{},{},{},{},{took},{},{}",
            record.submitted_at.as_ns(),
            record.operation.name(),
            record.offset,
            record.length,
            device.replace([',', '\n', '"'], "_"),
            record.client
        );
    }
    out
}

/// Actions of blktrace: queued, issued, completed.
const QUEUED: u32 = 1;
const ISSUED: u32 = 7;
const COMPLETED: u32 = 8;

fn blktrace(trace: &Trace) -> Vec<u8> {
    let mut events: Vec<(u64, u32, &TraceRecord)> = Vec::new();
    for record in &trace.records {
        let at = record.submitted_at.as_ns();
        events.extend([(at, QUEUED, record), (at, ISSUED, record)]);
        events.extend(record.completed_at.map(|at| (at.as_ns(), COMPLETED, record)));
    }
    events.sort_by_key(|(at, action, record)| (*at, *action, record.sequence));
    let mut out = Vec::with_capacity(events.len() * 48);
    for (sequence, (at, action, record)) in (1_u32..).zip(events) {
        let category: u32 = match record.operation {
            Operation::Read => 1,
            Operation::Write => 1 << 1,
            Operation::Trim => 1 << 13 | 1 << 1,
            Operation::Flush => 1 << 2 | 1 << 1,
        } | if record.durable { 1 << 15 } else { 0 };
        // The category of the action beside that of the request.
        let of_action = match action {
            QUEUED => 1 << 4,
            ISSUED => 1 << 6,
            _ => 1 << 7,
        };
        let device = trace.exports[usize::from(record.export)].split_once(',').and_then(|(major, minor)| {
            Some(major.parse::<u32>().ok()?.checked_mul(1 << 20)? | minor.parse::<u32>().ok()?)
        });
        out.extend(0x6561_7407_u32.to_le_bytes());
        out.extend(sequence.to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend((record.offset / 512).to_le_bytes());
        out.extend(u32::try_from(record.length).unwrap_or(u32::MAX).to_le_bytes());
        out.extend((action | (category | of_action) << 16).to_le_bytes());
        out.extend(record.client.to_le_bytes());
        out.extend(device.unwrap_or(8 << 20 | u32::from(record.export) << 4).to_le_bytes());
        out.extend(0_u32.to_le_bytes());
        out.extend(0_u32.to_le_bytes());
    }
    out
}
