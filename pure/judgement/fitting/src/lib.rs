//! Fits a modelled disk to a measured run.
//!
//! Limits come from the analysis, service times from loads without waiting. The mechanism of limits cannot be read off.
//! So each mechanism of the model is simulated with the run's own loads, and the one with the nearest rates and
//! percentiles wins. The result is an environment with a disk given in full.

mod disk;
mod evidence;
mod mechanics;
mod progress;
mod refine;
mod result;
mod score;
mod service;
mod sharing;

use disk::{Disk, Holding, Service, Sharing, Side};
use loadline_analysis::{LimitFigure, Quantity, limits, loads_at_limits};
use loadline_prediction::{PredictionError, SIZE_DEFAULT};
use loadline_record::{CellRecord, Clock, RunRecord, TargetKind, VolumeFacts};
use loadline_units::{ByteRate, Iops};
use mechanics::Mechanics;
use progress::FitProgress;
pub use result::{AssumedBudgets, FitAssumption, FitDoubt, Fitted, FittedVolume};
pub use score::Agreement;
use score::{Bench, Made, Wanted};
use service::{OF_A_WAIT, service};
use std::borrow::Cow;

/// Rounds of correction by the model's results.
const ROUNDS: usize = 3;
/// Windows that are tried beside the one that clusters of latencies show, ns.
const WINDOWS: [f64; 3] = [20e6, 50e6, 100e6];
/// Depths of token buckets to try, ns. The smallest save a few requests, which shows if loads take turns at two limits;
/// the largest saves a second.
const BUCKETS: [f64; 4] = [1e6, 10e6, 100e6, 1e9];
/// A deeper bucket is no usual one, ns.
const USUAL_BUCKET: f64 = 300e6;
/// Requests in service at once to try, beside no bound, as multiples of what the plateau needs.
const PLACES: [f64; 1] = [1.0];

/// Requests in service at once behind limits to try: requests that a window passes together meet there.
const PLACES_BEHIND: [u32; 3] = [1, 2, 4];
/// How far a window's edges may lie from their places, as shares of its length, that are tried.
const JITTERS: [f64; 1] = [0.1];

/// Candidates whose figures are adjusted together at the end: the nearest of so many kinds.
const FINALISTS: usize = 3;
/// Kinds of disks whose errors differ by less are equal for all loads.
const ALIKE: f64 = 0.01;
/// With so little error left for each load, nothing more needs an explanation.
const FLOOR: f64 = 0.02;
/// The cost of a mechanism is at most this many times the remaining error: with better explanations less is noise.
const OF_THE_REST: f64 = 3.0;

/// Loads for trying disks, at most, and for adjusting the figures of the chosen one.
const LOADS_TRIED: usize = 32;
const LOADS_REFINED: usize = 96;

/// The gain that a start without inferred limits needs, in squared scales of [`score`].
const START_COST: f64 = 1.0;

/// The gain that delayed answers need for each load, in the same measure. Most disks delay requests, and if a burst is
/// served at once the two differ only by noise.
const ANSWERS_COST: f64 = 0.5;

/// The gain that places behind limits need for each load, in the same measure.
const PLACES_COST: f64 = 0.5;

/// The gain that a bucket deeper than a [`USUAL_BUCKET`] needs for each load, in the same measure. Loads without pauses
/// do not show how much is saved, and a deep bucket promises more to others.
const SAVING_COST: f64 = 0.05;

/// A run that cannot be fitted.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// Nothing was measured on any volume that the model could be fitted to.
    #[error(
        "run {run} holds no load that a disk could be fitted to: measure closed loops of reads or writes past the page cache, \
         with one request outstanding and with many"
    )]
    Nothing {
        /// Its id.
        run: String,
    },
    /// The measurement was of the tool.
    #[error(
        "run {run} says nothing of storage: its loads went to the null target, or were generator-bound, and had the rate of the tool \
         itself; measure a device, a file or a folder, with more threads where the tool is too slow"
    )]
    Tool {
        /// Its id.
        run: String,
    },
    /// An application's requests, as emulations and replays record them.
    #[error(
        "run {run} is of what an application asked for, so that nothing in it was varied: a disk is fitted to a run of a plan, \
         which may measure the emulated disk"
    )]
    OfOthers {
        /// Its id.
        run: String,
    },
    /// A load's specification is not of this version.
    #[error("cell {cell} of the run has a load that this version of loadline cannot read; measure it anew")]
    Cell {
        /// Its label.
        cell: String,
    },
    /// The fitted environment is none; a fault of ours.
    #[error("the fitted environment cannot be modelled: {0}")]
    Environment(String),
    /// A load of the run cannot be put on it.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
}

