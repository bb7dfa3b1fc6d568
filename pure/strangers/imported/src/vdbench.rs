//! vdbench: `flatfile.html`, and the summary that it prints, by their headings.

use crate::told::{Figures, LOADS_MAX, Shape, Source, Told, after, latency, leading, results, unit_bytes};
use crate::{ImportError, Results};
use loadline_block::Operation;
use loadline_record::{Second, SecondOperation, Series};
use loadline_units::Iops;
use loadline_workload::Arrival;
use std::collections::BTreeMap;

/// Rates from here on say "as fast as it goes".
const RATE_MAX: f64 = 999_900.0;
/// Intervals of one run.
const INTERVALS_MAX: usize = 86_000;
/// A column of a heading of two lines ends at most so far from its figures.
const COLUMN_SLACK: usize = 3;

/// Whether a text is a flat file.
pub(crate) fn is_flatfile(text: &str) -> bool {
    text.lines().any(is_heading)
}

fn is_heading(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    ["tod", "Run", "Interval", "rate", "resp"].iter().all(|word| words.contains(word))
}

/// Whether a text is a summary.
pub(crate) fn is_summary(text: &str) -> bool {
    text.lines().any(|line| line.contains("Starting RD=")) && text.lines().any(|line| line.contains("interval"))
}

/// An interval, or the average of several.
#[derive(Debug, Clone, Default)]
struct Row {
    tod_ms: u64,
    interval: String,
    figures: BTreeMap<String, String>,
}

impl Row {
    /// The intervals that an average is of: `avg_2-10`.
    fn average_of(&self) -> Option<(u64, u64)> {
        let (from, to) = self.interval.strip_prefix("avg_")?.split_once('-')?;
        Some((from.parse().ok()?, to.parse().ok()?))
    }
    fn number(&self, source: Source<'_>, line: usize, keys: &[&str]) -> Result<Option<f64>, ImportError> {
        let text = keys.iter().find_map(|key| self.figures.get(*key)).filter(|text| *text != "n/a");
        text.map(|text| source.number(line, text)).transpose()
    }
}

/// `07:08:09.010`, ms since midnight.
fn tod(text: &str) -> Option<u64> {
    let mut parts = text.split([':', '.']).map(|part| part.parse::<u16>().ok().map(u64::from));
    let (hour, minute, second, ms) =
        (parts.next()??, parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0));
    (hour < 24 && minute < 60 && second < 61 && ms < 1_000).then_some(((hour * 60 + minute) * 60 + second) * 1_000 + ms)
}

/// What a run's own line says: `threads=16 xfersize=8k`.
#[derive(Debug, Clone, Default)]
struct Asked {
    name: String,
    rate: Option<f64>,
    threads: Option<f64>,
    block: Option<f64>,
    date: Option<u64>,
}

