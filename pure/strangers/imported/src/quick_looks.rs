//! dd, hdparm and ioping: one figure each.

use crate::told::{Figures, Shape, Source, Told, after, between, latency, leading, results, unit_bytes};
use crate::value::At;
use crate::{ImportError, Results};
use loadline_block::Operation;
use serde_json::Value;

/// hdparm reads so much at once (`TIMING_BUF_MB`).
const HDPARM_BLOCK: u64 = 2 << 20;
/// What no output of ioping tells.
const IOPING: &str = "Its iops are one over the mean latency, not a rate that was held: it waits between requests. Whether they went through \
                      the page cache (-D) and fell anywhere (-L) is not told";
const SECTOR: f64 = loadline_units::SECTOR.get() as f64;

/// The last line of dd: `1073741824 bytes (1.1 GB, 1.0 GiB) copied, 5.36871 s, 200 MB/s`, as GNU, BSD and `BusyBox` write it.
fn dd_line(line: &str) -> Option<(&str, &str)> {
    let (bytes, rest) = line.trim_start().split_once(" bytes")?;
    let is_whole = !bytes.is_empty() && bytes.bytes().all(|b| b.is_ascii_digit());
    let time = if let Some(gnu) = after(rest, " copied, ") { gnu } else { after(rest, "transferred in ")? };
    let (seconds, unit) = leading(time)?;
    // A comma that only closes the number.
    let seconds = seconds.trim_end_matches(',');
    (is_whole && unit.starts_with('s')).then_some((bytes, seconds))
}

/// The counts of whole and of cut records, in any language: `6395+1 records out`.
fn dd_records(line: &str) -> Option<(&str, &str)> {
    let (counts, what) = line.trim().split_once(' ')?;
    let (whole, cut) = counts.split_once('+')?;
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (is_count(whole) && is_count(cut) && !what.is_empty()).then_some((whole, cut))
}

/// The roundest size of records between their mean, where some were cut, and what the whole ones have if these moved all.
fn round_size(least: f64, most: f64) -> f64 {
    let multiple = |shift: u32| {
        let unit = f64::from(1_u32 << shift);
        let size = (least / unit).ceil() * unit;
        (size > 0.0 && size <= most).then_some(size)
    };
    (9..=26).rev().find_map(multiple).unwrap_or(least)
}

/// What dd was asked, behind a shell's prompt or at the beginning of a line.
fn dd_command(line: &str) -> Option<&str> {
    let begins =
        line.starts_with("dd ") || ["# dd ", "$ dd ", "> dd ", "sudo dd "].iter().any(|mark| line.contains(mark));
    let words = begins.then(|| line.split_once("dd ").map(|(_, words)| words)).flatten()?;
    ["if=", "of=", "bs="].iter().any(|key| words.contains(key)).then_some(words)
}

/// Whether a text is of dd.
pub(crate) fn is_dd(text: &str) -> bool {
    text.lines().any(|line| dd_line(line).is_some())
}

/// Reads what dd printed.
pub(crate) fn dd(source: Source<'_>) -> Result<Results, ImportError> {
    let mut loads = Vec::new();
    let (mut full, mut partial) = (None, 0.0);
    let mut command: Option<&str> = None;
    for (line, text) in source.lines() {
        if let Some(words) = dd_command(text) {
            command = Some(words);
        }
        // Of the two lines, in and out, the later counts.
        if let Some((whole, rest)) = dd_records(text) {
            (full, partial) = (Some(source.number(line, whole)?), source.number(line, rest)?);
            continue;
        }
        let Some((bytes, seconds)) = dd_line(text) else { continue };
        let bytes = source.number(line, bytes)?;
        // dd writes no thousands: a comma is a decimal one.
        let seconds = source.number(line, &seconds.replacen(',', ".", 1))?;
        let full = full.take();
        let count = full.map_or(1.0, |full| full + partial).max(1.0);
        let whole = full.map_or(count, |full| full.max(1.0));
        let block = round_size(bytes / count, bytes / whole);
        let of = |key: &str| command.and_then(|words| words.split_whitespace().find_map(|word| word.strip_prefix(key)));
        let is_memory = |path: &str| {
            path.starts_with("/dev/zero") || path.starts_with("/dev/null") || path.starts_with("/dev/urandom")
        };
        let (read, written) = (of("if=").filter(|path| !is_memory(path)), of("of=").filter(|path| !is_memory(path)));
        let is_read = read.is_some() && written.is_none();
        let is_direct = [of("iflag="), of("oflag=")].into_iter().flatten().any(|flags| flags.contains("direct"));
        let shape = Shape {
            is_random: false,
            reads: f64::from(u8::from(is_read)),
            block: block as u64,
            depth: 1,
            threads: 1,
            is_buffered: !is_direct,
        };
        let operation = if is_read { Operation::Read } else { Operation::Write };
        let mut told = Told::new("dd", "told", &shape);
        told.target = read.or(written).map(str::to_owned);
        told.seconds = seconds;
        told.operations = vec![(operation, Figures { count: count as u64, bytes: bytes as u64, latency: None })];
        if command.is_none() {
            told.unknown.push(
                "dd does not tell whether the disk was read or written, nor which, nor whether it went through the page cache: it is \
                 taken as buffered writes, which memory answers unless they were made durable (oflag=direct, conv=fdatasync)"
                    .to_owned(),
            );
        }
        source.push(&mut loads, line, told)?;
    }
    results(source, "dd", None, loads, vec!["the file's own time is taken".to_owned()])
}

