//! Advice as a library: the need out of numbers, files, traces, plans and stored runs.

use crate::files::trace_file::{is_trace, read_trace};
use crate::{InputKind, read_text};
use loadline_advise::{Asked, Need, NeedFile, NeedNumbers, is_need};
use loadline_analysis::OBJECTIVE_USUAL;
use loadline_demand::{Demand, DemandError, ReadOptions, demand_of_run, demand_of_trace, shown_p99};
use loadline_document::DocumentError;
use loadline_emulation::Trace;
use loadline_record::{Access, CellRecord, RunRecord, RunVerb};
use loadline_units::{Bytes, Duration};
use loadline_workload::{Arrival, LatencyFigure, LoadSpec, Objective};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A monitoring file may have so many bytes.
const MONITORING_BYTES_MAX: u64 = 1 << 30;

/// Why there is no need.
#[derive(Debug, thiserror::Error)]
pub enum NeedError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A need file has problems.
    #[error(transparent)]
    Need(#[from] DocumentError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(Box<crate::Error>),
    /// A monitoring file gives no demand.
    #[error(transparent)]
    Demand(#[from] DemandError),
    /// A plan's load is a closed loop: it asks for as much as there is.
    #[error(
        "cell {cell} of the plan keeps {outstanding} requests in flight and says no rate: give the rate that is needed"
    )]
    NoRate {
        /// The cell, from 1.
        cell: usize,
        /// Its requests in flight.
        outstanding: u64,
    },
    /// A plan or a run has no such cell.
    #[error("there is no cell {cell}: there are {count}")]
    NoCell {
        /// The cell asked for, from 1.
        cell: usize,
        /// How many there are.
        count: usize,
    },
    /// Two sources of what is asked.
    #[error("{one} and {other} both say what is asked: give one of them")]
    Both {
        /// The first.
        one: String,
        /// The second.
        other: String,
    },
    /// Nothing says what is asked.
    #[error("nothing says what is asked: give a rate, a file, a plan or a stored run")]
    Nothing,
    /// The size of the volume is missing.
    #[error("the size is missing: say how much the volume must hold")]
    NoSize,
}

/// Reads a file of a need, or of monitoring.
///
/// # Errors
/// [`NeedError`].
pub fn read_need_source(path: &Path, options: &ReadOptions) -> Result<NeedSource, NeedError> {
    let unreadable = |source| NeedError::Unreadable { path: path.to_owned(), source };
    let name = path.display().to_string();
    if is_trace(path).map_err(unreadable)? {
        let (trace, _) = read_trace(path).map_err(|error| NeedError::Trace(Box::new(error)))?;
        let demand = demand_of_trace(&trace, &name, &options.devices)?;
        return Ok(NeedSource::Trace(demand, Box::new(trace)));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MONITORING_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > MONITORING_BYTES_MAX {
        let why =
            format!("it has more than {} MiB, the most that a monitoring file may have", MONITORING_BYTES_MAX >> 20);
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidData, why)));
    }
    let is_small = bytes.len() as u64 <= InputKind::Plan.bytes_max();
    if is_small && std::str::from_utf8(&bytes).is_ok_and(is_need) {
        let text = read_text(path, InputKind::Plan).map_err(unreadable)?;
        let mut file = NeedFile::parse(&text, &name)?;
        if !file.from.is_empty() {
            // Paths in a need file are relative to it.
            let folder = path.parent().unwrap_or(Path::new("."));
            let mut whole: Option<Demand> = None;
            for from in &file.from {
                let found = match read_need_source(&folder.join(from), options)? {
                    NeedSource::Trace(found, trace) if file.from.len() == 1 => {
                        file.need.trace = Some(Arc::from(trace));
                        found
                    }
                    NeedSource::Demand(found) | NeedSource::Trace(found, _) => found,
                    NeedSource::Need(_) => {
                        let one = name.clone();
                        return Err(NeedError::Both { one, other: from.clone() });
                    }
                };
                whole = Some(match whole {
                    Some(before) => followed(before, found),
                    None => found,
                });
            }
            file.need.asked = Asked::Recorded(whole.expect("there is a file"));
        }
        return Ok(NeedSource::Need(Box::new(file)));
    }
    Ok(NeedSource::Demand(loadline_demand::read(&bytes, &name, options)?))
}

