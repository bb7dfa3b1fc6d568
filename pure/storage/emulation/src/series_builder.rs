//! The series of an emulated export: its requests second by second, by the model's clock.

use loadline_block::Operation;
use loadline_record::{Second, Series, SeriesInterval};
use loadline_units::{Duration, Instant, NS_PER_S};

/// The most intervals. In a longer series neighbours are joined, so an emulation may run for months.
const INTERVALS_MAX: usize = 1 << 14;

/// How a request ended.
#[derive(Debug, Clone, Copy)]
pub struct EndedRequest {
    /// What it asked for.
    pub operation: Operation,
    /// When it came.
    pub due_at: Instant,
    /// When it was answered.
    pub completed_at: Instant,
    /// In bytes.
    pub length: u64,
    /// It was answered with an error.
    pub failed: bool,
}

/// Builds the series of an export from its first request on. A request that ends exactly at the end of a second belongs to that
/// second.
#[derive(Debug)]
pub struct SeriesBuilder {
    from: Option<Instant>,
    /// Complete intervals. After [`INTERVALS_MAX`] of them, intervals are twice as long.
    closed: Vec<Second>,
    interval_s: u32,
    /// The number of the current second, counted from the first request.
    number: u64,
    /// When it ends.
    until: Instant,
    current: Box<SeriesInterval>,
}

impl Default for SeriesBuilder {
    fn default() -> Self {
        Self { from: None, closed: Vec::new(), interval_s: 1, number: 0, until: Instant::ZERO, current: Box::default() }
    }
}

impl SeriesBuilder {
    /// A request came.
    #[inline]
    pub fn begin(&mut self, at: Instant) {
        if self.from.is_none() {
            self.from = Some(at);
            self.until = at + Duration::from_s(1);
        }
    }

    /// A request ended. Ends come in the order of time, except at machines that were replaced meanwhile.
    #[inline]
    pub fn end(&mut self, ended: EndedRequest) {
        while ended.completed_at > self.until {
            self.close();
        }
        if self.number > 0 && ended.completed_at <= self.begin_of(self.number) {
            return self.ended_before(ended);
        }
        self.count_in_flight(ended.due_at, ended.completed_at);
        if ended.failed {
            self.current.fail();
            return;
        }
        self.current.complete(ended.operation, ended.length, ended.completed_at.since(ended.due_at));
    }

    fn begin_of(&self, number: u64) -> Instant {
        self.from.unwrap_or_default() + Duration::from_ns(number.saturating_mul(NS_PER_S))
    }

    /// Ends the current second.
    fn close(&mut self) {
        let second = self.second();
        self.current.clear();
        keep(&mut self.closed, &mut self.interval_s, self.number, second);
        self.number += 1;
        self.until = self.until + Duration::from_s(1);
    }

    /// The current second so far.
    fn second(&self) -> Second {
        self.current.second(Duration::from_s(1))
    }

    /// The interval that contains a complete second.
    fn kept(&mut self, number: u64) -> Option<&mut Second> {
        self.closed.get_mut((number / u64::from(self.interval_s)) as usize)
    }

    /// Counts a request in flight from `from` until `to`, which is in the current second or before.
    fn count_in_flight(&mut self, from: Instant, to: Instant) {
        let begin = self.begin_of(self.number);
        self.current.add_in_flight(1, to.since(from.max(begin).min(to)));
        if from < begin {
            self.count_in_flight_before(from, begin.min(to));
        }
    }

    /// The same in complete seconds.
    fn count_in_flight_before(&mut self, from: Instant, to: Instant) {
        let origin = self.from.unwrap_or_default();
        let interval = f64::from(self.interval_s);
        let mut at = from.max(origin);
        while at < to {
            let number = at.since(origin).as_ns() / NS_PER_S;
            let end = self.begin_of(number + 1).min(to);
            if let Some(kept) = self.kept(number) {
                kept.outstanding += end.since(at).as_ns() as f64 / NS_PER_S as f64 / interval;
            }
            at = end;
        }
    }

