//! Adjusts all figures of a disk together: least squares over the model's results for the loads.

use crate::disk::{Disk, Holding, Service, Side};
use crate::score::{Bench, Made, Wanted};
use crate::{FLOOR, FitError};

/// The most steps; and the number of steps to find the nearest of several disks. Steps go on only if the last one saved
/// more than this share of the remaining error.
const STEPS: usize = 8;
const STEPS_TO_COMPARE: usize = 3;
const GOES_ON: f64 = 0.2;
/// The step of a figure for its slope, as a share of it; rates by at least a whole unit.
const NUDGE: f64 = 0.02;
/// The savings of a bucket show in few requests.
const NUDGE_DEPTH: f64 = 0.1;
/// No step changes a figure by more than this, in the same measure.
const STEP_MAX: f64 = 0.5;
/// Damping factors, tried in turn: steps are short in directions with little evidence.
const DAMPING: [f64; 3] = [1e-3, 0.1, 1.0];
/// How far a figure is moved by itself, in the same measure, and how often.
const FAR: f64 = 0.1;
const JUMPS: usize = 2;
/// The gain that a new depth of a bucket needs for each load, in squared scales of [`score`](crate::score). Most loads
/// hardly show the depth, and service times compensate for it.
const DEPTH_COST: f64 = 0.05;
/// A step that spares less than this for each load, in squared scales of [`score`](crate::score), is the last one.
const LITTLE: f64 = 0.005;

/// A figure of a disk. Its place is on a scale of shares: a step of 0.01 is 1 % of it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    /// The median time of service, and the 99th percentile with it.
    Median {
        reads: bool,
    },
    /// How far above the median the 99th percentile lies.
    Spread {
        reads: bool,
    },
    /// The time of each KiB: a share of the median for the largest block.
    PerKib {
        reads: bool,
        kib: f64,
    },
    /// Of one direction, or of both if they share one budget.
    Iops {
        reads: bool,
        both: bool,
    },
    Bytes {
        reads: bool,
        both: bool,
    },
    /// Of a token bucket.
    Depth,
}

impl Figure {
    /// The figures of a disk for which loads may be evidence.
    fn of(disk: &Disk, bench: &Bench<'_>) -> Vec<Self> {
        let mut figures = Vec::new();
        let kib = bench.largest_kib();
        for reads in [true, false] {
            let side = disk.side(reads);
            if side.service.is_some() && disk.mechanics.is_none() {
                figures.extend([Self::Median { reads }, Self::PerKib { reads, kib }]);
                // Otherwise it comes from a throttle's turns, and the service stays as found.
                if bench.tells_spread(side, reads) {
                    figures.push(Self::Spread { reads });
                }
            }
            let other = disk.side(!reads);
            // A burst has one budget for both directions.
            let bursts = disk.read.burst.or(disk.write.burst).is_some();
            let of = |own: Option<f64>, other: Option<f64>, is_one: bool| {
                let both = (is_one || bursts) && other.is_some();
                (own.is_some() && (reads || !both)).then_some(both)
            };
            if let Some(both) = of(side.iops, other.iops, disk.sharing.iops) {
                figures.push(Self::Iops { reads, both });
            }
            if let Some(both) = of(side.bytes_per_s, other.bytes_per_s, disk.sharing.bytes) {
                figures.push(Self::Bytes { reads, both });
            }
        }
        figures
    }

    /// Whether it concerns a direction.
    const fn is_of(self, direction: bool) -> bool {
        match self {
            Self::Median { reads } | Self::Spread { reads } | Self::PerKib { reads, .. } => reads == direction,
            Self::Iops { reads, both } | Self::Bytes { reads, both } => both || reads == direction,
            Self::Depth => true,
        }
    }

    /// Whether it may say anything of a load.
    fn tells_of(self, wanted: &Wanted) -> bool {
        [true, false].into_iter().any(|reads| wanted.is_of(reads) && self.is_of(reads))
    }