/// What a file says.
#[derive(Debug)]
pub enum NeedSource {
    /// A whole need.
    Need(Box<NeedFile>),
    /// What was asked over a time.
    Demand(Demand),
    /// The same, with the requests themselves.
    Trace(Demand, Box<Trace>),
}

/// What was taken for granted of a need that has a trace or a run, as nobody said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumption {
    /// Which part of the need.
    pub part: AssumedPart,
    /// What, and why, in a sentence.
    pub text: String,
}

/// Parts of a need that a trace or a run can stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssumedPart {
    /// The size of the volume: that of the recorded device.
    Size,
    /// The latency to keep: what the trace's own storage shows.
    Latency,
    /// The latency to keep: the usual rule.
    UsualLatency,
    /// The latency to keep: the run's own objective.
    Objective,
}

/// Completes a need by its trace: a size that nobody said is that of the recorded device.
pub fn assume_size(need: &mut Need) -> Option<Assumption> {
    let about = &need.trace.as_ref().filter(|_| need.size == Bytes::ZERO)?.about;
    let about: serde_json::Value = serde_json::from_str(about).ok()?;
    let size = about.get("size_bytes")?.as_u64().filter(|size| *size > 0)?;
    need.size = Bytes::new(size);
    let text = format!("no size was given: the volume holds as much as the recorded device, {}", need.size.human());
    Some(noted(need, AssumedPart::Size, text))
}

/// Completes a need by its trace: latencies that nobody limited may be as long as on the trace's own storage while that was not at a limit.
/// Where that is not known, the usual rule holds.
pub fn assume_latency(need: &mut Need) -> Option<Assumption> {
    let trace = need.trace.as_ref().filter(|_| need.objective.is_none())?;
    let Asked::Recorded(demand) = &need.asked else { return None };
    need.keeps_pace = true;
    let Some(shown) = shown_p99(trace, demand) else {
        let why = match demand.limited_share() {
            share if share > 0.0 => {
                format!("the trace's own storage was at its limit {:.0} % of the time", share * 100.0)
            }
            _ => "the trace shows too few answers".to_owned(),
        };
        return Some(assume_usual_latency(need, &why));
    };
    let limit = rounded_up(shown);
    need.objective = Some(Objective { of: LatencyFigure::P99, limit });
    let text = format!(
        "no latency was given: p99 within {} is to be kept, as the trace's own storage has {} in its median second, and the pace of \
         the recorded requests",
        limit.human(),
        shown.human()
    );
    Some(noted(need, AssumedPart::Latency, text))
}

/// Takes the usual rule for the latency to keep; `why` says why no other is taken.
pub fn assume_usual_latency(need: &mut Need, why: &str) -> Assumption {
    let (of, limit) = (OBJECTIVE_USUAL.0, Duration::from_ns(OBJECTIVE_USUAL.1));
    need.objective = Some(Objective { of, limit });
    let text =
        format!("no latency was given, and {why}: the usual rule is taken, {} within {}", of.words(), limit.human());
    noted(need, AssumedPart::UsualLatency, text)
}

/// Takes assumptions back: the advice no longer has them among its doubts.
pub fn withdraw(need: &mut Need, assumptions: &[Assumption]) {
    need.keeps_pace &= assumptions.iter().all(|dropped| dropped.part != AssumedPart::Latency);
    if let Asked::Recorded(demand) = &mut need.asked {
        demand.notes.retain(|note| assumptions.iter().all(|dropped| dropped.text != *note));
    }
}

