//! diskspd of Windows as XML and as text, and the diskspd of Linux, which is another program with a like text.

use crate::told::{Figures, Shape, Source, Told, between, leading, results, time_in, unit_bytes};
use crate::xml::{self, Element};
use crate::{ImportError, Results};
use loadline_block::Operation;
use loadline_record::{HistogramSnapshot, Second, SecondOperation, Series};
use loadline_units::Iops;
use loadline_workload::Arrival;
use std::collections::BTreeMap;

/// Targets of one time span.
const TARGETS_MAX: usize = 1_000;
/// Intervals of one time span.
const INTERVALS_MAX: usize = 86_000;
/// What threads do that begin apart.
const STRETCHES: &str = "Each thread began in a stretch of its own and went on from there through the whole file";
/// A percentile is the one wanted within this.
const NEAR: f64 = 1e-6;

/// What stands before the results of a run that was ended early.
const ENDED: &str = "*** Interrupted by Ctrl-C";

/// Whether a text is diskspd's XML.
pub(crate) fn is_xml(text: &str) -> bool {
    let begin = text.trim_start();
    (begin.starts_with('<') || begin.starts_with(ENDED)) && text.contains("<Results>") && text.contains("<TimeSpan>")
}

/// Whether a text is what diskspd prints.
pub(crate) fn is_text(text: &str) -> bool {
    let has = |begin: &str| text.lines().any(|line| line.trim_start().starts_with(begin));
    (has("Results for timespan") || has("Results for job")) && has("Input parameters") && has("Total IO")
}

/// A note where the run was ended early.
fn ended(text: &str) -> Vec<String> {
    let note = "it was ended by Ctrl-C, and its figures are of the time until then";
    text.trim_start().starts_with(ENDED).then(|| note.to_owned()).into_iter().collect()
}

/// Reads diskspd's XML.
pub(crate) fn read_xml(source: Source<'_>) -> Result<Results, ImportError> {
    let top = xml::parse(source)?;
    let system = top.child("System");
    let version = system.and_then(|system| system.child("Tool")?.text_of("Version"));
    let began = system.and_then(|system| time_in(system.text_of("RunTime")?));
    let asked = top.child("Profile").and_then(|profile| profile.child("TimeSpans"));
    let asked: Vec<&Element> = asked.map(|spans| spans.all("TimeSpan").collect()).unwrap_or_default();
    let found: Vec<&Element> = top.all("TimeSpan").collect();
    if asked.len() != found.len() {
        let message = format!("{} time spans were asked for, and {} have figures", asked.len(), found.len());
        return Err(source.error(0, message));
    }
    let mut loads = Vec::new();
    let mut elapsed_s = 0.0;
    for (asked, found) in asked.into_iter().zip(found) {
        span(source, asked, found, began.map(|s| s as f64 + elapsed_s), &mut loads)?;
        let number = |element: &Element, key: &str| element.text_of(key).map_or(Ok(0.0), |text| source.number(0, text));
        elapsed_s += number(asked, "Warmup")? + number(asked, "Duration")? + number(asked, "Cooldown")?;
    }
    results(source, "diskspd", version, loads, ended(source.text))
}