/// Fits an environment called `name` to the volumes of a run, each as one disk.
///
/// The same run gives the same values.
///
/// # Errors
/// [`FitError`].
pub fn fit(record: &RunRecord, name: &str) -> Result<Fitted, FitError> {
    fit_watched(record, name, &|_| {})
}

/// [`fit`] with progress: it calls `watch` now and then with the share of the work that is done, about: 0.0 to 1.0.
///
/// # Errors
/// [`FitError`].
pub fn fit_watched(record: &RunRecord, name: &str, watch: &dyn Fn(f64)) -> Result<Fitted, FitError> {
    if !record.cells.is_empty() && record.cells.iter().all(|cell| cell.load.is_of_others()) {
        return Err(FitError::OfOthers { run: record.header.id.clone() });
    }
    let (mut doubts, mut assumptions) = (Vec::new(), Vec::new());
    let record = &plausible(record);
    if record.header.clock == Clock::Virtual {
        doubts.push(FitDoubt::OfPrediction);
        doubts.extend(evidence::above_the_disk(record));
    }
    let figures = limits(record);
    let limits_above = loads_at_limits(record);
    let mut volumes = Vec::new();
    let mut agreement = Vec::new();
    let mut of_the_tool = Vec::new();
    for (number, volume) in record.header.volumes.iter().enumerate() {
        let is_tool = |cell: &&CellRecord| volume.kind == TargetKind::Null || score::is_of_the_tool(cell);
        let all = record.cells.iter().filter(|cell| cell.volume == volume.name && score::fits(cell));
        let (tools, cells): (Vec<&CellRecord>, Vec<&CellRecord>) = all.partition(is_tool);
        of_the_tool.extend(tools.iter().map(|cell| (cell.label.clone(), cell.volume.clone())));
        if cells.is_empty() {
            continue;
        }
        let of_volume: Vec<&LimitFigure> = figures.iter().filter(|f| f.inferred && f.volume == volume.name).collect();
        let progress = || FitProgress::of(watch, number, record.header.volumes.len());
        let tried = Bench::new(&volume.name, &cells, LOADS_TRIED, progress())?;
        let bench = Bench::new(&volume.name, &cells, LOADS_REFINED, progress().done())?;
        let guess = |figures: &[&LimitFigure]| {
            let disk = first_guess(size_of(volume, &cells), &cells, figures);
            let unmeasured = [true, false].into_iter().find(|reads| !bench.any_of(*reads));
            unmeasured.map_or(disk.clone(), |reads| disk.without(reads))
        };
        let mut starts = vec![guess(&of_volume)];
        if let Some(levelled) = bench.levelled(&starts[0]) {
            starts.push(served(&levelled, &cells, OF_A_WAIT));
        }
        // Loads at a limit may hardly wait there.
        let patient = served(&starts[0], &cells, 1.0);
        if patient != starts[0] {
            starts.push(patient);
        }
        // Without limits nothing waits at any, and the loads show service.
        let disk = fit_disk(starts, &guess(&[]), &of_volume, &tried)?;
        let disk = refine::searched(&disk, &bench)?;
        let disk = sharing::assumed(evidence::lessened(disk, &bench)?, &bench)?;
        let (disk, bucket) = evidence::least_bucket(disk, &bench, &volume.name)?;
        doubts.extend(evidence::at_limits(&limits_above, &volume.name, &cells));
        doubts.extend(evidence::guesses(&disk, &bench, &volume.name).into_iter().chain(bucket));
        assumptions.extend(sharing::assumption(&disk, &bench, &volume.name));
        volumes.push(fitted_volume(&volume.name, &disk, &bench));
        agreement.extend(bench.agreement(&disk)?);
    }
    if agreement.is_empty() {
        let run = record.header.id.clone();
        return Err(if of_the_tool.is_empty() { FitError::Nothing { run } } else { FitError::Tool { run } });
    }
    let loads = of_the_tool.len();
    let first = of_the_tool.into_iter().next();
    doubts.extend(first.map(|(first, volume)| FitDoubt::OfTheTool { loads, first, volume }));
    let header = &record.header;
    Ok(Fitted {
        name: name.to_owned(),
        run: header.id.clone(),
        started: header.started.clone(),
        version: header.version.clone(),
        clock: header.clock,
        volumes,
        agreement,
        doubts,
        assumptions,
    })
}

