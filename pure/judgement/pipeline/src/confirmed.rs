//! The effect of slowing a station a little, measured on the real crawl: does it agree with what is said to bind?

use crate::attribution::{Attribution, Bound, TAKES_PART};
use crate::lever::Lever;
use loadline_record::{PipelineRecord, SlowedStation, SlowedWindows, Station, VolumeRole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Blocks of windows that the effects are taken from, at least.
const BLOCKS_MIN: usize = 3;
/// An interval holds 95 of 100.
const Z: f64 = 1.96;

/// The measured effect of a station on a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredElasticity {
    /// What was slowed.
    pub slowed: SlowedStation,
    /// 1 where the rate falls with the station's speed, 0 where nothing changes.
    pub elasticity: f64,
    /// The 95 % interval's lower end.
    pub low: f64,
    /// The 95 % interval's upper end.
    pub high: f64,
    /// Windows in which the station was slowed.
    pub windows: u32,
}

/// Whether what was measured agrees with what is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmedBy {
    /// The part that is named has an effect, and no other has a larger one.
    Agrees,
    /// The part that is named has none, or another has a larger one.
    Disagrees,
    /// The intervals are too wide.
    TooWide,
    /// No station's work is the part that is named, or no part is named.
    NotTested,
}

/// The effects on one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The source's name.
    pub source: String,
    /// The largest first.
    pub measured: Vec<MeasuredElasticity>,
    /// Beside the attribution.
    pub agreement: ConfirmedBy,
    /// The station that stands for the part that is named; `None`: no single one does.
    pub expected: Option<SlowedStation>,
}

/// What slowing showed of each source. Empty: nothing was slowed.
#[must_use]
pub fn confirm(record: &PipelineRecord, attributions: &[Attribution]) -> Vec<Confirmation> {
    let Some(slowed) = &record.slowed else { return Vec::new() };
    let one = |(source, of): (usize, &Attribution)| {
        let ended_ns = record.sources.get(source).map_or(0, |source| source.ended_ns);
        let mut measured = effects(slowed, source, ended_ns);
        measured.sort_by(|a, b| b.elasticity.total_cmp(&a.elasticity).then(a.slowed.cmp(&b.slowed)));
        let (agreement, expected) = agreement(&of.bound, &measured);
        Confirmation { source: of.source.clone(), measured, agreement, expected }
    };
    attributions.iter().enumerate().map(one).collect()
}