/// The advice has it among its doubts.
fn noted(need: &mut Need, part: AssumedPart, text: String) -> Assumption {
    if let Asked::Recorded(demand) = &mut need.asked {
        demand.notes.push(text.clone());
    }
    Assumption { part, text }
}

/// The next higher of 1, 1.5, 2, 3, 5, 7 and 10 of its power of ten: a bound as people set it.
fn rounded_up(shown: Duration) -> Duration {
    let ns = shown.as_ns().max(10);
    let power = 10_u64.pow(ns.ilog10() - 1);
    let steps = [10, 15, 20, 30, 50, 70, 100];
    let step = steps.into_iter().find(|step| step * power >= ns).unwrap_or(100);
    Duration::from_ns(step * power)
}

/// One demand after another.
#[must_use]
pub fn followed(mut before: Demand, after: Demand) -> Demand {
    before.intervals.extend(after.intervals);
    for device in after.devices {
        if !before.devices.contains(&device) {
            before.devices.push(device);
        }
    }
    for note in after.notes {
        if !before.notes.contains(&note) {
            before.notes.push(note);
        }
    }
    before
}

/// What a cell of a plan needs.
///
/// # Errors
/// [`NeedError::NoRate`] of a closed loop.
pub fn need_of_load(name: &str, cell: usize, load: &LoadSpec) -> Result<Need, NeedError> {
    let rate = match load.arrival {
        Arrival::Constant { rate } | Arrival::Poisson { rate } | Arrival::Closed { rate_max: Some(rate), .. } => rate,
        Arrival::Closed { .. } => {
            return Err(NeedError::NoRate { cell: cell + 1, outstanding: load.outstanding().unwrap_or(1) });
        }
    };
    let numbers = NeedNumbers {
        iops: Some(rate),
        reads: Some(load.reads),
        block: Some(load.block_mean()),
        ..NeedNumbers::default()
    };
    let rates = numbers.rates().unwrap_or_default();
    let mut need = Need::steady(name, rates, load.size.unwrap_or(Bytes::ZERO));
    need.objective = load.objective;
    need.sequential = matches!(load.pattern, loadline_workload::Pattern::Sequential { .. });
    Ok(need)
}

/// What the loads of a stored run need, or one of its cells (from 0): what they asked for over its time, and the objective by which the run
/// was judged. The second part is what was taken from the run: that objective, and of a watch
/// the size of the devices.
///
/// # Errors
/// [`NeedError::NoCell`]; of a run without a series, too.
pub fn need_of_run(record: &RunRecord, cell: Option<usize>) -> Result<(Need, Vec<Assumption>), NeedError> {
    let no_cell = || NeedError::NoCell { cell: cell.map_or(1, |cell| cell + 1), count: record.cells.len() };
    let demand = demand_of_run(record, None, cell).ok_or_else(no_cell)?;
    let chosen: Vec<&CellRecord> = match cell {
        Some(cell) => vec![record.cells.get(cell).ok_or_else(no_cell)?],
        None => record.cells.iter().collect(),
    };
    let mut objectives: Vec<Objective> = Vec::new();
    for objective in chosen.iter().filter_map(|cell| record.objective_of(cell)) {
        if !objectives.contains(&objective) {
            objectives.push(objective);
        }
    }
    let mut need = Need::steady(&record.header.name, loadline_advise::Rates::default(), Bytes::ZERO);
    need.asked = Asked::Recorded(demand);
    need.sequential = chosen.iter().all(|cell| cell.load.figures().pattern == Access::Sequential);
    let words = |found: &Objective| format!("{} within {}", found.of.words(), found.limit);
    let objective = match objectives.as_slice() {
        [] => None,
        [only] => {
            need.objective = Some(*only);
            Some(format!("the run's own objective is to be kept: {}", words(only)))
        }
        several => {
            let all: Vec<String> = several.iter().map(words).collect();
            Some(format!("the run's loads have objectives of their own ({}): none of them is taken", all.join(", ")))
        }
    };
    let mut assumed: Vec<Assumption> = Vec::new();
    assumed.extend(objective.map(|text| Assumption { part: AssumedPart::Objective, text }));
    assumed.extend(watched_size(record, &chosen).map(|size| {
        need.size = size;
        let text = format!("no size was given: the volume holds as much as what was watched, {}", size.human());
        Assumption { part: AssumedPart::Size, text }
    }));
    Ok((need, assumed))
}

