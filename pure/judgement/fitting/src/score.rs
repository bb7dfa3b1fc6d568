//! Scores a fitted disk: compares each load's measured figures with the model's.

use crate::FitError;
use crate::disk::{Disk, Service, Side};
use crate::progress::FitProgress;
use crate::service::{TURNS, latencies, quantile, quick, usual_p99, waits};
use loadline_block::Operation;
use loadline_catalog::{Catalog, Draw, Environment};
use loadline_disk::InitialState;
use loadline_prediction::{Going, Model, Putting, predict};
use loadline_record::{Access, CellRecord, DoubtCode, Ending, Histogram, TrialRecord};
use loadline_units::{Bytes, Duration};
use loadline_workload::LoadSpec;

/// Requests to simulate of each load at most; shorter loads run as long as they were measured, since a bucket's savings
/// show in the whole of a short trial.
const REQUESTS_MAX: f64 = 200_000.0;
/// A load of fewer requests is simulated several times, at most this often, to average out chance.
const REQUESTS_MIN: f64 = 5_000.0;
const TRIALS_MAX: f64 = 16.0;
/// And of all of them together, whatever the least times are.
const REQUESTS_ALL_MAX: f64 = 10_000_000.0;
const WARM_UP_MIN: Duration = Duration::from_s(1);
const DURATION_MIN: Duration = Duration::from_s(5);
/// A deeper queue has at most this many times the rate if loads level off.
const LEVEL: f64 = 1.05;
/// The least time of a load that spends a burst: a second's bucket must be a small part of it.
const BURST_MIN: Duration = Duration::from_s(30);
/// Relative errors that weigh as much as one another: of a rate, and of a percentile.
const RATE_SCALE: f64 = 0.03;
const LATENCY_SCALE: f64 = 0.15;
/// No figure of a load weighs more than this.
const WEIGHT_MAX: f64 = 25.0;
/// Rates within this share of a limit are at it.
const AT_LIMIT: f64 = 0.9;
/// A correction changes a figure by no more than this factor.
const CORRECTION_MAX: f64 = 2.0;

/// A load of the run beside the fitted disk's result.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The load.
    pub label: String,
    /// Requests per second, measured.
    pub iops_measured: f64,
    /// And on the fitted disk.
    pub iops_fitted: f64,
    /// The 99th percentile over reads and writes, measured, ns.
    pub p99_measured_ns: f64,
    /// And on the fitted disk.
    pub p99_fitted_ns: f64,
    /// Whether both count from a request's issue on, although latency counts from its due time.
    pub from_issue: bool,
}

/// Whether a load is evidence about the disk: a measured closed or open loop of reads and writes with direct I/O.
pub(crate) fn fits(cell: &CellRecord) -> bool {
    !cell.load.figures().buffered && cell.trials.iter().any(|t| t.ending == Ending::Complete && t.count() > 0)
}

/// Whether its rate is that of the tool.
pub(crate) fn is_of_the_tool(cell: &CellRecord) -> bool {
    cell.trials.iter().flat_map(|trial| &trial.doubts).any(|doubt| doubt.code == DoubtCode::GeneratorBound)
}

/// A load with the figures to be met.
pub(crate) struct Wanted {
    label: String,
    from_issue: bool,
    pub(crate) load: LoadSpec,
    pub(crate) iops: f64,
    pub(crate) figures: Figures,
    /// For reads and for writes, if the load has both.
    apart: Option<[Figures; 2]>,
    /// The mean latency, ns.
    mean: f64,
}

impl Wanted {
    /// Bytes per second.
    pub(crate) fn bytes_per_s(&self) -> f64 {
        self.iops * self.load.block_mean().get() as f64
    }

    /// Whether it has requests of this direction.
    pub(crate) fn is_of(&self, reads: bool) -> bool {
        if reads { self.load.reads_any() } else { self.load.writes_any() }
    }

    /// Whether it waits at a limit.
    fn waits(&self, side: &Side) -> bool {
        waits(side, self.iops, self.bytes_per_s(), self.figures.p50, self.mean)
    }