/// The most plausible draw of a prediction: other draws show ranges.
fn plausible(record: &RunRecord) -> Cow<'_, RunRecord> {
    if record.header.clock == Clock::Real {
        return Cow::Borrowed(record);
    }
    let mut record = record.clone();
    for cell in &mut record.cells {
        cell.trials.retain(|trial| !trial.is_alternative());
    }
    Cow::Owned(record)
}

/// The sentence as it begins a line.
/// A volume with the rates that no load reached: the fitted disk has no limit there, but the real one may.
fn fitted_volume(name: &str, disk: &Disk, bench: &Bench<'_>) -> FittedVolume {
    let most = |of: fn(&Wanted) -> f64| bench.wanted.iter().map(of).fold(0.0, f64::max) as u64;
    let no = |of: fn(&Side) -> Option<f64>| of(&disk.read).or(of(&disk.write)).is_none() && disk.mechanics.is_none();
    let iops = no(|side| side.iops).then(|| Iops::per_second(most(|wanted| wanted.iops)));
    let throughput = no(|side| side.bytes_per_s).then(|| ByteRate::per_second(most(Wanted::bytes_per_s)));
    FittedVolume {
        name: name.to_owned(),
        iops_unlimited: iops.flatten(),
        throughput_unlimited: throughput.flatten(),
        disk: disk.toml(name),
    }
}

/// The size of a volume: a block device's own, however little of it was measured. If another tool measured it and did
/// not report it, it is the range of its loads, or the model's default.
fn size_of(volume: &VolumeFacts, cells: &[&CellRecord]) -> u64 {
    let path = volume.path.as_deref().filter(|_| volume.kind == TargetKind::BlockDevice);
    let name = path.and_then(|path| path.strip_prefix("/dev/"));
    let device = volume.devices.iter().find(|device| Some(device.name.as_str()) == name);
    let spread = || cells.iter().filter_map(|cell| cell.load.figures().size_bytes).max();
    let whole = device.and_then(|device| device.size_bytes);
    whole.max(volume.size_bytes).or_else(spread).unwrap_or(SIZE_DEFAULT.get())
}

/// The inferred figures, with even limits.
fn first_guess(size_bytes: u64, cells: &[&CellRecord], figures: &[&LimitFigure]) -> Disk {
    let side = |reads: bool| {
        let fits = |f: &&&LimitFigure| f.read_ratio.to_bits() == if reads { 1f64 } else { 0f64 }.to_bits();
        // Loads of one direction are the best evidence; a mix stands for both if there is none.
        let own: Vec<&&LimitFigure> = figures.iter().filter(fits).collect();
        let own = if own.is_empty() { figures.iter().collect() } else { own };
        let largest = |quantity| {
            let values = own.iter().filter(|f| f.quantity == quantity).map(|f| f.value);
            values.max_by(f64::total_cmp)
        };
        let bursts = largest(Quantity::BurstRequestsPerS).zip(largest(Quantity::BurstNs));
        let after = own.iter().filter(|f| f.quantity == Quantity::RequestsPerS).map(|f| f.value).min_by(f64::total_cmp);
        let side = Side {
            iops: if bursts.is_some() { after } else { largest(Quantity::RequestsPerS) },
            bytes_per_s: largest(Quantity::BytesPerS),
            burst: bursts.zip(after).map(|((rate, at_ns), after)| (rate, (rate - after).max(0.0) * at_ns / 1e9)),
            service: None,
        };
        Side { service: service(cells, reads, &side, OF_A_WAIT), ..side }
    };
    Disk {
        size_bytes,
        read: side(true),
        write: side(false),
        holding: Holding::Smooth,
        answers: false,
        sharing: Sharing::APART,
        places: None,
        mechanics: None,
    }
}

/// The disk with the service of loads that do not wait at its limits; if all wait, with this share of their time.
fn served(disk: &Disk, cells: &[&CellRecord], of_a_wait: f64) -> Disk {
    let of = |side: &Side, reads: bool| Side {
        service: side.service.and_then(|_| service(cells, reads, side, of_a_wait)),
        ..side.clone()
    };
    Disk { read: of(&disk.read, true), write: of(&disk.write, false), ..disk.clone() }
}

/// The nearest disk of a kind, its error, and the cost of its mechanism.
struct Kind {
    error: f64,
    cost: f64,
    disk: Disk,
}

/// The nearest disk so far, with its error and cost.
struct Search<'a> {
    bench: &'a Bench<'a>,
    error: f64,
    best: Disk,
    kinds: Vec<Kind>,
}

