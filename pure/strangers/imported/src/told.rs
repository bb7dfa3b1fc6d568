//! Loads as tools report them in their own words: figures with their place, and the way to a job.

use crate::{ImportError, Job, LeftOut, Results, consistency};
use loadline_block::Operation;
use loadline_record::{EngineUsed, HistogramSnapshot, OperationRecord, Series, Surroundings, TrialRecord};
use loadline_units::{Bytes, Date, Duration, Ratio, SECTOR};
use loadline_workload::{Arrival, BlockShare, Distribution, LoadSpec, Pattern};

/// Figures from here on are none of a measurement.
const FIGURE_MAX: f64 = 2_251_799_813_685_248.0;
/// Lines of a text that are read.
pub(crate) const LINES_MAX: usize = 4_000_000;
/// Loads that one file may hold: each is held against the others.
pub(crate) const LOADS_MAX: usize = 10_000;
/// The longest measurement, s.
const SECONDS_MAX: f64 = 1e9;

/// A text with its name and the time of its file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) text: &'a str,
    pub(crate) name: &'a str,
    /// Seconds since 1970.
    pub(crate) written_unix_s: u64,
}

impl<'a> Source<'a> {
    /// Lines with their number from 1, without the end of a line of Windows.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        self.text.lines().take(LINES_MAX).enumerate().map(|(index, line)| (index + 1, line.trim_end_matches('\r')))
    }
    /// The problem with a line.
    pub(crate) fn error(&self, line: usize, message: impl Into<String>) -> ImportError {
        let place = if line == 0 { "the text".to_owned() } else { format!("line {line}") };
        ImportError::Value { source_name: self.name.to_owned(), place, message: message.into() }
    }
    /// Adds a load, of which a file has [`LOADS_MAX`]: what is beyond them takes no memory first.
    pub(crate) fn push(&self, loads: &mut Vec<Told>, line: usize, load: Told) -> Result<(), ImportError> {
        if loads.len() >= LOADS_MAX {
            return Err(self.error(line, format!("more than {LOADS_MAX} loads are in it: import parts of it")));
        }
        loads.push(load);
        Ok(())
    }
    /// A number that is not negative, with a decimal point.
    pub(crate) fn number(&self, line: usize, text: &str) -> Result<f64, ImportError> {
        let text = text.trim();
        if text.contains(',') {
            let message = format!(
                "{}: a comma in a number, which may stand for a decimal point or between thousands; write the results with LC_ALL=C",
                shortened(text)
            );
            return Err(self.error(line, message));
        }
        let is_plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let number = text.parse::<f64>().ok().filter(|number| is_plain && number.is_finite() && *number < FIGURE_MAX);
        number.ok_or_else(|| self.error(line, format!("{} is no figure that can be", shortened(text))))
    }
}

/// A text short enough for a line.
fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 40;
    if text.chars().count() <= LENGTH_MAX {
        text.to_owned()
    } else {
        text.chars().take(LENGTH_MAX).chain(['…']).collect()
    }
}

/// The number at the beginning of a text, and what follows it without blanks.
pub(crate) fn leading(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    // A comma at the end closes the number.
    let end = text[..end].trim_end_matches(',').len();
    (end > 0).then(|| (&text[..end], text[end..].trim_start()))
}

/// What stands behind `mark`.
pub(crate) fn after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.find(mark).map(|at| &text[at + mark.len()..])
}

/// What stands between two marks.
pub(crate) fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let rest = after(text, begin)?;
    rest.find(end).map(|at| &rest[..at])
}

/// Bytes of a unit: `KiB`, `KB`, `k` and the like are binary unless `is_decimal`.
pub(crate) fn unit_bytes(unit: &str, is_decimal: bool) -> Option<f64> {
    let unit = unit.trim().trim_end_matches("/s").to_ascii_lowercase();
    let base: f64 = if is_decimal && !unit.contains('i') { 1000.0 } else { 1024.0 };
    let power = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" | "bytes" | "byte" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    Some(base.powi(power))
}

/// Seconds since 1970 of a time in UTC; `None` of what is none.
pub(crate) fn unix_s(year: u64, month: u64, day: u64, time: (u64, u64, u64)) -> Option<u64> {
    let signed = |part| i64::try_from(part).ok();
    let date = Date::new(signed(year)?, signed(month)?, signed(day)?)?;
    date.unix_s(signed(time.0)?, signed(time.1)?, signed(time.2)?).filter(|_| year <= 9999)?.try_into().ok()
}

/// The number of a month by its English name, cut to three letters or not.
pub(crate) fn month(name: &str) -> Option<u64> {
    const NAMES: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    NAMES.iter().position(|short| name.starts_with(short)).map(|index| index as u64 + 1)
}

