//! A recorded time, run through the limits of a choice as a fluid: rates and credits, interval by interval.
//!
//! Each limit has a bank of credits for requests and one for bytes. An interval that asks less than the lasting rate fills
//! it; one that asks more draws on it, up to the rate in a burst. What is asked beyond that waits, and is asked again
//! in the next interval. An interval is short if something waits at its end.
//!
//! A record shorter than a week goes on as it is until the week is over: credits that carry a minute, or one day, do not carry what
//! lasts.

use crate::flow::{Counting, Flow, Rated, Station};
use loadline_disk::Directions;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Work that waits is given up when it is more than the demand of this time: no application waits longer.
const BACKLOG_MAX_S: f64 = 600.0;
/// A shorter record is repeated until it is so long.
const WEEK_S: f64 = 7.0 * 86_400.0;

/// One interval's demand on its way.
#[derive(Debug, Clone)]
pub(crate) struct DayStep {
    pub(crate) length_s: f64,
    pub(crate) flow: Flow,
}

/// A recorded time in the units of each way to count requests.
#[derive(Debug)]
pub(crate) struct Day {
    steps: Vec<DayStep>,
    counted: RefCell<Vec<(Counting, Rc<CountedDay>)>>,
    /// What is known of budgets by themselves.
    alone: RefCell<BTreeMap<BankKind, KnownBanks>>,
}

/// Budgets that can be held against each other: the way to count, and the takes, each of the largest.
type BankKind = (usize, [u64; 4]);

/// A budget's lasting rate, its rate in a burst and its credits, in units of what it takes of a step.
type BankFigures = [f64; 3];

/// What is known of budgets of one kind. A larger budget is short no more often, so that a few runs through the recorded time tell of
/// hundreds of choices.
#[derive(Debug)]
struct KnownBanks {
    /// What steps ask, the most first, each with the time of all up to it, s.
    asked: Vec<(f64, f64)>,
    /// Those that are never short: what is no less in any figure is not, either.
    carry: Vec<BankFigures>,
    /// Those that are short for more than a share of the time: what is no more in any figure is so, too.
    fail: Vec<(BankFigures, f64)>,
    /// Those that are short for exactly a share of it.
    between: Vec<(BankFigures, f64)>,
}

impl KnownBanks {
    fn new(bank: &Bank, steps: &[DayStep], unit: f64) -> Self {
        let of = |(units, step): (&[f64; 4], &DayStep)| (bank.asked(units) / unit, step.length_s);
        let mut asked: Vec<(f64, f64)> = bank.day.steps.iter().zip(steps).map(of).collect();
        asked.sort_unstable_by(|(a, _), (b, _)| b.total_cmp(a));
        let mut time_s = 0.0;
        for (_, until_s) in &mut asked {
            time_s += *until_s;
            *until_s = time_s;
        }
        Self { asked, carry: Vec::new(), fail: Vec::new(), between: Vec::new() }
    }

    /// The share of the time that asks more than a budget gives even with credits.
    fn beyond(&self, burst: f64) -> f64 {
        let count = self.asked.partition_point(|(asked, _)| *asked > burst * (1.0 + 1e-9));
        let until = |index: usize| self.asked.get(index).map_or(0.0, |(_, until_s)| *until_s);
        count.checked_sub(1).map_or(0.0, until) / until(self.asked.len().saturating_sub(1)).max(f64::MIN_POSITIVE)
    }

    /// The share of the time that is short, if that is known; anything above `allowed` where it is more.
    fn short(&self, figures: &BankFigures, allowed: f64) -> Option<f64> {
        let beyond = self.beyond(figures[1]);
        if beyond > allowed {
            return Some(beyond);
        }
        let all =
            |known: &BankFigures, holds: fn(&f64, &f64) -> bool| known.iter().zip(figures).all(|(a, b)| holds(a, b));
        if self.carry.iter().any(|known| all(known, f64::le)) {
            return Some(0.0);
        }
        if self.fail.iter().any(|(known, more_than)| *more_than >= allowed && all(known, f64::ge)) {
            return Some(1.0);
        }
        self.between.iter().find(|(known, _)| all(known, |a, b| a.total_cmp(b).is_eq())).map(|(_, short)| *short)
    }

