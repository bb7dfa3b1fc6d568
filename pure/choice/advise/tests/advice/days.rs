//! Made-up days whose truth is known second by second: advice on their minutes beside Azure Migrate's rule, and whether what is
//! said to meet in so many scenarios does.
//!
//! A day is a quiet level, a daily swing, noise within each minute, and bursts of seconds to minutes. The adviser sees the means of
//! minutes. The truth is the seconds, on one version of the storage that nobody knows, drawn from the catalog's intervals.
//! The rule is that of Azure Migrate: the 95th percentile of the samples, times a comfort factor of 1.3, carried by one disk and
//! by the machine.

use crate::exactness::is_long;
use crate::{quick, rates, recorded};
use loadline_advise::{Candidate, Need, Rates, advise, short_share};
use loadline_catalog::{Catalog, Draw, Environment};
use loadline_demand::{Demand, DemandInterval};
use loadline_units::{Bytes, Ratio};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Days in the gate, and in its long form.
const DAYS: u64 = 1;
const DAYS_LONG: u64 = 200;
/// The long form prints what it has so far after so many.
const SHOWN_EVERY: u64 = 20;
const MINUTES: usize = 1_440;
const BLOCKS: [f64; 4] = [4096.0, 8192.0, 16_384.0, 65_536.0];
/// At most one second in a thousand may be short.
const TIME_MET_PPM: u32 = 999_000;
const COMFORT: f64 = 1.3;

struct RandomDay {
    /// Requests per second, second by second.
    seconds: Vec<f64>,
    read_share: f64,
    size: f64,
    /// A version of the storage.
    truth: Draw,
}

pub(crate) fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn between(random: &mut Xoshiro256PlusPlus, low: f64, high: f64) -> f64 {
    low + (high - low) * unit(random)
}

impl RandomDay {
    fn new(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let quiet = 10.0_f64.powf(between(&mut random, 1.7, 3.3));
        let swing = between(&mut random, 0.0, 2.0);
        let noise = between(&mut random, 0.05, 0.4);
        let peak_at = unit(&mut random);
        let mut seconds: Vec<f64> = (0..MINUTES * 60)
            .map(|second| {
                let part = second as f64 / (MINUTES as f64 * 60.0) - peak_at;
                let level = quiet * (1.0 + swing * (0.5 + 0.5 * (std::f64::consts::TAU * part).cos()).powi(2));
                level * (1.0 + noise * (2.0 * unit(&mut random) - 1.0))
            })
            .collect();
        for _ in 0..(unit(&mut random) * 12.0) as usize {
            let (from, length) = (unit(&mut random) * MINUTES as f64 * 60.0, between(&mut random, 10.0, 900.0));
            let times = between(&mut random, 1.5, 4.0);
            for second in seconds.iter_mut().skip(from as usize).take(length as usize) {
                *second *= times;
            }
        }
        let mut place = || Ratio::ppm((unit(&mut random) * 1e6) as u32).unwrap();
        let truth = Draw { latency: place(), enforcement: place(), delivered: Some(place()), bursts: place() };
        let (read_share, size) = (between(&mut random, 0.3, 0.95), BLOCKS[(random.next_u64() % 4) as usize]);
        Self { seconds, read_share, size, truth }
    }

    /// Intervals of so many seconds, each with its mean.
    fn demand(&self, length: usize) -> Demand {
        let interval = |seconds: &[f64]| {
            let rate = seconds.iter().sum::<f64>() / seconds.len() as f64;
            let (reads, writes) = (rate * self.read_share, rate * (1.0 - self.read_share));
            DemandInterval {
                length_s: length as f64,
                reads_per_s: reads,
                writes_per_s: writes,
                read_bytes_per_s: reads * self.size,
                write_bytes_per_s: writes * self.size,
                ..DemandInterval::default()
            }
        };
        let intervals = self.seconds.chunks(length).map(interval).collect();
        Demand { source: "made up".to_owned(), intervals, ..Demand::default() }
    }

    fn need(&self, length: usize) -> Need {
        let mut need = recorded(self.demand(length));
        need.wanted.providers = vec!["azure".to_owned()];
        need.time_met = Ratio::ppm(TIME_MET_PPM).unwrap();
        need
    }

    /// Share of the day's seconds in which a row would be short, in truth.
    fn short(&self, row: &Candidate, catalog: &Catalog) -> f64 {
        let environment = Environment::parse(&row.environment, "advised", catalog).unwrap();
        short_share(&environment, &self.need(1), self.truth).unwrap()
    }

    /// The rates that a rule goes by: a percentile of the minutes, times a factor.
    fn by_rule(&self, percentile: f64, factor: f64) -> Rates {
        let mut minutes: Vec<f64> =
            self.seconds.chunks(60).map(|seconds| seconds.iter().sum::<f64>() / seconds.len() as f64).collect();
        minutes.sort_by(f64::total_cmp);
        let at = ((percentile * minutes.len() as f64).ceil() as usize).clamp(1, minutes.len()) - 1;
        rates(minutes[at] * factor, self.read_share, self.size as u64)
    }
}

