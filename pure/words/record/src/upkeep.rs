//! What a recorder does with its older hours: they get coarser with age, and the oldest go.

/// Hours younger than this keep each second, s.
const FINE_S: u64 = 24 * 3_600;
/// A week, s.
const WEEK_S: u64 = 7 * 24 * 3_600;
/// What a week of one device may take.
const BYTES_A_WEEK: u64 = 100_000_000;
/// Lengths of a sample, from one age to the next, s.
const STEPS_S: [u32; 3] = [1, 10, 60];

/// An hour that is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptHour {
    /// Its run.
    pub run: String,
    /// When it began, seconds since 1970.
    pub begun_unix_s: u64,
    /// The length of its samples, s.
    pub step_s: u32,
    /// What it takes.
    pub bytes: u64,
}

/// What is to be done with one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upkeep {
    /// It gets samples of this length.
    Thin {
        /// Its run.
        run: String,
        /// In s.
        step_s: u32,
    },
    /// It goes.
    Remove {
        /// Its run.
        run: String,
    },
}

/// An hour with what it is to become.
struct Planned<'a> {
    hour: &'a KeptHour,
    step_s: u32,
}

impl Planned<'_> {
    fn bytes(&self) -> u64 {
        self.hour.bytes * u64::from(self.hour.step_s.max(1)) / u64::from(self.step_s.max(1))
    }
}

/// What these hours of one recorder need at a time, which keeps them for so long: nothing is older then, samples of a day ago are coarser, and
/// all together take no more than their bound. Where that is not enough, older hours get coarser still, and then the oldest go. The newest
/// hour stays as it is.
#[must_use]
pub fn upkeep(hours: &[KeptHour], now_unix_s: u64, keep_s: u64, devices: u64) -> Vec<Upkeep> {
    let mut newest_first: Vec<&KeptHour> = hours.iter().collect();
    newest_first.sort_by(|a, b| (b.begun_unix_s, &b.run).cmp(&(a.begun_unix_s, &a.run)));
    let is_old = |hour: &KeptHour, age: u64| hour.begun_unix_s.saturating_add(age) <= now_unix_s;
    let young = newest_first.iter().enumerate().filter(|(place, hour)| *place == 0 || !is_old(hour, keep_s));
    let mut planned: Vec<Planned<'_>> = young
        .map(|(place, hour)| {
            let step_s = if place > 0 && is_old(hour, FINE_S) { STEPS_S[1] } else { STEPS_S[0] };
            Planned { hour, step_s: step_s.max(hour.step_s) }
        })
        .collect();
    let bound =
        u128::from(BYTES_A_WEEK) * u128::from(devices.max(1)) * u128::from(keep_s.max(WEEK_S)) / u128::from(WEEK_S);
    let mut bytes: u128 = planned.iter().map(|of| u128::from(of.bytes())).sum();
    while bytes > bound && planned.len() > 1 {
        let next = |step_s: u32| STEPS_S.into_iter().find(|coarser| *coarser > step_s);
        // The oldest of the coarse ones first, then of the fine ones.
        let place = [STEPS_S[1], STEPS_S[0]].into_iter().find_map(|finest| {
            let fits = |of: &Planned<'_>| of.step_s >= finest && next(of.step_s).is_some();
            planned.iter().skip(1).rposition(fits).map(|place| place + 1)
        });
        match place {
            Some(place) => planned[place].step_s = next(planned[place].step_s).unwrap_or(planned[place].step_s),
            None => drop(planned.pop()),
        }
        bytes = planned.iter().map(|of| u128::from(of.bytes())).sum();
    }
    let thinned = planned.iter().filter(|of| of.step_s > of.hour.step_s);
    let thinned = thinned.map(|of| Upkeep::Thin { run: of.hour.run.clone(), step_s: of.step_s });
    let is_kept = |hour: &KeptHour| planned.iter().any(|of| of.hour.run == hour.run);
    let gone = newest_first.iter().filter(|hour| !is_kept(hour));
    let gone = gone.map(|hour| Upkeep::Remove { run: hour.run.clone() });
    thinned.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR_S: u64 = 3_600;

    fn hour(number: u64, step_s: u32, bytes: u64) -> KeptHour {
        KeptHour { run: format!("hour-{number}"), begun_unix_s: number * HOUR_S, step_s, bytes }
    }

    /// The hours after that was done, a thinned one as much smaller as it is coarser.
    fn after(hours: &[KeptHour], done: &[Upkeep]) -> Vec<KeptHour> {
        let mut left = hours.to_vec();
        for one in done {
            match one {
                Upkeep::Remove { run } => left.retain(|hour| hour.run != *run),
                Upkeep::Thin { run, step_s } => {
                    let own = left.iter_mut().find(|hour| hour.run == *run).expect("it is there");
                    own.bytes = own.bytes * u64::from(own.step_s) / u64::from(*step_s);
                    own.step_s = *step_s;
                }
            }
        }
        left
    }

    #[test]
    fn a_busy_week_has_each_second_of_a_day_and_ten_seconds_of_the_others() {
        // 1.6 MB an hour, as measured.
        let week: Vec<KeptHour> = (0..=200).map(|number| hour(number, 1, 1_600_000)).collect();
        let left = after(&week, &upkeep(&week, 201 * HOUR_S, 168 * HOUR_S, 1));
        assert_eq!(left.first().map(|hour| hour.begun_unix_s / HOUR_S), Some(34));
        assert_eq!(left.iter().filter(|hour| hour.step_s == 1).count(), 23);
        assert!(left.iter().map(|hour| hour.bytes).sum::<u64>() < BYTES_A_WEEK);
    }

    proptest! {
        #[test]
        fn nothing_is_older_or_larger_than_is_wanted_and_age_only_makes_coarser(
            hours in prop::collection::vec((0_u64..400, 0_usize..3, 1_000_u64..40_000_000), 1..200),
            keep_h in 1_u64..400,
            devices in 1_u64..4,
        ) {
            let mut hours: Vec<KeptHour> =
                hours.into_iter().map(|(number, step, bytes)| hour(number, STEPS_S[step], bytes)).collect();
            hours.sort_by_key(|hour| hour.begun_unix_s);
            hours.dedup_by_key(|hour| hour.begun_unix_s);
            let (now, keep_s) = (400 * HOUR_S, keep_h * HOUR_S);
            let done = upkeep(&hours, now, keep_s, devices);
            let left = after(&hours, &done);
            let newest = hours.last().unwrap();
            prop_assert_eq!(left.last(), Some(newest), "the newest stays as it is");
            let bound = BYTES_A_WEEK * devices * keep_s.max(WEEK_S) / WEEK_S;
            let bytes: u64 = left.iter().map(|hour| hour.bytes).sum();
            prop_assert!(left.len() == 1 || bytes <= bound, "{} bytes", bytes);
            for hour in &left[..left.len() - 1] {
                prop_assert!(hour.begun_unix_s + keep_s > now);
                prop_assert!(hour.step_s > 1 || hour.begun_unix_s + FINE_S > now);
            }
            // What goes is older than all that stays.
            let oldest = left[0].begun_unix_s;
            let stays = |hour: &&KeptHour| left.iter().any(|own| own.run == hour.run);
            prop_assert!(hours.iter().filter(|hour| !stays(hour)).all(|hour| hour.begun_unix_s < oldest));
            prop_assert_eq!(upkeep(&left, now, keep_s, devices), vec![], "and it is done once");
        }
    }
}
