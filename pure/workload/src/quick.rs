//! A plan for a first answer in about a minute: the rows that people know, a curve of latency against load, and the
//! price of durability.

use crate::{LatencyFigure, Objective};
use loadline_units::{Bytes, Duration, UnitError};

/// What the plan depends on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuickPlan {
    /// Bytes that every load spreads over.
    pub size: Bytes,
    /// Measured time of a row.
    pub duration: Duration,
    /// The latency to keep.
    pub objective: Objective,
    /// What random 4 KiB reads reached just before.
    pub reached: RateReached,
    /// Whether the target may be written.
    pub writable: bool,
}

/// The most that a closed loop got.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateReached {
    /// Requests per second.
    pub iops: f64,
    /// With so many outstanding.
    pub depth: u32,
}

/// Loads on the curve, in percent of what was reached.
const CURVE_PERCENT: [u32; 7] = [10, 30, 50, 70, 90, 100, 110];
/// The rows of CrystalDiskMark 8: name, pattern, block, depth.
const ROWS: [(&str, &str, &str, u32); 4] = [
    ("SEQ1M Q8T1", "sequential", "1 MiB", 8),
    ("SEQ1M Q1T1", "sequential", "1 MiB", 1),
    ("RND4K Q32T1", "random", "4 KiB", 32),
    ("RND4K Q1T1", "random", "4 KiB", 1),
];

/// The least that every load can spread over: the largest block of the rows.
pub const QUICK_SIZE_MIN: Bytes = Bytes::mib(1);

/// The deepest queue of the rows.
pub const QUICK_DEPTH_MAX: u32 = 32;

impl QuickPlan {
    /// Loads of the plan: fewer where rates of the curve coincide, one more where a deeper queue than those of the rows reached more.
    #[must_use]
    pub fn loads(writable: bool) -> usize {
        ROWS.len() + CURVE_PERCENT.len() + if writable { ROWS.len() + 1 } else { 0 }
    }

    /// How long they take, each row measured for `duration`, with an objective of so much.
    #[must_use]
    pub fn time(duration: Duration, limit: Duration, writable: bool) -> Duration {
        let (rows, point) = (Self::loads(writable) - CURVE_PERCENT.len(), curve_duration(duration));
        (duration + warm_up(duration)) * rows as u64
            + (point + curve_warm_up(point, limit)) * CURVE_PERCENT.len() as u64
    }

    /// The whole plan. Reads come before writes: a device that still digests writes would spoil the curve.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!(
            "# Made by `loadline quick`. The rates of the curve are {} to {} % of the {:.0} IOPS that random 4 KiB reads\n\
         # reached at depth {} in trials of their own just before the run, the fastest of them. Everything is short on purpose: for lasting\n\
         # figures of rate-limited disks run `outstanding-sweep`.\n\
         schema = 1\nname = \"quick\"\ndescription = \"A first answer in about a minute\"\n",
            CURVE_PERCENT[0],
            CURVE_PERCENT[CURVE_PERCENT.len() - 1],
            self.reached.iops,
            self.reached.depth
        );
        for row in ROWS {
            text.push_str(&row_text(self, row, "100 %"));
        }
        // The rate that the curve is a share of is shown beside it. The rows are less deep: theirs would pass for a limit that the curve exceeds.
        if self.reached.depth > QUICK_DEPTH_MAX {
            let name = format!("RND4K Q{}T1", self.reached.depth);
            text.push_str(&row_text(self, (&name, "random", "4 KiB", self.reached.depth), "100 %"));
        }
        text.push_str(&curve_text(self));
        if self.writable {
            for row in ROWS {
                text.push_str(&row_text(self, row, "0 %"));
            }
            let flush = ("fsync", "random", "4 KiB", 1);
            text.push_str(&row_text(self, flush, "0 %"));
            text.push_str("flush = { every = 1, how = \"fdatasync\" }\n");
        }
        text
    }
}

fn row_text(of: &QuickPlan, (name, pattern, block, depth): (&str, &str, &str, u32), reads: &str) -> String {
    // The objective is one of small requests, as databases make them.
    let objective = if pattern == "random" { objective_text(of.objective) } else { String::new() };
    format!(
        "\n[[load]]\nname = \"{name}\"\npattern = \"{pattern}\"\nreads = \"{reads}\"\nblock = \"{block}\"\nqueue_depth = {depth}\n\
         {objective}{}",
        common_text(of, of.duration, warm_up(of.duration))
    )
}