    /// Counts a request that ended in a complete second. The percentiles of that second do not change.
    #[cold]
    fn ended_before(&mut self, ended: EndedRequest) {
        let EndedRequest { operation, due_at, completed_at, length, failed } = ended;
        self.count_in_flight_before(due_at, completed_at);
        let passed = completed_at.since(self.from.unwrap_or_default().min(completed_at)).as_ns();
        let Some(kept) = self.kept(passed.saturating_sub(1) / NS_PER_S) else { return };
        if failed {
            kept.errors += 1;
            return;
        }
        let own = &mut kept.operations[operation.index()];
        own.count += 1;
        own.bytes += length;
        own.max_ns = own.max_ns.max(completed_at.since(due_at).as_ns());
    }

    /// The series from the first request until `to`; `in_flight` are the times at which the unanswered requests came.
    #[must_use]
    pub fn series(&self, to: Instant, in_flight: impl Iterator<Item = Instant>) -> Series {
        let Some(from) = self.from else { return Series::default() };
        let measured = to.max(from).since(from).as_ns();
        let mut all =
            Self { from: self.from, closed: self.closed.clone(), interval_s: self.interval_s, ..Self::default() };
        all.number = self.number;
        let mut last = self.second();
        // Seconds without an end.
        while (all.number + 1) * NS_PER_S < measured {
            keep(&mut all.closed, &mut all.interval_s, all.number, std::mem::take(&mut last));
            all.number += 1;
        }
        let interval = u64::from(all.interval_s);
        let begun_ns = (all.number - all.number % interval) * NS_PER_S;
        let last_ns = measured.saturating_sub(begun_ns).min(interval * NS_PER_S);
        if last_ns == 0 {
            return Series::default();
        }
        keep(&mut all.closed, &mut all.interval_s, all.number, last);
        in_flight.for_each(|came| all.count_in_flight_before(came, to));
        // The last interval is shorter; joined with the one before it, it is whole.
        let whole_ns = u64::from(all.interval_s) * NS_PER_S;
        let joined = u64::from(all.interval_s) > interval;
        let last_ns = if joined { whole_ns / 2 + last_ns } else { last_ns };
        if let Some(kept) = all.closed.last_mut() {
            kept.outstanding *= whole_ns as f64 / last_ns as f64;
        }
        Series { interval_s: all.interval_s, seconds: all.closed, last_ns }
    }
}