    /// The load for simulation `among` others, and the share of a burst's credits to spend in it. If it spends a burst,
    /// time and credits are cut alike, so that rates and percentiles stay the same.
    fn shortened(&self, among: usize, bursts: bool) -> (LoadSpec, f64) {
        let mut load = LoadSpec { steady_state: None, pause: Duration::ZERO, ..self.load.clone() };
        let of = |requests: f64| Duration::from_ns((requests / self.iops * 1e9) as u64);
        let most = of(REQUESTS_MAX);
        let whole = load.warm_up + load.duration;
        if !bursts {
            load.warm_up = load.warm_up.min(most.max(WARM_UP_MIN));
            load.duration = load.duration.min(most.max(DURATION_MIN));
        }
        let asked = if bursts { whole.min(most.max(BURST_MIN)) } else { load.warm_up + load.duration };
        let granted = asked.min(of(REQUESTS_MAX.max(REQUESTS_ALL_MAX / among.max(1) as f64)));
        let share = granted.as_s_f64() / (load.warm_up + load.duration).as_s_f64().max(1e-9);
        if share < 1.0 {
            let cut = |time: Duration| Duration::from_ns((time.as_ns() as f64 * share) as u64);
            (load.warm_up, load.duration) = (cut(load.warm_up), cut(load.duration));
        }
        (load, if bursts { share.min(1.0) } else { 1.0 })
    }
}

/// Percentiles, ns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) p50: f64,
    p90: f64,
    pub(crate) p99: f64,
    /// Some requests wait for a throttle's turn, set apart from the others, and the 99th percentile is of the others.
    is_quick: bool,
}

impl Figures {
    /// The 99th percentile if it is one of service times rather than of waits for a throttle's turn.
    fn p99_of_service(&self) -> Option<f64> {
        (self.is_quick || self.p99 <= usual_p99(self.p50, self.p90) * TURNS).then_some(self.p99)
    }
}

/// Over reads and writes together, and for each if there are both: one may wait at a limit that does not affect the
/// other.
fn figures(trials: &[TrialRecord]) -> Option<(Figures, Option<[Figures; 2]>)> {
    let of = |all: &Histogram| {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| quantile(all, share));
        Some(Figures { p50: p50?, p90: p90?, p99: p99?, is_quick: quick(all).is_some() })
    };
    let [mut all, writes] = [Operation::Read, Operation::Write].map(|operation| latencies(trials, operation));
    let apart = of(&all).zip(of(&writes)).map(|(reads, writes)| [reads, writes]);
    all.merge(&writes);
    Some((of(&all)?, apart))
}

/// The mean latency of reads and writes, ns.
fn mean(trials: &[TrialRecord]) -> f64 {
    let mut all = latencies(trials, Operation::Read);
    all.merge(&latencies(trials, Operation::Write));
    all.mean_ns().unwrap_or(0.0)
}

/// The loads of one volume.
pub(crate) struct Bench<'w> {
    volume: String,
    pub(crate) wanted: Vec<Wanted>,
    catalog: Catalog,
    progress: FitProgress<'w>,
}

/// The model's result for a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    iops: f64,
    figures: Figures,
    apart: Option<[Figures; 2]>,
}

impl Agreement {
    /// Whether the rate is off by at most 8 %, and the 99th percentile by 25 %: the goal for loads that were not
    /// measured.
    #[must_use]
    pub fn is_near(&self) -> bool {
        let near = |a: f64, b: f64, by: f64| (a / b - 1.0).abs() <= by;
        near(self.iops_fitted, self.iops_measured, 0.08) && near(self.p99_fitted_ns, self.p99_measured_ns, 0.25)
    }
}

impl<'w> Bench<'w> {
    /// With at most this many loads, those that differ most from one another.
    pub(crate) fn new(
        volume: &str,
        cells: &[&CellRecord],
        loads_max: usize,
        progress: FitProgress<'w>,
    ) -> Result<Self, FitError> {
        let mut wanted = Vec::new();
        for cell in spread(cells, loads_max) {
            let load = cell.load.spec().cloned().ok_or_else(|| FitError::Cell { cell: cell.label.clone() })?;
            let rates: Vec<f64> = cell.trials.iter().filter_map(TrialRecord::iops).collect();
            let iops = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
            let Some((figures, apart)) = figures(&cell.trials).filter(|_| iops > 0.0) else { continue };
            let mut kept = cell.trials.iter().flat_map(|trial| trial.operations.values());
            let from_issue = kept.any(|kept| kept.service.is_some());
            wanted.push(Wanted {
                label: cell.label.clone(),
                from_issue,
                load,
                iops,
                figures,
                apart,
                mean: mean(&cell.trials),
            });
        }
        Ok(Self { volume: volume.to_owned(), wanted, catalog: Catalog::builtin(), progress })
    }