impl<'a> Search<'a> {
    fn new(start: Disk, bench: &'a Bench<'a>) -> Result<Self, FitError> {
        let made = bench.make(&start)?;
        let mut search = Self { bench, error: f64::INFINITY, best: start.clone(), kinds: Vec::new() };
        search.take(start, &made);
        Ok(search)
    }
    /// Takes the disk if its gain exceeds rounding and the extra cost of its mechanism.
    fn consider(&mut self, disk: Disk) -> Result<(), FitError> {
        let made = self.bench.make(&disk)?;
        self.take(disk, &made);
        Ok(())
    }
    fn take(&mut self, disk: Disk, made: &[Made]) {
        let (error, cost) = (self.bench.error(made), cost(&disk, self.bench));
        if error + cost < self.error - 1e-6 {
            (self.error, self.best) = (error + cost, disk.clone());
        }
        match self.kinds.iter_mut().find(|kind| kind.disk.is_like(&disk)) {
            Some(kind) if kind.error <= error => {}
            Some(kind) => *kind = Kind { error, cost, disk },
            None => self.kinds.push(Kind { error, cost, disk }),
        }
    }
    /// The same for the disk and for its corrected figures, which another mechanism needs.
    fn consider_corrected(&mut self, disk: Disk) -> Result<(), FitError> {
        let made = self.bench.make(&disk)?;
        let corrected = self.bench.corrected(&disk, &made);
        self.take(disk, &made);
        self.consider(corrected)
    }
}

/// The same for this remaining error.
fn cost_at_most(disk: &Disk, bench: &Bench<'_>, error: f64) -> f64 {
    cost(disk, bench).min(OF_THE_REST * (error + FLOOR * bench.loads() as f64))
}

/// The gain that the disk's mechanism needs.
fn cost(disk: &Disk, bench: &Bench<'_>) -> f64 {
    let answers = if disk.answers { ANSWERS_COST } else { 0.0 };
    let places = if disk.places.is_some() && disk.limited() { PLACES_COST } else { 0.0 };
    let saving = if matches!(disk.holding, Holding::Bucket(depth) if depth > USUAL_BUCKET) { SAVING_COST } else { 0.0 };
    (answers + places + saving) * bench.loads() as f64
}

/// Tries the mechanisms and corrects figures. The starts have the inferred limits, the highest rates as limits, or no
/// limits, so that requests wait for one another. The nearest wins. No start is dropped half-way, since each looks bad
/// until its figures are corrected. `starts` begins with the inferred one; `bare` is that without limits. A start that
/// cannot gain its cost is not tried.
fn fit_disk(mut starts: Vec<Disk>, bare: &Disk, figures: &[&LimitFigure], bench: &Bench<'_>) -> Result<Disk, FitError> {
    let limited = bench.limited(&starts[0]);
    if limited != starts[0] {
        starts.push(limited);
    }
    starts.extend(PLACES.iter().filter_map(|share| Some(Disk { places: Some(bench.places(*share)?), ..bare.clone() })));
    starts.extend(spinning(bare, bench)?);
    let count = starts.len();
    let mut best: Option<(f64, Disk)> = None;
    for (number, start) in starts.into_iter().enumerate() {
        // The error that it must reach.
        let most = best.as_ref().map_or(f64::INFINITY, |best| best.0 - START_COST);
        if most <= 0.0 {
            break;
        }
        bench.progress().begin(number, count);
        best = nearest(settled(start, figures, bench)?, most)?.or(best);
    }
    Ok(best.expect("there is a guess").1)
}

/// The nearest disk of a start, with corrected figures, if its error and cost are below this.
fn nearest(search: Search<'_>, mut most: f64) -> Result<Option<(f64, Disk)>, FitError> {
    let bench = search.bench;
    let mut best = None;
    for disk in finalists(search.kinds) {
        if cost_at_most(&disk, bench, 0.0) >= most {
            continue;
        }
        let (refined, error) = refine::refined(&disk, bench)?;
        let error = error + cost_at_most(&refined, bench, error);
        if error < most {
            (most, best) = (error, Some((error, refined)));
        }
    }
    Ok(best)
}

/// The kinds that came nearest, and the one that is nearest without its cost.
fn finalists(mut kinds: Vec<Kind>) -> Vec<Disk> {
    kinds.sort_by(|a, b| (a.error + a.cost).total_cmp(&(b.error + b.cost)));
    // Disks with the same results for all loads are the same.
    kinds.dedup_by(|a, b| (a.error - b.error).abs() < ALIKE && (a.cost - b.cost).abs() < ALIKE);
    let others = kinds.split_off(FINALISTS.min(kinds.len()));
    let nearest = others.into_iter().min_by(|a, b| a.error.total_cmp(&b.error));
    kinds.into_iter().chain(nearest).map(|kind| kind.disk).collect()
}

