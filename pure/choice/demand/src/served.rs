//! Finds a limit in a trace by what was answered: answers stay level while arrivals vary and requests wait.
//!
//! Rates of arrivals hide a limit where an application asks in bursts, as a database does at its commits and checkpoints. What comes back
//! shows it: as long as something waits, as much is answered in each half second.

use crate::limited::QUEUED;
use crate::series::{AtLimit, Demand};
use loadline_block::Operation;
use loadline_emulation::TraceRecord;
use loadline_units::NS_PER_S;

/// What is counted in one piece.
const WINDOW_NS: u64 = NS_PER_S / 2;
/// Pieces in which requests wait all the time: at least so many, with this mean depth.
const WINDOWS_MIN: usize = 6;
const DEPTH_MIN: f64 = 4.0;
const BUSY_MIN: f64 = 0.98;
/// Answers in a piece at least, so that a rate can be level.
const ANSWERS_MIN: u64 = 50;
/// How near to the median answers are, and in which share of such pieces.
const LEVEL: f64 = 0.03;
const LEVEL_SHARE: f64 = 0.75;
/// Arrivals vary by so many times as much. In a closed loop they do not.
const VARIES: f64 = 3.0;
/// An interval with this share of the limit, and requests that wait, is at it.
const AT_LIMIT: f64 = 0.95;
/// A request waited for the limit if so much of it was used until its answer, and it took longer than so many requests at the limit's rate.
const USED: f64 = 0.8;
const REQUESTS_LONG: f64 = 5.0;

/// A rate that answers do not pass.
#[derive(Debug, Clone)]
pub(crate) struct ServedLimit {
    /// Of requests, or of bytes.
    counts: Counts,
    per_s: f64,
    /// Requests per second at the limit.
    requests_per_s: f64,
    /// When answers came, and how much had been answered by then.
    answers: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    Requests,
    Bytes,
}

impl Counts {
    const fn of(self, record: &TraceRecord) -> u64 {
        match self {
            Self::Requests => 1,
            Self::Bytes => record.length,
        }
    }
}

/// Half a second of a trace.
#[derive(Debug, Clone, Copy, Default)]
struct Window {
    arrived: u64,
    answered: u64,
    answers: u64,
    in_flight_ns: u64,
    busy_ns: u64,
}

impl ServedLimit {
    /// The limit that reads and writes show.
    pub(crate) fn of(records: &[TraceRecord]) -> Option<Self> {
        Self::counting(records, Counts::Requests).or_else(|| Self::counting(records, Counts::Bytes))
    }

    fn counting(records: &[TraceRecord], counts: Counts) -> Option<Self> {
        let windows = windows(records, counts);
        let length_s = WINDOW_NS as f64 / NS_PER_S as f64;
        let waits = |window: &&Window| {
            window.busy_ns as f64 >= BUSY_MIN * WINDOW_NS as f64
                && window.in_flight_ns as f64 >= DEPTH_MIN * WINDOW_NS as f64
                && window.answers >= ANSWERS_MIN
        };
        let mut waiting: Vec<&Window> = windows.iter().filter(waits).collect();
        waiting.sort_by_key(|window| window.answered);
        let median = waiting.get(waiting.len() / 2)?.answered as f64;
        let all = waiting.len();
        waiting.retain(|window| (window.answered as f64 / median - 1.0).abs() <= LEVEL);
        let is_level = waiting.len() >= WINDOWS_MIN && waiting.len() as f64 >= LEVEL_SHARE * all as f64;
        let varies = deviation(&waiting, |window| window.arrived);
        // What falls on either side of an end is an answer or two.
        let steps = 1.0 / waiting.iter().map(|window| window.answers).min()? as f64;
        let is_limit = is_level && varies >= VARIES * deviation(&waiting, |window| window.answered).max(steps);
        if !is_limit {
            return None;
        }
        let mean = |figure: fn(&Window) -> u64| {
            waiting.iter().map(|window| figure(window) as f64).sum::<f64>() / waiting.len() as f64 / length_s
        };
        let mut answers: Vec<(u64, u64)> =
            records.iter().filter_map(|record| Some((record.completed_at?.as_ns(), counts.of(record)))).collect();
        answers.sort_unstable();
        let mut sum = 0;
        for (_, answered) in &mut answers {
            sum += *answered;
            *answered = sum;
        }
        Some(Self {
            counts,
            per_s: mean(|window| window.answered),
            requests_per_s: mean(|window| window.answers),
            answers,
        })
    }

    /// How much was answered until a time.
    fn answered_until(&self, at_ns: u64) -> u64 {
        let place = self.answers.partition_point(|(at, _)| *at <= at_ns);
        place.checked_sub(1).map_or(0, |place| self.answers[place].1)
    }

    /// What share of the limit was used between two times.
    fn used(&self, from_ns: u64, until_ns: u64) -> f64 {
        let answered = self.answered_until(until_ns) - self.answered_until(from_ns);
        answered as f64 / (until_ns.saturating_sub(from_ns).max(1) as f64 / NS_PER_S as f64) / self.per_s
    }

    /// Whether a request waited for the limit: then its latency is not one of the storage below it.
    pub(crate) fn delayed(&self, came_ns: u64, done_ns: u64) -> bool {
        let is_long = (done_ns.saturating_sub(came_ns)) as f64 > REQUESTS_LONG / self.requests_per_s * NS_PER_S as f64;
        // Limits of clouds count in windows, in which all is used up early: longer times show it.
        is_long && self.used(came_ns.min(done_ns.saturating_sub(WINDOW_NS)), done_ns) >= USED
    }

