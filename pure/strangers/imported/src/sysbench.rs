//! sysbench fileio, versions 0.4 to 1.1: headings differ, figures are the same.

use crate::told::{Figures, Shape, Source, Told, latency, leading, results, unit_bytes};
use crate::{ImportError, Results};
use loadline_block::Operation;
use loadline_workload::{FlushCadence, FlushMethod};
use std::collections::BTreeMap;

/// How long it runs where the text does not tell it.
const SECONDS_DEFAULT: f64 = 10.0;
/// Requests in flight of the asynchronous mode, unless it was told otherwise (`file-async-backlog`).
const ASYNC_DEPTH: u64 = 128;

/// Whether a text is of sysbench's file test.
pub(crate) fn is_one(text: &str) -> bool {
    let has = |begin: &str| text.lines().any(|line| line.trim_start().starts_with(begin));
    has("sysbench ") && has("Doing ") && has("Block size ")
}

/// Reads such a text; of several, the last.
pub(crate) fn read(source: Source<'_>) -> Result<Results, ImportError> {
    let version = source.lines().find_map(|(_, line)| line.trim_start().strip_prefix("sysbench "));
    let version = version.and_then(|rest| rest.split([' ', ':']).next()).map(|version| version.trim_end_matches(':'));
    let mut figures: BTreeMap<&str, f64> = BTreeMap::new();
    let (mut kind, mut flags, mut block, mut section) = (None, None, None, "");
    for (line, text) in source.lines() {
        let trimmed = text.trim();
        let mut put = |key, text: &str| -> Result<(), ImportError> {
            let (number, _) = leading(text).ok_or_else(|| source.error(line, "has no figure"))?;
            figures.insert(key, source.number(line, number)?);
            Ok(())
        };
        if let Some(test) = trimmed.strip_prefix("Doing ") {
            kind = test.strip_suffix(" test").or(Some(test));
        } else if let Some(rest) = trimmed.strip_prefix("Extra file open flags:") {
            flags = Some(rest.trim());
        } else if let Some(rest) = trimmed.strip_prefix("Block size ") {
            let (number, unit) = leading(rest).ok_or_else(|| source.error(line, "has no size"))?;
            let unit =
                unit_bytes(unit, false).ok_or_else(|| source.error(line, format!("{unit} is no unit of bytes")))?;
            block = Some(source.number(line, number)? * unit);
        } else if let Some(rest) = trimmed.strip_prefix("Operations performed:") {
            for part in rest.split(['=', ',']) {
                let Some((_, word)) = leading(part) else { continue };
                match word.split_whitespace().next().map(str::to_ascii_lowercase).as_deref() {
                    Some("read" | "reads") => put("read count", part)?,
                    Some("write" | "writes") => put("write count", part)?,
                    Some("other") => put("flush count", part)?,
                    _ => {}
                }
            }
        } else if let Some(rest) = trimmed.strip_prefix("Periodic FSYNC enabled, calling fsync() each ") {
            put("flush each", rest)?;
        } else if trimmed.starts_with("Calling fsync() after each write") {
            figures.insert("flush each", 1.0);
        } else if let Some((key, rest)) = trimmed.split_once(':') {
            if rest.trim().is_empty() {
                section = match key {
                    "File operations" => "files",
                    _ if key.starts_with("Latency") => "latency",
                    // Of version 0.5.
                    "response time" => "latency",
                    _ if key.contains("per-request statistics") => "latency",
                    _ => key.split(' ').next().unwrap_or_default(),
                };
            }
            let rest = rest.trim();
            match key.trim() {
                "Number of threads" => put("threads", rest)?,
                "Read/Write ratio for combined random IO test" => put("ratio", rest)?,
                "total time" | "time elapsed" => put("seconds", rest)?,
                "reads/s" => put("read rate", rest)?,
                "writes/s" => put("write rate", rest)?,
                "fsyncs/s" => put("flush rate", rest)?,
                "read" | "write" | "fsync" if rest.starts_with("IOPS=") => {
                    let own = match key.trim() {
                        "read" => "read rate",
                        "write" => "write rate",
                        _ => "flush rate",
                    };
                    put(own, &rest["IOPS=".len()..])?;
                }
                "min" if section == "latency" => put("min", rest)?,
                "avg" if section == "latency" => put("avg", rest)?,
                "max" if section == "latency" => put("max", rest)?,
                "95th percentile" | "approx.  95 percentile" | "approx. 95 percentile" => put("p95", rest)?,
                _ => {}
            }
        }
    }
    let (Some(kind), Some(block)) = (kind, block) else {
        return Err(source.error(0, "does not tell the test or the size of its blocks"));
    };
    let is_async = source.lines().any(|(_, line)| line.starts_with("Using asynchronous I/O mode"));
    let load = load(kind, flags, is_async, block, &figures);
    results(source, "sysbench", version, vec![load], vec!["the file's own time is taken".to_owned()])
}