    fn learn(&mut self, figures: BankFigures, short: f64, allowed: f64) {
        if short <= 0.0 {
            self.carry.push(figures);
        } else if short > allowed {
            self.fail.push((figures, allowed));
        } else {
            self.between.push((figures, short));
        }
    }
}

/// A recorded time in one way to count requests.
#[derive(Debug)]
struct CountedDay {
    /// Its place among the ways to count.
    place: usize,
    /// Of each step: requests read and written, then bytes, per second.
    steps: Vec<[f64; 4]>,
    /// The highest of each.
    most: [f64; 4],
}

impl Day {
    pub(crate) fn new(steps: Vec<DayStep>) -> Self {
        Self { steps, counted: RefCell::new(Vec::new()), alone: RefCell::new(BTreeMap::new()) }
    }

    fn counted(&self, counting: Counting) -> Rc<CountedDay> {
        let known = self.counted.borrow().iter().find(|(known, _)| *known == counting).map(|(_, day)| Rc::clone(day));
        known.unwrap_or_else(|| {
            let steps: Vec<[f64; 4]> = self.steps.iter().map(|step| counting.units(&step.flow)).collect();
            let most = steps
                .iter()
                .fold([0.0; 4], |most: [f64; 4], step| std::array::from_fn(|index| most[index].max(step[index])));
            let place = self.counted.borrow().len();
            let day = Rc::new(CountedDay { place, steps, most });
            self.counted.borrow_mut().push((counting, Rc::clone(&day)));
            day
        })
    }

    /// Whether limits carry it, short for at most `short` of the time; `factor` times what was asked.
    pub(crate) fn is_carried(&self, stations: &[Station], factor: f64, short: f64) -> bool {
        let mut banks = banks(stations, self);
        // What never exceeds a lasting rate needs no credits.
        banks.retain(|bank| bank.highest() * factor > bank.rate);
        if banks.is_empty() {
            return true;
        }
        let alone: Vec<f64> = banks.iter().map(|bank| self.short_alone(bank, stations, factor, short)).collect();
        let may_be = short + 1e-9;
        if alone.iter().any(|one| *one > may_be) {
            return false;
        }
        // An interval may be short at several of them.
        alone.iter().sum::<f64>() <= may_be || self.run(&mut banks, stations, factor, Some(short)).short <= may_be
    }

    /// The share of the time that is short at this budget; anything above `short` where it is more.
    fn short_alone(&self, bank: &Bank, stations: &[Station], factor: f64, short: f64) -> f64 {
        let most = bank.takes.iter().copied().fold(0.0, f64::max);
        let kind = (bank.day.place, bank.takes.map(|takes| (takes / most).to_bits()));
        let figures = [bank.rate, bank.burst, bank.most].map(|figure| figure / (most * factor));
        let allowed = short + 1e-9;
        let mut alone = self.alone.borrow_mut();
        let known = alone.entry(kind).or_insert_with(|| KnownBanks::new(bank, &self.steps, most));
        known.short(&figures, allowed).unwrap_or_else(|| {
            let found = self.run(&mut [bank.clone()], stations, factor, Some(short)).short;
            known.learn(figures, found, allowed);
            found
        })
    }

    /// Runs the time through the limits, all credits full at its start.
    pub(crate) fn result(&self, stations: &[Station], factor: f64) -> DayResult {
        let mut banks = banks(stations, self);
        self.run(&mut banks, stations, factor, None)
    }
}

/// How a choice does over a recorded time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct DayResult {
    /// Share of the time that is short.
    pub(crate) short: f64,
    /// When a burst first ends while more is asked than lasts: seconds from the start, and where.
    pub(crate) burst_ends: Option<(f64, String)>,
    /// The interval with the largest use of a limit, and whether credits were left at its start.
    pub(crate) worst: usize,
    pub(crate) worst_in_credit: bool,
}

/// One budget of one kind and direction.
#[derive(Clone)]
struct Bank {
    who: usize,
    rate: f64,
    burst: f64,
    /// Saved at most, and now.
    most: f64,
    saved: f64,
    waiting: f64,
    /// The least that was saved in this pass through the record, and whether nothing more could be saved at some time.
    lowest: f64,
    was_full: bool,
    day: Rc<CountedDay>,
    /// Which of a step's units it takes, as factors.
    takes: [f64; 4],
}