/// Whether a text is of hdparm -t.
pub(crate) fn is_hdparm(text: &str) -> bool {
    text.lines().any(|line| hdparm_line(line).is_some())
}

fn hdparm_line(line: &str) -> Option<(bool, &str)> {
    let rest = line.trim_start().strip_prefix("Timing ")?;
    ["buffered disk reads", "O_DIRECT disk reads"].iter().enumerate().find_map(|(index, kind)| {
        let figures = rest.strip_prefix(kind)?;
        Some((index == 0, figures.split_once(':')?.1))
    })
}

/// Reads what hdparm printed.
pub(crate) fn hdparm(source: Source<'_>) -> Result<Results, ImportError> {
    let mut loads = Vec::new();
    let mut notes = vec!["the file's own time is taken".to_owned()];
    let mut device = None;
    for (line, text) in source.lines() {
        if text.starts_with('/') && text.trim_end().ends_with(':') {
            device = Some(text.trim_end().trim_end_matches(':').to_owned());
        }
        if text.trim_start().starts_with("Timing cached reads") || text.contains("O_DIRECT cached reads") {
            notes.push("\"cached reads\" measure memory: they are left out".to_owned());
        }
        let Some((is_buffered, figures)) = hdparm_line(text) else { continue };
        let parts = leading(figures).and_then(|(moved, rest)| {
            let (unit, rest) = rest.split_once(" in ")?;
            Some((moved, unit, leading(rest)?.0))
        });
        let (moved, unit, seconds) = parts.ok_or_else(|| source.error(line, "has no figure of hdparm's form"))?;
        let unit = unit_bytes(unit, false).ok_or_else(|| source.error(line, format!("{unit} is no unit of bytes")))?;
        let bytes = source.number(line, moved)? * unit;
        let shape = Shape { is_random: false, reads: 1.0, block: HDPARM_BLOCK, depth: 1, threads: 1, is_buffered };
        let mut told = Told::new("hdparm", "told", &shape);
        told.target.clone_from(&device);
        told.seconds = source.number(line, seconds)?;
        let count = ((bytes / HDPARM_BLOCK as f64).round() as u64).max(1);
        told.operations = vec![(Operation::Read, Figures { count, bytes: bytes as u64, latency: None })];
        if is_buffered {
            told.unknown.push("It reads through the page cache, whose read-ahead asks for more at once".to_owned());
        }
        source.push(&mut loads, line, told)?;
    }
    results(source, "hdparm", None, loads, notes)
}

/// Whether a text is of ioping.
pub(crate) fn is_ioping(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("--- ") && line.contains("ioping statistics"))
}

/// Nanoseconds of a time with its unit.
fn time_ns(source: Source<'_>, line: usize, text: &str, unit_before: Option<&str>) -> Result<f64, ImportError> {
    let (number, unit) = leading(text).ok_or_else(|| source.error(line, format!("{text} is no time")))?;
    let unit = unit.split_whitespace().next().or(unit_before).unwrap_or_default();
    let factor = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "min" => 6e10,
        _ => return Err(source.error(line, format!("{unit} is no unit of time"))),
    };
    Ok(source.number(line, number)? * factor)
}