    /// How far the search has come.
    pub(crate) const fn progress(&self) -> &FitProgress<'w> {
        &self.progress
    }

    /// Whether this direction was measured.
    pub(crate) fn any_of(&self, reads: bool) -> bool {
        self.wanted.iter().any(|wanted| wanted.is_of(reads))
    }

    /// Whether every load of a direction waits at the disk's limits: none shows how long a request takes by itself.
    pub(crate) fn all_wait(&self, disk: &Disk, reads: bool) -> bool {
        self.wanted.iter().filter(|wanted| wanted.is_of(reads)).all(|wanted| wanted.waits(disk.side(reads)))
    }

    /// The shortest median of a direction's loads, ns.
    pub(crate) fn quickest(&self, reads: bool) -> Option<f64> {
        let own = self.wanted.iter().filter(|wanted| wanted.is_of(reads));
        own.map(|wanted| wanted.figures.p50).min_by(f64::total_cmp)
    }

    /// How many loads there are.
    pub(crate) fn loads(&self) -> usize {
        self.wanted.len()
    }

    /// Whether 99th percentiles of the loads of a direction that wait least are ones of service, of most of them.
    pub(crate) fn tells_spread(&self, side: &Side, reads: bool) -> bool {
        let own: Vec<&Wanted> =
            self.wanted.iter().filter(|wanted| wanted.is_of(reads) && !wanted.is_of(!reads)).collect();
        let least = own.iter().filter_map(|wanted| wanted.load.outstanding()).min();
        let free = own.iter().filter(|wanted| wanted.load.outstanding() == least);
        let (tell, others): (Vec<&&Wanted>, Vec<&&Wanted>) =
            free.partition(|wanted| wanted.figures.p99_of_service().is_some() || wanted.waits(side));
        own.is_empty() || tell.len() > others.len()
    }

    /// Whether both directions were measured.
    pub(crate) fn reads_and_writes(&self) -> bool {
        self.any_of(true) && self.any_of(false)
    }

    /// Whether reads and writes were measured at once.
    pub(crate) fn mixes(&self) -> bool {
        self.wanted.iter().any(|wanted| wanted.load.reads_any() && wanted.load.writes_any())
    }

    /// Requests in service at once that would explain the highest rate by the shallowest load's latency.
    pub(crate) fn places(&self, share: f64) -> Option<u32> {
        let most = self.wanted.iter().max_by(|a, b| a.iops.total_cmp(&b.iops))?;
        let least = self.wanted.iter().map(|w| w.figures.p50).min_by(f64::total_cmp)?;
        let places = libm::round(most.iops * least / 1e9 * share);
        (1.0..1e4).contains(&places).then_some(places as u32)
    }

    /// The disk with the highest rate of a direction as its limit, if it has none.
    pub(crate) fn limited(&self, disk: &Disk) -> Disk {
        let highest = |of: fn(&LoadSpec) -> bool| {
            self.wanted.iter().filter(|wanted| of(&wanted.load)).map(|wanted| wanted.iops).max_by(f64::total_cmp)
        };
        let with = |side: &Side, iops| Side { iops: side.iops.or(iops), ..side.clone() };
        let (read, write) = (highest(|load| !load.writes_any()), highest(|load| !load.reads_any()));
        Disk { read: with(&disk.read, read), write: with(&disk.write, write), ..disk.clone() }
    }

    /// The disk with the highest rate in bytes as a limit of directions that have none, although their loads level off;
    /// `None` if there are none.
    pub(crate) fn levelled(&self, disk: &Disk) -> Option<Disk> {
        let side = |reads: bool| {
            let side = disk.side(reads);
            let own = || self.wanted.iter().filter(|wanted| wanted.is_of(reads) && !wanted.is_of(!reads));
            let alike =
                |a: &Wanted, b: &Wanted| a.load.block_mean() == b.load.block_mean() && a.load.pattern == b.load.pattern;
            let deeper = |a: &Wanted, b: &Wanted| {
                a.load.outstanding().zip(b.load.outstanding()).is_some_and(|(a, b)| b >= 2 * a)
            };
            let is_level = |wanted: &&Wanted| {
                let levels =
                    |other: &Wanted| alike(wanted, other) && deeper(wanted, other) && other.iops <= wanted.iops * LEVEL;
                side.iops.is_none_or(|limit| wanted.iops < AT_LIMIT * limit) && own().any(levels)
            };
            let level = own().filter(is_level).map(Wanted::bytes_per_s).max_by(f64::total_cmp);
            level.filter(|_| side.bytes_per_s.is_none() && side.burst.is_none())
        };
        let (read, write) = (side(true), side(false));
        let with = |side: &Side, level: Option<f64>| Side { bytes_per_s: side.bytes_per_s.or(level), ..side.clone() };
        let levelled = Disk { read: with(&disk.read, read), write: with(&disk.write, write), ..disk.clone() };
        read.or(write).map(|_| levelled)
    }

    /// The largest requests of any load, KiB on average.
    pub(crate) fn largest_kib(&self) -> f64 {
        self.wanted.iter().map(|wanted| wanted.load.block_mean().get() as f64 / 1024.0).fold(1.0, f64::max)
    }

    /// Simulates each load on the disk.
    pub(crate) fn make(&self, disk: &Disk) -> Result<Vec<Made>, FitError> {
        let whole = self.model(disk)?;
        self.wanted.iter().map(|wanted| self.make_one(disk, &whole, wanted)).collect()
    }

    /// The same for a disk that differs for some loads from one with the results `made`.
    pub(crate) fn make_again(
        &self,
        disk: &Disk,
        made: &[Made],
        differs: impl Fn(&Wanted) -> bool,
    ) -> Result<Vec<Made>, FitError> {
        let whole = self.model(disk)?;
        let again = |(wanted, made): (&Wanted, &Made)| {
            if differs(wanted) { self.make_one(disk, &whole, wanted) } else { Ok(*made) }
        };
        self.wanted.iter().zip(made).map(again).collect()
    }

    fn make_one(&self, disk: &Disk, whole: &Model, wanted: &Wanted) -> Result<Made, FitError> {
        let bursts = disk.read.burst.or(disk.write.burst).is_some();
        let (load, share) = wanted.shortened(self.wanted.len(), bursts);
        let load = LoadSpec { size: load.size.or(Some(Bytes::new(disk.size_bytes))), ..load };
        let cut = if share < 1.0 { Some(self.model(&disk.with_credits(share))?) } else { None };
        self.progress.made_one(self.wanted.len());
        let trial = |trial: u32| {
            let putting = Putting {
                model: cut.as_ref().unwrap_or(whole),
                volume: &self.volume,
                load: &load,
                trial,
                seed: 1,
                initial: InitialState::default(),
                started_unix_s: 0,
            };
            Ok::<_, FitError>(predict(&putting, None, &mut |_| Going::On)?.expect("nobody stops it").record)
        };
        let requests = wanted.iops * load.duration.as_s_f64();
        let trials = (REQUESTS_MIN / requests.max(1.0)).clamp(1.0, TRIALS_MAX) as u32;
        let records = (0..trials).map(trial).collect::<Result<Vec<_>, _>>()?;
        let iops = records.iter().filter_map(TrialRecord::iops).sum::<f64>() / f64::from(trials);
        let none = Figures { p50: 0.0, p90: 0.0, p99: 0.0, is_quick: false };
        let (figures, apart) = figures(&records).unwrap_or((none, None));
        Ok(Made { iops, figures, apart })
    }

    fn model(&self, disk: &Disk) -> Result<Model, FitError> {
        let text = format!("schema = 1\nname = \"fitted\"\n[volume.{0}]\n{1}", self.volume, disk.toml(&self.volume));
        let environment = Environment::parse(&text, "fitted", &self.catalog)
            .map_err(|error| FitError::Environment(format!("{error}\n{text}")))?;
        Ok(Model::new(&environment, 0, Draw::MIDDLE))
    }

    /// The error of the results over all loads.
    pub(crate) fn error(&self, made: &[Made]) -> f64 {
        self.off(made).iter().map(|off| (off * off).min(WEIGHT_MAX)).sum()
    }

    /// By how many scales each figure of each load is off.
    pub(crate) fn off(&self, made: &[Made]) -> Vec<f64> {
        let off = |a: f64, b: f64, scale: f64| libm::log(a.max(1e-9) / b.max(1e-9)) / scale;
        let latency = |made: &Figures, wanted: &Figures| {
            [off(made.p99, wanted.p99, LATENCY_SCALE), off(made.p50, wanted.p50, LATENCY_SCALE)]
        };
        let of = |(wanted, made): (&Wanted, &Made)| {
            let mut all = vec![off(made.iops, wanted.iops, RATE_SCALE)];
            match (&wanted.apart, made.apart.unwrap_or([made.figures; 2])) {
                (Some(wanted), made) => {
                    all.extend(made.iter().zip(wanted).flat_map(|(made, wanted)| latency(made, wanted)));
                }
                (None, _) => all.extend(latency(&made.figures, &wanted.figures)),
            }
            all
        };
        self.wanted.iter().zip(made).flat_map(of).collect()
    }

    /// The weight of a figure's error in the sum of squares: at most the cap.
    pub(crate) fn pull(off: f64) -> f64 {
        (WEIGHT_MAX / (off * off).max(WEIGHT_MAX)).min(1.0)
    }

    pub(crate) fn agreement(&self, disk: &Disk) -> Result<Vec<Agreement>, FitError> {
        let made = self.make(disk)?;
        let one = |(wanted, made): (&Wanted, &Made)| Agreement {
            label: wanted.label.clone(),
            iops_measured: wanted.iops,
            iops_fitted: made.iops,
            p99_measured_ns: wanted.figures.p99,
            p99_fitted_ns: made.figures.p99,
            from_issue: wanted.from_issue,
        };
        Ok(self.wanted.iter().zip(&made).map(one).collect())
    }

    /// Loads of reads alone, or of writes alone.
    fn of_one_direction<'a>(&'a self, made: &'a [Made], reads: bool) -> Vec<(&'a Wanted, &'a Made)> {
        let is_own = |wanted: &Wanted| if reads { !wanted.load.writes_any() } else { !wanted.load.reads_any() };
        self.wanted.iter().zip(made).filter(|(wanted, _)| is_own(wanted)).collect()
    }

    /// The disk with medians of service corrected by the error of the loads with the shortest ones, as a line over
    /// block sizes.
    pub(crate) fn corrected_by_size(&self, disk: &Disk, made: &[Made]) -> Disk {
        let side = |side: &Side, reads: bool| {
            let own = self.of_one_direction(made, reads);
            // A wait at a limit grows with the block as well, and is no service.
            let points: Vec<_> = free(&own, side)
                .into_iter()
                .filter(|(wanted, _)| !wanted.waits(side))
                .map(|(wanted, made)| {
                    let kib = wanted.load.block_mean().get() as f64 / 1024.0;
                    (kib, wanted.figures.p50 - made.figures.p50, wanted.figures.p50)
                })
                .collect();
            let service = side.service.zip(line(&points)).map(|(service, (at_none, per_kib))| {
                let median = (service.median + at_none).max(service.median / CORRECTION_MAX);
                let p99 = service.p99 * median / service.median;
                Service { median, p99, per_kib: (service.per_kib + per_kib).max(0.0) }
            });
            Side { service: service.or(side.service), ..side.clone() }
        };
        Disk { read: side(&disk.read, true), write: side(&disk.write, false), ..disk.clone() }
    }

    /// The disk with figures corrected by the model's error: limits by the rates of loads at them, service times by the
    /// percentiles of the loads with the shortest.
    pub(crate) fn corrected(&self, disk: &Disk, made: &[Made]) -> Disk {
        let side = |side: &Side, reads: bool| {
            let own = self.of_one_direction(made, reads);
            let rate = |limit: Option<f64>, size: fn(&Wanted) -> f64| {
                let limit = limit?;
                let at = own.iter().filter(|(_, made)| made.iops > 0.0);
                let near = at.filter(|(wanted, made)| made.iops * size(wanted) >= AT_LIMIT * limit);
                let factors: Vec<f64> = near.map(|(wanted, made)| wanted.iops / made.iops).collect();
                Some(limit * middle(factors))
            };
            let free = free(&own, side);
            let by = |of: fn(&Figures) -> Option<f64>| {
                let factors = free.iter().filter_map(|(w, m)| Some(of(&w.figures)? / of(&m.figures)?.max(1.0)));
                middle(factors.collect())
            };
            let own_times = side.service.filter(|_| disk.mechanics.is_none());
            let service = own_times.map(|service| Service {
                median: service.median * by(|f| Some(f.p50)),
                p99: service.p99 * by(Figures::p99_of_service),
                ..service
            });
            Side {
                iops: rate(side.iops, |_| 1.0),
                bytes_per_s: rate(side.bytes_per_s, |wanted| wanted.load.block_mean().get() as f64),
                service: service.or(side.service),
                ..side.clone()
            }
        };
        let loads = || self.wanted.iter().zip(made).map(|(wanted, made)| (wanted, made.figures.p50, made.iops));
        let mechanics = disk.mechanics.map(|mechanics| mechanics.corrected(loads()));
        Disk { read: side(&disk.read, true), write: side(&disk.write, false), mechanics, ..disk.clone() }
    }
}

