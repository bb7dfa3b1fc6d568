//! What was watched between two times: a part of a stored watch, or of the hours of a recorder that hold it.

use crate::wall_clock::unix_s;
use crate::{Error, WatchError};
use loadline_analysis::Incidents;
use loadline_record::{RecordedPart, RunRecord};
use loadline_store::{Store, WatchLine};
use loadline_units::{Timestamp, TypedTime};

/// Days that a time of day is looked for.
const DAYS_BACK: u64 = 366;
/// Seconds of an hour.
const HOUR_S: u64 = 3_600;

/// A time between two that were typed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypedRange {
    /// From then on; `None`: from the beginning.
    pub since: Option<TypedTime>,
    /// To then; `None`: to the end.
    pub until: Option<TypedTime>,
}

/// Stored watches that belong together: one, or the hours of a recorder.
#[derive(Debug)]
pub struct StoredWatch {
    lines: Vec<WatchLine>,
}

/// When the last sample of a watch was, or later.
fn end(line: &WatchLine) -> u64 {
    let of_hour = line.hour.as_ref().map_or(0, |hour| hour.hour_unix_s + HOUR_S);
    line.ended_unix_s.max(of_hour)
}

fn holds(line: &WatchLine, at: u64, length_s: u64) -> bool {
    line.begun_unix_s < at + length_s && at < end(line)
}

impl StoredWatch {
    /// Finds the watch with this id and, if it is an hour of a recorder, its other hours. Without an id it is the newest that holds this time,
    /// or the newest.
    ///
    /// # Errors
    /// [`WatchError::NotWatched`]: the run is no watch. [`WatchError::NothingThen`]: nothing was watched at that time. The store.
    pub fn find(store: &Store, run: Option<&str>, at: Option<TypedTime>) -> Result<Self, Error> {
        let mut all = store.watches()?;
        let place = match (run, at) {
            (Some(run), _) => all.iter().position(|line| line.run == run),
            (None, Some(at)) => {
                latest(&all, at).and_then(|time| all.iter().rposition(|line| holds(line, time, at.length_s())))
            }
            (None, None) => all.len().checked_sub(1),
        };
        let Some(place) = place else {
            return Err(match run {
                Some(run) => WatchError::NotWatched { run: run.to_owned() }.into(),
                None => nothing(&all),
            });
        };
        let found = all[place].clone();
        match &found.hour {
            Some(hour) => all.retain(|line| {
                let is_same = line.hour.as_ref().is_some_and(|own| own.devices == hour.devices);
                is_same && line.hostname == found.hostname
            }),
            None => all = vec![found],
        }
        all.sort_by_key(|line| line.begun_unix_s);
        Ok(Self { lines: all })
    }

    /// What was watched in a range, as one run.
    ///
    /// # Errors
    /// [`WatchError::NothingThen`]; the store.
    pub fn within(&self, store: &Store, range: TypedRange) -> Result<RunRecord, Error> {
        let (since, until) = self.times(range)?;
        self.between(store, since, until)
    }

    /// The time that was typed, seconds since 1970: the latest that was watched.
    ///
    /// # Errors
    /// [`WatchError::NothingThen`].
    pub fn time(&self, at: TypedTime) -> Result<u64, Error> {
        latest(&self.lines, at).ok_or_else(|| nothing(&self.lines))
    }

    fn times(&self, range: TypedRange) -> Result<(u64, u64), Error> {
        let first = self.lines.first().map_or(0, |line| line.begun_unix_s);
        let last = self.lines.iter().map(end).max().unwrap_or(0);
        let since = range.since.map_or(Ok(first), |since| self.time(since))?;
        let until = match range.until {
            Some(until) => until.first_after(since).ok_or(WatchError::EndsBefore)?,
            None => last,
        };
        if until > since { Ok((since, until)) } else { Err(WatchError::EndsBefore.into()) }
    }

    /// What was watched between two times, as one run.
    ///
    /// # Errors
    /// [`WatchError::NothingThen`]; the store.
    pub fn between(&self, store: &Store, since_unix_s: u64, until_unix_s: u64) -> Result<RunRecord, Error> {
        let length_s = until_unix_s.saturating_sub(since_unix_s);
        let mut parts = Vec::new();
        let mut runs = Vec::new();
        for line in self.lines.iter().filter(|line| holds(line, since_unix_s, length_s)) {
            if let Some(part) = store.load(&line.run)?.between(since_unix_s, until_unix_s) {
                runs.push(line.run.clone());
                parts.push(part);
            }
        }
        let whole = RunRecord::of_hours(parts).ok_or_else(|| nothing(&self.lines))?;
        Ok(whole.into_part(&RecordedPart { since_unix_s, until_unix_s, runs }))
    }

    /// When which limit held, in a range.
    ///
    /// # Errors
    /// [`WatchError::NothingThen`]; the store.
    pub fn incidents(&self, store: &Store, range: TypedRange) -> Result<Incidents, Error> {
        let (since, until) = self.times(range)?;
        let mut incidents = Incidents::default();
        // An hour at a time: a week is much at once.
        for line in self.lines.iter().filter(|line| holds(line, since, until - since)) {
            if let Some(part) = store.load(&line.run)?.between(since, until) {
                incidents.add(&part);
            }
        }
        Ok(incidents)
    }
}

/// The latest time that was typed at which one of these was watched.
fn latest(lines: &[WatchLine], at: TypedTime) -> Option<u64> {
    at.latest(unix_s(), DAYS_BACK, |time| lines.iter().any(|line| holds(line, time, at.length_s())))
}

/// Nothing was watched then, with what was.
fn nothing(lines: &[WatchLine]) -> Error {
    let time = |at: u64| Timestamp::from_unix_s(at).to_string();
    let first = lines.iter().map(|line| line.begun_unix_s).min();
    let last = lines.iter().map(|line| line.ended_unix_s).max();
    WatchError::NothingThen { watched: first.zip(last).map(|(first, last)| (time(first), time(last))) }.into()
}