/// The first time in a text, written as year, month, day, hour, minute, second, whatever stands between.
pub(crate) fn time_in(text: &str) -> Option<u64> {
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut next = || parts.next().filter(|part| part.len() <= 4)?.parse::<u64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    unix_s(year, month, day, (next()?, next()?, next()?))
}

/// A load's shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) is_random: bool,
    /// Share of reads.
    pub(crate) reads: f64,
    pub(crate) block: u64,
    /// Outstanding for each thread.
    pub(crate) depth: u64,
    pub(crate) threads: u64,
    pub(crate) is_buffered: bool,
}

impl Shape {
    /// The load of this shape.
    pub(crate) fn spec(&self, name: &str) -> LoadSpec {
        let reads = Ratio::ppm((self.reads.clamp(0.0, 1.0) * 1e6).round() as u32).unwrap_or_default();
        LoadSpec {
            name: Some(name.to_owned()),
            pattern: if self.is_random {
                Pattern::Random(Distribution::Uniform)
            } else {
                Pattern::Sequential { stride: None }
            },
            reads,
            blocks: vec![BlockShare { size: Bytes::new(self.block), share: Ratio::ONE }],
            arrival: Arrival::Closed {
                queue_depth: u32::try_from(self.depth).unwrap_or(u32::MAX),
                rate_max: None,
                think_time: Duration::ZERO,
            },
            threads: u32::try_from(self.threads).unwrap_or(u32::MAX),
            buffered: self.is_buffered,
            warm_up: Duration::ZERO,
            ..LoadSpec::default()
        }
    }
}

/// The figures of one operation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) latency: Option<HistogramSnapshot>,
}

impl Figures {
    /// Of a rate that was held for so long.
    pub(crate) fn of_rate(iops: f64, block: f64, seconds: f64) -> Self {
        let count = (iops * seconds).round().min(FIGURE_MAX) as u64;
        Self { count, bytes: (count as f64 * block).min(FIGURE_MAX) as u64, latency: None }
    }
}

/// Latency figures in ns of which a tool prints few.
pub(crate) fn latency(mean: f64, min: Option<f64>, max: f64) -> Option<HistogramSnapshot> {
    let is_possible = mean > 0.0 && max < FIGURE_MAX && min.unwrap_or(0.0) <= max && mean <= max * (1.0 + 1e-3);
    is_possible.then(|| HistogramSnapshot {
        mean: mean.min(max),
        min: min.map(|ns| ns.round() as u64),
        max: max.round() as u64,
        ..HistogramSnapshot::default()
    })
}

/// Whether the least latency is no more than the largest. Percentiles may lie above that: some tools print the end of a bucket.
fn is_ordered(latency: &HistogramSnapshot) -> bool {
    latency.min.is_none_or(|least| least <= latency.max) && latency.mean.is_finite()
}

/// A load with its figures as a tool reports them.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) target: Option<String>,
    pub(crate) engine: String,
    pub(crate) spec: LoadSpec,
    pub(crate) seconds: f64,
    pub(crate) warm_up_s: f64,
    pub(crate) operations: Vec<(Operation, Figures)>,
    pub(crate) series: Series,
    /// When it began, ms since 1970.
    pub(crate) began_ms: Option<u64>,
    pub(crate) unknown: Vec<String>,
}

impl Told {
    /// A load without figures yet.
    pub(crate) fn new(name: &str, engine: &str, shape: &Shape) -> Self {
        Self {
            name: name.to_owned(),
            target: None,
            engine: engine.to_owned(),
            spec: shape.spec(name),
            seconds: 0.0,
            warm_up_s: 0.0,
            operations: Vec::new(),
            series: Series::default(),
            began_ms: None,
            unknown: Vec::new(),
        }
    }