/// One time span: a load for each of its targets.
fn span(
    source: Source<'_>,
    asked: &Element,
    found: &Element,
    began: Option<f64>,
    loads: &mut Vec<Told>,
) -> Result<(), ImportError> {
    let number = |element: &Element, key: &str| element.text_of(key).map(|text| source.number(0, text)).transpose();
    let seconds = number(found, "TestTimeSeconds")?.ok_or_else(|| source.error(0, "TestTimeSeconds is missing"))?;
    let targets: Vec<&Element> =
        asked.child("Targets").map(|targets| targets.all("Target").collect()).unwrap_or_default();
    if targets.len() > TARGETS_MAX {
        return Err(source.error(0, format!("more than {TARGETS_MAX} targets")));
    }
    let of_span = number(asked, "ThreadCount")?.filter(|threads| *threads > 0.0);
    let latency = found.child("Latency").map(|latency| percentiles(source, latency)).transpose()?;
    for target in &targets {
        let path = target.text_of("Path").unwrap_or("not told");
        let wanted =
            |key: &str| number(target, key)?.ok_or_else(|| source.error(0, format!("{key} of {path} is missing")));
        let writes = wanted("WriteRatio")?.min(100.0) / 100.0;
        let shape = Shape {
            is_random: target.text_of("Random").is_some(),
            reads: 1.0 - writes,
            block: wanted("BlockSize")? as u64,
            depth: wanted("RequestCount")?.max(1.0) as u64,
            threads: of_span.map_or_else(|| wanted("ThreadsPerFile"), Ok)?.max(1.0) as u64,
            is_buffered: target.text_of("DisableOSCache") != Some("true")
                && target.text_of("DisableAllCache") != Some("true"),
        };
        let mut told = Told::new(path, "IOCP", &shape);
        told.target = Some(path.to_owned());
        told.seconds = seconds;
        told.warm_up_s = number(asked, "Warmup")?.unwrap_or(0.0);
        told.began_ms = began.map(|s| ((s + told.warm_up_s) * 1e3) as u64);
        let (mut reads, mut written) = (Figures::default(), Figures::default());
        let own =
            found.all("Thread").flat_map(|thread| thread.all("Target")).filter(|own| own.text_of("Path") == Some(path));
        for own in own {
            for (figures, count, bytes) in
                [(&mut reads, "ReadCount", "ReadBytes"), (&mut written, "WriteCount", "WriteBytes")]
            {
                figures.count += number(own, count)?.unwrap_or(0.0) as u64;
                figures.bytes += number(own, bytes)?.unwrap_or(0.0) as u64;
            }
        }
        if targets.len() == 1 {
            let (of_reads, of_writes, _) = latency.unwrap_or_default();
            (reads.latency, written.latency) = (of_reads, of_writes);
            told.series = series(source, found, &shape, seconds)?;
        } else {
            told.unknown.push(format!("{} other targets were asked at the same time", targets.len() - 1));
            told.unknown.push("Latencies are reported for all targets together, not for this one".to_owned());
        }
        if let Some(rate) = number(target, "Throughput")?.filter(|rate| *rate > 0.0) {
            let is_iops = target.child("Throughput").and_then(|own| own.attribute("unit")) == Some("IOPS");
            hold(&mut told, &shape, rate, is_iops);
        }
        if !shape.is_random && shape.threads > 1 && target.text_of("InterlockedSequential") != Some("true") {
            match target.text_of("ThreadStride") {
                Some("0") => told.spec.overlap = true,
                Some(_) => told.unknown.push(STRETCHES.to_owned()),
                None => {}
            }
        }
        told.operations = vec![(Operation::Read, reads), (Operation::Write, written)];
        loads.push(told);
    }
    Ok(())
}

/// Holds a load to a rate of each thread: requests per second, or bytes per millisecond.
fn hold(told: &mut Told, shape: &Shape, rate: f64, is_iops: bool) {
    if let Arrival::Closed { rate_max, .. } = &mut told.spec.arrival {
        let each = if is_iops { rate } else { rate * 1e3 / shape.block.max(1) as f64 };
        *rate_max = Iops::per_second((each * shape.threads as f64).round() as u64);
    }
}

type Latencies = (Option<HistogramSnapshot>, Option<HistogramSnapshot>, Option<HistogramSnapshot>);

/// Latencies of reads, of writes, and of all: from milliseconds.
fn percentiles(source: Source<'_>, latency: &Element) -> Result<Latencies, ImportError> {
    let of = |name: &str| -> Result<Option<HistogramSnapshot>, ImportError> {
        let Some(mean) = latency.text_of(&format!("Average{name}Milliseconds")) else { return Ok(None) };
        let mut points = Vec::new();
        for bucket in latency.all("Bucket") {
            let share = bucket.text_of("Percentile").map(|text| source.number(0, text)).transpose()?;
            let ms = bucket.text_of(&format!("{name}Milliseconds")).map(|text| source.number(0, text)).transpose()?;
            points.extend(share.zip(ms));
        }
        Ok(snapshot(source.number(0, mean)?, &points))
    };
    Ok((of("Read")?, of("Write")?, of("Total")?))
}