impl Bank {
    fn asked(&self, step: &[f64; 4]) -> f64 {
        step.iter().zip(&self.takes).map(|(units, takes)| units * takes).sum()
    }
    /// At most so much is ever asked.
    fn highest(&self) -> f64 {
        self.asked(&self.day.most)
    }
}

fn banks(stations: &[Station], day: &Day) -> Vec<Bank> {
    let mut banks = Vec::new();
    for (who, station) in stations.iter().enumerate() {
        let counted = day.counted(Counting::of(&station.budget));
        let shares = [station.read_share, station.write_share];
        if let Some(found) = station.budget.iops {
            of(found, who, &counted, |takes| [takes[0] * shares[0], takes[1] * shares[1], 0.0, 0.0], &mut banks);
        }
        if let Some(found) = station.budget.throughput {
            of(found, who, &counted, |takes| [0.0, 0.0, takes[0] * shares[0], takes[1] * shares[1]], &mut banks);
        }
    }
    banks
}

fn of<T: Rated>(
    found: Directions<T>,
    who: usize,
    day: &Rc<CountedDay>,
    takes_of: impl Fn([f64; 2]) -> [f64; 4],
    banks: &mut Vec<Bank>,
) {
    let mut add = |budget: T, takes: [f64; 2]| {
        let most = budget.credits().unwrap_or(0.0);
        banks.push(Bank {
            who,
            rate: budget.lasting() as f64,
            burst: budget.in_burst() as f64,
            most,
            saved: most,
            waiting: 0.0,
            lowest: most,
            was_full: false,
            day: Rc::clone(day),
            takes: takes_of(takes),
        });
    };
    match found {
        Directions::Together(budget) => add(budget, [1.0, 1.0]),
        Directions::Apart { read, write } => {
            if let Some(read) = read {
                add(read, [1.0, 0.0]);
            }
            if let Some(write) = write {
                add(write, [0.0, 1.0]);
            }
        }
        // One budget with two prices: in units of reads.
        Directions::Traded { read, write } => add(read, [1.0, read.lasting() as f64 / write.lasting() as f64]),
    }
}

impl Day {
    /// Runs the time through `banks`, again and again until a week is over; gives up as soon as more than a share of it is short.
    fn run(&self, banks: &mut [Bank], stations: &[Station], factor: f64, give_up: Option<f64>) -> DayResult {
        let mut result = DayResult::default();
        let record_s: f64 = self.steps.iter().map(|step| step.length_s).sum();
        let passes = if record_s > 0.0 { (WEEK_S / record_s - 1e-9).ceil().max(1.0) } else { 1.0 };
        let all_s = record_s * passes;
        let short_max_s = give_up.map_or(f64::INFINITY, |share| share * all_s + 1e-6);
        let (mut pass, mut short_s, mut worst) = (0.0, 0.0, 0.0);
        while pass < passes && short_s <= short_max_s {
            let before: Vec<(f64, f64)> = banks.iter().map(|bank| (bank.saved, bank.waiting)).collect();
            let short_now_s =
                self.pass(banks, stations, factor, pass * record_s, &mut worst, &mut result, short_max_s - short_s);
            pass += 1.0;
            let alike = alike_passes(banks, &before).min(passes - pass);
            for (bank, (saved, _)) in banks.iter_mut().zip(&before) {
                bank.saved += (bank.saved - saved) * alike;
            }
            pass += alike;
            short_s += short_now_s * (1.0 + alike);
        }
        result.short = if all_s > 0.0 { (short_s / all_s).min(1.0) } else { 0.0 };
        result
    }

