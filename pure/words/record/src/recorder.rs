//! Runs of a recorder: a watch without end, kept as one run an hour. Each hour is written in short parts while it lasts, a trial each, and
//! read as any other watch: one trial a device.

use crate::{CellRecord, LiveMark, Load, LoadFigures, OthersLoad, RunRecord, TrialRecord, WatchRecord};
use loadline_units::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Under which key of the settings.
const KEY: &str = "recorder";
/// The same of a part.
const PART_KEY: &str = "part";
/// Microseconds of a second.
const SECOND_US: u64 = 1_000_000;
/// Nanoseconds of a second.
const SECOND_NS: i128 = 1_000_000_000;

/// That a run is an hour of a recorder, as its settings say. Only such runs are ever thinned or removed by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedHour {
    /// The devices that it watches, sorted.
    pub devices: Vec<String>,
    /// When the hour began, seconds since 1970.
    pub hour_unix_s: u64,
    /// The length of a sample, s.
    pub step_s: u32,
}

/// That only a part of a stored run is in a record, as its settings say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPart {
    /// From here on, seconds since 1970,
    pub since_unix_s: u64,
    /// to here.
    pub until_unix_s: u64,
    /// The runs that it is of.
    pub runs: Vec<String>,
}

impl RecordedHour {
    /// The hour that a run's settings are of; `None` where no recorder made it.
    #[must_use]
    pub fn of_settings(settings: &serde_json::Value) -> Option<Self> {
        Self::deserialize(settings.get(KEY)?).ok()
    }

    /// Says so in the settings of a run.
    pub fn put_into(&self, settings: &mut serde_json::Value) {
        settings[KEY] = serde_json::json!(self);
    }
}

impl RecordedPart {
    /// The part that a run's settings are of.
    #[must_use]
    pub fn of_settings(settings: &serde_json::Value) -> Option<Self> {
        Self::deserialize(settings.get(PART_KEY)?).ok()
    }
}

impl CellRecord {
    /// With its trials as one, if they are parts of a watch.
    fn into_one(self) -> Self {
        let begun = self.trials.first().map_or(0, |trial| trial.started_unix_s);
        if self.trials.len() < 2 {
            return Self { trials_planned: 1, ..self };
        }
        let parts = self
            .trials
            .iter()
            .filter_map(|trial| Some((trial.started_unix_s * SECOND_US, trial.watched.as_deref()?.clone())));
        let whole = WatchRecord::joined(parts.collect());
        self.watched_as(whole, begun)
    }

    /// With this watch as its only trial.
    fn watched_as(self, watch: WatchRecord, started_unix_s: u64) -> Self {
        let doubts = self.trials.iter().flat_map(|trial| trial.doubts.clone()).collect();
        let trial = TrialRecord { doubts, ..watch.into_trial(&BTreeMap::new(), &self.volume, started_unix_s) };
        let of_device = OthersLoad { volume: self.volume.clone(), by: None, figures: LoadFigures::of_watched(&trial) };
        Self { load: Load::Application(of_device), trials_planned: 1, trials: vec![trial], ..self }
    }

    /// What was watched of it between two times; `None` where nothing was.
    fn between(&self, since_unix_s: u64, until_unix_s: u64) -> Option<Self> {
        let trial = self.trials.last()?;
        let watch = trial.watched.as_deref()?;
        let from_start = |at: u64| at.saturating_sub(trial.started_unix_s) * SECOND_US;
        let (from, to) = (from_start(since_unix_s), from_start(until_unix_s));
        let spans = watch.spans_us();
        // A second belongs to the time in which its middle is.
        let middle = |span: &std::ops::Range<u64>| span.start.midpoint(span.end);
        let begin = spans.partition_point(|span| middle(span) < from);
        let end = spans.partition_point(|span| middle(span) < to);
        let places = if begin < end {
            begin..end
        } else {
            // A short time within a long step.
            let place = spans.partition_point(|span| span.end <= from);
            spans.get(place).filter(|span| span.start < to)?;
            place..place + 1
        };
        let started_unix_s = trial.started_unix_s + spans[places.start].start / SECOND_US;
        Some(self.clone().watched_as(watch.part(places), started_unix_s))
    }
}

impl RunRecord {
    /// As every reader has it: the parts of a recorder's hour as one trial a device, without devices that were asked for nothing.
    #[must_use]
    pub fn into_watched(self) -> Self {
        if RecordedHour::of_settings(&self.header.settings).is_none() {
            return self;
        }
        let cells = self.cells.into_iter().map(CellRecord::into_one).collect();
        Self { cells, ..self }.without_idle()
    }

    /// Without cells that were asked for nothing, and their volumes; the first stays where all are.
    fn without_idle(mut self) -> Self {
        let is_asked = |cell: &CellRecord| cell.trials.iter().any(|trial| trial.count() > 0);
        let any = self.cells.iter().any(is_asked);
        let kept: Vec<String> = (self.cells.iter().enumerate())
            .filter(|(place, cell)| is_asked(cell) || (!any && *place == 0))
            .map(|(_, cell)| cell.volume.clone())
            .collect();
        self.cells.retain(|cell| kept.contains(&cell.volume));
        self.header.volumes.retain(|volume| kept.contains(&volume.name));
        self
    }