/// A count as ioping rounds it: "900", "37.2 k", "1.05 M".
fn counted(source: Source<'_>, line: usize, text: &str) -> Result<f64, ImportError> {
    let (number, factor) = match text.trim().rsplit_once(' ') {
        Some((number, "k" | "K")) => (number, 1e3),
        Some((number, "m" | "M")) => (number, 1e6),
        Some((number, "g" | "G")) => (number, 1e9),
        _ => (text, 1.0),
    };
    Ok((source.number(line, number)? * factor).round())
}

/// Reads what ioping printed.
pub(crate) fn ioping(source: Source<'_>) -> Result<Results, ImportError> {
    let mut loads = Vec::new();
    let (mut target, mut block, mut is_write) = (None, None, false);
    let mut completed: Option<(u64, Option<f64>)> = None;
    for (line, text) in source.lines() {
        if text.contains("<<<") || text.contains(">>>") || text.contains(" bytes from ") || text.contains(" bytes to ")
        {
            is_write = text.contains(">>>") || text.contains(" bytes to ");
            block = leading(text).and_then(|(number, rest)| {
                let unit = unit_bytes(rest.split_whitespace().next()?, false)?;
                Some((number.parse::<f64>().ok()? * unit) as u64)
            });
        } else if let Some(rest) = text.strip_prefix("--- ") {
            target = rest.split_whitespace().next().map(str::to_owned);
        } else if let Some((count, rest)) = text.split_once(" requests completed in ") {
            let bytes = rest.split(',').find_map(|part| {
                let part = part.trim();
                let moved = part.strip_suffix(" read").or_else(|| part.strip_suffix(" written"))?;
                is_write |= part.ends_with(" written");
                let (number, unit) = leading(moved)?;
                Some(number.parse::<f64>().ok()? * unit_bytes(unit, false)?)
            });
            completed = Some((counted(source, line, count)? as u64, bytes));
        } else if let Some(figures) = text.strip_prefix("min/avg/max/mdev = ") {
            let parts: Vec<&str> = figures.split('/').collect();
            let [min, mean, max, deviation] = parts.as_slice() else {
                return Err(source.error(line, "has no four figures"));
            };
            // Old versions write the unit once, at the end.
            let unit = deviation.split_whitespace().nth(1);
            let ns = |text: &str| time_ns(source, line, text, unit);
            let (min, mean, max) = (ns(min)?, ns(mean)?, ns(max)?);
            let Some((count, bytes)) = completed.take() else { continue };
            // Both are rounded to three digits where they are large: requests are whole sectors.
            let mean_size = |bytes: f64| ((bytes / count.max(1) as f64 / SECTOR).round() * SECTOR).max(1.0) as u64;
            let block = block.or(bytes.map(mean_size)).unwrap_or(4096);
            let shape = Shape {
                is_random: true,
                reads: f64::from(u8::from(!is_write)),
                block,
                depth: 1,
                threads: 1,
                is_buffered: false,
            };
            let mut told = Told::new("ioping", "told", &shape);
            told.target = target.take();
            told.seconds = mean * count as f64 / 1e9;
            let operation = if is_write { Operation::Write } else { Operation::Read };
            let figures = Figures { count, bytes: block.saturating_mul(count), latency: latency(mean, Some(min), max) };
            told.operations = vec![(operation, figures)];
            told.unknown.push(IOPING.to_owned());
            source.push(&mut loads, line, told)?;
        }
    }
    let version = source
        .lines()
        .find_map(|(_, line)| between(line, "ioping ", " ").filter(|v| v.starts_with(|c: char| c.is_ascii_digit())));
    results(source, "ioping", version, loads, vec!["the file's own time is taken".to_owned()])
}

/// Whether a text is of `ioping -json`: a list whose entries are requests, and at its end their statistics.
pub(crate) fn is_ioping_json(text: &str) -> bool {
    text.trim_start().starts_with('[') && text.contains("\"stat\"") && text.contains("\"mdev\"")
}

