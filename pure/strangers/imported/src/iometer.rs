//! Iometer's CSV: many tests in one file, three generations of headings, names that are not quoted.

use crate::told::{Figures, LOADS_MAX, LOCAL_TIME, Shape, Source, Told, latency, results, time_in};
use crate::{ImportError, Results};
use loadline_block::Operation;
use loadline_units::{Bytes, Ratio};
use loadline_workload::BlockShare;

/// Lines of an access specification.
const LINES_MAX: usize = 100;
/// Rate times size and bytes per second differ by no more.
const SAME: f64 = 0.02;

/// Whether a text is such a file.
pub(crate) fn is_one(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("'Access specifications"))
        && text.lines().any(|line| line.starts_with("'Target Type"))
}

/// A line of an access specification: size, its share, shares of reads and of random requests, delay and burst.
#[derive(Debug, Clone, Copy)]
struct Line {
    size: f64,
    share: f64,
    reads: f64,
    random: f64,
    delay_ms: f64,
}

/// Reads such a file.
pub(crate) fn read(source: Source<'_>) -> Result<Results, ImportError> {
    let mut version = None;
    let mut lines: Vec<Line> = Vec::new();
    let mut headings: Vec<&str> = Vec::new();
    let (mut columns, mut began, mut section) = (Vec::new(), None, "");
    let mut loads = Vec::new();
    for (line, text) in source.lines() {
        if let Some(name) = text.strip_prefix('\'') {
            section = name;
            if name.starts_with("Access specifications") {
                lines.clear();
            } else if name.starts_with("size,") {
                columns = name.split(',').map(str::trim).collect();
            } else if name.starts_with("Target Type") {
                headings = name.split(',').map(str::trim).collect();
            }
            continue;
        }
        if text.trim().is_empty() {
            continue;
        }
        match section {
            "Version" => version = Some(text.trim()),
            "Time Stamp" if began.is_none() => began = time_in(text),
            _ if section.starts_with("size,") => {
                if lines.len() >= LINES_MAX {
                    return Err(source.error(line, format!("more than {LINES_MAX} lines of an access specification")));
                }
                lines.push(specification(source, line, &columns, text)?);
            }
            _ if section.starts_with("Target Type") && text.starts_with("ALL,") => {
                if loads.len() >= LOADS_MAX {
                    return Err(source.error(line, format!("more than {LOADS_MAX} tests")));
                }
                let row = Row::of(source, line, &headings, text)?;
                let mut told = load(&row, &lines)?;
                told.began_ms = began.take().map(|s| s * 1_000);
                loads.push(told);
            }
            _ => {}
        }
    }
    results(source, "Iometer", version, loads, vec![LOCAL_TIME.to_owned()])
}

fn specification(source: Source<'_>, line: usize, columns: &[&str], text: &str) -> Result<Line, ImportError> {
    let fields: Vec<&str> = text.split(',').collect();
    let number = |key: &str| {
        let at = columns.iter().position(|column| *column == key);
        let field = at.and_then(|at| fields.get(at)).ok_or_else(|| source.error(line, format!("{key} is missing")))?;
        source.number(line, field)
    };
    Ok(Line {
        size: number("size")?,
        share: number("% of size")? / 100.0,
        reads: number("% reads")?.min(100.0) / 100.0,
        random: number("% random")?.min(100.0) / 100.0,
        delay_ms: number("delay")?,
    })
}

/// The row of all targets together.
struct Row<'a> {
    source: Source<'a>,
    line: usize,
    headings: &'a [&'a str],
    fields: Vec<&'a str>,
    name: String,
}