    /// The job, or why it is none of ours.
    fn job(self, source: Source<'_>, by: &str) -> Result<Job, LeftOut> {
        let Self { name, target, engine, mut spec, seconds, warm_up_s, mut operations, series, began_ms, mut unknown } =
            self;
        let out = |why: String| LeftOut { name: name.clone(), why };
        let moves = |operation: &Operation| *operation != Operation::Flush;
        let transfers = operations.iter().filter(|(operation, figures)| moves(operation) && figures.count > 0);
        if transfers.count() == 0 || !(seconds > 0.0 && seconds < SECONDS_MAX) {
            return Err(out("it completed no request: there is nothing to import".to_owned()));
        }
        let measured_ns = ((seconds * 1e9).round() as u64).max(1);
        spec.duration = Duration::from_ns(measured_ns);
        spec.warm_up = Duration::from_ns((warm_up_s.clamp(0.0, SECONDS_MAX) * 1e9) as u64);
        spec.trials = 1;
        if operations.iter().filter_map(|(_, figures)| figures.latency).any(|latency| !is_ordered(&latency)) {
            return Err(out("its latencies contradict each other: the least exceeds the largest".to_owned()));
        }
        unknown.extend(consistency::hold(&spec, seconds, &mut operations));
        // Buffered blocks may have any size.
        let mut checked = spec.clone();
        for block in &mut checked.blocks {
            let whole = block.size.get().max(1).checked_next_multiple_of(SECTOR.get());
            block.size = Bytes::new(whole.unwrap_or(u64::MAX));
        }
        if spec.blocks.iter().any(|block| block.size == Bytes::ZERO) {
            return Err(out("the size of its requests is not known".to_owned()));
        }
        if let Err(error) = checked.check() {
            return Err(out(error.to_string()));
        }
        let own_ms = measured_ns / 1_000_000;
        let began_ms = began_ms.unwrap_or_else(|| (source.written_unix_s * 1_000).saturating_sub(own_ms));
        if operations.iter().all(|(_, figures)| figures.latency.is_none()) {
            unknown.push("Latencies are not told".to_owned());
        }
        let records = operations.into_iter().filter(|(_, figures)| figures.count > 0).map(|(operation, figures)| {
            let Figures { count, bytes, latency } = figures;
            (operation, OperationRecord { count, bytes, told: latency, ..OperationRecord::default() })
        });
        let operations: std::collections::BTreeMap<_, _> = records.collect();
        let asked = operations.iter().map(|(operation, record)| (*operation, (record.count, record.bytes))).collect();
        let engine =
            EngineUsed { name: engine.as_str().into(), reason: format!("as {by} reports it"), options: Vec::new() };
        let trial = TrialRecord {
            warm_up_ns: spec.warm_up.as_ns(),
            measured_ns,
            operations,
            series,
            surroundings: Surroundings { elapsed_ns: measured_ns, asked, ..Surroundings::default() },
            ..TrialRecord::empty(0, began_ms / 1_000, engine)
        };
        Ok(Job {
            name,
            spec,
            target,
            is_null: false,
            span_ms: (began_ms, began_ms.saturating_add(own_ms)),
            trial,
            unknown,
        })
    }
}

/// The contents of a file: a tool's loads.
pub(crate) fn results(
    source: Source<'_>,
    tool: &str,
    version: Option<&str>,
    loads: Vec<Told>,
    notes: Vec<String>,
) -> Result<Results, ImportError> {
    let by = version.map_or_else(|| tool.to_owned(), |version| format!("{tool} {version}"));
    let mut results = Results {
        tool: tool.to_owned(),
        version: version.map(str::to_owned),
        jobs: Vec::new(),
        left_out: Vec::new(),
        notes,
    };
    for load in loads {
        match load.job(source, &by) {
            Ok(job) => results.jobs.push(job),
            Err(out) => results.left_out.push(out),
        }
    }
    if results.jobs.is_empty() && results.left_out.is_empty() {
        return Err(source.error(0, format!("is of {tool}, and holds no load with figures")));
    }
    Ok(results)
}

/// Where the time is local and its zone is not told.
pub(crate) const LOCAL_TIME: &str = "the time is local and its zone is not told: it is taken as UTC";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_that_contradict_each_other_are_left_out() {
        let latency = latency(3.8e6, Some(0.3e6), 24e6).unwrap();
        assert!(is_ordered(&latency) && is_ordered(&HistogramSnapshot { p50: Some(3_700_000), ..latency }));
        assert!(!is_ordered(&HistogramSnapshot { min: Some(520_000_000), ..latency }));
    }

    #[test]
    fn times_are_read_and_what_is_none_is_not() {
        assert_eq!(unix_s(1970, 1, 1, (0, 0, 0)), Some(0));
        assert_eq!(time_in("2024/05/06 07:08:09 UTC"), Some(1_714_979_289));
        assert_eq!(time_in("2000-02-29 23:59:59"), Some(951_868_799));
        assert_eq!((time_in("2024/02/31 07:08:09"), time_in("x"), unix_s(1969, 1, 1, (0, 0, 0))), (None, None, None));
    }

    #[test]
    fn a_comma_in_a_number_is_refused_with_its_line() {
        let source = Source { text: "", name: "a", written_unix_s: 0 };
        assert_eq!(source.number(3, " 1.5 ").ok(), Some(1.5));
        assert!(source.number(3, "1,5").unwrap_err().to_string().starts_with("a: line 3: 1,5: a comma"));
        for text in ["", "nan", "-1", "inf", "1e300", "x"] {
            assert!(source.number(1, text).is_err(), "{text}");
        }
    }

    #[test]
    fn units_are_binary_unless_they_are_said_to_be_decimal() {
        assert_eq!(
            (unit_bytes("KB", false), unit_bytes("KB", true), unit_bytes("MiB/s", true)),
            (Some(1024.0), Some(1e3), Some(1_048_576.0))
        );
        assert_eq!((unit_bytes("B", true), unit_bytes("q", true)), (Some(1.0), None));
    }
}