/// Reads what `ioping -json` printed.
pub(crate) fn ioping_json(source: Source<'_>) -> Result<Results, ImportError> {
    let entries: Vec<Value> = serde_json::from_str(source.text)
        .map_err(|error| ImportError::CutOff { source_name: source.name.to_owned(), line: error.line().max(1) })?;
    let (mut is_write, mut loads) = (false, Vec::new());
    for entry in &entries {
        let top = At::top(entry, source.name);
        if let Some(operation) = entry.pointer("/io/operation").and_then(Value::as_str) {
            is_write = operation == "write";
        }
        let Some(stat) = top.get("stat") else { continue };
        let figure = |key: &str| stat.get(key).ok_or_else(|| stat.error(format!("has no {key}")))?.number();
        let (count, bytes) = (figure("count")?, figure("size")?);
        let block = (bytes / count.max(1.0)).round() as u64;
        let shape = Shape {
            is_random: true,
            reads: f64::from(u8::from(!is_write)),
            block: block.max(1),
            depth: 1,
            threads: 1,
            is_buffered: false,
        };
        let mut told = Told::new("ioping", "told", &shape);
        told.target = entry.pointer("/target/path").and_then(Value::as_str).map(str::to_owned);
        told.seconds = figure("time")? / 1e9;
        told.began_ms = top.get("timestamp").map(|at| at.number()).transpose()?.map(|s| (s * 1e3) as u64);
        let latency = latency(figure("avg")?, Some(figure("min")?), figure("max")?);
        let operation = if is_write { Operation::Write } else { Operation::Read };
        told.operations = vec![(operation, Figures { count: count as u64, bytes: bytes as u64, latency })];
        told.unknown.push(IOPING.to_owned());
        source.push(&mut loads, 0, told)?;
    }
    results(source, "ioping", None, loads, Vec::new())
}

/// Figures of a line of `ioping -p` and `ioping -B`: requests, their time in ns, requests and bytes a second, least, mean, largest latency
/// and its deviation in ns, and requests with their time, waits included.
const RAW: usize = 10;

/// The figures of such a line: its mean is its time over its requests.
fn raw(line: &str) -> Option<[f64; RAW]> {
    let figures: Vec<f64> =
        line.split(' ').map(|word| word.parse::<u64>().ok().map(|whole| whole as f64)).collect::<Option<_>>()?;
    let figures: [f64; RAW] = figures.try_into().ok()?;
    (figures[0] > 0.0 && (figures[1] / figures[0] - figures[5]).abs() < 2.0).then_some(figures)
}

/// Whether a text is of such lines alone.
pub(crate) fn is_ioping_raw(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|line| raw(line.trim()).is_some())
}

