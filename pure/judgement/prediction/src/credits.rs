//! Burst credits under the requests of an application: when they were spent, or how many are left and for how long.
//!
//! [`CreditsWatch`] is shown the credits about every second, by an emulation or a replay. At the end it reports the
//! bursts that ended, or a doubt where the application ran on credits that a longer run would have spent.

use crate::bursts::BurstWatch;
use crate::ceilings::ceilings;
use crate::models::Model;
use loadline_block::Operation;
use loadline_disk::{InitialState, Waits};
use loadline_record::{BurstEnd, Doubt, DoubtCode, DoubtEvidence, Limit, Series, TrialRecord};
use loadline_units::{Bytes, Duration, Instant, Ratio};
use loadline_workload::{BlockShare, LoadSpec};

/// Credits that are spent by less than this share are not worth a word: as much as passes within a blink.
const SPENT_MIN: f64 = 1e-4;

/// Follows the credits of one volume, looked at about every second.
#[derive(Debug, Clone)]
pub struct CreditsWatch {
    watch: BurstWatch,
    /// When it was last looked at.
    at: Instant,
    /// Requests answered by then.
    answered: u64,
    /// Share of the credits that were left before the first request; `None`: nothing saves any.
    begin: Option<f64>,
    /// When the last request that was answered had been.
    end: Option<f64>,
}

/// The credits of one volume at a moment.
#[derive(Debug, Clone, Copy)]
pub struct CreditsReading {
    /// The moment, since the model began.
    pub at: Instant,
    /// When the first request came; `None`: none did.
    pub first: Option<Instant>,
    /// Requests answered.
    pub answered: u64,
    /// What they waited for so far.
    pub waits: Waits,
    /// Share of the credits left; `None`: nothing saves any.
    pub credits: Option<Ratio>,
}

impl CreditsWatch {
    /// Before the first request; `saved` is the share of credits that there is.
    #[must_use]
    pub fn new(initial: InitialState, saved: Option<Ratio>) -> Self {
        let begin = saved.map(Ratio::as_f64);
        let watch = BurstWatch::new(Waits::default(), initial, false);
        Self { watch, at: Instant::ZERO, answered: 0, begin, end: begin }
    }

    /// Looks again.
    pub fn look(&mut self, reading: CreditsReading) {
        let credits = reading.credits.map(Ratio::as_f64);
        match reading.first {
            // Faults may spend them before.
            None => (self.begin, self.end) = (credits, credits),
            Some(first) => {
                self.watch.look(self.at.max(first).since(first), reading.waits);
                if reading.answered > self.answered {
                    self.end = credits;
                }
            }
        }
        (self.at, self.answered) = (reading.at, reading.answered);
    }

    /// The bursts that ended under the requests of a trial. One that ended within the first second of the series does not
    /// count: it spent what was saved while nothing was asked for.
    #[must_use]
    pub fn ended(&self, series: &Series) -> Vec<BurstEnd> {
        self.watch.ends(series, Duration::ZERO).into_iter().filter(|end| end.iops_before.is_some()).collect()
    }

    /// A doubt where requests ran on credits that were not spent by the end, with the rate that they get without.
    #[must_use]
    pub fn doubt(&self, model: &Model, volume: &str, trial: &TrialRecord) -> Option<Doubt> {
        let (begin, end) = self.begin.zip(self.end)?;
        let spent = begin - end;
        if spent < SPENT_MIN || end < SPENT_MIN || !self.ended(&trial.series).is_empty() {
            return None;
        }
        let measured = Duration::from_ns(trial.measured_ns);
        let lasts = Duration::from_s((end / spent * measured.as_s_f64()) as u64);
        let hits = trial.model.as_ref().and_then(|model| model.cache?.hit_share()).unwrap_or(0.0);
        let ceilings = ceilings(model, volume, &alike(trial)?, hits).ok()?;
        let seen = DoubtEvidence::CreditsLeft {
            begin_share: begin,
            end_share: end,
            measured_ns: trial.measured_ns,
            lasts_ns: lasts.as_ns(),
            afterwards: ceilings.named(Limit::BurstExhausted).cloned(),
        };
        Some(Doubt { code: DoubtCode::ShortRun, seen })
    }
}