/// Figures out of a mean and percentiles in milliseconds, by their share in percent.
fn snapshot(mean_ms: f64, points: &[(f64, f64)]) -> Option<HistogramSnapshot> {
    let at = |wanted: f64| {
        let found = points.iter().find(|(share, _)| (share - wanted).abs() < NEAR);
        found.map(|(_, ms)| (ms * 1e6).round() as u64)
    };
    let max = at(100.0)?;
    (mean_ms > 0.0 && mean_ms * 1e6 <= max as f64 * 1.001).then(|| HistogramSnapshot {
        mean: mean_ms * 1e6,
        stddev: None,
        min: at(0.0),
        p50: at(50.0),
        p90: at(90.0),
        p95: at(95.0),
        p99: at(99.0),
        p99_9: at(99.9),
        p99_99: at(99.99),
        max,
    })
}

/// The seconds of `-D`, where its intervals are seconds.
fn series(source: Source<'_>, found: &Element, shape: &Shape, seconds: f64) -> Result<Series, ImportError> {
    let Some(iops) = found.child("Iops") else { return Ok(Series::default()) };
    let mut series = Series::default();
    for (index, bucket) in iops.all("Bucket").take(INTERVALS_MAX).enumerate() {
        let number = |key: &str| bucket.attribute(key).map_or(Ok(0.0), |text| source.number(0, text));
        if (number("SampleMillisecond")? - (index + 1) as f64 * 1e3).abs() > 0.5 {
            return Ok(Series::default());
        }
        let mut second = Second::default();
        for (operation, key) in [(Operation::Read, "Read"), (Operation::Write, "Write")] {
            let count = number(key)? as u64;
            second.operations[operation.index()] = SecondOperation {
                count,
                bytes: count.saturating_mul(shape.block),
                max_ns: (number(&format!("{key}MaxLatencyMilliseconds"))? * 1e6) as u64,
                ..SecondOperation::default()
            };
        }
        series.seconds.push(second);
    }
    let covered = seconds - (series.seconds.len().max(1) - 1) as f64;
    series.last_ns = (covered.clamp(0.0, 1.0) * 1e9) as u64;
    Ok(series)
}

/// What is asked of a target, as the text tells it.
#[derive(Debug, Clone, Default)]
struct Asked {
    path: String,
    block: Option<f64>,
    is_random: Option<bool>,
    reads: Option<f64>,
    outstanding: Option<f64>,
    threads: Option<f64>,
    is_direct: bool,
    /// What each thread is held to, and whether that is in requests per second rather than in bytes per millisecond.
    rate: Option<(f64, bool)>,
    /// "mixed", "interlocked sequential": sequential in a way of its own.
    sequential: Option<String>,
}

/// A table of the text: by file, requests and bytes, and the mean latency of all in ms.
#[derive(Debug, Clone, Default)]
struct Table {
    files: BTreeMap<String, (u64, u64)>,
    mean_ms: Option<f64>,
}

/// A row of the table of percentiles: share in percent, reads and writes in ms.
type Point = (f64, Option<f64>, Option<f64>);

/// A time span of the text.
#[derive(Debug, Clone, Default)]
struct Span {
    targets: Vec<Asked>,
    warm_up: f64,
    threads: Option<f64>,
    seconds: Option<f64>,
    tables: BTreeMap<&'static str, Table>,
    /// Rows of the table of percentiles.
    points: Vec<Point>,
}

