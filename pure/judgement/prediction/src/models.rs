//! Draws plausible environments from the intervals of uncertain figures.

use loadline_catalog::{Deviation, Draw, Environment};
use loadline_disk::EnvironmentSpec;
use loadline_record::DrawTaken;
use loadline_units::Ratio;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Environments of a prediction by default.
pub const DRAWS_DEFAULT: u32 = 5;
/// And at most.
pub const DRAWS_MAX: u32 = 1_000;

/// How high limits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// As they are known to be delivered.
    Delivered,
    /// Exactly as they are published.
    Published,
}

/// One plausible environment.
#[derive(Debug, Clone)]
pub struct Model {
    /// 0 for the middle of all intervals.
    pub number: u32,
    /// Its place in the intervals.
    pub draw: Draw,
    /// The specification for the disk model.
    pub spec: EnvironmentSpec,
    /// The same with limits as they are published, for sources in words.
    pub(crate) published: EnvironmentSpec,
    /// Disks behind a network, by name, for which the machine's limit is not in the catalog, though it has limits for other types.
    pub(crate) uncapped: Vec<String>,
    /// Measurements that the model is known to miss, by volume, each with the name of its disk.
    pub(crate) deviations: Vec<(String, Vec<(String, Deviation)>)>,
}

impl Model {
    /// The environment at one place of its intervals.
    #[must_use]
    pub fn new(environment: &Environment, number: u32, draw: Draw) -> Self {
        let published = environment.spec(&Draw { delivered: None, ..draw });
        let volumes = environment.volumes.iter().map(|volume| volume.name.clone());
        let deviations = volumes.map(|name| (name.clone(), environment.deviations(&name))).collect();
        let uncapped = environment.uncapped();
        Self { number, draw, spec: environment.spec(&draw), published, uncapped, deviations }
    }

    pub(crate) const fn taken(&self) -> DrawTaken {
        DrawTaken {
            number: self.number,
            latency_ppm: self.draw.latency.as_ppm(),
            enforcement_ppm: self.draw.enforcement.as_ppm(),
            delivered_ppm: match self.draw.delivered {
                Some(place) => Some(place.as_ppm()),
                None => None,
            },
            bursts_ppm: self.draw.bursts.as_ppm(),
        }
    }
}

/// The most plausible model of an environment: the middle of every interval, with what is delivered.
#[must_use]
pub fn most_plausible(environment: &Environment) -> Model {
    models(environment, 1, 0, Limits::Delivered).remove(0)
}

/// The environment at `count` places of its intervals. The middle is first; then follows a Latin hypercube over
/// latency, enforcement, delivered share, and the size of credit buckets. Each draw takes every parameter from its own
/// stratum, at a place that `seed` decides. Exact figures are the same in all.
#[must_use]
pub fn models(environment: &Environment, count: u32, seed: u64, limits: Limits) -> Vec<Model> {
    let middle = if limits == Limits::Published { Draw::PUBLISHED } else { Draw::MIDDLE };
    let others = count.saturating_sub(1) as usize;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let [latency, enforcement, delivered, bursts] = std::array::from_fn(|_| strata(&mut random, others));
    let other = |index: usize| Draw {
        latency: latency[index],
        enforcement: enforcement[index],
        delivered: (limits == Limits::Delivered).then_some(delivered[index]),
        bursts: bursts[index],
    };
    let draws = std::iter::once(middle).chain((0..others).map(other));
    draws.zip(0..).map(|(draw, number)| Model::new(environment, number, draw)).collect()
}

/// A place in each of `count` equal strata, in random order.
fn strata(random: &mut Xoshiro256PlusPlus, count: usize) -> Vec<Ratio> {
    let whole = u64::from(Ratio::ONE.as_ppm());
    let mut places: Vec<Ratio> = (0..count as u64)
        .map(|stratum| {
            let (from, to) = (whole * stratum / count as u64, whole * (stratum + 1) / count as u64);
            let place = from + random.next_u64() % (to - from);
            Ratio::ppm(place as u32).expect("a place within the whole")
        })
        .collect();
    for left in (1..places.len()).rev() {
        places.swap(left, (random.next_u64() % (left as u64 + 1)) as usize);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadline_catalog::{Catalog, environment_text};

    fn environment() -> Environment {
        Environment::parse(environment_text("ds3-p30").unwrap(), "ds3-p30", &Catalog::builtin()).unwrap()
    }
    fn draws(count: u32, seed: u64) -> Vec<Draw> {
        models(&environment(), count, seed, Limits::Delivered).into_iter().map(|model| model.draw).collect()
    }

    #[test]
    fn the_middle_comes_first_and_every_stratum_once() {
        let all = draws(9, 5);
        assert_eq!(all[0], Draw::MIDDLE);
        for of in [|d: &Draw| d.latency, |d: &Draw| d.enforcement, |d: &Draw| d.delivered.unwrap()] {
            let mut strata: Vec<u32> = all[1..].iter().map(|draw| of(draw).as_ppm() / 125_000).collect();
            strata.sort_unstable();
            assert_eq!(strata, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_and_another_does_not() {
        assert_eq!(draws(5, 1), draws(5, 1));
        assert_ne!(draws(5, 1), draws(5, 2));
        assert_eq!(draws(1, 1), [Draw::MIDDLE]);
    }

    #[test]
    fn limits_as_published_are_not_drawn() {
        let all = models(&environment(), 5, 1, Limits::Published);
        assert!(all.iter().all(|model| model.draw.delivered.is_none()));
        assert!(
            all.iter()
                .all(|model| model.spec.vm.as_ref().unwrap().cached == model.published.vm.as_ref().unwrap().cached
                    || model.draw.enforcement != all[0].draw.enforcement)
        );
        assert_eq!(all[0].draw, Draw::PUBLISHED);
    }
}
