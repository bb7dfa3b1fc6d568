//! What devices count themselves of the limits that are kept on them: it decides over arithmetic.

use super::Case;
use crate::summary::ExceededView;
use loadline_record::{Binding, DeclaredFact, Limit, TrialRecord};
use std::collections::BTreeMap;

/// A limit binds where more was asked than it allows for at least this share of the time.
const EXCEEDED_SHARE_MIN: f64 = 0.2;

/// The shares of the time of all trials in which more was asked of each device than is allowed, by the device's name.
pub(crate) fn exceeded_shares(trials: &[TrialRecord]) -> Vec<ExceededView> {
    let mut sums: BTreeMap<&str, [u64; 5]> = BTreeMap::new();
    for trial in trials {
        for device in &trial.surroundings.exceeded {
            let counted = [
                trial.surroundings.elapsed_ns / 1_000,
                device.volume_iops_us,
                device.volume_throughput_us,
                device.instance_iops_us,
                device.instance_throughput_us,
            ];
            let sum = sums.entry(&device.device).or_default();
            sum.iter_mut().zip(counted).for_each(|(sum, more)| *sum = sum.saturating_add(more));
        }
    }
    sums.into_iter()
        .filter(|(_, [elapsed, ..])| *elapsed > 0)
        .map(|(device, [elapsed, counted @ ..])| {
            // The device's clock and this machine's are two: a full share may come out a little above 1.
            let [volume_iops_share, volume_throughput_share, instance_iops_share, instance_throughput_share] =
                counted.map(|us| (us as f64 / elapsed as f64).min(1.0));
            ExceededView {
                device: device.to_owned(),
                volume_iops_share,
                volume_throughput_share,
                instance_iops_share,
                instance_throughput_share,
            }
        })
        .collect()
}

/// The limit that was asked for too much during the largest share of the time, if that is large enough to bind, with its
/// share and the devices that counted it.
fn exceeded_most(devices: &[ExceededView]) -> Option<(Limit, f64, Vec<&str>)> {
    type Share = fn(&ExceededView) -> f64;
    let limits: [(Limit, Share); 4] = [
        (Limit::DiskIops, |device| device.volume_iops_share),
        (Limit::DiskThroughput, |device| device.volume_throughput_share),
        (Limit::VmUncachedIops, |device| device.instance_iops_share),
        (Limit::VmUncachedThroughput, |device| device.instance_throughput_share),
    ];
    let most = |share: Share| devices.iter().map(share).fold(0.0, f64::max);
    let mut found: Option<(Limit, Share)> = None;
    for (limit, share) in limits {
        if most(share) >= EXCEEDED_SHARE_MIN && found.is_none_or(|(_, other)| most(share) > most(other)) {
            found = Some((limit, share));
        }
    }
    let (limit, share) = found?;
    let which = devices.iter().filter(|device| share(device) >= EXCEEDED_SHARE_MIN);
    Some((limit, most(share), which.map(|device| device.device.as_str()).collect()))
}

impl Case<'_> {
    /// What the devices' own counters name.
    pub(super) fn by_counters(&self, rate: f64) -> Option<Binding> {
        let (limit, share, devices) = exceeded_most(&self.cell().exceeded)?;
        let evidence =
            DeclaredFact::Exceeded { limit, share, devices: devices.into_iter().map(ToOwned::to_owned).collect() };
        let level = self.plateau().filter(|plateau| plateau.cells.contains(&self.index)).map(|plateau| plateau.iops);
        Some(Binding::known(limit, level, level.map(|level| rate / level), evidence.into()))
    }
}

#[cfg(test)]
mod tests {
    use crate::example::{ExampleDisk, cell, closed, run};
    use crate::summarize;
    use crate::summary::CellSummary;
    use crate::words::{about, shows};
    use loadline_record::{DeclaredFact, Exceeded, Fact, Limit};

    /// The example's disk of 5,000 IOPS at depths 1, 32 and 64, with what the device counts of each microsecond of a trial in
    /// hundredths: volume IOPS, volume throughput, instance IOPS, instance throughput.
    fn cells(shares: [u64; 4]) -> Vec<CellSummary> {
        let measured = |depth| {
            let mut cell = cell(closed("random", 1.0, 4096, depth), &ExampleDisk::default(), &[1.0, 1.01]);
            for trial in &mut cell.trials {
                let us = trial.surroundings.elapsed_ns / 1_000;
                let [volume_iops_us, volume_throughput_us, instance_iops_us, instance_throughput_us] =
                    shares.map(|share| us * share / 100);
                trial.surroundings.exceeded = vec![
                    Exceeded { device: "nvme1n1".into(), ..Exceeded::default() },
                    Exceeded {
                        device: "nvme2n1".into(),
                        volume_iops_us,
                        volume_throughput_us,
                        instance_iops_us,
                        instance_throughput_us,
                    },
                ];
            }
            cell
        };
        summarize(&run([1, 32, 64].map(measured).into())).cells
    }

    #[test]
    fn the_limit_that_was_exceeded_longest_binds() {
        for (shares, limit) in [
            ([90, 0, 0, 0], Limit::DiskIops),
            ([30, 91, 0, 0], Limit::DiskThroughput),
            ([0, 0, 20, 0], Limit::VmUncachedIops),
            ([60, 0, 0, 61], Limit::VmUncachedThroughput),
        ] {
            let found = cells(shares)[1].binding.clone().unwrap();
            assert_eq!((found.limit, found.inferred), (limit, false), "{shares:?}");
            let by_it = |devices: &[String]| devices == ["nvme2n1"];
            assert!(
                shows!(found, Fact::Declared(DeclaredFact::Exceeded { devices, .. }) if by_it(devices)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn counters_decide_over_arithmetic_and_the_level_gives_the_value() {
        // Without counters a plateau of one block size only lets one presume which of the two it is.
        let presumed = cells([19, 19, 0, 0])[1].binding.clone().unwrap();
        assert!(presumed.limit == Limit::DiskIops && presumed.inferred, "{presumed:?}");
        let counted = cells([0, 80, 0, 0])[1].binding.clone().unwrap();
        assert!(counted.limit == Limit::DiskThroughput && !counted.inferred, "{counted:?}");
        let found = cells([80, 0, 0, 0]);
        let binding = found[1].binding.as_ref().unwrap();
        assert_eq!(binding.limit, Limit::DiskIops);
        assert!(binding.utilization.is_some_and(|share| (share - 1.0).abs() < 0.02), "{binding:?}");
        let most = |share: f64| about(share, 0.8, 0.1);
        assert!(shows!(binding, Fact::Declared(DeclaredFact::Exceeded { share, .. }) if most(*share)), "{binding:?}");
    }

    #[test]
    fn shares_are_of_the_time_of_all_trials() {
        let found = cells([50, 0, 100, 0]);
        let shares: Vec<(&str, f64, f64)> =
            found[0].exceeded.iter().map(|d| (d.device.as_str(), d.volume_iops_share, d.instance_iops_share)).collect();
        assert_eq!(shares, [("nvme1n1", 0.0, 0.0), ("nvme2n1", 0.5, 1.0)]);
    }
}