    /// The furthest that it can be moved down.
    fn least(self, disk: &Disk) -> f64 {
        let of = |reads: bool, of: &dyn Fn(Service) -> f64| disk.side(reads).service.map_or(-STEP_MAX, of);
        let furthest = match self {
            Self::PerKib { reads, kib } => of(reads, &|service| -service.per_kib * kib.max(1.0) / service.median),
            Self::Spread { reads } => of(reads, &|service| libm::log(service.median / service.p99)),
            Self::Median { .. } | Self::Iops { .. } | Self::Bytes { .. } | Self::Depth => -STEP_MAX,
        };
        furthest.clamp(-STEP_MAX, 0.0)
    }

    /// Its step for the slope.
    fn nudge(self, disk: &Disk) -> f64 {
        match self {
            Self::Iops { reads, .. } => disk.side(reads).iops.map_or(NUDGE, |rate| NUDGE.max(1.5 / rate.max(2.0))),
            Self::Depth => NUDGE_DEPTH,
            _ => NUDGE,
        }
    }

    /// The disk with the figure moved by this much.
    fn moved(self, disk: &Disk, by: f64) -> Disk {
        let factor = libm::exp(by);
        let with_rate = |of: &dyn Fn(&Side) -> Side, reads: bool, both: bool| Disk {
            read: if reads || both { of(&disk.read) } else { disk.read.clone() },
            write: if !reads || both { of(&disk.write) } else { disk.write.clone() },
            ..disk.clone()
        };
        let with_service = |reads: bool, of: &dyn Fn(Service) -> Service| {
            disk.side(reads).service.map_or_else(|| disk.clone(), |service| disk.with_service(reads, of(service)))
        };
        match self {
            Self::Median { reads } => with_service(reads, &|service| Service {
                median: (service.median * factor).max(1.0),
                p99: (service.p99 * factor).max(1.0),
                ..service
            }),
            Self::Spread { reads } => {
                with_service(reads, &|service| Service { p99: (service.p99 * factor).max(service.median), ..service })
            }
            Self::PerKib { reads, kib } => with_service(reads, &|service| Service {
                per_kib: (service.per_kib + by * service.median / kib.max(1.0)).max(0.0),
                ..service
            }),
            Self::Iops { reads, both } => {
                with_rate(&|side| Side { iops: side.iops.map(|rate| rate * factor), ..side.clone() }, reads, both)
            }
            Self::Bytes { reads, both } => with_rate(
                &|side| Side { bytes_per_s: side.bytes_per_s.map(|rate| rate * factor), ..side.clone() },
                reads,
                both,
            ),
            Self::Depth => match disk.holding {
                Holding::Bucket(depth) => Disk { holding: Holding::Bucket(depth * factor), ..disk.clone() },
                _ => disk.clone(),
            },
        }
    }
}

/// A disk, the model's results for the loads on it, and the error.
#[derive(Clone)]
struct Place {
    disk: Disk,
    made: Vec<Made>,
    error: f64,
}

impl Place {
    fn of(disk: Disk, bench: &Bench<'_>) -> Result<Self, FitError> {
        let made = bench.make(&disk)?;
        Ok(Self { error: bench.error(&made), disk, made })
    }
}

/// The disk with adjusted figures and its error, for comparison with others. The steps are those of Gauss and Newton,
/// damped as by Levenberg and Marquardt.
pub(crate) fn refined(disk: &Disk, bench: &Bench<'_>) -> Result<(Disk, f64), FitError> {
    let place = deepened(descended(Place::of(disk.clone(), bench)?, &[], GOES_ON, bench)?, GOES_ON, bench)?;
    Ok((place.disk, place.error))
}