/// The nearest spinning disk as it is, if loads look like one.
fn spinning(bare: &Disk, bench: &Bench<'_>) -> Result<Option<Disk>, FitError> {
    let mut best: Option<(f64, Disk)> = None;
    for mechanics in Mechanics::candidates(&bench.wanted, bare.size_bytes) {
        let electronics = mechanics.electronics(&bench.wanted);
        let service = electronics.map(|(median, p99)| Service { median, p99, per_kib: 0.0 });
        let mut disk = Disk { mechanics: Some(mechanics), ..bare.clone() };
        (disk.read.service, disk.write.service) = (service, service);
        let error = bench.error(&bench.make(&disk)?);
        if best.as_ref().is_none_or(|best| error < best.0) {
            best = Some((error, disk));
        }
    }
    Ok(best.map(|(_, disk)| disk))
}

/// The best that comes of one start.
fn settled<'a>(start: Disk, figures: &[&LimitFigure], bench: &'a Bench<'a>) -> Result<Search<'a>, FitError> {
    let mut search = Search::new(start, bench)?;
    for round in 0..ROUNDS {
        if round < 2 && search.best.limited() {
            // First, since mixes that draw on other budgets than they did look like nothing else.
            if bench.mixes() {
                let tried = search.best.clone();
                for sharing in Sharing::all() {
                    search.consider_corrected(Disk { sharing, ..tried.clone() })?;
                }
            }
            let tried = search.best.clone();
            let seen = figures.iter().filter(|f| f.quantity == Quantity::WindowNs).map(|f| f.value);
            let windows = seen.take(1).chain(WINDOWS).map(|length| Holding::Window { length, jitter: 0.0 });
            for holding in windows.chain(BUCKETS.map(Holding::Bucket)) {
                search.consider_corrected(Disk { holding, ..tried.clone() })?;
            }
            // The nearest one, evenly or with a bucket, as a disk that delays answers.
            let tried = search.best.clone();
            let holdings = BUCKETS.map(Holding::Bucket).into_iter().chain([Holding::Smooth, tried.holding]);
            for holding in holdings {
                search.consider_corrected(Disk { holding, answers: true, ..tried.clone() })?;
            }
            if let Holding::Window { length, .. } = search.best.holding {
                let tried = search.best.clone();
                for jitter in JITTERS.map(|share| length * share) {
                    search.consider_corrected(Disk { holding: Holding::Window { length, jitter }, ..tried.clone() })?;
                }
                let tried = search.best.clone();
                for places in PLACES_BEHIND {
                    search.consider_corrected(Disk { places: Some(places), answers: false, ..tried.clone() })?;
                }
            }
        }
        let made = bench.make(&search.best)?;
        search.consider(bench.corrected(&search.best, &made))?;
        let made = bench.make(&search.best)?;
        search.consider(bench.corrected_by_size(&search.best, &made))?;
    }
    Ok(search)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_analysis::example;
    use loadline_record::DeviceFacts;
    use loadline_units::Bytes;

    #[test]
    fn what_an_application_asked_for_is_refused_as_such() {
        let mut record = example::golden();
        for cell in &mut record.cells {
            cell.load.figures_mut().expect("figures").arrival = loadline_record::ArrivalKind::Application;
        }
        let error = fit(&record, "own").unwrap_err().to_string();
        assert!(error.contains(&record.header.id) && error.contains("a run of a plan"), "{error}");
    }

    #[test]
    fn a_device_is_as_large_as_it_is_though_a_part_was_measured() {
        let whole = Bytes::gib(4).get();
        let device = |name: &str| DeviceFacts { name: name.into(), size_bytes: Some(whole), ..DeviceFacts::default() };
        let part = Bytes::gib(1).get();
        let volume = |kind, path: &str, devices| VolumeFacts {
            kind,
            path: Some(path.into()),
            size_bytes: Some(part),
            devices,
            ..example::volume("data")
        };
        let size = |kind, path, devices| size_of(&volume(kind, path, devices), &[]);
        assert_eq!(size(TargetKind::BlockDevice, "/dev/sdb", vec![device("sdb")]), whole);
        // A file, and a partition, are not the disk below them.
        assert_eq!(size(TargetKind::File, "/mnt/sdb", vec![device("sdb")]), part);
        assert_eq!(size(TargetKind::BlockDevice, "/dev/sdb1", vec![device("sdb")]), part);
        let unknown = VolumeFacts { size_bytes: None, devices: Vec::new(), ..example::volume("data") };
        assert_eq!(size_of(&unknown, &[]), SIZE_DEFAULT.get());
    }
}
