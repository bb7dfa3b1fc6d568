//! Which of the ceilings that a declared environment gives a measurement reaches.

use super::Case;
use super::arriving::{GROWN_MIN, GROWN_SHARE_MIN};
use super::caps::{WAITS, latency_ns, taken, waits};
use super::kinds::alike;
use crate::curves::sound;
use crate::trials::trials_used;
use loadline_record::{Binding, Ceiling, CourseFact, DeclaredFact, DeclaredLimit, Evidence, Limit, WaitsByDeclared};

/// A ceiling is reached from this share of it on.
pub(super) const REACHED: f64 = 0.95;
/// A rate above this share of a ceiling shows that it does not hold here: providers deliver up to so much more than they publish.
const SURPASSED: f64 = 1.08;
/// A load whose requests wait, but that comes to less than this share of the lowest ceiling, waits for something else.
const WAITS_FOR_IT: f64 = 0.5;
/// And to less than this, unless its rate grows with the depth as that of a stripe does.
const WAITS_NEAR_IT: f64 = 0.8;
/// A load that levels off below this share of a ceiling is held by something else.
const LEVEL_OF_IT: f64 = 0.9;
/// A rate is seen to grow with the depth between depths no further apart than this.
const NEXT_DEPTH: f64 = 4.0;
/// Of the growth of a stripe's rate, at least so much is seen.
const GROWTH_SHARE_MIN: f64 = 0.5;
/// Who asks for a little more than a ceiling and is held by it comes so near to it.
const HELD_AT: f64 = 0.002;

/// The highest of the declared ceilings that a rate shows not to hold: what a burst has before it is spent shows nothing of what is left.
pub(crate) fn surpassed(ceilings: &[Ceiling], rate: f64) -> Option<&Ceiling> {
    let passed = ceilings.iter().filter(|ceiling| is_surpassed(ceiling, rate));
    passed.max_by(|a, b| a.iops.total_cmp(&b.iops))
}

/// Whether a rate shows that a declared ceiling does not hold.
fn is_surpassed(ceiling: &Ceiling, rate: f64) -> bool {
    let may_hold = !matches!(ceiling.limit, Limit::Latency | Limit::Arrival | Limit::BurstExhausted);
    may_hold && rate > ceiling.iops * SURPASSED
}