/// A load of the same kinds of requests, of the mean size; `None`: there were neither reads nor writes.
fn alike(trial: &TrialRecord) -> Option<LoadSpec> {
    let of = |operation| trial.of(operation).map_or((0, 0), |of| (of.count, of.bytes));
    let ((reads, read), (writes, written)) = (of(Operation::Read), of(Operation::Write));
    let count = reads + writes;
    let size = (read + written).checked_div(count)?.next_multiple_of(512);
    let reads = Ratio::ppm((reads as f64 / count as f64 * 1e6) as u32)?;
    let blocks = vec![BlockShare { size: Bytes::new(size.max(512)), share: Ratio::ONE }];
    Some(LoadSpec { reads, blocks, ..LoadSpec::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::most_plausible;
    use crate::trial::{Going, Putting, predict};
    use loadline_catalog::{Catalog, Environment, environment_text};
    use loadline_disk::WaitTimes;
    use loadline_record::{Budget, BudgetOwner, CeilingSource, Second};

    fn at(second: u64) -> Instant {
        Instant::ZERO + Duration::from_s(second)
    }

    fn reading(second: u64, first: Option<Instant>, waits: Waits, credits: u32) -> CreditsReading {
        CreditsReading { at: at(second), first, answered: second * 100, waits, credits: Ratio::ppm(credits) }
    }

    #[test]
    fn a_burst_ends_where_requests_begin_to_wait_for_credits_counted_from_the_first() {
        let mut watch = CreditsWatch::new(InitialState::default(), Some(Ratio::ONE));
        watch.look(reading(1, None, Waits::default(), 1_000_000));
        let mut waits = Waits::default();
        for second in 2..10 {
            let credits = if second > 6 { Duration::from_s(30) } else { Duration::ZERO };
            let more = WaitTimes { iops: Duration::from_s(30), throughput: Duration::ZERO, credits };
            waits.disks = waits.disks + more;
            watch.look(reading(second, Some(at(1)), waits, 1_000_000 - second as u32 * 100_000));
        }
        let second = |rate: u64| {
            let mut second = Second::default();
            second.operations[0].count = rate;
            second
        };
        let seconds = [900, 900, 900, 900, 900, 300, 100, 100].map(second).into();
        let series = Series { interval_s: 1, seconds, last_ns: 1_000_000_000 };
        let ended = watch.ended(&series);
        assert_eq!(ended.len(), 1);
        assert_eq!(
            (ended[0].at_ns, ended[0].iops_before, ended[0].iops_after),
            (5_000_000_000, Some(900.0), Some(100.0))
        );
    }

    #[test]
    fn what_came_back_while_nothing_was_asked_for_is_not_what_was_left() {
        let mut watch = CreditsWatch::new(InitialState::default(), Some(Ratio::ONE));
        watch.look(reading(1, Some(at(0)), Waits::default(), 700_000));
        watch.look(CreditsReading { answered: 100, ..reading(9, Some(at(0)), Waits::default(), 990_000) });
        assert_eq!((watch.begin, watch.end), (Some(1.0), Some(0.7)));
    }

    #[test]
    fn what_is_left_is_told_with_how_long_it_lasts_and_what_comes_after() {
        let text = environment_text("d4s-v5-p10").unwrap();
        let environment = Environment::parse(text, "d4s-v5-p10", &Catalog::builtin()).unwrap();
        let model = most_plausible(&environment);
        let load = LoadSpec {
            reads: Ratio::ZERO,
            warm_up: Duration::ZERO,
            duration: Duration::from_s(1),
            ..LoadSpec::default()
        };
        let putting = Putting {
            model: &model,
            volume: "data",
            load: &load,
            trial: 0,
            seed: 1,
            initial: InitialState::default(),
            started_unix_s: 0,
        };
        let mut trial = predict(&putting, None, &mut |_| Going::On).unwrap().unwrap().record;
        trial.measured_ns = Duration::from_s(60).as_ns();
        trial.series = Series::default();
        let seen = |left| {
            let mut watch = CreditsWatch::new(InitialState::default(), Some(Ratio::ONE));
            watch.look(reading(60, Some(at(0)), Waits::default(), left));
            watch.doubt(&model, "data", &trial).map(|doubt| doubt.seen)
        };
        let Some(DoubtEvidence::CreditsLeft { begin_share, end_share, lasts_ns, afterwards, .. }) = seen(750_000)
        else {
            panic!("a quarter was spent");
        };
        assert_eq!((begin_share, end_share, lasts_ns), (1.0, 0.75, Duration::from_s(180).as_ns()));
        assert!(afterwards.is_some_and(|limit| matches!(
            limit.source,
            CeilingSource::Budget(Budget { owner: BudgetOwner::Disk { ref name, .. }, .. }) if name == "azure/premium-p10"
        )));
        // Nothing to speak of was spent, or all: then it waited for them.
        assert_eq!([999_950, 0].map(seen), [None, None]);
    }
}
