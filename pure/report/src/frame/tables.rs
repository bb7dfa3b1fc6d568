//! The tables of a run: its trials, the seconds of its trials.
//!
//! Each row stands for itself: it names its run, when that began, on what, and the load.

use super::{Frame, FrameField, FrameValues, Moment};
use loadline_block::Operation;
use loadline_record::{CellRecord, Clock, Ending, HistogramSnapshot, ImportedFrom, RunHeader, RunRecord, TrialRecord};

/// One row for each trial. Figures are those of the trial alone.
#[must_use]
pub fn trials(record: &RunRecord) -> Frame {
    let kinds = of_trial(&record.header, None, None);
    let mut frame = Frame::with_columns(kinds.iter().map(|(name, field)| (name.as_str(), field)));
    for cell in &record.cells {
        for trial in &cell.trials {
            frame.push(of_trial(&record.header, Some(cell), Some(trial)).into_iter().map(|(_, field)| field));
        }
    }
    frame
}

/// One row for each interval of a trial's series and operation that completed in it.
#[must_use]
pub fn seconds(record: &RunRecord) -> Frame {
    const OWN: [(&str, FrameField); 14] = [
        ("trial", FrameField::Whole(None)),
        ("at", FrameField::Moment(None)),
        ("second_s", FrameField::Whole(None)),
        ("interval_s", FrameField::Float(None)),
        ("operation", FrameField::Text(None)),
        ("requests_count", FrameField::Whole(None)),
        ("iops", FrameField::Float(None)),
        ("bytes", FrameField::Whole(None)),
        ("throughput_bytes_per_s", FrameField::Float(None)),
        ("latency_p50_ns", FrameField::Whole(None)),
        ("latency_p99_ns", FrameField::Whole(None)),
        ("latency_max_ns", FrameField::Whole(None)),
        ("outstanding_requests", FrameField::Float(None)),
        ("errors_count", FrameField::Whole(None)),
    ];
    let kinds = of_load(&record.header, None);
    let named = kinds.iter().map(|(name, field)| (*name, field));
    let mut frame = Frame::with_columns(named.chain(OWN.iter().map(|(name, field)| (*name, field))));
    for cell in &record.cells {
        let load: Vec<FrameField> = of_load(&record.header, Some(cell)).into_iter().map(|(_, field)| field).collect();
        for trial in &cell.trials {
            let steps = trial.series.seconds.len() as u64;
            let length_s = f64::from(trial.series.interval_s);
            for (index, second) in (0_u64..).zip(&trial.series.seconds) {
                let last = index + 1 == steps && trial.series.last_ns > 0;
                let covered_s = if last { trial.series.last_ns as f64 / 1e9 } else { length_s };
                let since_s = index * u64::from(trial.series.interval_s);
                for operation in Operation::ALL {
                    let of = second.of(operation);
                    if of.count == 0 {
                        continue;
                    }
                    let at_us = (trial.started_unix_s * 1_000_000 + trial.warm_up_ns / 1_000) + since_s * 1_000_000;
                    let per_s = |amount: u64| Some(amount as f64 / covered_s).filter(|rate| rate.is_finite());
                    frame.push_repeated(
                        &load,
                        [
                            FrameField::Whole(Some(trial.trial.into())),
                            FrameField::Moment(Some(Moment { unix_us: at_us.cast_signed() })),
                            FrameField::Whole(Some(since_s)),
                            FrameField::Float(Some(covered_s)),
                            FrameField::Text(Some(operation.name().to_owned())),
                            FrameField::Whole(Some(of.count)),
                            FrameField::Float(per_s(of.count)),
                            FrameField::Whole(Some(of.bytes)),
                            FrameField::Float(per_s(of.bytes)),
                            FrameField::Whole(Some(of.p50_ns)),
                            FrameField::Whole(Some(of.p99_ns)),
                            FrameField::Whole(Some(of.max_ns)),
                            FrameField::Float(Some(second.outstanding)),
                            FrameField::Whole(Some(second.errors)),
                        ],
                    );
                }
            }
        }
    }
    frame
}

impl Frame {
    /// A row that begins with fields of the row before it, as often as it goes.
    fn push_repeated(&mut self, first: &[FrameField], own: impl IntoIterator<Item = FrameField>) {
        let (shared, rest) = self.columns.split_at_mut(first.len());
        for (column, field) in shared.iter_mut().zip(first) {
            match (&mut column.values, field) {
                // Words are looked up again only where they differ from the row above.
                (FrameValues::Text(words), FrameField::Text(Some(word))) => {
                    let above = self.rows.checked_sub(1).filter(|above| words.get(*above) == Some(word));
                    let place = match above.and_then(|above| words.rows().get(above)) {
                        Some(place) => place,
                        None => words.place(word),
                    };
                    words.push_place(Some(place));
                }
                (values, field) => values.push(field.clone()),
            }
        }
        let mut rest = rest.iter_mut();
        for field in own {
            rest.next().expect("a row has a field for each column").values.push(field);
        }
        assert!(rest.next().is_none(), "a row has a field for each column");
        self.rows += 1;
    }
}