/// The cheapest disk and machine whose lasting limits carry some rates at all times: one disk, as the rule has it.
fn by_rule(day: &RandomDay, percentile: f64, factor: f64, catalog: &Catalog) -> Option<Candidate> {
    let mut need = Need::steady("rule", day.by_rule(percentile, factor), Bytes::gib(100));
    need.wanted.providers = vec!["azure".to_owned()];
    need.wanted.disks_max = 1;
    advise(&need, catalog, &quick()).unwrap().winner().cloned()
}

#[derive(Default)]
struct Tally {
    days: u32,
    cost: f64,
    short: f64,
    /// Days that are short for more than a second in a thousand.
    missed: u32,
}

impl Tally {
    fn add(&mut self, day: &RandomDay, row: &Candidate, catalog: &Catalog) {
        let short = day.short(row, catalog);
        self.days += 1;
        self.cost += row.price_month.amount;
        self.short += short;
        self.missed += u32::from(short > 1.0 - f64::from(TIME_MET_PPM) / 1e6 + 1e-9);
    }
    fn line(&self, name: &str) -> String {
        let days = f64::from(self.days.max(1));
        format!(
            "{name}: {:.2} a month, short for {:.3} % of the time, {} of {} days missed",
            self.cost / days,
            100.0 * self.short / days,
            self.missed,
            self.days
        )
    }
}

#[test]
fn advice_on_minutes_beside_azure_migrates_rule() {
    let catalog = Catalog::builtin();
    let days = if is_long() { DAYS_LONG } else { DAYS };
    let rules = [
        ("p95 x 1.3", 0.95, COMFORT),
        ("p99 x 1.3", 0.99, COMFORT),
        ("peak x 1.3", 1.0, COMFORT),
        ("peak x 1.5", 1.0, 1.5),
        ("peak x 2", 1.0, 2.0),
    ];
    let mut ours = Tally::default();
    let mut theirs: Vec<Tally> = rules.iter().map(|_| Tally::default()).collect();
    for seed in 0..days {
        let day = RandomDay::new(seed);
        let advice = advise(&day.need(60), &catalog, &quick()).unwrap();
        let rows: Vec<Option<Candidate>> =
            rules.iter().map(|(_, at, factor)| by_rule(&day, *at, *factor, &catalog)).collect();
        // Days that one of them has no answer for compare nothing.
        let (Some(own), true) = (advice.winner(), rows.iter().all(Option::is_some)) else { continue };
        ours.add(&day, own, &catalog);
        for (tally, row) in theirs.iter_mut().zip(rows.into_iter().flatten()) {
            tally.add(&day, &row, &catalog);
        }
        if (seed + 1) % SHOWN_EVERY == 0 || seed + 1 == days {
            println!("{}", ours.line("advice"));
            for (tally, (name, ..)) in theirs.iter().zip(rules) {
                println!("{}", tally.line(name));
            }
        }
    }
    assert!(ours.days > 0);
    // What is said to meet in 95 % of scenarios seldom misses.
    assert!(f64::from(ours.missed) <= 0.1 * f64::from(ours.days), "{}", ours.line("advice"));
}

#[test]
fn what_is_said_to_meet_in_so_many_scenarios_does_in_so_many() {
    let catalog = Catalog::builtin();
    let days = if is_long() { DAYS_LONG } else { DAYS };
    // By shares said, of a tenth each: how many rows, and how many of them met the truth.
    let mut said = [(0_u32, 0_u32, 0.0_f64); 10];
    for seed in 0..days {
        let day = RandomDay::new(1_000 + seed);
        let asked: &[u32] = if is_long() { &[40, 60, 80] } else { &[60] };
        for sure in asked {
            let mut need = day.need(60);
            need.sure = Ratio::percent(*sure);
            let advice = advise(&need, &catalog, &quick()).unwrap();
            for row in advice.candidates.iter().filter(|row| row.scenarios.met < row.scenarios.of) {
                let share = f64::from(row.scenarios.met) / f64::from(row.scenarios.of);
                let place = &mut said[((share * 10.0) as usize).min(9)];
                let met = day.short(row, &catalog) <= 1.0 - f64::from(TIME_MET_PPM) / 1e6 + 1e-9;
                *place = (place.0 + 1, place.1 + u32::from(met), place.2 + share);
            }
        }
        if (seed + 1) % SHOWN_EVERY == 0 || seed + 1 == days {
            println!("after {} days", seed + 1);
            for (rows, met, share) in said.iter().filter(|(rows, ..)| *rows > 0) {
                let (rows, met) = (f64::from(*rows), f64::from(*met));
                println!("said {:.0} %: {met} of {rows} met, {:.0} %", 100.0 * share / rows, 100.0 * met / rows);
            }
        }
    }
    assert!(said.iter().map(|(rows, ..)| rows).sum::<u32>() > 0, "no row is in doubt");
}