    /// Hours of one recorder, in their order, as one; `None` of no hours.
    #[must_use]
    pub fn of_hours(hours: Vec<Self>) -> Option<Self> {
        let mut all = hours.into_iter();
        let mut whole = all.next()?;
        let begun_s = whole.watched_span().map_or(0, |(begun, _)| begun);
        for hour in all {
            let after_s = hour.watched_span().map_or(0, |(begun, _)| begun).saturating_sub(begun_s);
            whole.add_marks(&hour, after_s);
            for volume in hour.header.volumes {
                if !whole.header.volumes.iter().any(|own| own.name == volume.name) {
                    whole.header.volumes.push(volume);
                }
            }
            for cell in hour.cells {
                match whole.cells.iter_mut().find(|own| own.volume == cell.volume) {
                    Some(own) => own.trials.extend(cell.trials),
                    None => whole.cells.push(CellRecord { id: format!("watch-{}", whole.cells.len()), ..cell }),
                }
            }
        }
        whole.cells = whole.cells.into_iter().map(CellRecord::into_one).collect();
        Some(whole)
    }

    /// When it was watched, from the first sample to the last, seconds since 1970; `None` where it was not.
    #[must_use]
    pub fn watched_span(&self) -> Option<(u64, u64)> {
        let trials = self.cells.iter().filter_map(|cell| cell.trials.last());
        let spans = trials.filter_map(|trial| {
            let end_us = trial.watched.as_deref()?.spans_us().last()?.end;
            Some((trial.started_unix_s, trial.started_unix_s + end_us.div_ceil(SECOND_US)))
        });
        spans.reduce(|(begin, end), (other, later)| (begin.min(other), end.max(later)))
    }

    /// The part of it between two times, as a run that was watched for that long; `None` where it was not watched then.
    #[must_use]
    pub fn between(&self, since_unix_s: u64, until_unix_s: u64) -> Option<Self> {
        let cells: Vec<CellRecord> =
            self.cells.iter().filter_map(|cell| cell.between(since_unix_s, until_unix_s)).collect();
        let part = (!cells.is_empty()).then(|| Self { cells, header: self.header.clone(), ..*self }.without_idle());
        part.map(|part| part.with_marks_of(self, until_unix_s))
    }

    /// With the marks of the whole that lie in this part.
    fn with_marks_of(mut self, whole: &Self, until_unix_s: u64) -> Self {
        let begun = |of: &Self| i128::from(of.watched_span().map_or(0, |(begun, _)| begun));
        let (before_s, begun_s) = (begun(&self) - begun(whole), begun(&self));
        let marks = LiveMark::of_settings(&whole.header.settings).into_iter();
        let own = marks.filter_map(|mark| mark.moved(-before_s * SECOND_NS));
        let is_within =
            |mark: &LiveMark| begun_s * SECOND_NS + i128::from(mark.elapsed_ns) < i128::from(until_unix_s) * SECOND_NS;
        let own: Vec<LiveMark> = own.filter(is_within).collect();
        LiveMark::put_all(&own, &mut self.header.settings);
        self
    }

    /// Adds those of an hour that began so much later.
    fn add_marks(&mut self, hour: &Self, after_s: u64) {
        let mut all = LiveMark::of_settings(&self.header.settings);
        let later = LiveMark::of_settings(&hour.header.settings).into_iter();
        all.extend(later.filter_map(|mark| mark.moved(i128::from(after_s) * SECOND_NS)));
        LiveMark::put_all(&all, &mut self.header.settings);
    }

    /// Says of which runs it is a part, and of which time.
    #[must_use]
    pub fn into_part(mut self, part: &RecordedPart) -> Self {
        let begun = self.watched_span().map_or(part.since_unix_s, |(begun, _)| begun);
        self.header.started = Timestamp::from_unix_s(begun).to_string();
        self.header.settings[PART_KEY] = serde_json::json!(part);
        self
    }

    /// In coarser steps.
    #[must_use]
    pub fn in_steps(mut self, step_s: u32) -> Self {
        if let Some(hour) = RecordedHour::of_settings(&self.header.settings) {
            RecordedHour { step_s: step_s.max(hour.step_s), ..hour }.put_into(&mut self.header.settings);
        }
        let coarser = |cell: CellRecord| {
            let trial = cell.trials.last();
            let watch = trial.and_then(|trial| Some((trial.watched.as_deref()?.clone(), trial.started_unix_s)));
            match watch {
                Some((watch, begun)) => cell.watched_as(watch.in_steps(u64::from(step_s) * SECOND_US), begun),
                None => cell,
            }
        };
        self.cells = self.cells.into_iter().map(coarser).collect();
        self
    }
}