/// The columns that say which load of which run a row is about.
fn of_load(header: &RunHeader, cell: Option<&CellRecord>) -> Vec<(&'static str, FrameField)> {
    let text = |word: Option<String>| FrameField::Text(word);
    let load = cell.map(|cell| cell.load.figures());
    let load = load.as_ref();
    let clock = if header.clock == Clock::Real { "real" } else { "virtual" };
    let own = || format!("loadline {}", header.version);
    let volume = cell.and_then(|cell| header.volumes.iter().find(|volume| volume.name == cell.volume));
    vec![
        ("run_id", text(Some(header.id.clone()))),
        ("run_name", text(Some(header.name.clone()))),
        ("clock", text(Some(clock.to_owned()))),
        ("tool", text(Some(header.imported.as_ref().map_or_else(own, ImportedFrom::tool_and_version)))),
        ("run_started", FrameField::Moment(Moment::of_rfc3339(&header.started))),
        ("host", text(header.host.hostname.clone())),
        ("environment", text(header.environment.as_ref().map(|environment| environment.name.clone()))),
        ("target", text(volume.map(|volume| volume.target.clone()))),
        ("cell_id", text(cell.map(|cell| cell.id.clone()))),
        ("volume", text(cell.map(|cell| cell.volume.clone()))),
        ("label", text(cell.map(|cell| cell.label.clone()))),
        ("pattern", text(load.map(|load| load.pattern.name().to_owned()))),
        ("read_ratio", FrameField::Float(load.map(|load| load.read_ratio))),
        ("block_bytes", FrameField::Whole(load.map(|load| load.block_bytes))),
        ("queue_depth_requests_per_thread", FrameField::Whole(load.and_then(|load| load.queue_depth.map(u64::from)))),
        ("threads_count", FrameField::Whole(load.map(|load| load.threads.into()))),
        ("arrival", text(load.map(|load| load.arrival.name().to_owned()))),
        ("rate_wanted_iops", FrameField::Float(load.and_then(|load| load.rate_iops))),
    ]
}

/// Every column of the table of trials, with the values of one.
fn of_trial(header: &RunHeader, cell: Option<&CellRecord>, trial: Option<&TrialRecord>) -> Vec<(String, FrameField)> {
    let whole = |of: fn(&TrialRecord) -> u64| FrameField::Whole(trial.map(of));
    let text = |of: fn(&TrialRecord) -> String| FrameField::Text(trial.map(of));
    let per_s = |amount: u64| {
        let trial = trial.filter(|trial| trial.measured_ns > 0)?;
        Some(amount as f64 * 1e9 / trial.measured_ns as f64)
    };
    let sum = |of: fn(&loadline_record::OperationRecord) -> u64| {
        let moved = trial.map(|trial| {
            let counted = trial.operations.iter().filter(|(operation, _)| **operation != Operation::Flush);
            counted.map(|(_, record)| of(record)).sum()
        });
        FrameField::Float(moved.and_then(per_s))
    };
    let shared = of_load(header, cell).into_iter().map(|(name, field)| (name.to_owned(), field));
    let mut columns: Vec<(String, FrameField)> = shared.collect();
    let mut put = |name: &str, field: FrameField| columns.push((name.to_owned(), field));
    put("trial", whole(|trial| trial.trial.into()));
    let at = trial.map(|trial| Moment { unix_us: (trial.started_unix_s * 1_000_000).cast_signed() });
    put("trial_started", FrameField::Moment(at));
    put("engine", text(|trial| trial.engine.name.to_string()));
    put("warm_up_ns", whole(|trial| trial.warm_up_ns));
    put("measured_ns", whole(|trial| trial.measured_ns));
    put("ending", text(|trial| ending(&trial.ending).to_owned()));
    put("offered_iops", FrameField::Float(trial.and_then(|trial| trial.offered_iops)));
    put(
        "missed_count",
        FrameField::Whole(trial.filter(|trial| trial.offered_iops.is_some()).map(|trial| trial.missed)),
    );
    put("total_iops", sum(|record| record.count));
    put("total_throughput_bytes_per_s", sum(|record| record.bytes));
    for operation in Operation::ALL {
        let record = trial.and_then(|trial| trial.operations.get(&operation));
        let name = operation.name();
        put(&format!("{name}_requests_count"), FrameField::Whole(record.map(|record| record.count)));
        put(&format!("{name}_iops"), FrameField::Float(record.and_then(|record| per_s(record.count))));
        put(
            &format!("{name}_throughput_bytes_per_s"),
            FrameField::Float(record.and_then(|record| per_s(record.bytes))),
        );
        let figures = record.and_then(loadline_record::OperationRecord::figures);
        let integer =
            |of: fn(&HistogramSnapshot) -> Option<u64>| FrameField::Whole(figures.and_then(|of_all| of(&of_all)));
        // Of means over short times the least and the highest are no request's.
        let ends = figures.filter(|_| !trial.is_some_and(TrialRecord::has_only_means));
        put(
            &format!("{name}_latency_mean_ns"),
            FrameField::Float(figures.map(|of| of.mean).filter(|mean| mean.is_finite())),
        );
        put(&format!("{name}_latency_min_ns"), FrameField::Whole(ends.and_then(|of| of.min)));
        put(&format!("{name}_latency_p50_ns"), integer(|of| of.p50));
        put(&format!("{name}_latency_p90_ns"), integer(|of| of.p90));
        put(&format!("{name}_latency_p95_ns"), integer(|of| of.p95));
        put(&format!("{name}_latency_p99_ns"), integer(|of| of.p99));
        put(&format!("{name}_latency_p99_9_ns"), integer(|of| of.p99_9));
        put(&format!("{name}_latency_p99_99_ns"), integer(|of| of.p99_99));
        put(&format!("{name}_latency_max_ns"), FrameField::Whole(ends.map(|of| of.max)));
    }
    put("errors_count", whole(|trial| trial.errors.values().sum()));
    let codes = trial.map(|trial| {
        let mut codes: Vec<&str> = trial.doubts.iter().map(|doubt| doubt.code.name()).collect();
        codes.dedup();
        codes.join("; ")
    });
    put("doubt_codes", FrameField::Text(codes));
    columns
}

const fn ending(of: &Ending) -> &'static str {
    match of {
        Ending::Complete => "complete",
        Ending::Interrupted => "interrupted",
        Ending::Failed(_) => "failed",
        Ending::Hung(_) => "hung",
    }
}