/// Reads diskspd's text.
pub(crate) fn read_text(source: Source<'_>) -> Result<Results, ImportError> {
    let is_linux = source.text.contains("Results for job");
    let mut spans: Vec<Span> = Vec::new();
    let mut began = None;
    let (mut table, mut headings): (Option<&'static str>, Vec<String>) = (None, Vec::new());
    // Results name the span that they are of.
    let mut own = 0;
    for (line, text) in source.lines() {
        let trimmed = text.trim();
        if let Some(title) = ["Total IO", "Read IO", "Write IO"].into_iter().find(|title| trimmed == *title) {
            (table, headings) = (Some(title), Vec::new());
            continue;
        }
        if text.contains('|') {
            let mut fields: Vec<&str> = trimmed.split('|').map(str::trim).collect();
            if let Some(bytes) = fields[0].strip_prefix("total:") {
                // No bar stands between its name and its bytes.
                fields[0] = bytes.trim();
                fields.insert(0, "total:");
            }
            if fields[0] == "thread" || fields[0] == "%-ile" {
                headings = fields.iter().map(|field| (*field).to_owned()).collect();
                table = if fields[0] == "%-ile" { Some("%-ile") } else { table };
            } else if let (Some(title), Some(span)) = (table, spans.get_mut(own)) {
                row(source, line, title, &headings, &fields, span)?;
            }
            continue;
        }
        let (key, value) = trimmed.split_once(':').unwrap_or((trimmed, ""));
        let value = value.trim();
        let number = || {
            leading(value)
                .ok_or_else(|| source.error(line, "has no figure"))
                .and_then(|(text, _)| source.number(line, text))
        };
        if (key == "timespan" || key == "job") && !value.is_empty() {
            spans.push(Span::default());
            if spans.len() > TARGETS_MAX {
                return Err(source.error(line, format!("more than {TARGETS_MAX} time spans")));
            }
        } else if let Some(place) =
            key.strip_prefix("Results for timespan ").or_else(|| key.strip_prefix("Results for job "))
        {
            own = (source.number(line, place)? as usize).saturating_sub(1);
        } else if key == "start time" {
            began = time_in(value);
        } else if let (Some(_), true) =
            (trimmed.strip_prefix("actual test time").or_else(|| trimmed.strip_prefix("test time")), own < spans.len())
        {
            spans[own].seconds = Some(number()?);
        } else if let Some(span) = spans.last_mut() {
            asked(source, line, trimmed, span)?;
        }
    }
    let mut loads = Vec::new();
    for span in &spans {
        span.loads(source, began, is_linux, &mut loads)?;
    }
    let tool = if is_linux { "diskspd for Linux" } else { "diskspd" };
    let mut notes = vec!["the text does not tell the version".to_owned()];
    if began.is_none() {
        notes.push("the file's own time is taken".to_owned());
    }
    notes.extend(ended(source.text));
    results(source, tool, None, loads, notes)
}

/// A line of what was asked.
fn asked(source: Source<'_>, line: usize, text: &str, span: &mut Span) -> Result<(), ImportError> {
    let figure = |text: &str| -> Result<f64, ImportError> {
        let (number, rest) = leading(text).ok_or_else(|| source.error(line, "has no figure"))?;
        let unit: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
        Ok(source.number(line, number)? * unit_bytes(&unit, false).unwrap_or(1.0))
    };
    if let Some(path) = text.strip_prefix("path: ") {
        if span.targets.len() >= TARGETS_MAX {
            return Err(source.error(line, format!("more than {TARGETS_MAX} targets")));
        }
        span.targets.push(Asked { path: path.trim_matches('\'').to_owned(), ..Asked::default() });
        return Ok(());
    }
    if let Some(seconds) = text.strip_prefix("warm up time: ") {
        span.warm_up = figure(seconds.split('s').next().unwrap_or(seconds))?;
    } else if let Some(threads) = text.strip_prefix("total threads: ").or_else(|| text.strip_prefix("thread count:")) {
        span.threads = Some(figure(threads)?);
    }
    let Some(target) = span.targets.last_mut() else { return Ok(()) };
    if let Some(size) = text.strip_prefix("block size: ") {
        target.block = Some(figure(size)?);
    } else if text.starts_with("number of outstanding I/O operations") {
        target.outstanding = Some(figure(text.split_once(':').map_or("", |(_, rest)| rest))?);
    } else if let Some(threads) = text.strip_prefix("threads per file: ") {
        target.threads = Some(figure(threads)?);
    } else if text.starts_with("using random I/O") {
        target.is_random = Some(true);
    } else if text.starts_with("using ") && text.contains("sequential I/O") {
        target.is_random = Some(false);
        target.sequential = text.strip_prefix("using ").and_then(|rest| rest.split(" I/O").next()).map(str::to_owned);
    } else if text.starts_with("using mixed") {
        target.is_random = Some(true);
        target.sequential = Some(text.to_owned());
    } else if let Some(ratio) = between(text, "read/write ratio: ", "/") {
        target.reads = Some(source.number(line, ratio)?.min(100.0) / 100.0);
    } else if text == "performing read test" {
        target.reads = Some(1.0);
    } else if text == "performing write test" {
        target.reads = Some(0.0);
    } else if let Some(rate) = text.strip_prefix("throughput rate-limited to ") {
        let (number, unit) = leading(rate).ok_or_else(|| source.error(line, "has no figure"))?;
        target.rate = Some((source.number(line, number)?, unit.trim() == "IOPS"));
    } else if text == "software cache disabled" || text == "using O_DIRECT" {
        target.is_direct = true;
    }
    Ok(())
}

/// A row of a table.
fn row(
    source: Source<'_>,
    line: usize,
    title: &'static str,
    headings: &[String],
    fields: &[&str],
    span: &mut Span,
) -> Result<(), ImportError> {
    let get =
        |wanted: &str| headings.iter().position(|heading| heading == wanted).and_then(|at| fields.get(at)).copied();
    if title == "%-ile" {
        let share = match fields[0] {
            "min" => 0.0,
            "max" => 100.0,
            text if text.ends_with("th") => source.number(line, text.trim_end_matches("th"))?,
            text => {
                let Some(nines) = text.strip_suffix("-nines").and_then(|nines| nines.parse::<i32>().ok()) else {
                    return Ok(());
                };
                100.0 - 100.0 / 10_f64.powi(nines)
            }
        };
        let ms = |key: &str| {
            get(key).filter(|text| *text != "N/A" && !text.is_empty()).map(|text| source.number(line, text)).transpose()
        };
        span.points.push((share, ms("Read (ms)")?, ms("Write (ms)")?));
        return Ok(());
    }
    let table = span.tables.entry(title).or_default();
    if fields[0].starts_with("total:") {
        table.mean_ms = get("AvgLat")
            .filter(|text| !text.is_empty() && *text != "N/A")
            .map(|text| source.number(line, text))
            .transpose()?;
        return Ok(());
    }
    let (Some(bytes), Some(count), Some(file)) = (get("bytes"), get("I/Os"), get("file")) else { return Ok(()) };
    let own = table.files.entry(file.rsplit_once(" (").map_or(file, |(path, _)| path).to_owned()).or_default();
    own.0 = own.0.saturating_add(source.number(line, count)? as u64);
    own.1 = own.1.saturating_add(source.number(line, bytes)? as u64);
    Ok(())
}

impl Span {
    fn loads(
        &self,
        source: Source<'_>,
        began: Option<u64>,
        is_linux: bool,
        loads: &mut Vec<Told>,
    ) -> Result<(), ImportError> {
        let seconds = self.seconds.ok_or_else(|| source.error(0, "a time span does not tell how long it took"))?;
        for target in &self.targets {
            let wanted = |what: &str, figure: Option<f64>| {
                figure.ok_or_else(|| source.error(0, format!("{what} of {} is not told", target.path)))
            };
            let threads = target.threads.filter(|threads| *threads > 0.0).or(self.threads).unwrap_or(1.0);
            let shape = Shape {
                is_random: target.is_random.ok_or_else(|| {
                    source.error(0, format!("whether {} is random or sequential is not told", target.path))
                })?,
                reads: wanted("the share of reads", target.reads)?,
                block: wanted("the block size", target.block)? as u64,
                depth: wanted("the depth", target.outstanding)?.max(1.0) as u64,
                threads: threads as u64,
                is_buffered: !target.is_direct,
            };
            let mut told = Told::new(&target.path, if is_linux { "told" } else { "IOCP" }, &shape);
            told.target = Some(target.path.clone());
            told.seconds = seconds;
            told.warm_up_s = self.warm_up;
            if let Some((rate, is_iops)) = target.rate.filter(|(rate, _)| *rate > 0.0) {
                hold(&mut told, &shape, rate, is_iops);
            }
            told.began_ms = began.map(|s| ((s as f64 + self.warm_up) * 1e3) as u64);
            let of = |title: &str| self.tables.get(title);
            let figures = |title: &str| of(title).and_then(|table| table.files.get(&target.path)).copied();
            let is_one = self.targets.len() == 1;
            let latency = |title: &str, column: fn(&Point) -> Option<f64>| {
                let mean = of(title)?.mean_ms.filter(|_| is_one)?;
                let points: Vec<(f64, f64)> =
                    self.points.iter().filter_map(|point| Some((point.0, column(point)?))).collect();
                snapshot(mean, &points)
            };
            let put = |(count, bytes): (u64, u64), latency| Figures { count, bytes, latency };
            told.operations = match (figures("Read IO"), figures("Write IO"), figures("Total IO")) {
                (Some(reads), Some(writes), _) => vec![
                    (Operation::Read, put(reads, latency("Read IO", |point| point.1))),
                    (Operation::Write, put(writes, latency("Write IO", |point| point.2))),
                ],
                // One table alone tells of one direction.
                (_, _, Some(all)) if shape.reads >= 1.0 => {
                    vec![(Operation::Read, put(all, latency("Total IO", |point| point.1)))]
                }
                (_, _, Some(all)) if shape.reads <= 0.0 => {
                    vec![(Operation::Write, put(all, latency("Total IO", |point| point.2)))]
                }
                _ => return Err(source.error(0, format!("the figures of {} are missing", target.path))),
            };
            if !is_one {
                told.unknown.push(format!("{} other targets were asked at the same time", self.targets.len() - 1));
                told.unknown.push("Latencies are reported for all targets together, not for this one".to_owned());
            }
            if let Some(kind) = target.sequential.as_deref().filter(|kind| *kind != "sequential") {
                told.unknown.push(format!("Its requests were \"{kind}\""));
            }
            if is_linux {
                told.unknown.push("Its \"MB/s\" are MiB/s; the engine is not told".to_owned());
            }
            loads.push(told);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    fn source(text: &str) -> Source<'_> {
        Source { text, name: "a", written_unix_s: 0 }
    }

    fn figures(job: &Job, operation: Operation) -> (u64, u64, [Option<u64>; 5], u64) {
        let record = job.trial.of(operation).unwrap();
        let own = record.figures().unwrap();
        (record.count, record.bytes, [own.min, own.p50, own.p95, own.p99, own.p99_9], own.max)
    }

    #[test]
    fn xml_has_its_load_latencies_and_seconds() {
        let results = read_xml(source(include_str!("../tests/corpus/diskspd-2.0.xml"))).unwrap();
        assert_eq!(
            (results.tool.as_str(), results.version.as_deref(), results.jobs.len()),
            ("diskspd", Some("2.0.21a"), 1)
        );
        let job = &results.jobs[0];
        let reads = [310_000, 3_700_000, 5_800_000, 7_100_000, 11_200_000].map(Some);
        assert_eq!(figures(job, Operation::Read), (4200, 34_406_400, reads, 24_000_000));
        assert_eq!(
            figures(job, Operation::Write),
            (1800, 14_745_600, [520_000, 4_300_000, 6_900_000, 8_800_000, 14_100_000].map(Some), 27_300_000)
        );
        assert_eq!(
            (job.spec.reads.as_f64(), job.spec.outstanding(), job.spec.blocks[0].size.get()),
            (0.7, Some(8), 8192)
        );
        assert_eq!(
            (job.trial.measured_ns, job.trial.warm_up_ns, job.spec.buffered),
            (3_000_000_000, 1_000_000_000, false)
        );
        assert_eq!(job.trial.series.iops().collect::<Vec<_>>(), [2000.0, 1994.0, 2006.0]);
        assert_eq!((job.target.as_deref(), job.trial.started_unix_s), (Some("D:\\io.dat"), 1_714_979_290));
    }

    #[test]
    fn rates_have_two_units_and_threads_that_begin_at_one_place_overlap() {
        let whole = include_str!("../tests/corpus/diskspd-2.0.xml").replace("<ThreadsPerFile>1<", "<ThreadsPerFile>2<");
        let read = |text: &str| read_xml(source(text)).unwrap().jobs.remove(0);
        let rate = |throughput: &str| match read(&whole.replace("<Throughput>0<", throughput)).spec.arrival {
            Arrival::Closed { rate_max, .. } => rate_max.map(Iops::get),
            other => panic!("{other:?}"),
        };
        assert_eq!(rate("<Throughput unit=\"IOPS\">200<"), Some(400));
        assert_eq!(rate("<Throughput>8192<"), Some(2_000));
        assert_eq!(rate("<Throughput>0<"), None);
        let sequential = |stride: &str| {
            read(&whole.replace("<Random>8192</Random>", &format!("<StrideSize>8192</StrideSize>{stride}")))
        };
        let overlaps = |stride: &str| sequential(stride).spec.overlap;
        assert!(
            overlaps("<ThreadStride>0</ThreadStride>")
                && !overlaps("<ThreadStride>8192</ThreadStride>")
                && !overlaps("")
        );
        assert!(!overlaps("<InterlockedSequential>true</InterlockedSequential><ThreadStride>0</ThreadStride>"));
        assert!(sequential("<ThreadStride>8192</ThreadStride>").unknown.contains(&STRETCHES.to_owned()));
    }

    #[test]
    fn texts_of_every_version_have_the_same_figures() {
        let reads = [310_000, 3_700_000, 5_800_000, 7_100_000, 11_200_000].map(Some);
        let writes = [520_000, 4_300_000, 6_900_000, 8_800_000, 14_100_000].map(Some);
        for text in [include_str!("../tests/corpus/diskspd-2.0.txt"), include_str!("../tests/corpus/diskspd-2.2.txt")] {
            let results = read_text(source(text)).unwrap();
            assert_eq!((results.jobs.len(), results.left_out.len()), (1, 0));
            let job = &results.jobs[0];
            assert_eq!(figures(job, Operation::Read), (168_011, 1_376_346_112, reads, 24_000_000));
            assert_eq!(figures(job, Operation::Write), (71_990, 589_742_080, writes, 27_300_000));
            assert_eq!(format!("{:.2}", job.trial.iops().unwrap()), "3999.35");
            assert_eq!(format!("{:.2}", job.trial.bytes_per_s().unwrap() / 1_048_576.0), "31.24");
            assert_eq!(
                (job.spec.outstanding(), job.spec.threads, job.trial.measured_ns),
                (Some(16), 2, 60_010_000_000)
            );
            let mean = job.trial.of(Operation::Write).unwrap().figures().unwrap().mean;
            assert_eq!((mean, job.trial.started_unix_s), (4_464_000.0, 1_714_979_304));
        }
    }

    #[test]
    fn the_program_of_linux_has_its_own_headings() {
        let results = read_text(source(include_str!("../tests/corpus/diskspd-linux.txt"))).unwrap();
        let job = &results.jobs[0];
        assert_eq!(
            (results.tool.as_str(), job.trial.count(), job.trial.bytes()),
            ("diskspd for Linux", 59_940, 3_928_227_840)
        );
        assert_eq!((job.trial.iops(), job.spec.outstanding(), job.spec.reads.as_f64()), (Some(1998.0), Some(32), 1.0));
        // Printed 124.88: 124.875.
        assert!((job.trial.bytes_per_s().unwrap() / 1_048_576.0 - 124.875).abs() < 1e-9);
    }

    #[test]
    fn a_comma_or_a_missing_part_is_refused() {
        let text = include_str!("../tests/corpus/diskspd-2.0.txt");
        let comma = text.replace("    3.800 |", "    3,800 |");
        assert!(read_text(source(&comma)).unwrap_err().to_string().contains("a comma"));
        let missing = text.replace("block size: 8192", "block:");
        assert!(
            read_text(source(&missing)).unwrap_err().to_string().contains("the block size of D:\\io.dat is not told")
        );
    }
}