/// The effects of every station on a source, from whole blocks before its end. The first block is the beginning, and left out.
fn effects(slowed: &SlowedWindows, source: usize, ended_ns: u64) -> Vec<MeasuredElasticity> {
    let block = slowed.block.max(1) as usize;
    let while_it_ran = slowed.windows.iter().take_while(|window| window.end_ns <= ended_ns).count();
    let blocks: Vec<_> = slowed.windows[..while_it_ran].chunks_exact(block).skip(1).collect();
    if blocks.len() < BLOCKS_MIN || slowed.share <= 0.0 {
        return Vec::new();
    }
    // Over its block's mean: what changes slowly over the crawl is no effect.
    let mut rates: BTreeMap<Option<SlowedStation>, Vec<f64>> = BTreeMap::new();
    for windows in blocks {
        let passed = |window: &loadline_record::SlowedWindow| window.passed.get(source).copied().unwrap_or_default();
        let mean = windows.iter().map(passed).sum::<f64>() / windows.len() as f64;
        if mean > 0.0 {
            for window in windows {
                rates.entry(window.slowed).or_default().push(passed(window) / mean);
            }
        }
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
    let Some(base) = rates.remove(&None).filter(|base| base.len() >= 2 && mean(base) > 0.0) else {
        return Vec::new();
    };
    let squares = |of: &[f64]| -> f64 {
        let mean = mean(of);
        of.iter().map(|rate| (rate - mean) * (rate - mean)).sum()
    };
    let windows: usize = rates.values().map(Vec::len).sum::<usize>() + base.len();
    let free = windows.saturating_sub(rates.len() + 1).max(1) as f64;
    let variance = (squares(&base) + rates.values().map(|of| squares(of)).sum::<f64>()) / free;
    // A station that takes 1.1 times as long leaves 1 / 1.1 of the rate where it alone binds.
    let whole = slowed.share / (1.0 + slowed.share);
    let base_mean = mean(&base);
    rates
        .iter()
        .filter_map(|(station, of)| {
            let elasticity = (1.0 - mean(of) / base_mean) / whole;
            let error = libm::sqrt(variance * (1.0 / of.len() as f64 + 1.0 / base.len() as f64)) / base_mean / whole;
            Some(MeasuredElasticity {
                slowed: (*station)?,
                elasticity,
                low: elasticity - Z * error,
                high: elasticity + Z * error,
                windows: of.len() as u32,
            })
        })
        .collect()
}

/// The station whose work a part is; `None`: it is none's alone.
fn expected(lever: Lever) -> Option<SlowedStation> {
    match lever {
        Lever::Repository(source) => Some(SlowedStation::Fetch(source as u32)),
        Lever::Workers(station) | Lever::Waits(station) if Station::LINE.contains(&station) => {
            Some(SlowedStation::Line(station))
        }
        Lever::Volume(VolumeRole::Index) => Some(SlowedStation::Line(Station::Index)),
        Lever::Volume(VolumeRole::Data) => Some(SlowedStation::Line(Station::Database)),
        _ => None,
    }
}

fn agreement(bound: &Bound, measured: &[MeasuredElasticity]) -> (ConfirmedBy, Option<SlowedStation>) {
    let Some(&lever) = bound.levers().first() else { return (ConfirmedBy::NotTested, None) };
    if measured.is_empty() {
        return (ConfirmedBy::TooWide, expected(lever));
    }
    // Processors are what all stations use: their effects add up.
    let own = if lever == Lever::Cores {
        let half: f64 = libm::sqrt(measured.iter().map(|of| (of.high - of.elasticity).powi(2)).sum());
        let sum: f64 = measured.iter().map(|of| of.elasticity).sum();
        (sum - half, sum + half)
    } else {
        let Some(expected) = expected(lever) else { return (ConfirmedBy::NotTested, None) };
        match measured.iter().find(|of| of.slowed == expected) {
            Some(own) => (own.low, own.high),
            None => return (ConfirmedBy::NotTested, Some(expected)),
        }
    };
    let station = expected(lever);
    let is_surpassed = measured.iter().any(|of| Some(of.slowed) != station && of.low > own.1);
    let agreement = if own.1 < TAKES_PART || is_surpassed && lever != Lever::Cores {
        ConfirmedBy::Disagrees
    } else if own.0 > 0.0 {
        ConfirmedBy::Agrees
    } else {
        ConfirmedBy::TooWide
    };
    (agreement, station)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_record::SlowedWindow;

    const FETCH: SlowedStation = SlowedStation::Fetch(0);
    const INDEX: SlowedStation = SlowedStation::Line(Station::Index);
    const BLOCK: [Option<SlowedStation>; 4] = [None, Some(FETCH), None, Some(INDEX)];

    /// Uniform between -0.5 and 0.5 (splitmix64).
    fn unit(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }

    /// Windows of 100 items, with noise and a rate that falls, in which slowing the index costs what an effect of `index` costs.
    fn windows(blocks: usize, index: f64, noise: f64, mut seed: u64) -> SlowedWindows {
        let windows = (0..blocks * BLOCK.len()).map(|window| {
            // Each block has an order of its own.
            let slowed = BLOCK[(window + window / BLOCK.len()) % BLOCK.len()];
            let effect = if slowed == Some(INDEX) { index * 0.1 / 1.1 } else { 0.0 };
            let drift = 1.0 - 0.3 * window as f64 / (blocks * BLOCK.len()) as f64;
            // The sum of four draws is near a normal one.
            let draws: f64 = (0..4).map(|_| unit(&mut seed)).sum();
            SlowedWindow {
                end_ns: (window as u64 + 1) * 1_000,
                slowed,
                passed: vec![100.0 * drift * (1.0 - effect) * (1.0 + noise * draws)],
            }
        });
        SlowedWindows { share: 0.1, block: BLOCK.len() as u32, windows: windows.collect() }
    }

    fn tested(slowed: &SlowedWindows, lever: Lever) -> (ConfirmedBy, Vec<MeasuredElasticity>) {
        let measured = effects(slowed, 0, u64::MAX);
        (agreement(&Bound::By(lever), &measured).0, measured)
    }

    #[test]
    fn the_station_that_binds_is_found_and_another_one_is_not_agreed_with() {
        let slowed = windows(40, 1.0, 0.02, 1);
        let (agreement, measured) = tested(&slowed, Lever::Volume(VolumeRole::Index));
        let index = measured.iter().find(|of| of.slowed == INDEX).unwrap();
        assert!((index.elasticity - 1.0).abs() < 0.2 && index.windows == 39, "{index:?}");
        assert!(index.low > 0.5 && index.high < 1.5, "{index:?}");
        assert_eq!(agreement, ConfirmedBy::Agrees);
        assert_eq!(tested(&slowed, Lever::Repository(0)).0, ConfirmedBy::Disagrees);
        // Each station has its share of what processors do.
        assert_eq!(tested(&slowed, Lever::Cores).0, ConfirmedBy::Agrees);
        assert_eq!(tested(&slowed, Lever::Politeness(0)).0, ConfirmedBy::NotTested);
    }

    #[test]
    fn little_data_and_much_noise_decide_nothing() {
        let index = Lever::Volume(VolumeRole::Index);
        assert_eq!(tested(&windows(3, 1.0, 0.02, 1), index).0, ConfirmedBy::TooWide);
        let undecided = |seed: &u64| tested(&windows(6, 1.0, 0.5, *seed), index).0 == ConfirmedBy::TooWide;
        assert!((0..100).filter(undecided).count() > 60);
    }

    #[test]
    fn intervals_hold_the_truth_in_about_95_of_100() {
        let held = (0..400).filter(|seed| {
            let measured = effects(&windows(13, 0.5, 0.03, *seed), 0, u64::MAX);
            let index = measured.iter().find(|of| of.slowed == INDEX).unwrap();
            index.low <= 0.5 && 0.5 <= index.high
        });
        let held = held.count();
        assert!((360..=395).contains(&held), "{held}");
    }
}