    /// One pass through the record. Returns how long it was short, s.
    #[expect(clippy::too_many_arguments, reason = "the state of a run, which one function alone carries on")]
    fn pass(
        &self,
        banks: &mut [Bank],
        stations: &[Station],
        factor: f64,
        from: f64,
        worst: &mut f64,
        result: &mut DayResult,
        short_max_s: f64,
    ) -> f64 {
        let (mut at, mut short_s) = (from, 0.0);
        for bank in banks.iter_mut() {
            (bank.lowest, bank.was_full) = (bank.saved, false);
        }
        for (index, step) in self.steps.iter().enumerate() {
            let mut is_short = false;
            for bank in banks.iter_mut() {
                let asked = bank.asked(&bank.day.steps[index]) * factor;
                if asked > *worst * bank.rate {
                    (*worst, result.worst, result.worst_in_credit) = (asked / bank.rate, index, bank.saved > 0.0);
                }
                let wanted = asked * step.length_s + bank.waiting;
                // The rate in a burst holds for as long as credits last.
                let saved_before = bank.saved;
                let given = wanted.min(bank.rate * step.length_s + bank.saved).min(bank.burst * step.length_s);
                let left = bank.saved + bank.rate * step.length_s - given;
                bank.was_full |= left > bank.most;
                bank.saved = left.clamp(0.0, bank.most);
                bank.lowest = bank.lowest.min(bank.saved);
                bank.waiting = (wanted - given).min(asked * BACKLOG_MAX_S);
                if wanted > given * (1.0 + 1e-9) {
                    is_short = true;
                    if bank.most > 0.0 && bank.saved <= 0.0 && result.burst_ends.is_none() {
                        let rest = (asked - bank.rate).max(1e-9);
                        let ends_at = at + (saved_before / rest).min(step.length_s);
                        result.burst_ends = Some((ends_at, stations[bank.who].who.clone()));
                    }
                }
            }
            if is_short {
                short_s += step.length_s;
                if short_s > short_max_s {
                    break;
                }
            }
            at += step.length_s;
        }
        short_s
    }
}