fn load(kind: &str, flags: Option<&str>, is_async: bool, block: f64, figures: &BTreeMap<&str, f64>) -> Told {
    let get = |key: &str| figures.get(key).copied();
    let seconds = get("seconds").unwrap_or(SECONDS_DEFAULT);
    let operation = |name: &str| -> Figures {
        let (count, rate) = (get(&format!("{name} count")), get(&format!("{name} rate")));
        match (count, rate) {
            (Some(count), _) => Figures { count: count as u64, bytes: (count * block) as u64, latency: None },
            (None, rate) => Figures::of_rate(rate.unwrap_or(0.0), block, seconds),
        }
    };
    let (mut read, mut write) = (operation("read"), operation("write"));
    let mut flush = Figures { bytes: 0, ..operation("flush") };
    let lower = kind.to_ascii_lowercase();
    let ratio = get("ratio").map(|ratio| ratio / (1.0 + ratio));
    let total = (read.count + write.count).max(1) as f64;
    let reads = match (read.count, write.count) {
        (0, _) => 0.0,
        (_, 0) => 1.0,
        _ => ratio.unwrap_or(read.count as f64 / total),
    };
    // 16384 is Linux' O_DIRECT.
    let is_direct = flags.is_some_and(|flags| flags.contains("direct") || flags == "16384");
    let shape = Shape {
        is_random: lower.contains("random"),
        reads,
        block: block as u64,
        // How many wait in the asynchronous mode is not printed.
        depth: if is_async { ASYNC_DEPTH } else { 1 },
        threads: get("threads").unwrap_or(1.0) as u64,
        is_buffered: !is_direct,
    };
    let mut told = Told::new(kind, "told", &shape);
    told.seconds = seconds;
    let own = match (get("avg"), get("max")) {
        (Some(mean), Some(max)) => latency(mean * 1e6, get("min").map(|ms| ms * 1e6), max * 1e6),
        _ => None,
    };
    // Of the asynchronous mode they are those of submissions.
    let own = own.filter(|_| !is_async);
    let own = own
        .map(|own| loadline_record::HistogramSnapshot { p95: get("p95").map(|ms| (ms * 1e6).round() as u64), ..own });
    (read.latency, write.latency) = (own, own);
    flush.latency = None;
    if flush.count > 0 {
        told.unknown.push("Its latencies are over all events, flushes among them, without a difference".to_owned());
        if let Some(each) = get("flush each").filter(|each| *each >= 1.0 && write.count > 0) {
            told.spec.flush = Some(FlushCadence { every: each as u64, how: FlushMethod::Fdatasync });
            told.unknown.push(format!("Each {each:.0} requests it flushed every file (fsync)"));
        }
    } else {
        told.unknown.push("Its latencies are over all events, without a difference".to_owned());
    }
    if is_async {
        told.unknown.push(format!(
            "How many requests were in flight at once is not printed: {ASYNC_DEPTH} are taken, its default. Its latencies are those of \
             submissions alone, and left out"
        ));
    }
    if get("seconds").is_none() {
        told.unknown.push("How long it ran is not told: 10 s are taken, its default".to_owned());
    }
    told.operations = vec![(Operation::Read, read), (Operation::Write, write), (Operation::Flush, flush)];
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> (Vec<u64>, f64, Option<u64>, f64, u64) {
        let results = read(Source { text, name: "a", written_unix_s: 100 }).unwrap();
        let job = &results.jobs[0];
        let of = |operation| job.trial.of(operation).map_or(0, |record| record.count);
        let all = [Operation::Read, Operation::Write, Operation::Flush].map(of).to_vec();
        let figures = job.trial.of(Operation::Read).unwrap().figures().unwrap();
        (all, figures.mean, figures.p95, job.spec.reads.as_f64(), job.spec.outstanding().unwrap())
    }

    #[test]
    fn every_version_has_its_printed_figures() {
        let old = counts(include_str!("../tests/corpus/sysbench-0.4.txt"));
        assert_eq!(old, (vec![6000, 4000, 1600], 3_980_000.0, Some(9_000_000), 0.6, 4));
        let half =
            include_str!("../tests/corpus/sysbench-0.4.txt").replace("per-request statistics:", "response time:");
        assert_eq!(counts(&half), old);
        let one = counts(include_str!("../tests/corpus/sysbench-1.0.txt"));
        assert_eq!(one, (vec![6000, 4000, 1600], 3_430_000.0, Some(9_000_000), 0.6, 4));
        let next = counts(include_str!("../tests/corpus/sysbench-1.1.txt"));
        assert_eq!(next, (vec![6000, 4000, 1600], 3_430_000.0, Some(9_000_000), 0.6, 4));
    }

    #[test]
    fn rates_and_bytes_are_those_printed() {
        let text = include_str!("../tests/corpus/sysbench-1.0.txt");
        let results = read(Source { text, name: "a", written_unix_s: 100 }).unwrap();
        assert_eq!((results.tool.as_str(), results.version.as_deref()), ("sysbench", Some("1.0.20")));
        let trial = &results.jobs[0].trial;
        let mib = |operation| trial.of(operation).unwrap().bytes as f64 / 10.0 / 1_048_576.0;
        assert_eq!((trial.iops(), trial.bytes()), (Some(1000.0), 10_000 * 16_384));
        assert_eq!(
            (format!("{:.2}", mib(Operation::Read)), format!("{:.2}", mib(Operation::Write))),
            ("9.38".into(), "6.25".into())
        );
        assert!(results.jobs[0].unknown[0].contains("flushes among them"));
        assert!(!results.jobs[0].spec.buffered);
        let comma = text.replace("600.00", "600,00");
        assert!(
            read(Source { text: &comma, name: "a", written_unix_s: 0 }).unwrap_err().to_string().contains("a comma")
        );
    }

    /// As sysbench 1.0.20 wrote them.
    #[test]
    fn what_the_tool_wrote_is_read_with_its_flushes() {
        let job = |text: &str| read(Source { text, name: "a", written_unix_s: 100 }).unwrap().jobs.remove(0);
        let all = job(include_str!("../tests/corpus/sysbench-1.0.20-fsync-all.txt"));
        let every = |every| Some(FlushCadence { every, how: FlushMethod::Fdatasync });
        assert_eq!((all.spec.flush, all.spec.reads, all.spec.buffered), (every(1), loadline_units::Ratio::ZERO, true));
        let counts = [Operation::Write, Operation::Flush].map(|of| all.trial.of(of).map_or(0, |record| record.count));
        assert!(counts[0] > 1_000 && counts[0] == counts[1], "{counts:?}");
        let mixed = job(include_str!("../tests/corpus/sysbench-1.0.20-rndrw.txt"));
        assert_eq!((mixed.spec.flush, mixed.spec.reads.as_f64()), (every(100), 0.6));
        assert!(mixed.trial.of(Operation::Flush).is_some_and(|flush| flush.count > 0 && flush.figures().is_none()));
        let direct = job(include_str!("../tests/corpus/sysbench-1.0.20-seqrd-direct.txt"));
        assert_eq!((direct.spec.buffered, direct.spec.flush, direct.spec.outstanding()), (false, None, Some(2)));
    }
}