/// Open loop: what a request waits when requests come as they come, not when the last one was answered. A load for each
/// rate, so that each has its share of what was reached for a name.
fn curve_text(of: &QuickPlan) -> String {
    let limit = of.objective.limit;
    let mut points: Vec<(u32, u64)> = CURVE_PERCENT
        .iter()
        .map(|percent| (*percent, three_digits(of.reached.iops * f64::from(*percent) / 100.0)))
        .collect();
    points.dedup_by_key(|(_, rate)| *rate);
    let duration = curve_duration(of.duration);
    let point = |(percent, rate): (u32, u64)| {
        format!(
            "\n[[load]]\nname = \"curve {percent} %\"\npattern = \"random\"\nreads = \"100 %\"\nblock = \"4 KiB\"\n\
             arrival = {{ poisson = \"{rate} IOPS\" }}\n{}{}",
            objective_text(of.objective),
            common_text(of, duration, curve_warm_up(duration, limit))
        )
    };
    points.into_iter().map(point).collect()
}

fn objective_text(Objective { of, limit }: Objective) -> String {
    format!("objective = {{ {} = \"{limit}\" }}\n", of.name())
}

/// The rate with three significant digits, at least 1: more would claim to know what was reached better than a short trial
/// can tell.
fn three_digits(rate: f64) -> u64 {
    let whole = rate.round().max(1.0) as u64;
    let unit = 10_u64.pow(whole.ilog10().saturating_sub(2));
    (rate / unit as f64).round().max(1.0) as u64 * unit
}

fn common_text(of: &QuickPlan, duration: Duration, warm_up: Duration) -> String {
    format!(
        "size = \"{}\"\nwarm_up = \"{warm_up}\"\nduration = \"{duration}\"\ntrials = 1\norder = \"as-listed\"\n",
        of.size
    )
}

/// A little shorter than a row.
fn curve_duration(row: Duration) -> Duration {
    Duration::from_ns(row.as_ns() / 6 * 5)
}

/// As long as requests may take that keep the objective: what is in flight when the measurement ends is then made up for by what was
/// when it began, and does not pass for load that was not met.
fn curve_warm_up(duration: Duration, limit: Duration) -> Duration {
    warm_up(duration).max(limit).min(duration)
}

/// Half a second, or less where the rows are shorter than usual.
fn warm_up(duration: Duration) -> Duration {
    Duration::from_ms(500).min(Duration::from_ns(duration.as_ns() / 4))
}

/// Why a text is no objective.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectiveError {
    /// There is no figure of this name.
    #[error("{figure:?} is none of {}; write for example p99=\"5 ms\"", FIGURES.map(LatencyFigure::words).join(", "))]
    UnknownFigure {
        /// As it was written.
        figure: String,
    },
    /// The limit is no time.
    #[error(transparent)]
    Limit(#[from] UnitError),
    /// The limit is 0.
    #[error("no storage answers in no time; write for example \"20 ms\"")]
    NoTime,
}

const FIGURES: [LatencyFigure; 6] = [
    LatencyFigure::Mean,
    LatencyFigure::P50,
    LatencyFigure::P90,
    LatencyFigure::P95,
    LatencyFigure::P99,
    LatencyFigure::P999,
];