/// How many of the passes to come go as the last one went: all if it changed nothing; if it drew on credits alone, those until
/// before they end.
fn alike_passes(banks: &[Bank], before: &[(f64, f64)]) -> f64 {
    let of = |(bank, (saved, waiting)): (&Bank, &(f64, f64))| {
        let change = bank.saved - saved;
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0);
        if near(bank.saved, *saved) && near(bank.waiting, *waiting) {
            f64::INFINITY
        } else if change < 0.0 && !bank.was_full && bank.waiting <= 0.0 && *waiting <= 0.0 {
            (bank.lowest / -change - 1.0).floor().max(0.0)
        } else {
            0.0
        }
    };
    banks.iter().zip(before).map(of).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Cached, LayoutSplit, disk_stations};
    use crate::need::Rates;
    use loadline_disk::{DiskSpec, EnvironmentSpec, HostCache, IopsBudget, Layout, Limit as Budget, VolumeSpec};
    use loadline_units::{Duration, Iops};
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn stations(rate: u64, burst: u64, span: Duration) -> Vec<Station> {
        let (rate, burst) = (Iops::per_second(rate).unwrap(), Iops::per_second(burst).unwrap());
        let budget = IopsBudget::bursting(rate, burst, span);
        let limit = Budget { iops: Some(Directions::Together(budget)), ..Budget::default() };
        let disk = DiskSpec { name: "p10".to_owned(), limit, ..DiskSpec::default() };
        let volume = VolumeSpec { disks: vec![disk], ..VolumeSpec::default() };
        disk_stations(&EnvironmentSpec::default(), &volume, Cached { mode: HostCache::None, hits: 0.0 })
    }
    fn steps(rates: &[(f64, usize)]) -> Vec<DayStep> {
        let one = |rate: f64| {
            let rates = Rates { reads_per_s: rate, read_size: 4096.0, write_size: 4096.0, ..Rates::default() };
            DayStep { length_s: 60.0, flow: Flow::of(&rates, LayoutSplit::of(Layout::Single), false) }
        };
        rates.iter().flat_map(|(rate, count)| std::iter::repeat_n(one(*rate), *count)).collect()
    }

    #[test]
    fn a_burst_carries_a_peak_and_ends_when_its_credits_do() {
        // 30 minutes at 3,500 are saved; 30 minutes at 3,500 are asked.
        let stations = stations(500, 3_500, Duration::from_s(1_800));
        let kept = Day::new(steps(&[(100.0, 10), (3_500.0, 30), (100.0, 1_400)])).result(&stations, 1.0);
        assert!(kept.short.abs() < 1e-9 && kept.burst_ends.is_none(), "{kept:?}");
        // Ten minutes more: the burst ends 30 minutes after it began.
        let ended = Day::new(steps(&[(100.0, 10), (3_500.0, 40), (100.0, 1_390)])).result(&stations, 1.0);
        let (at, who) = ended.burst_ends.unwrap();
        assert!((at - 40.0 * 60.0).abs() <= 60.0 && who == "p10", "{at}");
        assert!(ended.short > 0.005, "{}", ended.short);
        assert!(ended.worst_in_credit);
    }

    #[test]
    fn a_record_of_a_minute_goes_on_and_credits_do_not_carry_it_forever() {
        let stations = stations(500, 3_500, Duration::from_s(1_800));
        // 1,800 s of 3,000 more are saved: at 1,000 more they last for 90 minutes.
        let minute = Day::new(steps(&[(1_500.0, 1)]));
        let result = minute.result(&stations, 1.0);
        assert!((result.burst_ends.unwrap().0 - 5_400.0).abs() <= 60.0);
        assert!((result.short - (1.0 - 5_400.0 / WEEK_S)).abs() < 1e-3, "{}", result.short);
        assert!(!minute.is_carried(&stations, 1.0, 0.5) && minute.is_carried(&stations, 1.0, 0.995));
        // What fills up again between peaks lasts, and passes that are alike come to the same as each of them.
        let mixed = steps(&[(1_500.0, 1), (300.0, 9), (600.0, 1)]);
        let many = Day::new(mixed.iter().cycle().take(mixed.len() * 131).cloned().collect()).result(&stations, 1.0);
        let once = Day::new(mixed).result(&stations, 1.0);
        assert!(once.short < 1e-9 && many.short < 1e-9, "{once:?} {many:?}");
        let drained = steps(&[(1_500.0, 3), (400.0, 1)]);
        let many = Day::new(drained.iter().cycle().take(drained.len() * 360).cloned().collect()).result(&stations, 1.0);
        let once = Day::new(drained).result(&stations, 1.0);
        assert!((once.short - many.short).abs() < 1e-6 && once.short > 0.5, "{once:?} {many:?}");
        assert!((once.burst_ends.unwrap().0 - many.burst_ends.unwrap().0).abs() < 1e-6);
    }

    #[test]
    fn what_is_known_of_other_budgets_changes_no_answer() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut below = |most: u64| random.next_u64() % most;
        let rates: Vec<(f64, usize)> = (0..150).map(|_| (below(2_500) as f64, 1 + below(3) as usize)).collect();
        let shared = Day::new(steps(&rates));
        let mut carried = 0;
        for _ in 0..600 {
            let rate = 500 + below(2_500);
            let stations = stations(rate, rate + below(2_500), Duration::from_s(60 * (1 + below(90))));
            let factor = [0.5, 1.0, 1.5][below(3) as usize];
            let short = [0.0, 0.001, 0.02, 0.1][below(4) as usize];
            let alone = Day::new(steps(&rates)).result(&stations, factor).short;
            let found = shared.is_carried(&stations, factor, short);
            assert_eq!(found, alone <= short + 1e-9, "{rate} of {factor}, {alone} short of {short}");
            carried += u32::from(found);
        }
        assert!((100..500).contains(&carried), "{carried}");
        assert!(shared.alone.borrow().values().all(|known| known.carry.len() + known.fail.len() < 300));
    }

    #[test]
    fn a_peak_above_the_burst_is_short_at_once_and_what_waits_is_short_too() {
        let stations = stations(500, 1_000, Duration::from_s(600));
        let result = Day::new(steps(&[(100.0, 10), (2_000.0, 1), (100.0, 9)])).result(&stations, 1.0);
        // One minute at twice the burst leaves a minute of work behind: two minutes are short, of twenty.
        assert!((result.short - 0.1).abs() < 0.051 && result.short >= 0.05, "{}", result.short);
        let none = Day::new(steps(&[(2_000.0, 5)])).result(&stations, 0.25);
        assert!(none.short.abs() < 1e-9);
    }
}