/// The disk with figures at the least error. A load at a limit does not show small changes of its unlimited time, so
/// large changes of one figure at a time are tried as well. The depth of a bucket is adjusted if loads show it.
pub(crate) fn searched(disk: &Disk, bench: &Bench<'_>) -> Result<Disk, FitError> {
    let loads = bench.loads() as f64;
    let mut best = descended(Place::of(disk.clone(), bench)?, &[], 0.0, bench)?;
    for _ in 0..JUMPS {
        if best.error < FLOOR * loads {
            break;
        }
        let before = best.error;
        let mut there: Option<Place> = None;
        for (figure, by) in Figure::of(&best.disk, bench).into_iter().flat_map(|figure| [(figure, FAR), (figure, -FAR)])
        {
            let disk = figure.moved(&best.disk, by);
            let made = bench.make_again(&disk, &best.made, |wanted| figure.tells_of(wanted))?;
            let error = bench.error(&made);
            if error < there.as_ref().map_or(best.error, |there| there.error) {
                there = Some(Place { disk, made, error });
            }
        }
        let Some(there) = there else { break };
        best = descended(there, &[], 0.0, bench)?;
        if before - best.error < LITTLE * loads {
            break;
        }
    }
    Ok(deepened(best, 0.0, bench)?.disk)
}

/// Adjusts the depth of a bucket as well, if that gains its cost.
fn deepened(place: Place, goes_on: f64, bench: &Bench<'_>) -> Result<Place, FitError> {
    let most = place.error - DEPTH_COST * bench.loads() as f64;
    if !matches!(place.disk.holding, Holding::Bucket(_)) || most <= 0.0 {
        return Ok(place);
    }
    let deeper = descended(place.clone(), &[Figure::Depth], goes_on, bench)?;
    Ok(if deeper.error < most { deeper } else { place })
}

/// Adjusts the disk's figures, and these `others` as well, as long as each step saves this share of the remaining
/// error; the first few steps always count.
fn descended(mut best: Place, others: &[Figure], goes_on: f64, bench: &Bench<'_>) -> Result<Place, FitError> {
    let little = LITTLE * bench.loads() as f64;
    for number in 1..=STEPS {
        let figures = [Figure::of(&best.disk, bench), others.to_vec()].concat();
        let slopes = slopes(&best.disk, &best.made, &figures, bench)?;
        let off = bench.off(&best.made);
        let least: Vec<f64> = figures.iter().map(|figure| figure.least(&best.disk)).collect();
        let (here, before) = (best.disk.clone(), best.error);
        for damping in DAMPING {
            let Some(step) = bounded_step(&slopes, &off, damping, &least) else { continue };
            let to = figures.iter().zip(&step).fold(here.clone(), |disk, (figure, by)| figure.moved(&disk, *by));
            let there = Place::of(to, bench)?;
            if there.error < best.error {
                best = there;
            }
        }
        let spared = before - best.error;
        if spared < little || number >= STEPS_TO_COMPARE && spared < goes_on * best.error {
            break;
        }
    }
    Ok(best)
}

/// The slopes of every load's error by each figure, for a share of 1.
fn slopes(disk: &Disk, made: &[Made], figures: &[Figure], bench: &Bench<'_>) -> Result<Vec<Vec<f64>>, FitError> {
    let off = bench.off(made);
    figures
        .iter()
        .map(|figure| {
            let by = figure.nudge(disk);
            let there = bench.make_again(&figure.moved(disk, by), made, |wanted| figure.tells_of(wanted))?;
            Ok(bench.off(&there).iter().zip(&off).map(|(there, here)| (there - here) / by).collect())
        })
        .collect()
}

