//! Figures of a disk that are put right together: least squares over what the model makes of the loads.

use crate::FitError;
use crate::disk::{Disk, Service, Side};
use crate::score::{Bench, Made};

/// Steps that are taken at most.
const STEPS: usize = 3;
/// A figure is moved so much to see what it does, as a share of it; rates by no less than a whole unit.
const NUDGE: f64 = 0.02;
/// No step changes a figure by more than this, in the same measure.
const STEP_MAX: f64 = 0.5;
/// How strongly steps are held back, tried in turn: directions in which the loads tell little are hardly gone.
const DAMPING: [f64; 3] = [1e-3, 0.1, 1.0];
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
    /// What each KiB adds: a share of the median for the largest block.
    PerKib {
        reads: bool,
        kib: f64,
    },
    /// Of one direction, or where both have one budget of both.
    Iops {
        reads: bool,
        both: bool,
    },
    Bytes {
        reads: bool,
        both: bool,
    },
}

impl Figure {
    /// The figures of a disk that loads may tell.
    fn of(disk: &Disk, bench: &Bench<'_>) -> Vec<Self> {
        let mut figures = Vec::new();
        let kib = bench.largest_kib();
        for reads in [true, false] {
            let side = disk.side(reads);
            if side.service.is_some() && disk.mechanics.is_none() {
                figures.extend([Self::Median { reads }, Self::PerKib { reads, kib }]);
                // Else it is that of turns of a throttle, and stays what the loads were found to say of service.
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

    /// Whether it says anything of a direction.
    const fn is_of(self, direction: bool) -> bool {
        match self {
            Self::Median { reads } | Self::Spread { reads } | Self::PerKib { reads, .. } => reads == direction,
            Self::Iops { reads, both } | Self::Bytes { reads, both } => both || reads == direction,
        }
    }

    /// How much it is moved to see what it does.
    fn nudge(self, disk: &Disk) -> f64 {
        match self {
            Self::Iops { reads, .. } => disk.side(reads).iops.map_or(NUDGE, |rate| NUDGE.max(1.5 / rate.max(2.0))),
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
        }
    }
}

/// The disk with its figures moved to where what the model makes of the loads is nearest, and how far it is off then: steps of
/// Gauss and Newton, held back as Levenberg and Marquardt do. `error` is how far it is off as it is.
pub(crate) fn refined(disk: &Disk, bench: &Bench<'_>) -> Result<(Disk, f64), FitError> {
    let mut best = disk.clone();
    let mut made = bench.make(&best)?;
    let mut error = bench.error(&made);
    for _ in 0..STEPS {
        let figures = Figure::of(&best, bench);
        let slopes = slopes(&best, &made, &figures, bench)?;
        let off = bench.off(&made);
        let before = error;
        for damping in DAMPING {
            let Some(step) = step(&slopes, &off, damping) else { continue };
            let to = figures.iter().zip(&step).fold(best.clone(), |disk, (figure, by)| figure.moved(&disk, *by));
            let made_there = bench.make(&to)?;
            let error_there = bench.error(&made_there);
            if error_there < error {
                (best, made, error) = (to, made_there, error_there);
                break;
            }
        }
        if before - error < LITTLE * bench.loads() as f64 {
            break;
        }
    }
    Ok((best, error))
}

/// What moving each figure does to how far every load is off, for a share of 1.
fn slopes(disk: &Disk, made: &[Made], figures: &[Figure], bench: &Bench<'_>) -> Result<Vec<Vec<f64>>, FitError> {
    let off = bench.off(made);
    figures
        .iter()
        .map(|figure| {
            let by = figure.nudge(disk);
            let there = bench.make_again(&figure.moved(disk, by), made, |wanted| {
                [true, false].into_iter().any(|reads| wanted.is_of(reads) && figure.is_of(reads))
            })?;
            Ok(bench.off(&there).iter().zip(&off).map(|(there, here)| (there - here) / by).collect())
        })
        .collect()
}

/// The step that leaves the least squares, held back by `damping`.
fn step(slopes: &[Vec<f64>], off: &[f64], damping: f64) -> Option<Vec<f64>> {
    // What counts for no more than a bound pulls no more than that either.
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
    fn figures_that_loads_tell_nothing_of_stay() {
        let slopes = [vec![1.0, 2.0], vec![0.0, 0.0]];
        let step = step(&slopes, &[0.1, 0.2], 1e-3).unwrap();
        assert!((step[0] + 0.1).abs() < 1e-3 && step[1].abs() < 1e-9, "{step:?}");
    }
}