/// Reads a flat file.
pub(crate) fn flatfile(source: Source<'_>) -> Result<Results, ImportError> {
    let mut headings: Vec<&str> = Vec::new();
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut loads = Vec::new();
    for (line, text) in source.lines() {
        if is_heading(text) {
            headings = text.split_whitespace().collect();
            continue;
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        if headings.is_empty() || fields.first().and_then(|first| tod(first)).is_none() {
            continue;
        }
        if fields.len() != headings.len() {
            return Err(source.error(line, format!("has {} figures under {} headings", fields.len(), headings.len())));
        }
        let figures: BTreeMap<String, String> =
            headings.iter().zip(&fields).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let name = figures.get("Run").cloned().unwrap_or_default();
        let interval = figures.get("Interval").cloned().unwrap_or_default();
        let row = Row { tod_ms: tod(fields[0]).unwrap_or(0), interval, figures };
        let asked = Asked {
            rate: row.number(source, line, &["reqrate"])?,
            threads: row.number(source, line, &["threads"])?,
            block: row.number(source, line, &["xfersize"])?,
            name: name.clone(),
            date: None,
        };
        let own = rows.entry(name).or_default();
        if row.average_of().is_some() {
            let before = std::mem::take(own);
            loads.push(load(source, line, &asked, &row, &before)?);
        } else if own.len() < INTERVALS_MAX {
            own.push(row);
        }
        if loads.len() > LOADS_MAX {
            return Err(source.error(line, format!("more than {LOADS_MAX} loads")));
        }
    }
    let notes = vec!["its times have no date: the file's own time is taken".to_owned()];
    results(source, "vdbench", None, loads, notes)
}

/// Reads a summary.
pub(crate) fn summary(source: Source<'_>) -> Result<Results, ImportError> {
    let version = source.lines().find_map(|(_, line)| after(line, "Vdbench distribution: vdbench"));
    let version = version.and_then(|rest| rest.split_whitespace().next());
    let mut asked = Asked::default();
    let mut heading: Vec<(usize, &str)> = Vec::new();
    let mut second: Vec<(usize, &str)> = Vec::new();
    let mut rows: Vec<Row> = Vec::new();
    let mut loads = Vec::new();
    let mut is_second = false;
    for (line, text) in source.lines() {
        if let Some(rest) = after(text, "Starting RD=") {
            asked = self::asked(rest);
            rows.clear();
            continue;
        }
        if text.contains("interval") && text.contains("MB/sec") {
            // Its date is the only one: `May 06, 2024`.
            asked.date = date(text);
            heading = ends(text);
            is_second = true;
            continue;
        }
        if std::mem::take(&mut is_second) {
            second = ends(text);
            continue;
        }
        let fields = ends(text);
        let Some((_, first)) = fields.first() else { continue };
        let (Some(tod_ms), true) = (tod(first), fields.len() > 4 && !heading.is_empty()) else { continue };
        let interval = fields[1].1.to_owned();
        let is_row = interval.starts_with("avg_") || interval.bytes().all(|b| b.is_ascii_digit());
        if !is_row {
            continue;
        }
        let above = |line: &[(usize, &str)], end: usize| -> String {
            let near = line
                .iter()
                .filter(|(own, _)| own.abs_diff(end) <= COLUMN_SLACK)
                .min_by_key(|(own, _)| own.abs_diff(end));
            near.map_or_else(String::new, |(_, word)| (*word).to_owned())
        };
        let figures = fields[2..].iter().map(|(end, value)| {
            let key = format!("{} {}", above(&heading, *end), above(&second, *end));
            (key.trim().to_owned(), (*value).to_owned())
        });
        let row = Row { tod_ms, interval, figures: figures.collect() };
        if row.average_of().is_some() {
            let before = std::mem::take(&mut rows);
            loads.push(load(source, line, &asked, &row, &before)?);
        } else if rows.len() < INTERVALS_MAX {
            rows.push(row);
        }
        if loads.len() > LOADS_MAX {
            return Err(source.error(line, format!("more than {LOADS_MAX} loads")));
        }
    }
    results(source, "vdbench", version, loads, vec![crate::told::LOCAL_TIME.to_owned()])
}

/// The words of a line with the column at which each ends.
fn ends(text: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut begin = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_whitespace(), begin) {
            (true, Some(from)) => {
                words.push((at, &text[from..at]));
                begin = None;
            }
            (false, None) => begin = Some(at),
            _ => {}
        }
    }
    words
}

/// `rd1; I/O rate: Uncontrolled MAX; elapsed=3; For loops: threads=16 xfersize=8k`
fn asked(rest: &str) -> Asked {
    let value = |key: &str| {
        let text = after(rest, key)?;
        leading(text)
    };
    let number = |key: &str| value(key).and_then(|(number, _)| number.parse::<f64>().ok());
    let block = value("xfersize=").and_then(|(number, unit)| {
        let unit = unit.split([' ', ';', ',']).next().unwrap_or_default();
        Some(number.parse::<f64>().ok()? * unit_bytes(unit, false)?)
    });
    Asked {
        name: rest.split(';').next().unwrap_or_default().trim().to_owned(),
        rate: number("I/O rate: "),
        threads: number("threads="),
        block,
        date: None,
    }
}