impl<'a> Row<'a> {
    /// The name of an access specification is not quoted, and may have commas.
    fn of(source: Source<'a>, line: usize, headings: &'a [&'a str], text: &'a str) -> Result<Self, ImportError> {
        let mut fields: Vec<&str> = text.split(',').collect();
        let place = headings.iter().position(|heading| *heading == "Access Specification Name");
        let place =
            place.ok_or_else(|| source.error(line, "stands under a heading without \"Access Specification Name\""))?;
        if fields.len() < headings.len() {
            let message = format!("has {} fields, and its heading has {}", fields.len(), headings.len());
            return Err(source.error(line, message));
        }
        let more = fields.len() - headings.len();
        let name = fields[place..=place + more].join(",");
        fields.drain(place..place + more);
        Ok(Self { source, line, headings, fields, name })
    }
    /// A figure by its heading; empty is missing.
    fn get(&self, keys: &[&str]) -> Result<Option<f64>, ImportError> {
        let at = keys.iter().find_map(|key| self.headings.iter().position(|heading| heading == key));
        let text = at.map(|at| self.fields[at].trim()).filter(|text| !text.is_empty());
        text.map(|text| self.source.number(self.line, text)).transpose()
    }
    fn wanted(&self, key: &str) -> Result<f64, ImportError> {
        self.get(&[key])?.ok_or_else(|| self.source.error(self.line, format!("{key} is missing")))
    }
}

fn load(row: &Row<'_>, lines: &[Line]) -> Result<Told, ImportError> {
    let (read_iops, write_iops) = (row.wanted("Read IOps")?, row.wanted("Write IOps")?);
    let (reads, writes) = (row.wanted("Read I/Os")?, row.wanted("Write I/Os")?);
    let seconds = if read_iops + write_iops > 0.0 { (reads + writes) / (read_iops + write_iops) } else { 0.0 };
    let (read_bytes, write_bytes) = (row.wanted("Bytes Read")?, row.wanted("Bytes Written")?);
    check_rate(row, (read_bytes + write_bytes) / seconds.max(1e-9))?;
    let mut unknown = Vec::new();
    let targets = row.get(&["# Disks"])?.unwrap_or(1.0).max(1.0);
    let workers = row.get(&["# Workers"])?.unwrap_or(1.0).max(1.0);
    let outstanding = row.get(&["Queue Depth"])?.unwrap_or(1.0).max(1.0) * targets;
    let depth = (outstanding / workers).round().max(1.0);
    if (depth * workers - outstanding).abs() > 0.5 {
        unknown.push(format!(
            "{outstanding:.0} requests were outstanding over {workers:.0} workers, which do not share them evenly"
        ));
    }
    let total: f64 = lines.iter().map(|line| line.share).sum();
    if lines.is_empty() || (total - 1.0).abs() > 0.01 {
        return Err(row
            .source
            .error(row.line, format!("the access specification {} does not add up to 100 %", row.name)));
    }
    let weighted = |of: fn(&Line) -> f64| lines.iter().map(|line| line.share * of(line)).sum::<f64>();
    let random = weighted(|line| line.random);
    let shape = Shape {
        is_random: random > 0.5,
        reads: weighted(|line| line.reads),
        block: lines[0].size as u64,
        depth: depth as u64,
        threads: workers as u64,
        is_buffered: false,
    };
    let mut told = Told::new(&row.name, "told", &shape);
    if lines.len() > 1 {
        told.spec.blocks = blocks(lines);
    }
    if random > 0.001 && random < 0.999 {
        unknown.push(format!("{:.0} % of its requests fell anywhere, the rest in order", random * 100.0));
    }
    if lines.iter().any(|line| line.delay_ms > 0.0) {
        unknown.push(
            "It waited between bursts of requests (delay, burst): fewer than the depth were outstanding".to_owned(),
        );
    }
    told.seconds = seconds;
    let of = |count: f64, bytes: f64, mean: &str, max: &str| -> Result<Figures, ImportError> {
        let own = match (row.get(&[mean])?, row.get(&[max])?) {
            (Some(mean), Some(max)) if count > 0.0 => latency(mean * 1e6, None, max * 1e6),
            _ => None,
        };
        Ok(Figures { count: count as u64, bytes: bytes as u64, latency: own })
    };
    told.operations = vec![
        (Operation::Read, of(reads, read_bytes, "Average Read Response Time", "Maximum Read Response Time")?),
        (Operation::Write, of(writes, write_bytes, "Average Write Response Time", "Maximum Write Response Time")?),
    ];
    if let Some(errors) = row.get(&["Errors"])?.filter(|errors| *errors > 0.0) {
        unknown.push(format!("{errors:.0} requests failed"));
    }
    told.unknown = unknown;
    Ok(told)
}

/// The rate by its heading, of whichever generation, against the bytes.
fn check_rate(row: &Row<'_>, bytes_per_s: f64) -> Result<(), ImportError> {
    let mib = row.get(&["MiBps (Binary)", "MBps (Binary)", "MBps"])?;
    let Some(printed) = mib.map(|mib| mib * 1_048_576.0).filter(|printed| *printed > 0.0) else { return Ok(()) };
    if (printed / bytes_per_s - 1.0).abs() > SAME {
        let message =
            format!("{printed:.0} bytes/s by its rate and {bytes_per_s:.0} by its bytes: the figures do not fit");
        return Err(row.source.error(row.line, message));
    }
    Ok(())
}

fn blocks(lines: &[Line]) -> Vec<BlockShare> {
    let mut rest = Ratio::ONE.as_ppm();
    let last = lines.len() - 1;
    let share = |index: usize, line: &Line, rest: &mut u32| {
        let own = if index == last { *rest } else { ((line.share * 1e6).round() as u32).min(*rest) };
        *rest -= own;
        BlockShare { size: Bytes::new(line.size as u64), share: Ratio::ppm(own).unwrap_or_default() }
    };
    lines.iter().enumerate().map(|(index, line)| share(index, line, &mut rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: [(&str, &str); 3] = [
        ("2004.07.30", include_str!("../tests/corpus/iometer-2004.csv")),
        ("1.1.0", include_str!("../tests/corpus/iometer-1.1.csv")),
        ("1.1.0", include_str!("../tests/corpus/iometer-new.csv")),
    ];

    fn source(text: &str) -> Source<'_> {
        Source { text, name: "a.csv", written_unix_s: 0 }
    }

    #[test]
    fn every_generation_of_headings_has_the_same_figures() {
        for (version, text) in FILES {
            let results = read(source(text)).unwrap();
            assert_eq!((results.version.as_deref(), results.left_out.len()), (Some(version), 0));
            let first = &results.jobs[0];
            let figures = first.trial.of(Operation::Read).unwrap().figures().unwrap();
            assert_eq!(
                (first.name.as_str(), first.trial.count(), first.trial.bytes()),
                ("8K read", 15_360, 125_829_120)
            );
            assert_eq!((first.trial.iops(), first.trial.bytes_per_s()), (Some(512.0), Some(4.0 * 1_048_576.0)));
            assert_eq!((figures.mean, figures.min, figures.max), (1_951_000.0, None, 11_706_000));
            assert_eq!((first.spec.outstanding(), first.trial.started_unix_s), (Some(1), 1_714_979_289));
            let rows = text.lines().filter(|line| line.starts_with("ALL,")).count();
            assert_eq!(results.jobs.len(), rows, "one for each test");
            for (job, row) in results.jobs.iter().zip(text.lines().filter(|line| line.starts_with("ALL,"))) {
                let printed: f64 = row.split(',').nth(6).unwrap().parse().unwrap();
                assert!((job.trial.iops().unwrap() - printed).abs() < 1e-6, "{row}");
            }
        }
    }

    #[test]
    fn names_with_commas_and_mixes_of_sizes_are_taken() {
        let (_, text) = FILES[0];
        let named = text.replace("8K read", "8K read, all, of it");
        assert_eq!(read(source(&named)).unwrap().jobs[0].name, "8K read, all, of it");
        let mixed = text.replacen("8192,100,100,100,0,1,0,0", "4096,50,100,100,0,1,0,0\r\n12288,50,100,100,0,1,0,0", 1);
        let job = &read(source(&mixed)).unwrap().jobs[0];
        assert_eq!((job.spec.blocks.len(), job.spec.check()), (2, Ok(())));
        let wrong = text.replacen(
            "512.000000,512.000000,0.000000,4.000000,4.000000",
            "512.000000,512.000000,0.000000,9.000000,9.000000",
            1,
        );
        assert!(read(source(&wrong)).unwrap_err().to_string().contains("do not fit"));
        let comma = text.replacen("8192,100,100,100", "8192,50,100,100", 1);
        assert!(read(source(&comma)).unwrap_err().to_string().contains("100 %"));
    }
}