/// The loads of one direction with the fewest outstanding. Loads below their limits go first, since a load at its limit
/// waits for turns as well.
fn free<'a>(own: &[(&'a Wanted, &'a Made)], side: &Side) -> Vec<(&'a Wanted, &'a Made)> {
    let outstanding = |wanted: &Wanted| wanted.load.outstanding().unwrap_or(u64::MAX);
    let least = own.iter().map(|(wanted, _)| outstanding(wanted)).min();
    let at_limit = |wanted: &Wanted| {
        side.iops.is_some_and(|limit| wanted.iops >= AT_LIMIT * limit)
            || side.bytes_per_s.is_some_and(|limit| wanted.bytes_per_s() >= AT_LIMIT * limit)
    };
    let free: Vec<_> = own.iter().copied().filter(|(wanted, _)| Some(outstanding(wanted)) == least).collect();
    let below: Vec<_> = free.iter().copied().filter(|(wanted, _)| !at_limit(wanted)).collect();
    if below.is_empty() { free } else { below }
}

/// At most so many cells, in order: each next one differs most from all before it.
fn spread<'a>(cells: &[&'a CellRecord], most: usize) -> Vec<&'a CellRecord> {
    if cells.len() <= most {
        return cells.to_vec();
    }
    let place = |cell: &CellRecord| {
        let load = cell.load.figures();
        let outstanding = f64::from(load.queue_depth.unwrap_or(0)) * f64::from(load.threads);
        let pattern = if load.pattern == Access::Random { 0.0 } else { 1.0 };
        // Only mixes show what reads and writes share, and similar figures say nothing of that.
        let mixed = if load.read_ratio > 0.0 && load.read_ratio < 1.0 { 1.0 } else { 0.0 };
        [load.read_ratio, mixed, pattern, libm::log(load.block_bytes.max(1) as f64), libm::log(outstanding.max(1.0))]
    };
    let mut places: Vec<[f64; 5]> = cells.iter().map(|cell| place(cell)).collect();
    for axis in 0..5 {
        let ends = places.iter().fold((f64::MAX, f64::MIN), |(low, high), of| (low.min(of[axis]), high.max(of[axis])));
        for of in &mut places {
            of[axis] = (of[axis] - ends.0) / (ends.1 - ends.0).max(1e-9);
        }
    }
    let distance = |a: usize, b: usize| places[a].iter().zip(&places[b]).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut chosen = vec![false; cells.len()];
    let mut nearest = vec![f64::MAX; cells.len()];
    let mut next = 0;
    for _ in 0..most {
        chosen[next] = true;
        for (index, nearest) in nearest.iter_mut().enumerate() {
            *nearest = nearest.min(distance(index, next));
        }
        // The first of those that are as far.
        let others = (0..cells.len()).rev().filter(|index| !chosen[*index]);
        next = others.max_by(|a, b| nearest[*a].total_cmp(&nearest[*b])).unwrap_or(next);
    }
    cells.iter().zip(chosen).filter(|(_, chosen)| *chosen).map(|(cell, _)| *cell).collect()
}

/// The line through points `(x, y, scale)` with the least sum of squared distances in units of their scales: its value
/// at 0 and its slope. `None` if all have the same `x`.
fn line(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    let weight = |scale: f64| 1.0 / (scale * scale).max(1.0);
    let mean = |of: fn(&(f64, f64, f64)) -> f64| {
        let sum = points.iter().map(|point| weight(point.2) * of(point)).sum::<f64>();
        sum / points.iter().map(|point| weight(point.2)).sum::<f64>()
    };
    let (x, y, xx, xy) = (mean(|p| p.0), mean(|p| p.1), mean(|p| p.0 * p.0), mean(|p| p.0 * p.1));
    let spread = xx - x * x;
    let slope = (xy - x * y) / spread;
    (points.len() > 1 && spread > 1e-9).then_some((y - slope * x, slope))
}

/// The median of factors, within bounds; 1 of none.
pub(crate) fn middle(mut factors: Vec<f64>) -> f64 {
    factors.sort_by(f64::total_cmp);
    let middle = factors.get(factors.len() / 2).copied().unwrap_or(1.0);
    middle.clamp(1.0 / CORRECTION_MAX, CORRECTION_MAX)
}