/// `May 06, 2024`, days as seconds since 1970.
fn date(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [month, day, year, ..] = words.as_slice() else { return None };
    let day = day.trim_end_matches(',').parse().ok()?;
    crate::told::unix_s(year.parse().ok()?, crate::told::month(month)?, day, (0, 0, 0))
}

/// The load of an average, with the intervals before it as its seconds.
fn load(source: Source<'_>, line: usize, asked: &Asked, row: &Row, before: &[Row]) -> Result<Told, ImportError> {
    let number = |keys: &[&str]| row.number(source, line, keys);
    let wanted = |what: &str, keys: &[&str]| {
        number(keys)?.ok_or_else(|| source.error(line, format!("{what} is not told (its heading is missing)")))
    };
    let rate = wanted("the rate", &["rate", "i/o rate"])?;
    let block = asked.block.map_or_else(|| wanted("the size of requests", &["bytes/io", "bytes i/o"]), Ok)?;
    let reads = wanted("the share of reads", &["read%", "rdpct", "read pct"])? / 100.0;
    let response = wanted("the response time", &["resp", "resp time"])?;
    let (from, to) = row.average_of().unwrap_or((1, 1));
    let between_ms = match before {
        [.., one, two] => two.tod_ms.saturating_sub(one.tod_ms),
        _ => 1_000,
    };
    let length_s = if between_ms == 0 { 1.0 } else { (between_ms as f64 / 1e3).round().max(1.0) };
    let seconds = (to.saturating_sub(from) + 1) as f64 * length_s;
    let seek = number(&["seekpct"])?;
    let threads = asked.threads;
    let shape = Shape {
        is_random: seek.is_none_or(|seek| seek > 50.0),
        reads: reads.clamp(0.0, 1.0),
        block: block as u64,
        depth: 1,
        threads: threads.unwrap_or(1.0).max(1.0) as u64,
        is_buffered: false,
    };
    let mut told = Told::new(&asked.name, "told", &shape);
    told.seconds = seconds;
    if let (Some(rate), Arrival::Closed { rate_max, .. }) =
        (asked.rate.filter(|rate| *rate < RATE_MAX), &mut told.spec.arrival)
    {
        *rate_max = Iops::per_second(rate as u64);
    }
    let max = number(&["resp_max"])?;
    let of = |name: &str, share: f64| -> Result<Figures, ImportError> {
        let own = number(&[&format!("{name} resp")])?.filter(|own| *own > 0.0);
        let most = number(&[&format!("{name} max")])?.or(max);
        let mean = own.unwrap_or(response) * 1e6;
        let latency = most.and_then(|most| latency(mean, None, (most * 1e6).max(mean)));
        Ok(Figures { latency, ..Figures::of_rate(rate * share, block, seconds) })
    };
    told.operations =
        vec![(Operation::Read, of("read", shape.reads)?), (Operation::Write, of("write", 1.0 - shape.reads)?)];
    if let Some(first) = before.iter().find(|row| row.interval == from.to_string()) {
        let midnight = asked.date.unwrap_or(source.written_unix_s / 86_400 * 86_400) * 1_000;
        told.began_ms = Some(midnight + first.tod_ms.saturating_sub(between_ms));
    }
    told.series = series(source, line, before, (from, to), length_s, block)?;
    if threads.is_none() {
        told.unknown.push("How many threads asked is not told: 1 is taken".to_owned());
    }
    match seek {
        None => told.unknown.push("Where requests fell is not told: anywhere is taken, its default".to_owned()),
        Some(seek) if seek > 0.0 && seek < 100.0 => {
            told.unknown.push(format!("{seek} % of its requests fell anywhere, the rest in order"));
        }
        Some(_) => {}
    }
    told.unknown.push(
        "Threads count for all its targets together. Whether it went through the page cache is not told".to_owned(),
    );
    Ok(told)
}

