//! One axis: maps values to positions, with ticks at round numbers.

/// The positions of ticks.
#[derive(Debug, Clone)]
pub(crate) enum Ticks {
    /// At round numbers.
    Round,
    /// At these values and no others: queue depths, trials.
    At(Vec<f64>),
    /// At these values under these names.
    Named(Vec<(f64, String)>),
}

/// An axis over a range of values.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    /// The quantity, with its unit.
    pub(crate) label: String,
    /// Smallest value.
    pub(crate) low: f64,
    /// Largest value, above `low`.
    pub(crate) high: f64,
    /// Whether equal ratios have equal lengths.
    pub(crate) logarithmic: bool,
    /// The positions of ticks.
    pub(crate) ticks: Ticks,
    /// How a value is printed.
    pub(crate) print: fn(f64) -> String,
}

/// Ratios beyond which a linear axis would hide the small values.
const LOGARITHMIC_FROM: f64 = 30.0;
/// Values whose ratio stays below this are near each other: from zero on they would look alike.
const NEAR_BELOW: f64 = 2.0;
/// The least value on a logarithmic axis.
const LOG_MIN: f64 = 1e-9;
/// The largest value on any axis.
const VALUE_MAX: f64 = 1e18;

impl Axis {
    /// An axis from zero to a round number above every value.
    pub(crate) fn linear(label: &str, print: fn(f64) -> String, values: impl Iterator<Item = f64>) -> Self {
        let top = values.filter(|v| v.is_finite()).fold(0.0, f64::max).clamp(0.0, VALUE_MAX);
        let top = if top > 0.0 { top } else { 1.0 };
        let step = round_step(top / 5.0);
        let high = (top * 1.02 / step).ceil() * step;
        Self { label: label.to_owned(), low: 0.0, high, logarithmic: false, ticks: Ticks::Round, print }
    }
    /// A logarithmic axis between round numbers around every positive value.
    pub(crate) fn logarithmic(label: &str, print: fn(f64) -> String, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values).unwrap_or((1.0, 10.0));
        let low = *steps_125(low / 10.0, low).last().unwrap_or(&low);
        let high = *steps_125(high, high * 10.0).first().unwrap_or(&high);
        let high = if high > low { high } else { low * 10.0 };
        Self { label: label.to_owned(), low, high, logarithmic: true, ticks: Ticks::Round, print }
    }
    /// Linear from zero, or logarithmic if the values are far apart.
    pub(crate) fn fitting(label: &str, print: fn(f64) -> String, values: impl Iterator<Item = f64> + Clone) -> Self {
        match range(values.clone()) {
            Some((low, high)) if high / low > LOGARITHMIC_FROM => Self::logarithmic(label, print, values),
            _ => Self::linear(label, print, values),
        }
    }
    /// Linear around values that are near each other, so that their differences show; `None` of others.
    pub(crate) fn near(
        label: &str,
        print: fn(f64) -> String,
        values: impl Iterator<Item = f64> + Clone,
    ) -> Option<Self> {
        let is_positive = values.clone().all(|v| v.is_finite() && v >= LOG_MIN);
        let (low, high) = range(values).filter(|(low, high)| is_positive && high / low < NEAR_BELOW)?;
        Some(Self::between(label, print, low, high))
    }
    /// Linear around values, however far they are from zero.
    pub(crate) fn around(label: &str, print: fn(f64) -> String, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        Self::between(label, print, low, high)
    }
    fn between(label: &str, print: fn(f64) -> String, low: f64, high: f64) -> Self {
        let room = ((high - low) * 0.08).max(high * 0.005);
        let step = round_step((high - low + 2.0 * room) / 5.0);
        let (low, high) = (((low - room) / step).floor() * step, ((high + room) / step).ceil() * step);
        Self { label: label.to_owned(), low: low.max(0.0), high, logarithmic: false, ticks: Ticks::Round, print }
    }
    /// An axis with ticks at each of the given values: logarithmic when they are positive and far apart.
    pub(crate) fn at_values(label: &str, print: fn(f64) -> String, mut values: Vec<f64>) -> Self {
        values.retain(|v| v.is_finite() && v.abs() <= VALUE_MAX);
        values.sort_by(f64::total_cmp);
        values.dedup();
        let (low, high) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(1.0));
        let logarithmic = low > LOG_MIN && high / low >= 8.0;
        let (low, high) = match (high > low, logarithmic) {
            (true, true) => (low / (high / low).powf(0.03), high * (high / low).powf(0.03)),
            (true, false) => (low - (high - low) * 0.04, high + (high - low) * 0.04),
            // Beyond 2^52 a half would vanish.
            (false, _) => (low - 0.5 - low.abs() * 0.01, high + 0.5 + high.abs() * 0.01),
        };
        Self { label: label.to_owned(), low, high, logarithmic, ticks: Ticks::At(values), print }
    }
    /// The position of `value` between the ends, from 0 to 1; `None` if the axis cannot show it.
    pub(crate) fn place(&self, value: f64) -> Option<f64> {
        if !value.is_finite() || (self.logarithmic && value < LOG_MIN) {
            return None;
        }
        let place = if self.logarithmic {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        (place.is_finite() && (-0.001..=1.001).contains(&place)).then_some(place)
    }
    /// Values with their labels, at most about `room`; an empty label is a mere line.
    pub(crate) fn tick_labels(&self, room: usize) -> Vec<(f64, String)> {
        let label = |v: f64| (v, (self.print)(v));
        match &self.ticks {
            Ticks::Named(named) => named.clone(),
            Ticks::At(values) => {
                let every = values.len().div_ceil(room.max(1)).max(1);
                // Counted from the far end, so that the deepest queue is always named.
                let skip = (values.len().max(1) - 1) % every;
                values
                    .iter()
                    .enumerate()
                    .map(|(i, v)| if i % every == skip { label(*v) } else { (*v, String::new()) })
                    .collect()
            }
            Ticks::Round if self.logarithmic => {
                let all = steps_125(self.low * 0.999, self.high * 1.001);
                let decades: Vec<f64> = all.iter().copied().filter(|v| is_decade(*v)).collect();
                let named: Vec<f64> = if all.len() <= room { all.clone() } else { decades };
                let every = named.len().div_ceil(room.max(1)).max(1);
                let named: Vec<f64> = named.into_iter().step_by(every).collect();
                all.into_iter().map(|v| if named.contains(&v) { label(v) } else { (v, String::new()) }).collect()
            }
            Ticks::Round => {
                let step = round_step((self.high - self.low) / room.clamp(1, 6) as f64);
                let first = (self.low / step).ceil() as i64;
                let last = (self.high / step * 1.000_001).floor() as i64;
                (first..=last).map(|i| label(i as f64 * step)).collect()
            }
        }
    }
}