/// Reads "20 ms" (of the mean), "p99=5 ms" or "mean=20 ms".
///
/// # Errors
/// [`ObjectiveError`], which says what would be understood.
pub fn parse_objective(text: &str) -> Result<Objective, ObjectiveError> {
    let (figure, limit) = text.split_once('=').map_or(("mean", text), |(figure, limit)| (figure.trim(), limit));
    let of = FIGURES.into_iter().find(|known| known.name() == figure || known.words() == figure);
    let of = of.ok_or_else(|| ObjectiveError::UnknownFigure { figure: figure.to_owned() })?;
    let limit: Duration = limit.trim().trim_matches('"').parse()?;
    if limit == Duration::ZERO {
        return Err(ObjectiveError::NoTime);
    }
    Ok(Objective { of, limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadSpec, Plan};

    fn reached(iops: f64) -> RateReached {
        RateReached { iops, depth: 32 }
    }

    fn ingredients() -> QuickPlan {
        QuickPlan {
            size: Bytes::gib(4),
            duration: Duration::from_s(3),
            objective: parse_objective("20 ms").unwrap(),
            reached: reached(50_000.0),
            writable: true,
        }
    }

    #[test]
    fn the_text_is_a_plan_of_about_a_minute() {
        let plan = Plan::parse(&ingredients().text(), "quick").unwrap();
        assert_eq!(plan.cells().count(), QuickPlan::loads(true));
        let planned: Duration = plan.cells().map(|(spec, _)| spec.trial_time()).sum();
        assert!(planned < Duration::from_s(55), "{}", planned.clock());
        assert_eq!(planned, QuickPlan::time(Duration::from_s(3), ingredients().objective.limit, true));
    }

    #[test]
    fn a_deeper_queue_that_reached_more_is_a_row_of_its_own() {
        let reached = RateReached { depth: 128, ..reached(90_000.0) };
        let text = QuickPlan { reached, ..ingredients() }.text();
        let plan = Plan::parse(&text, "quick").unwrap();
        assert_eq!(plan.cells().count(), QuickPlan::loads(true) + 1);
        let labels: Vec<String> = plan.cells().map(|(spec, _)| label_of(spec)).collect();
        assert_eq!(labels[4], "RND4K Q128T1: random read 4 KiB, depth 128");
        assert!(labels[5].starts_with("curve 10 %"), "{labels:?}");
        assert_eq!(ROWS.map(|row| row.3).into_iter().max(), Some(QUICK_DEPTH_MAX));
    }

    #[test]
    fn nothing_writes_where_nothing_may_be_written() {
        let plan = Plan::parse(&QuickPlan { writable: false, ..ingredients() }.text(), "quick").unwrap();
        assert_eq!(plan.cells().count(), QuickPlan::loads(false));
        assert!(plan.cells().all(|(spec, _)| !spec.writes_any()));
    }

    #[test]
    fn the_curve_is_named_by_shares_at_rates_of_three_digits() {
        let plan = Plan::parse(&QuickPlan { reached: reached(45_678.0), ..ingredients() }.text(), "quick").unwrap();
        let curve: Vec<String> = plan.cells().map(|(spec, _)| label_of(spec)).filter(|l| l.contains("curve")).collect();
        assert_eq!(curve[0], "curve 10 %: random read 4 KiB, 4570 IOPS Poisson");
        assert_eq!(curve[6], "curve 110 %: random read 4 KiB, 50200 IOPS Poisson");
        assert_eq!([0.2, 7.4, 999.6, 1_234.0, 99_960.0].map(three_digits), [1, 7, 1_000, 1_230, 100_000]);
    }

    fn label_of(load: &LoadSpec) -> String {
        format!("{}: {load}", load.name.as_ref().unwrap())
    }

    #[test]
    fn a_device_of_a_few_requests_per_second_still_has_a_curve() {
        for iops in [0.2, 1.0, 7.0] {
            let text = QuickPlan { reached: reached(iops), ..ingredients() }.text();
            assert!(Plan::parse(&text, "quick").is_ok(), "{text}");
        }
    }

    #[test]
    fn the_least_size_holds_every_block_and_less_does_not() {
        let text = QuickPlan { size: QUICK_SIZE_MIN, duration: Duration::from_ms(1), ..ingredients() }.text();
        let plan = Plan::parse(&text, "quick").unwrap();
        assert_eq!(plan.cells().map(|(spec, _)| spec.block_max()).max(), Some(QUICK_SIZE_MIN));
    }

    #[test]
    fn objectives_are_of_the_mean_unless_they_name_a_figure() {
        assert_eq!(
            parse_objective("20 ms").unwrap(),
            Objective { of: LatencyFigure::Mean, limit: Duration::from_ms(20) }
        );
        assert_eq!(
            parse_objective("p99=5ms").unwrap(),
            Objective { of: LatencyFigure::P99, limit: Duration::from_ms(5) }
        );
        assert_eq!(parse_objective("p99_9 = \"5 ms\"").unwrap().of, LatencyFigure::P999);
        assert_eq!(parse_objective("p99.9=5ms").unwrap().of, LatencyFigure::P999);
        assert!(parse_objective("p98=5ms").unwrap_err().to_string().contains("p99.9"));
        assert!(parse_objective("20").unwrap_err().to_string().contains("unit"));
        assert!(parse_objective("0 ms").is_err());
    }
}