/// The same with a lower bound for each figure. A figure that would go below stays at it, and the others make up for
/// it.
fn bounded_step(slopes: &[Vec<f64>], off: &[f64], damping: f64, least: &[f64]) -> Option<Vec<f64>> {
    let mut held: Vec<Option<f64>> = vec![None; slopes.len()];
    loop {
        let (free, off) =
            held.iter().zip(slopes).fold((Vec::new(), off.to_vec()), |(mut free, mut off), (held, slope)| {
                match held {
                    Some(by) => off.iter_mut().zip(slope).for_each(|(off, slope)| *off += slope * by),
                    None => free.push(slope.clone()),
                }
                (free, off)
            });
        let mut steps = step(&free, &off, damping)?.into_iter();
        let all: Vec<f64> = held.iter().map(|held| held.unwrap_or_else(|| steps.next().unwrap_or(0.0))).collect();
        let beyond = (0..all.len()).filter(|index| held[*index].is_none() && all[*index] < least[*index]);
        let Some(furthest) = beyond.max_by(|a, b| (least[*a] - all[*a]).total_cmp(&(least[*b] - all[*b]))) else {
            return Some(all);
        };
        held[furthest] = Some(least[furthest]);
    }
}

/// The step with the least squares, damped by `damping`.
fn step(slopes: &[Vec<f64>], off: &[f64], damping: f64) -> Option<Vec<f64>> {
    // A figure whose error is capped pulls no more than the cap.
    let weights: Vec<f64> = off.iter().map(|off| Bench::pull(*off)).collect();
    let product =
        |a: &[f64], b: &[f64]| a.iter().zip(b).zip(&weights).map(|((a, b), weight)| a * b * weight).sum::<f64>();
    let count = slopes.len();
    let mut rows: Vec<Vec<f64>> = slopes
        .iter()
        .map(|slope| slopes.iter().map(|other| product(slope, other)).chain([-product(slope, off)]).collect())
        .collect();
    for (index, row) in rows.iter_mut().enumerate() {
        row[index] += damping * (1.0 + row[index]);
    }
    // Elimination: the matrix is positive definite, so that no pivot is nothing.
    for pivot in 0..count {
        let row = rows[pivot].clone();
        if row[pivot] < 1e-12 {
            return None;
        }
        for other in (0..count).filter(|other| *other != pivot) {
            let factor = rows[other][pivot] / row[pivot];
            for (value, above) in rows[other].iter_mut().zip(&row) {
                *value -= factor * above;
            }
        }
    }
    Some((0..count).map(|index| (rows[index][count] / rows[index][index]).clamp(-STEP_MAX, STEP_MAX)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_goes_to_where_squares_are_least() {
        // y = 2 a + b, y = a, y = b: 3, 1 and 1 too much.
        let slopes = [vec![2.0, 1.0, 0.0], vec![1.0, 0.0, 1.0]];
        let step = step(&slopes, &[0.3, 0.1, 0.1], 1e-9).unwrap();
        assert!((step[0] + 0.1).abs() < 1e-6 && (step[1] + 0.1).abs() < 1e-6, "{step:?}");
    }

    #[test]
    fn what_cannot_go_further_down_stays_and_the_others_make_the_best_of_it() {
        // y = a + b, y = a: 1 and 3 too much. Freely a goes down by 3 and b up by 2; where a may go down by 1 only, b does not move.
        let slopes = [vec![1.0, 1.0], vec![1.0, 0.0]];
        let step = |least| bounded_step(&slopes, &[0.1, 0.3], 1e-9, &[least, -1.0]).unwrap();
        assert!((step(-1.0)[0] + 0.3).abs() < 1e-6 && (step(-1.0)[1] - 0.2).abs() < 1e-6, "{:?}", step(-1.0));
        assert!((step(-0.1)[0] + 0.1).abs() < 1e-6 && step(-0.1)[1].abs() < 1e-6, "{:?}", step(-0.1));
    }

    #[test]
    fn figures_that_loads_tell_nothing_of_stay() {
        let slopes = [vec![1.0, 2.0], vec![0.0, 0.0]];
        let step = step(&slopes, &[0.1, 0.2], 1e-3).unwrap();
        assert!((step[0] + 0.1).abs() < 1e-3 && step[1].abs() < 1e-9, "{step:?}");
    }
}