/// Smallest and largest positive value.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut positive = values.filter(|v| v.is_finite() && *v >= LOG_MIN).map(|v| v.min(VALUE_MAX));
    let first = positive.next()?;
    Some(positive.fold((first, first), |(low, high), v| (low.min(v), high.max(v))))
}

/// The smallest of 1, 2, 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|v| *v >= step * 0.999_999).unwrap_or(power * 10.0)
}

/// Every 1, 2, 5 times a power of ten from `low` to `high`.
fn steps_125(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    (first..=last)
        .flat_map(|power| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(power)))
        .filter(|v| *v >= low * 0.999_999 && *v <= high * 1.000_001)
        .collect()
}

fn is_decade(value: f64) -> bool {
    let log = value.log10();
    (log - log.round()).abs() < 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_numbers() {
        let axis = Axis::linear("", figures::tick, [41_800.0].into_iter());
        let texts: Vec<String> = axis.tick_labels(6).into_iter().map(|t| t.1).collect();
        assert_eq!(texts, ["0", "10,000", "20,000", "30,000", "40,000", "50,000"]);
        let axis = Axis::logarithmic("", figures::latency_tick, [180e3, 62e6].into_iter());
        let texts: Vec<String> = axis.tick_labels(5).into_iter().map(|t| t.1).filter(|t| !t.is_empty()).collect();
        assert_eq!(texts, ["100 us", "1 ms", "10 ms", "100 ms"]);
    }

    #[test]
    fn values_near_each_other_take_most_of_their_axis() {
        let axis = Axis::near("", figures::tick, [5_099.0, 4_980.0].into_iter()).expect("they are near");
        let [high, low] = [5_099.0, 4_980.0].map(|value| axis.place(value).unwrap());
        assert!(high - low > 0.5, "{axis:?}");
        let texts: Vec<String> = axis.tick_labels(6).into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["4,950", "5,000", "5,050", "5,100", "5,150"]);
        assert!(Axis::near("", figures::tick, [5_099.0, 400.0].into_iter()).is_none());
        assert!(Axis::near("", figures::tick, [5_099.0, 0.0].into_iter()).is_none());
    }

    #[test]
    fn the_deepest_queue_is_always_named() {
        let depths: Vec<f64> = (0..11).map(|i| f64::from(1 << i)).collect();
        let axis = Axis::at_values("", figures::iops, depths);
        let last = axis.tick_labels(6).pop().unwrap();
        assert_eq!(last.1, "1,024");
    }

    proptest! {
        #[test]
        fn every_value_has_a_place_on_the_axis_made_for_it(values in prop::collection::vec(1e-3f64..1e15, 1..20)) {
            for axis in [
                Axis::linear("", figures::iops, values.iter().copied()),
                Axis::logarithmic("", figures::iops, values.iter().copied()),
                Axis::fitting("", figures::iops, values.iter().copied()),
                Axis::at_values("", figures::iops, values.clone()),
                Axis::around("", figures::iops, values.iter().copied()),
            ] {
                for value in &values {
                    prop_assert!(axis.place(*value).is_some(), "{value} on {axis:?}");
                }
                prop_assert!(axis.tick_labels(6).len() < 100);
            }
        }
        #[test]
        fn any_floats_make_an_axis(values in prop::collection::vec(any::<f64>(), 0..9)) {
            for axis in [
                Axis::linear("", figures::iops, values.iter().copied()),
                Axis::logarithmic("", figures::iops, values.iter().copied()),
                Axis::at_values("", figures::iops, values.clone()),
            ] {
                prop_assert!(axis.low.is_finite() && axis.high > axis.low, "{axis:?}");
                prop_assert!(axis.tick_labels(6).len() < 200);
            }
        }
    }
}
