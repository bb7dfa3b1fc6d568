//! elbencho's `--csvfile`: a row a phase, columns by their heading, with the command in the last one as it was typed.

use crate::told::{Figures, LOADS_MAX, Shape, Source, Told, latency, results, time_in};
use crate::{ImportError, Results};
use loadline_block::Operation;
use std::collections::BTreeMap;

/// Columns of a heading.
const COLUMNS_MAX: usize = 500;
const BEGIN: &str = "ISO date,";

/// Whether a text is such a file.
pub(crate) fn is_one(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(BEGIN) && line.contains("IOPS [last]"))
}

/// Reads such a file, which may hold many runs.
pub(crate) fn read(source: Source<'_>) -> Result<Results, ImportError> {
    let mut headings: Vec<&str> = Vec::new();
    let mut version: Option<String> = None;
    let mut without: BTreeMap<String, usize> = BTreeMap::new();
    let mut loads = Vec::new();
    for (line, text) in source.lines().filter(|(_, text)| !text.trim().is_empty()) {
        if text.starts_with(BEGIN) {
            headings = text.split(',').map(str::trim).collect();
            if headings.len() > COLUMNS_MAX {
                return Err(source.error(line, format!("more than {COLUMNS_MAX} columns")));
            }
            continue;
        }
        if headings.is_empty() {
            return Err(source.error(line, "stands before the heading"));
        }
        // The command is not escaped, and the last.
        let fields: Vec<&str> = text.splitn(headings.len(), ',').collect();
        if fields.len() != headings.len() {
            let message = format!(
                "has {} fields, and the heading has {}: another version wrote it",
                fields.len(),
                headings.len()
            );
            return Err(source.error(line, message));
        }
        let get = |key: &str| {
            let at = headings.iter().position(|heading| *heading == key)?;
            Some(fields[at].trim()).filter(|text| !text.is_empty())
        };
        let number = |key: &str| get(key).map(|text| source.number(line, text)).transpose();
        version = get("version").map(str::to_owned).or(version);
        let operation = get("operation").unwrap_or_default();
        let Some(iops) = number("IOPS [last]")? else {
            *without.entry(operation.to_owned()).or_default() += 1;
            continue;
        };
        if loads.len() >= LOADS_MAX {
            return Err(source.error(line, format!("more than {LOADS_MAX} loads")));
        }
        let block = number("block size")?.unwrap_or(0.0);
        let seconds = number("time ms [last]")?.unwrap_or(0.0) / 1e3;
        let mix = number("rwmix read IOPS [last]")?;
        let mixed = operation.strip_prefix("RWMIX").map(|share| source.number(line, share)).transpose()?;
        let reads = match (operation, mixed) {
            ("READ", _) => 1.0,
            ("WRITE", _) => 0.0,
            (_, Some(share)) if share <= 100.0 => share / 100.0,
            _ => return Err(source.error(line, format!("{operation} is no phase that is known"))),
        };
        let shape = Shape {
            is_random: get("random") == Some("1"),
            reads,
            block: block as u64,
            depth: number("IO depth")?.unwrap_or(1.0).max(1.0) as u64,
            threads: (number("threads")?.unwrap_or(1.0) * number("hosts")?.unwrap_or(1.0)) as u64,
            is_buffered: get("direct IO") != Some("1"),
        };
        let us = |prefix: &str| -> Result<_, ImportError> {
            let of = |which: &str| number(&format!("{prefix}IO lat us [{which}]"));
            let (Some(mean), Some(max)) = (of("avg")?, of("max")?) else { return Ok(None) };
            Ok(latency(mean * 1e3, of("min")?.map(|us| us * 1e3), max * 1e3))
        };
        let mut told = Told::new(operation, "told", &shape);
        told.target = target(fields[fields.len() - 1]);
        told.seconds = seconds;
        let main = Figures { latency: us("")?, ..Figures::of_rate(iops, block, seconds) };
        let own = if operation == "READ" { Operation::Read } else { Operation::Write };
        told.operations.push((own, main));
        if let Some(iops) = mix.filter(|_| mixed.is_some()) {
            told.operations.push((
                Operation::Read,
                Figures { latency: us("rwmix read ")?, ..Figures::of_rate(iops, block, seconds) },
            ));
        }
        told.began_ms = get("ISO date").and_then(time_in).map(|s| s * 1_000);
        told.unknown.push(
            "Its rate is over the time until the last thread was done (\"last\"); MiB/s are printed as whole numbers, so bytes are \
             IOPS times the size of a request"
                .to_owned(),
        );
        loads.push(told);
    }
    let notes = without
        .into_iter()
        .map(|(phase, count)| format!("{count} phases {phase} have no requests of their own"))
        .collect();
    results(source, "elbencho", version.as_deref(), loads, notes)
}

/// What the command names last: what was measured.
fn target(command: &str) -> Option<String> {
    let mut words = command.split_whitespace().map(|word| word.trim_matches('"'));
    words.rfind(|word| word.starts_with('/') || word.starts_with("./")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source<'_> {
        Source { text, name: "a.csv", written_unix_s: 0 }
    }

    #[test]
    fn phases_have_their_printed_figures() {
        let results = read(source(include_str!("../tests/corpus/elbencho.csv"))).unwrap();
        assert_eq!((results.version.as_deref(), results.jobs.len()), (Some("3.0-9"), 2));
        assert!(results.notes[0].contains("1 phases SYNC"), "{:?}", results.notes);
        let [reads, mix] = results.jobs.as_slice() else { panic!() };
        let read = reads.trial.of(Operation::Read).unwrap();
        let figures = read.figures().unwrap();
        assert_eq!((reads.trial.iops().unwrap().round(), reads.trial.measured_ns), (100_000.0, 30_004_000_000));
        assert_eq!((figures.min, figures.mean, figures.max), (Some(60_000), 640_000.0, 21_000_000));
        assert_eq!((reads.target.as_deref(), reads.spec.outstanding()), (Some("/dev/vdb"), Some(64)));
        assert_eq!((reads.trial.bytes_per_s().unwrap() / 1_048_576.0) as u64, 390);
        let of = |operation| mix.trial.of(operation).unwrap();
        let rate = |operation| (of(operation).count as f64 / 30.003).round();
        assert_eq!((rate(Operation::Write), rate(Operation::Read)), (30_010.0, 70_000.0));
        assert_eq!(
            (of(Operation::Read).figures().unwrap().max, of(Operation::Write).figures().unwrap().max),
            (9_000_000, 25_000_000)
        );
        assert_eq!(mix.trial.started_unix_s, 1_714_979_289);
    }

    #[test]
    fn columns_go_by_their_heading() {
        let heading = "ISO date,operation,block size,threads,IO depth,time ms [last],IOPS [last],version,command\n";
        let text = format!("{heading}2024-05-06T07:08:09+0000,WRITE,4096,2,1,1000,500,3.1,\"a\" \"b,c\" \"/mnt/x\"\n");
        let results = read(source(&text)).unwrap();
        assert_eq!((results.jobs[0].trial.iops(), results.jobs[0].target.as_deref()), (Some(500.0), Some("/mnt/x")));
        let short = format!("{heading}2024-05-06T07:08:09+0000,WRITE,4096\n");
        assert!(read(source(&short)).unwrap_err().to_string().contains("another version"));
    }
}