/// The intervals of an average as seconds; none where they are of another length.
fn series(
    source: Source<'_>,
    line: usize,
    rows: &[Row],
    (from, to): (u64, u64),
    length_s: f64,
    block: f64,
) -> Result<Series, ImportError> {
    let mut series = Series { interval_s: length_s as u32, ..Series::default() };
    let is_whole = length_s <= 3_600.0 && (length_s as u32).is_power_of_two();
    for row in rows.iter().filter(|_| is_whole) {
        if !row.interval.parse().is_ok_and(|interval: u64| (from..=to).contains(&interval)) {
            continue;
        }
        let rate = row.number(source, line, &["rate", "i/o rate"])?.unwrap_or(0.0);
        let reads = row.number(source, line, &["read%", "rdpct", "read pct"])?.unwrap_or(0.0).min(100.0) / 100.0;
        let mut second = Second::default();
        for (operation, share) in [(Operation::Read, reads), (Operation::Write, 1.0 - reads)] {
            let Figures { count, bytes, .. } = Figures::of_rate(rate * share, block, length_s);
            second.operations[operation.index()] = SecondOperation { count, bytes, ..SecondOperation::default() };
        }
        series.seconds.push(second);
    }
    series.last_ns = (length_s * 1e9) as u64;
    Ok(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source<'_> {
        Source { text, name: "a", written_unix_s: 1_714_979_300 }
    }

    #[test]
    fn a_flat_file_has_its_average_and_its_intervals() {
        let results = flatfile(source(include_str!("../tests/corpus/vdbench-flatfile.html"))).unwrap();
        assert_eq!(results.jobs.len(), 1);
        let job = &results.jobs[0];
        let figures = job.trial.of(Operation::Read).unwrap().figures().unwrap();
        assert_eq!((job.trial.iops(), job.trial.bytes_per_s()), (Some(2000.0), Some(15.625 * 1_048_576.0)));
        assert_eq!((figures.mean, figures.min, figures.max), (7_990_000.0, None, 40_000_000));
        assert_eq!(
            (job.name.as_str(), job.spec.outstanding(), job.trial.measured_ns),
            ("rd1", Some(16), 2_000_000_000)
        );
        assert_eq!(job.trial.series.iops().collect::<Vec<_>>(), [2000.0, 2000.0], "without the first interval");
    }

    #[test]
    fn a_summary_has_its_figures_by_headings_of_two_lines() {
        let text = include_str!("../tests/corpus/vdbench-summary.txt");
        let results = summary(source(text)).unwrap();
        assert_eq!(results.version.as_deref(), Some("50407"));
        let job = &results.jobs[0];
        let of = |operation| job.trial.of(operation).unwrap().figures().unwrap();
        let (read, write) = (of(Operation::Read), of(Operation::Write));
        assert_eq!((read.mean, read.max, write.mean, write.max), (7_500_000.0, 40_000_000, 9_133_000.0, 55_000_000));
        let counts = [Operation::Read, Operation::Write].map(|operation| job.trial.of(operation).unwrap().count);
        assert_eq!((counts, job.spec.outstanding(), job.spec.blocks[0].size.get()), ([2800, 1200], Some(16), 8192));
        assert_eq!(format!("{:.2}", job.trial.bytes_per_s().unwrap() / 1_048_576.0), "15.62", "printed 15.63: 15.625");
        assert_eq!(job.trial.started_unix_s, 1_714_979_289);
        assert_eq!(job.trial.series.seconds.len(), 2);
        let comma = text.replace("7.990", "7,990");
        assert!(summary(source(&comma)).unwrap_err().to_string().contains("a comma"));
    }
}