impl Case<'_> {
    /// The limits that the environment declares for this cell, lowest first.
    pub(super) fn declared(&self) -> impl Iterator<Item = &Ceiling> {
        let ceilings = self.record().ceilings.iter();
        ceilings.filter(|ceiling| !matches!(ceiling.limit, Limit::Latency | Limit::Arrival))
    }

    /// Whether a load that asks for a little more than a declared ceiling had just that: it was not met, though nearly.
    pub(super) fn is_held_by_declared(&self, asked: f64, rate: f64) -> bool {
        let seconds = trials_used(self.record()).iter().map(|trial| trial.measured_ns as f64 / 1e9).sum::<f64>();
        // What is outstanding at the begin and at the end differs by a few.
        let is_short = (asked - rate) * seconds >= GROWN_MIN && rate < asked * (1.0 - GROWN_SHARE_MIN);
        is_short && self.declared().any(|ceiling| ceiling.iops < asked && (rate / ceiling.iops - 1.0).abs() <= HELD_AT)
    }

    /// What the device needs for a load of this depth, as declared.
    fn declared_latency(&self) -> Option<&Ceiling> {
        self.record().ceilings.iter().find(|ceiling| ceiling.limit == Limit::Latency)
    }

    /// The lowest declared ceiling that the rate reaches; or that holds it all the same, since its requests wait.
    pub(super) fn by_declared(&self) -> Option<Binding> {
        let rate = self.seen[self.index].as_ref()?.sustained;
        let holding = || self.declared().filter(|ceiling| !self.is_refuted(ceiling));
        let reached = holding().find(|c| (REACHED..=SURPASSED).contains(&(rate / c.iops)));
        let (ceiling, waits) = if let Some(ceiling) = reached {
            (ceiling, None)
        } else {
            let lowest = holding().find(|c| rate < c.iops)?;
            let why = self.why_it_waits(rate).filter(|_| self.may_wait_for(rate / lowest.iops, lowest.iops))?;
            (lowest, Some(why))
        };
        let share = rate / ceiling.iops;
        let fall = self.course().and_then(super::Course::fall).filter(|_| ceiling.limit == Limit::BurstExhausted);
        let fall = fall.map(|fall| CourseFact::FellFrom { at_ns: fall.at_ns as u64, before_iops: fall.before });
        let fact = DeclaredFact::Reaches { share, ceiling_iops: ceiling.iops, source: ceiling.source.clone(), waits };
        let seen = Evidence::from(fact).with(fall).with(self.passed_declared()).with(self.how_it_waits());
        Some(Binding::known(ceiling.limit, Some(ceiling.iops), Some(share), seen))
    }

    /// Whether the same requests, asked otherwise, had more in this run than a declared ceiling lets through, and than a bucket of a
    /// second saves up of it.
    fn is_refuted(&self, ceiling: &Ceiling) -> bool {
        let cell = self.cell();
        let is_same = |other: usize| {
            let load = &self.cells[other].load;
            other != self.index
                && alike(cell, &self.cells[other])
                && load.pattern == cell.load.pattern
                && load.block_bytes == cell.load.block_bytes
                && sound(&self.cells[other])
        };
        let surpasses = |other: usize| {
            let rate = self.seen[other].as_ref().map_or(0.0, |seen| seen.sustained);
            let is_it = |own: &Ceiling| own.limit == ceiling.limit && own.source == ceiling.source;
            self.records[other].ceilings.iter().any(|own| is_it(own) && is_surpassed(own, rate))
        };
        let of = self.of();
        (0..self.cells.len()).any(|other| is_same(other) && surpasses(other) && !of.in_bucket(other, ceiling.iops))
    }

    /// Whether a load that comes to `share` of a ceiling may wait for it all the same. Of n disks that are asked by chance D requests
    /// outstanding keep D / (D + n - 1) busy (a closed network of equal queues), so that a rate at that share grows with the power of
    /// the depth that is missing to one. What levels off, or grows by less, is held by something else.
    fn may_wait_for(&self, share: f64, ceiling: f64) -> bool {
        if self.plateau().is_some_and(|plateau| plateau.iops < ceiling * LEVEL_OF_IT) {
            return false;
        }
        let growth = self.own.and_then(|own| self.curves[own].growth(self.cells, self.index));
        let next = growth.filter(|growth| growth.spans(self.cells) <= NEXT_DEPTH);
        match next {
            Some(growth) => share >= WAITS_FOR_IT && growth.power() >= (1.0 - share) * GROWTH_SHARE_MIN,
            None => share >= WAITS_NEAR_IT,
        }
    }

    /// The highest declared ceiling below the rate: it does not hold here.
    pub(super) fn passed_declared(&self) -> Option<DeclaredFact> {
        let rate = self.seen[self.index].as_ref()?.sustained;
        let passed = surpassed(&self.record().ceilings, rate)?;
        let lower = (self.record().ceilings.iter())
            .filter(|other| is_surpassed(other, rate) && other.iops < passed.iops)
            .map(|other| DeclaredLimit { limit: other.limit, ceiling_iops: other.iops })
            .collect();
        let Ceiling { limit, iops: ceiling_iops, source } = passed.clone();
        Some(DeclaredFact::Surpassed { limit, ceiling_iops, source, share: rate / ceiling_iops, lower })
    }

    /// What shows that requests wait for more than the device.
    fn why_it_waits(&self, rate: f64) -> Option<WaitsByDeclared> {
        let (own, takes) = (latency_ns(self.cell())?, taken(self.cell())?);
        if let Some(declared) = self.declared_latency().filter(|declared| declared.iops >= rate * WAITS) {
            return Some(WaitsByDeclared::DeviceNeeds { takes, needs_ns: own * rate / declared.iops });
        }
        if let Some(single_ns) = self.seen.unhindered_ns(self.index).filter(|least| own >= WAITS * least) {
            return Some(WaitsByDeclared::SingleOnes { takes, single_ns });
        }
        waits(self.cells, self.seen, self.index).then_some(WaitsByDeclared::Counted)
    }

    /// Below every declared ceiling; nothing where it is above one.
    pub(super) fn below_declared(&self) -> Option<DeclaredFact> {
        let rate = self.seen[self.index].as_ref()?.sustained;
        let lowest = self.declared().next().filter(|lowest| rate < lowest.iops)?;
        let Ceiling { limit, iops: ceiling_iops, source } = lowest.clone();
        Some(DeclaredFact::BelowAll { limit, ceiling_iops, source })
    }
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, latencies, open, run};
    use crate::words::{about, shows};
    use crate::{FindingCode, FindingSeen, summarize};
    use loadline_record::{Binding, Ceiling, CellRecord, DeclaredFact, DeclaredLimit, Fact, Limit, WaitsByDeclared};

    /// The example's disk of 5,000 IOPS at these depths, with these ceilings declared.
    fn bindings(depths: &[u32], ceilings: &[(Limit, f64)]) -> Vec<Binding> {
        let ceilings: Vec<Ceiling> = ceilings
            .iter()
            .map(|(limit, iops)| Ceiling { limit: *limit, iops: *iops, source: "as sold".into() })
            .collect();
        let measured = |depth: &u32| CellRecord {
            ceilings: ceilings.clone(),
            ..cell(closed("random", 1.0, 4096, *depth), &ExampleDisk::default(), &[1.0])
        };
        let record = run(depths.iter().map(measured).collect());
        summarize(&record).cells.into_iter().map(|cell| cell.binding.unwrap()).collect()
    }

    #[test]
    fn the_lowest_ceiling_that_is_reached_binds_and_says_where_it_is_from() {
        let found = bindings(&[32], &[(Limit::VmUncachedIops, 5_100.0), (Limit::DiskIops, 5_200.0)]);
        assert_eq!(
            (found[0].limit, found[0].ceiling_iops, found[0].inferred),
            (Limit::VmUncachedIops, Some(5_100.0), false)
        );
        let sold = "as sold".into();
        assert!(
            shows!(found[0], Fact::Declared(DeclaredFact::Reaches { source, waits: None, .. }) if *source == sold),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_above_declared_ceilings_is_not_called_below_them_and_all_of_them_are_told() {
        let ceilings = [(Limit::VmCachedIops, 1_200.0), (Limit::VmUncachedIops, 2_000.0), (Limit::DiskIops, 90_000.0)];
        let found = bindings(&[32], &ceilings).remove(0);
        assert!(!shows!(found, Fact::Declared(DeclaredFact::BelowAll { .. })), "{found:?}");
        let lowest = [DeclaredLimit { limit: Limit::VmCachedIops, ceiling_iops: 1_200.0 }];
        let half_as_much_again = |share: f64| about(share, 2.5, 0.1);
        assert!(
            shows!(found, Fact::Declared(DeclaredFact::Surpassed { limit: Limit::VmUncachedIops, share, lower, .. })
                if half_as_much_again(*share) && *lower == lowest),
            "{found:?}"
        );
    }

    #[test]
    fn a_declared_ceiling_that_deeper_queues_surpass_does_not_bind_a_single_request() {
        // 1,000 at depth 1, 5,000 at depth 32.
        let found = bindings(&[1, 32], &[(Limit::VmCachedIops, 1_020.0), (Limit::DiskIops, 90_000.0)]);
        assert_eq!((found[0].limit, found[0].inferred), (Limit::Latency, true), "{:?}", found[0]);
        let found = bindings(&[1], &[(Limit::VmCachedIops, 1_020.0), (Limit::DiskIops, 90_000.0)]);
        assert_eq!(found[0].limit, Limit::VmCachedIops, "{:?}", found[0]);
    }

    #[test]
    fn what_a_bucket_saved_up_refutes_no_declared_ceiling() {
        // Another load had 5,000 IOPS where 4,200 are declared: 0.4 s of them more in 2 s, 11 s more in a minute.
        let of = |measured_s: u64| {
            let ceilings = vec![Ceiling { limit: Limit::DiskIops, iops: 4_200.0, source: "as sold".into() }];
            let [mut held, mut more] = [(8, 0.84), (32, 1.0)]
                .map(|(depth, factor)| cell(closed("random", 1.0, 4096, depth), &ExampleDisk::default(), &[factor]));
            let trial = &mut more.trials[0];
            trial.measured_ns = measured_s * 1_000_000_000;
            trial.operations.values_mut().for_each(|kept| kept.count = 5_000 * measured_s);
            (held.ceilings, more.ceilings) = (ceilings.clone(), ceilings);
            summarize(&run(vec![held, more])).cells.remove(0).binding.unwrap()
        };
        assert_eq!((of(2).limit, of(2).inferred), (Limit::DiskIops, false), "{:?}", of(2));
        assert!(of(60).inferred, "{:?}", of(60));
    }

    #[test]
    fn an_open_loop_that_asks_for_a_little_more_than_is_declared_was_not_met() {
        // 5,000 a second, of which it asks for 0.6 % more; and one that nothing holds there.
        let named = |rate: f64, declared: f64| {
            let disk = ExampleDisk { iops: rate, ..ExampleDisk::default() };
            let ceilings = vec![Ceiling { limit: Limit::DiskIops, iops: declared, source: "as sold".into() }];
            let mut measured = CellRecord { ceilings, ..cell(open("random", 1.0, 4096, 5_030.0), &disk, &[1.0]) };
            // Nothing else shows that requests wait.
            let read = measured.trials[0].operations.values_mut().next().unwrap();
            read.latency = latencies(read.count, 2e6);
            measured.trials[0].missed = 0;
            summarize(&run(vec![measured])).cells[0].binding.as_ref().unwrap().limit
        };
        assert_eq!(named(5_000.0, 5_000.0), Limit::DiskIops);
        assert_eq!(named(9_000.0, 5_000.0), Limit::Arrival);
        assert_eq!(named(5_000.0, 6_000.0), Limit::Arrival);
    }

    #[test]
    fn a_ceiling_that_is_surpassed_does_not_hold() {
        let found = bindings(&[32], &[(Limit::VmUncachedIops, 3_000.0), (Limit::DiskIops, 5_000.0)]);
        assert_eq!(found[0].limit, Limit::DiskIops);
        assert!(
            shows!(found[0], Fact::Declared(DeclaredFact::Surpassed { limit: Limit::VmUncachedIops, share, .. })
                if about(*share, 1.667, 0.1)),
            "{found:?}"
        );
    }

    #[test]
    fn where_the_only_declared_ceiling_is_surpassed_the_evidence_and_a_finding_say_so() {
        let measured = |depth: u32| CellRecord {
            ceilings: vec![Ceiling { limit: Limit::DiskIops, iops: 2_500.0, source: "as sold".into() }],
            ..cell(closed("random", 1.0, 4096, depth), &ExampleDisk::default(), &[1.0])
        };
        let summary = summarize(&run([1, 32, 64].map(measured).into()));
        let deep = summary.cells[2].binding.as_ref().unwrap();
        assert_eq!((deep.limit, deep.inferred), (Limit::DiskIops, true));
        assert!(
            shows!(deep, Fact::Declared(DeclaredFact::Surpassed { limit: Limit::DiskIops, ceiling_iops: 2_500.0, .. })),
            "{deep:?}"
        );
        let found = summary.findings.iter().find(|f| f.code == FindingCode::DeclaredSurpassed).unwrap();
        let FindingSeen::DeclaredSurpassed { load, iops, ceiling } = &found.seen else { panic!("{found:?}") };
        assert_eq!((load.at.as_str(), iops.round()), ("depth 32", 5_001.0));
        assert_eq!((ceiling.limit, ceiling.iops), (Limit::DiskIops, 2_500.0));
        assert_eq!(found.cells.len(), 2);
        // What is at or below it says nothing.
        let kept = bindings(&[1, 32], &[(Limit::DiskIops, 5_000.0)]);
        assert!(kept.iter().all(|b| !shows!(b, Fact::Declared(DeclaredFact::Surpassed { .. }))), "{kept:?}");
    }

    #[test]
    fn below_every_ceiling_waiting_requests_tell_a_limit_from_latency() {
        let found = bindings(&[1, 32], &[(Limit::DiskIops, 6_000.0)]);
        assert_eq!([found[0].limit, found[1].limit], [Limit::Latency, Limit::DiskIops]);
        let single = |waits: &WaitsByDeclared| match waits {
            WaitsByDeclared::SingleOnes { takes, single_ns } => {
                about(takes.latency_ns, 6.4e6, 0.5) && about(*single_ns, 1e6, 0.5)
            }
            _ => false,
        };
        assert!(
            shows!(found[1], Fact::Declared(DeclaredFact::Reaches { waits: Some(waits), .. }) if single(waits)),
            "{found:?}"
        );
        // Far below it, something else holds them.
        let found = bindings(&[1, 32, 64], &[(Limit::DiskIops, 20_000.0)]);
        assert_eq!((found[1].ceiling_iops.map(f64::round), found[1].inferred), (Some(5_001.0), true), "{:?}", found[1]);
    }

    #[test]
    fn a_declared_ceiling_of_which_little_more_than_half_is_delivered_does_not_bind() {
        // 5,000 IOPS of 9,000: neither one depth beside a single request, nor one by itself, nor a level is a limit of 9,000.
        let of_nine = |depths: &[u32]| bindings(depths, &[(Limit::DiskIops, 9_000.0)]);
        for (depths, deepest) in [(&[1, 32][..], 1), (&[32], 0), (&[8, 16, 32, 64], 3), (&[1, 4, 16, 64], 3)] {
            let found = of_nine(depths);
            assert!(found[deepest].inferred, "{depths:?}: {:?}", found[deepest]);
            assert_ne!(found[deepest].ceiling_iops, Some(9_000.0), "{depths:?}");
        }
        let level = &of_nine(&[8, 16, 32, 64])[2];
        assert_eq!((level.limit, level.ceiling_iops.map(f64::round)), (Limit::DiskIops, Some(5_001.0)), "{level:?}");
        let lowest = |ceiling: f64| about(ceiling, 9_000.0, 0.01);
        assert!(
            shows!(level, Fact::Declared(DeclaredFact::BelowAll { limit: Limit::DiskIops, ceiling_iops, .. })
                if lowest(*ceiling_iops)),
            "{level:?}"
        );
        // A level nearer to it is none of it, either.
        let found = bindings(&[8, 16, 32, 64], &[(Limit::DiskIops, 5_600.0)]);
        assert!(found.iter().all(|binding| binding.inferred), "{found:?}");
    }

    #[test]
    fn a_stripe_that_is_not_asked_deeply_enough_is_bound_by_its_disks() {
        // Four disks of 5,000, each asked by chance: of a closed loop D / (D + 3) of that.
        let ceiling = Ceiling { limit: Limit::DiskIops, iops: 20_000.0, source: "four disks as sold".into() };
        let measured = |depth: u32| {
            let disk =
                ExampleDisk { iops: 20_000.0 * f64::from(depth) / f64::from(depth + 3), ..ExampleDisk::default() };
            let fast = ExampleDisk { latency_ns: 1e3, ..disk };
            CellRecord { ceilings: vec![ceiling.clone()], ..cell(closed("random", 1.0, 4096, depth), &fast, &[1.0]) }
        };
        let summary = summarize(&run([1, 2, 4, 8, 16, 32].map(measured).into()));
        let found: Vec<&Binding> = summary.cells.iter().map(|cell| cell.binding.as_ref().unwrap()).collect();
        for deep in &found[3..] {
            assert_eq!(
                (deep.limit, deep.ceiling_iops, deep.inferred),
                (Limit::DiskIops, Some(20_000.0), false),
                "{deep:?}"
            );
        }
    }
}