/// Adds the second `number` to those before it.
fn keep(closed: &mut Vec<Second>, interval_s: &mut u32, number: u64, second: Second) {
    let into = number % u64::from(*interval_s);
    match closed.last_mut().filter(|_| into > 0) {
        None => {
            let share = 1.0 / f64::from(*interval_s);
            closed.push(Second { outstanding: second.outstanding * share, ..second });
        }
        Some(kept) => {
            let outstanding = kept.outstanding + second.outstanding / f64::from(*interval_s);
            *kept = Second { outstanding, ..kept.joined(&second) };
        }
    }
    let whole = into + 1 == u64::from(*interval_s);
    if whole && closed.len() >= INTERVALS_MAX {
        let (pairs, _) = closed.as_chunks::<2>();
        *closed = pairs.iter().map(|[one, next]| one.joined(next)).collect();
        *interval_s *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(at: u64) -> Instant {
        Instant::from_ns(at * 1_000_000)
    }

    fn read(due: u64, completed: u64) -> EndedRequest {
        EndedRequest {
            operation: Operation::Read,
            due_at: ms(due),
            completed_at: ms(completed),
            length: 4_096,
            failed: false,
        }
    }

    fn builder(requests: &[EndedRequest]) -> SeriesBuilder {
        let mut builder = SeriesBuilder::default();
        if let Some(first) = requests.iter().map(|ended| ended.due_at).min() {
            builder.begin(first);
        }
        for ended in requests {
            builder.end(*ended);
        }
        builder
    }

    #[test]
    fn seconds_count_from_the_first_request_and_empty_ones_are_kept() {
        // The first one came at 500 ms: seconds end at 1,500, 2,500, ...
        let builder = builder(&[read(500, 1_400), read(1_400, 1_500), read(1_500, 1_501), read(4_000, 4_100)]);
        let series = builder.series(ms(4_100), std::iter::empty());
        let counts: Vec<u64> = series.seconds.iter().map(Second::count).collect();
        assert_eq!((counts, series.interval_s, series.last_ns), (vec![2, 1, 0, 1], 1, 600_000_000));
        let of = series.seconds[0].of(Operation::Read);
        assert_eq!((of.bytes, of.max_ns), (8_192, 900_000_000));
        assert!(of.p50_ns.abs_diff(100_000_000) < 1_000_000, "{of:?}");
        // 900 and 100 ms of the first second; 1 ms of the second one; 100 of the last 600.
        let outstanding: Vec<f64> = series.seconds.iter().map(|second| second.outstanding).collect();
        for (seen, expected) in outstanding.iter().zip([1.0, 0.001, 0.0, 1.0 / 6.0]) {
            assert!((seen - expected).abs() < 1e-9, "{outstanding:?}");
        }
        assert_eq!(SeriesBuilder::default().series(ms(9), std::iter::empty()), Series::default());
    }

    #[test]
    fn what_hangs_is_outstanding_in_every_second_and_what_fails_is_an_error_of_its_own() {
        let failed = EndedRequest { failed: true, ..read(100, 200) };
        let builder = builder(&[read(0, 100), failed, read(200, 3_500)]);
        let series = builder.series(ms(3_500), std::iter::once(ms(1_500)));
        let outstanding: Vec<f64> = series.seconds.iter().map(|second| second.outstanding).collect();
        assert_eq!(outstanding, [1.0, 1.5, 2.0, 2.0]);
        let told: Vec<(u64, u64)> = series.seconds.iter().map(|second| (second.count(), second.errors)).collect();
        assert_eq!(told, [(1, 1), (0, 0), (0, 0), (1, 0)]);
    }

    #[test]
    fn what_a_replaced_machine_answers_late_counts_in_its_own_second() {
        let builder = builder(&[read(0, 100), read(900, 2_500), read(800, 1_900)]);
        let series = builder.series(ms(2_500), std::iter::empty());
        assert_eq!(series.seconds.iter().map(Second::count).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(series.seconds[1].of(Operation::Read).max_ns, 1_100_000_000);
        assert!((series.seconds[1].outstanding - 1.9).abs() < 1e-9);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// However long it takes: nothing is lost, the intervals cover the time, and what was outstanding is the sum of latencies.
        #[test]
        fn no_request_is_lost_and_the_intervals_cover_the_time(gaps in prop::collection::vec((0_u64..3_000_000, 1_u64..9_000), 1..60)) {
            let mut at = 7;
            let mut requests: Vec<EndedRequest> = gaps.iter().map(|(gap, latency)| { at += gap; read(at, at + latency) }).collect();
            requests.sort_by_key(|ended| ended.completed_at);
            let (from, to) = (requests.iter().map(|r| r.due_at).min().unwrap(), requests.last().unwrap().completed_at);
            let series = builder(&requests).series(to, std::iter::empty());
            let (whole, count) = (u64::from(series.interval_s) * NS_PER_S, series.seconds.len() as u64);
            prop_assert!(count <= INTERVALS_MAX as u64);
            prop_assert_eq!((count - 1) * whole + series.last_ns, to.since(from).as_ns());
            prop_assert_eq!(series.seconds.iter().map(Second::count).sum::<u64>(), requests.len() as u64);
            let length = |index: u64| if index + 1 == count { series.last_ns } else { whole };
            let outstanding: f64 = series.seconds.iter().zip(0..).map(|(s, index)| s.outstanding * length(index) as f64).sum();
            let latencies: u64 = requests.iter().map(|r| r.completed_at.since(r.due_at).as_ns()).sum();
            prop_assert!((outstanding / latencies as f64 - 1.0).abs() < 1e-6);
        }
    }
}
