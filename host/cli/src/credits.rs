//! Credits of bursts under requests that others made: when they were spent, or how much of them is left and what comes after.

use loadline_block::Operation;
use loadline_disk::{InitialState, Waits};
use loadline_prediction::{BurstWatch, Model, ceilings};
use loadline_record::{BurstEnd, Doubt, DoubtCode, Limit, Series, TrialRecord};
use loadline_units::{Bytes, Duration, Instant, Ratio};
use loadline_workload::{BlockShare, LoadSpec};

/// Credits that are spent by less than this share are not worth a word: as much as passes within a blink.
const SPENT_MIN: f64 = 1e-4;

/// The credits on the way of one volume's requests, looked at about every second.
#[derive(Debug, Clone)]
pub(crate) struct CreditsWatch {
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

/// How it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    pub(crate) at: Instant,
    /// When the first request came; `None`: none did.
    pub(crate) first: Option<Instant>,
    /// Requests answered.
    pub(crate) answered: u64,
    /// What they waited for so far.
    pub(crate) waits: Waits,
    /// Share of the credits left; `None`: nothing saves any.
    pub(crate) credits: Option<Ratio>,
}

impl CreditsWatch {
    /// Before the first request; `saved` is the share of credits that there is.
    pub(crate) fn new(initial: InitialState, saved: Option<Ratio>) -> Self {
        let begin = saved.map(Ratio::as_f64);
        let watch = BurstWatch::new(Waits::default(), initial, false);
        Self { watch, at: Instant::ZERO, answered: 0, begin, end: begin }
    }

    /// Looks again.
    pub(crate) fn look(&mut self, standing: Standing) {
        let credits = standing.credits.map(Ratio::as_f64);
        match standing.first {
            // Faults may spend them before.
            None => (self.begin, self.end) = (credits, credits),
            Some(first) => {
                self.watch.look(self.at.max(first).since(first), standing.waits);
                if standing.answered > self.answered {
                    self.end = credits;
                }
            }
        }
        (self.at, self.answered) = (standing.at, standing.answered);
    }

    /// The bursts that ended under the requests of a trial, after a whole second of its series or more: what was saved up while
    /// nothing was asked for is spent within the first one.
    pub(crate) fn ended(&self, series: &Series) -> Vec<BurstEnd> {
        self.watch.ends(series, Duration::ZERO).into_iter().filter(|end| end.iops_before.is_some()).collect()
    }

    /// That requests ran on credits which were not spent by the end, and what they get without.
    pub(crate) fn doubt(&self, model: &Model, volume: &str, trial: &TrialRecord) -> Option<Doubt> {
        let (begin, end) = self.begin.zip(self.end)?;
        let spent = begin - end;
        if spent < SPENT_MIN || end < SPENT_MIN || !self.ended(&trial.series).is_empty() {
            return None;
        }
        let measured = Duration::from_ns(trial.measured_ns);
        let lasts = Duration::from_s((end / spent * measured.as_s_f64()) as u64);
        let hits = trial.model.as_ref().and_then(|model| model.cache?.hit_share()).unwrap_or(0.0);
        let ceilings = ceilings(model, volume, &alike(trial)?, hits).ok()?;
        let after = ceilings.named(Limit::BurstExhausted).map(|ceiling| {
            format!(" From then on requests like these come to {:.0} IOPS at most ({}).", ceiling.iops, ceiling.source)
        });
        let detail = format!(
            "It ran on saved-up burst credits: {} of them were left at its beginning and {} after {}, which at this pace are spent in \
             {} more.{}",
            share(begin),
            share(end),
            measured.clock(),
            lasts.clock(),
            after.unwrap_or_default()
        );
        Some(Doubt { code: DoubtCode::ShortRun, detail })
    }
}

/// With as many decimals as it takes to tell it from all of them.
fn share(of: f64) -> String {
    if of > 0.98 && of < 1.0 { format!("{:.2} %", of * 100.0) } else { format!("{:.0} %", of * 100.0) }
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

/// The state of storage whose credits are as asked for.
pub(crate) fn initial(bursts: crate::bursts::Bursts) -> InitialState {
    let vm_bursts = Some(bursts.vm).filter(|vm| *vm != bursts.disks);
    InitialState { bursts: bursts.disks, vm_bursts, ..InitialState::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_disk::Waited;
    use loadline_record::Second;

    fn at(second: u64) -> Instant {
        Instant::ZERO + Duration::from_s(second)
    }

    fn standing(second: u64, first: Option<Instant>, waits: Waits, credits: u32) -> Standing {
        Standing { at: at(second), first, answered: second * 100, waits, credits: Ratio::ppm(credits) }
    }

    #[test]
    fn a_burst_ends_where_requests_begin_to_wait_for_credits_counted_from_the_first() {
        let mut watch = CreditsWatch::new(InitialState::default(), Some(Ratio::ONE));
        watch.look(standing(1, None, Waits::default(), 1_000_000));
        let mut waits = Waits::default();
        for second in 2..10 {
            let credits = if second > 6 { Duration::from_s(30) } else { Duration::ZERO };
            let more = Waited { iops: Duration::from_s(30), throughput: Duration::ZERO, credits };
            waits.disks = waits.disks + more;
            watch.look(standing(second, Some(at(1)), waits, 1_000_000 - second as u32 * 100_000));
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
        watch.look(standing(1, Some(at(0)), Waits::default(), 700_000));
        watch.look(Standing { answered: 100, ..standing(9, Some(at(0)), Waits::default(), 990_000) });
        assert_eq!((watch.begin, watch.end), (Some(1.0), Some(0.7)));
    }

    #[test]
    fn what_is_left_is_told_with_how_long_it_lasts_and_what_comes_after() {
        let catalog = crate::catalog::with_folder(None).unwrap();
        let environment = crate::environments::read("d4s-v5-p10", &catalog).unwrap();
        let model = loadline_prediction::models(&environment, 1, 0, loadline_prediction::Limits::Delivered).remove(0);
        let mut figures = loadline_emulator::Figures::default();
        let writes = &mut figures.operations[Operation::Write.index()];
        (0..100).for_each(|_| writes.latency.record(Duration::from_ms(2)));
        writes.bytes = Bytes::new(409_600);
        let account = loadline_emulator::Account { first: Some(at(0)), last: at(60), ..Default::default() };
        let trial = crate::emulated::trial(&figures, &account, &Series::default(), 0);
        let told = |left| {
            let mut watch = CreditsWatch::new(InitialState::default(), Some(Ratio::ONE));
            watch.look(standing(60, Some(at(0)), Waits::default(), left));
            watch.doubt(&model, "data", &trial).map(|doubt| doubt.detail)
        };
        let detail = told(750_000).expect("a quarter was spent");
        for part in [
            "100 % of them were left at its beginning and 75 % after 1 min 00 s",
            "spent in 3 min 00 s more",
            "IOPS at most (azure/premium-p10",
        ] {
            assert!(detail.contains(part), "{part}: {detail}");
        }
        // Nothing to speak of was spent, or all: then it waited for them.
        assert_eq!([999_950, 0].map(told), [None, None]);
    }

    #[test]
    fn a_share_just_below_all_is_not_told_as_all() {
        assert_eq!([1.0, 0.9991, 0.5, 0.0].map(share), ["100 %", "99.91 %", "50 %", "0 %"]);
    }
}