/// Reads what `ioping -p` or `ioping -B` printed.
pub(crate) fn ioping_raw(source: Source<'_>) -> Result<Results, ImportError> {
    let (mut count, mut ns, mut bytes, mut least, mut most) = (0.0, 0.0, 0.0, f64::INFINITY, 0.0_f64);
    for (line, text) in source.lines().filter(|(_, text)| !text.trim().is_empty()) {
        let own = raw(text.trim()).ok_or_else(|| source.error(line, "is no line of ioping's raw statistics"))?;
        (count, ns, bytes) = (count + own[0], ns + own[1], bytes + own[3] * own[1] / 1e9);
        (least, most) = (least.min(own[4]), most.max(own[6]));
    }
    let block = ((bytes / count / SECTOR).round() * SECTOR).max(1.0) as u64;
    let shape = Shape { is_random: true, reads: 1.0, block, depth: 1, threads: 1, is_buffered: false };
    let mut told = Told::new("ioping", "told", &shape);
    told.seconds = ns / 1e9;
    let latency = latency(ns / count, Some(least), most);
    let figures = Figures { count: count as u64, bytes: block.saturating_mul(count as u64), latency };
    told.operations = vec![(Operation::Read, figures)];
    told.unknown.push(IOPING.to_owned());
    told.unknown.push("Whether it read or wrote is not told: reads are taken".to_owned());
    results(source, "ioping", None, vec![told], vec!["the file's own time is taken".to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source<'_> {
        Source { text, name: "a.txt", written_unix_s: 1_000 }
    }

    #[test]
    fn dd_has_its_bytes_and_its_time_in_every_dialect() {
        let gnu = dd(source(include_str!("../tests/corpus/dd.txt"))).unwrap();
        let trial = &gnu.jobs[0].trial;
        assert_eq!((trial.bytes(), trial.measured_ns, trial.count()), (1_073_741_824, 5_368_710_000, 1024));
        assert_eq!(format!("{:.0}", trial.bytes_per_s().unwrap() / 1e6), "200");
        assert!(gnu.jobs[0].unknown[0].contains("does not tell whether"));
        for text in [
            "1024+0 records out\n1073741824 bytes (1,1 GB, 1,0 GiB) copied, 5,36871 s, 200 MB/s\n",
            "1024+0 records out\n1073741824 bytes transferred in 5.368710 secs (200000000 bytes/sec)\n",
            "1024+0 records out\n1073741824 bytes (1.0GB) copied, 5.368710 seconds, 190.7MB/s\n",
        ] {
            assert!(is_dd(text), "{text}");
            assert_eq!(dd(source(text)).unwrap().jobs[0].trial.measured_ns, 5_368_710_000, "{text}");
        }
        // In other languages, and behind a shell's prompt.
        let german = "# dd if=kali.iso of=/dev/sdc bs=512k\n6395+1 Datensätze ein\n6395+1 Datensätze aus\n3353227264 bytes (3,4 GB, 3,1 GiB) copied, 365,951 s, 9,2 MB/s\n";
        let job = &dd(source(german)).unwrap().jobs[0];
        assert_eq!((job.trial.count(), job.spec.blocks[0].size.get()), (6396, 512 << 10));
        let read = "root@node01:/mnt# dd if=10G of=/dev/null bs=1M count=10240\n10240+0 records in\n10240+0 records out\n10737418240 bytes (11 GB, 10 GiB) copied, 1.30639 s, 8.2 GB/s\n";
        assert!(dd(source(read)).unwrap().jobs[0].spec.reads_any());
        let told = "$ dd if=/dev/sdb of=/dev/null bs=1M iflag=direct\n1024+0 records out\n1073741824 bytes (1.1 GB) copied, 5.36871 s, 200 MB/s\n";
        let job = &dd(source(told)).unwrap().jobs[0];
        assert_eq!((job.target.as_deref(), job.spec.buffered, job.spec.reads_any()), (Some("/dev/sdb"), false, true));
    }

    #[test]
    fn hdparm_counts_in_mebibytes_and_its_cache_is_left_out() {
        let read = hdparm(source(include_str!("../tests/corpus/hdparm.txt"))).unwrap();
        assert_eq!((read.jobs.len(), read.jobs[0].target.as_deref()), (1, Some("/dev/sdb")));
        let trial = &read.jobs[0].trial;
        assert_eq!((trial.bytes(), trial.measured_ns), (1200 << 20, 3_000_000_000));
        assert_eq!(trial.bytes_per_s(), Some(400.0 * 1_048_576.0));
        assert!(read.notes.iter().any(|note| note.contains("measure memory")));
    }

    #[test]
    fn ioping_is_the_mean_of_its_latencies() {
        let read = ioping(source(include_str!("../tests/corpus/ioping.txt"))).unwrap();
        let job = &read.jobs[0];
        let figures = job.trial.of(Operation::Read).unwrap().figures().unwrap();
        assert_eq!((figures.min, figures.mean, figures.max), (Some(480_000), 800_000.0, 1_280_000));
        assert_eq!((job.trial.count(), job.trial.bytes(), job.trial.iops()), (3, 12 << 10, Some(1250.0)));
        assert_eq!(format!("{:.2}", job.trial.bytes_per_s().unwrap() / 1_048_576.0), "4.88");
        let many = ioping(source(include_str!("../tests/corpus/ioping-thousands.txt"))).unwrap();
        let trial = &many.jobs[0].trial;
        assert_eq!((trial.count(), trial.bytes() / trial.count()), (37_200, 4096));
        assert!((trial.of(Operation::Read).unwrap().figures().unwrap().mean - 76_700.0).abs() < 0.5);
        let old = "4096 bytes from /tmp (ext4 /dev/sda1): request=1 time=0.8 ms\n--- /tmp (ext4 /dev/sda1) ioping statistics ---\n10 requests completed in 9002.2 ms, 1112 iops, 4.3 mb/s\nmin/avg/max/mdev = 0.6/0.9/1.6/0.3 ms\n";
        let figures = ioping(source(old)).unwrap().jobs[0].trial.of(Operation::Read).unwrap().figures().unwrap();
        assert_eq!((figures.min, figures.max), (Some(600_000), 1_600_000));
    }
}