    /// Marks the intervals in which it was reached and requests waited.
    pub(crate) fn mark(&self, demand: &mut Demand) {
        let mut from_s = 0.0;
        let ns = |at_s: f64| (at_s * NS_PER_S as f64) as u64;
        for interval in &mut demand.intervals {
            let until_s = from_s + interval.length_s;
            let is_queued = interval.in_flight.is_some_and(|depth| depth >= QUEUED);
            if interval.at_limit.is_none() && is_queued && self.used(ns(from_s), ns(until_s)) >= AT_LIMIT {
                interval.at_limit = Some(match self.counts {
                    Counts::Requests => AtLimit::LevelRequests,
                    Counts::Bytes => AtLimit::LevelBytes,
                });
            }
            from_s = until_s;
        }
    }
}

fn windows(records: &[TraceRecord], counts: Counts) -> Vec<Window> {
    let spans = || {
        records.iter().filter_map(|record| Some((record, record.submitted_at.as_ns(), record.completed_at?.as_ns())))
    };
    let end = spans().map(|(_, _, done)| done).max().unwrap_or(0);
    // The last one is not whole.
    let mut windows = vec![Window::default(); (end / WINDOW_NS) as usize];
    let place = |at_ns: u64| (at_ns / WINDOW_NS) as usize;
    let each = |windows: &mut [Window], from: u64, until: u64, add: fn(&mut Window, u64)| {
        let last = place(until).min(windows.len().saturating_sub(1));
        for (at, window) in windows.iter_mut().enumerate().take(last + 1).skip(place(from)) {
            let begins = at as u64 * WINDOW_NS;
            add(window, until.min(begins + WINDOW_NS).saturating_sub(from.max(begins)));
        }
    };
    let mut busy: Vec<(u64, u64)> = Vec::new();
    for (record, came, done) in spans() {
        if let Some(window) = windows.get_mut(place(came)) {
            window.arrived += counts.of(record);
        }
        if let Some(window) = windows.get_mut(place(done)) {
            window.answered += counts.of(record);
            window.answers += 1;
        }
        each(&mut windows, came, done, |window, ns| window.in_flight_ns += ns);
        busy.push((came, done));
    }
    busy.sort_unstable();
    let mut until = 0;
    for (came, done) in busy {
        if done > until {
            each(&mut windows, came.max(until), done, |window, ns| window.busy_ns += ns);
            until = done;
        }
    }
    windows
}

/// The standard deviation as a share of the mean.
fn deviation(windows: &[&Window], figure: fn(&Window) -> u64) -> f64 {
    let values = || windows.iter().map(|window| figure(window) as f64);
    let count = windows.len().max(1) as f64;
    let mean = values().sum::<f64>() / count;
    (values().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt() / mean.max(f64::MIN_POSITIVE)
}

/// The records that a demand counts.
pub(crate) const fn is_data(record: &TraceRecord) -> bool {
    matches!(record.operation, Operation::Read | Operation::Write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::example;
    use loadline_units::Instant;

    fn record(came_us: u64, done_us: u64) -> TraceRecord {
        let at = |us: u64| Instant::from_ns(us * 1_000);
        example::record(0, at(came_us), Some(at(done_us)), Operation::Write)
    }

    /// 400 or 560 requests arrive in turns within a second; `per_s` are answered at most, each takes 1 ms at least.
    fn bursts(per_s: u64) -> Vec<TraceRecord> {
        let mut free_us = 0;
        let of_second = |second: u64| {
            let count = if second.is_multiple_of(2) { 400 } else { 560 };
            (0..count).map(move |number| second * 1_000_000 + number * 400_000 / count)
        };
        let mut answered = |came_us: u64| {
            free_us = (came_us + 1_000).max(free_us + 1_000_000 / per_s);
            record(came_us, free_us)
        };
        (0..30).flat_map(of_second).map(&mut answered).collect()
    }

    #[test]
    fn answers_that_stay_level_while_requests_wait_show_a_limit() {
        let found = ServedLimit::of(&bursts(480)).unwrap();
        assert!((found.per_s / 480.0 - 1.0).abs() < 0.02, "{}", found.per_s);
        assert_eq!(found.counts, Counts::Requests);
        // In the middle of a burst much waits; the first of it did not.
        let all = bursts(480);
        let delayed =
            |record: &TraceRecord| found.delayed(record.submitted_at.as_ns(), record.completed_at.unwrap().as_ns());
        assert!(all.iter().filter(|record| delayed(record)).count() > all.len() / 2);
        assert!(!delayed(&all[0]));
    }

    #[test]
    fn storage_that_follows_its_application_shows_none() {
        assert!(ServedLimit::of(&bursts(5_000)).is_none());
    }

    #[test]
    fn a_load_at_a_steady_rate_shows_none() {
        // 1,000 a second, each of which takes 8 ms: answers are level, and so is what is asked.
        let steady: Vec<TraceRecord> =
            (0..20_000).map(|number| record(number * 1_000, number * 1_000 + 8_000)).collect();
        assert!(ServedLimit::of(&steady).is_none());
    }
}