/// How much the devices hold that an application used while it was watched. What a load of ours spread over says nothing of the application.
fn watched_size(record: &RunRecord, chosen: &[&CellRecord]) -> Option<Bytes> {
    let is_used = |name: &str| chosen.iter().any(|cell| cell.volume == name);
    let volumes = record.header.volumes.iter().filter(|volume| is_used(&volume.name));
    let sizes: Option<Vec<u64>> = volumes.map(|volume| volume.size_bytes).collect();
    let sum = sizes?.into_iter().sum::<u64>();
    (record.header.verb == RunVerb::Watch && sum > 0).then(|| Bytes::new(sum))
}

/// The length of an interval, as the readers take it.
#[must_use]
pub fn interval_s(interval: Option<Duration>) -> Option<f64> {
    interval.map(Duration::as_s_f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::example::{ExampleDisk, cell, closed, open, run};

    #[test]
    fn a_run_brings_its_objective_and_refuses_cells_that_it_lacks() {
        let limited = |limit_ms, iops| {
            let objective = Objective { of: LatencyFigure::P99, limit: Duration::from_ms(limit_ms) };
            let load =
                loadline_record::LoadFigures { objective: Some(objective), ..open("random", 0.7, 8 << 10, iops) };
            cell(load, &ExampleDisk::default(), &[1.0])
        };
        let alike = run(vec![limited(10, 1_000.0), limited(10, 2_000.0)]);
        let (need, said) = need_of_run(&alike, None).unwrap();
        assert_eq!(need.objective_text().unwrap(), "p99 of 10 ms");
        assert_eq!(said[0].text, "the run's own objective is to be kept: p99 within 10 ms");
        let apart = run(vec![limited(10, 1_000.0), limited(5, 2_000.0)]);
        let (need, said) = need_of_run(&apart, None).unwrap();
        assert_eq!(need.objective, None);
        assert!(said[0].text.contains("p99 within 10 ms, p99 within 5 ms"));
        assert_eq!(need_of_run(&apart, Some(1)).unwrap().0.objective_text().unwrap(), "p99 of 5 ms");
        assert!(matches!(need_of_run(&apart, Some(2)), Err(NeedError::NoCell { cell: 3, count: 2 })));
        // What was watched is as large as its device; a measurement spreads over what its plan names.
        let mut watched = run(vec![cell(closed("random", 1.0, 4 << 10, 8), &ExampleDisk::default(), &[1.0])]);
        watched.header.volumes[0].size_bytes = Some(5 << 30);
        assert_eq!(need_of_run(&watched, None).unwrap().0.size, Bytes::ZERO);
        watched.header.verb = RunVerb::Watch;
        let (need, said) = need_of_run(&watched, None).unwrap();
        assert_eq!((need.size, said.last().unwrap().part), (Bytes::gib(5), AssumedPart::Size));
        let follows = run(vec![cell(closed("sequential", 1.0, 1 << 20, 8), &ExampleDisk::default(), &[1.0])]);
        assert!(need_of_run(&follows, None).unwrap().0.sequential);
    }

    #[test]
    fn bounds_are_round_and_never_below_what_is_shown() {
        let of = |us: u64| rounded_up(Duration::from_us(us)).as_ns() / 1_000;
        assert_eq!(
            [of(8_580), of(1_000), of(1_001), of(23_724), of(71), of(9_999)],
            [10_000, 1_000, 1_500, 30_000, 100, 10_000]
        );
        for ns in [1, 10, 99, 12_345, 999_999_999] {
            assert!(rounded_up(Duration::from_ns(ns)).as_ns() >= ns);
        }
    }
}
